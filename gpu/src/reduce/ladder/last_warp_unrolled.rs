//! `last_warp_unrolled`: the last 32 lanes need no block-wide barrier.

use cuda_std::{bf16, f16, prelude::*};

use super::load::load_pair;
use crate::block;
use crate::reduce::{instances::with_reductions, ops::*, policy::RUNG_BLOCK};

/// Reduces neighboring elements, two per thread, to one partial result per block. From 64 partial results on one warp is left:
/// its steps are unrolled, and it synchronizes its own lanes only.
///
/// Launch: `ceil(n / 512)` blocks of 256 threads; static shared memory of 256 partial results.
/// Reads every element once, writes one partial result per block.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `partials` has one element per block of the launch.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_last_warp_unrolled<R: Reduction>(
    input: Global<R::In>,
    partials: GlobalMut<R::Acc>,
) {
    let tile = shared![R::Acc; RUNG_BLOCK];
    let tid = thread::thread_idx_x() as usize;
    tile.set(tid, load_pair::<R>(input));
    block::tree::<R>(tile, RUNG_BLOCK / 2, 64);
    block::last_warp::<R>(tile);
    if tid == 0 {
        partials.set(thread::block_idx_x() as usize, tile.get(0));
    }
}
