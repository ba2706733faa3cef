//! The kernels of `f16` and `bf16`, whose bits are the same on compute capability 9.0 and on the CPU executor.

use cuda_std::{bf16, f16};
use rand::Rng;
use warpwright::{
    Device, DeviceKind, Matrix,
    ops::gemm::{GemmElement, GemmRequest, Precision, ResultIn, Tiles, Way},
};
use warpwright_gpu::gemm::{
    Element, Rung,
    policy::{LARGE, LINE, SMALL, WGMMA_STEP, skinny_part, wgmma_part, wgmma_size},
};
use warpwright_tests::{
    cases, compare, data,
    devices::{self, Executor},
    number::Number,
};

use super::{
    TRANSPOSES,
    problem::{FACTORS, Gemm, Margin, Real, TAILS, plain, variants_with},
};

/// None; one that keeps the rows of A and B at multiples of 16 bytes, and those of C not; one that keeps none.
const MARGINS: [[Margin; 3]; 3] = [
    [[0; 3]; 3],
    [[1, 8, 16], [2, 16, 8], [2, 3, 2]],
    [[2, 3, 2]; 3],
];

/// Whole tiles of every size, edges in every direction, sizes of which tensor maps take none, more tiles than a device has
/// multiprocessors, and a vector.
const SHAPES: [[usize; 3]; 8] = [
    [128, 256, 128],
    [136, 264, 72],
    [8, 520, 40],
    [200, 72, 8],
    [1, 1, 1],
    [72, 30, 200],
    [130, 131, 67],
    [200, 1, 136],
];

fn problems() -> Vec<Gemm> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in Way::OF_HALVES.into_iter().enumerate() {
            for (j, shape) in SHAPES.into_iter().enumerate() {
                for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                    // On the CPU executor one combination of four: every way, shape and transposition meets all others.
                    if executor == Executor::Cpu && (i + j + l) % 4 != 0 {
                        continue;
                    }
                    problems.push(Gemm {
                        transpose,
                        factors: FACTORS[(i + j + l) % FACTORS.len()],
                        margins: MARGINS[(j + l) % MARGINS.len()],
                        way: Some(way),
                        ..plain(executor, shape)
                    });
                }
            }
        }
        if executor == Executor::Cuda {
            for way in Way::OF_HALVES {
                problems.push(Gemm {
                    way: Some(way),
                    ..plain(executor, [2056, 1544, 136])
                });
            }
        }
    }
    problems
}

/// Returns whether the device adds 16 products at a time with 25 bits.
fn is_known(device: &Device) -> bool {
    device.kind() == DeviceKind::Cpu || device.info().compute_capability == Some((9, 0))
}

/// Products that warpgroups divide into parts: whole ones, and a last part that is shorter.
fn problems_in_parts() -> Vec<Gemm> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in Way::OF_HALVES.into_iter().skip(2).enumerate() {
            for (j, parts) in [2, 3, 6].into_iter().enumerate() {
                for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                    // On the CPU executor one of three. A few vectors lie along k.
                    let is_one = executor == Executor::Cuda || (i + j + l) % 3 == 0;
                    let has_vectors = way != Way::Skinny || transpose != [true, false];
                    if !is_one || !has_vectors {
                        continue;
                    }
                    let shape = [[136, 72, 384], [16, 264, 456]][(j + l) % 2];
                    problems.push(Gemm {
                        transpose,
                        factors: FACTORS[(i + j + l) % 4],
                        margins: MARGINS[(j + l) % 2],
                        way: Some(way),
                        parts: Some(parts),
                        ..plain(executor, shape)
                    });
                }
            }
        }
    }
    problems
}

/// Stacks of products with a bias and an activation, some of them in parts, whose depth is no multiple of a tile's.
fn problems_of_stacks() -> Vec<Gemm> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in Way::OF_HALVES.into_iter().enumerate() {
            for (j, tail) in TAILS.into_iter().enumerate() {
                for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                    // On the CPU executor one of four.
                    if executor == Executor::Cpu && (i + j + l) % 4 != 0 {
                        continue;
                    }
                    problems.push(Gemm {
                        transpose,
                        factors: FACTORS[(i + 2 * j + l) % FACTORS.len()],
                        margins: MARGINS[(j + l) % 2],
                        count: 2 + j % 2,
                        shared: [j == 3, j == 5],
                        tail,
                        way: Some(way),
                        parts: (i >= 2 && l == 3).then_some(2),
                        ..plain(executor, [[136, 72, 72], [24, 264, 136]][(i + l) % 2])
                    });
                }
            }
        }
    }
    problems
}

/// Checks products by variants against the truth, and that their bits are those of `best` by `usual` on the CPU executor.
fn same_bits<T: Real>(problems: &[Gemm], usual: Way, rungs: &[&str]) {
    cases::run(
        problems,
        |_| rungs.to_vec(),
        |_, problem| {
            let mut rng = data::generator(13);
            let operands = problem.operands::<T>(|| rng.random_range(-1.0..1.0));
            let usual = Gemm {
                way: Some(usual),
                ..*problem
            };
            let expected = usual.by_the_library(&Device::cpu(), &operands, "best");
            Ok((operands, expected?))
        },
        |device, problem, (operands, expected), variant| {
            let got = problem.by_the_library(device, operands, variant);
            let got = got.map_err(|error| error.to_string())?;
            problem.is_right::<T>(operands, variant, &got)?;
            match is_known(device) {
                true => compare::same_bits(&got, expected),
                false => Ok(()),
            }
        },
    );
}

/// The bits are those of products of fragments, of which the layout decides nothing.
fn every_kernel<T: Real>() {
    same_bits::<T>(&problems(), Way::OF_HALVES[0], &["best"]);
    same_bits::<T>(
        &problems_in_parts(),
        Way::Warpgroups(Tiles::Small),
        &["best"],
    );
    same_bits::<T>(
        &problems_of_stacks(),
        Way::Warpgroups(Tiles::Small),
        &["best"],
    );
}

/// Products that rungs of halves take: whole tiles of 256 x 256 and edges, of which the second block of a cluster has none,
/// more tiles than a device has clusters, stacks, and what follows a product.
fn problems_of_rungs() -> Vec<Gemm> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        let mut shapes = vec![
            [256, 256, 128],
            [136, 264, 72],
            [8, 520, 40],
            [200, 72, 8],
            [264, 264, 264],
        ];
        if executor == Executor::Cuda {
            shapes.extend([[2312, 2056, 8], [264, 520, 1032]]);
        }
        for (i, shape) in shapes.into_iter().enumerate() {
            for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                // On the CPU executor one combination of two.
                if executor == Executor::Cpu && (i + l) % 2 != 0 {
                    continue;
                }
                let count = 1 + (i + l) % 3 / 2;
                problems.push(Gemm {
                    transpose,
                    factors: FACTORS[(2 * i + l) % FACTORS.len()],
                    margins: MARGINS[if count > 1 { 0 } else { l % 2 }],
                    count,
                    shared: [count > 1 && i % 2 == 1, false],
                    tail: TAILS[(i + l) % TAILS.len()],
                    // Those of `best`.
                    parts: Some(1),
                    ..plain(executor, shape)
                });
            }
        }
    }
    problems
}

/// The rungs that tensor cores multiply, by fragments or by warpgroups.
fn rungs_give_the_bits_of_best<T: Real>() {
    let rungs = variants_with::<T>(|rung| matches!(rung, Rung::Tensor(_) | Rung::Mapped(..)));
    assert_eq!(rungs.len(), 5);
    same_bits::<T>(&problems_of_rungs(), Way::Warpgroups(Tiles::Small), &rungs);
}

#[test]
fn rungs_give_the_bits_of_best_of_f16() {
    rungs_give_the_bits_of_best::<f16>();
}

#[test]
fn rungs_give_the_bits_of_best_of_bf16() {
    rungs_give_the_bits_of_best::<bf16>();
}

/// Products whose operands tensor maps cannot describe: rows that begin anywhere.
#[test]
fn rungs_of_fragments_take_any_product() {
    let rungs = variants_with::<f16>(|rung| matches!(rung, Rung::Tensor(_)));
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, shape) in [[130, 131, 67], [1, 1, 1], [128, 256, 72]]
            .into_iter()
            .enumerate()
        {
            for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                problems.push(Gemm {
                    transpose,
                    factors: FACTORS[(i + l) % FACTORS.len()],
                    margins: MARGINS[2],
                    count: 1 + (i + l) % 2,
                    tail: TAILS[(2 * i + l) % TAILS.len()],
                    ..plain(executor, shape)
                });
            }
        }
    }
    same_bits::<f16>(&problems, Way::OF_HALVES[0], &rungs);
    same_bits::<bf16>(&problems, Way::OF_HALVES[0], &rungs);
}

#[test]
fn rungs_of_halves_refuse_other_types() {
    let rungs = variants_with::<f32>(|rung| matches!(rung, Rung::None));
    assert_eq!(rungs.len(), 5);
    for (device, rung) in devices::all().flat_map(|it| rungs.iter().map(move |rung| (it, *rung))) {
        let words = device.zeros_matrix::<f32>(16, 24).unwrap();
        let product = device.gemm(&words, &words).transpose_b().variant(rung);
        let told = product.run().map(drop).unwrap_err().to_string();
        let why = "it has no kernels for matrices of f32 with a result in f32";
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn rungs_of_warpgroups_take_rows_of_16_bytes() {
    let rungs = variants_with::<f16>(|rung| matches!(rung, Rung::Mapped(..)));
    for (device, rung) in devices::all().flat_map(|it| rungs.iter().map(move |rung| (it, *rung))) {
        let refused = |got: warpwright::Result<()>, expected: &str| {
            let told = got.unwrap_err().to_string();
            let old = "it takes a device of compute capability 9.0, and CUDA 12 or later";
            assert!(
                told.contains(expected) || (!is_known(device) && told.contains(old)),
                "{told}"
            );
        };
        let halves = device.zeros_matrix::<f16>(16, 20).unwrap();
        let product = device.gemm(&halves, &halves).transpose_b().variant(rung);
        refused(
            product.run().map(drop),
            "rows that begin at multiples of 16 bytes, given 16 x 20 times 20 x 16",
        );
        if is_known(device) {
            // Without products there is nothing that such a rung could not do.
            let [tall, flat] = [(16, 0), (0, 16)]
                .map(|(rows, columns)| device.zeros_matrix::<f16>(rows, columns).unwrap());
            let product = device.gemm(&tall, &flat).variant(rung).run().unwrap();
            assert_eq!(product.to_vec().unwrap(), [f16::ZERO; 16 * 16]);
        }
    }
}

#[test]
fn every_kernel_of_f16_gives_the_same_bits() {
    every_kernel::<f16>();
}

#[test]
fn every_kernel_of_bf16_gives_the_same_bits() {
    every_kernel::<bf16>();
}

#[test]
fn every_kernel_of_f16_in_f32_gives_the_same_bits() {
    every_kernel::<ResultIn<f16, f32>>();
}

#[test]
fn every_kernel_of_bf16_in_f32_gives_the_same_bits() {
    every_kernel::<ResultIn<bf16, f32>>();
}

/// An element that is rounded is what is not rounded in `f32`: the sums are the same.
fn is_rounded_at_the_end<T>()
where
    T: Real + GemmElement<Factor = T, Scale = f32, Result = T> + Element<Scale = f32>,
    ResultIn<T, f32>: GemmElement<Factor = T, Scale = f32, Result = f32>,
{
    let mut rng = data::generator(37);
    for device in devices::all() {
        for [m, n, k] in [[136, 264, 72], [16, 40, 8192], [131, 67, 45]] {
            let mut matrix = |rows: usize, columns: usize| {
                let value = |_| T::Factor::from_real(rng.random_range(-1.0..1.0));
                let values: Vec<T> = (0..rows * columns).map(value).collect();
                device.upload_matrix(&values, rows, columns).unwrap()
            };
            let (a, b) = (matrix(m, k), matrix(k, n));
            let halves = device.gemm(&a, &b).alpha(1.5).relu().run().unwrap();
            let words = device.gemm_result_in::<T, f32>(&a, &b);
            let words = words.alpha(1.5).relu().run().unwrap().to_vec().unwrap();
            let rounded: Vec<T> = words.iter().map(|it| Element::rounded(*it)).collect();
            compare::same_bits(&halves.to_vec().unwrap(), &rounded).unwrap();
            let differ = |(word, half): (&f32, &T)| *word != Element::widen(*half);
            assert!(words.iter().zip(&rounded).any(differ), "{device:?}");
        }
    }
}

#[test]
fn results_in_f32_are_those_that_are_rounded_otherwise() {
    is_rounded_at_the_end::<f16>();
    is_rounded_at_the_end::<bf16>();
}

#[test]
fn parts_are_added_one_after_another() {
    let ways = &Way::OF_HALVES[2..];
    adds_parts::<bf16>(Precision::Exact, WGMMA_STEP, ways, "gemm_best_parts__bf16");
    adds_parts::<ResultIn<bf16, f32>>(Precision::Exact, WGMMA_STEP, ways, "gemm_best_parts__f32");
}

/// A request of the product of matrices on a device.
fn product_of<'a, T: Real>(
    device: &Device,
    a: &'a Matrix<T::Factor>,
    b: &'a Matrix<T::Factor>,
) -> GemmRequest<'a, T> {
    device.gemm_of(a.into(), b.into())
}

/// The sums of parts are rounded to nearest, in order. One sum of all is rounded toward zero.
pub fn adds_parts<T: Real>(precision: Precision, step: usize, ways: &[Way], adding: &str) {
    const PARTS: usize = 5;
    let [zero, one, small] = [0.0, 1.0, 3.0 * 2.0_f64.powi(-25)].map(T::Factor::from_real);
    let k = PARTS * step;
    let mut row = vec![zero; k];
    for first in row.iter_mut().step_by(step).skip(1) {
        *first = small;
    }
    row[0] = one;
    let (rows, column) = (row.repeat(8), vec![one; k * 8]);
    let columns: Vec<T::Factor> = (0..k * 8).map(|i| row[i / 8]).collect();
    for device in devices::all().filter(|device| is_known(device)) {
        let matrix = |elements: &[T::Factor], rows, columns| {
            let matrix = device.upload_matrix(elements, rows, columns);
            matrix.unwrap()
        };
        let (a, ones) = (matrix(&rows, 8, k), matrix(&column, k, 8));
        let (across, ones_along) = (matrix(&columns, k, 8), matrix(&column, 8, k));
        let multiplied = |a, b| product_of::<T>(device, a, b);
        for way in ways {
            for (parts, expected) in [(1, 0.0), (PARTS, 4.0 * f64::from(f32::EPSILON))] {
                for (transposes, product) in [
                    ("nn", multiplied(&a, &ones)),
                    ("nt", multiplied(&a, &ones_along).transpose_b()),
                    (
                        "tt",
                        multiplied(&across, &ones_along).transpose_a().transpose_b(),
                    ),
                ] {
                    let c = [T::Result::from_real(1.0); 64];
                    let mut c = device.upload_matrix(&c, 8, 8).unwrap();
                    let minus_one = T::factor(-1.0);
                    let product = product.precision(precision).way(*way);
                    let product = product.parts(parts).add_to(minus_one, &mut c);
                    let mut product = product.prepare().unwrap();
                    let kernels = product.kernels();
                    let (room, bytes) = (parts * 8 * 8 * 4, product.workspace_bytes());
                    if *way == Way::Skinny {
                        // The last block of a tile adds the parts, and tickets say which one that is.
                        assert_eq!(kernels.len(), 1);
                        let tickets = if parts > 1 { bytes - room } else { bytes };
                        assert_eq!(tickets > 0, parts > 1, "{device:?} {parts}");
                        assert!(tickets <= 256, "{device:?} {parts}");
                    } else {
                        let adds = kernels.last().is_some_and(|name| *name == adding);
                        let count = 1 + usize::from(parts > 1);
                        assert_eq!((kernels.len(), adds), (count, parts > 1));
                        let room = if parts > 1 { room } else { 0 };
                        assert_eq!(bytes, room, "{device:?} {parts}");
                    }
                    product.enqueue().unwrap();
                    drop(product);
                    let sums = c.to_vec().unwrap().into_iter().map(Number::real);
                    let is_right = sums.eq([expected; 64]);
                    assert!(is_right, "{device:?} {way:?} {transposes}");
                }
            }
        }
    }
}

/// Infinities and NaN where a tile of A and B goes beyond the matrices reach no other element.
fn nothing_is_outside<T: Real>() {
    let [zero, infinity] = [0.0, f64::INFINITY].map(T::Factor::from_real);
    for device in devices::all() {
        for way in Way::OF_HALVES {
            let mut host = vec![infinity; 40 * 40];
            for row in host.chunks_mut(40).skip(8).take(16) {
                row[8..32].fill(zero);
            }
            let all = device.upload_matrix(&host, 40, 40).unwrap();
            let a = all.rect(8..24, 8..32).unwrap();
            let product = device.gemm_of::<T>(a, a).transpose_b().way(way);
            let sum = product.run().unwrap().to_vec().unwrap();
            let expected = [T::Result::from_real(0.0); 16 * 16];
            compare::same_bits(&sum, &expected).unwrap();
        }
    }
}

#[test]
fn what_is_outside_reaches_nothing() {
    nothing_is_outside::<bf16>();
    nothing_is_outside::<ResultIn<bf16, f32>>();
}

/// The kernels are those that were asked for, and where tensor maps do not take A or B those of fragments.
fn each_way<T: Real>(name: &str) {
    let one = T::Factor::from_real(1.0);
    for device in devices::all().filter(|device| is_known(device)) {
        let all = device.upload_matrix(&[one; 24 * 24], 24, 24).unwrap();
        for (left, is_aligned) in [(8, true), (4, false)] {
            let kernels = [
                format!("gemm_best_fragments__{name}_nn"),
                format!("gemm_best_fragments_small__{name}_nn"),
                format!("gemm_best_wgmma__{name}_256_nn"),
                format!("gemm_best_wgmma__{name}_128_nn"),
                format!("gemm_best_wgmma__{name}_64_nn"),
                format!("gemm_best_skinny__{name}_16_across"),
            ];
            for (way, kernel) in Way::OF_HALVES.into_iter().zip(kernels) {
                let a = all.rect(0..16, left..left + 16).unwrap();
                let product = device.gemm_of::<T>(a, a).way(way).prepare().unwrap();
                let kernels = product.kernels();
                let is_expected = match is_aligned || matches!(way, Way::Registers(_)) {
                    true => kernels == [kernel],
                    false => kernels.len() == 1 && kernels[0].starts_with("gemm_best_fragments"),
                };
                assert!(is_expected, "{device:?} {way:?} {is_aligned}: {kernels:?}");
            }
        }
        // A column whose elements are adjacent is a row, too.
        let column = device.upload_matrix(&[one; 24], 24, 1).unwrap();
        let product = product_of::<T>(device, &all, &column).way(Way::Skinny);
        let mut product = product.prepare().unwrap();
        let kernel = format!("gemm_best_skinny__{name}_16_along");
        assert_eq!(product.kernels(), [kernel]);
        product.enqueue().unwrap();
        let sums = product.output().unwrap().to_vec().unwrap();
        let expected = [T::Result::from_real(24.0); 24];
        compare::same_bits(&sums, &expected).unwrap();
    }
}

#[test]
fn each_way_launches_its_kernels() {
    each_way::<f16>("f16");
    each_way::<ResultIn<f16, f32>>("f16_f32");
    each_way::<ResultIn<bf16, f32>>("bf16_f32");
}

/// The sizes of tiles that were the faster ones on an H100, which has 132 multiprocessors.
#[test]
fn tiles_of_warpgroups_fill_the_multiprocessors() {
    for ([m, n, k], size) in [
        ([256, 256, 256], SMALL),
        ([512, 512, 512], SMALL),
        ([1024, 1024, 1024], SMALL),
        ([1536, 1536, 1536], LARGE),
        ([2048, 2048, 2048], LARGE),
        ([3072, 3072, 3072], LARGE),
        ([4096, 1024, 1024], LARGE),
        ([8192, 8192, 8192], LARGE),
    ] {
        let shape = [m, n, k];
        assert_eq!(wgmma_part(shape, 1), k, "{shape:?}");
        assert_eq!(wgmma_size(shape, 1, k, 132), size, "{shape:?}");
    }
}

/// Parts of k are whole steps, none is empty, and their sums take no more than the room of tiles for 132 multiprocessors.
#[test]
fn parts_of_k_fill_the_multiprocessors() {
    let sizes = [1, 16, 100, 128, 129, 512, 1024, 8192, 100_000];
    let mut divided = 0;
    for m in sizes {
        for n in sizes {
            for k in [1, 64, 100, 1000, 8192, 65_536, 1 << 24] {
                let part = wgmma_part([m, n, k], 1);
                assert!(
                    part == k || part.is_multiple_of(WGMMA_STEP) && part < k,
                    "{m} {n} {k}"
                );
                let parts = k.div_ceil(part);
                divided += usize::from(parts > 1);
                assert!(
                    parts == 1 || m * n * parts <= 132 * 128 * 256,
                    "{m} {n} {k}"
                );
            }
        }
    }
    assert!(divided > 50, "{divided}");
    // Those for a few vectors.
    for (lines, width) in sizes.into_iter().flat_map(|lines| [(lines, 0), (lines, 1)]) {
        for k in [1, 64, 100, 1000, 8192, 65_536, 1 << 24] {
            for bytes in [1, 2, 4] {
                let part = skinny_part([lines, 9, k], width, bytes, 1);
                let is_whole = part.is_multiple_of(LINE / bytes) && part < k;
                assert!(part == k || is_whole, "{lines} {k} {bytes}");
                let blocks = lines.div_ceil(64) * k.div_ceil(part);
                assert!(part == k || blocks <= 132, "{lines} {k} {bytes}");
            }
        }
    }
    for (lines, parts) in [(1024, 8), (4096, 2), (8192, 1), (28_672, 1)] {
        let part = skinny_part([lines, 16, 8192], 0, 2, 1);
        assert_eq!(8192_usize.div_ceil(part), parts, "{lines}");
    }
    for ([m, n, k], parts) in [
        ([16, 8192, 8192_usize], 2),
        ([8192, 64, 8192], 1),
        ([512, 512, 65_536], 8),
        ([128, 128, 16_384], 32),
    ] {
        assert_eq!(k.div_ceil(wgmma_part([m, n, k], 1)), parts, "{m} {n} {k}");
    }
}
