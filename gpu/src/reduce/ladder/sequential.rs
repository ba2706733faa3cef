//! `sequential`: the stride halves, neighboring threads read neighboring elements.

use cuda_std::{bf16, f16, prelude::*};

use super::load::load_or_identity;
use crate::block;
use crate::reduce::{instances::with_reductions, ops::*, policy::RUNG_BLOCK};

/// Reduces neighboring elements, one per thread, to one partial result per block, by a tree whose stride halves. Warps do not
/// diverge, and there are no bank conflicts.
///
/// Launch: `ceil(n / 256)` blocks of 256 threads; static shared memory of 256 partial results.
/// Reads every element once, writes one partial result per block.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `partials` has one element per block of the launch.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_sequential<R: Reduction>(input: Global<R::In>, partials: GlobalMut<R::Acc>) {
    let tile = shared![R::Acc; RUNG_BLOCK];
    let tid = thread::thread_idx_x() as usize;
    let i = thread::index_1d_wide();
    tile.set(tid, load_or_identity::<R>(input, i));
    block::tree::<R>(tile, RUNG_BLOCK / 2, 1);
    if tid == 0 {
        partials.set(thread::block_idx_x() as usize, tile.get(0));
    }
}
