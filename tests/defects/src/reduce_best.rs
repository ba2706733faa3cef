//! Defects planted in how the blocks of `best` hand on their partial results (`gpu/src/reduce/best.rs`).

use cuda_std::prelude::*;

use crate::reduce::{BLOCK, load};

/// What `best` may do wrong when it hands partial results to the last block.
#[inline(always)]
fn one_launch(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    release: impl Fn(),
    acquire: impl Fn(),
) {
    let blocks = thread::grid_dim_x() as usize;
    let last = shared![u32; 1];
    let tid = thread::thread_idx_x() as usize;
    let value = load(input);
    if tid == 0 {
        scratch.set(1 + thread::block_idx_x() as usize, value);
        release();
        let mine = scratch.atomic_add(0, 1);
        last.set(0, (mine as usize + 1 == blocks) as u32);
    }
    thread::sync_threads();
    if last.get(0) == 0 {
        return;
    }
    acquire();
    if tid < blocks {
        let value = scratch.get(1 + tid); // HERE: race
        output.set(tid, value);
    }
}

/// `best` without the fence before the ticket.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_no_release<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: one_launch
    let release = || {
        if !DEFECT {
            thread::device_fence();
        }
    };
    one_launch(input, output, scratch, release, thread::device_fence);
}

/// `best` without the fence behind the ticket.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_no_acquire<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: one_launch
    let acquire = || {
        if !DEFECT {
            thread::device_fence();
        }
    };
    one_launch(input, output, scratch, thread::device_fence, acquire);
}

/// `best` with a fence that other blocks do not see.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_fence_of_the_block<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: one_launch
    let release = || {
        if DEFECT {
            thread::block_fence();
        } else {
            thread::device_fence();
        }
    };
    one_launch(input, output, scratch, release, thread::device_fence);
}

/// `best` that takes its ticket by a read and a write.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_plain_ticket<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    if thread::thread_idx_x() == 0 {
        scratch.set(1 + thread::block_idx_x() as usize, load(input));
        thread::device_fence();
        if DEFECT {
            let mine = scratch.get(0); // HERE: race
            scratch.set(0, mine + 1);
        } else {
            scratch.atomic_add(0, 1);
        }
        output.set(thread::block_idx_x() as usize, 0);
    }
}

/// `best` whose last block reads a partial result that no block wrote.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_partial_unwritten<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let block = thread::block_idx_x() as usize;
    if thread::thread_idx_x() == 0 {
        if !DEFECT || block < input.len() / BLOCK {
            scratch.set(block, load(input));
        }
        let value = scratch.get(block); // HERE: init
        output.set(block, value);
    }
}

/// `best` that looks at the block's flag without a barrier.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_best_flag_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let last = shared![u32; 1];
    let tid = thread::thread_idx_x() as usize;
    if tid == 0 {
        last.set(0, load(input));
    }
    if !DEFECT {
        thread::sync_threads();
    }
    let flag = last.get(0); // HERE: race, init
    if tid < 32 {
        output.set(thread::block_idx_x() as usize * 32 + tid, flag);
    }
}
