//! `privatized`: a sub-histogram per block in shared memory.

use cuda_std::{prelude::*, shared::DynamicShared};

use crate::histogram::{
    binning::*,
    policy::{CHUNK, RUNG_BLOCK, RUNG_SLICE},
    with_binnings,
};

/// Counts the values of `input` into `counts`, which has one element per bin. The kernel adds to `counts` and does not clear
/// it. A value without a bin is not counted. Each block counts 4096 neighboring values in shared memory and then adds its
/// counts to `counts`.
///
/// Launch: `ceil(n / 4096)` blocks of 256 threads along x; along y one block per slice of 12288 bins;
/// dynamic shared memory of 4 bytes per bin of a slice. Reads every value once per slice. Exact.
///
/// # Safety
/// Nothing else accesses `counts` while the kernel runs.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_binnings)]
pub unsafe fn histogram_privatized<B: Binning>(
    input: Global<B::In>,
    counts: GlobalMut<u64>,
    binning: B,
) {
    let slice = Slice::of_this_block(counts);
    slice.clear();
    let first = thread::block_idx_x() as usize * CHUNK;
    let end = input.len().min(first + CHUNK);
    let mut i = first + thread::thread_idx_x() as usize;
    while i < end {
        slice.count(binning.bin(input.get(i), slice.bins));
        i += RUNG_BLOCK;
    }
    slice.merge(counts);
}

/// The bins that a block counts, and their counters.
#[derive(Clone, Copy)]
pub(super) struct Slice {
    counters: Shared<u32>,
    first: u32,
    /// The number of all bins, of all slices.
    pub bins: u32,
}

impl Slice {
    #[inline(always)]
    #[track_caller]
    pub fn of_this_block(counts: GlobalMut<u64>) -> Self {
        let first = thread::block_idx_y() as usize * RUNG_SLICE;
        let len = RUNG_SLICE.min(counts.len() - first);
        // SAFETY: the launch provides 4 bytes of dynamic shared memory per bin of a slice, and nothing else uses them.
        let counters = unsafe { DynamicShared::new() }.carve(len);
        Self {
            counters,
            first: first as u32,
            bins: counts.len() as u32,
        }
    }

    #[inline(always)]
    #[track_caller]
    pub fn clear(self) {
        let mut i = thread::thread_idx_x() as usize;
        while i < self.counters.len() {
            self.counters.set(i, 0);
            i += RUNG_BLOCK;
        }
        thread::sync_threads();
    }

    /// Counts a value of this bin if the bin is in the slice.
    #[inline(always)]
    #[track_caller]
    pub fn count(self, bin: u32) {
        let local = bin.wrapping_sub(self.first) as usize;
        if local < self.counters.len() && bin < self.bins {
            self.counters.atomic_add(local, 1);
        }
    }

    #[inline(always)]
    #[track_caller]
    pub fn merge(self, counts: GlobalMut<u64>) {
        thread::sync_threads();
        let mut i = thread::thread_idx_x() as usize;
        while i < self.counters.len() {
            let count = self.counters.get(i);
            if count > 0 {
                counts.atomic_add(self.first as usize + i, u64::from(count));
            }
            i += RUNG_BLOCK;
        }
    }
}
