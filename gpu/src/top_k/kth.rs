//! The element at one position of the sorted order.
//!
//! ```text
//! for each digit of 8 bits, the highest first: a launch
//!     each block counts, by this digit, its elements that have the digits found so far
//!     the last block adds the counts up from digit 0, and finds the digit in which position k lies
//! ```
//!
//! A counter in shared memory has a copy for each lane of a warp: lanes whose elements have the same digit would otherwise wait
//! for each other.

use cuda_std::{block, prelude::*};

use crate::{
    block::{for_each, is_last},
    sort::{Bits, Twist},
    top_k::policy::{ABOVE_UNROLL, KTH_BLOCK, KTH_DIGIT_BITS, KTH_DIGITS, KTH_RESIDENT},
};

/// Finds the digit number `pass` from the highest bits down of the element that the sorted order has at position `k`. The last
/// pass writes the element to `output[0]`.
///
/// Launch: any number of blocks of 256 threads, as many as are resident, for each of the passes, one per byte of an element.
/// Static shared memory of 32 KiB and some words. Reads every element once.
///
/// # Safety
/// `k` is below the number of elements, and the same in all passes. `counts` has an element for each digit and `ticket` one;
/// all are 0 before the first pass, and after each. `state` has two elements, which the pass before wrote.
#[kernel(
    launch_bounds(KTH_BLOCK as u32, KTH_RESIDENT),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn top_k_kth<U: Bits>(
    input: Global<U>,
    twist: Twist<U>,
    pass: u32,
    k: u64,
    counts: GlobalMut<u64>,
    ticket: GlobalMut<u32>,
    state: GlobalMut<u64>,
    output: GlobalMut<U>,
) {
    let bins = shared![u32; KTH_DIGITS * 32];
    let sums = shared![u64; block::scan_len(KTH_BLOCK)];
    let tid = thread::thread_idx_x() as usize;
    let lane = tid % 32;
    let mut i = tid;
    while i < bins.len() {
        bins.set(i, 0);
        i += KTH_BLOCK;
    }
    thread::sync_threads();
    let (low, k) = if pass == 0 {
        (0, k)
    } else {
        (state.get(0), state.get(1))
    };
    // The elements with the digits found so far are `low` and up to `ones` more.
    let shift = U::BITS - KTH_DIGIT_BITS * (pass + 1);
    let ones = u64::MAX >> (64 - KTH_DIGIT_BITS - shift);
    let (from, to) = (U::from_word(low), U::from_word(low | ones));
    for_each::<U, ABOVE_UNROLL>(input, |bits| {
        let key = bits.twist(twist);
        if from <= key && key <= to {
            let digit = key.digit(shift, KTH_DIGITS as u32 - 1) as usize;
            bins.atomic_add(digit * 32 + lane, 1);
        }
    });
    thread::sync_threads();
    // A thread per digit. The lanes of a warp read different banks.
    let mut count = 0_u64;
    let mut copy = 0;
    while copy < 32 {
        count += u64::from(bins.get(tid * 32 + (copy + lane) % 32));
        copy += 1;
    }
    if count > 0 {
        counts.atomic_add(tid, count);
    }
    if !is_last(ticket, 0, thread::grid_dim_x()) {
        return;
    }
    let count = counts.get(tid);
    counts.set(tid, 0);
    let (before, _) = block::exclusive_scan::<_, KTH_BLOCK>(count, 0, sums, |a, b| a + b);
    if before <= k && k - before < count {
        let low = low | (tid as u64) << shift;
        state.set(0, low);
        state.set(1, k - before);
        if shift == 0 {
            output.set(0, U::from_word(low).untwist(twist));
        }
    }
}
