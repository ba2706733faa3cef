//! `tiled`: a square tile in shared memory.

use cuda_std::prelude::*;

use super::tile_origin;
use crate::transpose::policy::RUNG_TILE;

/// Transposes a `height` x `width` row-major matrix through a 16 x 16 tile in shared memory, so that both the reads and the
/// writes of a warp are coalesced. The lanes of a warp read the tile by columns, whose elements share banks.
///
/// Launch: one block of 16 x 16 threads per tile, x fastest; static shared memory of 256 elements.
/// Moves `2 * width * height * size_of::<T>()` bytes. Exact.
///
/// # Safety
/// `input` and `output` have `width * height` elements and do not overlap.
#[kernel(
    launch_bounds(256),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64), b16: (u128))
)]
pub unsafe fn transpose_tiled<T: Plain>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    let tile = shared![T; RUNG_TILE * RUNG_TILE];
    let (left, top) = tile_origin(width, RUNG_TILE, RUNG_TILE);
    let (column, row) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        tile.set(row * RUNG_TILE + column, input.get(y * width + x));
    }
    thread::sync_threads();
    // The block's tile of the output. Its rows are the columns of the tile that was read.
    let (x, y) = (left + row, top + column);
    if x < width && y < height {
        output.set(x * height + y, tile.get(column * RUNG_TILE + row));
    }
}
