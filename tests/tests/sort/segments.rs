//! Sorts of segments, held to a sort of each segment by std.

use cuda_std::{bf16, f16};
use warpwright::{
    Device, Vector,
    ops::{segments::Segments, sort::SortPairsSegmentsRequest},
};
use warpwright_tests::{
    cases, devices,
    keys::{Key, PATTERNS},
};

fn segments(device: &Device, offsets: &[usize], wide: bool) -> Segments {
    if wide {
        let offsets: Vec<u64> = offsets.iter().map(|offset| *offset as u64).collect();
        return device.segments(device.upload(&offsets).unwrap()).unwrap();
    }
    let offsets: Vec<u32> = offsets.iter().map(|offset| *offset as u32).collect();
    device.segments(device.upload(&offsets).unwrap()).unwrap()
}

fn bits<K: Key>(keys: &[K]) -> Vec<u64> {
    keys.iter().map(|key| key.bits()).collect()
}

/// Sorts the segments of keys, alone, as positions and with values, by every variant on every device.
fn check<K: Key>(keys: &[K], offsets: &[usize]) {
    for descending in [false, true] {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        for pair in offsets.windows(2) {
            order[pair[0]..pair[1]].sort_by(|a, b| {
                let (a, b) = (keys[*a], keys[*b]);
                if descending {
                    b.compare(&a)
                } else {
                    a.compare(&b)
                }
            });
        }
        let wanted: Vec<u64> = order.iter().map(|at| keys[*at].bits()).collect();
        for device in devices::all() {
            if !descending && !super::has_every_case::<K>(device) {
                continue;
            }
            let input = device.upload(keys).unwrap();
            let segments = segments(device, offsets, descending);
            for variant in cases::variants("sort") {
                /// Makes the options' calls on a request.
                macro_rules! with {
                    ($request:expr) => {{
                        let request = $request.variant(variant.name);
                        if descending {
                            request.descending()
                        } else {
                            request
                        }
                    }};
                }
                let what = format!(
                    "{} of {} {} in {} segments, descending: {descending}, on {}",
                    variant.name,
                    keys.len(),
                    std::any::type_name::<K>(),
                    offsets.len() - 1,
                    device.kind()
                );
                let request = with!(device.sort_segments_request(&input, &segments));
                let got: Vector<K> = request.run().unwrap();
                assert!(bits(&got.to_vec().unwrap()) == wanted, "{what}");

                let case = (&input, &order[..]);
                let positions = if descending {
                    check_values(&segments, case, &what, |request| with!(request));
                    // By small tiles, the positions are found as those of 2^32 keys are.
                    let request = device.argsort_segments_request::<K, u64>(&input, &segments);
                    let found = with!(request).tile(256, 2).run().unwrap();
                    found.to_vec().unwrap()
                } else {
                    check_wide_values(&segments, case, &what, |request| with!(request));
                    let request = device.argsort_segments_request::<K, u32>(&input, &segments);
                    let found = with!(request).run().unwrap().to_vec().unwrap();
                    found.into_iter().map(u64::from).collect()
                };
                let wanted = order.iter().map(|at| *at as u64);
                assert!(positions.into_iter().eq(wanted), "positions, {what}");
            }
        }
    }
}

/// Makes a check of keys that are sorted with values of a type, where `order` has the positions of the sorted ones.
macro_rules! check_values {
    ($name:ident: $value:ty) => {
        fn $name<K: Key>(
            segments: &Segments,
            (input, order): (&Vector<K>, &[usize]),
            what: &str,
            with: impl for<'a> Fn(
                SortPairsSegmentsRequest<'a, K, $value>,
            ) -> SortPairsSegmentsRequest<'a, K, $value>,
        ) {
            let device = input.device();
            let value = |at: usize| at as $value ^ (<$value>::MAX - 0x55);
            let values: Vec<$value> = (0..order.len()).map(value).collect();
            let given = device.upload(&values).unwrap();
            let request = device.sort_pairs_segments_request(input, &given, segments);
            let (keys, got) = with(request).run().unwrap();
            let all = input.to_vec().unwrap();
            let wanted: Vec<u64> = order.iter().map(|at| all[*at].bits()).collect();
            assert!(bits(&keys.to_vec().unwrap()) == wanted, "keys, {what}");
            let wanted = order.iter().map(|at| value(*at));
            assert!(
                got.to_vec().unwrap().into_iter().eq(wanted),
                "values, {what}"
            );
        }
    };
}
check_values!(check_values: u16);
check_values!(check_wide_values: u64);

#[test]
fn every_type_and_cut() {
    macro_rules! types {
        ($($type:ident)*) => { $(
            let keys: Vec<$type> = PATTERNS[1].keys(100);
            check(&keys, &[0, 3, 3, 4, 60, 60, 99, 100]);
        )* };
    }
    types!(u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64);
    // Keys outside, and no segment with elements.
    let keys: Vec<f32> = PATTERNS[0].keys(40);
    check(&keys, &[7, 20, 34]);
    check(&keys, &[9, 9, 9]);
    check(&keys, &[40]);
    check::<u16>(&[], &[0, 0]);
}

#[test]
fn one_segment_and_as_many_as_keys() {
    let keys: Vec<u32> = PATTERNS[0].keys(9001);
    check(&keys, &[0, 9001]);
    let each: Vec<usize> = (0..=9001).collect();
    check(&keys, &each);
    let pairs: Vec<usize> = (0..=9000).step_by(2).collect();
    check(&keys, &pairs);
}

#[test]
fn some_bits_and_a_place_of_the_users() {
    for device in devices::all() {
        let keys = [0x31_u32, 0x12, 0x21, 0x44, 0x43];
        let input = device.upload(&keys).unwrap();
        let segments = segments(device, &[0, 3, 5], false);
        let mut output = device.zeros::<u32>(5).unwrap();
        let request = device.sort_segments_request(&input, &segments).bits(..4);
        request.output_to(&mut output).run().unwrap();
        let sorted = [0x31, 0x21, 0x12, 0x43, 0x44];
        assert_eq!(output.to_vec().unwrap(), sorted);
        assert_eq!(input.to_vec().unwrap(), keys);
    }
}

#[test]
fn the_workspace_is_as_documented() {
    let device = Device::cpu();
    let len = 1 << 20;
    let keys = device.zeros::<u64>(len).unwrap();
    let offsets: Vec<usize> = (0..=len / 4).map(|i| 4 * i).collect();
    let segments = segments(&device, &offsets, false);
    let check = |bytes: usize, copies: usize, numbers: usize| {
        let all = len * (8 * copies + 4 * numbers);
        assert!(
            (all..all + 2 * len).contains(&bytes),
            "{bytes} bytes, {all} and less than {} more required",
            2 * len
        );
    };
    let sort = device.sort_segments_request(&keys, &segments);
    check(sort.prepare().unwrap().workspace_bytes(), 3, 5);
    let positions = device.argsort_segments_request::<u64, u32>(&keys, &segments);
    check(positions.prepare().unwrap().workspace_bytes(), 2, 8);
    let pairs = device.sort_pairs_segments_request(&keys, &keys, &segments);
    check(pairs.prepare().unwrap().workspace_bytes(), 2, 8);
    let best = device.top_k_segments_request(&keys, &segments, 2);
    check(best.prepare().unwrap().workspace_bytes(), 3, 8);
}

#[test]
fn segments_that_the_keys_have_not_are_refused() {
    for device in devices::all() {
        let keys = device.upload(&[1_u8; 10]).unwrap();
        let segments = segments(device, &[0, 11], false);
        let errors = [
            device.sort_segments(&keys, &segments).unwrap_err(),
            device.argsort_segments(&keys, &segments).unwrap_err(),
            device
                .sort_pairs_segments(&keys, &keys, &segments)
                .unwrap_err(),
            device.top_k_segments(&keys, &segments, 1).unwrap_err(),
        ];
        for error in errors.map(|error| error.to_string()) {
            assert!(
                error.contains(": offsets of at most the 10 elements"),
                "{error}"
            );
        }
        let few = device.upload(&[1_u8; 9]).unwrap();
        let error = device.sort_pairs_segments(&keys, &few, &segments);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("as many values as keys, 10"), "{error}");
    }
}
