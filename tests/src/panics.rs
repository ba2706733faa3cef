//! Users' functions that panic on the CPU executor.

use std::fmt::Debug;

use cuda_std::cpu::Order;
use warpwright::{Device, Element, Result, Vector};

use crate::{compare, devices};

/// The names that the error of a panic has: the kernel's, and what the function says.
pub type Told<'a> = [&'a str; 2];

/// Checks that work on each of `bad` gives an error of one line with the names of `told`, and leaves the input as it is, and
/// that the device then gives `wanted` for the input `good`. So it is in several orders of blocks and lanes, and without
/// checks.
///
/// # Panics
/// Panics if it is not so.
pub fn check<T: Element + Debug>(
    told: Told<'_>,
    bad: &[Vec<T>],
    (good, wanted): (&[T], &[T]),
    run: impl Fn(&Device, &Vector<T>) -> Result<Vector<T>>,
) {
    let orders = [
        Order::Forward,
        Order::Backward,
        Order::Seeded(1),
        Order::Seeded(2),
    ];
    let checked = orders.map(devices::cpu_in);
    for (device, values) in [Device::cpu()]
        .iter()
        .chain(&checked)
        .flat_map(|it| bad.iter().map(move |bad| (it, bad)))
    {
        let input = device.upload(values).expect("memory");
        let result = run(device, &input).and_then(|it| it.to_vec());
        let error = result.expect_err("a panic").to_string();
        assert!(told.iter().all(|name| error.contains(name)), "{error}");
        assert!(!error.contains('\n'), "{error}");
        let left = input.to_vec().expect("the input");
        assert_eq!(compare::same_bits(&left, values), Ok(()), "{error}");
        // The handle is of use all the same.
        let input = device.upload(good).expect("memory");
        let result = run(device, &input).and_then(|it| it.to_vec());
        let got = result.expect("no panic");
        assert_eq!(compare::same_bits(&got, wanted), Ok(()), "after {error}");
    }
}
