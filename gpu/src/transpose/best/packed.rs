//! Tiles of elements of 1 or 2 bytes, as words of 4 bytes.

use cuda_std::{misc::byte_permute, prelude::*};

use super::{
    super::policy::{BEST_THREADS, Best},
    Tile, shared_as,
};

/// Words of a row of a tile: one per lane of a warp.
const WORDS: usize = 32;
/// Words from one row of a plane to the next, so that columns do not meet in a bank.
const PITCH: usize = WORDS + 1;
/// Words from one plane to the next. Plane `j` has the rows of the output whose number in the tile is `j` modulo `K`.
const PLANE: usize = WORDS * PITCH;
/// Warps of a block.
const WARPS: usize = BEST_THREADS / WORDS;

/// Moves a tile by words of `K` elements. `in_words`: every row of both matrices begins at a multiple of
/// a word. See [`super::transpose_best`].
#[inline(always)]
#[track_caller]
pub fn transpose<T: Copy, const K: usize>(tile: Tile<T>, memory: Shared<u128>, in_words: bool) {
    const {
        let best = Best::of(size_of::<T>());
        assert!(size_of::<T>() > 2 || best.words == WORDS && size_of::<T>() * K == 4);
    };
    let shared = shared_as::<u32>(memory);
    if !in_words {
        load_shifted::<T, K>(tile, shared);
        mend_ends::<T, K>(tile, memory);
        thread::sync_threads();
        store_shifted::<T, K>(tile, memory);
        return;
    }
    if tile.whole {
        load::<T, K, true>(tile, shared);
        thread::sync_threads();
        store::<T, K, true>(tile, shared);
    } else {
        load::<T, K, false>(tile, shared);
        thread::sync_threads();
        store::<T, K, false>(tile, shared);
    }
}

/// This thread's lane and warp.
#[inline(always)]
fn place() -> (usize, usize) {
    let tid = thread::thread_idx_x() as usize;
    (tid % WORDS, tid / WORDS)
}

/// The memory of `view` from its first multiple of 4 bytes on, as words that are wholly within it.
#[inline(always)]
#[track_caller]
fn words_of<T: Copy>(view: Global<T>) -> Global<u32> {
    let skipped = before_word(view.as_ptr().addr()) / size_of::<T>();
    let (skipped, len) = if skipped < view.len() {
        (skipped, view.len() - skipped)
    } else {
        (0, 0)
    };
    // SAFETY: a part of the view, aligned, whose bytes are a word's as well as elements.
    unsafe {
        Global::from_raw_parts(
            view.as_ptr().add(skipped).cast_mut().cast(),
            len * size_of::<T>() / 4,
        )
    }
}

/// Bytes from an address to the next multiple of a word.
#[inline(always)]
fn before_word(address: usize) -> usize {
    address.wrapping_neg() % 4
}

/// The word that lies `shift` elements behind the start of `low`, `high` being the word after it.
#[inline(always)]
fn shifted<T>(low: u32, high: u32, shift: usize) -> u32 {
    let both = u64::from(high) << 32 | u64::from(low);
    (both >> (shift * size_of::<T>() * 8)) as u32
}

/// The words of `K` columns from the words of `K` rows.
#[inline(always)]
fn turned<const K: usize>(rows: [u32; K]) -> [u32; K] {
    let pick = byte_permute;
    let mut columns = [0; K];
    if K == 2 {
        let [a, b] = [rows[0], rows[1 % K]];
        columns[0] = pick(a, b, 0x5410);
        columns[1 % K] = pick(a, b, 0x7632);
    } else {
        let [a, b, c, d] = [rows[0], rows[1 % K], rows[2 % K], rows[3 % K]];
        let (ab, cd) = (pick(a, b, 0x5140), pick(c, d, 0x5140));
        columns[0] = pick(ab, cd, 0x5410);
        columns[1 % K] = pick(ab, cd, 0x7632);
        let (ab, cd) = (pick(a, b, 0x7362), pick(c, d, 0x7362));
        columns[2 % K] = pick(ab, cd, 0x5410);
        columns[3 % K] = pick(ab, cd, 0x7632);
    }
    columns
}

/// Puts the words of the columns of `group`'s `K` rows into the planes.
#[inline(always)]
#[track_caller]
fn put<const K: usize>(shared: Shared<u32>, lane: usize, group: usize, rows: [u32; K]) {
    let columns = turned(rows);
    for j in 0..K {
        shared.set(j * PLANE + lane * PITCH + group, columns[j]);
    }
}

#[inline(always)]
#[track_caller]
fn load<T: Copy, const K: usize, const WHOLE: bool>(tile: Tile<T>, shared: Shared<u32>) {
    let (lane, warp) = place();
    let input = words_of(tile.input);
    let (width, left) = (tile.width / K, tile.left / K);
    let x = left + lane;
    for round in 0..WORDS / WARPS {
        let group = warp + round * WARPS;
        let y = tile.top + group * K;
        // The matrix's sides are multiples of K, so that these K x K elements are in it, or none of them.
        if WHOLE || (x < width && y < tile.height) {
            let first = y * width + x;
            put::<K>(
                shared,
                lane,
                group,
                core::array::from_fn(|i| input.get(first + i * width)),
            );
        }
    }
}

#[inline(always)]
#[track_caller]
fn store<T: Copy, const K: usize, const WHOLE: bool>(tile: Tile<T>, shared: Shared<u32>) {
    let (lane, warp) = place();
    // SAFETY: the whole output, which is aligned for words and has a whole number of them.
    let output: GlobalMut<u32> =
        unsafe { GlobalMut::from_raw_parts(tile.output.as_ptr().cast(), tile.output.len() / K) };
    let (height, top) = (tile.height / K, tile.top / K);
    let y = top + lane;
    for round in 0..WORDS / WARPS {
        let group = warp + round * WARPS;
        let x = tile.left + group * K;
        if WHOLE || (x < tile.width && y < height) {
            for j in 0..K {
                let word = shared.get(j * PLANE + group * PITCH + lane);
                output.set((x + j) * height + y, word);
            }
        }
    }
}

/// Loads a tile whose rows begin anywhere: each word from the two aligned ones that it lies in. What is beyond the
/// matrix's sides is loaded from wherever it would be, and never stored; the words at the two ends of the
/// memory, parts of which may be outside it, are for [`mend_ends`].
#[inline(always)]
#[track_caller]
fn load_shifted<T: Copy, const K: usize>(tile: Tile<T>, shared: Shared<u32>) {
    let input = words_of(tile.input);
    if tile.top > 0 && tile.top + (WORDS + 1) * K < tile.height && tile.width > 2 * WORDS * K {
        // Every word, also beyond the right side, is before the matrix's last row.
        load_words::<T, K, false>(tile, input, shared);
    } else if !input.is_empty() {
        load_words::<T, K, true>(tile, input, shared);
    } else {
        let (lane, warp) = place();
        for round in 0..WORDS / WARPS {
            put::<K>(shared, lane, warp + round * WARPS, [0; K]);
        }
    }
}

/// [`load_shifted`]; `CLAMPED`: words outside `input` are asked for, and one of its own is taken instead.
#[inline(always)]
#[track_caller]
fn load_words<T: Copy, const K: usize, const CLAMPED: bool>(
    tile: Tile<T>,
    input: Global<u32>,
    shared: Shared<u32>,
) {
    let (lane, warp) = place();
    // Elements before the first aligned word.
    let start = before_word(tile.input.as_ptr().addr()) / size_of::<T>();
    let last = input.len() as i64 - 1;
    let rows = |group: usize| -> [u32; K] {
        core::array::from_fn(|i| {
            let y = tile.top + group * K + i;
            // An arithmetic shift: the row of the first tile may begin before the first word.
            let first = (y * tile.width + tile.left) as i64 - start as i64;
            let index = (first >> K.ilog2()) + lane as i64;
            let word = |index: i64| {
                let index = if CLAMPED { index.clamp(0, last) } else { index };
                input.get(index as usize)
            };
            shifted::<T>(word(index), word(index + 1), first as usize % K)
        })
    };
    for round in 0..WORDS / WARPS / 2 {
        let group = warp + round * 2 * WARPS;
        // The loads of both before what is loaded is used.
        let (these, those) = (rows(group), rows(group + WARPS));
        put::<K>(shared, lane, group, these);
        put::<K>(shared, lane, group + WARPS, those);
    }
}

/// Puts those of the first and the last `K` elements of the matrix that are in this tile into their places.
#[inline(always)]
#[track_caller]
fn mend_ends<T: Copy, const K: usize>(tile: Tile<T>, memory: Shared<u128>) {
    let side = WORDS * K;
    let first_tile = tile.left == 0 && tile.top == 0;
    // With a matrix of fewer than K columns the last K elements are in several rows.
    if !first_tile && tile.top + side + K <= tile.height {
        return;
    }
    thread::sync_threads();
    let tid = thread::thread_idx_x() as usize;
    let len = tile.input.len();
    // The first K, and of the last K those that are not among them.
    let i = if tid < K {
        tid
    } else {
        (len + K).wrapping_sub(tid + 1)
    };
    if tid < 2 * K && i < len && (i >= K) == (tid >= K) {
        let (x, y) = (i % tile.width, i / tile.width);
        let (column, row) = (x.wrapping_sub(tile.left), y.wrapping_sub(tile.top));
        if column < side && row < side {
            shared_as::<T>(memory).set(element_place::<K>(column, row), tile.input.get(i));
        }
    }
}

/// Where the element of this column and row of the tile is, in elements from the start of the planes.
#[inline(always)]
fn element_place<const K: usize>(column: usize, row: usize) -> usize {
    ((column % K) * PLANE + (column / K) * PITCH) * K + row
}

/// Stores a tile whose rows begin anywhere: the aligned words of every row, each from the two that it lies in,
/// and the elements before the first and behind the last of them singly.
#[inline(always)]
#[track_caller]
fn store_shifted<T: Copy, const K: usize>(tile: Tile<T>, memory: Shared<u128>) {
    const { assert!(WARPS.is_multiple_of(K)) };
    let (lane, warp) = place();
    let (words_of_tile, elements) = (shared_as::<u32>(memory), shared_as::<T>(memory));
    let side = WORDS * K;
    let rows = side.min(tile.width - tile.left);
    let len = side.min(tile.height - tile.top) as u32;
    // What changes from a row to the next: its place in the planes, in words, and its first element.
    let mut place = (warp % K) * PLANE + (warp / K) * PITCH;
    let mut first = (tile.left + warp) * tile.height + tile.top;
    let mut column = warp;
    // All but the addresses in 32 bits, which take half the instructions.
    let (lane, per_word, bytes) = (lane as u32, K as u32, size_of::<T>() as u32);
    let start = tile.output.as_ptr().addr() as u32;
    while column < rows {
        let address = start.wrapping_add((first as u32).wrapping_mul(bytes));
        let head = (address.wrapping_neg() % 4 / bytes).min(len);
        let words = (len - head) / per_word;
        let tail = head + words * per_word;
        if lane < words {
            let at = place + lane as usize;
            // The word behind the last one is not there, and not wanted either.
            let low = words_of_tile.get(at);
            let high = words_of_tile.get(at + usize::from(head > 0));
            let word = shifted::<T>(low, high, head as usize);
            // SAFETY: `K` elements of 4 bytes in all, as aligned as a word.
            let elements: [T; K] = unsafe { core::mem::transmute_copy(&word) };
            tile.output
                .set_chunk(first + (head + lane * per_word) as usize, elements);
        }
        // The first K lanes take what is before the words, the next K what is behind them.
        let (i, end) = if lane < per_word {
            (lane, head)
        } else {
            (tail + lane - per_word, len)
        };
        if lane < 2 * per_word && i < end {
            let element = elements.get(place * K + i as usize);
            tile.output.set(first + i as usize, element);
        }
        place += WARPS / K * PITCH;
        first += WARPS * tile.height;
        column += WARPS;
    }
}
