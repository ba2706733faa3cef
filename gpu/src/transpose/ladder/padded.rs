//! `padded`: a tile whose rows are one bank longer.

use cuda_std::prelude::*;

use super::tile_origin;
use crate::transpose::policy::RUNG_TILE;

/// Transposes a `height` x `width` row-major matrix through a tile in shared memory whose rows are one bank (4 bytes) longer
/// than the tile, or one element where that is larger: the elements of a column lie in different banks.
///
/// Launch: one block of 16 x 16 threads per tile, x fastest; static shared memory of 16 rows of 16 elements and the padding.
/// Moves `2 * width * height * size_of::<T>()` bytes. Exact.
///
/// # Safety
/// `input` and `output` have `width * height` elements and do not overlap.
#[kernel(
    launch_bounds(256),
    instances(
        b1: (u8, 20), b2: (u16, 18), b4: (u32, 17), b8: (u64, 17), b16: (u128, 17)
    )
)]
pub unsafe fn transpose_padded<T: Plain, const PITCH: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    const {
        let bank = 4 / size_of::<T>();
        assert!(PITCH == RUNG_TILE + if bank == 0 { 1 } else { bank });
    }
    // The longest pitch is that of one-byte elements.
    let tile = shared![T; RUNG_TILE * 20];
    let (left, top) = tile_origin(width, RUNG_TILE, RUNG_TILE);
    let (column, row) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        tile.set(row * PITCH + column, input.get(y * width + x));
    }
    thread::sync_threads();
    let (x, y) = (left + row, top + column);
    if x < width && y < height {
        output.set(x * height + y, tile.get(column * PITCH + row));
    }
}
