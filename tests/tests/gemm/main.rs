//! Matrix products: every variant, every type, any shape, transposed, within larger matrices.

mod bytes;
mod group;
mod halves;
mod hard;
mod host;
mod precision;
mod problem;
mod stacks;

use cuda_std::{bf16, f16};
use problem::{FACTORS, Gemm, MARGINS, Real, plain, variants};
use rand::Rng;
use warpwright::{
    Error,
    ops::gemm::{ResultIn, Way},
};
use warpwright_gpu::gemm::{
    Variant,
    policy::{BEST_MOST_K, BEST_STEP, LARGE, SMALL, best_cut, tensor_size},
};
use warpwright_tests::{
    cases, compare, data,
    devices::{self, Executor},
    number::Number,
};

const TRANSPOSES: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];

fn problems() -> Vec<Gemm> {
    let mut sides = vec![0, 1, 33];
    sides.extend(Variant::ALL.into_iter().flat_map(|it| it.cut().tile));
    let best = Variant::Best.cut().tile[0];
    let small = best_cut(SMALL).tile[0];
    sides.extend([small - 1, small, small + 1, best - 1, best + 1]);
    sides.sort_unstable();
    sides.dedup();
    let depths = [
        0,
        1,
        BEST_STEP - 1,
        BEST_STEP,
        BEST_STEP + 1,
        2 * BEST_STEP,
        37,
    ];
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        // On the CPU executor, where lanes cost time, every two of m, n and k, and a seventh of all three.
        let one_of = match executor {
            Executor::Cpu => 7,
            Executor::Cuda => 1,
        };
        let mut shapes = Vec::new();
        for (i, m) in sides.iter().enumerate() {
            for (j, n) in sides.iter().enumerate() {
                for (l, k) in depths.into_iter().enumerate() {
                    if (i + j + l) % one_of == 0 {
                        shapes.push([*m, *n, k]);
                    }
                }
            }
        }
        shapes.extend([
            [131, 67, 61],
            [67, 257, 29],
            [1, 1, 1009],
            [3, 1009, 5],
            [1009, 3, 5],
        ]);
        if executor == Executor::Cuda {
            shapes.extend([
                [512, 512, 512],
                [1021, 1031, 523],
                [2176, 256, 64],
                [1, 65537, 3],
                [65537, 1, 3],
                [5, 3, 100_003],
            ]);
        }
        // Every shape with one combination of the rest; every combination comes with many shapes.
        for (i, shape) in shapes.into_iter().enumerate() {
            problems.push(Gemm {
                transpose: [i % 2 == 1, i / 2 % 2 == 1],
                factors: FACTORS[i % 17 % FACTORS.len()],
                margins: [0, 1, 2].map(|operand| MARGINS[(i / 5 + operand * (i / 3)) % 3]),
                ..plain(executor, shape)
            });
        }
        // Every combination with a shape that has whole tiles and an edge.
        let shape = [best + 4, 2 * best, 3 * BEST_STEP + 4];
        for i in 0..4 * FACTORS.len() * MARGINS.len() {
            let margin = MARGINS[i / 4 / FACTORS.len()];
            problems.push(Gemm {
                transpose: [i % 2 == 1, i / 2 % 2 == 1],
                factors: FACTORS[i / 4 % FACTORS.len()],
                margins: [margin; 3],
                ..plain(executor, shape)
            });
        }
    }
    problems
}

fn check_all<T: Real>() {
    cases::run(
        &problems(),
        |_| variants::<T>(),
        |_, problem| {
            let mut rng = data::generator((problem.m * 31 + problem.n * 17 + problem.k) as u64);
            Ok(problem.operands::<T>(|| rng.random_range(-1.0..1.0)))
        },
        |device, problem, operands, variant| problem.check::<T>(device, operands, variant),
    );
}

#[test]
fn f32_products() {
    check_all::<f32>();
}

#[test]
fn f64_products() {
    check_all::<f64>();
}

#[test]
fn f16_products() {
    check_all::<f16>();
}

#[test]
fn bf16_products() {
    check_all::<bf16>();
}

#[test]
fn f16_products_in_f32() {
    check_all::<ResultIn<f16, f32>>();
}

#[test]
fn bf16_products_in_f32() {
    check_all::<ResultIn<bf16, f32>>();
}

/// As many large tiles as there are multiprocessors, which are taken, and one less, which are cut smaller: whole and
/// aligned ones, and ones that are neither.
fn tiles_of_both_sizes<T: Real>() {
    let tile = Variant::Best.cut().tile[0];
    for executor in Executor::ALL {
        for device in executor.devices() {
            let fill = device.info().multiprocessors as usize;
            for (count, transpose) in (0..8).map(|i| (fill - i / 4, [i % 2 == 1, i / 2 % 2 == 1])) {
                let whole = [tile * count, tile, 3 * BEST_STEP];
                let part = [(tile * count).saturating_sub(5), 67, 3 * BEST_STEP + 4];
                for [m, n, k] in [whole, part] {
                    let problem = Gemm {
                        transpose,
                        factors: [2.0, -0.5],
                        ..plain(executor, [m, n, k])
                    };
                    let mut rng = data::generator(11);
                    let operands = problem.operands(|| rng.random_range(-1.0..1.0));
                    let outcome = problem.check::<T>(device, &operands, "best");
                    assert!(outcome.is_ok(), "{device:?} {problem:?}: {outcome:?}");
                }
            }
        }
    }
}

#[test]
fn tiles_of_both_sizes_give_the_products() {
    tiles_of_both_sizes::<f32>();
    tiles_of_both_sizes::<f64>();
    tiles_of_both_sizes::<f16>();
    tiles_of_both_sizes::<bf16>();
    tiles_of_both_sizes::<ResultIn<f16, f32>>();
    tiles_of_both_sizes::<ResultIn<bf16, f32>>();
}

/// All kernels of `f64`, of which the device and the shape choose some: whole tiles and others, depths around those of a ring,
/// every transposition, factors and views that are aligned and not.
#[test]
fn every_kernel_of_f64_gives_the_products() {
    let shapes = [
        [128, 128, 64],
        [129, 130, 83],
        [1, 1, 1],
        [64, 192, 16],
        [37, 5, 130],
        [200, 70, 39],
    ];
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for (i, way) in Way::OF_F64.into_iter().enumerate() {
            for (j, [m, n, k]) in shapes.into_iter().enumerate() {
                for (l, transpose) in TRANSPOSES.into_iter().enumerate() {
                    problems.push(Gemm {
                        transpose,
                        factors: FACTORS[(i + j + l) % FACTORS.len()],
                        margins: [MARGINS[(j + l) % MARGINS.len()]; 3],
                        way: Some(way),
                        ..plain(executor, [m, n, k])
                    });
                }
            }
        }
    }
    cases::run(
        &problems,
        |_| vec!["best"],
        |_, problem| {
            let mut rng = data::generator(13);
            Ok(problem.operands::<f64>(|| rng.random_range(-1.0..1.0)))
        },
        |device, problem, operands, variant| {
            let got = problem.by_the_library(device, operands, variant);
            let got = got.map_err(|error| error.to_string())?;
            compare::same_bits(&got, &problem.all_by_the_book(operands))
        },
    );
}

/// The sizes of tiles that were the faster ones on an H100, which has 132 multiprocessors.
#[test]
fn tiles_on_tensor_cores_fill_the_multiprocessors() {
    for (side, size) in [
        (512, SMALL),
        (1024, SMALL),
        (1536, SMALL),
        (2048, LARGE),
        (3000, SMALL),
        (4096, LARGE),
        (8192, LARGE),
    ] {
        assert_eq!(tensor_size([side, side], 1, 132), size, "{side}");
    }
}

/// Sums of -0 stay what they are where a tile goes beyond the matrix.
#[test]
fn sums_of_negative_zero_stay() {
    for device in devices::all() {
        for way in Way::OF_F64 {
            for k in [1, 3, 4, 5, 17] {
                let a = device.upload_matrix(&vec![-1e-200; 3 * k], 3, k).unwrap();
                let b = device.upload_matrix(&vec![1e-200; 5 * k], k, 5).unwrap();
                let product = device.gemm(&a, &b).way(way).run().unwrap();
                compare::same_bits(&product.to_vec().unwrap(), &[-0.0; 15]).unwrap();
            }
        }
    }
}

fn whole_numbers<T: Real>() {
    let problems = Executor::ALL.map(|executor| plain(executor, [140, 133, 75]));
    cases::run(
        &problems,
        |_| variants::<T>(),
        |_, problem| {
            let mut rng = data::generator(5);
            Ok(problem.operands::<T>(|| rng.random_range(-9_i8..=9).into()))
        },
        |device, problem, operands, variant| {
            let got = problem.by_the_library(device, operands, variant);
            let got = got.map_err(|error| error.to_string())?;
            let want: Vec<T::Result> = (0..problem.m * problem.n)
                .map(|at| {
                    let pairs = problem.pairs(operands, at / problem.n, at % problem.n);
                    let sum: i64 = pairs.map(|(a, b)| a.real() as i64 * b.real() as i64).sum();
                    T::Result::from_real(sum as f64)
                })
                .collect();
            compare::same_bits(&got, &want)
        },
    );
}

#[test]
fn small_whole_numbers_are_exact() {
    whole_numbers::<f32>();
    whole_numbers::<f64>();
    whole_numbers::<f16>();
    whole_numbers::<bf16>();
    whole_numbers::<ResultIn<f16, f32>>();
    whole_numbers::<ResultIn<bf16, f32>>();
}

/// NaN and infinities in A and B reach the elements that they belong to, and no others: not even where a
/// tile goes beyond the matrix.
fn specials<T: Real>() {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for transpose in TRANSPOSES {
            problems.push(Gemm {
                transpose,
                factors: [2.0, 0.0],
                ..plain(executor, [130, 131, 21])
            });
        }
    }
    cases::run(
        &problems,
        |_| variants::<T>(),
        |_, problem| {
            let mut rng = data::generator(7);
            // Their sums are exact in every order.
            let mut quarters = || f64::from(rng.random_range(2_u8..=4)) / 4.0;
            let mut operands = problem.operands::<T>(&mut quarters);
            let [a, b] = problem.transpose;
            operands.a.put([3, 20], a, T::Factor::from_real(f64::NAN));
            operands
                .a
                .put([129, 0], a, T::Factor::from_real(f64::INFINITY));
            operands
                .b
                .put([20, 130], b, T::Factor::from_real(f64::NEG_INFINITY));
            operands.b.put([7, 64], b, T::Factor::from_real(f64::NAN));
            Ok(operands)
        },
        |device, problem, operands, variant| {
            let got = problem.by_the_library(device, operands, variant);
            let got = got.map_err(|error| error.to_string())?;
            let want = (0..got.len())
                .map(|at| problem.by_the_book(operands, at / problem.n, at % problem.n));
            for (at, (got, want)) in got.iter().zip(want).enumerate() {
                let (row, column) = (at / problem.n, at % problem.n);
                let is_finite = !(row == 3 || row == 129 || column == 130 || column == 64);
                compare::same(&want.real().is_finite(), &is_finite)?;
                compare::same_element(Some(*got), Some(want))
                    .map_err(|wrong| format!("({row}, {column}): {wrong}"))?;
            }
            Ok(())
        },
    );
}

#[test]
fn nan_and_infinities_come_through_where_they_belong() {
    specials::<f32>();
    specials::<f64>();
    specials::<f16>();
    specials::<bf16>();
    specials::<ResultIn<f16, f32>>();
    specials::<ResultIn<bf16, f32>>();
}

fn not_read<T: Real>() {
    fn all<N: Number>(values: &[f64]) -> Vec<N> {
        values.iter().map(|it| N::from_real(*it)).collect()
    }
    let same = |got: warpwright::Matrix<T::Result>, want: &[f64]| {
        compare::same_bits(&got.to_vec().unwrap(), &all(want)).unwrap();
    };
    for device in devices::all() {
        for variant in variants::<T>() {
            let factors = |value: f64, rows, columns| {
                let values = all::<T::Factor>(&[value; 6]);
                device.upload_matrix(&values, rows, columns).unwrap()
            };
            let (nan, one) = (factors(f64::NAN, 2, 3), factors(1.0, 3, 2));
            let product = |a, b| device.gemm_of::<T>(a, b).variant(variant);
            let c = device.upload_matrix(&all(&[f64::NAN; 9]), 3, 3).unwrap();
            // beta = 0: C.
            let request = product((&one).into(), (&one).into()).transpose_b();
            same(request.output_to(c).run().unwrap(), &[2.0; 9]);
            // alpha = 0: A and B; -0 stays.
            let c = device.upload_matrix(&all(&[3.0, -0.0, 1.0, f64::INFINITY]), 2, 2);
            let request = product((&nan).into(), (&one).into()).alpha(T::factor(0.0));
            let c = request.add_to(T::factor(2.0), c.unwrap()).run().unwrap();
            same(c, &[6.0, -0.0, 2.0, f64::INFINITY]);
            // Neither.
            let request = product((&nan).into(), (&one).into()).alpha(T::factor(-0.0));
            same(request.run().unwrap(), &[0.0; 4]);
            // k = 0: not even alpha.
            let (a, b) = (
                device.zeros_matrix::<T::Factor>(2, 0),
                device.zeros_matrix::<T::Factor>(0, 2),
            );
            let (a, b) = (a.unwrap(), b.unwrap());
            let c = device
                .upload_matrix(&all(&[1.0, 2.0, -0.0, 4.0]), 2, 2)
                .unwrap();
            let request = product((&a).into(), (&b).into()).alpha(T::factor(f64::NAN));
            same(
                request.add_to(T::factor(-1.0), c).run().unwrap(),
                &[-1.0, -2.0, 0.0, -4.0],
            );
            same(product((&a).into(), (&b).into()).run().unwrap(), &[0.0; 4]);
        }
    }
}

#[test]
fn what_is_not_read_does_not_come_through() {
    not_read::<f32>();
    not_read::<f64>();
    not_read::<f16>();
    not_read::<bf16>();
    not_read::<ResultIn<f16, f32>>();
    not_read::<ResultIn<bf16, f32>>();
}

/// Factors are not rounded to elements, and an element of the result is rounded once.
#[test]
fn factors_of_f16_are_f32() {
    for device in devices::all() {
        for variant in variants::<f16>() {
            let one = device.upload_matrix(&[f16::ONE], 1, 1).unwrap();
            // 2049 lies between two elements; with 3 more it does not.
            let c = device.upload_matrix(&[f16::from_f32(3.0)], 1, 1).unwrap();
            let request = device.gemm(&one, &one).alpha(2049.0).variant(variant);
            let sum = request.add_to(1.0, c).run().unwrap();
            assert_eq!(sum.to_vec().unwrap(), [f16::from_f32(2052.0)], "{variant}");
        }
    }
}

/// The sums of `best` are those of the tensor cores of compute capability 9.0, for 16 products after the other.
#[test]
fn sums_of_best_are_rounded_toward_zero() {
    let device = devices::cpu();
    let small = 1.5 * 2.0_f32.powi(-24);
    let mut a = vec![bf16::ZERO; 48];
    (a[0], a[16], a[32]) = (bf16::ONE, bf16::from_f32(small), bf16::NEG_ONE);
    let a = device.upload_matrix(&a, 1, 48).unwrap();
    let b = device.upload_matrix(&[bf16::ONE; 48], 48, 1).unwrap();
    let sum = |variant| {
        let request = device.gemm(&a, &b).variant(variant);
        request.run().unwrap().to_vec().unwrap()[0].to_f32()
    };
    assert_eq!(sum("best"), 0.0);
    assert_eq!(sum("naive"), f32::EPSILON);
}

#[test]
fn a_rectangle_is_what_it_says_and_its_surroundings_stay() {
    let device = devices::cpu();
    let values: Vec<f64> = (0..20).map(f64::from).collect();
    let mut matrix = device.upload_matrix(&values, 4, 5).unwrap();
    let rect = matrix.rect(1..3, 1..=3).unwrap();
    assert_eq!((rect.height(), rect.width(), rect.stride()), (2, 3, 5));
    assert_eq!(rect.to_vec().unwrap(), [6.0, 7.0, 8.0, 11.0, 12.0, 13.0]);
    assert_eq!(rect.rect(1.., ..2).unwrap().to_vec().unwrap(), [11.0, 12.0]);
    assert!(rect.rect(.., 1..1).unwrap().to_vec().unwrap().is_empty());
    let one = device.upload_matrix(&[1.0], 1, 1).unwrap();
    let c = matrix.rect_mut(3.., 4..).unwrap();
    assert_eq!(c.as_rect().to_vec().unwrap(), [19.0]);
    let c = device.gemm(&one, &one).output_to(c).run().unwrap();
    assert_eq!((c.height(), c.width(), c.stride()), (1, 1, 5));
    assert_eq!(matrix.to_vec().unwrap()[..19], values[..19]);
    assert_eq!(matrix.to_vec().unwrap()[19], 1.0);
    for wrong in [matrix.rect(0..5, ..), matrix.rect(.., 3..6)] {
        let error = wrong.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    }
    assert!(matrix.rect_mut(5.., ..).is_err());
}

#[test]
fn shapes_that_do_not_fit_are_refused_by_name() {
    for device in devices::all() {
        let a = device.zeros_matrix::<f32>(3, 4).unwrap();
        let b = device.zeros_matrix::<f32>(5, 6).unwrap();
        let text = device.matmul(&a, &b).unwrap_err().to_string();
        assert!(text.contains("3 x 4") && text.contains("5 x 6"), "{text}");
        let request = device.gemm(&a, &b).transpose_a().transpose_b();
        let text = request.run().unwrap_err().to_string();
        assert!(text.contains("4 x 3") && text.contains("6 x 5"), "{text}");
        let c = device.zeros_matrix::<f32>(3, 4).unwrap();
        let error = device
            .gemm(&a, &a)
            .transpose_b()
            .output_to(c)
            .run()
            .unwrap_err();
        assert!(
            matches!(
                error,
                Error::Invalid {
                    operation: "gemm",
                    ..
                }
            ),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains("3 x 3") && text.contains("3 x 4"), "{text}");
    }
}

#[test]
fn an_unknown_variant_is_refused_and_the_known_ones_are_named() {
    let device = devices::cpu();
    let a = device.zeros_matrix::<f64>(2, 2).unwrap();
    let text = device.gemm(&a, &a).variant("bset").run().unwrap_err();
    let text = text.to_string();
    for name in variants::<f64>().into_iter().chain(["`bset`"]) {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    use warpwright::ops::ChosenBy;
    let device = devices::cpu();
    let a = device.zeros_matrix::<f64>(2, 2).unwrap();
    let prepared = device.gemm(&a, &a).prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
    let prepared = device.gemm(&a, &a).variant("tiled").prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("tiled", ChosenBy::Caller)
    );
    const { assert!(BEST_MOST_K > 1 << 34) };
}

#[test]
fn queued_again_it_overwrites_or_goes_on() {
    for device in devices::all() {
        let a = device
            .upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)
            .unwrap();
        let mut prepared = device.gemm(&a, &a).prepare().unwrap();
        for _ in 0..3 {
            prepared.enqueue().unwrap();
            assert_eq!(
                prepared.output().unwrap().to_vec().unwrap(),
                [7.0, 10.0, 15.0, 22.0]
            );
        }
        let c = prepared.into_output().unwrap();
        let mut prepared = device.gemm(&a, &a).add_to(1.0, c).prepare().unwrap();
        prepared.enqueue().unwrap();
        prepared.enqueue().unwrap();
        assert_eq!(
            prepared.output().unwrap().to_vec().unwrap(),
            [21.0, 30.0, 45.0, 66.0]
        );
    }
}

#[test]
fn other_handles_of_the_device_take_part_in_order() {
    for device in devices::all() {
        let other = device.new_stream().unwrap();
        let a = other.upload_matrix(&[2.0_f64; 64 * 64], 64, 64).unwrap();
        let mut c = other.zeros_matrix::<f64>(64, 64).unwrap();
        device.gemm(&a, &a).output_to(&mut c).run().unwrap();
        let d = other.matmul(&c, &a).unwrap();
        assert_eq!(d.to_vec().unwrap(), [256.0 * 128.0; 64 * 64]);
    }
}

#[test]
fn rows_of_a_matrix_are_a_matrix() {
    let device = devices::cpu();
    let a = device
        .upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)
        .unwrap();
    let got = device.matmul(a.rows(1..).unwrap(), &a).unwrap();
    assert_eq!((got.height(), got.width()), (1, 2));
    assert_eq!(got.to_vec().unwrap(), [15.0, 22.0]);
}
