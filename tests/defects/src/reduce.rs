//! Defects planted in the reductions of `gpu/src/reduce` and `gpu/src/block`: sums of `u32`.

use cuda_std::{
    prelude::*,
    warp::{self, FULL_MASK},
};

const BLOCK: usize = 256;

/// The element of this lane, 0 where there is none.
#[inline(always)]
fn load(input: Global<u32>) -> u32 {
    let i = thread::index_1d_wide();
    if i < input.len() { input.get(i) } else { 0 }
}

/// The sum over the full warp, in lane 0.
#[inline(always)]
#[track_caller]
fn warp_sum(mut value: u32) -> u32 {
    let mut delta = 16;
    while delta > 0 {
        value = value.wrapping_add(warp::shuffle_down(FULL_MASK, value, delta));
        delta /= 2;
    }
    value
}

/// `sequential` without the barrier before the tree.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_sequential_no_first_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    tile.set(tid, load(input));
    if !DEFECT {
        thread::sync_threads();
    }
    let mut stride = BLOCK / 2;
    while stride > 0 {
        if tid < stride {
            let other = tile.get(tid + stride); // HERE: race, init
            tile.set(tid, tile.get(tid).wrapping_add(other));
        }
        thread::sync_threads();
        stride /= 2;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// `sequential` without the barrier between the steps of the tree.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_sequential_no_step_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    tile.set(tid, load(input));
    thread::sync_threads();
    let mut stride = BLOCK / 2;
    while stride > 0 {
        if tid < stride {
            let other = tile.get(tid + stride); // HERE: race
            tile.set(tid, tile.get(tid).wrapping_add(other));
        }
        if !DEFECT {
            thread::sync_threads();
        }
        stride /= 2;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// `sequential` with one lane too many in every step.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_sequential_off_by_one<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    tile.set(tid, load(input));
    thread::sync_threads();
    let mut stride = BLOCK / 2;
    while stride > 0 {
        if tid < stride + DEFECT as usize {
            let other = tile.get(tid + stride); // HERE: mem
            tile.set(tid, tile.get(tid).wrapping_add(other));
        }
        thread::sync_threads();
        stride /= 2;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// `sequential` with the barrier inside the branch.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_sequential_barrier_in_branch<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    tile.set(tid, load(input));
    thread::sync_threads();
    let mut stride = BLOCK / 2;
    while stride > 0 {
        if tid < stride {
            let other = tile.get(tid + stride);
            tile.set(tid, tile.get(tid).wrapping_add(other));
            if DEFECT {
                thread::sync_threads(); // HERE: sync
            }
        }
        if !DEFECT {
            thread::sync_threads();
        }
        stride /= 2;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// `interleaved_divergent` where lanes without an element leave the tile as it is.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_interleaved_tail_unwritten<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    if !DEFECT || thread::index_1d_wide() < input.len() {
        tile.set(tid, load(input));
    }
    let mut stride = 1;
    while stride < BLOCK {
        thread::sync_threads();
        if tid.is_multiple_of(2 * stride) {
            let own = tile.get(tid); // HERE: init
            let other = tile.get(tid + stride); // HERE: init
            tile.set(tid, own.wrapping_add(other));
        }
        stride *= 2;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// The tree's last warp: `unrolled_tree`'s, with a `sync_warp` left out.
#[inline(always)]
fn last_warp(tile: Shared<u32>, before_write: bool, behind_write: bool) {
    let tid = thread::thread_idx_x() as usize;
    let mut value = tile.get(tid);
    let mut stride = 32;
    while stride > 0 {
        value = value.wrapping_add(tile.get(tid + stride)); // HERE: race
        if before_write {
            // SAFETY: all 32 lanes of the first warp are here.
            unsafe { warp::sync_warp(FULL_MASK) };
        }
        tile.set(tid, value);
        if behind_write {
            // SAFETY: as above.
            unsafe { warp::sync_warp(FULL_MASK) };
        }
        stride /= 2;
    }
}

/// `last_warp_unrolled` without `sync_warp` between reading and writing.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_last_warp_no_sync_before_write<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: last_warp
    let tile = shared![u32; 64];
    let tid = thread::thread_idx_x() as usize;
    if tid < 64 {
        tile.set(tid, load(input));
    }
    thread::sync_threads();
    if tid < 32 {
        last_warp(tile, !DEFECT, true);
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// `last_warp_unrolled` without `sync_warp` between writing and reading.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_last_warp_no_sync_behind_write<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: last_warp
    let tile = shared![u32; 64];
    let tid = thread::thread_idx_x() as usize;
    if tid < 64 {
        tile.set(tid, load(input));
    }
    thread::sync_threads();
    if tid < 32 {
        last_warp(tile, true, !DEFECT);
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// `last_warp_unrolled` with a `sync_warp` that names half of the lanes that come.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_last_warp_half_mask<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; 32];
    let tid = thread::thread_idx_x() as usize;
    let mask = if DEFECT { 0xffff } else { FULL_MASK };
    if tid < 32 {
        tile.set(tid, load(input));
        // SAFETY: the lanes of the first warp are here; that the mask names them is what is wrong.
        unsafe { warp::sync_warp(mask) }; // HERE: sync
        let other = tile.get(tid ^ 1);
        output.set(thread::block_idx_x() as usize * 32 + tid, other);
    }
}

/// `last_warp_unrolled` with a shuffle, which orders no memory, in place of `sync_warp`.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_last_warp_shuffle_for_sync<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; 32];
    let tid = thread::thread_idx_x() as usize;
    if tid < 32 {
        tile.set(tid, load(input));
        if DEFECT {
            warp::shuffle(FULL_MASK, tid as u32, 0);
        } else {
            // SAFETY: all 32 lanes of the first warp are here.
            unsafe { warp::sync_warp(FULL_MASK) };
        }
        let other = tile.get(tid ^ 1); // HERE: race
        output.set(thread::block_idx_x() as usize * 32 + tid, other);
    }
}

/// `warp_shuffle` with a mask that leaves out the last lane.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_shuffle_wrong_mask<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let mask = if DEFECT { FULL_MASK >> 1 } else { FULL_MASK };
    let mut value = load(input);
    let mut delta = 16;
    while delta > 0 {
        let other = warp::shuffle_down(mask, value, delta); // HERE: sync
        value = value.wrapping_add(other);
        delta /= 2;
    }
    if thread::thread_idx_x() == 0 {
        output.set(thread::block_idx_x() as usize, value);
    }
}

/// `warp_shuffle` by half of the lanes that the mask names.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_shuffle_absent_lanes<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let mut value = load(input);
    let lane = warp::lane_id();
    if !DEFECT || lane < 16 {
        let mut delta = 16;
        while delta > 0 {
            let other = warp::shuffle_down(FULL_MASK, value, delta); // HERE: sync
            value = value.wrapping_add(other);
            delta /= 2;
        }
    }
    if thread::thread_idx_x() == 0 {
        output.set(thread::block_idx_x() as usize, value);
    }
}

/// `reduce_shuffle` that takes as many warps' results as a block could have.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_shuffle_results_unwritten<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let results = shared![u32; 32];
    let tid = thread::thread_idx_x() as usize;
    let warps = thread::block_dim_x() as usize / 32;
    let value = warp_sum(load(input));
    if tid.is_multiple_of(32) {
        results.set(tid / 32, value);
    }
    thread::sync_threads();
    if tid < 32 {
        let mut value = 0;
        if DEFECT || tid < warps {
            value = results.get(tid); // HERE: init
        }
        value = warp_sum(value);
        if tid == 0 {
            output.set(thread::block_idx_x() as usize, value);
        }
    }
}

/// `reduce_shuffle` without the barrier between the warps' results and the last warp.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_shuffle_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let results = shared![u32; 8];
    let tid = thread::thread_idx_x() as usize;
    let value = warp_sum(load(input));
    if tid.is_multiple_of(32) {
        results.set(tid / 32, value);
    }
    if !DEFECT {
        thread::sync_threads();
    }
    if tid == 0 {
        let mut value = 0_u32;
        for warp in 0..8 {
            value = value.wrapping_add(results.get(warp)); // HERE: race, init
        }
        output.set(thread::block_idx_x() as usize, value);
    }
}

/// `reduce_shuffle` called twice without a barrier between the calls.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_shuffle_reused_results<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let results = shared![u32; 8];
    let tid = thread::thread_idx_x() as usize;
    let mut total = 0_u32;
    let mut round = 0;
    while round < 2 {
        let value = warp_sum(load(input).wrapping_add(round));
        if tid.is_multiple_of(32) {
            results.set(tid / 32, value); // HERE: race
        }
        thread::sync_threads();
        if tid == 0 {
            for warp in 0..8 {
                total = total.wrapping_add(results.get(warp));
            }
        }
        if !DEFECT {
            thread::sync_threads();
        }
        round += 1;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, total);
    }
}

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

/// `cascaded` that takes one element behind the last.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_cascaded_off_by_one<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let mut value = 0_u32;
    let mut i = thread::index_1d_wide();
    while i < input.len() + DEFECT as usize {
        value = value.wrapping_add(input.get(i)); // HERE: mem
        i += thread::grid_stride();
    }
    let value = warp_sum(value);
    if thread::thread_idx_x() == 0 {
        output.set(thread::block_idx_x() as usize, value);
    }
}

/// `add_on_load` that does not ask whether there is a second element.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_add_on_load_unguarded<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let first = thread::block_idx_x() as usize * 2 * BLOCK + thread::thread_idx_x() as usize;
    let mut value = 0;
    if first < input.len() {
        value = input.get(first);
        if DEFECT || first + BLOCK < input.len() {
            value = value.wrapping_add(input.get(first + BLOCK)); // HERE: mem
        }
    }
    let value = warp_sum(value);
    if thread::thread_idx_x() == 0 {
        output.set(thread::block_idx_x() as usize, value);
    }
}

/// `folding` of neighbours, in place: a lane writes what another one still has to read.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_folding_in_place<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let i = thread::index_1d_wide();
    if 2 * i + 1 < input.len() {
        if DEFECT {
            let value = output.get(2 * i).wrapping_add(output.get(2 * i + 1)); // HERE: race
            output.set(i, value); // HERE: race
        } else {
            scratch.set(i, input.get(2 * i).wrapping_add(input.get(2 * i + 1)));
        }
    }
}

/// `finish` where two blocks give their result to one place.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_finish_shared_place<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let block = thread::block_idx_x() as usize;
    let value = warp_sum(load(input));
    if thread::thread_idx_x() == 0 {
        output.set(if DEFECT { block / 2 } else { block }, value); // HERE: race
    }
}
