//! `naive`: one thread per element.

use cuda_std::prelude::*;

use super::tile_origin;
use crate::transpose::policy::RUNG_TILE;

/// Transposes a `height` x `width` row-major matrix, one thread per element. Neighboring lanes read adjacent elements, and
/// write elements that are `height` apart.
///
/// Launch: one block of 16 x 16 threads per 16 x 16 tile, x fastest; no shared memory.
/// Moves `2 * width * height * size_of::<T>()` bytes. Exact.
///
/// # Safety
/// `input` and `output` have `width * height` elements and do not overlap.
#[kernel(
    launch_bounds(256),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64), b16: (u128))
)]
pub unsafe fn transpose_naive<T: Copy>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    let (left, top) = tile_origin(width, RUNG_TILE, RUNG_TILE);
    let x = left + thread::thread_idx_x() as usize;
    let y = top + thread::thread_idx_y() as usize;
    if x < width && y < height {
        output.set(x * height + y, input.get(y * width + x));
    }
}
