//! Convolutions of a long vector with masks of several widths, beside cuDNN as PyTorch calls it.

use std::cell::LazyCell;

use rayon::prelude::*;
use serde_json::json;
use warpwright::Device;
use warpwright_cli::sample;

use super::super::{Bench, Contest, Result, Spec, local, power};
use super::{unit, uploaded};
use crate::record::{Aim, Bound};

/// Masks up to this width are limited by memory.
const WIDEST_OF_MEMORY: usize = 31;

pub(super) fn run(bench: &mut Bench) {
    let len = bench.scale().pick(1 << 26, 1 << 26, 5000);
    let widths: &[usize] =
        bench
            .scale()
            .pick(&[3, 5, 9, 15, 31, 63, 127], &[5, 31, 127], &[3, 31, 127]);
    let bytes = 2 * len * size_of::<f32>();
    let sets = bench.sets(bytes);
    let (device, peers) = (bench.device(), bench.peers());
    let values = LazyCell::new(|| sample::values(len * sets, 8, |hash| unit(hash) as f32));
    let inputs = LazyCell::new(|| uploaded(&values, sets, |values| Ok(device.upload(values)?)));
    for &width in widths {
        let mask = sample::values(width, 9, |hash| unit(hash) as f32);
        let (bound, share) = if width <= WIDEST_OF_MEMORY {
            (Bound::Copy, 0.85)
        } else {
            (Bound::FmaF32, 0.7)
        };
        let spec = Spec {
            family: "convolution",
            work: format!("mask of {width} f32"),
            size: power(len),
            elements: len,
            bytes,
            operations: 2 * (len * width) as u64,
            bound,
            aim: Aim {
                share: Some(share),
                ratio: Some(1.0),
            },
        };
        let candidates = bench.candidates(&spec);
        bench.case(spec, || {
            let inputs = LazyCell::force(&inputs).as_ref().map_err(String::clone)?;
            let ours = |device: &Device| {
                let prepared: Result<Vec<_>> = inputs
                    .iter()
                    .map(|input| Ok(device.convolve_request(input, &mask).prepare()?))
                    .collect();
                Ok(local(
                    prepared?,
                    |prepared, set| Ok(prepared[set].enqueue()?),
                    |prepared, set| {
                        let found = prepared[set].output().to_vec()?;
                        Ok(check(&values[set * len..][..len], &mask, &found))
                    },
                ))
            };
            let request = json!({"work": "convolve", "shape": [len], "element": "f4", "mask": width, "sets": sets});
            let mut rivals = peers.framework_rivals(&[("PyTorch", None)], &request);
            rivals.extend(candidates.rivals(ours));
            Ok(Contest {
                sets,
                ours: ours(&device)?,
                rivals,
            })
        });
    }
}

/// Compares parts of the result, among them both ends, with sums in `f64`.
fn check(values: &[f32], mask: &[f32], found: &[f32]) -> Result<(), String> {
    const PART: usize = 4096;
    if found.len() != values.len() {
        return Err(format!(
            "expected {} elements, found {}",
            values.len(),
            found.len()
        ));
    }
    let last = found.len().div_ceil(PART).saturating_sub(1);
    let parts = found
        .par_chunks(PART)
        .enumerate()
        .filter(|(part, _)| part % 61 == 0 || *part == last);
    let bound = mask.len() as f64 * f64::from(f32::EPSILON) / 2.0;
    let wrong = parts.find_map_first(|(part, found)| {
        found.iter().enumerate().find_map(|(at, &found)| {
            let place = part * PART + at;
            let (mut sum, mut magnitudes) = (0.0, 0.0);
            for (offset, &weight) in mask.iter().enumerate() {
                let value = (place + offset)
                    .checked_sub(mask.len() / 2)
                    .and_then(|at| values.get(at));
                let product = value.map_or(0.0, |&value| f64::from(value) * f64::from(weight));
                sum += product;
                magnitudes += product.abs();
            }
            // A NaN fails this comparison.
            let right = (f64::from(found) - sum).abs() <= 2.0 * bound * magnitudes;
            (!right).then(|| format!("at {place}: expected {sum}, found {found}"))
        })
    });
    wrong.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_sum_is_found() {
        assert_eq!(
            check(&[1.0, 2.0, 4.0], &[0.5, 0.0, 1.0], &[2.0, 4.5, 1.0]),
            Ok(())
        );
        assert!(
            check(&[1.0, 2.0, 4.0], &[0.5, 0.0, 1.0], &[2.0, 4.5, 1.1])
                .unwrap_err()
                .contains("at 2")
        );
        assert!(check(&[1.0], &[0.5], &[f32::NAN]).is_err());
    }
}
