//! The reversal.

use warpwright_tests::{cases, devices};

#[test]
fn every_variant_reverses() {
    for device in devices::all() {
        for len in [0, 1, 257, 4099] {
            let values: Vec<u32> = (0..len).map(|i| i * i).collect();
            let expected: Vec<u32> = values.iter().rev().copied().collect();
            let input = device.upload(&values).unwrap();
            for variant in cases::variants("reverse") {
                let request = device.reverse_request(&input).variant(variant.name);
                assert_eq!(request.run().unwrap().to_vec().unwrap(), expected);
            }
        }
    }
}
