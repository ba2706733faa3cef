//! Tiles of elements of 4 or 8 bytes whose rows begin anywhere: one element per access.

use cuda_std::prelude::*;

use super::{
    super::policy::{BEST_THREADS, Best},
    Tile, shared_as,
};

/// Lanes of a warp, which take neighbouring elements of a row.
const LANES: usize = 32;
/// Warps of a block, which take neighbouring rows.
const WARPS: usize = BEST_THREADS / LANES;

/// Moves a tile by single elements. See [`super::transpose_best`].
#[inline(always)]
#[track_caller]
pub fn transpose<T: Copy>(tile: Tile<T>, memory: Shared<u128>) {
    if tile.whole {
        moved::<T, true>(tile, memory);
    } else {
        moved::<T, false>(tile, memory);
    }
}

#[inline(always)]
#[track_caller]
fn moved<T: Copy, const WHOLE: bool>(tile: Tile<T>, memory: Shared<u128>) {
    let side = const { Best::of(size_of::<T>()).tile() };
    // One element more than a row has, so that neither rows nor columns meet in a bank.
    let pitch = side + 1;
    let shared = shared_as::<T>(memory);
    let tid = thread::thread_idx_x() as usize;
    let (lane, warp) = (tid % LANES, tid / LANES);

    for part in 0..side / LANES {
        let column = part * LANES + lane;
        let x = tile.left + column;
        for round in 0..side / WARPS {
            let row = round * WARPS + warp;
            let y = tile.top + row;
            if WHOLE || (x < tile.width && y < tile.height) {
                shared.set(row * pitch + column, tile.input.get(y * tile.width + x));
            }
        }
    }
    thread::sync_threads();
    for part in 0..side / LANES {
        let row = part * LANES + lane;
        let y = tile.top + row;
        for round in 0..side / WARPS {
            let column = round * WARPS + warp;
            let x = tile.left + column;
            if WHOLE || (x < tile.width && y < tile.height) {
                tile.output
                    .set(x * tile.height + y, shared.get(row * pitch + column));
            }
        }
    }
}
