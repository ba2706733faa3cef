//! Ranks of a tile's items by a digit: one pass of a radix sort.
//!
//! ```text
//! counters[warp][digit] = 0; barrier
//! for each item of the thread:
//!     same = the lanes of the warp whose items have its digit                     (a ballot per bit)
//!     rank = counters[warp][digit] + the lanes of `same` below this one
//!     the lowest lane of `same`: counters[warp][digit] += the number of lanes in `same`
//! barrier; counters[warp][digit] = items with lower digits + items with the digit in the warps before; barrier
//! rank += counters[warp][digit]
//! ```
//!
//! An atomic addition per item would be less work, but in which order lanes get their numbers is promised nowhere, and the
//! ranks have to keep the order of equal digits.

use super::{index, is_tile, scan};
use crate::{
    Shared, thread, unrolled,
    warp::{self, FULL_MASK},
};

/// The result of [`rank_digits`].
#[derive(Debug, Clone, Copy)]
pub struct DigitRanks<const ITEMS: usize> {
    /// For each item of this thread, its place among all items of the tile when they are sorted by digit. Items of the same
    /// digit keep their order.
    pub ranks: [u32; ITEMS],
    /// The number of items of the tile with a lower digit than this thread's index (in a warp, this lane's). 0 in threads that
    /// are no digit.
    pub before: u32,
    /// The number of items of the tile whose digit is this thread's index.
    pub count: u32,
}

/// Returns the number of elements of shared memory that ranks by a digit of `bits` bits need in a block of `threads`: a
/// counter per warp and digit, and [`scan_len`](super::scan_len).
pub const fn rank_len(threads: usize, bits: u32) -> usize {
    ((threads / 32) << bits) + scan::scan_len(threads)
}

/// Ranks the items of a tile by their digits of `BITS` bits, stable.
///
/// The order of the items is by warp: item `k` of lane `l` of warp `w` is the tile's item `(w * ITEMS + k) * 32 + l`. Higher
/// bits of `digits` must be 0. `THREADS` must be at least the number of digits, `1 << BITS`.
///
/// Shared memory: [`rank_len`] elements. Four barriers. `BITS` ballots per item find the lanes with the same digit (Merrill and
/// Grimshaw, "High performance and scalable radix sorting", 2011).
#[inline(always)]
#[track_caller]
pub fn rank_digits<const THREADS: usize, const ITEMS: usize, const BITS: u32>(
    digits: [u32; ITEMS],
    memory: Shared<u32>,
) -> DigitRanks<ITEMS> {
    const { assert!(is_tile(THREADS, ITEMS) && BITS > 0 && THREADS >= 1 << BITS) };
    let radix = const { 1_usize << BITS };
    let warps = const { THREADS / 32 };
    let (thread, lane, warp) = (index(), warp::lane_id(), index() / 32);
    let mut i = thread;
    while i < warps * radix {
        memory.set(i, 0);
        i += THREADS;
    }
    thread::sync_threads();
    let mut ranks = [0; ITEMS];
    unrolled!(k < ITEMS of 32 => {
        let mut same = FULL_MASK;
        let mut bit = 0;
        while bit < BITS {
            let one = digits[k] >> bit & 1 != 0;
            let ones = warp::ballot(FULL_MASK, one);
            same &= if one { ones } else { !ones };
            bit += 1;
        }
        let at = warp * radix + digits[k] as usize;
        let before = memory.get(at);
        let lower = same & ((1 << lane) - 1);
        ranks[k] = before + lower.count_ones();
        // SAFETY: all lanes of the warp are here.
        unsafe { warp::sync_warp(FULL_MASK) };
        if lower == 0 {
            memory.set(at, before + same.count_ones());
        }
        // SAFETY: as above.
        unsafe { warp::sync_warp(FULL_MASK) };
    });
    thread::sync_threads();
    // The counts of a digit become the sums of those of the warps below.
    let mut count = 0;
    if thread < radix {
        let mut w = 0;
        while w < warps {
            let own = memory.get(w * radix + thread);
            memory.set(w * radix + thread, count);
            count += own;
            w += 1;
        }
    }
    let totals = memory.skip(warps * radix);
    let (before, _) = super::exclusive_scan::<u32, THREADS>(count, 0, totals, |a, b| a + b);
    if thread < radix {
        let mut w = 0;
        while w < warps {
            let at = w * radix + thread;
            memory.set(at, memory.get(at) + before);
            w += 1;
        }
    }
    thread::sync_threads();
    unrolled!(k < ITEMS of 32 => {
        ranks[k] += memory.get(warp * radix + digits[k] as usize);
    });
    let before = if thread < radix { before } else { 0 };
    DigitRanks {
        ranks,
        before,
        count,
    }
}
