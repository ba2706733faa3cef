//! Convolutions of a long vector with masks of several widths, compared with cuDNN, NPP's row filter, and cuDNN as called by
//! PyTorch.

use std::rc::Rc;

use rayon::prelude::*;
use serde_json::json;
use warpwright::{Device, Vector};
use warpwright_workloads::convolution::Convolution;
use warpwright_workloads::{Sets, within};

use super::super::peers::rival;
use super::super::peers::ways::{MARGIN, Signal, Way, fastest};
use super::super::{Absent, Bench, Result, Rival, Spec, address, local, pointer};
use super::{Place, case};
use crate::record::Bound;

/// The widest mask for which memory is the limit.
const WIDEST_OF_MEMORY: usize = 31;

pub(super) fn run(bench: &mut Bench) {
    let len = bench.scale().pick(1 << 26, 1 << 26, 5000);
    let all = [3, 5, 9, 15, 31, 63, 127];
    for width in bench.scale().pick(&all[..], &[5, 31, 127], &[3, 31, 127]) {
        of(bench, len, *width);
    }
}

fn of(bench: &mut Bench, len: usize, width: usize) {
    let problem = Convolution::<f32>::new(len, width);
    let (bound, share) = if width <= WIDEST_OF_MEMORY {
        (Bound::Copy, 0.85)
    } else {
        (Bound::FmaF32, 0.7)
    };
    let spec = Spec::of("convolution", format!("mask of {width} f32"), len, bound)
        .operations(2 * (len * width) as u64)
        .aim(share, 1.0);
    case(bench, spec, problem, |sets, place| {
        let mut rivals = Vec::new();
        if place.peers.wanted() {
            let mask = sets.problem().mask();
            let signals = Signals::new(&place.device, sets, len, width).map(Rc::new);
            let cudnn = place.peers.cudnn();
            let npp = place.peers.npp();
            for (name, ways) in [
                ("cuDNN", cudnn.and_then(|it| it.convolutions(mask, len))),
                ("NPP", npp.and_then(|it| it.convolutions(mask, len))),
            ] {
                let check = |set: usize, found: &[f32]| check(&sets.truth(set).values, mask, found);
                rivals.push(filtering(name, place, signals.clone(), ways, len, check));
            }
        }
        let request = json!({"work": "convolve", "shape": [len], "element": "f4", "mask": width});
        rivals.extend(place.pytorch(request));
        rivals
    });
}

/// The inputs of peers that filter memory directly: the values of each set with zeros around them.
struct Signals {
    /// The values with [`MARGIN`] zeros on both sides.
    margins: Vec<Vector<f32>>,
    /// The values with half a mask's width of zeros on both sides.
    halos: Vec<Vector<f32>>,
}

impl Signals {
    fn new(
        device: &Device,
        sets: &Sets<Convolution<f32>>,
        len: usize,
        width: usize,
    ) -> Result<Self, Absent> {
        let around = |zeros: usize| -> Result<Vec<Vector<f32>>, Absent> {
            let padded = (0..sets.inputs().len()).map(|set| {
                let mut padded = vec![0.0; len + 2 * zeros];
                padded[zeros..][..len].copy_from_slice(&sets.problem().values(set));
                Ok(device.upload(&padded)?)
            });
            padded.collect()
        };
        Ok(Self {
            margins: around(MARGIN)?,
            halos: around(width / 2)?,
        })
    }

    fn of(&self, set: usize) -> Signal {
        let [margin, halo] = [&self.margins, &self.halos].map(|sets| address(&sets[set]));
        Signal {
            values: margin + (MARGIN * size_of::<f32>()) as u64,
            halo,
        }
    }
}

/// Makes a peer that has several ways.
fn filtering<'a>(
    name: &'static str,
    place: &Place,
    signals: Result<Rc<Signals>, Absent>,
    ways: Result<Vec<Way>, Absent>,
    len: usize,
    check: impl Fn(usize, &[f32]) -> Result<(), String> + 'a,
) -> Rival<'a> {
    let ready = ways.and_then(|ways| {
        let (signals, first) = (signals?, |found: &[f32]| check(0, found));
        let (way, queue) = fastest(&place.device, ways, signals.of(0), len, first)?;
        let contender = local(
            (queue, place.outputs::<f32>(len)?),
            move |(queue, outputs), set| queue(signals.of(set), pointer(&mut outputs[set])),
            move |(_, outputs), set| Ok(check(set, &outputs[set].to_vec()?)),
        );
        Ok((way, contender))
    });
    let (way, contender) = ready.map_or_else(
        |absent| (None, Err(absent)),
        |(way, contender)| (Some(way), Ok(contender)),
    );
    Rival {
        way,
        ..rival(name, contender)
    }
}

/// Compares parts of a peer's result, including both ends, with sums in `f64`. Our results must be exact to the bit.
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
            let wrong = within(found.into(), sum, 2.0 * bound * magnitudes).err();
            wrong.map(|text| format!("at {place}: {text}"))
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
