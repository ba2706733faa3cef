//! The cases, one file per family.

mod axis;
mod convolution;
mod gemm;
mod histogram;
mod map;
mod random;
mod reduce;
mod transpose;

use super::{Bench, Result};

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

/// A comparison of two lists of results: what is wrong with the first difference.
fn equal<T: PartialEq + std::fmt::Debug + Sync>(expected: &[T], found: &[T]) -> Result<(), String> {
    use rayon::prelude::*;
    if expected.len() != found.len() {
        return Err(format!(
            "expected {} elements, found {}",
            expected.len(),
            found.len()
        ));
    }
    let wrong = expected
        .par_iter()
        .zip(found)
        .enumerate()
        .find_first(|(_, (expected, found))| expected != found);
    match wrong {
        None => Ok(()),
        Some((at, (expected, found))) => {
            Err(format!("at {at}: expected {expected:?}, found {found:?}"))
        }
    }
}

/// Something on the device for each of `sets` equal parts of the values.
fn uploaded<T, V>(
    values: &[T],
    sets: usize,
    upload: impl Fn(&[T]) -> Result<V>,
) -> Result<Vec<V>, String> {
    let parts = values.chunks((values.len() / sets).max(1));
    parts
        .map(upload)
        .collect::<Result<_>>()
        .map_err(|error| error.to_string())
}

/// Between -1 and 1, in steps that `f32` has.
fn unit(hash: u64) -> f64 {
    f64::from((hash as i32) >> 8) / f64::from(1 << 23)
}
