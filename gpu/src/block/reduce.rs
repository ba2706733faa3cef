//! Reductions of one value per thread of a block.
//!
//! Every thread of a one-dimensional block must call them. Thread 0 gets the result; the results of the other threads are
//! meaningless.

use cuda_std::{
    Shared, shared, thread,
    warp::{self, FULL_MASK},
};

use crate::reduce::Reduction;

/// Does one step of a tree: each of the first `stride` threads combines its element with the one `stride` further on.
#[inline(always)]
fn step<R: Reduction>(tile: Shared<R::Acc>, tid: usize, stride: usize) {
    if tid < stride {
        tile.set(tid, R::combine(tile.get(tid), tile.get(tid + stride)));
    }
}

/// Reduces the first `2 * from` elements of `tile` to element 0 by a tree. The stride halves from `from` (a power of two) down
/// to `to`. The function begins and ends with a barrier.
#[inline(always)]
#[track_caller]
pub fn tree<R: Reduction>(tile: Shared<R::Acc>, from: usize, to: usize) {
    let tid = thread::thread_idx_x() as usize;
    thread::sync_threads();
    let mut stride = from;
    while stride >= to {
        step::<R>(tile, tid, stride);
        thread::sync_threads();
        stride /= 2;
    }
}

/// Reduces the first 64 elements of `tile` to element 0, with the first warp only. The lanes synchronize between reading and
/// writing, because they do not run in lockstep.
///
/// Every thread of the block may call it; only the first 32 do anything.
#[inline(always)]
pub fn last_warp<R: Reduction>(tile: Shared<R::Acc>) {
    let tid = thread::thread_idx_x() as usize;
    if tid < 32 {
        let mut value = tile.get(tid);
        let mut stride = 32;
        while stride > 0 {
            value = R::combine(value, tile.get(tid + stride));
            // SAFETY: all 32 lanes of the first warp are here, with the same trip count.
            unsafe { warp::sync_warp(FULL_MASK) };
            tile.set(tid, value);
            // SAFETY: as above.
            unsafe { warp::sync_warp(FULL_MASK) };
            stride /= 2;
        }
    }
}

/// Reduces `BLOCK` elements of `tile` to element 0 with every step unrolled. `BLOCK` is a power of two from 64 to 1024.
#[inline(always)]
#[track_caller]
pub fn unrolled_tree<R: Reduction, const BLOCK: usize>(tile: Shared<R::Acc>) {
    const { assert!(BLOCK.is_power_of_two() && BLOCK >= 64 && BLOCK <= 1024) };
    let tid = thread::thread_idx_x() as usize;
    thread::sync_threads();
    if BLOCK >= 1024 {
        step::<R>(tile, tid, 512);
        thread::sync_threads();
    }
    if BLOCK >= 512 {
        step::<R>(tile, tid, 256);
        thread::sync_threads();
    }
    if BLOCK >= 256 {
        step::<R>(tile, tid, 128);
        thread::sync_threads();
    }
    if BLOCK >= 128 {
        step::<R>(tile, tid, 64);
        thread::sync_threads();
    }
    last_warp::<R>(tile);
}

/// Reduces one value per lane of a full warp to lane 0.
#[inline(always)]
#[track_caller]
pub fn reduce_warp<R: Reduction>(value: R::Acc) -> R::Acc {
    reduce_lanes::<R>(value, 32)
}

/// Reduces the values of the first `lanes` lanes of a full warp to lane 0, or of all lanes if `lanes` is not a power of two.
#[inline(always)]
#[track_caller]
fn reduce_lanes<R: Reduction>(mut value: R::Acc, lanes: u32) -> R::Acc {
    let mut delta = 16;
    while delta > 0 {
        // The condition is the same for all lanes.
        if delta < lanes {
            value = R::merge(value, warp::shuffle_down(FULL_MASK, value, delta));
        }
        delta /= 2;
    }
    value
}

/// Reduces one value per thread by shuffles: first within each warp, then over the warps' results in one warp. The number of
/// threads of the block must be a multiple of 32. Two barriers allow repeated calls.
#[inline(always)]
#[track_caller]
pub fn reduce_shuffle<R: Reduction>(value: R::Acc) -> R::Acc {
    let results = shared![R::Acc; 32];
    let tid = thread::thread_idx_x() as usize;
    let warps = thread::block_dim_x() / 32;
    let value = reduce_warp::<R>(value);
    if tid.is_multiple_of(32) {
        results.set(tid / 32, value);
    }
    thread::sync_threads();
    let mut value = R::IDENTITY;
    if tid < 32 {
        if tid < warps as usize {
            value = results.get(tid);
        }
        value = reduce_lanes::<R>(value, warps);
    }
    thread::sync_threads();
    value
}
