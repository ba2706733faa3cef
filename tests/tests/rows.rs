//! Reductions of rows: every variant, every operator, every element type, any shape.

use warpwright::ops::axis::Axis;
use warpwright_tests::{
    axis::{self, requests},
    devices, for_each_axis_number,
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
    requests::no_elements_have_a_sum_and_nothing_else(AXIS);
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    requests::the_library_takes_best_and_says_who_chose(AXIS);
}

#[test]
fn an_unknown_variant_is_refused_and_the_known_ones_are_named() {
    requests::an_unknown_variant_is_refused_and_the_known_ones_are_named(AXIS);
}

/// Shapes that `best` takes in its different ways.
const SHAPES: [(usize, usize); 5] = [(70, 130), (50, 32), (2, 70_003), (37, 5), (40, 9001)];

#[test]
fn queued_again_every_variant_gives_the_same() {
    requests::queued_again_every_variant_gives_the_same(AXIS, &SHAPES);
}

/// The variants whose float sums have no fixed order.
const WITHOUT_ORDER: &[&str] = &["chunk_atomic"];

#[test]
fn float_sums_are_the_same_from_run_to_run_and_in_every_order_of_lanes() {
    requests::same_bits_every_time::<f32>(AXIS, &SHAPES, WITHOUT_ORDER);
    requests::same_bits_every_time::<f64>(AXIS, &SHAPES, WITHOUT_ORDER);
}

#[test]
fn rows_have_as_many_lanes_and_blocks_as_they_have_work_for() {
    use warpwright_gpu::{rows::policy::Policy, tuning::shipped};
    let policy = shipped::<Policy, u8>();
    let lanes = [0, 1, 64, 65, 128, 129, 2048, 1 << 30].map(|bytes| policy.lanes_log2(bytes));
    assert_eq!(lanes, [0, 0, 0, 1, 1, 2, 5, 5]);
    for (height, width, size) in [
        (1, 1 << 30, 1),
        (2, 70_003, 1),
        (512, 65_536, 4),
        (7, 99_991, 8),
    ] {
        let each = policy.elements_per_block(height, width, size, 1056);
        let blocks = width.div_ceil(each);
        assert!(
            (each * size).is_multiple_of(16),
            "{height} x {width}: {each}"
        );
        assert!(height * blocks <= 1056, "{height} x {width}: {each}");
        assert!(
            blocks == 1 || each * size >= policy.least_bytes,
            "{height} x {width}: {each}"
        );
    }
}
