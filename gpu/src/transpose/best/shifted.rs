//! Tiles of elements of 1 or 2 bytes whose rows begin anywhere. Words of 4 bytes, of K elements each, are shifted into place.
//!
//! ```text
//! load, for each K rows of the tile, a lane per word:
//!     word of a row = bits of the two aligned words that it overlaps, shifted to the row's beginning
//!     transpose the K words in registers, put word j into plane j of shared memory
//! mend_ends: put the matrix's first and last K elements one by one; a word there may lie partly outside of it
//! barrier
//! store, for each row of the output, from the first sector in it on, a lane per word:
//!     word = bits of the two words of the plane that it overlaps, shifted to the sector's beginning; store it
//!     at the matrix's edges: the elements before the first sector, and those of an incomplete word, one by one
//! ```
//!
//! An access of 4 bytes must be aligned, and moving one element at a time would take K times as many instructions. The second
//! word of each pair is the first one of the next lane, so hardly any memory is read twice.

use cuda_std::prelude::*;

use super::{
    super::{
        pieces::{LONG_WORDS, PARTS, PITCH, PLANE, WORDS},
        policy::Policy,
    },
    Tile, shared_as, to_sector,
    turned::{turned_2, turned_4},
};
use crate::tuning::Tuned;

/// Returns the warps of a block.
const fn block_warps<N: Tuned<Policy>>() -> usize {
    N::POLICY.threads / WORDS
}

/// Moves a tile by words of `K` elements. See [`super::transpose_best`].
#[inline(always)]
#[track_caller]
pub fn transpose<T: Copy, N: Tuned<Policy>, const K: usize>(tile: Tile<T>, memory: Shared<u128>) {
    load::<T, N, K>(tile, shared_as(memory));
    mend_ends::<T, K>(tile, memory);
    thread::sync_threads();
    if tile.inner::<N>() {
        store::<T, N, K, true>(tile, memory);
    } else {
        store::<T, N, K, false>(tile, memory);
    }
}

/// Returns this thread's lane and warp.
#[inline(always)]
fn place() -> (usize, usize) {
    let tid = thread::thread_idx_x() as usize;
    (tid % WORDS, tid / WORDS)
}

/// Returns the memory of `view` from its first multiple of 4 bytes on, as words that are wholly within it.
#[inline(always)]
#[track_caller]
fn words_of<T: Copy>(view: Global<T>) -> Global<u32> {
    let skipped = before_word(view.as_ptr().addr()) / size_of::<T>();
    let (skipped, len) = if skipped < view.len() {
        (skipped, view.len() - skipped)
    } else {
        (0, 0)
    };
    // SAFETY: the words are an aligned part of the view, and any bytes of elements are valid words.
    unsafe {
        Global::from_raw_parts(
            view.as_ptr().add(skipped).cast_mut().cast(),
            len * size_of::<T>() / 4,
        )
    }
}

/// Returns the bytes from an address to the next multiple of a word.
#[inline(always)]
fn before_word(address: usize) -> usize {
    address.wrapping_neg() % 4
}

/// Returns the word that lies `shift` elements after the start of `low`. `high` is the word after `low`.
#[inline(always)]
fn shifted<T>(low: u32, high: u32, shift: usize) -> u32 {
    let both = u64::from(high) << 32 | u64::from(low);
    (both >> (shift * size_of::<T>() * 8)) as u32
}

/// Returns the words of `K` columns from the words of `K` rows.
#[inline(always)]
fn turned<const K: usize>(rows: [u32; K]) -> [u32; K] {
    let [a, b, c, d] = core::array::from_fn(|i| rows[i % K]);
    let columns = if K == 2 {
        let [first, second] = turned_2(a, b);
        [first, second, 0, 0]
    } else {
        turned_4([a, b, c, d])
    };
    core::array::from_fn(|i| columns[i])
}

/// Stores the words of the columns of `group`'s `K` rows in the planes.
#[inline(always)]
#[track_caller]
fn put<const K: usize>(shared: Shared<u32>, lane: usize, group: usize, rows: [u32; K]) {
    let columns = turned(rows);
    for j in 0..K {
        shared.set(j * PLANE + lane * PITCH + group, columns[j]);
    }
}

/// Loads a tile whose rows begin anywhere. Each word comes from the two aligned words that it overlaps. Elements beyond the
/// matrix's sides are loaded from whatever memory follows, and never stored. The words at the two ends of the memory, which may
/// be partly outside, are left to [`mend_ends`].
#[inline(always)]
#[track_caller]
fn load<T: Copy, N: Tuned<Policy>, const K: usize>(tile: Tile<T>, shared: Shared<u32>) {
    let input = words_of(tile.input);
    if tile.top > 0 && tile.top + (LONG_WORDS + 1) * K < tile.height && tile.width > 2 * WORDS * K {
        // Every word, even beyond the right side, is before the matrix's last row.
        load_words::<T, N, K, false>(tile, input, shared);
    } else if !input.is_empty() {
        load_words::<T, N, K, true>(tile, input, shared);
    } else {
        let (lane, warp) = place();
        let warps = const { block_warps::<N>() };
        for round in 0..LONG_WORDS / warps {
            put::<K>(shared, lane, warp + round * warps, [0; K]);
        }
    }
}

/// The body of [`load`]. With `CLAMPED`, a word of `input` is loaded in place of a word outside of it.
#[inline(always)]
#[track_caller]
fn load_words<T: Copy, N: Tuned<Policy>, const K: usize, const CLAMPED: bool>(
    tile: Tile<T>,
    input: Global<u32>,
    shared: Shared<u32>,
) {
    let (lane, warp) = place();
    // The elements before the first aligned word.
    let start = before_word(tile.input.as_ptr().addr()) / size_of::<T>();
    let last = input.len() as i64 - 1;
    let rows = |group: usize| -> [u32; K] {
        core::array::from_fn(|i| {
            let y = tile.top + group * K + i;
            // The shift is arithmetic: the row of the first tile may begin before the first word.
            let first = (y * tile.width + tile.left) as i64 - start as i64;
            let index = (first >> K.ilog2()) + lane as i64;
            let word = |index: i64| {
                let index = if CLAMPED { index.clamp(0, last) } else { index };
                input.get(index as usize)
            };
            shifted::<T>(word(index), word(index + 1), first as usize % K)
        })
    };
    let warps = const { block_warps::<N>() };
    for round in 0..LONG_WORDS / warps / 3 {
        let group = warp + round * 3 * warps;
        // The loads of all three are issued before the first is used.
        let (a, b, c) = (rows(group), rows(group + warps), rows(group + 2 * warps));
        put::<K>(shared, lane, group, a);
        put::<K>(shared, lane, group + warps, b);
        put::<K>(shared, lane, group + 2 * warps, c);
    }
}

/// Stores the first and the last `K` elements of the matrix in their places, as far as they are in this tile.
#[inline(always)]
#[track_caller]
fn mend_ends<T: Copy, const K: usize>(tile: Tile<T>, memory: Shared<u128>) {
    let (columns, rows) = (WORDS * K, LONG_WORDS * K);
    let first_tile = tile.left == 0 && tile.top == 0;
    // In a matrix of fewer than K columns the last K elements are in several rows.
    if !first_tile && tile.top + rows + K <= tile.height {
        return;
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    let len = tile.input.len();
    // The first K elements, then those of the last K that are not among them.
    let i = if tid < K {
        tid
    } else {
        (len + K).wrapping_sub(tid + 1)
    };
    if tid < 2 * K && i < len && (i >= K) == (tid >= K) {
        let (x, y) = (i % tile.width, i / tile.width);
        let (column, row) = (x.wrapping_sub(tile.left), y.wrapping_sub(tile.top));
        if column < columns && row < rows {
            shared_as::<T>(memory).set(element_place::<K>(column, row), tile.input.get(i));
        }
    }
}

/// Returns the place of the element in this column and row of the tile, in elements from the start of the planes.
#[inline(always)]
fn element_place<const K: usize>(column: usize, row: usize) -> usize {
    ((column % K) * PLANE + (column / K) * PITCH) * K + row
}

/// Stores 256 bytes of every row of the output, from a sector's start on. Each word comes from the two words that it overlaps.
/// Without `INNER` the pieces may begin with the matrix, or end with it, within a word.
#[inline(always)]
#[track_caller]
fn store<T: Copy, N: Tuned<Policy>, const K: usize, const INNER: bool>(
    tile: Tile<T>,
    memory: Shared<u128>,
) {
    let warps = const { block_warps::<N>() };
    let (lane, warp) = place();
    let (words, elements) = (shared_as::<u32>(memory), shared_as::<T>(memory));
    let side = WORDS * K;
    // The values that change from row to row: its place in the planes, in words, and its first element.
    let mut place = (warp % K) * PLANE + (warp / K) * PITCH;
    let mut first = (tile.left + warp) * tile.height + tile.top;
    for round in 0..side / warps {
        let column = round * warps + warp;
        if INNER || tile.left + column < tile.width {
            let skipped = to_sector(tile.output, first);
            for part in 0..PARTS {
                // The last word has a second one too: a row has a sector's words more.
                let at = place + skipped / K + part * WORDS + lane;
                let word = shifted::<T>(words.get(at), words.get(at + 1), skipped % K);
                // SAFETY: the `K` elements take 4 bytes in all, with the alignment of a word.
                let chunk: [T; K] = unsafe { core::mem::transmute_copy(&word) };
                let row = skipped + (part * WORDS + lane) * K;
                if INNER || tile.top + row + K <= tile.height {
                    tile.output.set_chunk(first + row, chunk);
                } else {
                    for i in 0..K {
                        if tile.top + row + i < tile.height {
                            tile.output.set(first + row + i, chunk[i]);
                        }
                    }
                }
            }
            // No other block writes the elements before the first sector.
            if !INNER && tile.top == 0 && lane < skipped && lane < tile.height {
                tile.output
                    .set(first + lane, elements.get(place * K + lane));
            }
        }
        place += const { block_warps::<N>() / K * PITCH };
        first += warps * tile.height;
    }
}
