//! `best`: a 32 x 32 padded tile, four rows per thread.

use cuda_std::prelude::*;

use super::{
    policy::{BEST_ROWS, BEST_TILE},
    tile_origin,
};

/// A tile row with its padding: one element, so that a column of four-byte elements takes every bank once.
const PITCH: usize = BEST_TILE + 1;
/// Elements that a thread moves.
const ROUNDS: usize = BEST_TILE / BEST_ROWS;

/// Transposes a `height` x `width` row-major matrix through 32 x 32 tiles. A thread issues its four loads
/// before it uses the first of them, so that 16 KiB and more are in flight on every multiprocessor.
///
/// Launch: one block of 32 x 8 threads per tile, x fastest; static shared memory of 32 x 33 elements.
/// Moves `2 * width * height * size_of::<T>()` bytes. Exact.
///
/// # Safety
/// `input` and `output` have `width * height` elements and do not overlap.
#[kernel(
    launch_bounds(256),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64), b16: (u128))
)]
pub unsafe fn transpose_best<T: Copy>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    let tile = shared![T; BEST_TILE * PITCH];
    let (left, top) = tile_origin(width, BEST_TILE, BEST_TILE);
    let (column, row) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    if left + BEST_TILE <= width && top + BEST_TILE <= height {
        let first = (top + row) * width + left + column;
        let values: [T; ROUNDS] =
            core::array::from_fn(|round| input.get(first + round * BEST_ROWS * width));
        for round in 0..ROUNDS {
            tile.set((row + round * BEST_ROWS) * PITCH + column, values[round]);
        }
        thread::sync_threads();
        let first = (left + row) * height + top + column;
        for round in 0..ROUNDS {
            let value = tile.get(column * PITCH + row + round * BEST_ROWS);
            output.set(first + round * BEST_ROWS * height, value);
        }
    } else {
        for round in 0..ROUNDS {
            let (x, y) = (left + column, top + row + round * BEST_ROWS);
            if x < width && y < height {
                tile.set(
                    (row + round * BEST_ROWS) * PITCH + column,
                    input.get(y * width + x),
                );
            }
        }
        thread::sync_threads();
        for round in 0..ROUNDS {
            let (x, y) = (left + row + round * BEST_ROWS, top + column);
            if x < width && y < height {
                let value = tile.get(column * PITCH + row + round * BEST_ROWS);
                output.set(x * height + y, value);
            }
        }
    }
}
