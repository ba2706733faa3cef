//! Top-k: every variant, every type, rows, and the threshold of a sample, held against std's stable sort.

use std::fmt::Debug;

use cuda_std::{bf16, cpu::Order, f16};
use warpwright::{Device, Error, Result};
use warpwright_gpu::top_k::policy::{self, LEAST_SAMPLED, MOST_K, sample_position, samples};
use warpwright_tests::{
    cases, devices,
    keys::{Key, PATTERNS, Pattern},
};

/// How a test selects.
#[derive(Debug, Clone, Copy)]
struct By {
    k: usize,
    smallest: bool,
    sampled: bool,
    variant: &'static str,
}

impl By {
    fn greatest(k: usize) -> Self {
        Self {
            k,
            smallest: false,
            sampled: false,
            variant: "best",
        }
    }

    fn smallest(k: usize) -> Self {
        Self {
            smallest: true,
            ..Self::greatest(k)
        }
    }
}

/// Makes the options' calls on a request.
macro_rules! with {
    ($request:expr, $by:expr) => {{
        let mut request = $request.variant($by.variant);
        if $by.smallest {
            request = request.smallest();
        }
        if $by.sampled {
            request = request.sampled();
        }
        request
    }};
}

/// A key that may be a NaN.
trait Nan: Key {
    fn is_not_a_number(self) -> bool;
}

macro_rules! nan {
    (integers $($integer:ident)*; floats $($float:ident)*) => {
        $(impl Nan for $integer {
            fn is_not_a_number(self) -> bool {
                false
            }
        })*
        $(impl Nan for $float {
            fn is_not_a_number(self) -> bool {
                self.is_nan()
            }
        })*
    };
}
nan!(integers u8 u16 u32 u64 i8 i16 i32 i64; floats f16 bf16 f32 f64);

/// The positions of the best keys, by std's stable sort.
fn positions<K: Nan>(keys: &[K], by: By) -> Vec<u64> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (keys[*a], keys[*b]);
        match (a.is_not_a_number(), b.is_not_a_number()) {
            (true, true) => std::cmp::Ordering::Equal,
            (true, false) => std::cmp::Ordering::Less,
            (false, true) => std::cmp::Ordering::Greater,
            (false, false) if by.smallest => a.compare(&b),
            (false, false) => b.compare(&a),
        }
    });
    order[..by.k].iter().map(|at| *at as u64).collect()
}

fn assert_best<K: Nan>((values, found): (Vec<K>, Vec<u64>), keys: &[K], by: By, what: &dyn Debug) {
    let wanted = positions(keys, by);
    let wrong = (0..by.k).find(|i| found.get(*i) != wanted.get(*i));
    assert!(
        found.len() == by.k && wrong.is_none(),
        "{what:?}, {by:?}: position {wrong:?}: {:?} {:?}",
        wrong.map(|i| (found[i], keys[found[i] as usize])),
        wrong.map(|i| (wanted[i], keys[wanted[i] as usize])),
    );
    let values: Vec<u64> = values.into_iter().map(K::bits).collect();
    let wanted: Vec<u64> = wanted.iter().map(|at| keys[*at as usize].bits()).collect();
    assert!(values == wanted, "{what:?}, {by:?}: values");
}

fn check<K: Nan>(device: &Device, keys: &[K], by: By, what: &dyn Debug) {
    let what = &(what, keys.len(), device.kind());
    let input = device.upload(keys).unwrap();
    let (values, found) = with!(device.top_k_request(&input, by.k), by).run().unwrap();
    let results = (values.to_vec().unwrap(), found.to_vec().unwrap());
    assert_best(results, keys, by, what);
}

fn variants() -> impl Iterator<Item = &'static str> {
    cases::variants("top_k").iter().map(|variant| variant.name)
}

fn every_variant<K: Nan>() {
    for device in devices::all() {
        for variant in variants() {
            for (pattern, len) in [
                (Pattern::And(1), 1),
                (Pattern::And(2), 33),
                (Pattern::Edges, 700),
                (Pattern::Equal, 1025),
            ] {
                let keys = pattern.keys::<K>(len);
                for k in [1, len / 2, len] {
                    for by in [By::greatest(k), By::smallest(k)] {
                        check(device, &keys, By { variant, ..by }, &pattern);
                    }
                }
            }
        }
    }
}

fn every_pattern_by_samples<K: Nan>() {
    for device in devices::all() {
        for pattern in PATTERNS {
            let keys = pattern.keys::<K>(2 * LEAST_SAMPLED + 77);
            for by in [By::greatest(1), By::smallest(40), By::greatest(2500)] {
                let sampled = true;
                check(device, &keys, By { sampled, ..by }, &pattern);
            }
        }
    }
}

macro_rules! of_every_type {
    ($($variants:ident: $ty:ty;)*) => { $(
        #[test]
        fn $variants() {
            every_variant::<$ty>();
        }
    )* };
}
of_every_type! {
    every_variant_of_u8: u8;
    every_variant_of_u16: u16;
    every_variant_of_u32: u32;
    every_variant_of_u64: u64;
    every_variant_of_i8: i8;
    every_variant_of_i16: i16;
    every_variant_of_i32: i32;
    every_variant_of_i64: i64;
    every_variant_of_f16: f16;
    every_variant_of_bf16: bf16;
    every_variant_of_f32: f32;
    every_variant_of_f64: f64;
}

// Elements of a size share their kernels.
#[test]
fn samples_of_every_size() {
    every_pattern_by_samples::<i8>();
    every_pattern_by_samples::<bf16>();
    every_pattern_by_samples::<f32>();
    every_pattern_by_samples::<u64>();
}

#[test]
fn as_many_as_blocks_can_sort_and_more() {
    for device in devices::all() {
        let keys = Pattern::And(1).keys::<f32>(policy::SMALL + 5001);
        for k in [383, 384, MOST_K - 129, MOST_K - 1, MOST_K, MOST_K + 1] {
            check(device, &keys, By::greatest(k), &"and 1");
        }
        let few = Pattern::Foreign.keys::<u16>(policy::SMALL + 1);
        check(device, &few, By::smallest(MOST_K), &"foreign");
    }
}

/// A sample is a guess. Where it is wrong, the result is right all the same.
#[test]
fn samples_that_mislead() {
    let len = 4 * LEAST_SAMPLED + 3;
    let mut is_sample = vec![false; len];
    for i in 0..samples(len) {
        is_sample[sample_position(i, len) as usize] = true;
    }
    for device in devices::all() {
        for greater in [false, true] {
            // Above the threshold are too few elements, or too many.
            let mut keys = Pattern::And(1).keys::<u32>(len);
            for (key, is_sample) in keys.iter_mut().zip(&is_sample) {
                *key = *key >> 1 | u32::from(*is_sample == greater) << 31;
            }
            let k = if greater { MOST_K } else { 100 };
            let sampled = true;
            let by = By::greatest(k);
            check(device, &keys, By { sampled, ..by }, &greater);
        }
    }
}

#[test]
fn samples_are_in_their_parts() {
    let most = u32::MAX as usize;
    for len in [LEAST_SAMPLED, LEAST_SAMPLED + 1, 300_001, 1 << 28, most - 1] {
        let part = len / samples(len);
        for i in 0..samples(len) {
            let position = sample_position(i, len) as usize;
            assert!(position / part == i && position < len, "{len}: {i}");
        }
    }
}

#[test]
fn rows_of_a_matrix() {
    for device in devices::all() {
        let wide = policy::SMALL + 3;
        for (height, width, k) in [
            (1, 1, 1),
            (7, 33, 5),
            (300, 40, 40),
            (2, wide, 3),
            (3, 6000, 5000),
        ] {
            // Below a row, above, and beside it, there is something else.
            let all = Pattern::And(2).keys::<i32>((height + 2) * (width + 3));
            let matrix = device.upload_matrix(&all, height + 2, width + 3).unwrap();
            let rect = matrix.rect(1..=height, 2..width + 2).unwrap();
            for variant in variants() {
                for by in [By::greatest(k), By::smallest(k)] {
                    let by = By { variant, ..by };
                    let request = with!(device.top_k_rows_request(rect, k), by);
                    if variant == "two_level" && k > MOST_K {
                        let error = request.run().unwrap_err();
                        assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
                        continue;
                    }
                    let (values, found) = request.run().unwrap();
                    assert_eq!((found.height(), found.width()), (height, k));
                    let (values, found) = (values.to_vec().unwrap(), found.to_vec().unwrap());
                    for row in 0..height {
                        let first = (row + 1) * (width + 3) + 2;
                        let part = row * k..(row + 1) * k;
                        let results = (values[part.clone()].to_vec(), found[part].to_vec());
                        let what = &(height, width, row, device.kind());
                        assert_best(results, &all[first..first + width], by, what);
                    }
                }
            }
        }
    }
}

#[test]
fn sub_views_need_no_alignment() {
    for device in devices::all() {
        let keys = Pattern::And(2).keys::<f16>(2 * LEAST_SAMPLED + 30);
        let input = device.upload(&keys).unwrap();
        for range in [1..900, 3..keys.len() - 5] {
            let view = input.slice(range.clone()).unwrap();
            let (values, found) = device.top_k_request(view, 20).sampled().run().unwrap();
            let results = (values.to_vec().unwrap(), found.to_vec().unwrap());
            assert_best(results, &keys[range.clone()], By::greatest(20), &range);
        }
    }
}

#[test]
fn the_order_of_lanes_and_blocks_does_not_matter() {
    let mut orders = vec![Order::Forward, Order::Backward];
    orders.extend((0..3).map(Order::Seeded));
    for order in orders {
        let device = devices::cpu_in(order);
        for pattern in [Pattern::And(3), Pattern::Equal] {
            let keys = pattern.keys::<u32>(LEAST_SAMPLED + 5000);
            let by = By::greatest(1000);
            for (sampled, variant) in [(true, "best"), (false, "two_level"), (false, "best")] {
                let by = By {
                    sampled,
                    variant,
                    ..by
                };
                check(&device, &keys, by, &order);
            }
        }
    }
}

#[test]
fn prepared_work_is_queued_again() {
    for device in devices::all() {
        let keys = Pattern::Zipf.keys::<f64>(2 * LEAST_SAMPLED);
        let input = device.upload(&keys).unwrap();
        for sampled in [true, false] {
            let by = By {
                sampled,
                ..By::smallest(30)
            };
            let mut prepared = with!(device.top_k_request(&input, by.k), by)
                .prepare()
                .unwrap();
            assert!(prepared.positions().is_err(), "nothing was queued");
            for _ in 0..3 {
                prepared.enqueue().unwrap();
                let values = prepared.output().unwrap().to_vec().unwrap();
                let found = prepared.positions().unwrap().to_vec().unwrap();
                assert_best((values, found), &keys, by, &"again");
            }
        }
    }
}

fn refused<T>(result: Result<T>, part: &str) {
    let error = result.err().expect("an error");
    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn bad_requests_are_refused() {
    for device in devices::all() {
        let keys = device.upload(&[3_u16, 1, 2]).unwrap();
        refused(
            device.top_k(&keys, 4),
            "at most the 3 elements there are required, 4 given",
        );
        let matrix = device.upload_matrix(&[3_u16, 1, 2, 7], 2, 2).unwrap();
        refused(
            device.top_k_rows(&matrix, 3),
            "at most the 2 elements there are required, 3 given",
        );
        let mut place = device.upload(&[1_u16, 2, 3]).unwrap();
        let request = device.top_k_request(&keys, 2).output_to(&mut place);
        refused(request.run(), "2 elements");
        let long = device.zeros::<u8>(2 * MOST_K).unwrap();
        let request = device.top_k_request(&long, MOST_K + 1);
        let error = request.variant("two_level").run().unwrap_err();
        assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
    }
}

#[test]
fn nothing_of_anything() {
    for device in devices::all() {
        let none = device.zeros::<f32>(0).unwrap();
        let (values, found) = device.top_k(&none, 0).unwrap();
        assert!(values.is_empty() && found.is_empty());
        let some = device.zeros::<f32>(5).unwrap();
        assert!(device.top_k(&some, 0).unwrap().0.is_empty());
        let matrix = device.zeros_matrix::<u8>(0, 7).unwrap();
        let (values, found) = device.top_k_rows(&matrix, 3).unwrap();
        assert_eq!((values.height(), values.width()), (0, 3));
        assert_eq!((found.height(), found.width()), (0, 3));
    }
}

#[test]
fn the_workspace_is_a_twentieth() {
    let device = devices::cpu();
    for len in [1 << 20, 1 << 24] {
        let keys = device.zeros::<f32>(len).unwrap();
        for k in [1, 10, 256, MOST_K] {
            let prepared = device.top_k_request(&keys, k).prepare().unwrap();
            let part = prepared.workspace_bytes() as f64 / (4 * len) as f64;
            assert!(part <= 0.05, "{k} of {len}: {part}");
        }
    }
}

/// Checks several positions of arrays of every kind against std's sort.
fn positions_of<K: Nan>() {
    let orders = [Order::Seeded(3)].map(devices::cpu_in);
    for device in devices::all().cloned().chain(orders) {
        for (pattern, len) in PATTERNS
            .iter()
            .flat_map(|it| [(it, 1), (it, 33), (it, 700)])
        {
            let keys = pattern.keys::<K>(len);
            kth(
                &device,
                &keys,
                [0, len / 3, len - 1],
                &["naive", "best"],
                pattern,
            );
        }
        // Several blocks count.
        for pattern in [Pattern::And(1), Pattern::Zipf] {
            let keys = pattern.keys::<K>(40_003);
            kth(&device, &keys, [10_000, 39_999], &["best"], &pattern);
        }
    }
}

fn kth<K: Nan, const N: usize>(
    device: &Device,
    keys: &[K],
    positions: [usize; N],
    variants: &[&str],
    pattern: &Pattern,
) {
    let mut sorted = keys.to_vec();
    sorted.sort_by(K::compare);
    let input = device.upload(keys).unwrap();
    for k in positions {
        for variant in variants {
            let request = device.select_kth_request(&input, k);
            let found = request.variant(*variant).run().unwrap();
            let what = (pattern, keys.len(), k, variant, device.kind());
            assert_eq!(found.bits(), sorted[k].bits(), "{what:?}");
        }
    }
    let found = device.median(&input).unwrap();
    assert_eq!(found.bits(), sorted[(keys.len() - 1) / 2].bits());
}

#[test]
fn the_kth_element_of_every_type() {
    positions_of::<u8>();
    positions_of::<i16>();
    positions_of::<f16>();
    positions_of::<bf16>();
    positions_of::<u32>();
    positions_of::<f32>();
    positions_of::<i64>();
    positions_of::<f64>();
}

#[test]
fn the_kth_element_of_a_part_again_and_again() {
    for device in devices::all() {
        let mut keys: Vec<u16> = (0..5000_u16).map(|i| i.wrapping_mul(40_503)).collect();
        let mut input = device.upload(&keys).unwrap();
        for from in [0, 1, 7] {
            let here = from..4900;
            let mut sorted = keys[here.clone()].to_vec();
            sorted.sort_unstable();
            let part = input.slice(here).unwrap();
            let mut prepared = device.select_kth_request(part, 4000).prepare().unwrap();
            for _ in 0..3 {
                // The counts are 0 again after each run.
                prepared.enqueue().unwrap();
                let found = prepared.output().unwrap().to_vec().unwrap();
                assert_eq!(found, [sorted[4000]], "from {from}, {}", device.kind());
            }
        }
        keys.fill(9);
        input = device.upload(&keys).unwrap();
        assert_eq!(device.select_kth(&input, 4999).unwrap(), 9);
    }
}

#[test]
fn a_position_behind_the_last_is_refused() {
    let device = devices::cpu();
    let input = device.upload(&[1.0_f32, 2.0]).unwrap();
    let error = device.select_kth(&input, 2).unwrap_err().to_string();
    assert!(error.contains("below the 2 elements"), "{error}");
    let none = device.upload::<u8>(&[]).unwrap();
    let error = device.median(&none).unwrap_err().to_string();
    assert!(error.contains("below the 0 elements"), "{error}");
    let request = device.select_kth_request(&input, 1).variant("two_level");
    let error = request.run().unwrap_err();
    assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
}

#[test]
fn the_kth_element_of_each_row() {
    let orders = [Order::Backward, Order::Seeded(5)].map(devices::cpu_in);
    for device in devices::all().cloned().chain(orders) {
        // The last rows are the work of all blocks together, one row after the other.
        for (height, width) in [(1, 1), (9, 33), (40, 700), (2, policy::SMALL + 9)] {
            // Below a row, above, and beside it, there is something else.
            let all = Pattern::Edges.keys::<bf16>((height + 2) * (width + 3));
            let matrix = device.upload_matrix(&all, height + 2, width + 3).unwrap();
            let rect = matrix.rect(1..=height, 2..width + 2).unwrap();
            for k in [0, width / 3, width - 1] {
                let mut found = vec![];
                for variant in ["naive", "best"] {
                    let request = device.select_kth_rows_request(rect, k).variant(variant);
                    let mut prepared = request.prepare().unwrap();
                    for _ in 0..2 {
                        prepared.enqueue().unwrap();
                        found.push(prepared.output().unwrap().to_vec().unwrap());
                    }
                }
                if k == (width - 1) / 2 {
                    found.push(device.median_rows(rect).unwrap().to_vec().unwrap());
                }
                for found in found {
                    assert_eq!(found.len(), height);
                    for (row, found) in found.into_iter().enumerate() {
                        let first = (row + 1) * (width + 3) + 2;
                        let mut sorted = all[first..first + width].to_vec();
                        sorted.sort_by(Key::compare);
                        let what = (height, width, k, row, device.kind());
                        assert_eq!(found.bits(), sorted[k].bits(), "{what:?}");
                    }
                }
            }
        }
    }
    let device = devices::cpu();
    let matrix = device.zeros_matrix::<u8>(2, 3).unwrap();
    refused(
        device.select_kth_rows(&matrix, 3),
        "a position below the 3 elements there are required, 3 given",
    );
    let none = device.zeros_matrix::<u8>(0, 3).unwrap();
    assert!(device.select_kth_rows(&none, 9).unwrap().is_empty());
    refused(
        device.median_rows(&device.zeros_matrix::<u8>(2, 0).unwrap()),
        "below the 0 elements",
    );
}

/// Finds the best of each segment by every variant on every device.
fn check_segments<K: Nan>(keys: &[K], offsets: &[usize], k: usize) {
    for device in devices::all() {
        let input = device.upload(keys).unwrap();
        let words: Vec<u32> = offsets.iter().map(|offset| *offset as u32).collect();
        let segments = device.segments(device.upload(&words).unwrap()).unwrap();
        for variant in variants() {
            for by in [By::greatest(k), By::smallest(k)] {
                let by = By { variant, ..by };
                let request = device.top_k_segments_request(&input, &segments, k);
                let (values, found) = with!(request, by).run().unwrap();
                assert_eq!((found.height(), found.width()), (offsets.len() - 1, k));
                let values = values.as_vector().to_vec().unwrap();
                let found = found.as_vector().to_vec().unwrap();
                for (row, pair) in offsets.windows(2).enumerate() {
                    let what = (row, offsets.len(), device.kind());
                    let (begin, len) = (pair[0], pair[1] - pair[0]);
                    let some = k.min(len);
                    let row = row * k..(row + 1) * k;
                    let (values, found) = (&values[row.clone()], &found[row]);
                    let inside = found[..some].iter().map(|at| at - begin as u64).collect();
                    let by = By { k: some, ..by };
                    let results = (values[..some].to_vec(), inside);
                    assert_best(results, &keys[begin..pair[1]], by, &what);
                    assert!(found[some..].iter().all(|at| *at == u64::MAX), "{what:?}");
                    assert!(values[some..].iter().all(|it| it.bits() == 0), "{what:?}");
                }
            }
        }
    }
}

#[test]
fn the_best_of_each_segment() {
    macro_rules! types {
        ($($type:ident)*) => { $(
            let keys = Pattern::Edges.keys::<$type>(300);
            check_segments(&keys, &[0, 3, 3, 4, 200, 200, 299, 300], 5);
            // Elements outside, segments without elements, and no result.
            check_segments(&keys[..50], &[7, 20, 44], 20);
            check_segments(&keys[..50], &[9, 9, 9], 2);
            check_segments(&keys[..50], &[7, 20], 0);
            check_segments(&keys[..50], &[50], 3);
            check_segments::<$type>(&[], &[0, 0], 1);
        )* };
    }
    types!(u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64);
    let keys = Pattern::And(2).keys::<f32>(9001);
    check_segments(&keys, &[0, 9001], 700);
    let each: Vec<usize> = (0..=3000).map(|at| at * 3).collect();
    check_segments(&keys, &each, 2);
}
