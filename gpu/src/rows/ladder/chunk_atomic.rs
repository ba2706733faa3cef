//! `chunk_atomic`: a chunk per thread, and one atomic operation.

use cuda_std::prelude::*;

use crate::rows::policy::{CHUNK, RUNG_BLOCK};
use crate::{
    axis::{Along, Mean, Sum, with_axis_reductions},
    reduce::{Max, Min},
};

/// Reduces 128 neighboring elements of a row per thread (fewer at its end), and combines the result with the row's total by one
/// atomic operation. Neighboring threads read elements that are 128 apart.
///
/// Launch: one thread per chunk, chunks of a row first, in blocks of 256; no shared memory. Reads every
/// element once, and one atomic operation per chunk.
///
/// Determinism: integers, and minima and maxima, are exact. Float totals are combined in the order in which the threads arrive,
/// so that their last bits may differ from run to run.
///
/// # Safety
/// `input` has a multiple of `width` elements. `totals` has one element per row, initially the identity, which nothing else
/// accesses.
///
/// Source: the row sums of a tutorial on axis sums (a chunk per thread, then an atomic addition).
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_axis_reductions)]
pub unsafe fn rows_chunk_atomic<A: Along>(
    input: Global<A::In>,
    totals: GlobalMut<A::Acc>,
    width: usize,
) {
    let chunks = width.div_ceil(CHUNK);
    let chunk = thread::index_1d_wide();
    let (row, chunk) = (chunk / chunks, chunk % chunks);
    if row >= totals.len() {
        return;
    }
    let first = row * width + chunk * CHUNK;
    let mut part = A::EMPTY;
    for i in 0..CHUNK.min(width - chunk * CHUNK) {
        part = A::add(part, input.get(first + i));
    }
    A::combine_atomic(totals, row, A::total(part));
}

/// Turns the totals into results, and sets the totals back to the identity for the next launch.
///
/// Launch: one thread per row in blocks of 256; no shared memory. Reads and writes one total and writes one result per row.
/// Exact except for the rounding of the result.
///
/// # Safety
/// `totals` has at least as many elements as `output`, and does not overlap it.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_axis_reductions)]
pub unsafe fn rows_chunk_atomic_finish<A: Along>(
    totals: GlobalMut<A::Acc>,
    output: GlobalMut<A::Out>,
    width: usize,
) {
    let row = thread::index_1d_wide();
    if row < output.len() {
        output.set(row, A::finish(totals.get(row), width));
        totals.set(row, A::IDENTITY);
    }
}
