//! `basic`: one thread per output.

use cuda_std::prelude::*;

use super::sum;
use crate::convolution::{
    boundary::{Boundary, Row},
    policy::RUNG_BLOCK,
    sample::Sample,
    window::{block_origin, window_start},
};

/// Convolves each row of `width` elements of `input` with `mask`, one thread per output. The thread reads its window and the
/// mask from global memory, and tests for every element whether it is within the row.
///
/// Launch: one block of 256 threads per 256 outputs of a row, along x and row by row; no shared memory.
/// Loads two elements per output and weight, nearly all of them from a cache. Sums in the order of the
/// window, each weight by one fused multiply-add: the same bits on every device.
///
/// # Safety
/// `input` and `output` have as many elements, a multiple of `width`, and do not overlap; `width` is not 0.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances(u8, f32, f64))]
pub unsafe fn convolution_basic<T: Sample>(
    input: Global<T>,
    mask: Global<T::Sum>,
    output: GlobalMut<T>,
    width: usize,
    boundary: Boundary,
) {
    let (row, first) = block_origin(width, RUNG_BLOCK);
    let column = first + thread::thread_idx_x() as usize;
    if column < width {
        let start = row * width;
        let row = Row {
            input,
            start,
            width,
            boundary,
        };
        let left = window_start(column, mask.len());
        let sum = sum(
            mask.len(),
            |j| mask.get(j),
            |j| row.get(left + j as isize).widen(),
        );
        output.set(start + column, T::narrow(sum));
    }
}
