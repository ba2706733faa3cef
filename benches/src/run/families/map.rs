//! Elementwise functions of `f32`, beside PyTorch and CuPy.

use std::cell::LazyCell;

use rayon::prelude::*;
use serde_json::json;
use warpwright::cuda_std::map::MapFn;
use warpwright::ops::map::{Function, LibraryFn, Sin, Sqrt};
use warpwright::{Device, Vector};
use warpwright_cli::sample;

use super::super::{Bench, Contender, Contest, Result, Spec, local, power};
use super::{unit, uploaded};
use crate::record::{Aim, Bound};

pub(super) fn run(bench: &mut Bench) {
    let len = bench.scale().pick(1 << 28, 1 << 26, 1 << 12);
    let bytes = 2 * len * size_of::<f32>();
    let sets = bench.sets(bytes);
    let (device, peers) = (bench.device(), bench.peers());
    // From 0 to 1000.
    let values =
        LazyCell::new(|| sample::values(len * sets, 10, |hash| unit(hash).abs() as f32 * 1000.0));
    let inputs = LazyCell::new(|| uploaded(&values, sets, |values| Ok(device.upload(values)?)));
    for name in ["sin", "sqrt"] {
        let spec = Spec {
            family: "map",
            work: format!("{name} f32"),
            size: power(len),
            elements: len,
            bytes,
            operations: 0,
            bound: Bound::Copy,
            aim: Aim {
                share: Some(0.97),
                ratio: Some(1.0),
            },
        };
        let candidates = bench.candidates(&spec);
        bench.case(spec, || {
            let inputs = LazyCell::force(&inputs).as_ref().map_err(String::clone)?;
            let ours = |device: &Device| match name {
                "sin" => ours(device, inputs, &values, Sin, f64::sin),
                _ => ours(device, inputs, &values, Sqrt, f64::sqrt),
            };
            let request = json!({"work": name, "shape": [len], "element": "f4", "sets": sets});
            let mut rivals = peers.framework_rivals(&[("PyTorch", None), ("CuPy", None)], &request);
            rivals.extend(candidates.rivals(ours));
            Ok(Contest {
                sets,
                ours: ours(&device)?,
                rivals,
            })
        });
    }
}

fn ours<'a, F>(
    device: &Device,
    inputs: &'a [Vector<f32>],
    values: &'a [f32],
    function: F,
    truth: fn(f64) -> f64,
) -> Result<Box<dyn Contender + 'a>>
where
    F: LibraryFn + Function<Map = F> + MapFn<In = f32, Out = f32> + Copy + 'a,
{
    let prepared: Result<Vec<_>> = inputs
        .iter()
        .map(|input| Ok(device.map_request(input, function).prepare()?))
        .collect();
    Ok(local(
        prepared?,
        |prepared, set| Ok(prepared[set].enqueue()?),
        move |prepared, set| {
            let found = prepared[set].output()?.to_vec()?;
            let values = values.get(set * found.len()..).unwrap_or_default();
            let wrong = found.par_iter().zip(values).enumerate().find_map_first(
                |(at, (&found, &value))| {
                    let expected = truth(f64::from(value));
                    // Within one unit in the last place, as the library says.
                    let right = (f64::from(found) - expected).abs()
                        <= f64::from(f32::EPSILON) * expected.abs();
                    (!right).then(|| format!("at {at}: expected {expected}, found {found}"))
                },
            );
            Ok(wrong.map_or(Ok(()), Err))
        },
    ))
}
