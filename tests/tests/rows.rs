//! Reductions of rows: every variant, every operator, every element type, any shape.

use warpwright::{
    CpuOptions, Device, Error,
    ops::{ChosenBy, axis::Axis},
};
use warpwright_tests::{
    axis::{self, AxisNumber},
    cases, devices, for_each_axis_number,
};

const AXIS: Axis = Axis::Rows;

macro_rules! per_type {
    ($ty:ident) => {
        mod $ty {
            #[test]
            fn every_shape() {
                super::axis::check::<$ty>(super::AXIS, &super::axis::shapes(super::AXIS));
            }

            #[test]
            fn awkward_values() {
                super::axis::check::<$ty>(super::AXIS, &super::axis::awkward::<$ty>());
            }
        }
    };
}
for_each_axis_number!(per_type);

#[test]
fn shorthands_give_what_the_request_gives() {
    for device in devices::all() {
        let matrix = device
            .upload_matrix(&[1_i32, -2, 3, 4, 5, -6], 2, 3)
            .unwrap();
        let sums = device.row_sums(&matrix).unwrap();
        assert_eq!(sums.to_vec().unwrap(), [2_i64, 3]);
        let means = device.row_means(&matrix).unwrap();
        assert_eq!(means.to_vec().unwrap(), [2.0 / 3.0, 1.0]);
        let least = device.reduce_rows(&matrix).min().unwrap();
        assert_eq!(least.to_vec().unwrap(), [-2, -6]);
        let greatest = device.reduce_rows(&matrix).max().unwrap();
        assert_eq!(greatest.to_vec().unwrap(), [3, 5]);
    }
}

#[test]
fn no_elements_have_a_sum_and_nothing_else() {
    for device in devices::all() {
        let none = device.upload_matrix::<f32>(&[], 3, 0).unwrap();
        for variant in cases::variants("rows") {
            let request = || device.reduce_axis(&none, AXIS).variant(variant.name);
            assert_eq!(request().sum().unwrap().to_vec().unwrap(), [0.0; 3]);
            for error in [
                request().mean().map(drop).unwrap_err(),
                request().min().map(drop).unwrap_err(),
                request().max().map(drop).unwrap_err(),
            ] {
                assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
                let text = error.to_string();
                assert!(
                    text.contains("at least one column required, none given"),
                    "{text}"
                );
            }
        }
        // No results are asked for here.
        let empty = device.upload_matrix::<f32>(&[], 0, 3).unwrap();
        assert!(device.reduce_axis(&empty, AXIS).sum().unwrap().is_empty());
        assert!(device.reduce_axis(&empty, AXIS).min().unwrap().is_empty());
    }
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    let device = Device::cpu();
    let matrix = device.upload_matrix(&[1_u8, 2], 1, 2).unwrap();
    let prepared = device.reduce_axis(&matrix, AXIS).prepare_sum().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
    let first = cases::variants("rows")[0].name;
    let request = device.reduce_axis(&matrix, AXIS).variant(first);
    let prepared = request.prepare_min().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        (first, ChosenBy::Caller)
    );
}

#[test]
fn an_unknown_variant_is_refused_and_the_known_ones_are_named() {
    let device = Device::cpu();
    let matrix = device.upload_matrix(&[1_u8, 2], 1, 2).unwrap();
    let request = device.reduce_axis(&matrix, AXIS).variant("folding");
    let error = request.sum().unwrap_err();
    assert!(
        matches!(error, Error::UnknownVariant { family: "rows", .. }),
        "{error:?}"
    );
    let text = error.to_string();
    for variant in cases::variants("rows") {
        assert!(text.contains(variant.name), "{text}");
    }
}

/// Shapes that `best` takes in its different ways.
const SHAPES: [(usize, usize); 4] = [(70, 130), (50, 32), (2, 70_003), (37, 5)];

#[test]
fn queued_again_every_variant_gives_the_same() {
    for device in devices::all() {
        for (height, width) in SHAPES {
            let values: Vec<i32> = (0..height * width).map(|i| i as i32 % 1000 - 300).collect();
            let matrix = device.upload_matrix(&values, height, width).unwrap();
            let lines = axis::lines(&values, height, width, AXIS);
            let sum = |line: &Vec<i32>| line.iter().map(|value| i64::from(*value)).sum::<i64>();
            let sums: Vec<i64> = lines.iter().map(sum).collect();
            let least: Vec<i32> = lines
                .iter()
                .map(|line| *line.iter().min().unwrap())
                .collect();
            for variant in cases::variants("rows") {
                let request = || device.reduce_axis(&matrix, AXIS).variant(variant.name);
                let mut prepared_sum = request().prepare_sum().unwrap();
                let mut prepared_min = request().prepare_min().unwrap();
                for _ in 0..3 {
                    prepared_sum.enqueue().unwrap();
                    prepared_min.enqueue().unwrap();
                    let found = prepared_sum.output().to_vec().unwrap();
                    assert_eq!(found, sums, "{}", variant.name);
                    let found = prepared_min.output().to_vec().unwrap();
                    assert_eq!(found, least, "{}", variant.name);
                }
            }
        }
    }
}

/// The variants whose float sums have a fixed order.
fn ordered() -> impl Iterator<Item = &'static str> {
    let names = cases::variants("rows").iter().map(|variant| variant.name);
    names.filter(|name| *name != "chunk_atomic")
}

fn same_bits_every_time<T: AxisNumber>() {
    use cuda_std::cpu::Order;
    let backward = [Order::Backward, Order::Seeded(5)];
    let others = backward.map(|order| Device::cpu_with(CpuOptions::default().order(order)));
    for shape in SHAPES {
        for variant in ordered() {
            for above in [0, 1] {
                for device in devices::all() {
                    let bits = |device| axis::sum_bits::<T>(device, shape, above, AXIS, variant);
                    let first = bits(device);
                    assert!(first.iter().any(|byte| *byte != 0));
                    assert_eq!(bits(device), first, "{variant} {shape:?}");
                    if !cases::is_cuda(device) {
                        for other in &others {
                            assert_eq!(bits(other), first, "{variant} {shape:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn float_sums_are_the_same_from_run_to_run_and_in_every_order_of_lanes() {
    same_bits_every_time::<f32>();
    same_bits_every_time::<f64>();
}

#[test]
fn rows_have_as_many_lanes_and_blocks_as_they_have_work_for() {
    use warpwright_gpu::rows::policy::{BEST_LEAST_BYTES, elements_per_block, lanes_log2};
    let lanes = [0, 1, 64, 65, 128, 129, 2048, 1 << 30].map(lanes_log2);
    assert_eq!(lanes, [0, 0, 0, 1, 1, 2, 5, 5]);
    for (height, width, size) in [
        (1, 1 << 30, 1),
        (2, 70_003, 1),
        (512, 65_536, 4),
        (7, 99_991, 8),
    ] {
        let each = elements_per_block(height, width, size, 1056);
        let blocks = width.div_ceil(each);
        assert!(
            (each * size).is_multiple_of(16),
            "{height} x {width}: {each}"
        );
        assert!(height * blocks <= 1056, "{height} x {width}: {each}");
        assert!(
            blocks == 1 || each * size >= BEST_LEAST_BYTES,
            "{height} x {width}: {each}"
        );
    }
}
