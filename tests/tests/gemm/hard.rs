//! Numbers whose sums are hard: near zero though the terms are not, of very different sizes, subnormal, and too small for a
//! normal product; with a `k` of a few terms and of many. Each sum is within the bound of docs/NUMBERS.md of the sum in twice
//! the precision. Variants that add in the order of k have the same bits everywhere.

use cuda_std::{bf16, cpu::Order, f16};
use rand::{Rng, rngs::StdRng};
use warpwright::{
    Device,
    ops::gemm::{ResultIn, Way},
};
use warpwright_tests::{
    cases, compare, data,
    devices::{self, Executor},
    number::Number,
};

use super::{
    TRANSPOSES,
    problem::{Gemm, Operands, Real, plain, variants},
};

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The second half of a sum is about the negative of the first one.
    Cancelling,
    /// From `2^-range` to `2^range`.
    Sizes { range: i32 },
    /// A is subnormal, B is so large that the products are not.
    Subnormal,
    /// Products are at the least positive number of the sum's type, or below.
    Tiny,
}

/// The number of subnormal numbers of A of each sign, and 1.
fn subnormals<T: Real>() -> u64 {
    let rounding = T::HALVES.map_or(T::Factor::ROUNDING, |[relative, _]| relative);
    (0.5 / rounding) as u64
}

fn operands<T: Real>(problem: &Gemm, kind: Kind, rng: &mut StdRng) -> Operands<T> {
    let root = T::Factor::GREATEST.real().sqrt();
    let mut number = |range: f64| rng.random_range(-range..range);
    match kind {
        Kind::Cancelling => {
            let mut operands = problem.operands::<T>(|| number(1.0));
            let [a, b] = problem.transpose;
            let half = problem.k / 2;
            for k in 0..half {
                for row in 0..problem.m {
                    let value = operands.a.at(row, k, a);
                    operands.a.put([row, half + k], a, value);
                }
                for column in 0..problem.n {
                    let value = operands.b.at(k, column, b).real() * (number(0.01) - 1.0);
                    operands
                        .b
                        .put([half + k, column], b, T::Factor::from_real(value));
                }
            }
            operands
        }
        Kind::Sizes { range } => problem.operands(|| {
            let size = f64::from(range) * number(1.0);
            number(1.0) * size.round().exp2()
        }),
        Kind::Subnormal => {
            let mut operands = problem.operands::<T>(|| number(1.0) * root);
            for value in &mut operands.a.all {
                let bits = number(subnormals::<T>() as f64).abs() as u64;
                *value = T::Factor::from_low_bits(bits.max(1));
            }
            operands
        }
        Kind::Tiny => problem.operands(|| number(1.0) / root / 1024.0),
    }
}

/// Checks all variants, and `best` by each of `ways`.
fn hard<T: Real>(range: i32, ways: &[Way]) {
    let kinds = [
        Kind::Cancelling,
        Kind::Sizes { range },
        Kind::Subnormal,
        Kind::Tiny,
    ];
    for (i, kind) in kinds.into_iter().enumerate() {
        let mut problems = Vec::new();
        for executor in Executor::ALL {
            for (j, shape) in [[9, 17, 203], [5, 3, 2051]].into_iter().enumerate() {
                for (l, way) in [None]
                    .into_iter()
                    .chain(ways.iter().copied().map(Some))
                    .enumerate()
                {
                    problems.push(Gemm {
                        transpose: TRANSPOSES[(i + j + l) % TRANSPOSES.len()],
                        factors: [[1.0, 0.0], [-0.75, 0.5]][(j + l) % 2],
                        way,
                        ..plain(executor, shape)
                    });
                }
            }
        }
        cases::run(
            &problems,
            |problem| problem.way.map_or_else(variants::<T>, |_| vec!["best"]),
            |_, problem| Ok(operands::<T>(problem, kind, &mut data::generator(31))),
            |device, problem, operands, variant| {
                let checked = problem.check::<T>(device, operands, variant);
                checked.map_err(|wrong| format!("{kind:?}: {wrong}"))
            },
        );
    }
}

#[test]
fn hard_sums_of_f32() {
    hard::<f32>(20, &[]);
}

#[test]
fn hard_sums_of_f64() {
    hard::<f64>(200, &Way::OF_F64);
}

#[test]
fn hard_sums_of_f16() {
    hard::<f16>(4, &Way::OF_HALVES);
    hard::<ResultIn<f16, f32>>(4, &Way::OF_HALVES);
}

#[test]
fn hard_sums_of_bf16() {
    hard::<bf16>(20, &Way::OF_HALVES);
    hard::<ResultIn<bf16, f32>>(20, &Way::OF_HALVES);
}

fn bits_of_tensor_cores<T: Real>() {
    let [m, n, k] = [65, 70, 100];
    let mut rng = data::generator(17);
    // Terms of very different magnitudes, some of them subnormal, that cancel in part.
    let mut values = |count: usize| -> Vec<T::Factor> {
        let value = |_| {
            let exponent = rng.random_range(-20..=4);
            T::Factor::from_real(rng.random_range(-1.0..1.0) * 2.0_f64.powi(exponent))
        };
        (0..count).map(value).collect()
    };
    let (a, b) = (values(m * k), values(k * n));
    let product = |device: &Device| {
        let a = device.upload_matrix(&a, m, k).unwrap();
        let b = device.upload_matrix(&b, k, n).unwrap();
        let product = device.gemm_of::<T>((&a).into(), (&b).into()).run().unwrap();
        product.to_vec().unwrap()
    };
    let expected = product(&devices::cpu_in(Order::Backward));
    for device in devices::all() {
        let capability = device.info().compute_capability;
        if capability.is_none_or(|(major, _)| major == 9) {
            compare::same_bits(&product(device), &expected).unwrap();
        }
    }
}

/// The CPU executor adds as compute capability 9.0 does, to the bit.
#[test]
fn best_of_16_bits_is_the_same_on_the_cpu_and_on_9_0() {
    bits_of_tensor_cores::<f16>();
    bits_of_tensor_cores::<bf16>();
    bits_of_tensor_cores::<ResultIn<f16, f32>>();
    bits_of_tensor_cores::<ResultIn<bf16, f32>>();
}
