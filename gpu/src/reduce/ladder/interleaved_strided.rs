//! `interleaved_strided`: the stride doubles, and neighboring threads work.

use cuda_std::{bf16, f16, prelude::*};

use super::load::load_or_identity;
use crate::reduce::{instances::with_reductions, ops::*, policy::RUNG_BLOCK};

/// Reduces neighboring elements, one per thread, to one partial result per block. The working threads are the first ones, so
/// warps do not diverge, but their elements in shared memory are `2 * stride` apart and share banks.
///
/// Launch: `ceil(n / 256)` blocks of 256 threads; static shared memory of 256 partial results.
/// Reads every element once, writes one partial result per block.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `partials` has one element per block of the launch.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_interleaved_strided<R: Reduction>(
    input: Global<R::In>,
    partials: GlobalMut<R::Acc>,
) {
    let tile = shared![R::Acc; RUNG_BLOCK];
    let tid = thread::thread_idx_x() as usize;
    let i = thread::index_1d_wide();
    tile.set(tid, load_or_identity::<R>(input, i));
    thread::sync_threads();
    let mut stride = 1;
    while stride < RUNG_BLOCK {
        let first = 2 * stride * tid;
        if first < RUNG_BLOCK {
            tile.set(first, R::combine(tile.get(first), tile.get(first + stride)));
        }
        thread::sync_threads();
        stride *= 2;
    }
    if tid == 0 {
        partials.set(thread::block_idx_x() as usize, tile.get(0));
    }
}
