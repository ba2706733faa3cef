//! Where each digit's keys begin, for all passes at once.
//!
//! ```text
//! block:
//!     counters[pass][digit][copy] = 0 in shared memory
//!     for each of the thread's keys: for each pass: atomic_add(counters[pass][digit of the key][the thread's copy], 1)
//!     for each pass and digit: atomic_add(counts[pass][digit], the sum of its copies)
//! the last block:
//!     tickets = 0
//!     for each pass: begins[pass][d] = the sum of counts[pass][0 .. d]; counts[pass] = 0
//! ```
//!
//! A pass changes the order of the keys, but not their digits. So one read of the keys counts for all passes. Lanes with equal
//! digits would wait for each other at one counter: therefore the copies.

use cuda_std::{prelude::*, shared::DynamicShared, unrolled};

use crate::{
    block,
    sort::{
        bits::{Bits, DIGIT_BITS, DIGITS, Range, Twist},
        policy::{DIGITS_BLOCK, WORDS, digits_copies, digits_unroll},
    },
};

/// The shared memory of a block on the cards for which a loop of its own is compiled, in bytes: compute capability 8.0 and 9.0
/// have at least as much.
const COMMON_BYTES: usize = 163 * 1024;

/// Counts all digits of all keys, and writes where each digit's keys begin in the output of its pass: `begins[256 p + d]` is
/// the number of keys whose digit `p` is less than `d`. Sets `tickets` to 0.
///
/// A block has `2^copies_log2` counters of each digit in shared memory, a lane its own where there are 32. The block that is
/// done last adds up.
///
/// Launch: blocks of 1024 threads, as many as are resident; dynamic shared memory of `policy::digits_shared_bytes`. Reads every
/// key once, 16 bytes per load where aligned. Exact.
///
/// # Safety
/// `counts` and `begins` have 256 elements per digit of `range`, `counts` are 0 and so is `done[0]`; the kernel leaves them so.
/// Nothing else uses them or `tickets` while it runs. A block counts fewer than 2^32 keys. `copies_log2` is at most 5.
#[kernel(
    launch_bounds(DIGITS_BLOCK as u32, 1),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn sort_best_digits<U: Bits>(
    input: Global<U>,
    counts: GlobalMut<u64>,
    begins: GlobalMut<u64>,
    tickets: GlobalMut<u32>,
    done: GlobalMut<u32>,
    range: Range,
    twist: Twist<U>,
    copies_log2: u32,
) {
    let tid = thread::thread_idx_x() as usize;
    let bins = range.passes() as usize * DIGITS;
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let sums = memory.carve::<u64>(WORDS / 2);
    let counters = memory.carve::<u32>(bins << copies_log2);
    let mut i = tid * 4;
    while i < counters.len() {
        counters.set_chunk(i, [0_u32; 4]);
        i += DIGITS_BLOCK * 4;
    }
    thread::sync_threads();
    let add = |pass: usize, digit: u32, copies_log2: u32| {
        let copy = tid & ((1 << copies_log2) - 1);
        let bin = pass * DIGITS + digit as usize;
        counters.atomic_add((bin << copies_log2) + copy, 1);
    };
    let common = const { digits_copies(size_of::<U>() as u32, COMMON_BYTES).ilog2() };
    if range.bits == U::BITS && copies_log2 == common {
        // All shifts are constants.
        for_each(input, |key| {
            let key = key.twist(twist);
            unrolled!(pass < 8 => {
                if pass < size_of::<U>() {
                    add(pass, key.digit(pass as u32 * DIGIT_BITS, 255), common);
                }
            });
        });
    } else {
        for_each(input, |key| {
            let key = key.twist(twist);
            unrolled!(pass < 8 => {
                if pass < size_of::<U>() && pass < range.passes() as usize {
                    let (shift, mask) = range.digit(pass as u32);
                    add(pass, key.digit(shift, mask), copies_log2);
                }
            });
        });
    }
    thread::sync_threads();
    let mut bin = tid;
    while bin < bins {
        let mut total = 0_u32;
        for i in 0..1_usize << copies_log2 {
            // Neighboring threads start at different copies, so that they read different banks.
            let copy = (i + tid) & ((1 << copies_log2) - 1);
            total += counters.get((bin << copies_log2) + copy);
        }
        if total > 0 {
            counts.atomic_add(bin, total.into());
        }
        bin += DIGITS_BLOCK;
    }
    if !block::is_last(done, 0, thread::grid_dim_x()) {
        return;
    }
    let mut i = tid;
    while i < tickets.len() {
        tickets.set(i, 0);
        i += DIGITS_BLOCK;
    }
    for pass in 0..range.passes() as usize {
        add_up(pass, counts, begins, sums);
    }
}

/// Makes the counts of one digit the beginnings, and sets the counts to 0. All threads of the block call it.
#[inline(always)]
#[track_caller]
fn add_up(pass: usize, counts: GlobalMut<u64>, begins: GlobalMut<u64>, sums: Shared<u64>) {
    let tid = thread::thread_idx_x() as usize;
    let (lane, warp) = (tid % 32, tid / 32);
    let bin = pass * DIGITS + tid;
    let (mut count, mut inclusive) = (0, 0);
    thread::sync_threads();
    if tid < DIGITS {
        count = counts.atomic_exchange(bin, 0);
        inclusive = warp::inclusive_scan(count, |a, b| a + b);
        if lane == 31 {
            sums.set(warp, inclusive);
        }
    }
    thread::sync_threads();
    if tid < DIGITS {
        let mut begin = inclusive - count;
        unrolled!(j < 8 => {
            if j < warp {
                begin += sums.get(j);
            }
        });
        begins.set(bin, begin);
    }
}

/// Calls `each` with this thread's share of the keys.
#[inline(always)]
#[track_caller]
fn for_each<U: Bits>(input: Global<U>, each: impl Fn(U)) {
    match const { digits_unroll(size_of::<U>()) } {
        2 => block::for_each::<U, 2>(input, each),
        _ => block::for_each::<U, 4>(input, each),
    }
}
