//! `best`: wide loads, several in flight per thread, and as many threads per row as it has work for.
//!
//! ```text
//! rows_best, short rows:                              rows_best_long, long rows:
//!     2^lanes_log2 lanes share a row                      `blocks` blocks share a row
//!     each adds its 16-byte chunks, UNROLL in flight      each adds its part, UNROLL loads in flight per thread
//!     shuffles combine the lanes' totals                  shuffles and shared memory combine the block's totals
//!     lane 0 stores the result                            the block with the row's last ticket combines the blocks' totals,
//!     next row of this warp                               in index order, and stores the result
//! ```
//!
//! The host chooses the number of lanes or blocks by the row's length, so that every load is 16 bytes wide and every thread has
//! several. A block for each of a few long rows would not fill the device.

use cuda_std::prelude::*;

use super::{load::accumulate, policy::Policy};
use crate::{
    axis::{Along, Mean, Sum, with_axis_reductions},
    block,
    reduce::{Max, Min},
    tuning::{Numbers, Tuned, numbers},
};

/// Reduces each row with 1, 2, 4, 8, 16 or 32 lanes of a warp (`2^lanes_log2`), which load 16 bytes at a time and then combine
/// their totals by shuffles.
///
/// Launch: as many blocks of 256 threads as fill the device, fewer if there are few rows; no shared memory. Reads every element
/// once, writes one result per row.
///
/// Determinism: the same input, alignment and number of lanes give the same bits.
///
/// # Safety
/// `input` has `width` elements per element of `output`; they do not overlap; `lanes_log2` is at most 5.
#[kernel(
    launch_bounds(numbers::<Policy, A::In>(ROW).block as u32),
    instances = with_axis_reductions,
    tuned(sum_u8 as u8: 0..8, sum_f32 as f32: 0..8)
)]
pub unsafe fn rows_best<A: Along, const ROW: usize>(
    input: Global<A::In>,
    output: GlobalMut<A::Out>,
    width: usize,
    lanes_log2: u32,
) {
    short::<A, Numbers<A::In, ROW>>(input, output, width, lanes_log2);
}

/// The body of [`rows_best`], with the values of the policy row `N`.
#[inline(always)]
#[track_caller]
fn short<A: Along, N: Tuned<Policy>>(
    input: Global<A::In>,
    output: GlobalMut<A::Out>,
    width: usize,
    lanes_log2: u32,
) {
    let thread = thread::index_1d_wide();
    let lanes = 1_usize << lanes_log2;
    let lane = thread & (lanes - 1);
    // The first row of this warp, whose lanes stay together.
    let mut first = (thread & !31) >> lanes_log2;
    let own = (thread & 31) >> lanes_log2;
    while first < output.len() {
        let row = first + own;
        let mut total = A::IDENTITY;
        if row < output.len() {
            total = accumulate::<A, N>(input, row * width, (row + 1) * width, lane, lanes);
        }
        let mut mask = lanes as u32 / 2;
        while mask > 0 {
            total = A::combine(total, warp::shuffle_xor(warp::FULL_MASK, total, mask));
            mask /= 2;
        }
        if lane == 0 && row < output.len() {
            output.set(row, A::finish(total, width));
        }
        first += thread::grid_stride() >> lanes_log2;
    }
}

/// Reduces each row with `blocks` blocks. Each block takes `elements_per_block` neighboring elements, stores its total and
/// takes a ticket. The block with the row's last ticket combines the totals in index order.
///
/// Launch: `blocks` blocks of 256 threads per row, blocks of a row first; static shared memory of 32 totals.
/// Reads every element once.
///
/// Determinism: the same input, alignment and grid give the same bits.
///
/// # Safety
/// `input` has `width` elements per element of `output`. Every block has an element. `totals` has one element per block, and
/// `tickets` one per row that is 0 (neither is needed for one block per row). Launches that may run at the same time do not
/// share them. Nothing overlaps. The kernel leaves the tickets at 0.
#[kernel(
    launch_bounds(numbers::<Policy, A::In>(ROW).block as u32),
    instances = with_axis_reductions,
    tuned(sum_u8 as u8: 0..8, sum_f32 as f32: 0..8)
)]
pub unsafe fn rows_best_long<A: Along, const ROW: usize>(
    input: Global<A::In>,
    totals: GlobalMut<A::Acc>,
    tickets: GlobalMut<u32>,
    output: GlobalMut<A::Out>,
    width: usize,
    blocks: u32,
    elements_per_block: usize,
) {
    long::<A, Numbers<A::In, ROW>>(
        input,
        totals,
        tickets,
        output,
        width,
        blocks,
        elements_per_block,
    );
}

/// The body of [`rows_best_long`], with the values of the policy row `N`.
#[inline(always)]
#[track_caller]
fn long<A: Along, N: Tuned<Policy>>(
    input: Global<A::In>,
    totals: GlobalMut<A::Acc>,
    tickets: GlobalMut<u32>,
    output: GlobalMut<A::Out>,
    width: usize,
    blocks: u32,
    elements_per_block: usize,
) {
    let tid = thread::thread_idx_x() as usize;
    let row = (thread::block_idx_x() / blocks) as usize;
    let blocks = blocks as usize;
    let index = thread::block_idx_x() as usize - row * blocks;
    let from = row * width + index * elements_per_block;
    let to = ((row + 1) * width).min(from + elements_per_block);
    let mut total = accumulate::<A, N>(input, from, to, tid, N::POLICY.block);
    total = block::reduce_shuffle::<A>(total);
    if blocks > 1 {
        if tid == 0 {
            totals.set(row * blocks + index, total);
        }
        if !block::is_last(tickets, row, blocks as u32) {
            return;
        }
        total = A::IDENTITY;
        let mut i = tid;
        while i < blocks {
            total = A::combine(total, totals.get(row * blocks + i));
            i += N::POLICY.block;
        }
        total = block::reduce_shuffle::<A>(total);
    }
    if tid == 0 {
        output.set(row, A::finish(total, width));
    }
}
