//! Selections: every variant, every element type, every comparison, flags, unique elements, partitions.

mod users;

use std::fmt::Debug;

use cuda_std::{
    bf16,
    cpu::Order,
    f16,
    map::{MapFn, MapInput},
};
use warpwright::{
    Device, DeviceKind, Element, Error, Vector, VectorViewMut,
    ops::{
        ChosenBy,
        select::{Compare, IntoPredicate, Ordered, Predicate, SelectInPlaceRequest, Selectable},
    },
};
use warpwright_gpu::{select::policy::Policy, tuning};
use warpwright_tests::{cases, compare, devices};

/// Values without a pattern.
fn noise(len: usize) -> impl Iterator<Item = u64> {
    let mut state = 7_u64;
    (0..len).map(move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    })
}

/// The elements of a tile of `best`.
fn tile<T: 'static>() -> usize {
    let policy: Policy = tuning::shipped::<Policy, T>();
    policy.block * policy.rounds * 16 / size_of::<T>()
}

/// Checks that the elements are the same bits.
#[track_caller]
fn assert_same<T: Element + Debug>(what: &str, got: &Vector<T>, expected: &[T]) {
    let got = got.to_vec().unwrap();
    if let Err(why) = compare::same_bits(&got, expected) {
        panic!("{what}: {why}");
    }
}

/// Checks a predicate by every variant on every device, with a view from element `offset` on.
fn check<T, P>(values: &[T], offset: usize, predicate: P, selects: impl Fn(T) -> bool)
where
    T: Element + MapInput<First = T> + Debug,
    P: IntoPredicate<Predicate: Predicate<Map: MapFn<In = T>>> + Copy + Debug,
{
    let part = &values[offset.min(values.len())..];
    let (selected, others): (Vec<T>, Vec<T>) = part.iter().partition(|x| selects(**x));
    let all = [selected.clone(), others].concat();
    for device in devices::all() {
        let input = device.upload(values).unwrap();
        let view = || input.slice(offset.min(values.len())..).unwrap();
        for variant in cases::variants("select") {
            let what = format!(
                "{} of {predicate:?} from {offset} on, {} elements, on {}",
                variant.name,
                part.len(),
                device.kind()
            );
            let request = device
                .select_request(view(), predicate)
                .variant(variant.name);
            assert_same(&what, &request.run().unwrap(), &selected);
            let request = device
                .partition_request(view(), predicate)
                .variant(variant.name);
            let (partition, count) = request.run().unwrap();
            assert_eq!(count, selected.len(), "{what}");
            assert_same(&what, &partition, &all);
        }
    }
    let what = format!(
        "{predicate:?} in place from {offset} on, {} elements",
        part.len()
    );
    check_in_place(&what, values, offset, &selected, |device, view| {
        device.select_in_place_request(view, predicate)
    });
}

/// Checks a selection in place, by both ways of `best` on every device: the selected elements come first, and those before the
/// view stay.
fn check_in_place<T: Element + Debug, P: Predicate>(
    what: &str,
    values: &[T],
    offset: usize,
    selected: &[T],
    request: impl for<'a> Fn(&Device, VectorViewMut<'a, T>) -> SelectInPlaceRequest<'a, T, P>,
) {
    let offset = offset.min(values.len());
    let expected = [&values[..offset], selected].concat();
    for device in devices::all() {
        for is_persistent in [false, true] {
            let mut vector = device.upload(values).unwrap();
            let request = request(device, vector.slice_mut(offset..).unwrap());
            let request = match is_persistent {
                true => request.persistent(),
                false => request,
            };
            assert_eq!(request.run().unwrap(), selected.len(), "{what}");
            let got = vector.slice(..expected.len()).unwrap().to_vec().unwrap();
            if let Err(why) = compare::same_bits(&got, &expected) {
                panic!(
                    "{what}, persistent {is_persistent}, on {}: {why}",
                    device.kind()
                );
            }
        }
    }
}

macro_rules! comparisons {
    ($values:expr, $bounds:expr, $offset:expr) => {
        let (values, offset) = ($values, $offset);
        for bound in $bounds {
            check(&values, offset, Compare::less(bound), |x| x < bound);
            check(&values, offset, Compare::at_most(bound), |x| x <= bound);
            check(&values, offset, Compare::greater(bound), |x| x > bound);
            check(&values, offset, Compare::at_least(bound), |x| x >= bound);
            check(&values, offset, Compare::equal(bound), |x| x == bound);
            check(&values, offset, Compare::not_equal(bound), |x| x != bound);
        }
        let [low, high] = [$bounds[0], $bounds[1]];
        check(&values, offset, Compare::within(low..=high), |x| {
            low <= x && x <= high
        });
        check(&values, offset, Compare::outside(low..=high), |x| {
            !(low <= x && x <= high)
        });
    };
}

#[test]
fn every_comparison_of_integers() {
    macro_rules! types {
        ($($ty:ident)*) => { $(
            // All values of a byte, or the ends of the range among others.
            let values: Vec<$ty> = noise(700)
                .map(|value| match value % 5 {
                    0 => $ty::MIN,
                    1 => $ty::MAX,
                    2 => 17,
                    _ => (value >> 7) as $ty,
                })
                .collect();
            comparisons!(values, [17, 100, $ty::MIN, $ty::MAX], 1);
        )* };
    }
    types!(u8 u16 u32 i32 u64 i64);
}

#[test]
fn every_comparison_of_floats() {
    fn values<T: Ordered>(ends: &[T], other: impl Fn(u64) -> T) -> Vec<T> {
        noise(600)
            .map(|value| match ends.get(value as usize % (2 * ends.len())) {
                Some(end) => *end,
                None => other(value >> 9),
            })
            .collect()
    }
    macro_rules! types {
        ($($ty:ty: $zero:expr, $tiny:expr, $from:expr;)*) => { $(
            let from: fn(f32) -> $ty = $from;
            let (zero, tiny): ($ty, $ty) = ($zero, $tiny);
            let special = [
                zero, -zero, tiny, -tiny, <$ty>::INFINITY, <$ty>::NEG_INFINITY, <$ty>::NAN,
                <$ty>::MAX, <$ty>::MIN, from(1.0), from(-1.0),
            ];
            let all = values(&special, |value| from(value as i8 as f32 / 4.0));
            comparisons!(all, special, 3);
        )* };
    }
    types! {
        f32: 0.0, f32::from_bits(1), |x| x;
        f64: 0.0, f64::from_bits(1), f64::from;
        f16: f16::ZERO, f16::from_bits(1), f16::from_f32;
        bf16: bf16::ZERO, bf16::from_bits(1), bf16::from_f32;
    }
}

#[test]
fn lengths_around_tiles_and_any_alignment() {
    fn lengths<T>(make: fn(u64) -> T, bound: T)
    where
        T: Element + MapInput<First = T> + Ordered + Debug,
        Compare<T>: IntoPredicate<Predicate: Predicate<Map: MapFn<In = T>>>,
    {
        let tile = tile::<T>();
        let all = [
            0,
            1,
            2,
            31,
            33,
            1025,
            4096,
            4097,
            tile - 1,
            tile,
            tile + 1,
            3 * tile + 5,
        ];
        for len in all {
            for offset in [0, 1, 16 / size_of::<T>() - 1] {
                let values: Vec<T> = noise(len + offset).map(make).collect();
                check(&values, offset, Compare::greater(bound), |x| x > bound);
            }
        }
    }
    lengths::<u8>(|value| value as u8, 99);
    lengths::<u16>(|value| value as u16, 40_000);
    lengths::<f32>(|value| value as i32 as f32, -1.0);
    lengths::<u64>(|value| value, 1 << 51);
}

/// Checks flags and unique elements by every variant on every device.
fn check_flags_and_unique<T: Selectable + PartialEq + Debug>(len: usize, make: fn(u64) -> T) {
    // Runs of one to four.
    let values: Vec<T> = noise(len).map(|value| make(value / 4 % 5)).collect();
    let flags: Vec<u8> = noise(len).map(|value| (value >> 20) as u8 % 3).collect();
    for offset in [0, 3].map(|offset: usize| offset.min(len)) {
        let (part, flagged) = (&values[offset..], &flags[offset..]);
        let by_flag = part.iter().zip(flagged).filter(|(_, flag)| **flag != 0);
        let by_flag: Vec<T> = by_flag.map(|(value, _)| *value).collect();
        let first = |i: &usize| *i == 0 || part[*i] != part[*i - 1];
        let unique: Vec<T> = (0..part.len()).filter(first).map(|i| part[i]).collect();
        for device in devices::all() {
            let input = device.upload(&values).unwrap();
            let marks = device.upload(&flags).unwrap();
            let (view, marks) = (
                input.slice(offset..).unwrap(),
                marks.slice(offset..).unwrap(),
            );
            for variant in cases::variants("select") {
                let what = format!(
                    "{} of {} {} from {offset} on, on {}",
                    variant.name,
                    part.len(),
                    std::any::type_name::<T>(),
                    device.kind()
                );
                let request = device
                    .select_flagged_request(view, marks)
                    .variant(variant.name);
                assert_same(&format!("flags: {what}"), &request.run().unwrap(), &by_flag);
                let request = device.unique_request(view).variant(variant.name);
                assert_same(&format!("unique: {what}"), &request.run().unwrap(), &unique);
            }
        }
        let what = format!("unique in place from {offset} on");
        check_in_place(&what, &values, offset, &unique, |device, view| {
            device.unique_in_place_request(view)
        });
        for device in devices::all() {
            let mut vector = device.upload(part).unwrap();
            let marks = device.upload(flagged).unwrap();
            let request = device.select_flagged_in_place_request(&mut vector, &marks);
            let count = request.run().unwrap();
            let got = vector.slice(..count).unwrap().to_vec().unwrap();
            compare::same_bits(&got, &by_flag).expect("flags in place");
        }
    }
}

#[test]
fn flags_and_unique_elements_of_every_type() {
    for len in [0, 1, 5, 1000, 9001] {
        check_flags_and_unique::<u8>(len, |value| value as u8);
        check_flags_and_unique::<u16>(len, |value| value as u16);
        check_flags_and_unique::<u32>(len, |value| value as u32);
        check_flags_and_unique::<i32>(len, |value| -(value as i32));
        check_flags_and_unique::<u64>(len, |value| value);
        check_flags_and_unique::<i64>(len, |value| -(value as i64));
        // A NaN differs from every element, and zeros of both signs are one value.
        let special = [0.0, -0.0, f32::NAN, 1.0, -1.0];
        assert!(special[0] == special[1] && special[2] != special[2]);
        check_flags_and_unique::<f32>(len, |value| {
            [0.0, -0.0, f32::NAN, 1.0, -1.0][value as usize]
        });
        check_flags_and_unique::<f64>(len, |value| {
            [0.0, -0.0, f64::NAN, 1.0, -1.0][value as usize]
        });
        check_flags_and_unique::<f16>(len, |value| {
            f16::from_f32([0.0, -0.0, f32::NAN, 1.0, -1.0][value as usize])
        });
        check_flags_and_unique::<bf16>(len, |value| {
            bf16::from_f32([0.0, -0.0, f32::NAN, 1.0, -1.0][value as usize])
        });
    }
}

#[test]
fn prepared_selections_run_again_and_keep_their_count_on_the_device() {
    let values: Vec<u32> = noise(50_000).map(|value| value as u32).collect();
    let bound = 1 << 31;
    let expected: Vec<u32> = values.iter().copied().filter(|x| *x > bound).collect();
    for device in devices::all() {
        let variants = cases::variants("select").iter().map(|it| (it, false));
        let best = cases::variants("select").last().map(|it| (it, true));
        for (variant, persistent) in variants.chain(best) {
            let input = device.upload(&values).unwrap();
            let mut output = device.zeros::<u32>(values.len()).unwrap();
            let request = device.select_request(&input, Compare::greater(bound));
            let mut request = request.variant(variant.name).output_to(&mut output);
            if persistent {
                request = request.persistent();
            }
            let mut prepared = request.prepare().unwrap();
            assert!(matches!(prepared.count(), Err(Error::Invalid { .. })));
            for _ in 0..5 {
                prepared.enqueue().unwrap();
                assert_eq!(
                    prepared.count().unwrap(),
                    expected.len(),
                    "{}",
                    variant.name
                );
            }
            let on_device = prepared.count_on_device().unwrap();
            assert_eq!(on_device.to_vec().unwrap(), [expected.len() as u64]);
            let workspace = prepared.workspace_bytes();
            assert!(workspace <= values.len() * 4 / 100 + 64, "{workspace}");
            drop(prepared);
            assert_eq!(output.to_vec().unwrap()[..expected.len()], expected);
            let rest = &output.to_vec().unwrap()[expected.len()..];
            assert!(rest.iter().all(|x| *x == 0), "{}", variant.name);
        }
    }
}

#[test]
fn every_order_of_blocks_gives_the_same() {
    let len = 40 * tile::<u64>() + 3;
    let values: Vec<u64> = noise(len).collect();
    let expected: Vec<u64> = values.iter().copied().filter(|x| *x < 1 << 50).collect();
    for order in [
        Order::Forward,
        Order::Backward,
        Order::Seeded(1),
        Order::Seeded(2),
    ] {
        let device = devices::cpu_in(order);
        let input = device.upload(&values).unwrap();
        let request = || device.select_request(&input, Compare::less(1 << 50));
        for request in [request(), request().persistent()] {
            let selected = request.run().unwrap();
            assert_same(&format!("{order:?}"), &selected, &expected);
        }
        for is_persistent in [false, true] {
            // All are selected at first, then half of what is left, so that elements move by any distance.
            for (limit, start) in [(1 << 50, 0), (1 << 50, len / 2), (u64::MAX, 0)] {
                let mut vector = device.upload(&values).unwrap();
                let mut ones = vec![0; start];
                vector.slice_mut(..start).unwrap().upload(&ones).unwrap();
                ones.extend(values[start..].iter().filter(|x| **x < limit));
                let request = device.select_in_place_request(&mut vector, Compare::less(limit));
                let request = match is_persistent {
                    true => request.persistent(),
                    false => request,
                };
                assert_eq!(request.run().unwrap(), ones.len(), "{order:?}");
                let got = vector.slice(..ones.len()).unwrap().to_vec().unwrap();
                assert!(got == ones, "{order:?}, less than {limit} from {start} on");
            }
            // Blocks read the last element of the tile before.
            let runs: Vec<u64> = (0..len as u64)
                .map(|i| if i < 900 { i } else { 900 + i / 3 })
                .collect();
            let mut expected = runs.clone();
            expected.dedup();
            let mut vector = device.upload(&runs).unwrap();
            let request = device.unique_in_place_request(&mut vector);
            let request = match is_persistent {
                true => request.persistent(),
                false => request,
            };
            assert_eq!(request.run().unwrap(), expected.len(), "{order:?}");
            let got = vector.slice(..expected.len()).unwrap().to_vec().unwrap();
            assert!(got == expected, "{order:?}, unique");
        }
    }
}

/// As many tiles as are under way at once, and many more on a GPU, where blocks overtake each other.
#[test]
fn in_place_over_many_tiles() {
    for device in devices::all() {
        let tiles = match device.kind() {
            DeviceKind::Cpu => 9,
            _ => 3000,
        };
        let len = tiles * tile::<u32>() + 5;
        let values: Vec<u32> = noise(len).map(|value| value as u32).collect();
        // Nearly all, half, and one in a thousand, so that elements move by few and by many tiles.
        for bound in [u32::MAX / 1000 * 999, u32::MAX / 2, u32::MAX / 1000] {
            let expected: Vec<u32> = values.iter().copied().filter(|x| *x < bound).collect();
            for is_persistent in [false, true] {
                let mut vector = device.upload(&values).unwrap();
                let request = device.select_in_place_request(&mut vector, Compare::less(bound));
                let request = match is_persistent {
                    true => request.persistent(),
                    false => request,
                };
                assert_eq!(request.run().unwrap(), expected.len(), "{device:?}");
                let got = vector.slice(..expected.len()).unwrap().to_vec().unwrap();
                assert!(
                    got == expected,
                    "{device:?}, less than {bound}, persistent {is_persistent}"
                );
            }
        }
        let runs: Vec<u32> = values.iter().map(|value| value % 3).collect();
        let mut expected = runs.clone();
        expected.dedup();
        let mut vector = device.upload(&runs).unwrap();
        let request = device.unique_in_place_request(&mut vector);
        assert_eq!(request.run().unwrap(), expected.len(), "{device:?}");
        let got = vector.slice(..expected.len()).unwrap().to_vec().unwrap();
        assert!(got == expected, "{device:?}, unique");
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let device = Device::cpu();
    let values = device.upload(&[1_u32, 2, 3]).unwrap();
    let flags = device.upload(&[1_u8, 0]).unwrap();
    let error = device
        .select_flagged(&values, &flags)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("select") && error.contains("3 and 2 elements"),
        "{error}"
    );
    let mut short = device.zeros::<u32>(2).unwrap();
    let request = device
        .select_request(&values, Compare::equal(1))
        .output_to(&mut short);
    let error = request.prepare().unwrap_err().to_string();
    assert!(error.contains("an output of 3 elements"), "{error}");
    let request = device.unique_request(&values).variant("sorted");
    assert!(matches!(request.run(), Err(Error::UnknownVariant { .. })));
    let prepared = device.unique_request(&values).prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
}

#[test]
fn rungs_do_not_select_in_place() {
    let device = Device::cpu();
    let mut values = device.upload(&[1_u32, 2, 3]).unwrap();
    let request = device.select_in_place_request(&mut values, Compare::equal(2));
    let error = request.variant("naive").run().unwrap_err();
    assert!(
        matches!(&error, Error::NotEligible { .. }) && error.to_string().contains("in place"),
        "{error}"
    );
    assert_eq!(values.to_vec().unwrap(), [1, 2, 3]);
}
