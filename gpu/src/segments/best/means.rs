//! The means of segments, from their sums.

use cuda_std::prelude::*;

use crate::{
    reduce::{Dividend, Total},
    segments::{Offsets, policy::BLOCK},
};

/// Writes the mean of every segment: its sum divided by its number of elements, or NaN if it has none. An offset is 1 or 2
/// words, the low bits first. If there are no offsets, each sum is that of `elements` elements.
///
/// Launch: any number of blocks of 256 threads, as many as are resident. Reads every sum once and every offset twice, and
/// writes every mean once.
///
/// # Safety
/// The offsets do not fall, and there is one more than there are sums. `means` has an element per sum and overlaps nothing.
#[kernel(
    launch_bounds(BLOCK as u32),
    instances(u64: (u64), i64: (i64), f32: (f32), f64: (f64), total: (Total))
)]
pub unsafe fn segments_means<S: Dividend>(
    sums: Global<S>,
    offsets: Global<u32>,
    per_offset: u32,
    elements: usize,
    means: GlobalMut<f64>,
) {
    let (thread, stride) = (thread::index_1d_wide(), thread::grid_stride());
    let segments = Offsets::of(offsets, per_offset);
    let mut s = thread;
    while s < sums.len() {
        let len = if offsets.is_empty() {
            elements
        } else {
            segments.get(s + 1) - segments.get(s)
        };
        let mean = if len == 0 {
            f64::NAN
        } else {
            sums.get(s).quotient(len)
        };
        means.set(s, mean);
        s += stride;
    }
}
