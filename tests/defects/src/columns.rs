//! Defects planted in the reductions of columns (`gpu/src/columns`): sums of `u32` over rows of `n` elements.

use core::sync::atomic::Ordering;

use cuda_std::{atomic::Scope, prelude::*, shared::DynamicShared};

use crate::NOTHING;

/// Threads of a block of `best`: half of the real one's.
const BLOCK: usize = 256;
/// Rows of lanes of a block: a warp takes a row of the tile.
const ROWS: usize = BLOCK / 32;
/// Elements of 16 bytes.
const LANES: usize = 4;
/// Columns of a tile. Two threads share one.
const COLUMNS: usize = 32 * LANES;
/// Threads that take the parts of one element of 16 bytes.
const SHARING: usize = BLOCK / LANES;

// What is wrong with `best`.
wrong! { in_columns_best:
    /// There is no barrier between the warps' parts and their sum.
    NO_BARRIER = 1, // AT: columns_best
    /// The fence comes before the totals are written instead of behind.
    FENCE_TOO_EARLY = 2, // AT: columns_best
    /// The last block puts the ticket back by a plain write, unordered with the other blocks' tickets.
    PLAIN_RESET = 3, // AT: columns_best
    /// There is no barrier between what the threads that share a column have and its sum.
    NO_BARRIER_BEFORE_MEETING = 4, // AT: meet
}

/// The parts of the columns from `column` on, over every eighth row from `row` to `end`.
#[inline(always)]
fn accumulate(input: Global<u32>, n: usize, column: usize, mut row: usize, end: usize) -> [u32; 4] {
    let mut parts = [0_u32; LANES];
    while row < end {
        let wide = input.get_wide_streaming(row * n + column);
        parts = wide.fold(parts, |mut parts, value, k| {
            parts[k % LANES] = parts[k % LANES].wrapping_add(value);
            parts
        });
        row += ROWS;
    }
    parts
}

/// Adds up what the threads of a block have of each column; the sum of column `i` to thread `i`.
#[inline(always)]
fn meet<const WRONG: u32>(meeting: Shared<u32>, place: usize, total: u32) -> u32 {
    let tid = thread::thread_idx_x() as usize;
    meeting.set(place, total);
    if WRONG != NO_BARRIER_BEFORE_MEETING {
        thread::sync_threads();
    }
    if tid < COLUMNS {
        let (first, second) = (meeting.get(tid), meeting.get(tid + COLUMNS)); // HERE: race, init
        first.wrapping_add(second)
    } else {
        0
    }
}

/// `best` over one tile of columns and one level of its tree.
#[kernel(launch_bounds(256), instances = in_columns_best)]
pub unsafe fn columns_best<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    n: usize,
) {
    let tid = thread::thread_idx_x() as usize;
    let (warp, lane) = (tid / 32, tid % 32);
    let (index, count) = (
        thread::block_idx_x() as usize,
        thread::grid_dim_x() as usize,
    );
    let rows = input.len() / n;
    let rows_per_block = rows.div_ceil(count);
    // SAFETY: the only one of this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    let meeting: Shared<u32> = memory.carve(BLOCK);
    let shared: Shared<u32> = memory.carve(LANES * BLOCK);
    let last = shared![u32; 1];

    let end = rows.min((index + 1) * rows_per_block);
    let parts = accumulate(input, n, lane * LANES, index * rows_per_block + warp, end);
    for k in 0..LANES {
        shared.set(k * BLOCK + tid, parts[k]);
    }
    if WRONG != NO_BARRIER {
        thread::sync_threads();
    }
    let (k, first) = (tid / SHARING, tid % SHARING);
    let mut total = 0_u32;
    for round in 0..LANES {
        total = total.wrapping_add(shared.get(k * BLOCK + round * SHARING + first)); // HERE: race, init
    }
    total = meet::<WRONG>(meeting, first / 32 * COLUMNS + k * 32 + lane, total);

    if WRONG == FENCE_TOO_EARLY {
        thread::device_fence();
    }
    let totals = 1;
    if tid < COLUMNS {
        scratch.set(totals + index * COLUMNS + tid, total);
    }
    if WRONG != FENCE_TOO_EARLY {
        thread::device_fence();
    }
    thread::sync_threads();
    if tid == 0 {
        let came = scratch.atomic_add(0, 1) as usize + 1;
        if came == count {
            if WRONG == PLAIN_RESET {
                scratch.set(0, 0); // HERE: race
            } else {
                // Not ordered behind the other blocks' tickets, so as atomic as those.
                scratch.atomic_store(0, 0, Ordering::Relaxed, Scope::Device);
            }
        }
        last.set(0, u32::from(came == count));
    }
    thread::sync_threads();
    if last.get(0) == 0 {
        return;
    }
    thread::device_fence();
    total = 0;
    let mut i = tid;
    while i < count * COLUMNS {
        total = total.wrapping_add(scratch.get(totals + i)); // HERE: race
        i += BLOCK;
    }
    total = meet::<WRONG>(meeting, tid, total);
    if tid < COLUMNS {
        output.set(tid % 32 * LANES + tid / 32, total);
    }
}

/// `four_columns_per_thread` that takes four columns where fewer are left.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn columns_four_past_the_last<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let column = thread::index_1d_wide() * 4;
    if column >= n {
        return;
    }
    let here = if DEFECT { 4 } else { (n - column).min(4) };
    let mut sums = [0_u32; 4];
    let mut i = column;
    while i < input.len() {
        for k in 0..4 {
            if k < here {
                sums[k] = sums[k].wrapping_add(input.get(i + k)); // HERE: mem
            }
        }
        i += n;
    }
    for k in 0..4 {
        if k < here {
            output.set(column + k, sums[k]);
        }
    }
}
