//! Products of `f32` by planes of `bf16` and by numbers of TF32, whose bits are the same on compute capability 9.0 and on the
//! CPU executor.

use cuda_std::wgmma::round_to_tf32;
use rand::Rng;
use warpwright::{
    Device, DeviceKind, Error, InvalidKind, Matrix, Result,
    ops::gemm::{Precision, Tiles, Way},
};
use warpwright_gpu::gemm::policy::LINE;
use warpwright_tests::{
    cases, compare, data,
    devices::{self, Executor},
};

use super::{
    TRANSPOSES,
    halves::adds_parts,
    problem::{FACTORS, Gemm, MARGINS, Margin, TAILS, plain},
};

/// Sizes of tiles that both precisions have, and those of [`Precision::Tf32`].
const WAYS: [Way; 2] = [Way::Warpgroups(Tiles::Large), Way::Warpgroups(Tiles::Small)];
const WAYS_OF_TF32: [Way; 4] = [
    WAYS[0],
    WAYS[1],
    Way::Warpgroups(Tiles::Medium),
    Way::Skinny,
];

/// Whole tiles of both sizes, edges in every direction, and more steps along k than a ring has slots.
const SHAPES: [[usize; 3]; 6] = [
    [128, 128, 64],
    [136, 260, 72],
    [130, 72, 136],
    [1, 1, 1],
    [7, 200, 63],
    [72, 30, 650],
];

/// Returns the devices that have the precision.
fn able() -> impl Iterator<Item = &'static Device> {
    devices::all().filter(|device| {
        device.kind() == DeviceKind::Cpu || device.info().compute_capability == Some((9, 0))
    })
}

fn problems(precision: Precision, ways: &[Way]) -> Vec<Gemm> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in ways.iter().copied().enumerate() {
            for (j, shape) in SHAPES.into_iter().enumerate() {
                for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                    // On the CPU executor one combination of two.
                    if executor == Executor::Cpu && (i + j + l) % 2 != 0 {
                        continue;
                    }
                    let margins: [Margin; 3] = [MARGINS[(j + l) % 3]; 3];
                    problems.push(Gemm {
                        transpose,
                        factors: FACTORS[(i + j + l) % FACTORS.len()],
                        count: 1 + (j + 2 * l) % 3,
                        shared: [l == 1, l == 2],
                        tail: TAILS[(i + 2 * j + l) % TAILS.len()],
                        margins,
                        precision,
                        parts: (precision == Precision::Tf32).then_some(1 + (j + l) % 3),
                        way: Some(way),
                        ..plain(executor, shape)
                    });
                }
            }
        }
        // Without an epilogue.
        let shape = match executor {
            Executor::Cpu => [128, 256, 64],
            Executor::Cuda => [2056, 1544, 136],
        };
        for way in ways.iter().copied() {
            for transpose in TRANSPOSES {
                problems.push(Gemm {
                    transpose,
                    precision,
                    way: Some(way),
                    ..plain(executor, shape)
                });
            }
        }
    }
    problems
}

/// Every shape, transposition, stack and tail is within the bound, and has the bits of the CPU executor with small tiles. A
/// device without the precision refuses it.
fn is_right_everywhere(precision: Precision, ways: &[Way]) {
    cases::run(
        &problems(precision, ways),
        |_| vec!["best"],
        |_, problem| {
            let mut rng = data::generator(23);
            let operands = problem.operands::<f32>(|| rng.random_range(-1.0_f32..1.0).into());
            let usual = Gemm {
                way: Some(WAYS[1]),
                ..*problem
            };
            let expected = usual.by_the_library(&Device::cpu(), &operands, "best");
            Ok((operands, expected?))
        },
        |device, problem, (operands, expected), variant| {
            if !able().any(|able| able.kind() == device.kind()) {
                let refused = problem.by_the_library(device, operands, variant);
                return match refused {
                    Err(Error::NotEligible { .. }) => Ok(()),
                    other => Err(format!("{other:?} instead of a refusal")),
                };
            }
            problem.check::<f32>(device, operands, variant)?;
            let got = problem.by_the_library(device, operands, variant);
            compare::same_bits(&got.map_err(|error| error.to_string())?, expected)
        },
    );
}

#[test]
fn planes_are_within_the_bound_and_have_the_same_bits_everywhere() {
    is_right_everywhere(Precision::Bf16x6, &WAYS);
}

#[test]
fn tf32_is_within_the_bound_and_has_the_same_bits_everywhere() {
    is_right_everywhere(Precision::Tf32, &WAYS_OF_TF32);
}

/// Returns the root of the mean square of the errors of a product of these matrices, relative to the sums of magnitudes.
fn error(device: &Device, [a, b]: [&[f32]; 2], k: usize, precision: Precision) -> Result<f64> {
    let (m, n) = (a.len() / k, b.len() / k);
    let (left, right) = (
        device.upload_matrix(a, m, k)?,
        device.upload_matrix(b, n, k)?,
    );
    let product = device.gemm(&left, &right).transpose_b();
    let product = product.precision(precision).way(WAYS[1]).run()?.to_vec()?;
    let mut total = 0.0;
    for (i, got) in product.into_iter().enumerate() {
        let rows = a[i / n * k..].iter().zip(&b[i % n * k..]).take(k);
        let (mut sum, mut size) = (0.0, 0.0);
        for (x, y) in rows {
            let product = f64::from(*x) * f64::from(*y);
            (sum, size) = (sum + product, size + product.abs());
        }
        total += ((f64::from(got) - sum) / size).powi(2);
    }
    Ok((total / (m * n) as f64).sqrt())
}

/// The errors of sums by planes are no greater than those of sums in `f32`, for numbers around 0, positive ones, and those
/// whose sums cancel, and hardly greater for those of very different sizes.
#[test]
fn errors_are_no_greater_than_those_of_sums_in_f32() {
    let mut rng = data::generator(29);
    for k in [64, 128, 512, 2048] {
        for kind in ["signs", "positive", "cancelling", "sizes"] {
            let mut values = |sign: f32| -> Vec<f32> {
                let value = |i: usize, x: f32| match kind {
                    "positive" => x.abs(),
                    // The second half of a row is about the negative of the first one.
                    "cancelling" if i % k >= k / 2 => sign * (1.0 + x / 64.0),
                    "cancelling" => 1.0 + x / 64.0,
                    "sizes" => x * 2.0_f32.powi(i as i32 * 7 % 41 - 20),
                    _ => x,
                };
                let numbers = (0..32 * k).map(|i| value(i, rng.random_range(-1.0..1.0)));
                numbers.collect()
            };
            let (a, b) = (values(1.0), values(-1.0));
            for device in able() {
                let of = |precision| error(device, [&a, &b], k, precision).unwrap();
                let [exact, planes] = [Precision::Exact, Precision::Bf16x6].map(of);
                println!(
                    "{} {kind}, k {k}: {exact:.2e} in f32, {planes:.2e} by planes",
                    device.kind()
                );
                // Where a few products make the sum, it has hardly any roundings, and the tensor cores truncate it.
                let most = if kind == "sizes" { 1.25 } else { 1.0 };
                assert!(
                    planes <= most * exact,
                    "{device:?} {kind}, k {k}: {exact:.2e}, {planes:.2e}"
                );
            }
        }
    }
}

/// Sums that are no numbers, and those of numbers that are infinities in `bf16`, are those of the exact product.
#[test]
fn what_is_no_number_is_as_in_the_exact_product() {
    let k = 70;
    let special = [
        [f32::INFINITY, 1.0],
        [f32::INFINITY, 0.0],
        [f32::NEG_INFINITY, -2.0],
        [f32::NAN, 1.0],
        [f32::MAX, 1.0],
        [f32::MAX, 2.0],
        [-f32::MAX, f32::MAX],
        [3.4e38, 0.5],
        [f32::MIN_POSITIVE, 0.75],
        [1e-45, 2.0],
    ];
    let rows = special.len();
    for device in able() {
        let (mut a, mut b) = (vec![0.0_f32; rows * k], vec![0.0_f32; k * rows]);
        for (i, [x, y]) in special.into_iter().enumerate() {
            a[i * k + i] = x;
            b[i * rows + i] = y;
        }
        let a = device.upload_matrix(&a, rows, k).unwrap();
        let b = device.upload_matrix(&b, k, rows).unwrap();
        let [exact, planes] = [Precision::Exact, Precision::Bf16x6].map(|precision| {
            let product = device.gemm(&a, &b).precision(precision).run();
            product.unwrap().to_vec().unwrap()
        });
        for (i, (exact, planes)) in exact.into_iter().zip(planes).enumerate() {
            let same = exact == planes || exact.is_nan() && planes.is_nan();
            // Numbers below 2^-109 lose bits in their planes.
            let near = (exact - planes).abs() <= 2.0 * 2.0_f32.powi(-133);
            assert!(same || near, "{device:?} {i}: {exact} and {planes}");
        }
    }
}

/// A sum of one product is that of the rounded elements, also if they are no numbers, or infinities in TF32.
#[test]
fn a_product_of_tf32_is_that_of_the_nearest_numbers() {
    let k = 72;
    let dropped = f32::EPSILON * 4096.0;
    let special = [
        [f32::INFINITY, 1.0],
        [f32::INFINITY, 0.0],
        [f32::NEG_INFINITY, -2.0],
        [f32::NAN, 1.0],
        [f32::from_bits(0x7F80_0001), 1.0],
        [f32::from_bits(0xFFBF_FFFF), 1.0],
        [f32::MAX, 1.0],
        [-f32::MAX, 1.0],
        [f32::from_bits(0x7F7F_EFFF), 0.5],
        [f32::from_bits(0x7F7F_F000), 0.5],
        // Halves of the last bit: to even, and what is next to them.
        [1.0 + dropped, 1.0],
        [1.0 + 3.0 * dropped, -1.0],
        [1.0 + dropped - f32::EPSILON, 1.0],
        [1.0 + dropped + f32::EPSILON, 3.0],
        [2.0 - f32::EPSILON, 1.25],
        [f32::MIN_POSITIVE, 0.75],
        [1e-45, 2.0],
        [-1e-40, 1.0],
    ];
    let rows = special.len();
    for device in able() {
        let (mut a, mut b) = (vec![0.0_f32; rows * k], vec![0.0_f32; rows * k]);
        for (i, [x, y]) in special.into_iter().enumerate() {
            a[i * k + i] = x;
            b[i * k + i] = y;
        }
        let matrix = |values: &[f32], height: usize, width: usize| {
            device.upload_matrix(values, height, width).unwrap()
        };
        let across = |values: &[f32]| -> Vec<f32> {
            (0..rows * k)
                .map(|i| values[i % rows * k + i / rows])
                .collect()
        };
        let rounded = |values: &[f32]| {
            values
                .iter()
                .copied()
                .map(round_to_tf32)
                .collect::<Vec<_>>()
        };
        let product = |[a, b]: [Matrix<f32>; 2], transpose_a: bool, precision| {
            let mut product = device.gemm(&a, &b).precision(precision);
            // B has lines along k if A has.
            product = match transpose_a {
                true => product.transpose_a(),
                false => product.transpose_b(),
            };
            product.run().unwrap().to_vec().unwrap()
        };
        let nearest = [&a, &b].map(|it| matrix(&rounded(it), rows, k));
        let exact = product(nearest, false, Precision::Exact);
        let along_k = [&a, &b].map(|it| matrix(it, rows, k));
        let by_maps = product(along_k, false, Precision::Tf32);
        let other = [&a, &b].map(|it| matrix(&across(it), k, rows));
        let by_tiles = product(other, true, Precision::Tf32);
        for (i, expected) in exact.into_iter().enumerate() {
            for (how, got) in [("maps", by_maps[i]), ("tiles", by_tiles[i])] {
                assert!(
                    got == expected || got.is_nan() && expected.is_nan(),
                    "{device:?} by {how}, {} and {}: {got}, not {expected}",
                    i / rows,
                    i % rows
                );
            }
        }
    }
}

/// Whole numbers of two planes and of one, whose sums are below 2^24.
#[test]
fn whole_numbers_are_exact() {
    let mut rng = data::generator(31);
    let mut values = |most: i32| -> Vec<f32> {
        let whole = (0..60 * 60).map(|_| rng.random_range(-most..=most) as f32);
        whole.collect()
    };
    let numbers = [
        (Precision::Bf16x6, values(4096), values(64)),
        (Precision::Tf32, values(1024), values(64)),
    ];
    for (device, (precision, a, b)) in able().flat_map(|it| numbers.iter().map(move |of| (it, of)))
    {
        let a = device.upload_matrix(a, 60, 60).unwrap();
        let b = device.upload_matrix(b, 60, 60).unwrap();
        let [exact, fast] = [Precision::Exact, *precision].map(|precision| {
            let product = device.gemm(&a, &b).precision(precision).run();
            product.unwrap().to_vec().unwrap()
        });
        assert_eq!(exact, fast, "{device:?} {precision}");
    }
}

#[test]
fn the_request_says_what_it_launches_and_what_it_takes() {
    for device in able() {
        let a = device
            .upload_matrix(&vec![1.0_f32; 130 * 70], 130, 70)
            .unwrap();
        let b = device
            .upload_matrix(&vec![1.0_f32; 70 * 10], 70, 10)
            .unwrap();
        let product = device.gemm(&a, &b).precision(Precision::Bf16x6);
        let mut product = product.prepare().unwrap();
        assert_eq!(
            product.kernels(),
            ["gemm_best_split", "gemm_best_planes__f32_64"]
        );
        // 256 and 128 lines of 128 elements, three planes of two bytes each.
        assert_eq!(product.workspace_bytes(), (256 + 128) * 128 * 6);
        product.enqueue().unwrap();
        let sums = product.output().unwrap().to_vec().unwrap();
        assert_eq!(sums, vec![70.0; 130 * 10]);
        // Nothing to multiply.
        let empty = device.upload_matrix(&[0.0_f32; 0], 130, 0).unwrap();
        let other = device.upload_matrix(&[0.0_f32; 0], 0, 10).unwrap();
        let product = device
            .gemm(&empty, &other)
            .precision(Precision::Bf16x6)
            .run();
        assert_eq!(product.unwrap().to_vec().unwrap(), vec![0.0; 130 * 10]);
    }
}

#[test]
fn operands_that_tensor_maps_cannot_bring_take_a_workspace() {
    for device in able() {
        let ones = |rows: usize, columns: usize| {
            let ones = vec![1.0_f32; rows * columns];
            device.upload_matrix(&ones, rows, columns).unwrap()
        };
        let (a, a_across, a_odd) = (ones(132, 72), ones(72, 132), ones(132, 70));
        let (b, b_across, b_odd) = (ones(12, 72), ones(72, 12), ones(12, 70));
        // 256 and 128 lines of three steps of 32.
        let (of_a, of_b) = (256 * 96 * 4, 128 * 96 * 4);
        for (product, kernel, bytes) in [
            (device.gemm(&a, &b).transpose_b(), "nt", 0),
            (device.gemm(&a, &b_across), "nn", 0),
            (
                device.gemm(&a_across, &b).transpose_a().transpose_b(),
                "tn",
                0,
            ),
            (device.gemm(&a_across, &b_across).transpose_a(), "tn", of_b),
            (device.gemm(&a_odd, &b_odd).transpose_b(), "nt", of_a + of_b),
        ] {
            let product = product.precision(Precision::Tf32).way(WAYS[1]);
            let mut product = product.prepare().unwrap();
            assert_eq!(product.workspace_bytes(), bytes);
            let first: &[&str] = if bytes > 0 {
                &["gemm_best_tiles__f32"]
            } else {
                &[]
            };
            let kernel = format!("gemm_best_lines__f32_64_{kernel}");
            assert_eq!(product.kernels(), [first, &[kernel.as_str()]].concat());
            product.enqueue().unwrap();
            let sums = product.output().unwrap().to_vec().unwrap();
            assert!(
                sums == [72.0; 132 * 12] || sums == [70.0; 132 * 12],
                "{device:?}"
            );
        }
    }
}

#[test]
fn parts_of_tf32_are_added_one_after_another() {
    let adding = "gemm_best_parts__f32";
    adds_parts::<f32>(Precision::Tf32, LINE / 4, &WAYS_OF_TF32, adding);
}

#[test]
fn other_types_and_variants_are_refused() {
    let device = Device::cpu();
    for precision in [Precision::Bf16x6, Precision::Tf32] {
        is_refused(&device, precision);
    }
}

fn is_refused(device: &Device, precision: Precision) {
    let a = device.upload_matrix(&[1.0_f64; 4], 2, 2).unwrap();
    let error = device.gemm(&a, &a).precision(precision).run().unwrap_err();
    let is_right = matches!(
        error,
        Error::Invalid {
            kind: InvalidKind::Value,
            ..
        }
    );
    assert!(is_right && error.to_string().contains("f64"), "{error}");
    let a = device.upload_matrix(&[1.0_f32; 4], 2, 2).unwrap();
    let request = device.gemm(&a, &a).precision(precision);
    let error = request.variant("naive").run().unwrap_err();
    assert!(matches!(error, Error::NotEligible { .. }), "{error}");
    assert!(error.to_string().contains(precision.name()), "{error}");
}
