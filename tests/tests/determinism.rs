//! The same input gives the same bits: run after run, and whatever order the lanes take turns in.

use cuda_std::cpu::Order;
use warpwright::{
    Device, Generator, Vector,
    ops::{axis::Axis, map, reduce::Reducible},
};
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

/// The bits of what an operation of `family` gives, on inputs for which the order of operations matters; more
/// than one result where the family has several kinds of operation.
///
/// # Panics
/// If the family is new: its determinism has to be stated, and tested here.
fn bits(device: &Device, family: &str, variant: &'static str) -> Vec<Vec<u8>> {
    fn read<T: warpwright::Element>(vector: &Vector<T>) -> Vec<u8> {
        bytemuck::cast_slice(&vector.to_vec().unwrap()).to_vec()
    }
    const HEIGHT: usize = 37;
    const WIDTH: usize = 83;
    let floats: Vec<f32> = Data::Spread.values(HEIGHT * WIDTH);
    let doubles: Vec<f64> = Data::Spread.values(HEIGHT * WIDTH);
    let vector = || device.upload(&floats).unwrap();
    let matrix = || device.upload_matrix(&floats, HEIGHT, WIDTH).unwrap();
    match family {
        "reduce" => {
            let vector = vector();
            let request = || device.reduce(&vector).variant(variant);
            let numbers = [request().sum().unwrap(), request().product().unwrap()];
            let ends = [request().min().unwrap(), request().max().unwrap()].map(Option::unwrap);
            let places = [request().argmin().unwrap(), request().argmax().unwrap()];
            let mean = request().mean().unwrap().unwrap();
            vec![
                bytemuck::cast_slice(&numbers).to_vec(),
                bytemuck::cast_slice(&ends).to_vec(),
                bytemuck::cast_slice(&places.map(Option::unwrap)).to_vec(),
                mean.to_ne_bytes().to_vec(),
            ]
        }
        "columns" | "rows" => {
            let (matrix, doubles) = (
                matrix(),
                device.upload_matrix(&doubles, HEIGHT, WIDTH).unwrap(),
            );
            let axis = if family == "rows" {
                Axis::Rows
            } else {
                Axis::Columns
            };
            let request = || device.reduce_axis(&matrix, axis).variant(variant);
            let mut results = vec![
                read(&request().min().unwrap()),
                read(&request().max().unwrap()),
            ];
            // The one whose pages say that its float sums may differ from run to run.
            if (family, variant) != ("rows", "chunk_atomic") {
                let sums = device.reduce_axis(&doubles, axis).variant(variant);
                results.push(read(&request().sum().unwrap()));
                results.push(read(&request().mean().unwrap()));
                results.push(read(&sums.sum().unwrap()));
            }
            results
        }
        "transpose" => {
            let matrix = matrix();
            let turned = device.transpose_request(&matrix).variant(variant).run();
            vec![read(turned.unwrap().as_vector())]
        }
        "histogram" => {
            let vector = vector();
            let request = device.histogram_range_request(&vector, 777, -500.0, 500.0);
            let histogram = request.variant(variant).run().unwrap();
            vec![
                bytemuck::cast_slice(&histogram.counts).to_vec(),
                histogram.outside.to_ne_bytes().to_vec(),
            ]
        }
        "gemm" => {
            let (matrix, doubles) = (
                matrix(),
                device.upload_matrix(&doubles, HEIGHT, WIDTH).unwrap(),
            );
            let product = device.gemm(&matrix, &matrix).transpose_b().alpha(0.1);
            let of_doubles = device
                .gemm(&doubles, &doubles)
                .transpose_a()
                .variant(variant);
            vec![
                read(product.variant(variant).run().unwrap().as_vector()),
                read(of_doubles.run().unwrap().as_vector()),
            ]
        }
        "convolution" => {
            let (vector, matrix) = (vector(), matrix());
            let mask = [0.1_f32, 0.7, -0.3, 1e3, 0.1];
            let whole = device.convolve_request(&vector, &mask).variant(variant);
            let rows = device
                .convolve_rows_request(&matrix, &mask)
                .variant(variant);
            vec![
                read(&whole.run().unwrap()),
                read(rows.run().unwrap().as_vector()),
            ]
        }
        "map" => {
            let vector = vector();
            let wave = device
                .map_positions_request(3_001, map::Wave)
                .variant(variant);
            let sin = device.map_request(&vector, map::Sin).variant(variant);
            vec![read(&wave.run().unwrap()), read(&sin.run().unwrap())]
        }
        "random" => [Generator::Philox, Generator::Xorwow]
            .into_iter()
            .flat_map(|kind| {
                let mut random = device.generator(kind, 5).unwrap().variant(variant);
                [
                    read(&random.bits(501).unwrap()),
                    read(&random.uniform::<f64>(501).unwrap()),
                    read(&random.normal(501, 1.0_f32, 2.0).unwrap()),
                    read(&random.poisson(501, 3.5).unwrap()),
                ]
            })
            .collect(),
        new => panic!("nothing is known about the determinism of `{new}`"),
    }
}

#[test]
fn every_operation_gives_the_same_bits_from_run_to_run_and_in_every_order_of_lanes() {
    let orders = ordered();
    for family in warpwright::families() {
        for variant in family.variants {
            for device in devices::all() {
                let first = bits(device, family.name, variant.name);
                assert!(first.iter().all(|bits| !bits.is_empty()));
                for run in 0..if cases::is_cuda(device) { 5 } else { 1 } {
                    let again = bits(device, family.name, variant.name);
                    let name = format!("{} {} {}", device.kind(), family.name, variant.name);
                    assert!(again == first, "{name} differs in run {run}");
                }
            }
            let [first, others @ ..] = &orders;
            let first = bits(first, family.name, variant.name);
            for (other, order) in others.iter().zip(&ORDERS[1..]) {
                let other = bits(other, family.name, variant.name);
                assert!(other == first, "{} {} {order:?}", family.name, variant.name);
            }
        }
    }
}

/// What the pages promise to be the same on every device is the same on the CPU and on a CUDA device.
#[test]
fn what_does_not_depend_on_the_device_does_not() {
    const EVERYWHERE: [&str; 5] = ["transpose", "histogram", "gemm", "convolution", "random"];
    let cpu = devices::cpu();
    let cuda = devices::Executor::Cuda.devices();
    if cuda.is_empty() {
        devices::leave_out(EVERYWHERE.len());
    }
    for family in EVERYWHERE {
        // The variants agree with each other on the CPU, and so with all of them there.
        let wanted = bits(&cpu, family, "best");
        for variant in cases::variants(family) {
            assert!(
                bits(&cpu, family, variant.name) == wanted,
                "{family} {}",
                variant.name
            );
            for device in cuda {
                let got = bits(device, family, variant.name);
                assert!(got == wanted, "{} {family} {}", device.kind(), variant.name);
            }
        }
    }
}
