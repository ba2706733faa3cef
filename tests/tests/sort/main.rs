//! Sorts: every variant, every key type, with values and as positions, held against std's stable sort.

mod segments;
mod unique;

use std::{any::TypeId, fmt::Debug};

use cuda_std::{bf16, cpu::Order, f16};
use warpwright::{
    CpuOptions, Device, Element, Error, Result, Vector,
    ops::sort::{Position, SortKey},
};
use warpwright_gpu::sort::{DIGITS, policy};
use warpwright_tests::{
    cases, devices,
    keys::{Key, PATTERNS, Pattern},
};

/// By what keys are sorted.
#[derive(Debug, Clone, Copy, Default)]
struct By {
    descending: bool,
    bits: Option<[u32; 2]>,
    tile: Option<[usize; 2]>,
}

/// The positions of the keys in order, by std's stable sort.
fn order<K: Key>(keys: &[K], by: By) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let part = |key: K, [from, to]: [u32; 2]| key.number() << (64 - to) >> (64 - to + from);
    order.sort_by(|a, b| {
        let (a, b) = (keys[*a], keys[*b]);
        let (a, b) = if by.descending { (b, a) } else { (a, b) };
        match by.bits {
            None => a.compare(&b),
            Some(range) => part(a, range).cmp(&part(b, range)),
        }
    });
    order
}

/// Makes the options' calls on a request.
macro_rules! with {
    ($request:expr, $by:expr, $variant:expr) => {{
        let mut request = $request.variant($variant);
        if $by.descending {
            request = request.descending();
        }
        if let Some([from, to]) = $by.bits {
            request = request.bits(from..to);
        }
        if let Some([keys, tiles]) = $by.tile {
            request = request.tile(keys, tiles);
        }
        request
    }};
}

fn assert_keys<K: Key>(got: &Vector<K>, keys: &[K], order: &[usize], what: &dyn Debug) {
    let got = got.to_vec().unwrap();
    assert_eq!(got.len(), keys.len(), "{what:?}");
    for (i, (got, wanted)) in got.iter().zip(order).enumerate() {
        let wanted = keys[*wanted];
        assert_eq!(got.bits(), wanted.bits(), "{what:?}: key {i}");
    }
}

fn assert_positions<P: Position + TryInto<usize>>(
    got: &Vector<P>,
    order: &[usize],
    what: &dyn Debug,
) {
    let got = got.to_vec().unwrap().into_iter();
    let got: Vec<usize> = got.map(|it| it.try_into().ok().unwrap()).collect();
    let wrong = (0..order.len()).find(|i| got.get(*i) != order.get(*i));
    assert!(
        got.len() == order.len() && wrong.is_none(),
        "{what:?}: position {wrong:?}"
    );
}

/// Sorts keys in every way, and compares.
fn check<K: Key>(device: &Device, keys: &[K], by: By, variant: &str, what: &dyn Debug) {
    let what = &(what, by, variant, device.kind());
    let order = order(keys, by);
    let input = device.upload(keys).unwrap();
    let sorted = with!(device.sort_request(&input), by, variant)
        .run()
        .unwrap();
    assert_keys(&sorted, keys, &order, what);
    let positions = device.argsort_request::<K, u32>(&input);
    let positions = with!(positions, by, variant).run().unwrap();
    assert_positions(&positions, &order, what);
}

/// Sorts keys with values, apart and in place, and compares.
fn check_pairs<K: Key, V: Element + PartialEq>(
    device: &Device,
    keys: &[K],
    value: impl Fn(usize) -> V,
    by: By,
    variant: &str,
) {
    let what = &(keys.len(), size_of::<V>(), by, variant, device.kind());
    let order = order(keys, by);
    let values: Vec<V> = (0..keys.len()).map(value).collect();
    let wanted: Vec<V> = order.iter().map(|at| values[*at]).collect();
    let mut input = device.upload(keys).unwrap();
    let mut data = device.upload(&values).unwrap();
    let request = device.sort_pairs_request(&input, &data);
    let (sorted, moved) = with!(request, by, variant).run().unwrap();
    assert_keys(&sorted, keys, &order, what);
    assert!(moved.to_vec().unwrap() == wanted, "{what:?}");
    let request = device.sort_pairs_in_place_request(&mut input, &mut data);
    with!(request, by, variant).run().unwrap();
    assert_keys(&input, keys, &order, what);
    assert!(data.to_vec().unwrap() == wanted, "{what:?}, in place");
}

fn variants() -> Vec<&'static str> {
    cases::variants("sort")
        .iter()
        .map(|variant| variant.name)
        .collect()
}

/// Returns whether a device runs every case of a type. Keys of a size share their kernels, so that on the CPU executor the
/// unsigned type has every case, and another type those that depend on its order.
fn has_every_case<K: Key>(device: &Device) -> bool {
    cases::is_cuda(device) || TypeId::of::<K>() == TypeId::of::<K::Bits>()
}

/// Small tiles, and few of them in a launch.
const TILES: By = By {
    descending: false,
    bits: None,
    tile: Some([DIGITS, usize::MAX]),
};

fn every_pattern<K: Key>() {
    for device in devices::all() {
        for variant in variants() {
            let few = [Pattern::And(1), Pattern::Foreign, Pattern::Edges];
            let patterns = match (variant, has_every_case::<K>(device)) {
                ("best", true) => &PATTERNS[..],
                (_, true) | ("best", false) => &few,
                (_, false) => &few[2..],
            };
            for pattern in patterns.iter().copied() {
                let keys = pattern.keys::<K>(300);
                let by = By {
                    descending: true,
                    ..TILES
                };
                check(device, &keys, by, variant, &pattern);
                if variant == "best" {
                    check(device, &keys, By::default(), variant, &pattern);
                }
            }
        }
    }
}

fn every_length<K: Key>() {
    let tile = warpwright_gpu::tuning::shipped::<policy::Policy, K>().most_keys();
    let long = [policy::SMALL_KEYS + 1, tile + 1];
    for device in devices::all() {
        for variant in variants() {
            let short = [33, 257, 0, 1, 2, 31, 32];
            let small = [2049, policy::SMALL_KEYS];
            let (short, small) = match (variant, has_every_case::<K>(device)) {
                ("best", true) => (&short[..], &small[..]),
                (_, true) => (&short[..], &[][..]),
                (_, false) => (&short[..2], &[][..]),
            };
            for len in short.iter().chain(small).copied() {
                let keys = Pattern::And(1).keys::<K>(len);
                check(device, &keys, By::default(), variant, &len);
            }
            // The network would take long on the CPU executor.
            if cases::is_cuda(device) || variant != "naive" && has_every_case::<K>(device) {
                for len in long {
                    let keys = Pattern::And(2).keys::<K>(len);
                    check(device, &keys, By::default(), variant, &len);
                }
            }
            let tiles = [4 * DIGITS + 3, DIGITS + 1, 1];
            let tiles = if has_every_case::<K>(device) {
                &tiles[..]
            } else {
                &tiles[..1]
            };
            for len in tiles.iter().copied() {
                let keys = Pattern::And(2).keys::<K>(len);
                check(device, &keys, TILES, variant, &len);
            }
        }
    }
}

macro_rules! of_every_type {
    ($($pattern:ident, $length:ident: $ty:ty;)*) => { $(
        #[test]
        fn $pattern() {
            every_pattern::<$ty>();
        }

        #[test]
        fn $length() {
            every_length::<$ty>();
        }
    )* };
}
of_every_type! {
    every_pattern_of_u8, every_length_of_u8: u8;
    every_pattern_of_u16, every_length_of_u16: u16;
    every_pattern_of_u32, every_length_of_u32: u32;
    every_pattern_of_u64, every_length_of_u64: u64;
    every_pattern_of_i8, every_length_of_i8: i8;
    every_pattern_of_i16, every_length_of_i16: i16;
    every_pattern_of_i32, every_length_of_i32: i32;
    every_pattern_of_i64, every_length_of_i64: i64;
    every_pattern_of_f16, every_length_of_f16: f16;
    every_pattern_of_bf16, every_length_of_bf16: bf16;
    every_pattern_of_f32, every_length_of_f32: f32;
    every_pattern_of_f64, every_length_of_f64: f64;
}

#[test]
fn values_of_every_size_follow_their_keys() {
    fn check<K: Key>(device: &Device, variant: &str) {
        for (by, len) in [
            (By::default(), 600),
            (
                By {
                    descending: true,
                    ..TILES
                },
                700,
            ),
        ] {
            let keys = Pattern::And(3).keys::<K>(len);
            check_pairs(device, &keys, |i| i as u8, by, variant);
            check_pairs(device, &keys, |i| i as u16, by, variant);
            check_pairs(device, &keys, |i| i as u32, by, variant);
            check_pairs(device, &keys, |i| i as f64, by, variant);
            check_pairs(device, &keys, |i| [i as u64, !(i as u64)], by, variant);
        }
    }
    for device in devices::all() {
        for variant in variants() {
            check::<u8>(device, variant);
            check::<f16>(device, variant);
            check::<i32>(device, variant);
            check::<u64>(device, variant);
        }
    }
}

#[test]
fn values_follow_their_keys_through_whole_tiles() {
    for device in devices::all() {
        for variant in ["ballot", "best"] {
            let policy = warpwright_gpu::tuning::shipped::<policy::Policy, u32>();
            let tile = |value_bytes| {
                policy.items_tile(4, value_bytes, device.info().shared_bytes_per_block)
            };
            let keys = Pattern::Zipf.keys::<f32>(2 * tile(4) + 5);
            check_pairs(device, &keys, |i| i as u32, By::default(), variant);
            let keys = Pattern::Zipf.keys::<f32>(2 * tile(16) + 5);
            check_pairs(device, &keys, |i| i as u128, By::default(), variant);
        }
    }
}

#[test]
fn any_range_of_bits() {
    fn check_ranges<K: Key>(device: &Device, ranges: &[[u32; 2]]) {
        for variant in variants() {
            // The rungs take their digits from the range in the same way.
            let every = cases::is_cuda(device) || variant == "best";
            for range in if every { ranges } else { &ranges[1..2] } {
                let bits = Some(*range);
                let keys = Pattern::And(1).keys::<K>(300);
                check(
                    device,
                    &keys,
                    By {
                        bits,
                        ..By::default()
                    },
                    variant,
                    &"bits",
                );
                let keys = Pattern::Zipf.keys::<K>(400);
                let by = By {
                    bits,
                    descending: true,
                    ..TILES
                };
                check(device, &keys, by, variant, &"bits");
                check_pairs(device, &keys, |i| i as u32, by, variant);
            }
        }
    }
    for device in devices::all() {
        check_ranges::<u8>(device, &[[0, 1], [3, 7], [7, 8], [0, 8]]);
        check_ranges::<i16>(device, &[[0, 9], [5, 13], [15, 16]]);
        check_ranges::<f32>(device, &[[31, 32], [0, 17], [13, 29]]);
        check_ranges::<u64>(device, &[[0, 40], [1, 64], [33, 35], [56, 64]]);
    }
}

#[test]
fn keys_are_sorted_where_they_are() {
    for device in devices::all() {
        for variant in variants() {
            for (bits, tile, len) in [
                (None, None, 1000),
                (None, Some([DIGITS, 2]), 1000),
                (Some([4, 28]), Some([DIGITS, usize::MAX]), 1000),
                (Some([4, 9]), None, policy::SMALL_KEYS),
            ] {
                let by = By {
                    descending: false,
                    bits,
                    tile,
                };
                let keys = Pattern::And(2).keys::<u32>(len);
                let mut vector = device.upload(&keys).unwrap();
                let request = device.sort_in_place_request(&mut vector);
                with!(request, by, variant).run().unwrap();
                assert_keys(&vector, &keys, &order(&keys, by), &(by, variant));
            }
        }
    }
}

#[test]
fn sub_views_need_no_alignment() {
    for device in devices::all() {
        for variant in variants() {
            for offset in cases::OFFSETS {
                for by in [By::default(), TILES] {
                    let all = Pattern::And(1).keys::<u16>(offset + 900 + 3);
                    let vector = device.upload(&all).unwrap();
                    let mut output = device.upload(&all).unwrap();
                    let part = offset..offset + 900;
                    let view = vector.slice(part.clone()).unwrap();
                    let target = output.slice_mut(part.clone()).unwrap();
                    let request = device.sort_request(view).output_to(target);
                    with!(request, by, variant).run().unwrap();
                    let mut wanted = all.clone();
                    wanted[part].sort();
                    assert_eq!(output.to_vec().unwrap(), wanted, "{variant} {offset}");
                }
            }
        }
    }
}

/// Lanes that run in another order take their places in another order, and the sweep has to notice and to mend it.
#[test]
fn the_order_of_lanes_and_blocks_does_not_matter() {
    let mut orders = vec![Order::Forward, Order::Backward];
    orders.extend((0..3).map(Order::Seeded));
    for order in orders {
        let device = devices::cpu_in(order);
        for by in [
            TILES,
            By {
                tile: Some([2 * DIGITS, 2]),
                ..TILES
            },
        ] {
            for pattern in [Pattern::And(1), Pattern::And(4), Pattern::Foreign] {
                check(&device, &pattern.keys::<u32>(1000), by, "best", &pattern);
                let keys = pattern.keys::<u16>(1000);
                check_pairs(&device, &keys, |i| i as u16, by, "best");
            }
            check(
                &device,
                &Pattern::And(2).keys::<f64>(900),
                by,
                "ballot",
                &order,
            );
        }
    }
}

#[test]
fn full_tiles_in_any_order_of_lanes() {
    for order in [Order::Forward, Order::Backward, Order::Seeded(7)] {
        let device = Device::cpu_with(CpuOptions::default().order(order));
        for variant in ["ballot", "best"] {
            let keys = Pattern::And(1).keys::<u32>(40_000);
            check(&device, &keys, By::default(), variant, &order);
            let keys = Pattern::And(3).keys::<i64>(20_000);
            check(&device, &keys, By::default(), variant, &order);
        }
    }
}

#[test]
fn prepared_work_is_queued_again_with_other_keys() {
    for device in devices::all() {
        for variant in variants() {
            let works = [
                (By::default(), 500),
                (TILES, 700),
                (
                    By {
                        bits: Some([3, 9]),
                        ..TILES
                    },
                    700,
                ),
                (
                    By {
                        bits: Some([3, 20]),
                        ..TILES
                    },
                    700,
                ),
                (
                    By {
                        tile: Some([DIGITS, 2]),
                        ..TILES
                    },
                    700,
                ),
            ];
            let every = cases::is_cuda(device) || variant == "best";
            for (by, len) in works.into_iter().take(if every { 5 } else { 2 }) {
                let mut input = device.zeros::<u32>(len).unwrap();
                let mut output = device.zeros::<u32>(len).unwrap();
                for pattern in [
                    Pattern::And(1),
                    Pattern::Equal,
                    Pattern::And(2),
                    Pattern::Reverse,
                ] {
                    let keys = pattern.keys::<u32>(len);
                    input.upload(&keys).unwrap();
                    let request = device.sort_request(&input).output_to(&mut output);
                    let mut prepared = with!(request, by, variant).prepare().unwrap();
                    for _ in 0..3 {
                        prepared.enqueue().unwrap();
                    }
                    let sorted = prepared.into_output().unwrap();
                    assert_keys(sorted, &keys, &order(&keys, by), &(pattern, by, variant));
                }
            }
        }
    }
}

#[test]
fn positions_of_64_bits() {
    for device in devices::all() {
        for variant in variants() {
            for by in [By::default(), TILES] {
                let keys = Pattern::And(3).keys::<i32>(1000);
                let input = device.upload(&keys).unwrap();
                let request = device.argsort_request::<i32, u64>(&input);
                let got = with!(request, by, variant).run().unwrap();
                assert_positions(&got, &order(&keys, by), &(by, variant));
            }
        }
    }
}

fn refused<T: Debug>(result: Result<T>, part: &str) {
    let error = result.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Invalid {
                operation: "sort" | "argsort",
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn bad_requests_are_refused() {
    for device in devices::all() {
        let keys = device.upload(&[3_u16, 1, 2]).unwrap();
        refused(device.sort_request(&keys).bits(4..4).run(), "4..4");
        refused(device.sort_request(&keys).bits(0..17).run(), "0..17");
        refused(
            device.sort_request(&keys).bits(..=u32::MAX).run(),
            "16 bits",
        );
        #[allow(clippy::reversed_empty_ranges)]
        refused(
            device.argsort_request::<_, u32>(&keys).bits(9..2).run(),
            "9..2",
        );
        let two = device.upload(&[1_u32, 2]).unwrap();
        refused(
            device.sort_pairs(&keys, &two),
            "as many values as keys, 3 required, 2 given",
        );
        let odd = device.zeros::<[u8; 3]>(3).unwrap();
        refused(device.sort_pairs(&keys, &odd), "16 bytes required, 3 given");
        let other = device.upload(&[1_u16, 2]).unwrap();
        let mut place = other;
        refused(
            device.sort_request(&keys).output_to(&mut place).run(),
            "3 elements",
        );
    }
}

#[test]
fn a_request_of_no_keys_does_nothing() {
    for device in devices::all() {
        let none = device.zeros::<f32>(0).unwrap();
        assert!(device.sort(&none).unwrap().is_empty());
        assert!(device.argsort(&none).unwrap().is_empty());
        let values = device.zeros::<u64>(0).unwrap();
        let (keys, values) = device.sort_pairs(&none, &values).unwrap();
        assert!(keys.is_empty() && values.is_empty());
        refused(device.sort_request(&none).bits(32..).run(), "32..32");
    }
}

#[test]
fn the_workspace_is_one_copy_and_little_more() {
    fn beside<K: SortKey>(device: &Device, len: usize) -> f64 {
        let keys = device.zeros::<K>(len).unwrap();
        let prepared = device.sort_request(&keys).prepare().unwrap();
        let copy = if size_of::<K>() > 1 {
            len * size_of::<K>()
        } else {
            0
        };
        (prepared.workspace_bytes() - copy) as f64 / (len * size_of::<K>()) as f64
    }
    let device = devices::cpu();
    let len = 1 << 24;
    assert!(beside::<u8>(&device, len) < 0.001);
    assert!(beside::<u16>(&device, len) < 0.04);
    assert!(beside::<u32>(&device, len) < 0.02);
    assert!(beside::<u64>(&device, len) < 0.02);
}
