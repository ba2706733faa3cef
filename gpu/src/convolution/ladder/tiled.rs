//! `tiled`: the input's part and its halo in shared memory.

use cuda_std::{prelude::*, shared::DynamicShared};

use super::sum;
use crate::convolution::{
    boundary::{Boundary, Row},
    policy::RUNG_BLOCK,
    sample::{Sample, Weight},
    window::{block_origin, window_start},
};

/// Convolves each row of `width` elements of `input` with the mask in constant memory. A block copies the input of its windows
/// to shared memory: its own 256 elements, and a halo of half a mask on either side, with the values outside of the row filled
/// in. So every element is read about once, and the loop over the window has no conditions.
///
/// Launch: one block of 256 threads per 256 outputs of a row, along x and row by row; dynamic shared memory
/// of `255 + mask_width` elements. Reads `255 + mask_width` elements per 256 outputs. Sums in the order of
/// the window, each weight by one fused multiply-add: the same bits on every device.
///
/// # Safety
/// `input` and `output` have as many elements, a multiple of `width`, and do not overlap; `width` is not 0;
/// the first `mask_width` weights of the sum's table are set.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances(u8, f32, f64))]
pub unsafe fn convolution_tiled<T: Sample>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    mask_width: usize,
    boundary: Boundary,
) {
    let (row, first) = block_origin(width, RUNG_BLOCK);
    let start = row * width;
    let row = Row {
        input,
        start,
        width,
        boundary,
    };
    let tid = thread::thread_idx_x() as usize;
    // SAFETY: the launch provides this much dynamic shared memory, and nothing else uses it.
    let tile: Shared<T> = unsafe { DynamicShared::new() }.carve(RUNG_BLOCK - 1 + mask_width);
    let left = window_start(first, mask_width);
    let mut i = tid;
    while i < tile.len() {
        tile.set(i, row.get(left + i as isize));
        i += RUNG_BLOCK;
    }
    thread::sync_threads();
    let column = first + tid;
    if column < width {
        let sum = sum(
            mask_width,
            |j| T::Sum::table().get(j),
            |j| tile.get(tid + j).widen(),
        );
        output.set(start + column, T::narrow(sum));
    }
}
