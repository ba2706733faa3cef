//! The elements from a threshold up.
//!
//! ```text
//! block:
//!     for each element of the thread's share from the threshold up:
//!         place = atomic_add(the block's number, 1) in shared memory
//!         if there is room: stage the element at place; else put it into the list, at atomic_add(the list's length, 1)
//!     barrier; first = atomic_add(the list's length, the number staged)
//!     put the staged elements into the list, from `first` on, side by side
//! ```
//!
//! With an addition to the list's length for each element, all blocks would wait for each other at one counter. Staged elements
//! take one addition per block.

use cuda_std::prelude::*;

use super::{COUNT, POSITION, RANK};
use crate::{
    block::Share,
    sort::Bits,
    top_k::{
        Order,
        policy::{BLOCK, FILTER_RESIDENT, STAGE},
        source::{Threshold, each_above},
    },
};

/// Puts ranks and positions of the elements from the state's threshold up into the list, in any order, and adds their number to
/// the state. Elements for which the list has no room are counted alone.
///
/// Launch: blocks of 512 threads, as many as are resident; static shared memory for 1024 entries. Reads every element once, 16
/// bytes per load where aligned.
///
/// # Safety
/// The input has fewer than 2^32 elements. The state is that of `top_k_sample`. The outputs have as many elements as each other
/// and do not overlap the input.
#[kernel(
    launch_bounds(BLOCK as u32, FILTER_RESIDENT),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn top_k_filter<U: Bits>(
    input: Global<U>,
    order: Order<U>,
    state: GlobalMut<u64>,
    ranks: GlobalMut<U>,
    positions: GlobalMut<u32>,
) {
    let staged_ranks = shared![U; STAGE];
    let staged_positions = shared![u32; STAGE];
    let words = shared![u32; 2];
    let tid = thread::thread_idx_x() as usize;
    if tid == 0 {
        words.set(0, 0);
    }
    let threshold = Threshold {
        rank: U::from_word(state.get(RANK)),
        position: state.get(POSITION) as u32,
    };
    thread::sync_threads();
    let put = |place: usize, rank: U, position: u32| {
        if place < ranks.len() {
            ranks.set(place, rank);
            positions.set(place, position);
        }
    };
    let share = Share::by_all(input);
    let position = |i: usize| i as u32;
    each_above(share, order, threshold, position, |i, rank| {
        if threshold.counts(rank, || i as u32) {
            let place = words.atomic_add(0, 1) as usize;
            if place < STAGE {
                staged_ranks.set(place, rank);
                staged_positions.set(place, i as u32);
            } else {
                put(state.atomic_add(COUNT, 1) as usize, rank, i as u32);
            }
        }
    });
    thread::sync_threads();
    let staged = (words.get(0) as usize).min(STAGE);
    if tid == 0 {
        words.set(1, state.atomic_add(COUNT, staged as u64) as u32);
    }
    thread::sync_threads();
    let first = words.get(1) as usize;
    let mut i = tid;
    while i < staged {
        put(first + i, staged_ranks.get(i), staged_positions.get(i));
        i += BLOCK;
    }
}
