//! Several products at once, and what follows the factors: a bias and an activation.

use cuda_std::{FloatExt, bf16, f16};
use rand::Rng;
use warpwright::ops::gemm::ResultIn;
use warpwright_tests::{
    cases, data,
    devices::{self, Executor},
    number::Number,
};

use super::{
    TRANSPOSES,
    problem::{FACTORS, Gemm, MARGINS, Real, TAILS, plain, variants},
};

/// Stacks of products, of which some share A or B, with a bias and an activation, by every variant.
fn stacks<T: Real>() {
    let mut problems = Vec::new();
    let shapes = [[33, 20, 9], [70, 66, 17], [1, 5, 0]];
    for executor in Executor::ALL {
        for i in 0..6 * TAILS.len() {
            problems.push(Gemm {
                transpose: TRANSPOSES[i % 4],
                factors: FACTORS[i / 2 % FACTORS.len()],
                count: 1 + i % 3,
                shared: [i % 4 == 3, i % 5 == 4],
                tail: TAILS[i % TAILS.len()],
                margins: [MARGINS[i / 3 % 3]; 3],
                ..plain(executor, shapes[i / 5 % 3])
            });
        }
    }
    cases::run(
        &problems,
        |_| variants::<T>(),
        |_, problem| {
            let mut rng = data::generator(19);
            Ok(problem.operands::<T>(|| rng.random_range(-3.0..3.0)))
        },
        |device, problem, operands, variant| problem.check::<T>(device, operands, variant),
    );
}

#[test]
fn stacks_with_a_bias_and_an_activation() {
    stacks::<f32>();
    stacks::<f64>();
    stacks::<f16>();
    stacks::<bf16>();
    stacks::<ResultIn<f16, f32>>();
    stacks::<ResultIn<bf16, f32>>();
}

/// The Gaussian error linear unit over its whole range, beyond it, and for what is no number.
fn gelu_of<T: Real>() {
    let values: Vec<T::Factor> = (-4000..=4000_i32)
        .map(|i| f64::from(i) / 400.0)
        .chain([1e-3, -1e-3, 60_000.0, -60_000.0, f64::INFINITY])
        .map(T::Factor::from_real)
        .collect();
    let one = [T::Factor::from_real(1.0)];
    for device in devices::all() {
        let (a, b) = (
            device.upload_matrix(&values, values.len(), 1),
            device.upload_matrix(&one, 1, 1),
        );
        let (a, b) = (a.unwrap(), b.unwrap());
        let product = |a| device.gemm_of::<T>(a, (&b).into());
        let got = product((&a).into()).gelu().run().unwrap();
        let got = got.to_vec().unwrap();
        for (x, got) in values.iter().zip(got) {
            let (x, got) = (x.real(), got.real());
            let expected = x * x.norm_cdf();
            if x.is_infinite() {
                assert_eq!(got, x);
                continue;
            }
            let [relative, least] = T::ROUNDED.unwrap_or_default();
            let bound = T::GELU * x.abs() + expected.abs() * relative + least;
            // Far below 0 it is exactly 0.
            assert!(x > -8.3 || got == 0.0, "{device:?} gelu({x}) = {got}");
            assert!(
                (got - expected).abs() <= bound,
                "{device:?} gelu({x}) = {got}, not {expected}"
            );
        }
        let nan = device
            .upload_matrix(&[T::Factor::from_real(f64::NAN)], 1, 1)
            .unwrap();
        let nan = || product((&nan).into());
        for request in [nan().gelu(), nan().relu()] {
            assert!(request.run().unwrap().to_vec().unwrap()[0].real().is_nan());
        }
    }
}

#[test]
fn gelu_is_within_its_bounds() {
    gelu_of::<f32>();
    gelu_of::<f64>();
    gelu_of::<f16>();
    gelu_of::<bf16>();
    gelu_of::<ResultIn<f16, f32>>();
    gelu_of::<ResultIn<bf16, f32>>();
}

#[test]
fn stacks_and_epilogues_that_do_not_fit_are_refused() {
    for device in devices::all() {
        let a = device.zeros_matrix::<f32>(3, 4).unwrap();
        let b = device.zeros_matrix::<f32>(5, 6).unwrap();
        for (request, required) in [
            (device.gemm(&a, &b).batch(2), "2 products and A of 3 rows"),
            (device.gemm(&a, &b).batch(3), "3 products and B of 5 rows"),
            (device.gemm(&a, &b).batch(0).share_a(), "0 products"),
        ] {
            let text = request.run().unwrap_err().to_string();
            assert!(text.contains("gemm") && text.contains(required), "{text}");
        }
        // The result is 3 x 3.
        let four = device.zeros::<f32>(4).unwrap();
        let product = || device.gemm(&a, &a).transpose_b();
        for (request, required) in [
            (product().bias(&four), "a bias of 3 elements"),
            (product().scale_rows(&four), "scales of rows of 3 elements"),
            (
                product().scale_columns(&four),
                "scales of columns of 3 elements",
            ),
            (
                product().batch(1).add_matrix(1.0, &a),
                "a matrix of 3 x 3 to add",
            ),
        ] {
            let text = request.run().unwrap_err().to_string();
            let given = text.contains("4 elements") || text.contains("3 x 4");
            assert!(text.contains(required) && given, "{text}");
        }
    }
}

#[test]
fn scales_and_another_matrix_are_not_read_without_need() {
    for device in devices::all() {
        let a = device
            .upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)
            .unwrap();
        let no_numbers = device.upload(&[f32::NAN; 2]).unwrap();
        let of_none = device.upload_matrix(&[f32::NAN; 4], 2, 2).unwrap();
        for variant in variants::<f32>() {
            // Without products there is nothing to scale, and without a factor nothing to add.
            let request = device.gemm(&a, &a).variant(variant).alpha(0.0);
            let request = request.scale_rows(&no_numbers).scale_columns(&no_numbers);
            let kept = request.add_matrix(2.0, &a).run().unwrap();
            assert_eq!(kept.to_vec().unwrap(), [2.0, 4.0, 6.0, 8.0], "{variant}");
            let request = device.gemm(&a, &a).variant(variant);
            let alone = request.add_matrix(0.0, &of_none).run().unwrap();
            assert_eq!(
                alone.to_vec().unwrap(),
                [7.0, 10.0, 15.0, 22.0],
                "{variant}"
            );
        }
    }
}
