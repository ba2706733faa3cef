//! Merges and searches: every variant, every key type, held against std's stable sort and `partition_point`.

mod users;

use std::{cmp::Ordering, fmt::Debug};

use cuda_std::{bf16, cpu::Order, f16, merge::tile_len};
use warpwright::{Device, Element, Error, Result, Vector};
use warpwright_tests::{
    cases, devices,
    keys::{Key, PATTERNS, Pattern},
};

fn compare<K: Key>(a: &K, b: &K, descending: bool) -> Ordering {
    if descending {
        b.compare(a)
    } else {
        a.compare(b)
    }
}

/// Two sorted arrays, and their merged order: the positions in the first and then the second, by std's stable sort.
struct Sides<K> {
    keys: [Vec<K>; 2],
    descending: bool,
    order: Vec<usize>,
}

impl<K: Key> Sides<K> {
    fn new(mut keys: [Vec<K>; 2], descending: bool) -> Self {
        for keys in &mut keys {
            keys.sort_by(|a, b| compare(a, b, descending));
        }
        let all = keys.concat();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| compare(&all[*a], &all[*b], descending));
        Self {
            keys,
            descending,
            order,
        }
    }

    /// Cuts the keys of one pattern in two.
    fn cut(pattern: Pattern, [a, b]: [usize; 2], descending: bool) -> Self {
        let mut keys = pattern.keys::<K>(a + b);
        let second = keys.split_off(a);
        Self::new([keys, second], descending)
    }

    fn merged(&self) -> Vec<K> {
        let all = self.keys.concat();
        self.order.iter().map(|at| all[*at]).collect()
    }

    /// Merges by a variant, from element `offset` of longer arrays to element `to` of a longer one, and compares.
    fn check(&self, device: &Device, variant: &str, [offset, to]: [usize; 2], what: &dyn Debug) {
        let what = &(
            what,
            variant,
            self.keys[0].len(),
            self.keys[1].len(),
            offset,
            to,
        );
        let before: Vec<K> = (0..offset).map(|i| K::of(i as u64)).collect();
        let input = |keys: &[K]| device.upload(&[&before, keys].concat()).unwrap();
        let (a, b) = (input(&self.keys[0]), input(&self.keys[1]));
        let (a, b) = (a.slice(offset..).unwrap(), b.slice(offset..).unwrap());
        let mut output = device
            .upload(&vec![K::of(77); to + self.order.len() + 3])
            .unwrap();
        let place = output.slice_mut(to..to + self.order.len()).unwrap();
        let mut request = device.merge_request(a, b).variant(variant).output_to(place);
        if self.descending {
            request = request.descending();
        }
        request.run().unwrap();
        let got = output.to_vec().unwrap();
        let wanted = [vec![K::of(77); to], self.merged(), vec![K::of(77); 3]].concat();
        assert_same(&got, &wanted, what);
    }

    /// Merges with the keys' positions as values, and compares.
    fn check_pairs<V: Element + PartialEq + Debug>(
        &self,
        device: &Device,
        offset: usize,
        value: impl Fn(usize) -> V,
    ) {
        let what = &(
            self.keys[0].len(),
            self.keys[1].len(),
            size_of::<V>(),
            offset,
        );
        let values: Vec<V> = (0..self.order.len()).map(&value).collect();
        let (x, y) = values.split_at(self.keys[0].len());
        let before: Vec<V> = (0..offset).map(&value).collect();
        let input = |values: &[V]| device.upload(&[&before, values].concat()).unwrap();
        let (x, y) = (input(x), input(y));
        let (x, y) = (x.slice(offset..).unwrap(), y.slice(offset..).unwrap());
        let [a, b] = self
            .keys
            .each_ref()
            .map(|keys| device.upload(keys).unwrap());
        let mut request = device.merge_pairs_request((&a, x), (&b, y));
        if self.descending {
            request = request.descending();
        }
        let (keys, moved) = request.run().unwrap();
        assert_same(&keys.to_vec().unwrap(), &self.merged(), what);
        let wanted: Vec<V> = self.order.iter().map(|at| values[*at]).collect();
        assert!(moved.to_vec().unwrap() == wanted, "{what:?}");
    }
}

#[track_caller]
fn assert_same<K: Key>(got: &[K], wanted: &[K], what: &dyn Debug) {
    assert_eq!(got.len(), wanted.len(), "{what:?}");
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert_eq!(got.bits(), wanted.bits(), "{what:?}: key {i}");
    }
}

/// Asserts that the keys are those of both arrays in some order.
#[track_caller]
fn assert_permuted<K: Key>(got: &Vector<K>, keys: &[Vec<K>; 2], what: &dyn Debug) {
    let sorted = |keys: Vec<K>| {
        let mut bits: Vec<u64> = keys.into_iter().map(K::bits).collect();
        bits.sort_unstable();
        bits
    };
    let got = sorted(got.to_vec().unwrap());
    assert!(got == sorted(keys.concat()), "{what:?}");
}

fn variants() -> impl Iterator<Item = &'static str> {
    cases::variants("merge").iter().map(|it| it.name)
}

/// Finds the places of needles, and compares.
fn check_bounds<K: Key>(
    device: &Device,
    sorted: &[K],
    needles: &[K],
    descending: bool,
    offset: usize,
) {
    let (array, wanted) = (
        device.upload(sorted).unwrap(),
        device.upload(needles).unwrap(),
    );
    let sorted = &sorted[offset.min(sorted.len())..];
    let array = array.slice(array.len() - sorted.len()..).unwrap();
    let count = |is_before: &dyn Fn(Ordering) -> bool| -> Vec<u64> {
        let place = |needle: &K| {
            sorted.partition_point(|key| is_before(compare(key, needle, descending))) as u64
        };
        needles.iter().map(place).collect()
    };
    let lower = count(&Ordering::is_lt);
    let upper = count(&Ordering::is_le);
    for variant in ["naive", "best"] {
        let what = (sorted.len(), needles.len(), variant, device.kind());
        let mut requests = [
            device.lower_bound_request(array, &wanted),
            device.upper_bound_request(array, &wanted),
        ];
        if descending {
            requests = requests.map(|request| request.descending());
        }
        let [low, high] = requests.map(|it| it.variant(variant).run().unwrap().to_vec().unwrap());
        assert_eq!(low, lower, "{what:?}");
        assert_eq!(high, upper, "{what:?}");
    }
}

fn every_pattern<K: Key>() {
    let tile = tile_len::<K>();
    for device in devices::all() {
        for (at, pattern) in PATTERNS.iter().copied().enumerate() {
            let descending = at % 2 == 1;
            let sides = Sides::<K>::cut(pattern, [300, 401], descending);
            for variant in variants() {
                sides.check(device, variant, [0, 0], &pattern);
            }
            sides.check_pairs(device, 0, |i| i as u32);
            check_bounds(device, &sides.keys[0], &sides.keys[1], descending, 0);
        }
        for pattern in [Pattern::And(2), Pattern::Equal, Pattern::Edges] {
            let sides = Sides::<K>::cut(pattern, [tile + 13, tile / 2], false);
            sides.check(device, "best", [0, 0], &pattern);
        }
    }
}

macro_rules! of_every_type {
    ($($name:ident: $ty:ty;)*) => { $(
        #[test]
        fn $name() {
            every_pattern::<$ty>();
        }
    )* };
}
of_every_type! {
    every_pattern_of_u8: u8;
    every_pattern_of_u16: u16;
    every_pattern_of_u32: u32;
    every_pattern_of_u64: u64;
    every_pattern_of_i8: i8;
    every_pattern_of_i16: i16;
    every_pattern_of_i32: i32;
    every_pattern_of_i64: i64;
    every_pattern_of_f16: f16;
    every_pattern_of_bf16: bf16;
    every_pattern_of_f32: f32;
    every_pattern_of_f64: f64;
}

#[test]
fn every_length() {
    fn check<K: Key>() {
        let tile = tile_len::<K>();
        for device in devices::all() {
            let short = [[0, 0], [0, 1], [1, 0], [1, 1], [15, 1], [31, 33], [257, 2]];
            for len in short {
                let sides = Sides::<K>::cut(Pattern::And(1), len, false);
                for variant in variants() {
                    sides.check(device, variant, [0, 0], &"short");
                }
                sides.check_pairs(device, 0, |i| i as u64);
            }
            for len in [
                [0, tile],
                [tile, 0],
                [tile - 1, 1],
                [tile, 1],
                [1, tile],
                [tile, tile],
                [tile + 1, 2 * tile - 2],
            ] {
                let sides = Sides::<K>::cut(Pattern::And(2), len, false);
                sides.check(device, "best", [0, 0], &"tiles");
            }
        }
    }
    check::<u32>();
    check::<u64>();
}

/// All of one side comes first, or the sides take turns.
#[test]
fn sides_that_do_not_mix_or_mix_evenly() {
    let tile = tile_len::<i32>();
    let numbers = |range: std::ops::Range<usize>, step: usize, plus: i32| -> Vec<i32> {
        range.map(|i| (i * step) as i32 + plus).collect()
    };
    for device in devices::all() {
        for [a, b] in [
            [numbers(0..tile + 5, 1, -10_000), numbers(0..500, 1, 10_000)],
            [numbers(0..500, 1, 10_000), numbers(0..tile + 5, 1, -10_000)],
            [numbers(0..tile, 2, 0), numbers(0..tile, 2, 1)],
            [numbers(0..tile + 7, 2, 1), numbers(0..tile - 7, 2, 0)],
            [vec![5; tile + 3], numbers(0..700, 0, 5)],
        ] {
            let sides = Sides::new([a, b], false);
            for variant in variants() {
                sides.check(device, variant, [0, 0], &"sides");
            }
            sides.check_pairs(device, 1, |i| i as u32);
        }
    }
}

#[test]
fn values_of_every_size_follow_their_keys() {
    fn check<K: Key>(device: &Device) {
        let tile = tile_len::<K>();
        for (len, descending) in [([150, 201], true), ([tile / 2 + 9, tile / 2 + 60], false)] {
            let sides = Sides::<K>::cut(Pattern::And(3), len, descending);
            sides.check_pairs(device, 1, |i| i as u8);
            sides.check_pairs(device, 3, |i| i as u16);
            sides.check_pairs(device, 0, |i| i as f64);
            sides.check_pairs(device, 1, |i| [i as u64, !(i as u64)]);
        }
    }
    for device in devices::all() {
        check::<u8>(device);
        check::<f16>(device);
        check::<u64>(device);
    }
}

#[test]
fn sub_views_need_no_alignment() {
    for device in devices::all() {
        for offset in cases::OFFSETS {
            for to in [0, 1, offset] {
                let bytes = Sides::<u8>::cut(Pattern::And(2), [tile_len::<u8>(), 350], false);
                let words = Sides::<f32>::cut(Pattern::And(2), [170, 350], true);
                for variant in variants() {
                    words.check(device, variant, [offset, to], &"words");
                }
                bytes.check(device, "best", [offset, to], &"bytes");
            }
            let mut sorted = Pattern::And(1).keys::<i16>(3000 + offset);
            sorted.sort_unstable();
            let needles = Pattern::And(1).keys::<i16>(100);
            check_bounds(device, &sorted, &needles, false, offset);
        }
    }
}

#[test]
fn the_order_of_lanes_and_blocks_does_not_matter() {
    let mut orders = vec![Order::Forward, Order::Backward];
    orders.extend((0..3).map(Order::Seeded));
    for order in orders {
        let device = devices::cpu_in(order);
        let tile = tile_len::<u16>();
        for pattern in [Pattern::And(1), Pattern::Foreign] {
            let sides = Sides::<u16>::cut(pattern, [tile, tile + 9], false);
            sides.check(&device, "best", [1, 0], &order);
            sides.check_pairs(&device, 0, |i| i as u32);
            // What is not sorted is put back by the last block.
            let keys = [0, 1].map(|side| pattern.keys::<u16>(2 * tile + side));
            let [a, b] = keys.each_ref().map(|keys| device.upload(keys).unwrap());
            assert_permuted(&device.merge(&a, &b).unwrap(), &keys, &order);
        }
    }
}

/// The keys come in some order, and none is lost.
#[test]
fn arrays_that_are_not_sorted_are_permuted() {
    fn check<K: Key>(device: &Device) {
        let tile = tile_len::<K>();
        for pattern in [
            Pattern::And(1),
            Pattern::Reverse,
            Pattern::Edges,
            Pattern::Zipf,
        ] {
            for len in [[400, 300], [tile, 2 * tile + 77], [3 * tile, 5]] {
                let keys = len.map(|len| pattern.keys::<K>(len));
                let [a, b] = keys.each_ref().map(|keys| device.upload(keys).unwrap());
                let request = device.merge_request(&a, &b);
                let mut prepared = request.prepare().unwrap();
                for _ in 0..2 {
                    prepared.enqueue().unwrap();
                    assert_permuted(prepared.output().unwrap(), &keys, &(pattern, len));
                }
                let numbers = [0..len[0] as u32, len[0] as u32..(len[0] + len[1]) as u32];
                let [x, y] = numbers.map(|it| device.upload(&it.collect::<Vec<_>>()).unwrap());
                let (merged, from) = device.merge_pairs((&a, &x), (&b, &y)).unwrap();
                let (merged, from) = (merged.to_vec().unwrap(), from.to_vec().unwrap());
                let all = keys.concat();
                let mut seen = vec![false; all.len()];
                for (key, from) in merged.iter().zip(from) {
                    let from = from as usize;
                    assert!(
                        !std::mem::replace(&mut seen[from], true),
                        "{pattern:?} {len:?}"
                    );
                    assert_eq!(key.bits(), all[from].bits(), "{pattern:?} {len:?}");
                }
                // The rungs' keys are some of the input's.
                for variant in variants() {
                    let got = device.merge_request(&a, &b).variant(variant).run().unwrap();
                    let known: std::collections::HashSet<u64> =
                        keys.concat().into_iter().map(K::bits).collect();
                    let got = got.to_vec().unwrap();
                    assert!(
                        got.iter().all(|key| known.contains(&key.bits())),
                        "{variant}"
                    );
                }
                let places = device.lower_bound(&a, &b).unwrap().to_vec().unwrap();
                assert!(places.iter().all(|place| *place <= len[0] as u64));
            }
        }
    }
    for device in devices::all() {
        check::<u32>(device);
        check::<f64>(device);
    }
}

#[test]
fn bounds_in_arrays_of_any_length() {
    for device in devices::all() {
        for len in [0, 1, 2, 1022, 1023, 1024, 1025, 2047, 2048, 5003] {
            let mut sorted = Pattern::And(2).keys::<u32>(len);
            sorted.sort_unstable();
            let mut needles = Pattern::And(2).keys::<u32>(333);
            needles.extend(sorted.iter().step_by(7));
            needles.extend([0, u32::MAX]);
            check_bounds(device, &sorted, &needles, false, 0);
        }
        let needles = Pattern::Edges.keys::<f32>(1025);
        let mut sorted = Pattern::Edges.keys::<f32>(1999);
        sorted.sort_by(|a, b| b.total_cmp(a));
        check_bounds(device, &sorted, &needles, true, 0);
        check_bounds(device, &sorted, &[], true, 0);
    }
}

#[test]
fn signed_zeros_and_nans_have_their_places() {
    let values = [
        -f32::NAN,
        f32::NEG_INFINITY,
        -0.0,
        -0.0,
        0.0,
        1.0,
        f32::INFINITY,
        f32::NAN,
    ];
    for device in devices::all() {
        let sorted = device.upload(&values).unwrap();
        let needles = device.upload(&[0.0, -0.0, f32::NAN, -f32::NAN]).unwrap();
        let lower = device.lower_bound(&sorted, &needles).unwrap();
        assert_eq!(lower.to_vec().unwrap(), [4, 2, 7, 0]);
        let upper = device.upper_bound(&sorted, &needles).unwrap();
        assert_eq!(upper.to_vec().unwrap(), [5, 4, 8, 1]);
        let sides = Sides::new([values.to_vec(), values.to_vec()], false);
        sides.check_pairs(device, 0, |i| i as u64);
    }
}

#[test]
fn prepared_work_is_queued_again_with_other_keys() {
    for device in devices::all() {
        for len in [[300, 200], [3000, 2500]] {
            let [mut a, mut b] = len.map(|len| device.zeros::<u64>(len).unwrap());
            for pattern in [Pattern::And(1), Pattern::Equal, Pattern::Zipf] {
                let sides = Sides::<u64>::cut(pattern, len, false);
                a.upload(&sides.keys[0]).unwrap();
                b.upload(&sides.keys[1]).unwrap();
                let mut prepared = device.merge_request(&a, &b).prepare().unwrap();
                for _ in 0..3 {
                    prepared.enqueue().unwrap();
                }
                let got = prepared.into_output().unwrap().to_vec().unwrap();
                assert_same(&got, &sides.merged(), &pattern);
            }
        }
    }
}

#[track_caller]
fn refused<T: Debug>(result: Result<T>, part: &str) {
    let error = result.unwrap_err();
    let operation = ["merge", "lower_bound", "upper_bound"];
    assert!(
        matches!(error, Error::Invalid { operation: it, .. } if operation.contains(&it)),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(text.contains(part) && !text.contains('\n'), "{text}");
}

#[test]
fn bad_requests_are_refused() {
    for device in devices::all() {
        let keys = device.upload(&[1_u16, 2, 3]).unwrap();
        let mut short = device.upload(&[7_u16; 5]).unwrap();
        let request = device.merge_request(&keys, &keys).output_to(&mut short);
        refused(request.run(), "6 elements");
        assert_eq!(short.to_vec().unwrap(), [7; 5]);
        let mut short = device.upload(&[7_u64; 2]).unwrap();
        let request = device.lower_bound_request(&keys, &keys);
        refused(request.output_to(&mut short).run(), "3 elements");
        let request = device.upper_bound_request(&keys, &keys);
        refused(request.output_to(&mut short).run(), "3 elements");
        let two = device.upload(&[1_u32, 2]).unwrap();
        let three = device.upload(&[1_u32, 2, 3]).unwrap();
        let wanted = "as many values as keys, 3 required, 2 given";
        refused(device.merge_pairs((&keys, &two), (&keys, &three)), wanted);
        refused(device.merge_pairs((&keys, &three), (&keys, &two)), wanted);
        let odd = device.zeros::<[u8; 3]>(3).unwrap();
        let pairs = device.merge_pairs((&keys, &odd), (&keys, &odd));
        refused(pairs, "16 bytes required, 3 given");
        assert_eq!(keys.to_vec().unwrap(), [1, 2, 3]);
        for variant in ["naive", "path"] {
            let request = device.merge_pairs_request((&keys, &three), (&keys, &three));
            let error = request.variant(variant).run().unwrap_err();
            assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
        }
        let error = device
            .lower_bound_request(&keys, &keys)
            .variant("path")
            .run();
        assert!(matches!(error, Err(Error::NotEligible { .. })), "{error:?}");
    }
}

#[test]
fn the_workspace_is_as_stated() {
    let device = devices::cpu();
    let keys = device.zeros::<u8>(1 << 20).unwrap();
    let bytes = |len: usize| {
        let part = keys.slice(..len).unwrap();
        let prepared = device.merge_request(part, part).prepare().unwrap();
        prepared.workspace_bytes()
    };
    assert_eq!((bytes(1400), bytes(1 << 20)), (0, 16));
    let bounds = device.lower_bound_request(&keys, &keys).prepare().unwrap();
    assert_eq!(bounds.workspace_bytes(), 0);
}
