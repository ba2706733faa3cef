//! Elementwise functions of `f32`, compared with PyTorch and CuPy.

use serde_json::json;
use warpwright::ops::map::{Sin, Sqrt};
use warpwright_workloads::Problem;
use warpwright_workloads::map::{Map, to_ulps};
use warpwright_workloads::sample::{Make, unit};

use super::super::{Bench, Spec, power};
use super::{Place, case};
use crate::record::{Aim, Bound};

pub(super) fn run(bench: &mut Bench) {
    let len = bench.scale().pick(1 << 28, 1 << 26, 1 << 12);
    let right =
        |truth: fn(f64) -> f64| move |x: f32, found| to_ulps(found, truth(f64::from(x)), 1.0);
    of(
        bench,
        len,
        "sin",
        Map::one(len, "sin", Sin, right(f64::sin)),
    );
    of(
        bench,
        len,
        "sqrt",
        Map::one(len, "sqrt", Sqrt, right(f64::sqrt)),
    );
}

fn of(bench: &mut Bench, len: usize, name: &'static str, map: Map) {
    // Values from 0 to 1000.
    let problem = map.of(Make::hashed(|hash| unit(hash).abs() as f32 * 1000.0));
    let spec = Spec {
        family: "map",
        work: format!("{name} f32"),
        size: power(len),
        elements: len,
        bytes: problem.bytes(),
        operations: 0,
        bound: Bound::Copy,
        aim: Aim {
            share: Some(0.97),
            ratio: Some(1.0),
        },
    };
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |_, Place { peers, count, .. }| {
        let request = json!({"work": name, "shape": [len], "element": "f4", "sets": count});
        Ok(peers.framework_rivals(&[("PyTorch", None), ("CuPy", None)], &request))
    });
}
