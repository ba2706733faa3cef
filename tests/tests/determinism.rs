//! The same input gives the same bits: run after run, and whatever order the lanes take turns in.

use cuda_std::cpu::Order;
use warpwright::{Device, ops::reduce::Reducible};
use warpwright_tests::{
    Number,
    cases::{self, OFFSETS},
    compare,
    data::Data,
    devices, oracle,
};

/// Orders of lanes, of which the first is the default.
const ORDERS: [Order; 4] = [
    Order::Forward,
    Order::Backward,
    Order::Seeded(1),
    Order::Seeded(0x9e37_79b9_7f4a_7c15),
];

fn ordered() -> [Device; 4] {
    ORDERS.map(devices::cpu_in)
}

/// Sums whose last bits depend on the order of additions, as these do.
fn values<T: Number>() -> Vec<T> {
    Data::Spread.values(20_011)
}

fn sum<T: Reducible>(device: &Device, values: &[T], offset: usize, variant: &str) -> T::Sum {
    let vector = device.upload(values).unwrap();
    device
        .reduce(vector.slice(offset..).unwrap())
        .variant(variant)
        .sum()
        .unwrap()
}

#[test]
fn the_order_of_additions_matters_for_these_values() {
    let values = values::<f32>();
    let forwards: f32 = values.iter().sum();
    let backwards: f32 = values.iter().rev().sum();
    assert_ne!(forwards.to_bits(), backwards.to_bits());
}

fn same_from_run_to_run<T: Number>() {
    let values = values::<T>();
    for device in devices::all() {
        for variant in cases::variants("reduce") {
            for offset in [0, OFFSETS[0]] {
                let first = sum(device, &values, offset, variant.name);
                for _ in 0..3 {
                    let again = sum(device, &values, offset, variant.name);
                    let outcome = compare::same_bits(&[again], &[first]);
                    assert!(
                        outcome.is_ok(),
                        "{} {}: {outcome:?}",
                        device.kind(),
                        variant.name
                    );
                }
            }
        }
    }
}

#[test]
fn sums_of_f32_are_the_same_from_run_to_run() {
    same_from_run_to_run::<f32>();
}

#[test]
fn sums_of_f64_are_the_same_from_run_to_run() {
    same_from_run_to_run::<f64>();
}

fn same_in_every_order<T: Number>() {
    let values = values::<T>();
    let devices = ordered();
    for variant in cases::variants("reduce") {
        let [first, others @ ..] = devices
            .each_ref()
            .map(|device| sum(device, &values, 3, variant.name));
        for (other, order) in others.iter().zip(&ORDERS[1..]) {
            let outcome = compare::same_bits(&[*other], &[first]);
            assert!(outcome.is_ok(), "{} {order:?}: {outcome:?}", variant.name);
        }
    }
}

#[test]
fn sums_of_f32_are_the_same_in_every_order_of_lanes() {
    same_in_every_order::<f32>();
}

#[test]
fn sums_of_f64_are_the_same_in_every_order_of_lanes() {
    same_in_every_order::<f64>();
}

#[test]
fn positions_are_the_same_in_every_order_of_lanes() {
    let values: Vec<u8> = Data::Ties.values(20_011);
    let (least, _) = oracle::extreme(&values, true).unwrap();
    for device in ordered() {
        let vector = device.upload(&values).unwrap();
        for variant in cases::variants("reduce") {
            let found = device
                .reduce(&vector)
                .variant(variant.name)
                .argmin()
                .unwrap();
            assert_eq!(found, Some(least), "{}", variant.name);
        }
    }
}

#[test]
fn transposes_are_the_same_in_every_order_of_lanes() {
    let values: Vec<u32> = (0..70 * 45).collect();
    let wanted = oracle::transpose(&values, 70, 45);
    for device in ordered() {
        let matrix = device.upload_matrix(&values, 70, 45).unwrap();
        for variant in cases::variants("transpose") {
            let got = device
                .transpose_request(&matrix)
                .variant(variant.name)
                .run()
                .unwrap();
            assert_eq!(got.to_vec().unwrap(), wanted, "{}", variant.name);
        }
    }
}

#[test]
fn histograms_are_the_same_in_every_order_of_lanes() {
    let values: Vec<u16> = Data::Spread
        .values::<u32>(20_011)
        .iter()
        .map(|v| *v as u16)
        .collect();
    for bins in [100, 20_000] {
        let (counts, outside) = oracle::histogram(values.iter().map(|v| u64::from(*v)), bins);
        for device in ordered() {
            let vector = device.upload(&values).unwrap();
            for variant in cases::variants("histogram") {
                let request = device
                    .histogram_request(&vector, bins)
                    .variant(variant.name);
                let got = request.run().unwrap();
                assert_eq!(
                    (&got.counts, got.outside),
                    (&counts, outside),
                    "{}",
                    variant.name
                );
            }
        }
    }
}
