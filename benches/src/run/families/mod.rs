//! The cases, one file per family.

mod axis;
mod convolution;
mod gemm;
mod histogram;
mod map;
mod random;
mod reduce;
mod transpose;

use std::cell::OnceCell;

use warpwright::Device;
use warpwright_workloads::{Problem, Sets};

use super::{Bench, Contender, Result, local};

/// A family's name, and what does its cases.
type Family = (&'static str, fn(&mut Bench));

/// The families, in the order of a run.
pub const FAMILIES: &[Family] = &[
    ("reduce", reduce::run),
    ("columns", axis::columns),
    ("rows", axis::rows),
    ("transpose", transpose::run),
    ("histogram", histogram::run),
    ("convolution", convolution::run),
    ("map", map::run),
    ("random", random::run),
    ("gemm", gemm::run),
];

/// The library on the sets of a problem, by the variant that it chooses.
fn ours<'a, P: Problem>(sets: &'a Sets<P>, device: &Device) -> Result<Box<dyn Contender + 'a>> {
    Ok(local(
        sets.prepare(device, None)?,
        |prepared, set| Ok(prepared[set].enqueue()?),
        |prepared, set| Ok(sets.check(set, &prepared[set].answer()?)),
    ))
}

/// What is made in a case and lives on after it.
fn made<T>(place: &OnceCell<T>, value: warpwright::Result<T>) -> Result<&T> {
    let value = value?;
    Ok(place.get_or_init(|| value))
}
