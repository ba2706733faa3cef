//! Defects planted in the histograms of `gpu/src/histogram`: `n` bins, values as bin numbers.

use core::sync::atomic::Ordering;

use cuda_std::{atomic::Scope, prelude::*, shared::DynamicShared};

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

/// `global_atomic` that counts by a read and a write.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_global_plain<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let mut i = thread::index_1d_wide();
    while i < input.len() {
        let bin = input.get(i) as usize % n;
        if DEFECT {
            output.set(bin, output.get(bin) + 1); // HERE: race
        } else {
            output.atomic_add(bin, 1);
        }
        i += thread::grid_stride();
    }
}

/// `privatized` that counts in shared memory by a read and a write.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_shared_plain<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(n);
    clear(counters, n);
    thread::sync_threads();
    let i = thread::index_1d_wide();
    if i < input.len() {
        let bin = input.get(i) as usize % n;
        if DEFECT {
            counters.set(bin, counters.get(bin) + 1); // HERE: race
        } else {
            counters.atomic_add(bin, 1);
        }
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    if tid < n {
        output.atomic_add(tid, counters.get(tid));
    }
}

/// `privatized` that does not clear its counters.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_no_clear<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(n);
    if !DEFECT {
        clear(counters, n);
    }
    thread::sync_threads();
    let i = thread::index_1d_wide();
    if i < input.len() {
        counters.atomic_add(input.get(i) as usize % n, 1); // HERE: init
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    if tid < n {
        output.atomic_add(tid, counters.get(tid));
    }
}

/// `privatized` that clears one counter too few.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_clear_short<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(n);
    clear(counters, n - DEFECT as usize);
    thread::sync_threads();
    let i = thread::index_1d_wide();
    if i < input.len() {
        counters.atomic_add(input.get(i) as usize % n, 1); // HERE: init
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    if tid < n {
        output.atomic_add(tid, counters.get(tid));
    }
}

/// `privatized` without the barrier between clearing and counting.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_no_barrier_behind_clear<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(n);
    clear(counters, n);
    if !DEFECT {
        thread::sync_threads();
    }
    let i = thread::index_1d_wide();
    if i < input.len() {
        counters.atomic_add(input.get(i) as usize % n, 1); // HERE: race, init
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    if tid < n {
        output.atomic_add(tid, counters.get(tid));
    }
}

/// `privatized` without the barrier between counting and merging.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_no_barrier_before_merge<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(n);
    clear(counters, n);
    thread::sync_threads();
    let i = thread::index_1d_wide();
    if i < input.len() {
        counters.atomic_add(input.get(i) as usize % n, 1);
    }
    if !DEFECT {
        thread::sync_threads();
    }
    let tid = thread::thread_idx_x() as usize;
    if tid < n {
        let count = counters.get(tid); // HERE: race
        output.atomic_add(tid, count);
    }
}

/// `privatized` that merges by a read and a write.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_plain_merge<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(n);
    clear(counters, n);
    thread::sync_threads();
    let i = thread::index_1d_wide();
    if i < input.len() {
        counters.atomic_add(input.get(i) as usize % n, 1);
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    if tid < n {
        let count = counters.get(tid);
        if DEFECT {
            output.set(tid, output.get(tid) + count); // HERE: race
        } else {
            output.atomic_add(tid, count);
        }
    }
}

/// `privatized` whose lanes without a bin return before the last barrier.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_early_return<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(n);
    clear(counters, n);
    thread::sync_threads();
    let i = thread::index_1d_wide();
    let tid = thread::thread_idx_x() as usize;
    if i < input.len() {
        counters.atomic_add(input.get(i) as usize % n, 1);
    } else if DEFECT {
        return;
    }
    thread::sync_threads(); // HERE: sync
    if tid < n {
        output.atomic_add(tid, counters.get(tid));
    }
}

/// `privatized` that counts a value beyond the last bin.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_bin_unchecked<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve(n);
    clear(counters, n);
    thread::sync_threads();
    let i = thread::index_1d_wide();
    if i < input.len() {
        let bin = input.get(i) as usize % (n + 1);
        if DEFECT || bin < n {
            counters.atomic_add(bin, 1); // HERE: mem
        }
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    if tid < n {
        output.atomic_add(tid, counters.get(tid));
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

/// `privatized` that carves more than the launch gives.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_carves_too_much<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    // SAFETY: the only one of this kernel; that the launch gives less is what is wrong.
    let mut memory = unsafe { DynamicShared::new() };
    let len = if DEFECT { 64 * n } else { n };
    let counters: Shared<u32> = memory.carve(len); // HERE: mem
    clear(counters, len);
    thread::sync_threads();
    let i = thread::index_1d_wide();
    if i < input.len() {
        counters.atomic_add(input.get(i) as usize % n, 1);
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    if tid < n {
        output.atomic_add(tid, counters.get(tid));
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

/// `global_atomic` through a view that is longer than its memory.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_view_too_long<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let len = if DEFECT {
        output.len() + 1
    } else {
        output.len()
    };
    // SAFETY: the counts' own memory; that it is shorter is what is wrong.
    let counts = unsafe { GlobalMut::from_raw_parts(output.as_ptr(), len) };
    let i = thread::index_1d_wide();
    if i < input.len() {
        let bin = input.get(i) as usize % n;
        let bin = if DEFECT && bin == 0 { len - 1 } else { bin };
        counts.atomic_add(bin, 1); // HERE: mem
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

/// `global_atomic` whose additions are atomic for the lanes of one block only.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn histogram_global_block_scope<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let scope = if DEFECT { Scope::Block } else { Scope::Device };
    let mut i = thread::index_1d_wide();
    while i < input.len() {
        let bin = input.get(i) as usize % n;
        output.atomic_add_with(bin, 1, Ordering::Relaxed, scope); // HERE: race
        i += thread::grid_stride();
    }
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
