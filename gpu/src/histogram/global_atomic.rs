//! `global_atomic`: one atomic operation on global memory per value.

use cuda_std::prelude::*;

use super::{binning::*, policy::RUNG_BLOCK, with_binnings};

/// Counts the values of `input` into `counts`, which has one element per bin. The kernel adds to `counts` and does not clear
/// it. A value without a bin is not counted.
///
/// Launch: as many blocks of 256 threads as fill the device. Reads every value once; one atomic addition
/// in global memory per value. Exact.
///
/// # Safety
/// Nothing else accesses `counts` while the kernel runs.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_binnings)]
pub unsafe fn histogram_global_atomic<B: Binning>(
    input: Global<B::In>,
    counts: GlobalMut<u64>,
    binning: B,
) {
    let bins = counts.len() as u32;
    let mut i = thread::index_1d_wide();
    while i < input.len() {
        let bin = binning.bin(input.get(i), bins);
        if bin < bins {
            counts.atomic_add(bin as usize, 1);
        }
        i += thread::grid_stride();
    }
}
