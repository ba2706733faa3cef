//! `best`: twenty outputs per thread, whose window moves through registers.
//!
//! ```text
//! warp (strip of tiles of a row):                                    (a chunk is 16 bytes, CHUNK elements)
//!     for each tile:
//!         shared = the tile's input and what its windows reach beyond it; load the next tile's part into registers
//!         window[0..5] = the thread's first five chunks of input
//!         for each chunk of the mask:
//!             window[5] = next chunk of input                        (the one load from shared memory)
//!             sums[0..5] += mask chunk * window[0..6]                (5 * CHUNK * CHUNK fused multiply-adds)
//!             window = window[1..6]                                  (by naming the registers in turn; nothing is moved)
//!         store the sums through shared memory, so that the stores coalesce
//! ```
//!
//! A thread with one output would load an input element for each multiply-add. With twenty neighboring outputs, a loaded chunk
//! serves 80 multiply-adds, so that arithmetic is the limit. A block is one warp, so it needs no block-wide barrier.

mod mask;
mod sums;

use cuda_std::{
    prelude::*,
    shared::DynamicShared,
    unrolled,
    warp::{self, FULL_MASK},
};

use mask::{InConstants, InShared, Mask};
use sums::Windows;

use super::{
    boundary::{Boundary, Row},
    policy::{BEST_BLOCK, BEST_CHUNKS, BEST_PASS, Policy, best_pass_chunks, best_span},
    sample::{Sample, Weight},
    window::{block_origin, window_start},
};
use crate::tuning::numbers;

/// The chunks of outputs of a warp's tile.
const TILE_CHUNKS: u32 = (BEST_BLOCK * BEST_CHUNKS) as u32;

/// Convolves each row of `width` elements of `input` with the mask in constant memory.
///
/// Everything moves in chunks of 16 bytes. A block is one warp, which processes `tiles` neighboring tiles of a row. No other
/// warp is waited for. The compiler knows that all values but the lane's own are the same in all lanes, so it loads weights to
/// uniform registers. The warp copies a tile's part of the input to shared memory, with coalesced loads from the last aligned
/// address at or before the tile's first window; elements outside of the row are replaced there. The next tile's part is loaded
/// into registers before this tile's sums are computed; the input that both tiles' windows use is still in shared memory then.
/// A thread computes five neighboring chunks of outputs. For a chunk of the mask they need six chunks of input, five of which
/// were loaded in the step before: one load from shared memory per 80 multiply-adds (of four-byte elements). The six are named
/// in turn, so that nothing is moved between registers. The results go back through shared memory, so that the stores coalesce
/// too.
///
/// Windows start at aligned addresses, so the mask starts up to a chunk later. The steps before its first weight and after its
/// last are skipped.
///
/// Launch: blocks of 32 threads, one per `160 * CHUNK * tiles` outputs of a row, along x and row by row; dynamic shared
/// memory of [`best_shared_bytes`](super::policy::best_shared_bytes). Reads `640 * tiles + mask_width` four-byte
/// elements per `640 * tiles` outputs. Sums in the order of the window, each weight by one fused multiply-add: the same
/// bits on every device.
///
/// # Safety
/// `input` and `output` have as many elements, a multiple of `width`, and do not overlap; `width` is not 0, and
/// neither is `tiles`. `CHUNK` elements of the sum's type take 16 bytes, and `OUTPUTS` is five times that. For every
/// skip `s` from 0 to `CHUNK - 1` with which a row may start (an aligned address comes `s` elements before a window), the
/// sum's table holds weight `j` at `s * copies_apart + s + j`; the copies start at multiples of `CHUNK`.
#[kernel(
    launch_bounds(BEST_BLOCK as u32, numbers::<Policy, T>(ROW).resident),
    instances(u8: (u8, 4, 20), f32: (f32, 4, 20), f64: (f64, 2, 10)),
    tuned(f32: 0..9)
)]
pub unsafe fn convolution_best<
    T: Sample,
    const CHUNK: usize,
    const OUTPUTS: usize,
    const ROW: usize,
>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    mask_width: usize,
    copies_apart: usize,
    tiles: u32,
    boundary: Boundary,
) {
    let strip =
        Strip::<T, CHUNK, OUTPUTS>::of_this_block(input, width, mask_width, tiles, boundary);
    let Windows {
        skipped, chunks, ..
    } = strip.windows;
    // SAFETY: the launch provides this much dynamic shared memory, and nothing else uses it.
    let tile = unsafe { DynamicShared::new() }.carve((TILE_CHUNKS + chunks) as usize * CHUNK);
    let mask = InConstants {
        table: T::Sum::table().reader(),
        start: skipped as usize * copies_apart,
    };
    strip.convolve(tile, mask, output);
}

/// [`convolution_best`] for a mask that is not in constant memory, with one tile per block. The block copies the mask to shared
/// memory, [`BEST_PASS`] chunks at a time, together with the input that those chunks need.
///
/// # Safety
/// As for [`convolution_best`], except for the table. The mask has fewer than `2^32` chunks.
#[kernel(
    launch_bounds(BEST_BLOCK as u32, numbers::<Policy, T>(ROW).long_resident),
    instances(u8: (u8, 4, 20), f32: (f32, 4, 20), f64: (f64, 2, 10)),
    tuned(f32: 0..9)
)]
pub unsafe fn convolution_best_long<
    T: Sample,
    const CHUNK: usize,
    const OUTPUTS: usize,
    const ROW: usize,
>(
    input: Global<T>,
    mask: Global<T::Sum>,
    output: GlobalMut<T>,
    width: usize,
    boundary: Boundary,
) {
    let strip = Strip::<T, CHUNK, OUTPUTS>::of_this_block(input, width, mask.len(), 1, boundary);
    let pass = best_pass_chunks(mask.len(), CHUNK);
    // SAFETY: the launch provides this much dynamic shared memory, and nothing else uses it.
    let mut memory = unsafe { DynamicShared::new() };
    let tile = memory.carve((TILE_CHUNKS as usize + pass) * CHUNK);
    let mask = InShared {
        mask,
        part: memory.carve(pass * CHUNK),
        skipped: strip.windows.skipped as usize,
    };
    strip.convolve_long(tile, mask, output);
}

/// Waits for the other lanes of the block, and makes their writes visible.
#[inline(always)]
#[track_caller]
fn sync() {
    // SAFETY: a block is a full warp, whose lanes always take the same path.
    unsafe { warp::sync_warp(FULL_MASK) };
}

/// The chunks per lane that a tile needs beyond those of the tile before.
type Ahead<T, const CHUNK: usize> = [[T; CHUNK]; BEST_CHUNKS];

/// The work of a block: neighboring tiles of a row, with `OUTPUTS` neighboring elements per lane each.
#[derive(Clone, Copy)]
struct Strip<T, const CHUNK: usize, const OUTPUTS: usize> {
    row: Row<T>,
    /// The column of the first output.
    first: usize,
    /// The column of the first tile's first element, whose address is aligned to a chunk.
    start: isize,
    /// The number of outputs.
    len: u32,
    windows: Windows,
}

impl<T: Sample, const CHUNK: usize, const OUTPUTS: usize> Strip<T, CHUNK, OUTPUTS> {
    /// The outputs of a tile.
    const SPAN: usize = best_span(CHUNK);

    #[inline(always)]
    fn of_this_block(
        input: Global<T>,
        width: usize,
        mask_width: usize,
        tiles: u32,
        boundary: Boundary,
    ) -> Self {
        const { assert!(CHUNK * size_of::<T::Sum>() == 16 && OUTPUTS == CHUNK * BEST_CHUNKS) };
        let span = tiles as usize * Self::SPAN;
        let (row, first) = block_origin(width, span);
        let start = row * width;
        // An address in elements. Only its low bits matter: `CHUNK` is a power of two, and spans are multiples of it.
        let address = (input.as_ptr().addr() / size_of::<T>()).wrapping_add(start);
        let skipped = (address as u32).wrapping_sub((mask_width / 2) as u32) % CHUNK as u32;
        let reach = skipped as usize + mask_width;
        Self {
            row: Row {
                input,
                start,
                width,
                boundary,
            },
            first,
            start: window_start(first, mask_width) - skipped as isize,
            len: (width - first).min(span) as u32,
            windows: Windows {
                skipped,
                chunks: reach.div_ceil(CHUNK) as u32,
                rest: reach as u32 % CHUNK as u32,
            },
        }
    }

    /// Computes the tiles in turn, each in one pass.
    #[inline(always)]
    #[track_caller]
    fn convolve<M: Mask<T::Sum, CHUNK>>(self, tile: Shared<T::Sum>, mask: M, output: GlobalMut<T>) {
        let Row {
            input,
            start,
            width,
            ..
        } = self.row;
        let count = self.windows.chunks;
        // The number of tiles, from the first one on, whose last chunks lie within the row.
        let past = (self.start + (count as usize * CHUNK) as isize) as usize;
        let room = width.saturating_sub(past).min(self.len as usize) as u32;
        let inside = room / Self::SPAN as u32;
        let whole = self.whole(output);
        let lane = thread::thread_idx_x() as usize;

        // The positions of this lane's first chunk: in the new part of a tile, and in the outputs.
        let mut new = start + past + lane * CHUNK;
        let mut to = start + self.first + lane * CHUNK;
        let mut ahead = [[T::ZERO; CHUNK]; BEST_CHUNKS];
        let mut is_ahead = false;
        let mut from = 0;
        let mut next = 0;
        loop {
            next += 1;
            new += Self::SPAN;
            let follows = next < inside;
            if is_ahead {
                Self::follow(tile, ahead, count);
                if follows {
                    ahead = Self::load(input, new);
                }
            } else {
                // The loads are issued together with this tile's part: addresses that are read at the same time should be
                // close.
                if follows {
                    ahead = Self::load(input, new);
                }
                self.stage(tile, self.start + from as isize, TILE_CHUNKS + count);
            }
            is_ahead = follows;
            sync();
            let mut sums = [T::Sum::ZERO; OUTPUTS];
            sums::add::<_, _, CHUNK, OUTPUTS>(&mut sums, tile, mask, self.windows);
            // The barrier comes before the tile is overwritten.
            sync();
            Self::put(tile, sums);
            from += Self::SPAN as u32;
            if from <= whole {
                for round in 0..BEST_CHUNKS {
                    let i = round * BEST_BLOCK * CHUNK;
                    let sums = tile.get_chunk::<CHUNK>(lane * CHUNK + i);
                    let values: [T; CHUNK] = core::array::from_fn(|q| T::narrow(sums[q]));
                    output.set_chunk(to + i, values);
                }
            } else {
                self.write_part(tile, output, from - Self::SPAN as u32);
            }
            if from >= self.len {
                return;
            }
            to += Self::SPAN;
            // The barrier comes before the next tile replaces this one.
            sync();
        }
    }

    /// Computes the only tile, in as many passes as the mask needs.
    #[inline(always)]
    #[track_caller]
    fn convolve_long(self, tile: Shared<T::Sum>, mask: InShared<T::Sum>, output: GlobalMut<T>) {
        let Windows {
            skipped,
            chunks,
            rest,
        } = self.windows;
        let mut sums = [T::Sum::ZERO; OUTPUTS];
        let mut first = 0;
        while first < chunks {
            let count = (chunks - first).min(BEST_PASS as u32);
            let from = first as usize * CHUNK;
            self.stage(tile, self.start + from as isize, TILE_CHUNKS + count);
            mask.stage(from, count * CHUNK as u32);
            sync();
            let pass = Windows {
                skipped: if first == 0 { skipped } else { 0 },
                chunks: count,
                rest: if first + count == chunks { rest } else { 0 },
            };
            sums::add::<_, _, CHUNK, OUTPUTS>(&mut sums, tile, mask, pass);
            // The barrier comes before the tile is overwritten.
            sync();
            first += count;
        }
        Self::put(tile, sums);
        self.write_part(tile, output, 0);
    }

    /// Writes a chunk of the row to the tile.
    #[inline(always)]
    #[track_caller]
    fn set(tile: Shared<T::Sum>, i: u32, chunk: [T; CHUNK]) {
        let wide: [T::Sum; CHUNK] = core::array::from_fn(|q| chunk[q].widen());
        tile.set_chunk(i as usize * CHUNK, wide);
    }

    /// Writes the chunks that [`load`](Self::load) loaded to the tile, this lane's first chunk at chunk `first`.
    #[inline(always)]
    #[track_caller]
    fn set_all(tile: Shared<T::Sum>, first: u32, loaded: Ahead<T, CHUNK>) {
        let first = first as usize * CHUNK;
        unrolled!(round < BEST_CHUNKS => {
            let wide: [T::Sum; CHUNK] = core::array::from_fn(|q| loaded[round][q].widen());
            tile.set_chunk(first + round * BEST_BLOCK * CHUNK, wide);
        });
    }

    /// Loads as many elements as a tile has outputs. `first` is where this lane's first chunk starts.
    #[inline(always)]
    #[track_caller]
    fn load(input: Global<T>, first: usize) -> Ahead<T, CHUNK> {
        core::array::from_fn(|round| {
            input.get_chunk_readonly::<CHUNK>(first + round * BEST_BLOCK * CHUNK)
        })
    }

    /// Makes the tile the next one: moves its last `count` chunks to the front, and appends `ahead`.
    #[inline(always)]
    #[track_caller]
    fn follow(tile: Shared<T::Sum>, ahead: Ahead<T, CHUNK>, count: u32) {
        let lane = thread::thread_idx_x();
        // Chunks move by whole rounds, so a lane overwrites only chunks that it has read itself.
        let front = |i: u32| {
            let chunk = tile.get_wide((TILE_CHUNKS + i) as usize * CHUNK);
            tile.set_chunk(i as usize * CHUNK, chunk.to_array::<CHUNK>());
        };
        if lane < count {
            front(lane);
        }
        let mut rounds = BEST_BLOCK as u32;
        while rounds < count {
            if rounds + lane < count {
                front(rounds + lane);
            }
            rounds += BEST_BLOCK as u32;
        }
        sync();
        Self::set_all(tile, count + lane, ahead);
    }

    /// Copies `count` chunks of the row, from column `left` on, to the tile.
    #[inline(always)]
    #[track_caller]
    fn stage(self, tile: Shared<T::Sum>, left: isize, count: u32) {
        let lane = thread::thread_idx_x();
        let Row {
            input,
            start,
            width,
            ..
        } = self.row;
        let len = count as usize * CHUNK;
        if left >= 0 && left as usize + len <= width {
            let first = start + left as usize + lane as usize * CHUNK;
            let loaded = Self::load(input, first);
            // The chunks that the last windows need beyond the outputs: their first round is in flight with the others.
            let mut behind = TILE_CHUNKS;
            let load = |behind: u32| {
                if behind + lane < count {
                    input.get_chunk_readonly::<CHUNK>(first + behind as usize * CHUNK)
                } else {
                    [T::ZERO; CHUNK]
                }
            };
            let mut reached = load(behind);
            Self::set_all(tile, lane, loaded);
            loop {
                if behind + lane < count {
                    Self::set(tile, behind + lane, reached);
                }
                behind += BEST_BLOCK as u32;
                if behind >= count {
                    break;
                }
                reached = load(behind);
            }
        } else {
            // First the chunks within the row, from `low` to `high`, then the elements around them.
            let before = (-left).max(0) as usize;
            let low = before.div_ceil(CHUNK).min(count as usize) as u32;
            let past = (width as isize - left).max(0) as usize;
            let high = (past / CHUNK).clamp(low as usize, count as usize) as u32;
            let mut i = low + lane;
            while i < high {
                let column = left + (i as usize * CHUNK) as isize;
                Self::set(tile, i, input.get_chunk_readonly(start + column as usize));
                i += BEST_BLOCK as u32;
            }
            let (low, within) = (low * CHUNK as u32, (high - low) * CHUNK as u32);
            let around = len as u32 - within;
            let mut i = lane;
            while i < around {
                let at = if i < low { i } else { i + within };
                tile.set(at as usize, self.row.get(left + at as isize).widen());
                i += BEST_BLOCK as u32;
            }
        }
    }

    /// Returns the number of outputs, from the first one on, that can be written by chunks: those of the tiles that lie within
    /// the row, if their address is aligned.
    #[inline(always)]
    fn whole(self, output: GlobalMut<T>) -> u32 {
        // Strips and tiles start at multiples of a chunk in their row.
        let address = output.as_ptr().addr() / size_of::<T>() + self.row.start;
        if address.is_multiple_of(CHUNK) {
            self.len
        } else {
            0
        }
    }

    /// Writes this thread's sums to the tile. The block writes them to the output.
    #[inline(always)]
    #[track_caller]
    fn put(tile: Shared<T::Sum>, sums: [T::Sum; OUTPUTS]) {
        let own = thread::thread_idx_x() as usize * OUTPUTS;
        for chunk in 0..BEST_CHUNKS {
            let values: [T::Sum; CHUNK] = core::array::from_fn(|q| sums[chunk * CHUNK + q]);
            tile.set_chunk(own + chunk * CHUNK, values);
        }
        sync();
    }

    /// Writes the part of the tile that lies within the row. The tile's first output is number `from` of the strip.
    #[inline(always)]
    #[track_caller]
    fn write_part(self, tile: Shared<T::Sum>, output: GlobalMut<T>, from: u32) {
        let lane = thread::thread_idx_x();
        let to = self.row.start + self.first + from as usize;
        for round in 0..OUTPUTS {
            let i = (round * BEST_BLOCK) as u32 + lane;
            if i < self.len - from {
                output.set(to + i as usize, T::narrow(tile.get(i as usize)));
            }
        }
    }
}
