//! Defects planted in the histograms of `gpu/src/histogram`: `n` bins, values as bin numbers.

use core::sync::atomic::Ordering;

use cuda_std::{atomic::Scope, prelude::*, shared::DynamicShared};

use crate::NOTHING;

const BLOCK: usize = 256;

/// Sets the counters to nought, all lanes of the block together.
#[inline(always)]
#[track_caller]
fn clear(counters: Shared<u32>, bins: usize) {
    let mut i = thread::thread_idx_x() as usize;
    while i < bins {
        counters.set(i, 0);
        i += BLOCK;
    }
}

// What is wrong with `global_atomic`.
wrong! { in_histogram_global:
    /// Counts by a read and a write.
    GLOBAL_PLAIN = 1, // AT: histogram_global for race
    /// The additions are atomic for the lanes of one block only.
    GLOBAL_BLOCK_SCOPE = 2, // AT: histogram_global for race
    /// The view of the counts is longer than their memory.
    VIEW_TOO_LONG = 3, // AT: histogram_global for mem
}

/// `global_atomic`.
#[kernel(launch_bounds(256), instances = in_histogram_global)]
pub unsafe fn histogram_global<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let len = output.len() + usize::from(WRONG == VIEW_TOO_LONG);
    // SAFETY: the counts' own memory; where it is shorter, that is what is wrong.
    let counts = unsafe { GlobalMut::from_raw_parts(output.as_ptr(), len) };
    let scope = match WRONG {
        GLOBAL_BLOCK_SCOPE => Scope::Block,
        _ => Scope::Device,
    };
    let mut i = thread::index_1d_wide();
    while i < input.len() {
        let bin = match input.get(i) as usize % n {
            0 if WRONG == VIEW_TOO_LONG => len - 1,
            bin => bin,
        };
        if WRONG == GLOBAL_PLAIN {
            counts.set(bin, counts.get(bin) + 1); // HERE: race of GLOBAL_PLAIN
        } else {
            counts.atomic_add_with(bin, 1, Ordering::Relaxed, scope); // HERE: race, mem of GLOBAL_BLOCK_SCOPE, VIEW_TOO_LONG
        }
        i += thread::grid_stride();
    }
}

// What is wrong with `privatized`.
wrong! { in_histogram_privatized:
    /// Counts by a read and a write.
    SHARED_PLAIN = 4, // AT: histogram_privatized for race
    /// The counters are not cleared.
    NO_CLEAR = 5, // AT: histogram_privatized for init
    /// One counter too few is cleared.
    CLEAR_SHORT = 6, // AT: histogram_privatized for init
    /// There is no barrier between clearing and counting.
    NO_BARRIER_BEHIND_CLEAR = 7, // AT: histogram_privatized for race, init
    /// There is no barrier between counting and merging.
    NO_BARRIER_BEFORE_MERGE = 8, // AT: histogram_privatized for race
    /// Merges by a read and a write.
    PLAIN_MERGE = 9, // AT: histogram_privatized for race
    /// Lanes without an element return before the last barrier.
    EARLY_RETURN = 10, // AT: histogram_privatized for sync
    /// A value beyond the last bin is counted.
    BIN_UNCHECKED = 11, // AT: histogram_privatized for mem
    /// More is carved than the launch gives.
    CARVES_TOO_MUCH = 12, // AT: histogram_privatized for mem
}

/// `privatized`.
#[kernel(launch_bounds(256), instances = in_histogram_privatized)]
pub unsafe fn histogram_privatized<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel; where the launch gives less than is carved, that is what is wrong.
    let mut memory = unsafe { DynamicShared::new() };
    let len = if WRONG == CARVES_TOO_MUCH { 64 * n } else { n };
    let counters: Shared<u32> = memory.carve(len); // HERE: mem of CARVES_TOO_MUCH
    match WRONG {
        NO_CLEAR => {}
        CLEAR_SHORT => clear(counters, len - 1),
        _ => clear(counters, len),
    }
    if WRONG != NO_BARRIER_BEHIND_CLEAR {
        thread::sync_threads();
    }
    let tid = thread::thread_idx_x() as usize;
    let i = thread::index_1d_wide();
    if i < input.len() {
        let bin = input.get(i) as usize % (n + 1);
        if WRONG == SHARED_PLAIN && bin < n {
            counters.set(bin, counters.get(bin) + 1); // HERE: race of SHARED_PLAIN
        } else if WRONG == BIN_UNCHECKED || bin < n {
            counters.atomic_add(bin, 1); // HERE: race, init, mem of NO_CLEAR, CLEAR_SHORT, NO_BARRIER_BEHIND_CLEAR, BIN_UNCHECKED
        }
    } else if WRONG == EARLY_RETURN {
        return;
    }
    if WRONG != NO_BARRIER_BEFORE_MERGE {
        thread::sync_threads(); // HERE: sync
    }
    if tid < n {
        let count = counters.get(tid); // HERE: race of NO_BARRIER_BEFORE_MERGE
        if WRONG == PLAIN_MERGE {
            output.set(tid, output.get(tid) + count); // HERE: race of PLAIN_MERGE
        } else {
            output.atomic_add(tid, count);
        }
    }
}

/// `best` with room for the bins, but not for the one of the values that are of none of them.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_best_no_spare_bin<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let bins = if DEFECT { n } else { n + 1 };
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(bins * 2);
    clear(counters, bins * 2);
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    let i = thread::index_1d_wide();
    if i < input.len() {
        let bin = (input.get(i) as usize % (2 * n)).min(n);
        counters.atomic_add(bin * 2 + tid % 2, 1); // HERE: mem
    }
    thread::sync_threads();
    if tid < n {
        let count = counters.get(tid * 2) + counters.get(tid * 2 + 1);
        output.atomic_add(tid, count);
    }
}

/// `best` that loads 16 bytes from wherever its elements start.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_best_misaligned<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let first = 4 * thread::index_1d_wide() + DEFECT as usize;
    if first + 4 <= input.len() {
        let wide = input.get_wide_streaming(first); // HERE: mem
        wide.fold((), |(), value, _| {
            output.atomic_add(value as usize % n, 1);
        });
    }
}

/// `privatized` that takes its counters and a table for one and the same memory.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_overlapping_arrays<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel, but where the defect makes a second one.
    let mut memory = unsafe { DynamicShared::new() };
    let counters: Shared<u32> = memory.carve(n);
    // SAFETY: overlaps the counters, which is what is wrong.
    let mut other = unsafe { DynamicShared::new() };
    let table: Shared<u32> = if DEFECT { &mut other } else { &mut memory }.carve(n);
    clear(counters, n);
    let tid = thread::thread_idx_x() as usize;
    if (64..64 + n).contains(&tid) {
        table.set(tid - 64, tid as u32); // HERE: race
    }
    thread::sync_threads();
    if tid < n {
        output.atomic_add(tid, counters.get(tid).wrapping_add(table.get(tid)));
    }
    let _ = input;
}

/// `global_atomic` some of whose lanes count in two neighbouring bins as one number of 64 bits.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_global_two_widths<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // The bins start at a multiple of eight bytes.
    let start = output.as_ptr().addr() / 4 % 2;
    let pairs = (n - start) / 2;
    // SAFETY: elements of the counts.
    let bins = unsafe { GlobalMut::from_raw_parts(output.as_ptr().add(start), 2 * pairs) };
    // SAFETY: the same ones, aligned as just said; that others take them by halves is what is wrong.
    let wide = unsafe { GlobalMut::from_raw_parts(bins.as_ptr().cast::<u64>(), pairs) };
    let mut i = thread::index_1d_wide();
    while i < input.len() {
        let bin = input.get(i) as usize % bins.len();
        if DEFECT && i.is_multiple_of(2) {
            wide.atomic_add(bin / 2, 1 << (32 * (bin % 2))); // HERE: race
        } else {
            bins.atomic_add(bin, 1); // HERE: race
        }
        i += thread::grid_stride();
    }
}
