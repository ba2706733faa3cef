//! Products of `i8`, whose sums in `i32` wrap around: every variant and every kernel gives the same bits on every device.

use rand::Rng;
use warpwright::{
    Device, DeviceKind, Error, InvalidKind, Matrix,
    ops::gemm::{Precision, Way},
};
use warpwright_gpu::gemm::policy::{LINE, lines_part};
use warpwright_tests::{
    cases, compare, data,
    devices::{self, Executor},
};

use super::{
    TRANSPOSES,
    problem::{Activation, Gemm, Margin, Operands, TAILS, plain},
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
const SHAPES: [[usize; 3]; 7] = [
    [128, 256, 256],
    [144, 272, 144],
    [16, 528, 48],
    [208, 80, 16],
    [1, 1, 1],
    [72, 30, 400],
    [130, 131, 67],
];

/// Returns the same problem for `i8`, with factors of its own and without GELU.
fn of_integers(i: usize, problem: Gemm) -> Gemm {
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

/// Checks products by some variants against sums in the order of k.
fn are_exact(problems: &[Gemm], variants: &[&'static str]) {
    cases::run(
        problems,
        |_| variants.to_vec(),
        |_, problem| {
            let mut rng = data::generator((problem.m * 31 + problem.n * 17 + problem.k) as u64);
            // The ends of the type are frequent.
            let value = || match rng.random_range(0..8) {
                0 => i8::MIN,
                1 => i8::MAX,
                _ => rng.random(),
            };
            let mut of_c = data::generator(29);
            let operands: Operands<i8> = problem.operands_of(value, || of_c.random());
            let expected = problem.all_by_the_book(&operands);
            Ok((operands, expected))
        },
        |device, problem, (operands, expected), variant| {
            let got = problem.by_the_library(device, operands, variant);
            compare::same_bits(&got.map_err(|error| error.to_string())?, expected)
        },
    );
}

#[test]
fn i8_products() {
    let problems: Vec<Gemm> = problems()
        .into_iter()
        .enumerate()
        .map(|(i, problem)| of_integers(i, problem))
        .collect();
    are_exact(&problems, &variants());
}

/// Every kernel of `best`: shapes, transpositions, stacks, tails, and parts of k.
#[test]
fn every_kernel_of_i8_gives_the_products() {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in Way::OF_HALVES.into_iter().enumerate() {
            for (j, shape) in SHAPES.into_iter().enumerate() {
                for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                    // On the CPU executor one combination of two.
                    if executor == Executor::Cpu && (i + j + l) % 2 != 0 {
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
                    problems.push(of_integers(i + j + l, problem));
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
    are_exact(&problems, &["best"]);
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
#[test]
fn each_way_of_i8_launches_its_kernels() {
    let able = |device: &&Device| {
        let capability = device.info().compute_capability;
        capability.is_none_or(|capability| capability == (9, 0))
    };
    for device in devices::all().filter(able) {
        let all = device.zeros_matrix::<i8>(32, 64).unwrap();
        for (left, transposed, tiled) in [(16, true, 0), (16, false, 1), (8, true, 2)] {
            for (way, columns) in Way::OF_HALVES.into_iter().zip([0, 0, 256, 128, 64]) {
                let a = all.rect(0..16, left..left + 16).unwrap();
                let product = device.gemm(a, a).way(way);
                let product = if transposed {
                    product.transpose_b()
                } else {
                    product
                };
                let product = product.prepare().unwrap();
                let (expected, room) = match columns {
                    0 => (vec!["gemm_best_fragments".to_owned()], 0),
                    _ => {
                        let mut kernels = vec!["gemm_best_tiles__i8".to_owned(); tiled.min(1)];
                        kernels.push(format!("gemm_best_lines__i8_{columns}_nt"));
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
