//! `best`: wide loads, several in flight per thread, and one launch.

use cuda_std::{bf16, f16, prelude::*, view::Wide};

use super::{
    instances::with_reductions,
    ops::*,
    policy::{BEST_BLOCK, BEST_UNROLL},
};
use crate::block;

/// Reduces the elements to one result in a single launch.
///
/// The grid strides over the aligned middle of the input, 16 bytes per load and four loads per thread
/// before the first is used; the ends that are not aligned go to the first threads one by one. Each
/// block writes a partial result and takes a ticket; the block with the last ticket reduces the partial
/// results in their order, so that the result does not depend on who came last. A block alone needs no ticket.
///
/// Launch: as many blocks of 256 threads as fill the device, fewer for short inputs; static shared memory
/// of 64 partial results. Reads every element once.
///
/// Determinism: the same input, alignment and grid give the same bits.
///
/// # Safety
/// `partials` has one element per block of the launch, `result` one, `ticket` one that is 0; no two
/// launches that may run at once share them. The kernel leaves `ticket` at 0.
#[kernel(launch_bounds(BEST_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_best<R: Reduction>(
    input: Global<R::In>,
    partials: GlobalMut<R::Acc>,
    ticket: GlobalMut<u32>,
    result: GlobalMut<R::Acc>,
) {
    let value = block::reduce_shuffle::<R>(accumulate::<R>(input));

    let last = shared![u32; 1];
    let tid = thread::thread_idx_x();
    if thread::grid_dim_x() == 1 {
        if tid == 0 {
            result.set(0, value);
        }
        return;
    }
    if tid == 0 {
        partials.set(thread::block_idx_x() as usize, value);
        // The partial result has to be visible before the ticket is.
        thread::device_fence();
        let mine = ticket.atomic_add(0, 1);
        last.set(0, u32::from(mine + 1 == thread::grid_dim_x()));
    }
    thread::sync_threads();
    if last.get(0) == 0 {
        return;
    }
    thread::device_fence();
    let mut value = R::IDENTITY;
    let mut i = tid as usize;
    while i < thread::grid_dim_x() as usize {
        value = R::combine(value, partials.get(i));
        i += BEST_BLOCK;
    }
    let value = block::reduce_shuffle::<R>(value);
    if tid == 0 {
        result.set(0, value);
        ticket.set(0, 0);
    }
}

/// What this thread's share of the input comes to.
#[inline(always)]
#[track_caller]
fn accumulate<R: Reduction>(input: Global<R::In>) -> R::Acc {
    let lanes = Wide::<R::In>::LEN;
    let thread = thread::index_1d_wide();
    let stride = thread::grid_stride();

    // The elements before the first 16-byte boundary, the wide loads, and the rest.
    let past = input.as_ptr().addr() % 16 / size_of::<R::In>();
    let head = if past == 0 { 0 } else { lanes - past }.min(input.len());
    let wides = (input.len() - head) / lanes;
    let tail = head + wides * lanes;

    let mut value = R::IDENTITY;
    let mut wide = thread;
    while wide + (BEST_UNROLL - 1) * stride < wides {
        let loaded: [Wide<R::In>; BEST_UNROLL] = core::array::from_fn(|round| {
            input.get_wide_streaming(head + (wide + round * stride) * lanes)
        });
        let [a, b, c, d] = loaded;
        value = R::add_wide(value, a, head + wide * lanes);
        value = R::add_wide(value, b, head + (wide + stride) * lanes);
        value = R::add_wide(value, c, head + (wide + 2 * stride) * lanes);
        value = R::add_wide(value, d, head + (wide + 3 * stride) * lanes);
        wide += BEST_UNROLL * stride;
    }
    while wide < wides {
        let first = head + wide * lanes;
        value = R::add_wide(value, input.get_wide_streaming(first), first);
        wide += stride;
    }
    if thread < head {
        value = R::combine(value, R::load(input.get(thread), thread));
    }
    if tail + thread < input.len() {
        value = R::combine(value, R::load(input.get(tail + thread), tail + thread));
    }
    value
}
