//! `privatized_coarsened`: a sub-histogram per block, many chunks per block.

use cuda_std::prelude::*;

use super::privatized::Slice;
use crate::histogram::{binning::*, policy::RUNG_BLOCK, with_binnings};

/// Counts the values of `input` into `counts`, which has one element per bin. The kernel adds to `counts` and does not clear
/// it. A value without a bin is not counted. The kernel works as `privatized`, but a block strides over the whole input, so
/// there are few blocks and few merges.
///
/// Launch: as many blocks of 256 threads along x as fill the device; along y one block per slice of 12288
/// bins; dynamic shared memory of 4 bytes per bin of a slice. Reads every value once per slice. Exact.
///
/// # Safety
/// Nothing else accesses `counts` while the kernel runs. A block counts fewer than 2^32 values.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_binnings)]
pub unsafe fn histogram_privatized_coarsened<B: Binning>(
    input: Global<B::In>,
    counts: GlobalMut<u64>,
    binning: B,
) {
    let slice = Slice::of_this_block(counts);
    slice.clear();
    let mut i = thread::index_1d_wide();
    while i < input.len() {
        slice.count(binning.bin(input.get(i), slice.bins));
        i += thread::grid_stride();
    }
    slice.merge(counts);
}
