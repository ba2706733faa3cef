//! `naive`: log2(n) passes over the whole array. In a pass, every prefix takes in the one that is a step before it, and the
//! step doubles.

use cuda_std::{
    bf16, f16,
    prelude::*,
    scan::{Scan, Start},
};

use crate::{
    reduce::{Max, Min},
    scan::{instances::with_scans, ops::*, policy::RUNG_BLOCK},
};

/// The first pass: writes the prefix of element `i` alone, or of the element before it for an exclusive scan. The initial
/// prefix goes before the first one.
///
/// Launch: `ceil(n / 256)` blocks of 256 threads; no shared memory. Reads every element once and writes an accumulator for it.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `output` has as many elements as `input`.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_scans)]
pub unsafe fn scan_naive_first<R: Scan>(
    input: Global<R::In>,
    output: GlobalMut<R::Acc>,
    start: Start,
) {
    let i = thread::index_1d_wide();
    if i < input.len() {
        let initial = start.initial(R::IDENTITY);
        let value = match (start.is_exclusive(), i) {
            (true, 0) => initial,
            (true, _) => R::load(input.get(i - 1)),
            (false, 0) => R::combine(initial, R::load(input.get(0))),
            (false, _) => R::load(input.get(i)),
        };
        output.set(i, value);
    }
}

/// A step: combines every prefix with the one `step` before it.
///
/// Launch: `ceil(n / 256)` blocks of 256 threads; no shared memory. Reads every prefix twice and writes it once.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `output` has as many elements as `input` and does not overlap it.
///
/// Source: Hillis and Steele, "Data parallel algorithms", 1986.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_scans)]
pub unsafe fn scan_naive<R: Scan>(input: Global<R::Acc>, output: GlobalMut<R::Acc>, step: usize) {
    let i = thread::index_1d_wide();
    if i < input.len() {
        let value = input.get(i);
        let value = if i >= step {
            R::combine(input.get(i - step), value)
        } else {
            value
        };
        output.set(i, value);
    }
}

/// The last pass: writes the results of the prefixes.
///
/// Launch: `ceil(n / 256)` blocks of 256 threads; no shared memory. Reads every prefix once and writes its result.
///
/// # Safety
/// `output` has as many elements as `input`.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_scans)]
pub unsafe fn scan_naive_last<R: Scan>(input: Global<R::Acc>, output: GlobalMut<R::In>) {
    let i = thread::index_1d_wide();
    if i < input.len() {
        output.set(i, R::store(input.get(i)));
    }
}
