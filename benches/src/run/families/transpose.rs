//! Transposes of large matrices, of a square and of an odd shape.

use std::fmt::Debug;

use serde_json::json;
use warpwright::Element;
use warpwright_workloads::transpose::Transpose;

use super::super::{Bench, Spec};
use super::case;
use crate::record::Bound;

pub(super) fn run(bench: &mut Bench) {
    // A sweep keeps the outputs of every policy row in memory at once.
    let side = if bench.is_sweep() { 8192 } else { 16384 };
    let large = [(side, side), (10007, 8191)];
    let shapes = bench.scale().pick(large, large, [(64, 96), (37, 41)]);
    for shape in shapes {
        of(bench, "u8", shape, |hash| hash as u8);
        of(bench, "u16", shape, |hash| hash as u16);
        // The bits are moved and never interpreted.
        of(bench, "f32", shape, |hash| hash as u32);
        of(bench, "f64", shape, |hash| hash);
        if bench.is_sweep() {
            of(bench, "u128", shape, |hash| {
                u128::from(hash) << 64 | u128::from(!hash)
            });
        }
    }
}

fn of<T: Element + PartialEq + Debug>(
    bench: &mut Bench,
    name: &'static str,
    (height, width): (usize, usize),
    from_hash: fn(u64) -> T,
) {
    let problem = Transpose::new((height, width), name, from_hash);
    let even = height % 32 == 0 && width % 32 == 0;
    let spec = Spec::of(
        "transpose",
        format!("transpose {name}"),
        height * width,
        Bound::Copy,
    )
    .shape(height, width)
    .aim(if even { 0.93 } else { 0.85 }, 1.0);
    case(bench, spec, problem, |_, place| {
        let python = ["u1", "i2", "f4", "f8", "c16"][size_of::<T>().ilog2() as usize];
        let request = json!({"work": "transpose", "shape": [height, width], "element": python});
        place.frameworks(&[("PyTorch", None), ("CuPy", None)], request)
    })
}
