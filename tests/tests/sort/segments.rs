//! Sorts of segments, held to a sort of each segment by std.

use cuda_std::{bf16, f16};
use warpwright::{Device, Vector, ops::segments::Segments};
use warpwright_tests::{cases, devices};

use warpwright_tests::keys::{Key, PATTERNS};

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

/// Sorts the segments of keys by every variant on every device.
fn check<K: Key>(keys: &[K], offsets: &[usize]) {
    for descending in [false, true] {
        let mut wanted = keys.to_vec();
        for pair in offsets.windows(2) {
            wanted[pair[0]..pair[1]].sort_by(|a, b| {
                if descending {
                    b.compare(a)
                } else {
                    a.compare(b)
                }
            });
        }
        let wanted = bits(&wanted);
        for device in devices::all() {
            let input = device.upload(keys).unwrap();
            let segments = segments(device, offsets, descending);
            for variant in cases::variants("sort") {
                let request = device.sort_segments_request(&input, &segments);
                let request = request.variant(variant.name);
                let request = if descending {
                    request.descending()
                } else {
                    request
                };
                let got: Vector<K> = request.run().unwrap();
                let name = std::any::type_name::<K>();
                assert!(
                    bits(&got.to_vec().unwrap()) == wanted,
                    "{} of {} {name} in {} segments, descending: {descending}, on {}",
                    variant.name,
                    keys.len(),
                    offsets.len() - 1,
                    device.kind()
                );
            }
        }
    }
}

#[test]
fn every_type_and_cut() {
    macro_rules! types {
        ($($type:ident)*) => { $(
            let keys: Vec<$type> = PATTERNS[1].keys(300);
            check(&keys, &[0, 3, 3, 4, 200, 200, 299, 300]);
            // Keys outside, and no segment with elements.
            let keys: Vec<$type> = PATTERNS[0].keys(50);
            check(&keys, &[7, 20, 44]);
            check(&keys, &[9, 9, 9]);
            check(&keys, &[50]);
            check::<$type>(&[], &[0, 0]);
        )* };
    }
    types!(u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64);
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
fn segments_that_the_keys_have_not_are_refused() {
    for device in devices::all() {
        let keys = device.upload(&[1_u8; 10]).unwrap();
        let segments = segments(device, &[0, 11], false);
        let error = device.sort_segments(&keys, &segments).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("sort of segments: offsets of at most the 10 elements"),
            "{error}"
        );
    }
}
