//! The different keys in order, held to those of std.

use cuda_std::{bf16, f16};
use warpwright::ops::select::Selectable;
use warpwright_tests::{
    cases, devices,
    keys::{Key, Pattern},
};

/// Finds the different keys by every variant on every device.
fn check<K: Key + Selectable + PartialEq>(keys: &[K]) {
    for descending in [false, true] {
        let mut wanted = keys.to_vec();
        wanted.sort_by(|a, b| {
            if descending {
                b.compare(a)
            } else {
                a.compare(b)
            }
        });
        // Floats compare as in Rust: NaNs differ, and zeros do not.
        wanted.dedup();
        let wanted: Vec<u64> = wanted.iter().map(|key| key.bits()).collect();
        for device in devices::all() {
            if descending && !super::has_every_case::<K>(device) {
                continue;
            }
            let input = device.upload(keys).unwrap();
            for variant in cases::variants("sort") {
                let request = device.sorted_unique_request(&input).variant(variant.name);
                let request = if descending {
                    request.descending()
                } else {
                    request
                };
                let got = request.run().unwrap().to_vec().unwrap();
                let got: Vec<u64> = got.iter().map(|key| key.bits()).collect();
                assert!(
                    got == wanted,
                    "{} of {} {}, descending: {descending}, on {}",
                    variant.name,
                    keys.len(),
                    std::any::type_name::<K>(),
                    device.kind()
                );
            }
        }
    }
}

#[test]
fn different_keys_of_every_type() {
    macro_rules! types {
        ($($type:ident)*) => { $(
            for pattern in [Pattern::And(2), Pattern::Zipf, Pattern::Edges] {
                check(&pattern.keys::<$type>(90));
            }
            check::<$type>(&[]);
            check(&Pattern::And(1).keys::<$type>(1));
        )* };
    }
    types!(u8 u16 u32 u64 i32 i64 f16 bf16 f32 f64);
}

#[test]
fn many_keys_by_some_bits_and_their_number() {
    let keys: Vec<u32> = (0..9001).map(|at| at * 7919 % 613).collect();
    for device in devices::all() {
        let input = device.upload(&keys).unwrap();
        let mut prepared = device.sorted_unique_request(&input).prepare().unwrap();
        let error = prepared.count().unwrap_err().to_string();
        assert!(error.contains("queue"), "{error}");
        for _ in 0..2 {
            prepared.enqueue().unwrap();
            assert_eq!(prepared.count().unwrap(), 613);
        }
        let output = prepared.into_output().unwrap();
        let found = output.slice(..613).unwrap().to_vec().unwrap();
        assert!(found.into_iter().eq(0..613));
        // By the lowest bit alone, equal keys need not be neighbors.
        let input = device.upload(&[3_u32, 1, 1, 2, 3, 3]).unwrap();
        let by_bit = device.sorted_unique_request(&input).bits(..1);
        assert_eq!(by_bit.run().unwrap().to_vec().unwrap(), [2, 3, 1, 3]);
    }
}
