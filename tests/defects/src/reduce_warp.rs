//! Defects planted in what the reductions do within a warp (`gpu/src/block`, `gpu/src/reduce`).

use cuda_std::{
    prelude::*,
    warp::{self, FULL_MASK},
};

use crate::{
    NOTHING,
    reduce::{load, warp_sum},
};

// What is wrong with the last warp's tree.
wrong! { in_reduce_last_warp:
    /// There is no `sync_warp` between reading and writing.
    NO_SYNC_BEFORE_WRITE = 1, // AT: reduce_last_warp
    /// There is no `sync_warp` between writing and reading.
    NO_SYNC_BEHIND_WRITE = 2, // AT: reduce_last_warp
}

/// `last_warp_unrolled`, its last warp's tree.
#[kernel(launch_bounds(256), instances = in_reduce_last_warp)]
pub unsafe fn reduce_last_warp<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; 64];
    let tid = thread::thread_idx_x() as usize;
    if tid < 64 {
        tile.set(tid, load(input));
    }
    thread::sync_threads();
    if tid >= 32 {
        return;
    }
    let mut value = tile.get(tid);
    let mut stride = 32;
    while stride > 0 {
        value = value.wrapping_add(tile.get(tid + stride)); // HERE: race
        if WRONG != NO_SYNC_BEFORE_WRITE {
            // SAFETY: all 32 lanes of the first warp are here.
            unsafe { warp::sync_warp(FULL_MASK) };
        }
        tile.set(tid, value);
        if WRONG != NO_SYNC_BEHIND_WRITE {
            // SAFETY: as above.
            unsafe { warp::sync_warp(FULL_MASK) };
        }
        stride /= 2;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

// What is wrong with a step of the tree.
wrong! { in_reduce_last_warp_pairs:
    /// The `sync_warp` names half of the lanes that come.
    HALF_MASK = 3, // AT: reduce_last_warp_pairs for sync
    /// A shuffle, which orders no memory, is in place of `sync_warp`.
    SHUFFLE_FOR_SYNC = 4, // AT: reduce_last_warp_pairs for race
}

/// A step of `last_warp_unrolled`: each lane takes its neighbour's element.
#[kernel(launch_bounds(256), instances = in_reduce_last_warp_pairs)]
pub unsafe fn reduce_last_warp_pairs<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; 32];
    let tid = thread::thread_idx_x() as usize;
    if tid >= 32 {
        return;
    }
    tile.set(tid, load(input));
    if WRONG == SHUFFLE_FOR_SYNC {
        warp::shuffle(FULL_MASK, tid as u32, 0);
    } else {
        let mask = match WRONG {
            HALF_MASK => 0xffff,
            _ => FULL_MASK,
        };
        // SAFETY: the lanes of the first warp are here; where the mask names others, that is what is wrong.
        unsafe { warp::sync_warp(mask) }; // HERE: sync
    }
    let other = tile.get(tid ^ 1); // HERE: race
    output.set(thread::block_idx_x() as usize * 32 + tid, other);
}

// What is wrong with `warp_shuffle`.
wrong! { in_reduce_shuffle:
    /// The mask leaves out the last lane.
    WRONG_MASK = 5, // AT: reduce_shuffle
    /// Half of the lanes that the mask names come.
    ABSENT_LANES = 6, // AT: reduce_shuffle
}

/// `warp_shuffle`.
#[kernel(launch_bounds(256), instances = in_reduce_shuffle)]
pub unsafe fn reduce_shuffle<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let mask = match WRONG {
        WRONG_MASK => FULL_MASK >> 1,
        _ => FULL_MASK,
    };
    let mut value = load(input);
    if WRONG != ABSENT_LANES || warp::lane_id() < 16 {
        let mut delta = 16;
        while delta > 0 {
            let other = warp::shuffle_down(mask, value, delta); // HERE: sync
            value = value.wrapping_add(other);
            delta /= 2;
        }
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

// What is wrong with `reduce_shuffle`.
wrong! { in_reduce_block_shuffle:
    /// As many warps' results are taken as a block could have.
    RESULTS_UNWRITTEN = 7, // AT: reduce_block_shuffle for init
    /// There is no barrier between the warps' results and the last warp.
    NO_BARRIER = 8, // AT: reduce_block_shuffle for race, init
    /// There is no barrier between two calls.
    REUSED_RESULTS = 9, // AT: reduce_block_shuffle for race
}

/// `reduce_shuffle`, called twice.
#[kernel(launch_bounds(256), instances = in_reduce_block_shuffle)]
pub unsafe fn reduce_block_shuffle<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let results = shared![u32; 32];
    let tid = thread::thread_idx_x() as usize;
    let warps = thread::block_dim_x() as usize / 32;
    let mut total = 0_u32;
    let mut round = 0;
    while round < 2 {
        let value = warp_sum(load(input).wrapping_add(round));
        if tid.is_multiple_of(32) {
            results.set(tid / 32, value); // HERE: race of REUSED_RESULTS
        }
        if WRONG != NO_BARRIER {
            thread::sync_threads();
        }
        if tid < 32 {
            let mut value = 0;
            if WRONG == RESULTS_UNWRITTEN || tid < warps {
                value = results.get(tid); // HERE: race, init of NO_BARRIER, RESULTS_UNWRITTEN
            }
            total = total.wrapping_add(warp_sum(value));
        }
        if WRONG != REUSED_RESULTS {
            thread::sync_threads();
        }
        round += 1;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, total);
    }
}
