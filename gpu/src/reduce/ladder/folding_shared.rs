//! `folding_shared`: folding, with the inner folds in shared memory.

use cuda_std::{bf16, f16, prelude::*};

use super::load::load_or_identity;
use crate::reduce::{
    instances::with_reductions,
    ops::*,
    policy::{FOLD_SPAN, RUNG_BLOCK},
};

/// Folds `len` elements of `tile` to one. A fold writes the front of the array that it reads, so there is a barrier between
/// reading and writing.
#[inline(always)]
#[track_caller]
fn fold_in_place<R: Reduction>(tile: Shared<R::Acc>, mut len: usize) {
    let tid = thread::thread_idx_x() as usize;
    thread::sync_threads();
    while len > 1 {
        let remain = len - len / 2;
        if tid + remain < len {
            tile.set(tid, R::combine(tile.get(tid), tile.get(tid + remain)));
        }
        thread::sync_threads();
        len = remain;
    }
}

/// The first fold: each block folds 512 neighboring elements to one partial result.
///
/// Launch: `ceil(n / 512)` blocks of 256 threads; static shared memory of 512 partial results.
/// Reads every element once, writes one partial result per block.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `output` has one element per block of the launch.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_folding_shared_first<R: Reduction>(
    input: Global<R::In>,
    output: GlobalMut<R::Acc>,
) {
    let tile = shared![R::Acc; FOLD_SPAN];
    let tid = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let first = block * FOLD_SPAN;
    tile.set(tid, load_or_identity::<R>(input, first + tid));
    tile.set(
        tid + RUNG_BLOCK,
        load_or_identity::<R>(input, first + tid + RUNG_BLOCK),
    );
    fold_in_place::<R>(tile, FOLD_SPAN.min(input.len() - first));
    if tid == 0 {
        output.set(block, tile.get(0));
    }
}

/// A later fold, of partial results; see [`reduce_folding_shared_first`].
///
/// # Safety
/// `output` has one element per block of the launch and does not overlap `input`.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_folding_shared<R: Reduction>(
    input: Global<R::Acc>,
    output: GlobalMut<R::Acc>,
) {
    let tile = shared![R::Acc; FOLD_SPAN];
    let tid = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let first = block * FOLD_SPAN;
    let len = FOLD_SPAN.min(input.len() - first);
    for i in [tid, tid + RUNG_BLOCK] {
        if i < len {
            tile.set(i, input.get(first + i));
        }
    }
    fold_in_place::<R>(tile, len);
    if tid == 0 {
        output.set(block, tile.get(0));
    }
}
