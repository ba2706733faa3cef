//! Tests of requests that apply to both families of reductions along an axis.

use cuda_std::cpu::Order;
use warpwright::{
    CpuOptions, Device, Error,
    ops::{ChosenBy, axis::Axis},
};

use super::{AxisNumber, lines, sum_bits};
use crate::{cases, devices};

fn family(axis: Axis) -> &'static str {
    match axis {
        Axis::Columns => "columns",
        Axis::Rows => "rows",
    }
}

/// Checks that lines without elements have the sum 0 and no other result, and that no lines have no results.
pub fn no_elements_have_a_sum_and_nothing_else(axis: Axis) {
    let (none, nothing, lacking) = match axis {
        Axis::Columns => ((0, 3), (3, 0), "at least one row required, none given"),
        Axis::Rows => ((3, 0), (0, 3), "at least one column required, none given"),
    };
    for device in devices::all() {
        let none = device.upload_matrix::<f32>(&[], none.0, none.1).unwrap();
        for variant in cases::variants(family(axis)) {
            let request = || device.reduce_axis(&none, axis).variant(variant.name);
            assert_eq!(request().sum().unwrap().to_vec().unwrap(), [0.0; 3]);
            for error in [
                request().mean().map(drop).unwrap_err(),
                request().min().map(drop).unwrap_err(),
                request().max().map(drop).unwrap_err(),
            ] {
                assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
                assert!(error.to_string().contains(lacking), "{error}");
            }
        }
        let nothing = device.upload_matrix::<f32>(&[], nothing.0, nothing.1);
        let nothing = nothing.unwrap();
        assert!(device.reduce_axis(&nothing, axis).sum().unwrap().is_empty());
        assert!(device.reduce_axis(&nothing, axis).min().unwrap().is_empty());
    }
}

/// Checks that the library chooses `best` unless the caller chooses a variant.
pub fn the_library_takes_best_and_says_who_chose(axis: Axis) {
    let device = Device::cpu();
    let matrix = device.upload_matrix(&[1_u8, 2], 1, 2).unwrap();
    let prepared = device.reduce_axis(&matrix, axis).prepare_sum().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
    let first = cases::variants(family(axis))[0].name;
    let request = device.reduce_axis(&matrix, axis).variant(first);
    let prepared = request.prepare_min().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        (first, ChosenBy::Caller)
    );
}

/// Checks that the error for an unknown variant lists the known ones.
pub fn an_unknown_variant_is_refused_and_the_known_ones_are_named(axis: Axis) {
    let device = Device::cpu();
    let matrix = device.upload_matrix(&[1_u8, 2], 1, 2).unwrap();
    let request = device.reduce_axis(&matrix, axis).variant("folding");
    let error = request.sum().unwrap_err();
    let Error::UnknownVariant { family: named, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(named, family(axis));
    let text = error.to_string();
    for variant in cases::variants(family(axis)) {
        assert!(text.contains(variant.name), "{text}");
    }
}

/// Checks that work that is prepared once and queued three times gives the right results three times.
pub fn queued_again_every_variant_gives_the_same(axis: Axis, shapes: &[(usize, usize)]) {
    for device in devices::all() {
        for &(height, width) in shapes {
            let values: Vec<i32> = (0..height * width).map(|i| i as i32 % 1000 - 300).collect();
            let matrix = device.upload_matrix(&values, height, width).unwrap();
            let lines = lines(&values, height, width, axis);
            let sum = |line: &Vec<i32>| line.iter().map(|value| i64::from(*value)).sum::<i64>();
            let sums: Vec<i64> = lines.iter().map(sum).collect();
            let least = |line: &Vec<i32>| *line.iter().min().unwrap();
            let least: Vec<i32> = lines.iter().map(least).collect();
            for variant in cases::variants(family(axis)) {
                let request = || device.reduce_axis(&matrix, axis).variant(variant.name);
                let mut prepared_sum = request().prepare_sum().unwrap();
                let mut prepared_min = request().prepare_min().unwrap();
                for _ in 0..3 {
                    prepared_sum.enqueue().unwrap();
                    prepared_min.enqueue().unwrap();
                    let found = prepared_sum.output().unwrap().to_vec().unwrap();
                    assert_eq!(found, sums, "{}", variant.name);
                    let found = prepared_min.output().unwrap().to_vec().unwrap();
                    assert_eq!(found, least, "{}", variant.name);
                }
            }
        }
    }
}

/// Checks that the sums of floats have the same bits in every run and in every order of blocks and lanes, except for the named
/// variants.
pub fn same_bits_every_time<T: AxisNumber>(
    axis: Axis,
    shapes: &[(usize, usize)],
    without_order: &[&str],
) {
    let backward = [Order::Backward, Order::Seeded(5)];
    let others = backward.map(|order| Device::cpu_with(CpuOptions::default().order(order)));
    let names = cases::variants(family(axis))
        .iter()
        .map(|variant| variant.name);
    let ordered: Vec<_> = names.filter(|name| !without_order.contains(name)).collect();
    assert!(!ordered.is_empty());
    for &shape in shapes {
        for (variant, above) in ordered.iter().flat_map(|name| [(name, 0), (name, 1)]) {
            for device in devices::all() {
                let bits = |device| sum_bits::<T>(device, shape, above, axis, variant);
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
