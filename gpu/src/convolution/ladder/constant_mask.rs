//! `constant_mask`: the mask in constant memory.

use cuda_std::prelude::*;

use super::sum;
use crate::convolution::{
    boundary::{Boundary, Row},
    policy::RUNG_BLOCK,
    sample::{Sample, Weight},
    window::{block_origin, window_start},
};

/// Convolves each row of `width` elements of `input` with the mask in constant memory, one thread per output. All lanes of a
/// warp need the same weight at the same time, which the constant cache broadcasts.
///
/// Launch: one block of 256 threads per 256 outputs of a row, along x and row by row; no shared memory.
/// Loads an element per output and weight, nearly all of them from a cache. Sums in the order of the
/// window, each weight by one fused multiply-add: the same bits on every device.
///
/// # Safety
/// `input` and `output` have as many elements, a multiple of `width`, and do not overlap; `width` is not 0;
/// the first `mask_width` weights of the sum's table are set.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances(u8, f32, f64))]
pub unsafe fn convolution_constant_mask<T: Sample>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    mask_width: usize,
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
        let left = window_start(column, mask_width);
        let sum = sum(
            mask_width,
            |j| T::Sum::table().get(j),
            |j| row.get(left + j as isize).widen(),
        );
        output.set(start + column, T::narrow(sum));
    }
}
