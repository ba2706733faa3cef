//! Defects planted in what the reductions do within a warp (`gpu/src/block`, `gpu/src/reduce`).

use cuda_std::{
    prelude::*,
    warp::{self, FULL_MASK},
};

use crate::reduce::{load, warp_sum};

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

/// `warp_shuffle` of the lower half of each warp, that takes values of the upper half.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_shuffle_source_outside_of_mask<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let mut value = load(input);
    if warp::lane_id() < 16 {
        let width = if DEFECT { 32 } else { 16 };
        let mut delta = width / 2;
        while delta > 0 {
            let other = warp::shuffle_down_width(0xffff, value, delta, width); // HERE: sync
            value = value.wrapping_add(other);
            delta /= 2;
        }
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
