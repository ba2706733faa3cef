//! Elementwise functions of `f32`, compared with PyTorch and CuPy.

use serde_json::json;
use warpwright::ops::map::{Sin, Sqrt};
use warpwright_workloads::map::{Map, to_ulps};
use warpwright_workloads::sample::{Make, unit};

use super::super::{Bench, Spec};
use super::case;
use crate::record::Bound;

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
    let spec = Spec::of("map", format!("{name} f32"), len, Bound::Copy).aim(0.97, 1.0);
    case(bench, spec, problem, |_, place| {
        let request = json!({"work": name, "shape": [len], "element": "f4"});
        place.frameworks(&[("PyTorch", None), ("CuPy", None)], request)
    });
}
