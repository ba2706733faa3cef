//! The element at one position of the sorted order, of an array or of each row of a matrix.
//!
//! ```text
//! for each digit of 8 bits, the highest first: a launch
//!     each block counts, by this digit, its elements that have the digits found so far
//!     the last block adds the counts up from digit 0, and finds the digit in which position k lies
//! ```
//!
//! A row is one block's work, in one launch.
//!
//! A counter in shared memory has a copy for each lane of a warp: lanes whose elements have the same digit would otherwise wait
//! for each other.

use cuda_std::{block, prelude::*};

use crate::{
    block::{Share, for_each, is_last},
    sort::{Bits, Twist},
    top_k::policy::{ABOVE_UNROLL, KTH_BLOCK, KTH_DIGIT_BITS, KTH_DIGITS, KTH_RESIDENT},
};

/// The elements that have the digits found so far.
#[derive(Clone, Copy)]
struct Found<U> {
    /// The least of them, with zeros for the other digits.
    low: u64,
    /// The place of the next digit.
    shift: u32,
    from: U,
    to: U,
}

impl<U: Bits> Found<U> {
    /// Makes those before digit number `pass` is found.
    #[inline(always)]
    fn new(low: u64, pass: u32) -> Self {
        let shift = U::BITS - KTH_DIGIT_BITS * (pass + 1);
        let ones = u64::MAX >> (64 - KTH_DIGIT_BITS - shift);
        Self {
            low,
            shift,
            from: U::from_word(low),
            to: U::from_word(low | ones),
        }
    }

    /// Counts an element with this key by its digit, if it is one of them.
    #[inline(always)]
    #[track_caller]
    fn count(self, bins: Shared<u32>, lane: usize, key: U) {
        if self.from <= key && key <= self.to {
            let digit = key.digit(self.shift, KTH_DIGITS as u32 - 1) as usize;
            bins.atomic_add(digit * 32 + lane, 1);
        }
    }

    /// Returns `low` with the next digit.
    #[inline(always)]
    fn with(self, digit: usize) -> u64 {
        self.low | (digit as u64) << self.shift
    }
}

/// Sets all counters to 0.
#[inline(always)]
#[track_caller]
fn clear(bins: Shared<u32>) {
    let mut i = thread::thread_idx_x() as usize;
    while i < bins.len() {
        bins.set(i, 0);
        i += KTH_BLOCK;
    }
}

/// Returns the count of this thread's digit.
#[inline(always)]
#[track_caller]
fn total(bins: Shared<u32>) -> u64 {
    let tid = thread::thread_idx_x() as usize;
    let lane = tid % 32;
    // A thread per digit. The lanes of a warp read different banks.
    let mut count = 0_u64;
    let mut copy = 0;
    while copy < 32 {
        count += u64::from(bins.get(tid * 32 + (copy + lane) % 32));
        copy += 1;
    }
    count
}

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
    clear(bins);
    thread::sync_threads();
    let (low, k) = if pass == 0 {
        (0, k)
    } else {
        (state.get(0), state.get(1))
    };
    let found = Found::<U>::new(low, pass);
    for_each::<U, ABOVE_UNROLL>(input, |bits| {
        found.count(bins, tid % 32, bits.twist(twist));
    });
    thread::sync_threads();
    let count = total(bins);
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
        let low = found.with(tid);
        state.set(0, low);
        state.set(1, k - before);
        if found.shift == 0 {
            output.set(0, U::from_word(low).untwist(twist));
        }
    }
}

/// Writes the element that the sorted order of each `len` elements has at position `k` to `output`. The elements of row `b`
/// begin at element `b * stride`.
///
/// Launch: a block of 256 threads per row. Static shared memory of 32 KiB and some words. Reads every element once for each of
/// its bytes.
///
/// # Safety
/// `k < len`. The output has an element per block and does not overlap the input.
#[kernel(
    launch_bounds(KTH_BLOCK as u32, KTH_RESIDENT),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn top_k_kth_rows<U: Bits>(
    input: Global<U>,
    twist: Twist<U>,
    len: u64,
    stride: u64,
    k: u64,
    output: GlobalMut<U>,
) {
    let bins = shared![u32; KTH_DIGITS * 32];
    let sums = shared![u64; block::scan_len(KTH_BLOCK)];
    let next = shared![u64; 2];
    let tid = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize;
    let share = Share {
        input,
        first: row * stride as usize,
        len: len as usize,
        thread: tid,
        threads: KTH_BLOCK,
    };
    let (mut low, mut k, mut pass) = (0, k, 0);
    while pass < U::BITS / KTH_DIGIT_BITS {
        clear(bins);
        thread::sync_threads();
        let found = Found::<U>::new(low, pass);
        share.for_each::<ABOVE_UNROLL>(|bits| {
            found.count(bins, tid % 32, bits.twist(twist));
        });
        thread::sync_threads();
        let count = total(bins);
        let (before, _) = block::exclusive_scan::<_, KTH_BLOCK>(count, 0, sums, |a, b| a + b);
        if before <= k && k - before < count {
            next.set(0, found.with(tid));
            next.set(1, k - before);
        }
        thread::sync_threads();
        (low, k) = (next.get(0), next.get(1));
        pass += 1;
    }
    if tid == 0 {
        output.set(row, U::from_word(low).untwist(twist));
    }
}
