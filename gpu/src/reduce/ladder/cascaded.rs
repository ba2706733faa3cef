//! `cascaded`: each thread first adds many elements.

use cuda_std::{bf16, f16, prelude::*};

use super::load::load_strided;
use crate::block;
use crate::reduce::{instances::with_reductions, ops::*, policy::RUNG_BLOCK};

/// Reduces the elements in a grid-stride loop, then by the unrolled tree, so that the work of the tree does not grow with the
/// input.
///
/// Launch: as many blocks as fill the device of 256 threads; static shared memory of 256 partial results.
/// Reads every element once, writes one partial result per block.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `partials` has one element per block of the launch.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_cascaded<R: Reduction>(input: Global<R::In>, partials: GlobalMut<R::Acc>) {
    let tile = shared![R::Acc; RUNG_BLOCK];
    let tid = thread::thread_idx_x() as usize;
    tile.set(tid, load_strided::<R>(input));
    block::unrolled_tree::<R, RUNG_BLOCK>(tile);
    if tid == 0 {
        partials.set(thread::block_idx_x() as usize, tile.get(0));
    }
}
