//! `best`: wide loads, and one sub-histogram per lane of a warp where there is room.
//!
//! ```text
//! block (x, slice y of the bins):
//!     counters[bin][copy] = 0 in shared memory           (copies lie side by side: copy c is in bank c)
//!     for each 16-byte chunk of this thread, UNROLL in flight:
//!         for each value: atomic_add(counters[bin of value, or the extra bin][lane % copies], 1)
//!     for each bin of the slice: atomic_add(counts[bin], sum of its copies)
//! ```
//!
//! With one sub-histogram, lanes of a warp with equal values wait for each other at one counter, and different values may share
//! a bank. With 32 copies neither can happen, whatever the values are. Values outside of the slice go to an extra bin without a
//! branch.

use cuda_std::{prelude::*, shared::DynamicShared, unrolled, view::Wide};

use super::{binning::*, policy::Policy, with_binnings};
use crate::tuning::{Numbers, Tuned, numbers};

/// Counts the values of `input` into `counts`, which has one element per bin. The kernel adds to `counts` and does not clear
/// it. A value without a bin is not counted.
///
/// A block keeps `copies` sub-histograms, whose counters of one bin are adjacent: lane `l` counts into copy `l % copies`. With
/// 32 copies each lane has its own bank of shared memory, so that no pattern of values makes lanes wait for each other. An
/// extra bin after the last one takes all values that are not in this slice: counting then needs no branch, which would cost
/// more than the count.
///
/// Launch: along x, as many blocks of [`Policy::block_for`] threads as fill the device; along y, one block per slice of
/// `slice_bins` bins; dynamic shared memory of `4 * copies` bytes per bin of a slice and one more. Reads every value once per
/// slice, 16 bytes per load where aligned. Exact.
///
/// # Safety
/// Nothing else accesses `counts` while the kernel runs. A block counts fewer than 2^32 values. `copies_log2` is at most 5.
/// Every slice has a bin.
#[kernel(
    launch_bounds(numbers::<Policy, B::In>(ROW).most_threads() as u32),
    instances = with_binnings,
    tuned(u8: 0..9, even_f32 as f32: 0..9)
)]
pub unsafe fn histogram_best<B: Binning, const ROW: usize>(
    input: Global<B::In>,
    counts: GlobalMut<u64>,
    binning: B,
    copies_log2: u32,
    slice_bins: u32,
) {
    count_all::<B, Numbers<B::In, ROW>>(input, counts, binning, copies_log2, slice_bins);
}

/// The body of [`histogram_best`], with the values of the policy row `N`.
#[inline(always)]
#[track_caller]
fn count_all<B: Binning, N: Tuned<Policy>>(
    input: Global<B::In>,
    counts: GlobalMut<u64>,
    binning: B,
    copies_log2: u32,
    slice_bins: u32,
) {
    const { assert!(matches!(N::POLICY.unroll, 1 | 2 | 4)) };
    match const { N::POLICY.unroll } {
        1 => count_by::<B, N, 1>(input, counts, binning, copies_log2, slice_bins),
        2 => count_by::<B, N, 2>(input, counts, binning, copies_log2, slice_bins),
        _ => count_by::<B, N, 4>(input, counts, binning, copies_log2, slice_bins),
    }
}

#[inline(always)]
#[track_caller]
fn count_by<B: Binning, N: Tuned<Policy>, const UNROLL: usize>(
    input: Global<B::In>,
    counts: GlobalMut<u64>,
    binning: B,
    copies_log2: u32,
    slice_bins: u32,
) {
    // A constant where it is always the same: on an H100 floats were counted 1.3 % slower without.
    let block = if const { N::POLICY.block == N::POLICY.lone_block } {
        const { N::POLICY.block }
    } else {
        thread::block_dim_x() as usize
    };
    let bins = counts.len() as u32;
    let tid = thread::thread_idx_x() as usize;
    let first_bin = thread::block_idx_y() as usize * slice_bins as usize;
    let slice = (slice_bins as usize).min(counts.len() - first_bin);
    let copies = 1_usize << copies_log2;
    // SAFETY: the launch provides 4 bytes of dynamic shared memory per bin and copy, and nothing else uses them.
    let counters: Shared<u32> = unsafe { DynamicShared::new() }.carve((slice + 1) << copies_log2);
    let mut i = tid;
    while i < counters.len() {
        counters.set(i, 0);
        i += block;
    }
    thread::sync_threads();

    let copy = (tid & (copies - 1)) as u32;
    let count = |value: B::In| {
        let local = binning
            .bin(value, bins)
            .wrapping_sub(first_bin as u32)
            .min(slice as u32);
        counters.atomic_add(((local << copies_log2) + copy) as usize, 1);
    };

    let lanes = Wide::<B::In>::LEN;
    let thread = thread::index_1d_wide();
    let stride = thread::grid_stride();
    let past = input.as_ptr().addr() % 16 / size_of::<B::In>();
    let head = if past == 0 { 0 } else { lanes - past }.min(input.len());
    let wides = (input.len() - head) / lanes;
    let tail = head + wides * lanes;
    let mut wide = thread;
    while wide + (UNROLL - 1) * stride < wides {
        let loaded: [Wide<B::In>; UNROLL] = core::array::from_fn(|round| {
            input.get_wide_streaming(head + (wide + round * stride) * lanes)
        });
        unrolled!(round < UNROLL => {
            loaded[round].fold((), |(), value, _| count(value));
        });
        wide += UNROLL * stride;
    }
    while wide < wides {
        let loaded = input.get_wide_streaming(head + wide * lanes);
        loaded.fold((), |(), value, _| count(value));
        wide += stride;
    }
    if thread < head {
        count(input.get(thread));
    }
    if tail + thread < input.len() {
        count(input.get(tail + thread));
    }

    thread::sync_threads();
    let mut bin = tid;
    while bin < slice {
        let mut total = 0_u64;
        for i in 0..copies {
            // Neighboring threads start at different copies, so that they read different banks.
            let copy = (i + tid) & (copies - 1);
            total += u64::from(counters.get((bin << copies_log2) + copy));
        }
        if total > 0 {
            counts.atomic_add(first_bin + bin, total);
        }
        bin += block;
    }
}
