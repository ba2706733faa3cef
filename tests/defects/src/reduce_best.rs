//! Defects planted in how the blocks of `best` hand on their partial results (`gpu/src/reduce/best.rs`): the
//! sum of `u32`, to the first element of `output`. Its last element, a zero, is the ticket.

use core::sync::atomic::Ordering;

use cuda_std::{
    atomic::{Scope, mid},
    prelude::*,
    view::Wide,
};

use crate::{
    NOTHING,
    reduce::{BLOCK, warp_sum},
};

/// Loads that a thread has in flight.
const UNROLL: usize = 4;

// What is wrong with `best`.
wrong! { in_reduce_best:
    /// The ticket releases nothing.
    NO_RELEASE = 1, // AT: reduce_best for race
    /// The ticket acquires nothing.
    NO_ACQUIRE = 2, // AT: reduce_best for race
    /// The fences around the ticket order nothing for other blocks.
    FENCE_OF_THE_BLOCK = 3, // AT: reduce_best for race
    /// The ticket is taken by a read and a write.
    PLAIN_TICKET = 4, // AT: is_last for race
    /// The last block takes a partial result that no block wrote.
    PARTIAL_UNWRITTEN = 5, // AT: reduce_best for init
    /// A lane looks at the block's flag without a barrier.
    FLAG_NO_BARRIER = 6, // AT: is_last for race, init
}

/// `best`.
#[kernel(launch_bounds(256), instances = in_reduce_best)]
pub unsafe fn reduce_best<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tid = thread::thread_idx_x() as usize;
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x());
    let per_block = input.len().div_ceil(blocks as usize);
    let from = input.len().min(block * per_block);
    let to = input.len().min(from + per_block);
    let value = block_sum(accumulate(input, from, to));
    if blocks == 1 {
        if tid == 0 {
            output.set(0, value);
        }
        return;
    }
    if tid == 0 {
        scratch.set(block, value);
    }
    if !is_last::<WRONG>(output, output.len() - 1, blocks) {
        return;
    }
    let end = blocks as usize + usize::from(WRONG == PARTIAL_UNWRITTEN);
    let mut value = 0_u32;
    let mut i = tid;
    while i < end {
        value = value.wrapping_add(scratch.get(i)); // HERE: race, init
        i += BLOCK;
    }
    let value = block_sum(value);
    if tid == 0 {
        output.set(0, value);
    }
}

/// `block::is_last`.
#[inline(always)]
fn is_last<const WRONG: u32>(tickets: GlobalMut<u32>, i: usize, members: u32) -> bool {
    let last = shared![u32; 1];
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let (order, scope) = match WRONG {
            NO_RELEASE => (Ordering::Acquire, Scope::Device),
            NO_ACQUIRE => (Ordering::Release, Scope::Device),
            FENCE_OF_THE_BLOCK => (Ordering::Relaxed, Scope::Device),
            _ => (Ordering::AcqRel, Scope::Device),
        };
        if WRONG == FENCE_OF_THE_BLOCK {
            mid::block_thread_fence(Ordering::AcqRel);
        }
        let came = if WRONG == PLAIN_TICKET {
            let came = tickets.get(i) + 1; // HERE: race
            tickets.set(i, came);
            came
        } else {
            tickets.atomic_add_with(i, 1, order, scope) + 1
        };
        if WRONG == FENCE_OF_THE_BLOCK {
            mid::block_thread_fence(Ordering::AcqRel);
        }
        if came == members {
            tickets.atomic_store(i, 0, Ordering::Relaxed, Scope::Device);
        }
        last.set(0, u32::from(came == members));
    }
    if WRONG != FLAG_NO_BARRIER {
        thread::sync_threads();
    }
    last.get(0) == 1 // HERE: race, init
}

/// What this thread's share of elements `from` to `to - 1` comes to.
#[inline(always)]
#[track_caller]
fn accumulate(input: Global<u32>, from: usize, to: usize) -> u32 {
    let lanes = Wide::<u32>::LEN;
    let tid = thread::thread_idx_x() as usize;
    let threads = thread::block_dim_x() as usize;

    // The elements before the first 16-byte boundary, the wide loads, and the rest.
    let past = (input.as_ptr().addr() / size_of::<u32>()).wrapping_add(from) % lanes;
    let head = if past == 0 { 0 } else { lanes - past }.min(to - from);
    let first = from + head;
    let wides = (to - first) / lanes;
    let tail = first + wides * lanes;

    let add =
        |value, wide: Wide<u32>| wide.fold(value, |sum: u32, element, _| sum.wrapping_add(element));
    let mut value = 0_u32;
    let mut wide = tid;
    while wide + (UNROLL - 1) * threads < wides {
        let at = first + wide * lanes;
        let step = threads * lanes;
        let loaded: [Wide<u32>; UNROLL] =
            core::array::from_fn(|round| input.get_wide_streaming(at + round * step));
        let [a, b, c, d] = loaded;
        value = add(add(add(add(value, a), b), c), d);
        wide += UNROLL * threads;
    }
    while wide < wides {
        value = add(value, input.get_wide_streaming(first + wide * lanes));
        wide += threads;
    }
    if tid < head {
        value = value.wrapping_add(input.get(from + tid));
    }
    if tail + tid < to {
        value = value.wrapping_add(input.get(tail + tid));
    }
    value
}

/// `block::reduce_shuffle`.
#[inline(always)]
#[track_caller]
fn block_sum(value: u32) -> u32 {
    let results = shared![u32; 32];
    let tid = thread::thread_idx_x() as usize;
    let warps = thread::block_dim_x() as usize / 32;
    let value = warp_sum(value);
    if tid.is_multiple_of(32) {
        results.set(tid / 32, value);
    }
    thread::sync_threads();
    let mut value = 0;
    if tid < 32 {
        if tid < warps {
            value = results.get(tid);
        }
        value = warp_sum(value);
    }
    thread::sync_threads();
    value
}

/// Sums that the blocks add up in one element: the first one to come clears it, adds its own sum, and tells
/// the others, by a flag that does not order its clearing.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_atomic_clear_not_released<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let i = thread::index_1d_wide();
    let value = if i < input.len() { input.get(i) } else { 0 };
    let sum = block_sum(value);
    if thread::thread_idx_x() != 0 {
        return;
    }
    let (store, load) = match DEFECT {
        true => (Ordering::Relaxed, Ordering::Relaxed),
        false => (Ordering::Release, Ordering::Acquire),
    };
    // Whoever comes first is running, so the others do not wait for ever.
    if scratch.atomic_add(0, 1) == 0 {
        output.set(0, 0);
        output.atomic_add(0, sum);
        scratch.atomic_store(1, 1, store, Scope::Device);
    } else {
        while scratch.atomic_load(1, load, Scope::Device) == 0 {}
        output.atomic_add(0, sum); // HERE: race
    }
}

/// Sums that the lanes of a block add up in shared memory: one of them clears the sum, without a barrier
/// before all of them add to it.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn reduce_atomic_no_barrier_behind_clear<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let sum = shared![u32; 1];
    let tid = thread::thread_idx_x();
    if tid == 0 {
        sum.set(0, 0);
    }
    if !DEFECT {
        thread::sync_threads();
    }
    let i = thread::index_1d_wide();
    if i < input.len() {
        sum.atomic_add(0, input.get(i)); // HERE: race, init
    }
    thread::sync_threads();
    if tid == 0 {
        output.atomic_add(0, sum.get(0));
    }
}
