//! Defects planted in the reductions of `gpu/src/reduce` and `gpu/src/block`: sums of `u32`.

use core::sync::atomic::Ordering::{Acquire, Release};

use cuda_std::{
    atomic::Scope,
    prelude::*,
    warp::{self, FULL_MASK},
};

use crate::NOTHING;

pub(crate) const BLOCK: usize = 256;

/// The element of this lane, 0 where there is none.
#[inline(always)]
pub(crate) fn load(input: Global<u32>) -> u32 {
    let i = thread::index_1d_wide();
    if i < input.len() { input.get(i) } else { 0 }
}

/// The sum over the full warp, in lane 0.
#[inline(always)]
#[track_caller]
pub(crate) fn warp_sum(mut value: u32) -> u32 {
    let mut delta = 16;
    while delta > 0 {
        value = value.wrapping_add(warp::shuffle_down(FULL_MASK, value, delta));
        delta /= 2;
    }
    value
}

// What is wrong with `sequential`.
wrong! { in_reduce_sequential:
    /// There is no barrier before the tree.
    NO_FIRST_BARRIER = 1, // AT: reduce_sequential for race, init
    /// There is no barrier between the steps of the tree.
    NO_STEP_BARRIER = 2, // AT: reduce_sequential for race
    /// There is one lane too many in every step.
    OFF_BY_ONE = 3, // AT: reduce_sequential for mem
    /// The barrier is inside the branch.
    BARRIER_IN_BRANCH = 4, // AT: reduce_sequential for sync
    /// Either branch has a barrier of its own: all lanes come to one, at different lines.
    TWO_BARRIERS = 5, // AT: reduce_sequential for sync
}

/// `sequential`.
#[kernel(launch_bounds(256), instances = in_reduce_sequential)]
pub unsafe fn reduce_sequential<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    tile.set(tid, load(input));
    if WRONG != NO_FIRST_BARRIER {
        thread::sync_threads();
    }
    let mut stride = BLOCK / 2;
    while stride > 0 {
        if tid < stride + usize::from(WRONG == OFF_BY_ONE) {
            let other = tile.get(tid + stride); // HERE: race, init, mem
            tile.set(tid, tile.get(tid).wrapping_add(other));
            if matches!(WRONG, BARRIER_IN_BRANCH | TWO_BARRIERS) {
                thread::sync_threads(); // HERE: sync of BARRIER_IN_BRANCH, TWO_BARRIERS
            }
        } else if WRONG == TWO_BARRIERS {
            thread::sync_threads(); // HERE: sync of TWO_BARRIERS
        }
        if !matches!(WRONG, NO_STEP_BARRIER | BARRIER_IN_BRANCH | TWO_BARRIERS) {
            thread::sync_threads();
        }
        stride /= 2;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// Writes a lane's sum for the others.
#[inline(always)]
fn hand_over(tile: Shared<u32>, tid: usize, sum: u32) {
    tile.set(tid, sum);
    thread::sync_threads(); // HERE: sync
}

/// `sequential` with the helper that holds the barrier called in either branch.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_sequential_one_helper_twice<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    // AT: hand_over
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    let i = thread::index_1d_wide();
    tile.set(tid, load(input));
    thread::sync_threads();
    let mut stride = BLOCK / 2;
    while stride > 0 {
        let mut sum = tile.get(tid);
        if tid < stride {
            sum = sum.wrapping_add(tile.get(tid + stride));
        }
        thread::sync_threads();
        if !DEFECT {
            hand_over(tile, tid, sum);
        } else if tid < stride {
            hand_over(tile, tid, sum);
            scratch.set(i, sum);
        } else {
            hand_over(tile, tid, 0);
        }
        stride /= 2;
    }
    if tid == 0 {
        output.set(thread::block_idx_x() as usize, tile.get(0));
    }
}

/// An array for the block's elements.
#[inline(always)]
fn block_array() -> Shared<u32> {
    shared![u32; BLOCK]
}

/// The sums of neighbours, from one array to another: both from one place in the source.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_two_arrays_of_one_place<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tid = thread::thread_idx_x() as usize;
    let from = block_array();
    let to = if DEFECT {
        block_array()
    } else {
        shared![u32; BLOCK]
    };
    from.set(tid, load(input)); // HERE: mem
    thread::sync_threads();
    to.set(tid, from.get(tid).wrapping_add(from.get(tid ^ 1)));
    thread::sync_threads();
    output.set(thread::index_1d_wide(), to.get(BLOCK - 1 - tid));
}

/// Times that a lane looks at a flag before it gives up: on a card, which would hang.
const LOOKS: u32 = if cfg!(target_arch = "nvptx64") {
    1 << 14
} else {
    u32::MAX
};

/// The first lane's element for all lanes, behind a flag in place of a barrier, which nobody sets.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_flag_never_set<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let flag = 2 * thread::block_idx_x() as usize;
    if thread::thread_idx_x() == 0 {
        scratch.set(flag + 1, load(input));
        if !DEFECT {
            scratch.atomic_store(flag, 1, Release, Scope::Device);
        }
    }
    let mut looks = 0;
    while looks < LOOKS {
        looks += 1;
        let seen = scratch.atomic_load(flag, Acquire, Scope::Device); // HERE: sync
        if seen != 0 {
            output.set(thread::index_1d_wide(), scratch.get(flag + 1));
            return;
        }
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

// What is wrong with `cascaded` and `finish`.
wrong! { in_reduce_cascaded:
    /// One element behind the last is taken.
    BEHIND_THE_LAST = 6, // AT: reduce_cascaded for mem
    /// Two blocks give their result to one place.
    SHARED_PLACE = 7, // AT: reduce_cascaded for race
}

/// `cascaded`, of which one warp is added up.
#[kernel(launch_bounds(256), instances = in_reduce_cascaded)]
pub unsafe fn reduce_cascaded<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let mut value = 0_u32;
    let mut i = thread::index_1d_wide();
    while i < input.len() + usize::from(WRONG == BEHIND_THE_LAST) {
        value = value.wrapping_add(input.get(i)); // HERE: mem
        i += thread::grid_stride();
    }
    let value = warp_sum(value);
    if thread::thread_idx_x() == 0 {
        let block = thread::block_idx_x() as usize;
        let place = if WRONG == SHARED_PLACE {
            block / 2
        } else {
            block
        };
        output.set(place, value); // HERE: race
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
