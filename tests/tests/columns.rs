//! Reductions of columns: every variant, every operator, every element type, any shape.

use warpwright::ops::axis::Axis;
use warpwright_tests::{
    axis::{self, requests},
    devices, for_each_axis_number,
};

const AXIS: Axis = Axis::Columns;

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

/// More blocks per tile than one of them combines: a tree of two levels.
#[test]
fn a_tree_of_several_levels() {
    use warpwright_gpu::columns::policy::{BEST_GROUP, BEST_MOST_ROWS};
    for device in devices::all() {
        let (height, width) = (BEST_MOST_ROWS * BEST_GROUP + 5, 64);
        let mut values = vec![1.0_f64; height * width];
        (values[height * width - 1], values[height * width / 2]) = (3.0, -7.0);
        let matrix = device.upload_matrix(&values, height, width).unwrap();
        let mut wanted = vec![height as f64; width];
        wanted[width - 1] += 2.0;
        wanted[height * width / 2 % width] -= 8.0;
        assert_eq!(
            device.column_sums(&matrix).unwrap().to_vec().unwrap(),
            wanted
        );
        let least = device.reduce_columns(&matrix).min().unwrap();
        let least = least.to_vec().unwrap();
        assert_eq!(least.iter().filter(|value| **value == -7.0).count(), 1);
    }
}

#[test]
fn shorthands_give_what_the_request_gives() {
    for device in devices::all() {
        let matrix = device
            .upload_matrix(&[1_i32, -2, 3, 4, 5, -6], 2, 3)
            .unwrap();
        let sums = device.column_sums(&matrix).unwrap();
        assert_eq!(sums.to_vec().unwrap(), [5_i64, 3, -3]);
        let means = device.column_means(&matrix).unwrap();
        assert_eq!(means.to_vec().unwrap(), [2.5, 1.5, -1.5]);
        let least = device.reduce_columns(&matrix).min().unwrap();
        assert_eq!(least.to_vec().unwrap(), [1, -2, -6]);
        let greatest = device.reduce_columns(&matrix).max().unwrap();
        assert_eq!(greatest.to_vec().unwrap(), [4, 5, 3]);
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
const SHAPES: [(usize, usize); 4] = [(300, 130), (2100, 32), (2, 70_003), (37, 5)];

#[test]
fn queued_again_every_variant_gives_the_same() {
    requests::queued_again_every_variant_gives_the_same(AXIS, &SHAPES);
}

/// The variants whose float sums have no fixed order.
const WITHOUT_ORDER: &[&str] = &[];

#[test]
fn float_sums_are_the_same_from_run_to_run_and_in_every_order_of_lanes() {
    requests::same_bits_every_time::<f32>(AXIS, &SHAPES, WITHOUT_ORDER);
    requests::same_bits_every_time::<f64>(AXIS, &SHAPES, WITHOUT_ORDER);
}

/// How `best` sees a matrix: every load that follows from it is aligned and within.
#[test]
fn the_view_of_best_is_aligned_and_loses_no_element() {
    use warpwright_gpu::columns::policy::{BEST_TILE_BYTES, view};
    let widths = (1..300).chain([511, 512, 513, 8191, 8192, 100_003]);
    for width in widths {
        for (size, height) in [
            (1, 1),
            (1, 100_000),
            (2, 5000),
            (4, 70),
            (4, 1 << 20),
            (8, 999),
        ] {
            for past in (0..16).step_by(size) {
                let seen = view(256 + past as u64, height, width, size);
                let what = format!("{height} x {width} of {size} bytes, {past} past: {seen:?}");
                let used = seen.head + seen.rows * seen.period;
                assert!(used <= height * width, "{what}");
                assert!(seen.period.is_multiple_of(width), "{what}");
                if seen.rows > 0 {
                    assert!((past + seen.head * size).is_multiple_of(16), "{what}");
                    assert!((seen.period * size).is_multiple_of(16), "{what}");
                    // At most a fifth of the lanes have no column, but where the matrix is taken as it is.
                    let tiles = (seen.period * size).div_ceil(BEST_TILE_BYTES);
                    let lanes = tiles * BEST_TILE_BYTES;
                    assert!(seen.period * size * 5 >= lanes * 4 - 100, "{what}");
                }
                if !seen.fold {
                    assert_eq!((seen.head, seen.rows), (0, height), "{what}");
                }
            }
        }
    }
}

#[test]
fn blocks_of_best_share_the_rows_and_parts_do_not_overflow() {
    use warpwright_gpu::columns::policy::{BEST_MOST_ROWS, rows_per_block, tree};
    for rows in [1, 63, 64, 65, 8192, 65_536, 1 << 27] {
        for (tiles, filling) in [(1, 264), (16, 264), (64, 264), (1000, 264), (1, 2)] {
            let each = rows_per_block(rows, tiles, filling);
            assert!(
                each > 0 && each <= BEST_MOST_ROWS,
                "{rows} {tiles} {filling}"
            );
        }
    }
    assert_eq!(rows_per_block(8192, 16, 264), 512);
    assert_eq!(tree(1), (0, 0));
    assert_eq!(tree(16), (16, 1));
    assert_eq!(tree(33), (33 + 3, 3 + 1));
    assert_eq!(tree(16 * 16 + 1), (257 + 17 + 2, 17 + 2 + 1));
}
