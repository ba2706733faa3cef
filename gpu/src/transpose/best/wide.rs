//! Tiles whose rows begin at multiples of 16 bytes: 16 bytes per access.

use cuda_std::prelude::*;

use super::{super::policy::Policy, Tile, shared_as};
use crate::tuning::Tuned;

/// Moves a tile by words of `K` elements, which are 16 bytes. See [`super::transpose_best`].
#[inline(always)]
#[track_caller]
pub fn transpose<T: Copy, N: Tuned<Policy>, const K: usize>(tile: Tile<T>, memory: Shared<u128>) {
    if tile.whole {
        moved::<T, N, K, true>(tile, memory);
    } else {
        moved::<T, N, K, false>(tile, memory);
    }
}

#[inline(always)]
#[track_caller]
fn moved<T: Copy, N: Tuned<Policy>, const K: usize, const WHOLE: bool>(
    tile: Tile<T>,
    memory: Shared<u128>,
) {
    let Policy { words, threads, .. } = const { N::POLICY };
    let pitch = (words + 1) * K;
    let plane = words * pitch;
    let rounds = words * words / threads;
    let per_round = threads / words;
    let shared = shared_as::<T>(memory);
    let tid = thread::thread_idx_x() as usize;
    let (lane, group) = (tid % words, tid / words);

    // `lane` is the word's column, and `group` the row of the first of its K words, in words.
    let x = tile.left + lane * K;
    for round in 0..rounds {
        let group = group + round * per_round;
        let y = tile.top + group * K;
        // The matrix's sides are multiples of K, so either all of these K x K elements are in it, or none.
        if WHOLE || (x < tile.width && y < tile.height) {
            let first = y * tile.width + x;
            let rows: [[T; K]; K] =
                core::array::from_fn(|i| tile.input.get_chunk(first + i * tile.width));
            for j in 0..K {
                let turned: [T; K] = core::array::from_fn(|i| rows[i][j]);
                shared.set_chunk(j * plane + lane * pitch + group * K, turned);
            }
        }
    }
    thread::sync_threads();
    // From here on `lane` is the word's place in a row of the output, and `group` counts its rows in units of K.
    // SAFETY: the view covers the whole output, which is aligned for words and has a whole number of them.
    let output: GlobalMut<u128> =
        unsafe { GlobalMut::from_raw_parts(tile.output.as_ptr().cast(), tile.output.len() / K) };
    let (height, y) = (tile.height / K, tile.top / K + lane);
    for round in 0..rounds {
        let group = group + round * per_round;
        let x = tile.left + group * K;
        if WHOLE || (x < tile.width && y < height) {
            for j in 0..K {
                let word = memory.get((j * plane + group * pitch) / K + lane);
                output.set((x + j) * height + y, word);
            }
        }
    }
}
