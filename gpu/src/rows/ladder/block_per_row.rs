//! `block_per_row`: a block strides along a row.

use cuda_std::prelude::*;

use crate::rows::policy::ROW_BLOCK;
use crate::{
    axis::{Along, CHUNK, Mean, Sum, with_axis_reductions},
    block,
    reduce::{Max, Min},
};

/// Reduces one row per block. 512 threads stride along the row, one element per load, and a tree in shared memory combines
/// their totals.
///
/// Launch: one block of 512 threads per row (if there are more rows than a grid has blocks, each block takes several); static
/// shared memory of 512 totals. Reads every element once, writes one result per row.
///
/// Determinism: the same width gives the same order, on every device.
///
/// # Safety
/// `input` has `width` elements per element of `output`; they do not overlap.
///
/// Source: the row sums of a tutorial on axis sums (512 threads per row, then shared memory).
#[kernel(launch_bounds(ROW_BLOCK as u32), instances = with_axis_reductions)]
pub unsafe fn rows_block_per_row<A: Along>(
    input: Global<A::In>,
    output: GlobalMut<A::Out>,
    width: usize,
) {
    let tile = shared![A::Acc; ROW_BLOCK];
    let tid = thread::thread_idx_x() as usize;
    let mut row = thread::block_idx_x() as usize;
    while row < output.len() {
        let mut total = A::IDENTITY;
        let mut i = tid;
        while i < width {
            let stop = width.min(i + CHUNK * ROW_BLOCK);
            let mut part = A::EMPTY;
            while i < stop {
                part = A::add(part, input.get(row * width + i));
                i += ROW_BLOCK;
            }
            total = A::combine(total, A::total(part));
        }
        tile.set(tid, total);
        block::tree::<A>(tile, ROW_BLOCK / 2, 1);
        if tid == 0 {
            output.set(row, A::finish(tile.get(0), width));
        }
        // The next row's totals must not be written before this row's total is read.
        thread::sync_threads();
        row += thread::grid_dim_x() as usize;
    }
}
