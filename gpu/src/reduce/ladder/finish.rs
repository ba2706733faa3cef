//! The last pass, which reduces partial results.

use cuda_std::{bf16, f16, prelude::*};

use crate::block;
use crate::reduce::{
    instances::with_reductions,
    ops::*,
    policy::{FINISH_BLOCK, FINISH_SPAN},
};

/// Reduces partial results: each block reduces 32768 neighboring ones to one.
///
/// Launch: `ceil(n / 32768)` blocks of 512 threads; static shared memory of 32 partial results.
/// Reads every partial result once, writes one per block.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `output` has one element per block of the launch and does not overlap `partials`.
#[kernel(launch_bounds(FINISH_BLOCK as u32), instances = with_reductions)]
pub unsafe fn reduce_finish<R: Reduction>(partials: Global<R::Acc>, output: GlobalMut<R::Acc>) {
    let block = thread::block_idx_x() as usize;
    let end = partials.len().min((block + 1) * FINISH_SPAN);
    let mut value = R::IDENTITY;
    let mut i = block * FINISH_SPAN + thread::thread_idx_x() as usize;
    while i < end {
        value = R::combine(value, partials.get(i));
        i += FINISH_BLOCK;
    }
    let value = block::reduce_shuffle::<R>(value);
    if thread::thread_idx_x() == 0 {
        output.set(block, value);
    }
}
