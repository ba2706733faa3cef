//! The same input gives the same bits: run after run, and whatever order the lanes take turns in.

use cuda_std::cpu::Order;
use rayon::prelude::*;
use warpwright::{Device, Error, ops::reduce::Operator};
use warpwright_tests::{
    Number,
    cases::{self, OFFSETS},
    data::Data,
    devices,
};
use warpwright_workloads::{
    FAMILIES, Family, Workload,
    histogram::Counts,
    reduce::{self, Reduction},
    sample::Make,
    transpose::Transpose,
};

/// Orders of lanes, of which the first is the default.
const ORDERS: [Order; 4] = [
    Order::Forward,
    Order::Backward,
    Order::Seeded(1),
    Order::Seeded(0x9e37_79b9_7f4a_7c15),
];

fn bits(device: &Device, workload: &Workload, variant: &str) -> Vec<u8> {
    let bits = workload.bits(device, variant);
    let bits = bits.unwrap_or_else(|error| panic!("{} {variant}: {error}", workload.name()));
    assert!(!bits.is_empty());
    bits
}

/// Asserts that every variant gives the same bits in every order of lanes, and from run to run on every device.
fn same_bits(workloads: &[Workload]) {
    let orders = ORDERS.map(devices::cpu_in);
    for workload in workloads {
        let (family, name) = (workload.family(), workload.name());
        for variant in cases::variants(family).iter().map(|it| it.name) {
            if workload.wavers(variant) {
                continue;
            }
            if workload.excludes(variant) {
                let refused = workload.bits(&orders[0], variant);
                assert!(
                    matches!(refused, Err(Error::NotEligible { .. })),
                    "{name} {variant}"
                );
                continue;
            }
            let [cpu, others @ ..] = &orders;
            let first = bits(cpu, workload, variant);
            let again = bits(cpu, workload, variant);
            assert!(again == first, "{family} {variant}, {name}: again");
            for (other, order) in others.iter().zip(&ORDERS[1..]) {
                let other = bits(other, workload, variant);
                assert!(other == first, "{family} {variant}, {name}: {order:?}");
            }
            for device in devices::Executor::Cuda.devices() {
                let first = bits(device, workload, variant);
                for run in 0..5 {
                    let again = bits(device, workload, variant);
                    let kind = device.kind();
                    assert!(
                        again == first,
                        "{kind} {family} {variant}, {name}: run {run}"
                    );
                }
            }
        }
    }
}

/// Asserts that the result is right in every order of lanes.
fn right_in_every_order(workloads: &[Workload]) {
    for device in ORDERS.map(devices::cpu_in) {
        for workload in workloads {
            for variant in cases::variants(workload.family()) {
                let verdict = workload.check(&device, variant.name).unwrap();
                assert_eq!(verdict, Ok(()), "{} {}", variant.name, workload.name());
            }
        }
    }
}

/// Sums whose last bits depend on the order of additions, as these do.
fn values<T: Number>() -> Vec<T> {
    Data::Spread.values(20_011)
}

#[test]
fn the_order_of_additions_matters_for_these_values() {
    let values = values::<f32>();
    let forwards: f32 = values.iter().sum();
    let backwards: f32 = values.iter().rev().sum();
    assert_ne!(forwards.to_bits(), backwards.to_bits());
}

/// Sums of all values and of those behind an offset.
macro_rules! sums {
    ($type:ident) => {
        [0, OFFSETS[0], 3].map(|offset| {
            let values = Make::given(values::<$type>());
            let data = reduce::Data::Fractions(usize::MAX);
            let sum = Reduction::new(Operator::Sum, 20_011 - offset, data).of(values);
            Workload::new(sum.behind(offset))
        })
    };
}

#[test]
fn sums_of_f32_have_the_same_bits() {
    same_bits(&sums!(f32));
}

#[test]
fn sums_of_f64_have_the_same_bits() {
    same_bits(&sums!(f64));
}

#[test]
fn positions_are_right_in_every_order_of_lanes() {
    let ties = Make::given(Data::Ties.values::<u8>(20_011));
    let least = Reduction::new(Operator::ArgMin, 20_011, reduce::Data::Exact).of(ties);
    right_in_every_order(&[Workload::new(least)]);
}

#[test]
fn transposes_are_right_in_every_order_of_lanes() {
    let numbers = Make::by(|at, _, _| at as u32);
    let turned = Transpose::new((70, 45), "u32", |hash| hash as u32).of(numbers);
    right_in_every_order(&[Workload::new(turned)]);
}

#[test]
fn histograms_are_right_in_every_order_of_lanes() {
    let words = Make::hashed(|hash| hash as u16);
    let counts = |bins| Workload::new(Counts::numbers(20_011, bins, "u16", words.clone()));
    right_in_every_order(&[100, 20_000].map(counts));
}

#[test]
fn every_operation_gives_the_same_bits_from_run_to_run_and_in_every_order_of_lanes() {
    FAMILIES
        .par_iter()
        .for_each(|family| same_bits(&(family.operations)()));
}

/// What the pages promise to be the same on every device is the same on the CPU and on a CUDA device.
#[test]
fn what_does_not_depend_on_the_device_does_not() {
    let same: Vec<&Family> = FAMILIES.iter().filter(|it| it.same_everywhere).collect();
    assert_eq!(same.len(), 9);
    let cpu = devices::cpu();
    let cuda = devices::Executor::Cuda.devices();
    if cuda.is_empty() {
        devices::leave_out(same.len());
    }
    let workloads = same.iter().flat_map(|family| (family.operations)());
    for workload in workloads.filter(|workload| !workload.varies()) {
        let (family, name) = (workload.family(), workload.name());
        // The variants agree with each other on the CPU, and so with all of them there.
        let wanted = bits(&cpu, &workload, "best");
        let variants = cases::variants(family).iter().map(|it| it.name);
        for variant in variants.filter(|variant| !workload.excludes(variant)) {
            assert!(
                bits(&cpu, &workload, variant) == wanted,
                "{family} {variant}, {name}"
            );
            for device in cuda {
                let kind = device.kind();
                let got = bits(device, &workload, variant);
                assert!(got == wanted, "{kind} {family} {variant}, {name}");
            }
        }
    }
}
