//! Tiles of elements of 4 or 8 bytes whose rows begin anywhere: one element per access.

use cuda_std::prelude::*;

use super::{
    super::policy::{Policy, SECTOR},
    Tile, shared_as, tile_width, to_sector,
};
use crate::tuning::Tuned;

/// The lanes of a warp, which take neighboring elements of a row.
const LANES: usize = 32;

/// Moves a tile by single elements. See [`super::transpose_best`].
#[inline(always)]
#[track_caller]
pub fn transpose<T: Copy, N: Tuned<Policy>>(tile: Tile<T>, memory: Shared<u128>) {
    if tile.inner::<N>() {
        moved::<T, N, true>(tile, memory);
    } else {
        moved::<T, N, false>(tile, memory);
    }
}

#[inline(always)]
#[track_caller]
fn moved<T: Copy, N: Tuned<Policy>, const INNER: bool>(tile: Tile<T>, memory: Shared<u128>) {
    let side = tile_width::<T, N>();
    // The warps of a block, which take neighboring rows.
    let warps = N::POLICY.threads / LANES;
    // The additional rows allow for a row of the output that begins later than the tile.
    let rows = side + SECTOR / size_of::<T>();
    // One element of padding per row prevents bank conflicts along rows and columns.
    let pitch = side + 1;
    let shared = shared_as::<T>(memory);
    let tid = thread::thread_idx_x() as usize;
    let (lane, warp) = (tid % LANES, tid / LANES);

    for part in 0..side / LANES {
        let column = part * LANES + lane;
        let x = tile.left + column;
        for round in 0..rows.div_ceil(warps) {
            let row = round * warps + warp;
            let y = tile.top + row;
            let in_tile = (round + 1) * warps <= rows || row < rows;
            if in_tile && (INNER || (x < tile.width && y < tile.height)) {
                shared.set(row * pitch + column, tile.input.get(y * tile.width + x));
            }
        }
    }
    thread::sync_threads();
    for round in 0..side / warps {
        let column = round * warps + warp;
        let x = tile.left + column;
        let first = x * tile.height + tile.top;
        let skipped = to_sector(tile.output, first);
        for part in 0..side / LANES {
            let row = skipped + part * LANES + lane;
            if INNER || (x < tile.width && tile.top + row < tile.height) {
                tile.output
                    .set(first + row, shared.get(row * pitch + column));
            }
        }
        // No other block writes the elements before the first sector.
        if !INNER && tile.top == 0 && lane < skipped && x < tile.width && lane < tile.height {
            tile.output
                .set(first + lane, shared.get(lane * pitch + column));
        }
    }
}
