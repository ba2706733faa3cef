//! Selections by a user's own predicates.

use cuda_builder::NvvmArch;
use cuda_std::cpu::Order;
use cuda_std_device_tests::{
    comparisons::Without,
    operators::{Below, Multiples},
};
use warpwright::{Device, Error, Module};
use warpwright_gpu::{
    select::policy::{Policy, Ring},
    tuning,
};
use warpwright_tests::{device_library, devices, panics};

use super::{assert_same, noise, tile};

/// The module of the device tests' predicates.
fn users_module(arch: NvvmArch) -> Module {
    Module::from_ptx(device_library::ptx(arch)).unwrap()
}

/// A user's own predicates, of one array and of two.
#[test]
fn predicates_of_a_user() {
    let module = users_module(NvvmArch::Compute75);
    // SAFETY: the module is built from the crate that has the predicates.
    let (multiples, below) = unsafe {
        (
            module.select_function(Multiples { of: 3, from: 7 }),
            module.select_function(Below),
        )
    };
    for device in devices::all() {
        for (len, offset) in [(0, 0), (1, 0), (4099, 0), (9000, 1), (5003, 3)] {
            let values: Vec<u32> = noise(offset + len).map(|x| x as u32 % 70_000).collect();
            let limits: Vec<u16> = noise(len).map(|x| (x >> 9) as u16).collect();
            let (x, y) = (
                device.upload(&values).unwrap(),
                device.upload(&limits).unwrap(),
            );
            let part = &values[offset..];
            let is_there = |(i, x): &(usize, &u32)| **x % 3 == 0 && *i >= 7;
            let all = part.iter().enumerate();
            let wanted: Vec<u32> = all.filter(is_there).map(|(_, x)| *x).collect();
            let what = format!("{len} from {offset} on {}", device.kind());
            let view = || x.slice(offset..).unwrap();
            let got = device.select(view(), multiples.clone()).unwrap();
            assert_same(&what, &got, &wanted);
            let (got, count) = device.partition(view(), multiples.clone()).unwrap();
            assert_eq!((count, got.len()), (wanted.len(), len), "{what}");
            assert_same(
                &what,
                &device.select_pairs(view(), &y, below.clone()).unwrap(),
                &{
                    let pairs = part.iter().zip(&limits);
                    let below = pairs.filter(|(x, limit)| **x < u32::from(**limit));
                    below.map(|(x, _)| *x).collect::<Vec<_>>()
                },
            );
        }
        let x = device.zeros::<u32>(3).unwrap();
        let request = device
            .select_request(&x, multiples.clone())
            .variant("naive");
        let error = request.run().unwrap_err();
        assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
    }
}

/// A user's predicates by the kernel with persistent blocks, which the module for the older architecture does not have.
#[test]
fn predicates_of_a_user_with_persistent_blocks() {
    let modules = [
        (users_module(NvvmArch::Compute75), "", None),
        (
            users_module(NvvmArch::Compute80),
            "__persistent",
            Some((8, 0)),
        ),
    ];
    let len = 10 * tile::<u32>() + 5;
    let values: Vec<u32> = noise(len).map(|x| x as u32 % 70_000).collect();
    let limits: Vec<u16> = noise(len).map(|x| (x >> 9) as u16).collect();
    let all = || values.iter().zip(&limits).enumerate();
    let is_multiple = |(i, (x, _)): &(usize, (&u32, &u16))| **x % 3 == 0 && *i >= 7;
    let wanted: Vec<u32> = all().filter(is_multiple).map(|(_, (x, _))| *x).collect();
    let is_below = |(_, (x, limit)): &(usize, (&u32, &u16))| **x < u32::from(**limit);
    let wanted_below: Vec<u32> = all().filter(is_below).map(|(_, (x, _))| *x).collect();
    let orders = [Order::Forward, Order::Backward, Order::Seeded(5)].map(devices::cpu_in);
    let all: Vec<&Device> = devices::all().collect();
    for device in orders.iter().chain(all) {
        let (x, y) = (
            device.upload(&values).unwrap(),
            device.upload(&limits).unwrap(),
        );
        let capability = device.info().compute_capability;
        let run_by =
            |(_, _, from): &&(_, _, Option<_>)| capability.is_none() || capability >= *from;
        for (module, suffix, _) in modules.iter().filter(run_by) {
            let what = format!("{suffix} on {}", device.kind());
            // SAFETY: the module is built from the crate that has the predicates.
            let (multiples, below) = unsafe {
                (
                    module.select_function(Multiples { of: 3, from: 7 }),
                    module.select_function(Below),
                )
            };
            let request = device.select_request(&x, multiples.clone()).persistent();
            let prepared = request.prepare().unwrap();
            assert_eq!(
                prepared.kernels(),
                [format!("select_multiples{suffix}")],
                "{what}"
            );
            let request = device.select_request(&x, multiples.clone());
            assert_same(&what, &request.persistent().run().unwrap(), &wanted);
            let request = device.select_pairs_request(&x, &y, below).persistent();
            assert_same(&what, &request.run().unwrap(), &wanted_below);
            let mut moved = device.upload(&values).unwrap();
            let request = device.select_in_place_request(&mut moved, multiples);
            let count = request.persistent().run().unwrap();
            let got = moved.slice(..count).unwrap().to_vec().unwrap();
            assert!(got == wanted, "in place, {what}");
        }
    }
}

/// Blocks of the kernels that a user's crate compiles are planned with the numbers of the library's.
#[test]
fn predicates_of_a_user_have_the_numbers_of_the_library() {
    fn same<T: 'static>() {
        assert_eq!(Ring::of_users::<T>(), tuning::shipped::<Policy, T>().ring);
    }
    same::<u8>();
    same::<u16>();
    same::<u32>();
    same::<u64>();
    same::<u128>();
}

#[test]
fn a_predicate_that_panics_is_an_error() {
    let module = Module::from_ptx(device_library::ptx(NvvmArch::Compute75)).unwrap();
    let number = 1 << 30;
    // SAFETY: the module is built from the crate that has the predicate.
    let without = unsafe { module.select_function(Without { number }) };
    let numbers: Vec<i32> = (0..5 * tile::<i32>() as i32 + 9).collect();
    let bad = [0, 5, numbers.len() / 2, numbers.len() - 1].map(|place| {
        let mut values = numbers.clone();
        values[place] = number as i32;
        values
    });
    let wanted: Vec<i32> = numbers.iter().copied().step_by(3).collect();
    let told = ["select_without", "not this number"];
    panics::check(told, &bad, (&numbers, &wanted), |device, input| {
        device.select(input, without.clone())
    });
    panics::check(told, &bad, (&numbers, &wanted), |device, input| {
        let (all, count) = device.partition(input, without.clone())?;
        all.slice(..count)?.to_device(device)
    });
}
