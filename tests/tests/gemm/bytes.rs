//! Products of elements of 8 bits. Those of `i8`, whose sums in `i32` wrap around, and those of whole numbers of `F8E4M3` and
//! `F8E5M2` are exact: every variant and every kernel gives the same bits on every device.

use cuda_std::{F8E4M3, F8E5M2, bf16, f16};
use rand::{Rng, rngs::StdRng};
use warpwright::{
    Device, DeviceKind, Error, InvalidKind, Matrix,
    ops::gemm::{Precision, ResultIn, Way},
};
use warpwright_gpu::gemm::{
    self,
    policy::{LINE, lines_part},
};
use warpwright_tests::{
    cases, compare, data,
    devices::{self, Executor},
};

use super::{
    TRANSPOSES,
    problem::{Activation, Gemm, Margin, Multiplied, Operands, TAILS, plain},
    problems, variants,
};

/// The plain product, other factors, C untouched, nothing at all, and such that products wrap around.
const FACTORS: [[f64; 2]; 7] = [
    [1.0, 0.0],
    [-3.0, 0.0],
    [1.0, 1.0],
    [2.0, -5.0],
    [0.0, 7.0],
    [0.0, 0.0],
    [1_234_567_891.0, -2_147_483_648.0],
];

/// None; one that keeps the rows of A and B at multiples of 16 bytes, and those of C not; one that keeps none.
const MARGINS: [[Margin; 3]; 3] = [
    [[0; 3]; 3],
    [[1, 16, 32], [2, 32, 16], [2, 3, 2]],
    [[2, 3, 2]; 3],
];

/// Whole tiles of every size, edges in every direction, rows at multiples of 16 bytes and others, and several steps along k.
const SHAPES: [[usize; 3]; 8] = [
    [128, 256, 256],
    [144, 272, 144],
    [16, 528, 48],
    [208, 80, 16],
    [1, 1, 1],
    [72, 30, 400],
    [130, 131, 67],
    [200, 1, 272],
];

/// An element type whose products are exact for some values.
trait OfBytes: Multiplied {
    /// The name in the kernels' names, and in those of kernels that write tiles.
    const NAME: &'static str;
    const OF_TILES: &'static str = Self::NAME;
    /// Returns an element of A or B.
    fn element(rng: &mut StdRng) -> Self::Factor;
    /// Returns an element of C or of the bias.
    fn of_result(rng: &mut StdRng) -> Self::Result;
    /// Returns the same problem with factors and a tail that the type has.
    fn problem(_i: usize, problem: Gemm) -> Gemm {
        problem
    }
    /// The problems, and those of named kernels, of which the CPU executor has one: lanes cost time, and tensor cores with sums
    /// in `f32` most of all.
    const ONE_OF: [usize; 2];
}

impl OfBytes for i8 {
    const NAME: &'static str = "i8";
    const ONE_OF: [usize; 2] = [3, 2];

    /// The ends of the type are frequent.
    fn element(rng: &mut StdRng) -> Self {
        match rng.random_range(0..8) {
            0 => i8::MIN,
            1 => i8::MAX,
            _ => rng.random(),
        }
    }

    fn of_result(rng: &mut StdRng) -> i32 {
        rng.random()
    }

    /// With factors of its own and without GELU.
    fn problem(i: usize, problem: Gemm) -> Gemm {
        let mut tail = problem.tail;
        if tail.activation == Some(Activation::Gelu) {
            tail.activation = Some(Activation::Relu);
        }
        Gemm {
            factors: FACTORS[i % FACTORS.len()],
            tail,
            ..problem
        }
    }
}

macro_rules! eight_bits {
    ($($ty:ident: $name:literal;)*) => { $(
        impl OfBytes for $ty {
            const NAME: &'static str = $name;
            const ONE_OF: [usize; 2] = [7, 7];

            fn element(rng: &mut StdRng) -> Self {
                Self::from_f32(rng.random_range(-8..=8) as f32)
            }

            fn of_result(rng: &mut StdRng) -> f32 {
                rng.random_range(-100..=100) as f32
            }
        }
    )* };
}
eight_bits! {
    F8E4M3: "e4m3";
    F8E5M2: "e5m2";
}

macro_rules! results {
    ($($result:ident: $name:literal;)*) => { $(
        impl OfBytes for ResultIn<F8E4M3, $result> {
            const NAME: &'static str = $name;
            const OF_TILES: &'static str = F8E4M3::NAME;
            const ONE_OF: [usize; 2] = [11, 11];

            fn element(rng: &mut StdRng) -> F8E4M3 {
                F8E4M3::element(rng)
            }

            fn of_result(rng: &mut StdRng) -> $result {
                $result::from_f32(F8E4M3::of_result(rng))
            }
        }
    )* };
}
results! {
    bf16: "e4m3_bf16";
    f16: "e4m3_f16";
}

/// Checks products by some variants against sums in the order of k.
fn are_exact<T: OfBytes>(problems: &[Gemm], variants: &[&'static str]) {
    cases::run(
        problems,
        |_| variants.to_vec(),
        |_, problem| {
            let mut rng = data::generator((problem.m * 31 + problem.n * 17 + problem.k) as u64);
            let mut of_c = data::generator(29);
            let operands: Operands<T> =
                problem.operands_of(|| T::element(&mut rng), || T::of_result(&mut of_c));
            let expected = problem.all_by_the_book(&operands);
            Ok((operands, expected))
        },
        |device, problem, (operands, expected), variant| {
            let got = problem.by_the_library(device, operands, variant);
            compare::same_bits(&got.map_err(|error| error.to_string())?, expected)
        },
    );
}

fn products<T: OfBytes>() {
    let problems: Vec<Gemm> = problems()
        .into_iter()
        .enumerate()
        .filter(|(i, problem)| problem.executor == Executor::Cuda || i.is_multiple_of(T::ONE_OF[0]))
        .map(|(i, problem)| T::problem(i, problem))
        .collect();
    are_exact::<T>(&problems, &variants::<T>());
}

#[test]
fn i8_products() {
    products::<i8>();
}

#[test]
fn e4m3_products() {
    products::<F8E4M3>();
}

#[test]
fn e5m2_products() {
    products::<F8E5M2>();
}

#[test]
fn e4m3_products_with_results_of_16_bits() {
    products::<ResultIn<F8E4M3, bf16>>();
    products::<ResultIn<F8E4M3, f16>>();
}

/// Every kernel of `best`: shapes, transpositions, stacks, tails, and parts of k.
fn every_kernel<T: OfBytes>() {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in Way::OF_HALVES.into_iter().enumerate() {
            for (j, shape) in SHAPES.into_iter().enumerate() {
                for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                    if executor == Executor::Cpu && !(i + j + l).is_multiple_of(T::ONE_OF[1]) {
                        continue;
                    }
                    let problem = Gemm {
                        transpose,
                        count: 1 + (j + 2 * l) % 3,
                        shared: [l == 1, l == 2],
                        tail: TAILS[(i + 2 * j + l) % TAILS.len()],
                        margins: MARGINS[(j + l) % MARGINS.len()],
                        way: Some(way),
                        parts: (i >= 2).then_some(1 + (j + l) % 3),
                        ..plain(executor, shape)
                    };
                    problems.push(T::problem(i + j + l, problem));
                }
            }
            // Without factors and tail, and on a GPU with more tiles than there are multiprocessors.
            let shape = match executor {
                Executor::Cpu => [128, 256, 128],
                Executor::Cuda => [2064, 1552, 272],
            };
            for transpose in TRANSPOSES {
                problems.push(Gemm {
                    transpose,
                    way: Some(way),
                    ..plain(executor, shape)
                });
            }
        }
    }
    are_exact::<T>(&problems, &["best"]);
}

#[test]
fn every_kernel_of_i8_gives_the_products() {
    every_kernel::<i8>();
}

#[test]
fn every_kernel_of_e4m3_gives_the_products() {
    every_kernel::<F8E4M3>();
}

#[test]
fn every_kernel_of_e5m2_gives_the_products() {
    every_kernel::<F8E5M2>();
}

#[test]
fn every_kernel_of_e4m3_with_results_of_16_bits_gives_the_products() {
    every_kernel::<ResultIn<F8E4M3, bf16>>();
    every_kernel::<ResultIn<F8E4M3, f16>>();
}

/// A sum beyond the ends of `i32` wraps around. On the CPU executor, where lanes cost time, that of one thread.
#[test]
fn sums_wrap_around() {
    let k = 131_072 + 64;
    for device in devices::all() {
        let a = device.upload_matrix(&vec![i8::MIN; k], 1, k).unwrap();
        let product = || device.gemm(&a, &a).transpose_b();
        let mut products = vec![product().variant("naive")];
        if device.kind() != DeviceKind::Cpu {
            products.extend(Way::OF_HALVES.map(|way| product().way(way)));
        }
        for product in products {
            let sum = product.run().unwrap().to_vec().unwrap();
            assert_eq!(sum, [i32::MIN + 64 * 16_384], "{device:?}");
        }
    }
}

/// The kernels are those that were asked for. Where rows do not begin at multiples of 16 bytes, or lie across k, tiles are
/// written before, for which there is room.
fn each_way<T: OfBytes>(others: &str) {
    let able = |device: &&Device| {
        let capability = device.info().compute_capability;
        capability.is_none_or(|capability| capability == (9, 0))
    };
    for device in devices::all().filter(able) {
        let all = device.zeros_matrix::<T::Factor>(32, 64).unwrap();
        for (left, transposed, tiled) in [(16, true, 0), (16, false, 1), (8, true, 2)] {
            for (way, columns) in Way::OF_HALVES.into_iter().zip([0, 0, 256, 128, 64, 16]) {
                let a = all.rect(0..16, left..left + 16).unwrap();
                let product = device.gemm_of::<T>(a, a).way(way);
                let product = if transposed {
                    product.transpose_b()
                } else {
                    product
                };
                let product = product.prepare().unwrap();
                let (expected, room) = match columns {
                    16 if tiled == 0 => {
                        (vec![format!("gemm_best_skinny__{}_16_along", T::NAME)], 0)
                    }
                    0 | 16 => (vec![others.to_owned()], 0),
                    _ => {
                        let tiles = format!("gemm_best_tiles__{}", T::OF_TILES);
                        let mut kernels = vec![tiles; tiled.min(1)];
                        kernels.push(format!("gemm_best_lines__{}_{columns}_nt", T::NAME));
                        (kernels, tiled * 128 * LINE)
                    }
                };
                let kernels = product.kernels();
                let is_expected = kernels.len() == expected.len()
                    && kernels
                        .iter()
                        .zip(&expected)
                        .all(|(got, want)| got.starts_with(want));
                assert!(is_expected, "{device:?} {way:?} {left}: {kernels:?}");
                assert_eq!(product.workspace_bytes(), room, "{way:?} {left}");
            }
        }
    }
}

#[test]
fn each_way_launches_its_kernels() {
    each_way::<i8>("gemm_best_fragments");
    each_way::<F8E4M3>("gemm_best_fragments_small__e4m3");
    each_way::<F8E5M2>("gemm_best_fragments_small__e5m2");
    each_way::<ResultIn<F8E4M3, bf16>>("gemm_best_fragments_small__e4m3_bf16");
    each_way::<ResultIn<F8E4M3, f16>>("gemm_best_fragments_small__e4m3_f16");
}

/// Multiplies matrices of any numbers of 8 bits, and of such of one size. Cards of 9.0 have the bits of the CPU executor, and
/// the error has its bound.
fn any_numbers<T: OfBytes<Factor = T, Result = f32, Scale = f32> + gemm::Element<Scale = f32>>(
    any: fn(u8) -> T,
    near: fn(f32) -> T,
) {
    for (kind, [m, n, k]) in [[70, 90, 400], [130, 40, 1000]].into_iter().enumerate() {
        let mut rng = data::generator(kind as u64);
        let mut element = || match kind {
            // Small, subnormal and 0.
            0 => any(rng.random::<u8>() & 0xBF),
            _ => near(rng.random_range(-1.0..1.0)),
        };
        let [mut a, b] = [m * k, n * k].map(|len| (0..len).map(|_| element()).collect::<Vec<T>>());
        if kind == 0 {
            a[5] = any(0x7F);
        }
        let product = |device: &Device| {
            let a = device.upload_matrix(&a, m, k).unwrap();
            let b = device.upload_matrix(&b, n, k).unwrap();
            let product = device.gemm(&a, &b).transpose_b().run().unwrap();
            product.to_vec().unwrap()
        };
        let expected = product(&Device::cpu());
        for device in
            devices::all().filter(|device| device.info().compute_capability == Some((9, 0)))
        {
            compare::same_bits(&product(device), &expected).unwrap();
        }
        let (mut greatest, mut not_finite) = (0.0_f64, 0);
        for (i, found) in expected.into_iter().enumerate() {
            let (row, column) = (i / n * k, i % n * k);
            let products = (0..k).map(|k| {
                let [a, b] = [a[row + k], b[column + k]].map(|it| f64::from(it.widen()));
                a * b
            });
            let (sum, size) =
                products.fold((0.0, 0.0), |(sum, size), it| (sum + it, size + it.abs()));
            if !sum.is_finite() {
                assert!(
                    sum.is_nan() == found.is_nan() && !found.is_finite(),
                    "{i}: {found}"
                );
                not_finite += 1;
                continue;
            }
            greatest = greatest.max((f64::from(found) - sum).abs() / size);
        }
        assert_eq!(not_finite, [n, 0][kind]);
        let bound = [1.0 / 32.0, 1.0 / 512.0][kind];
        assert!(greatest < bound, "{kind}: {greatest}");
        println!(
            "the error of {} is {greatest:.2e} of all magnitudes",
            T::NAME
        );
    }
}

#[test]
fn any_numbers_of_eight_bits() {
    any_numbers::<F8E4M3>(F8E4M3::from_bits, F8E4M3::from_f32);
    any_numbers::<F8E5M2>(F8E5M2::from_bits, F8E5M2::from_f32);
}

#[test]
fn parts_of_lines_are_whole_steps() {
    for bytes in [1, 4] {
        let mut divided = 0;
        for k in [1, 31, 128, 1000, 8192, 65_537, 1 << 24] {
            let part = lines_part([512, 512, k], bytes, 1);
            let is_step = part.is_multiple_of(LINE / bytes);
            assert!(
                part == k || is_step && 0 < part && part < k,
                "{bytes} {k}: {part}"
            );
            divided += usize::from(part < k);
        }
        assert!(divided > 1, "{bytes}");
    }
}

#[test]
fn what_i8_has_not_is_refused() {
    for device in devices::all() {
        let a: Matrix<i8> = device.zeros_matrix(3, 3).unwrap();
        for (request, text) in [
            (device.gemm(&a, &a).gelu(), "matrices of i8"),
            (device.gemm(&a, &a).precision(Precision::Tf32), "tf32"),
            (device.gemm(&a, &a).precision(Precision::Bf16x6), "bf16x6"),
        ] {
            let error = request.run().unwrap_err();
            let is_value = matches!(
                &error,
                Error::Invalid {
                    kind: InvalidKind::Value,
                    operation: "gemm",
                    ..
                }
            );
            assert!(is_value && error.to_string().contains(text), "{error}");
        }
    }
}
