//! Selections, compared with CUB: elements above a value, by flags, and the first of each run.

use warpwright_workloads::sample::{self, Make};
use warpwright_workloads::select::{Kind, Selected, Selection, Value};

use super::super::{Bench, Spec, address, local, pointer};
use super::case;
use crate::record::Bound;

/// The length that the aims above 1 are for.
const LARGE: usize = 1 << 28;

pub(super) fn run(bench: &mut Bench) {
    let largest = bench.scale().pick(28, 26, 12);
    let sizes = [16, 20, 24, largest];
    let floats = || Make::hashed(|hash| (hash >> 40) as f32);
    let half = (1 << 23) as f32;
    for power in bench.scale().pick(&sizes[..], &sizes[3..], &sizes[3..]) {
        let len = 1 << *power;
        let above = Selection::new(len, Kind::Greater(half), "f32", floats());
        of(bench, len, "f32", "half of f32", f64::from(half), 0, above);
    }
    let len = 1 << largest;
    for (name, share) in [("few of f32", 0.01), ("most of f32", 0.99)] {
        let bound = ((1.0 - share) * f64::from(1 << 24)) as f32;
        let above = Selection::new(len, Kind::Greater(bound), "f32", floats());
        of(bench, len, "f32", name, f64::from(bound), 0, above);
    }
    let flagged = Selection::new(len, Kind::Flagged, "f32", floats());
    of(
        bench,
        len,
        "f32",
        "half of 4-byte elements by flags",
        0.0,
        1,
        flagged,
    );
    let bytes = Selection::new(
        len,
        Kind::Greater(127),
        "u8",
        Make::hashed(|hash| hash as u8),
    );
    of(bench, len, "u8", "half of u8", 127.0, 0, bytes);
    // Runs of four on the average.
    let runs = Make::by(|at, _, _| (sample::hash(at as u64 / 4) >> 60) as u8);
    let unique = Selection::new(len, Kind::Unique, "u8", runs);
    of(bench, len, "u8", "unique bytes", 0.0, 2, unique);
}

/// Runs a case. `operation` is CUB's, as in `peers/cub.cu`.
fn of<T: Value + Default>(
    bench: &mut Bench,
    len: usize,
    element: &'static str,
    name: &str,
    above: f64,
    operation: i32,
    problem: Selection<T>,
) {
    let ratio = match (name, len) {
        ("half of f32", LARGE) => 1.1,
        ("unique bytes", LARGE) => 1.3,
        _ => 1.0,
    };
    let spec = Spec::of("select", name, len, Bound::Copy).aim(None, ratio);
    case(bench, spec, problem, |sets, place| {
        place.cub(|cub| {
            // The flags are the same for all sets.
            let flags = address(&sets.inputs()[0].1);
            Ok(local(
                (
                    cub.select(element, operation, above, len)?,
                    place.device.zeros::<T>(len)?,
                    place.device.zeros::<i32>(1)?,
                ),
                move |(work, output, count), set| {
                    let input = address(&sets.inputs()[set].0);
                    work([input, flags, pointer(output), pointer(count)])
                },
                |(_, output, count), set| {
                    let count = count.to_vec()?[0] as usize;
                    let elements = output.slice(..count)?.to_vec()?;
                    Ok(sets.check(set, &Selected { elements, count }))
                },
            ))
        })
    })
}
