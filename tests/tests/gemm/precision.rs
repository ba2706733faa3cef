//! Products of `f32` by planes of `bf16`, whose bits are the same on compute capability 9.0 and on the CPU executor.

use rand::Rng;
use warpwright::{
    Device, DeviceKind, Error, InvalidKind, Result,
    ops::gemm::{Precision, Tiles, Way},
};
use warpwright_tests::{
    cases, compare, data,
    devices::{self, Executor},
};

use super::{
    TRANSPOSES,
    problem::{FACTORS, Gemm, MARGINS, Margin, TAILS, plain},
};

const WAYS: [Way; 2] = [Way::Warpgroups(Tiles::Large), Way::Warpgroups(Tiles::Small)];

/// Whole tiles of both sizes, edges in every direction, and more steps along k than a ring has slots.
const SHAPES: [[usize; 3]; 5] = [
    [128, 128, 64],
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

fn problems() -> Vec<Gemm> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in WAYS.into_iter().enumerate() {
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
                        precision: Precision::Bf16x6,
                        way: Some(way),
                        ..plain(executor, shape)
                    });
                }
            }
        }
        if executor == Executor::Cuda {
            for way in WAYS {
                problems.push(Gemm {
                    precision: Precision::Bf16x6,
                    way: Some(way),
                    ..plain(executor, [2056, 1544, 136])
                });
            }
        }
    }
    problems
}

/// Every shape, transposition, stack and tail is within the bound, and has the bits of the CPU executor with small tiles. A
/// device without the precision refuses it.
#[test]
fn planes_are_within_the_bound_and_have_the_same_bits_everywhere() {
    cases::run(
        &problems(),
        |_| vec!["best"],
        |_, problem| {
            let mut rng = data::generator(23);
            let operands = problem.operands(|| rng.random_range(-1.0_f32..1.0));
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

/// Whole numbers of two planes and of one, whose sums are below 2^24.
#[test]
fn whole_numbers_are_exact() {
    let mut rng = data::generator(31);
    let mut values = |most: i32| -> Vec<f32> {
        let whole = (0..60 * 60).map(|_| rng.random_range(-most..=most) as f32);
        whole.collect()
    };
    let (a, b) = (values(4096), values(64));
    for device in able() {
        let a = device.upload_matrix(&a, 60, 60).unwrap();
        let b = device.upload_matrix(&b, 60, 60).unwrap();
        let [exact, planes] = [Precision::Exact, Precision::Bf16x6].map(|precision| {
            let product = device.gemm(&a, &b).precision(precision).run();
            product.unwrap().to_vec().unwrap()
        });
        assert_eq!(exact, planes, "{device:?}");
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
fn other_types_and_variants_are_refused() {
    let device = Device::cpu();
    let a = device.upload_matrix(&[1.0_f64; 4], 2, 2).unwrap();
    let error = device
        .gemm(&a, &a)
        .precision(Precision::Bf16x6)
        .run()
        .unwrap_err();
    let is_right = matches!(
        error,
        Error::Invalid {
            kind: InvalidKind::Value,
            ..
        }
    );
    assert!(is_right && error.to_string().contains("f64"), "{error}");
    let a = device.upload_matrix(&[1.0_f32; 4], 2, 2).unwrap();
    let request = device.gemm(&a, &a).precision(Precision::Bf16x6);
    let error = request.variant("naive").run().unwrap_err();
    assert!(matches!(error, Error::NotEligible { .. }), "{error}");
    assert!(error.to_string().contains("bf16x6"), "{error}");
}
