//! The kernels of `f16` and `bf16`, whose bits are the same on compute capability 9.0 and on the CPU executor.

use cuda_std::{bf16, f16};
use rand::Rng;
use warpwright::{Device, DeviceKind, ops::gemm::Way};
use warpwright_gpu::gemm::policy::{LARGE, SMALL, wgmma_size};
use warpwright_tests::{
    cases, compare, data,
    devices::{self, Executor},
};

use super::{
    TRANSPOSES,
    problem::{FACTORS, Gemm, Margin, Real, plain},
};

/// None; one that keeps the rows of A and B at multiples of 16 bytes, and those of C not; one that keeps none.
const MARGINS: [[Margin; 3]; 3] = [
    [[0; 3]; 3],
    [[1, 8, 16], [2, 16, 8], [2, 3, 2]],
    [[2, 3, 2]; 3],
];

/// Whole tiles of every size, edges in every direction, sizes of which tensor maps take none, and more tiles than a device has
/// multiprocessors.
const SHAPES: [[usize; 3]; 7] = [
    [128, 256, 128],
    [136, 264, 72],
    [8, 520, 40],
    [200, 72, 8],
    [1, 1, 1],
    [72, 30, 200],
    [130, 131, 67],
];

fn problems() -> Vec<Gemm> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in Way::OF_HALVES.into_iter().enumerate() {
            for (j, shape) in SHAPES.into_iter().enumerate() {
                for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                    // On the CPU executor one combination of three: every way, shape and transposition meets all others.
                    if executor == Executor::Cpu && (i + j + l) % 3 != 0 {
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

fn every_kernel<T: Real>() {
    cases::run(
        &problems(),
        |_| vec!["best"],
        |_, problem| {
            let mut rng = data::generator(13);
            let operands = problem.operands(|| T::from_real(rng.random_range(-1.0..1.0)));
            // By products of fragments, of which the layout decides nothing.
            let usual = Gemm {
                way: Some(Way::OF_HALVES[0]),
                ..*problem
            };
            let expected = usual.by_the_library(&Device::cpu(), &operands, "best");
            Ok((operands, expected?))
        },
        |device, problem, (operands, expected), variant| {
            problem.check::<T>(device, operands, variant)?;
            let got = problem.by_the_library(device, operands, variant);
            let got = got.map_err(|error| error.to_string())?;
            match is_known(device) {
                true => compare::same_bits(&got, expected),
                false => Ok(()),
            }
        },
    );
}

#[test]
fn every_kernel_of_f16_gives_the_same_bits() {
    every_kernel::<f16>();
}

#[test]
fn every_kernel_of_bf16_gives_the_same_bits() {
    every_kernel::<bf16>();
}

/// Infinities and NaN where a tile of A and B goes beyond the matrices reach no other element.
#[test]
fn what_is_outside_reaches_nothing() {
    for device in devices::all() {
        for way in Way::OF_HALVES {
            let mut host = vec![bf16::INFINITY; 40 * 40];
            for row in host.chunks_mut(40).skip(8).take(16) {
                row[8..32].fill(bf16::ZERO);
            }
            let all = device.upload_matrix(&host, 40, 40).unwrap();
            let a = all.rect(8..24, 8..32).unwrap();
            let product = device.gemm(a, a).transpose_b().way(way);
            let product = product.run().unwrap();
            let sum = product.to_vec().unwrap();
            assert_eq!(sum, vec![bf16::ZERO; 16 * 16], "{device:?} {way:?}");
        }
    }
}

/// The kernels are those that were asked for, and where tensor maps do not take A or B those of fragments.
#[test]
fn each_way_launches_its_kernels() {
    for device in devices::all().filter(|device| is_known(device)) {
        let all = device
            .upload_matrix(&vec![f16::ONE; 24 * 24], 24, 24)
            .unwrap();
        for (left, is_aligned) in [(8, true), (4, false)] {
            for (way, columns) in Way::OF_HALVES.into_iter().zip([0, 0, 256, 128, 64]) {
                let a = all.rect(0..16, left..left + 16).unwrap();
                let product = device.gemm(a, a).way(way).prepare().unwrap();
                let expected = match (columns, is_aligned) {
                    (0, _) | (_, false) => "gemm_best_half".to_owned(),
                    _ => format!("gemm_best_wgmma__f16_{columns}_nn"),
                };
                let kernels = product.kernels();
                let is_expected = kernels.len() == 1 && kernels[0].starts_with(&expected);
                assert!(is_expected, "{device:?} {way:?} {is_aligned}: {kernels:?}");
            }
        }
    }
}

/// The sizes of tiles that were the faster ones on an H100, which has 132 multiprocessors.
#[test]
fn tiles_of_warpgroups_fill_the_multiprocessors() {
    for ([m, n], size) in [
        ([256, 256], SMALL),
        ([512, 512], SMALL),
        ([1024, 1024], SMALL),
        ([1536, 1536], LARGE),
        ([2048, 2048], LARGE),
        ([3072, 3072], LARGE),
        ([4096, 1024], LARGE),
        ([8192, 8192], LARGE),
    ] {
        assert_eq!(wgmma_size([m, n], 132), size, "{m} x {n}");
    }
}
