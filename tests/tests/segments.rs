//! Reductions of segments by offsets and by keys, and run lengths: every variant, every type, awkward cuts.

use std::fmt::Debug;

use cuda_std::{bf16, cpu::Order, f16};
use warpwright::{
    Device, Element, Error, Vector, VectorView,
    ops::{
        reduce::Reducible,
        segments::{Averaged, Offset, Operator, Segments},
        select::Selectable,
    },
};
use warpwright_gpu::segments::policy::{MOST_CUTS, MOST_EQUAL, MOST_TILE_LEN, tile_len};
use warpwright_tests::{cases, compare, devices};

/// Values without a pattern.
fn noise(len: usize) -> impl Iterator<Item = u64> {
    let mut state = 11_u64;
    (0..len).map(move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    })
}

fn variants() -> impl Iterator<Item = &'static str> {
    cases::variants("segments")
        .iter()
        .map(|variant| variant.name)
}

/// A number of a type, made of a small whole number; sums of some thousands of them are exact.
trait Number: Reducible + Debug + PartialOrd {
    /// The least and the greatest value, infinities for floats.
    const ENDS: [Self; 2];
    fn of(number: i32) -> Self;
    fn sum(numbers: &[i32]) -> Self::Sum;
    fn product(numbers: &[i32]) -> Self::Sum;
}

macro_rules! numbers {
    ($($type:ident: $sum:ident, $ends:expr, |$number:ident| $of:expr;)*) => { $(
        impl Number for $type {
            const ENDS: [Self; 2] = $ends;
            fn of($number: i32) -> Self {
                $of
            }
            fn sum(numbers: &[i32]) -> $sum {
                let numbers = numbers.iter().map(|number| f64::from(*number) as $sum);
                numbers.fold(0_u8.into(), |sum: $sum, number| sum + number)
            }
            fn product(numbers: &[i32]) -> $sum {
                numbers.iter().map(|number| f64::from(*number) as $sum).product()
            }
        }
    )* };
}
numbers! {
    u8: u64, [u8::MIN, u8::MAX], |number| number as u8;
    u16: u64, [u16::MIN, u16::MAX], |number| number as u16;
    u32: u64, [u32::MIN, u32::MAX], |number| number as u32;
    u64: u64, [u64::MIN, u64::MAX], |number| number as u64;
    i32: i64, [i32::MIN, i32::MAX], |number| number;
    i64: i64, [i64::MIN, i64::MAX], |number| number.into();
    f16: f32, [f16::NEG_INFINITY, f16::INFINITY], |number| f16::from_f32(number as f32);
    bf16: f32, [bf16::NEG_INFINITY, bf16::INFINITY], |number| bf16::from_f32(number as f32);
    f32: f32, [f32::NEG_INFINITY, f32::INFINITY], |number| number as f32;
    f64: f64, [f64::NEG_INFINITY, f64::INFINITY], |number| number.into();
}

/// Uploads offsets.
fn segments(device: &Device, offsets: &[usize], wide: bool) -> Segments {
    fn of<O: Offset>(device: &Device, offsets: &[usize], make: impl Fn(usize) -> O) -> Segments {
        let offsets: Vec<O> = offsets.iter().map(|offset| make(*offset)).collect();
        device.segments(device.upload(&offsets).unwrap()).unwrap()
    }
    if wide {
        of(device, offsets, |offset| offset as u64)
    } else {
        of(device, offsets, |offset| offset as u32)
    }
}

/// Returns offsets of `count` segments of `len` elements, with many empty ones.
fn cut(len: usize, count: usize) -> Vec<usize> {
    let mut offsets: Vec<_> = noise(count.saturating_sub(1))
        .map(|value| match value % 3 {
            0 => len / 2,
            _ => value as usize % (len + 1),
        })
        .collect();
    offsets.sort_unstable();
    offsets.insert(0, 0);
    offsets.push(len);
    offsets
}

#[track_caller]
fn assert_same<T: Element + Debug>(what: &str, got: &Vector<T>, expected: &[T]) {
    if let Err(why) = compare::same_bits(&got.to_vec().unwrap(), expected) {
        panic!("{what}: {why}");
    }
}

/// Checks all operators of one type by every variant on every device. The elements begin after `before` others.
fn check<T: Number>(offsets: &[usize], before: usize) {
    let len = offsets[offsets.len() - 1];
    // Products of these stay small: most are 1.
    let numbers: Vec<i32> = noise(len)
        .map(|value| {
            if value % 97 == 0 {
                2 + (value >> 9) as i32 % 2
            } else {
                1
            }
        })
        .collect();
    let all: Vec<T> = vec![T::of(7); before]
        .into_iter()
        .chain(numbers.iter().map(|number| T::of(*number)))
        .chain([T::of(5); 3])
        .collect();
    let each = || offsets.windows(2).map(|pair| &numbers[pair[0]..pair[1]]);
    let [least, greatest] = T::ENDS;
    let sums: Vec<_> = each().map(T::sum).collect();
    let is_exact = |numbers: &&[i32]| numbers.len() < 500;
    let products: Vec<_> = each().filter(is_exact).map(T::product).collect();
    let minima: Vec<_> = each()
        .map(|it| it.iter().min().map_or(greatest, |it| T::of(*it)))
        .collect();
    let maxima: Vec<_> = each()
        .map(|it| it.iter().max().map_or(least, |it| T::of(*it)))
        .collect();
    for device in devices::all() {
        let input = device.upload(&all).unwrap();
        let values = input.slice(before..).unwrap();
        for wide in [false, true] {
            let segments = segments(device, offsets, wide);
            for (variant, apart) in variants().map(|it| (it, false)).chain([("best", true)]) {
                let what = format!(
                    "{variant} of {} segments of {len} elements {}, {apart}, on {}",
                    segments.len(),
                    std::any::type_name::<T>(),
                    device.kind()
                );
                let request = || {
                    let request = device.reduce_segments(values, &segments).variant(variant);
                    if apart { request.apart() } else { request }
                };
                assert_same(&what, &request().sum().unwrap(), &sums);
                assert_same(&what, &request().min().unwrap(), &minima);
                assert_same(&what, &request().max().unwrap(), &maxima);
                if products.len() == sums.len() {
                    assert_same(&what, &request().product().unwrap(), &products);
                }
            }
        }
    }
}

#[test]
fn every_type_and_operator() {
    macro_rules! types {
        ($($type:ident)*) => { $(
            check::<$type>(&cut(1000, 40), 3);
            check::<$type>(&cut(300, 900), 0);
        )* };
    }
    types!(u8 u16 u32 u64 i32 i64 f16 bf16 f32 f64);
}

#[test]
fn awkward_cuts() {
    let steps = tile_len(4);
    // A tile ends with a segment's last element, with the end of a segment, and between segments.
    for len in [steps - 1, steps, steps + 1, 2 * steps - 1] {
        check::<f32>(&[0, len], 0);
        check::<f32>(&[0, len, len], 1);
        check::<u32>(&[0, len - 1, len], 0);
    }
    // Elements before the first and behind the last segment, and no elements.
    check::<u16>(&[5, 5, 9, 2000], 2);
    check::<i32>(&[0], 0);
    check::<i32>(&[7], 0);
    check::<f64>(&[0, 0, 0], 1);
    // Far more segments than elements: tiles that have only ends.
    let mut offsets = vec![3; 2 * steps + 7];
    offsets.push(50);
    check::<u8>(&offsets, 0);
    // One segment has nearly all.
    let mut offsets: Vec<_> = (0..40).collect();
    offsets.extend(3 * steps..3 * steps + 40);
    check::<f64>(&offsets, 1);
}

/// As many equal cuts as a byte counts, and more; many cuts in few elements.
#[test]
fn crowded_cuts() {
    for equal in [MOST_EQUAL, MOST_EQUAL + 1] {
        let mut offsets = vec![0, 9];
        offsets.resize(2 + equal, 20);
        offsets.extend([20, 30, 30]);
        check::<u16>(&offsets[..2 + equal], 0);
        check::<f32>(&offsets, 1);
    }
    let len = MOST_TILE_LEN + 10;
    let numbers: Vec<u32> = (0..len as u32).collect();
    for count in [MOST_CUTS - 1, MOST_CUTS + 1, 2 * MOST_CUTS] {
        let mut offsets: Vec<_> = (0..count).map(|i| 7 + i * 300 / count).collect();
        offsets.push(len);
        let sum = |pair: &[usize]| {
            numbers[pair[0]..pair[1]]
                .iter()
                .map(|it| u64::from(*it))
                .sum()
        };
        let sums: Vec<u64> = offsets.windows(2).map(sum).collect();
        for device in devices::all() {
            let segments = segments(device, &offsets, false);
            let got = device.segment_sums(&device.upload(&numbers).unwrap(), &segments);
            assert_same(&format!("{count} segments"), &got.unwrap(), &sums);
        }
    }
}

/// The tiles of several blocks are joined: a segment begins more than 256 tiles before it ends.
#[test]
fn one_segment_of_many_tiles() {
    let len = 520 * tile_len(8);
    let values: Vec<u64> = noise(len).collect();
    let offsets = [0, 3, len / 2, len - 5, len];
    let sum = |values: &[u64]| {
        values
            .iter()
            .fold(0_u64, |sum, value| sum.wrapping_add(*value))
    };
    let expected: Vec<_> = offsets
        .windows(2)
        .map(|pair| sum(&values[pair[0]..pair[1]]))
        .collect();
    let cpu = Device::cpu();
    let mut all = vec![&cpu];
    let cuda = devices::Executor::Cuda.devices().iter();
    cuda.for_each(|device| all.push(device));
    for device in all {
        let input = device.upload(&values).unwrap();
        let segments = segments(device, &offsets, false);
        assert_same(
            "sums",
            &device.segment_sums(&input, &segments).unwrap(),
            &expected,
        );
    }
}

/// Float sums are the same bits in every run, on every device, for every alignment and order of blocks.
#[test]
fn float_sums_are_the_same_bits_everywhere() {
    let len = 3 * tile_len(4) + 100;
    let values: Vec<f32> = noise(len).map(|value| (value as f32).sin() * 1e3).collect();
    let offsets = cut(len, 30);
    let magnitudes = |pair: &[usize]| {
        let part = values[pair[0]..pair[1]].iter();
        part.fold((0.0, 0.0), |(sum, all), x| {
            (sum + f64::from(*x), all + f64::from(x.abs()))
        })
    };
    let expected: Vec<(f64, f64)> = offsets.windows(2).map(magnitudes).collect();
    let orders = [
        Order::Forward,
        Order::Backward,
        Order::Seeded(1),
        Order::Seeded(2),
    ];
    let others: Vec<Device> = orders.map(devices::cpu_in).into();
    let mut all: Vec<&Device> = others.iter().collect();
    devices::all().for_each(|device| all.push(device));
    for variant in variants() {
        let mut bits: Option<Vec<f32>> = None;
        for device in &all {
            for before in [0, 1, 3] {
                let mut all = vec![1.0; before];
                all.extend(&values);
                let input = device.upload(&all).unwrap();
                let segments = segments(device, &offsets, before == 1);
                for apart in [false, true] {
                    let request = device.reduce_segments(input.slice(before..).unwrap(), &segments);
                    let request = if apart { request.apart() } else { request };
                    let sums = request.variant(variant).sum().unwrap().to_vec().unwrap();
                    let first = bits.get_or_insert_with(|| sums.clone());
                    let what = format!("{variant}, {before}, {apart}, {}", device.kind());
                    compare::same_bits(&sums, first).unwrap_or_else(|why| panic!("{what}: {why}"));
                    for ((sum, magnitude), found) in expected.iter().zip(&sums) {
                        let chain = if variant == "naive" { len } else { 1300 };
                        let bound = chain as f64 * f64::from(f32::EPSILON) / 2.0 * magnitude;
                        let error = (sum - f64::from(*found)).abs();
                        assert!(error <= bound, "{what}: {sum}, found {found}");
                    }
                }
            }
        }
    }
}

/// Checks runs of keys by every variant on every device.
fn check_runs<K: Selectable + Debug + PartialEq>(all: &[K], before: usize) {
    let keys = &all[before..];
    let is_first = |i: &usize| *i == 0 || keys[*i] != keys[*i - 1];
    let mut starts: Vec<usize> = (0..keys.len()).filter(is_first).collect();
    let heads: Vec<K> = starts.iter().map(|at| keys[*at]).collect();
    starts.push(keys.len());
    let lengths: Vec<u64> = starts
        .windows(2)
        .map(|run| (run[1] - run[0]) as u64)
        .collect();
    let numbers: Vec<i32> = noise(keys.len()).map(|value| value as i32 % 1000).collect();
    let each = || starts.windows(2).map(|run| numbers[run[0]..run[1]].iter());
    let sums: Vec<i64> = each()
        .map(|run| run.map(|it| i64::from(*it)).sum())
        .collect();
    let maxima: Vec<i32> = each().filter_map(|run| run.max().copied()).collect();
    for device in devices::all() {
        let keys = device.upload(all).unwrap();
        let keys: VectorView<'_, K> = keys.slice(before..).unwrap();
        let values = device.upload(&numbers).unwrap();
        for variant in variants() {
            let what = format!(
                "{variant} of {} {} on {}",
                keys.len(),
                std::any::type_name::<K>(),
                device.kind()
            );
            let (found, found_lengths) = device
                .run_lengths_request(keys)
                .variant(variant)
                .run()
                .unwrap();
            assert_same(&what, &found, &heads);
            assert_same(&what, &found_lengths, &lengths);
            let request = || device.reduce_by_key(keys, &values).variant(variant);
            let (found, found_sums) = request().sum().unwrap();
            assert_same(&what, &found, &heads);
            assert_same(&what, &found_sums, &sums);
            assert_same(&what, &request().max().unwrap().1, &maxima);
            // The same prepared work again, and on the device.
            let mut prepared = request().apart().prepare_sum().unwrap();
            for _ in 0..3 {
                prepared.enqueue().unwrap();
                let count = prepared.count().unwrap();
                assert_eq!(count, heads.len(), "{what}");
                let sums_again = prepared.output().unwrap().slice(..count).unwrap();
                assert_eq!(sums_again.to_vec().unwrap(), sums, "{what}");
            }
        }
    }
}

#[test]
fn runs_of_every_type_of_keys() {
    macro_rules! types {
        ($($type:ident: $make:expr;)*) => { $(
            let make = |value: u64| -> $type { $make(value) };
            let few: Vec<$type> = noise(3001).map(|value| make((value >> 20) % 2)).collect();
            check_runs(&few, 1);
            let long: Vec<$type> = (0..2500).map(|at| make(at / 700)).collect();
            check_runs(&long, 3);
        )* };
    }
    types! {
        u8: |value| value as u8;
        u16: |value| value as u16;
        u32: |value| value as u32;
        i32: |value| -(value as i32);
        u64: |value| value << 40;
        i64: |value| value as i64 - 1;
        f16: |value| f16::from_f32(value as f32);
        bf16: |value| bf16::from_f32(value as f32);
        f32: |value| value as f32;
        f64: |value| value as f64;
    }
    check_runs::<u8>(&[], 0);
    check_runs(&[9_u64], 0);
    let different: Vec<u32> = (0..9000).collect();
    check_runs(&different, 0);
    check_runs(&[4_u8; 20_000], 1);
}

#[test]
fn keys_compare_as_in_rust() {
    for device in devices::all() {
        let keys = [0.0_f32, -0.0, f32::NAN, f32::NAN, 1.0, 1.0];
        let input = device.upload(&keys).unwrap();
        let (heads, lengths) = device.run_lengths(&input).unwrap();
        let lengths = lengths.to_vec().unwrap();
        assert_eq!(lengths, [2, 1, 1, 2]);
        assert!(heads.to_vec().unwrap()[1].is_nan());
    }
}

/// Means of segments of one type, by every variant on every device, held to `exact`, the mean of some elements.
#[track_caller]
fn check_means<T: Averaged + Debug>(values: &[T], offsets: &[usize], exact: fn(&[T]) -> f64) {
    let mean = |pair: &[usize]| match &values[pair[0]..pair[1]] {
        [] => f64::NAN.to_bits(),
        segment => exact(segment).to_bits(),
    };
    let expected: Vec<_> = offsets.windows(2).map(mean).collect();
    let bits =
        |means: &Vector<f64>| Vec::from_iter(means.to_vec().unwrap().iter().map(|it| it.to_bits()));
    for device in devices::all() {
        let input = device.upload(values).unwrap();
        for wide in [false, true] {
            let segments = segments(device, offsets, wide);
            for variant in variants() {
                let request = device.reduce_segments(&input, &segments).variant(variant);
                let mut prepared = request.prepare_mean().unwrap();
                let unqueued = prepared.output().unwrap_err().to_string();
                assert!(unqueued.contains("mean of segments"), "{unqueued}");
                for _ in 0..2 {
                    prepared.enqueue().unwrap();
                    let found = bits(prepared.output().unwrap());
                    let ty = std::any::type_name::<T>();
                    assert_eq!(found, expected, "{variant} of {ty} on {}", device.kind());
                }
            }
            let mut place = device.upload(&vec![7.0; expected.len() + 2]).unwrap();
            let to = place.slice_mut(1..=expected.len()).unwrap();
            let request = device.reduce_segments(&input, &segments).output_to(to);
            request.mean().unwrap();
            let found = Vec::from_iter(place.to_vec().unwrap().iter().map(|it| it.to_bits()));
            let mark = 7_f64.to_bits();
            assert_eq!(found, [&[mark][..], &expected, &[mark]].concat());
        }
    }
}

#[test]
fn means() {
    let offsets = cut(1000, 40);
    // Without a rounding: a sum of a thousand of these is exact in `f64`, and that of the floats in `f32`.
    macro_rules! check {
        ($($type:ident: |$value:ident| $make:expr;)*) => { $({
            let values: Vec<$type> = noise(1000).map(|$value| $make).collect();
            let exact = |segment: &[$type]| {
                segment.iter().map(|it| f64::from(*it)).sum::<f64>() / segment.len() as f64
            };
            check_means(&values, &offsets, exact);
            check_means(&values[..300], &cut(300, 900), exact);
        })* };
    }
    check! {
        u8: |value| value as u8;
        u16: |value| value as u16;
        u32: |value| value as u32 | 1 << 31;
        i32: |value| value as i32;
        f16: |value| f16::from_f32((value % 64) as f32 - 20.0);
        bf16: |value| bf16::from_f32((value % 64) as f32 - 20.0);
        f32: |value| (value % 2048) as f32 - 700.0;
        f64: |value| value as i32 as f64 / 8.0;
    }
    check_means::<f32>(&[], &[0, 0, 0], |_| unreachable!("no segment has elements"));
    check_means::<u8>(&[], &[0], |_| unreachable!("there is no segment"));
}

/// The sum of so many `u32` has more bits than an `f64`, and another mean if it is rounded before it is divided.
#[test]
fn means_of_integers_are_rounded_once() {
    let len = (1 << 21) + 3;
    let mut values = vec![u32::MAX; len];
    values[len / 3] = 1;
    let sum = u64::from(u32::MAX) * (len as u64 - 1) + 1;
    for device in devices::all() {
        let input = device.upload(&values).unwrap();
        let segments = segments(device, &[0, len], false);
        let found = device
            .segment_means(&input, &segments)
            .unwrap()
            .to_vec()
            .unwrap();
        assert_eq!(found, [4_294_965_247.002_930_6]);
        assert_eq!(Some(found[0]), device.mean(&input).unwrap());
        assert_ne!(found, [sum as f64 / len as f64]);
    }
}

#[test]
fn nan_wins() {
    for device in devices::all() {
        let values = device.upload(&[1.0_f32, f32::NAN, 2.0, -0.0, 0.0]).unwrap();
        let segments = segments(device, &[0, 3, 5, 5], false);
        let minima = device.reduce_segments(&values, &segments).min().unwrap();
        let minima = minima.to_vec().unwrap();
        assert!(minima[0].is_nan());
        assert!(minima[1] == 0.0 && minima[1].is_sign_negative());
        assert_eq!(minima[2], f32::INFINITY);
    }
}

#[test]
fn bad_input_is_refused() {
    let refused = |result: Result<(), Error>, parts: &[&str]| {
        let error = result.unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    };
    for device in devices::all() {
        let made = |offsets: &[u32]| device.segments(device.upload(offsets).unwrap()).map(drop);
        refused(
            made(&[]),
            &["segments: an offset more than there are segments"],
        );
        refused(
            made(&[0, 3, 2, 5, 4]),
            &[
                "offsets that do not fall",
                "3 before 2, the offsets 1 and 2",
            ],
        );
        let wide = device.upload(&[1_u64 << 40, 7]).unwrap();
        refused(device.segments(wide).map(drop), &["1099511627776 before 7"]);
        let values = device.upload(&[1_i32; 10]).unwrap();
        let long = segments(device, &[0, 11], false);
        refused(
            device.segment_sums(&values, &long).map(drop),
            &["sum of segments", "at most the 10 elements", "11"],
        );
        refused(
            device.segment_means(&values, &long).map(drop),
            &["mean of segments", "at most the 10 elements", "11"],
        );
        let keys = device.upload(&[1_u8; 9]).unwrap();
        refused(
            device.reduce_by_key(&keys, &values).min().map(drop),
            &["min by key", "a key for each of the 10 values", "9"],
        );
        let mut short = device.zeros::<i64>(2).unwrap();
        let three = segments(device, &[0, 1, 2, 3], false);
        let request = device
            .reduce_segments(&values, &three)
            .output_to(&mut short);
        refused(request.sum().map(drop), &["an output of 3 elements"]);
        assert_eq!(values.to_vec().unwrap(), [1; 10]);
    }
    assert_eq!(Operator::ALL.len(), 4);
}
