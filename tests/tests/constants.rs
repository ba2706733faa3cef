//! Tables in constant memory that several streams use at a time: every use sees its own values.

use warpwright::{Device, ops::map::Wave};
use warpwright_tests::devices;

/// Enough elements that the work of one stream is under way while another is queued.
const LEN: usize = 6_000;

/// A mask that moves the values by `by` places, and weighs them.
fn mask(by: usize, weight: f32) -> Vec<f32> {
    let mut mask = vec![0.0; 9];
    mask[4 + by] = weight;
    mask
}

/// What [`mask`] makes of `values`.
fn moved(values: &[f32], by: usize, weight: f32) -> Vec<f32> {
    let part = values[by..].iter().map(|value| value * weight);
    part.chain(std::iter::repeat_n(0.0, by)).collect()
}

#[test]
fn masks_in_turn_on_several_streams() {
    let values: Vec<f32> = (0..LEN).map(|i| (i % 1009) as f32).collect();
    for device in devices::all() {
        let streams: Vec<Device> = (0..3).map(|_| device.new_stream().unwrap()).collect();
        let inputs: Vec<_> = streams
            .iter()
            .map(|stream| stream.upload(&values).unwrap())
            .collect();
        // By stream and mask: one mask is every stream's, the others are one stream's own.
        let uses = [
            (0, 0),
            (1, 0),
            (2, 1),
            (0, 2),
            (1, 0),
            (2, 0),
            (2, 3),
            (0, 0),
        ];
        let weight = |number: usize| 1.0 + number as f32;
        let mut prepared: Vec<_> = uses
            .iter()
            .map(|&(stream, number)| {
                let mask = mask(number, weight(number));
                let request = streams[stream].convolve_request(&inputs[stream], &mask);
                request.prepare().unwrap()
            })
            .collect();
        for round in 0..20 {
            for request in &mut prepared {
                request.enqueue().unwrap();
            }
            for (request, (stream, number)) in prepared.iter().zip(uses) {
                let found = request.output().unwrap().to_vec().unwrap();
                let expected = moved(&values, number, weight(number));
                assert!(
                    found == expected,
                    "{}: round {round}, stream {stream}, mask {number}",
                    device.kind()
                );
            }
        }
    }
}

#[test]
fn constants_outlive_the_stream_that_set_them() {
    for device in devices::all() {
        let expected = device.map_positions(LEN, Wave).unwrap().to_vec().unwrap();
        for len in [LEN, LEN, LEN / 2, LEN] {
            // A stream of its own, which nobody has any more when the next one comes.
            let stream = device.new_stream().unwrap();
            let wave = stream.map_positions(len, Wave).unwrap();
            let found = wave.to_vec().unwrap();
            assert_eq!(found.len(), len);
            if len == LEN {
                assert!(found == expected, "{}", device.kind());
            } else {
                assert!(
                    found != expected[..len],
                    "{}: the count is in it",
                    device.kind()
                );
            }
        }
    }
}
