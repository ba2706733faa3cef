//! `best`: twelve outputs per thread, whose window moves through registers.

use cuda_std::{prelude::*, shared::DynamicShared};

use super::{
    boundary::{Boundary, Row},
    policy::{BEST_BLOCK, BEST_CHUNKS, BEST_PASS, Policy, best_pass_chunks, best_span},
    sample::{Sample, Weight},
    window::{block_origin, window_start},
};
use crate::tuning::shipped;

/// Chunks of outputs of a warp's tile.
const TILE_CHUNKS: u32 = 32 * BEST_CHUNKS as u32;

/// Convolves each row of `width` elements of `input` with the mask in constant memory.
///
/// Everything moves in chunks of 16 bytes. A block is one warp, which goes through `tiles` neighbouring tiles of a row:
/// it waits for nobody, and whatever is not the lane's own is known to be the same in all lanes, so that weights are
/// loaded to uniform registers. It brings a tile's part of the input into shared memory, with coalesced loads from the last aligned address at or
/// before the tile's first window; what lies outside of the row takes its place there. The next tile's part is loaded
/// into registers before this one's sums are made; what both tiles' windows reach is still in shared memory then. A
/// thread computes three neighbouring chunks of outputs. For a chunk of the mask they need four chunks of input, of
/// which three are those of the step before: one load from shared memory per 48 multiply-adds (of four-byte
/// elements). The four are named in turn, so that nothing is moved between registers. The results go back through
/// shared memory, so that the stores coalesce too.
///
/// As windows start at aligned addresses, the mask starts up to a chunk later: the steps before its first
/// weight are left out, and so are those behind its last.
///
/// Launch: blocks of 32 threads, one per `96 * CHUNK * tiles` outputs of a row, along x and row by row; dynamic shared memory of
/// [`best_shared_bytes`](super::policy::best_shared_bytes). Reads `384 * tiles + mask_width` four-byte elements
/// per `384 * tiles` outputs. Sums in the order of the window, each weight by one fused multiply-add: the same bits on
/// every device.
///
/// # Safety
/// `input` and `output` have as many elements, a multiple of `width`, and do not overlap; `width` is not 0, and
/// neither is `tiles`. `CHUNK` elements of the sum's type take 16 bytes, and `OUTPUTS` is three times that. The mask
/// has fewer than `2^32` chunks. For every skip `s` from 0 to `CHUNK - 1` with which a tile may start (an aligned
/// address comes `s` elements before a window), the sum's table holds weight `j` at `s * copies_apart + s + j`; the
/// copies start at multiples of `CHUNK`.
#[kernel(
    launch_bounds(BEST_BLOCK as u32, shipped::<Policy, T>().resident),
    instances(u8: (u8, 4, 12), f32: (f32, 4, 12), f64: (f64, 2, 6))
)]
pub unsafe fn convolution_best<T: Sample, const CHUNK: usize, const OUTPUTS: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    mask_width: usize,
    copies_apart: usize,
    tiles: u32,
    boundary: Boundary,
) {
    let strip = Strip::<T, CHUNK, OUTPUTS>::of_this_block(input, width, mask_width, tiles, boundary);
    // SAFETY: the launch gives as much, and nothing else uses it.
    let tile = unsafe { DynamicShared::new() }.carve(strip.tile_len());
    let copy = strip.skipped as usize * copies_apart;
    strip.convolve(tile, InConstants { copy, at: copy }, output);
}

/// [`convolution_best`] for a mask that is not in constant memory: each warp brings it into shared memory,
/// [`BEST_PASS`] chunks at a time together with the input that they meet.
///
/// # Safety
/// As for [`convolution_best`], but for the table.
#[kernel(
    launch_bounds(
        BEST_BLOCK as u32,
        shipped::<Policy, T>().long_resident
    ),
    instances(u8: (u8, 4, 12), f32: (f32, 4, 12), f64: (f64, 2, 6))
)]
pub unsafe fn convolution_best_long<T: Sample, const CHUNK: usize, const OUTPUTS: usize>(
    input: Global<T>,
    mask: Global<T::Sum>,
    output: GlobalMut<T>,
    width: usize,
    tiles: u32,
    boundary: Boundary,
) {
    let strip = Strip::<T, CHUNK, OUTPUTS>::of_this_block(input, width, mask.len(), tiles, boundary);
    // SAFETY: the launch gives as much, and nothing else uses it.
    let mut memory = unsafe { DynamicShared::new() };
    let tile = memory.carve(strip.tile_len());
    let mask = InShared {
        mask,
        part: memory.carve(best_pass_chunks(mask.len(), CHUNK) * CHUNK),
        skipped: strip.skipped as usize,
    };
    strip.convolve(tile, mask, output);
}

/// Where the weights come from, in chunks from the aligned address before the mask's first weight on.
trait Mask<W, const CHUNK: usize>: Copy {
    /// Makes `count` chunks from `first` on ready, once the warp has synchronised.
    fn stage(self, first: u32, count: u32) -> Self;

    /// Where chunk `local` of those starts.
    fn start(self, local: u32) -> usize;

    /// The chunk that starts at `at`. What is no weight of the mask is some number or other.
    fn chunk(self, at: usize) -> [W; CHUNK];
}

/// The mask in constant memory.
#[derive(Clone, Copy)]
struct InConstants {
    /// Where the copy for this row's skip starts.
    copy: usize,
    /// Where the pass does.
    at: usize,
}

impl<W: Weight, const CHUNK: usize> Mask<W, CHUNK> for InConstants {
    #[inline(always)]
    fn stage(self, first: u32, _count: u32) -> Self {
        Self {
            at: self.copy + first as usize * CHUNK,
            ..self
        }
    }

    #[inline(always)]
    fn start(self, local: u32) -> usize {
        self.at + local as usize * CHUNK
    }

    #[inline(always)]
    fn chunk(self, at: usize) -> [W; CHUNK] {
        W::table().get_wide(at).to_array()
    }
}

/// The mask in global memory, of which a pass's part is in shared memory.
#[derive(Clone, Copy)]
struct InShared<W> {
    mask: Global<W>,
    part: Shared<W>,
    skipped: usize,
}

impl<W: Weight, const CHUNK: usize> Mask<W, CHUNK> for InShared<W> {
    #[inline(always)]
    fn stage(self, first: u32, count: u32) -> Self {
        let mut i = thread::thread_idx_x();
        while i < count * CHUNK as u32 {
            // Far past the end where it comes before the first weight.
            let j = (first as usize * CHUNK + i as usize).wrapping_sub(self.skipped);
            let inside = j < self.mask.len();
            self.part.set(
                i as usize,
                if inside { self.mask.get(j) } else { W::ZERO },
            );
            i += 32;
        }
        self
    }

    #[inline(always)]
    fn start(self, local: u32) -> usize {
        local as usize * CHUNK
    }

    #[inline(always)]
    fn chunk(self, at: usize) -> [W; CHUNK] {
        self.part.get_wide(at).to_array()
    }
}

/// The three chunks per lane that a tile has beyond the one before it.
type Ahead<T, const CHUNK: usize> = [[T; CHUNK]; BEST_CHUNKS];

/// What a warp computes: neighbouring tiles of a row, of `OUTPUTS` neighbouring elements per lane each.
#[derive(Clone, Copy)]
struct Strip<T, const CHUNK: usize, const OUTPUTS: usize> {
    row: Row<T>,
    /// The column of the first output.
    first: usize,
    /// The column of the first tile's first element, whose address is aligned to a chunk.
    start: isize,
    /// Tiles.
    tiles: u32,
    /// The tiles, from the first one on, that lie within the row.
    full: u32,
    /// Elements of the tile before the first window.
    skipped: u32,
    /// Chunks that the first window reaches into, with the elements before it.
    chunks: u32,
    /// Elements that it reaches of the last of them; 0 for all.
    rest: u32,
}

impl<T: Sample, const CHUNK: usize, const OUTPUTS: usize> Strip<T, CHUNK, OUTPUTS> {
    /// Outputs of a tile.
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
        let strip = tiles as usize * Self::SPAN;
        let (row, first) = block_origin(width, strip);
        let start = row * width;
        // Of an address in elements, as far as it matters: `CHUNK` is a power of two, and spans are multiples of it.
        let address = (input.as_ptr().addr() / size_of::<T>()) as u32;
        let skipped = (address.wrapping_add(start as u32)).wrapping_sub(mask_width as u32 / 2)
            % CHUNK as u32;
        let left = (width - first).min(strip) as u32;
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
            tiles: left.div_ceil(Self::SPAN as u32),
            full: left / Self::SPAN as u32,
            skipped,
            chunks: reach.div_ceil(CHUNK) as u32,
            rest: (reach % CHUNK) as u32,
        }
    }

    /// Elements of the tile.
    #[inline(always)]
    fn tile_len(self) -> usize {
        (TILE_CHUNKS as usize + self.chunks.min(BEST_PASS as u32) as usize) * CHUNK
    }

    /// Computes the tiles in turn.
    #[inline(always)]
    #[track_caller]
    fn convolve<M: Mask<T::Sum, CHUNK>>(
        self,
        tile: Shared<T::Sum>,
        mask: M,
        output: GlobalMut<T>,
    ) {
        let aligned = (output.as_ptr().addr() / size_of::<T>() + self.row.start + self.first)
            .is_multiple_of(CHUNK);
        let one_pass = self.chunks <= BEST_PASS as u32;
        // Tiles, from the first one on, what is new in which lies within the row.
        let past = self.start + (self.chunks as usize * CHUNK) as isize;
        let room = (self.row.width as isize - past).clamp(0, u32::MAX as isize) as u32;
        let inside = if one_pass { (room / Self::SPAN as u32).min(self.tiles) } else { 0 };

        let mut ahead: Option<Ahead<T, CHUNK>> = None;
        let mut number = 0;
        while number < self.tiles {
            let from = number as usize * Self::SPAN;
            let mut sums = [T::Sum::ZERO; OUTPUTS];
            let mut first = 0;
            while first < self.chunks {
                // From here on in chunks of this pass, which are few.
                let count = (self.chunks - first).min(BEST_PASS as u32);
                if let Some(ahead) = ahead {
                    Self::follow(tile, ahead, count);
                } else {
                    let left = self.start + (from + first as usize * CHUNK) as isize;
                    self.stage(tile, left, TILE_CHUNKS + count);
                }
                let mask = mask.stage(first, count);
                thread::sync_threads();
                ahead = if number + 1 < inside {
                    let new = past + (from + Self::SPAN) as isize;
                    Some(self.load(new as usize))
                } else {
                    None
                };
                self.add_pass(&mut sums, tile, mask, first, count);
                first += count;
                // Before the tile takes something else.
                thread::sync_threads();
            }
            self.write(tile, output, from, aligned && number < self.full, sums);
            // Before the next one takes its place.
            thread::sync_threads();
            number += 1;
        }
    }

    /// Adds what the weights of a pass bring, which is in the tile.
    #[inline(always)]
    #[track_caller]
    fn add_pass<M: Mask<T::Sum, CHUNK>>(
        self,
        sums: &mut [T::Sum; OUTPUTS],
        tile: Shared<T::Sum>,
        mask: M,
        first: u32,
        count: u32,
    ) {
        let own = thread::thread_idx_x() as usize * OUTPUTS;
        let input = |at: usize| -> [T::Sum; CHUNK] { tile.get_wide(at).to_array() };
        let some = |sums: &mut [T::Sum; OUTPUTS], local: u32, from: u32, to: u32| {
            let at = own + local as usize * CHUNK;
            let window = [
                input(at),
                input(at + CHUNK),
                input(at + 2 * CHUNK),
                input(at + 3 * CHUNK),
            ];
            let weights = mask.chunk(mask.start(local));
            for step in 0..CHUNK as u32 {
                if from <= step && step < to {
                    add_step(sums, window, weights, step as usize);
                }
            }
        };
        // What the last chunk of all has of the mask, and the chunks before it.
        let rest = if first + count == self.chunks { self.rest } else { 0 };
        let end = count - (rest > 0) as u32;
        let mut local = 0;
        if first == 0 && self.skipped > 0 {
            // A mask may end in its first chunk.
            some(sums, 0, self.skipped, if end == 0 { rest } else { CHUNK as u32 });
            local = 1;
        }
        if local < end {
            let mut at = own + local as usize * CHUNK;
            let mut weights = mask.start(local);
            let mut left = end - local;
            let (mut a, mut b, mut c) = (input(at), input(at + CHUNK), input(at + 2 * CHUNK));
            let mut d;
            while left >= 4 {
                d = input(at + 3 * CHUNK);
                add_chunk(sums, [a, b, c, d], mask.chunk(weights));
                a = input(at + 4 * CHUNK);
                add_chunk(sums, [b, c, d, a], mask.chunk(weights + CHUNK));
                b = input(at + 5 * CHUNK);
                add_chunk(sums, [c, d, a, b], mask.chunk(weights + 2 * CHUNK));
                c = input(at + 6 * CHUNK);
                add_chunk(sums, [d, a, b, c], mask.chunk(weights + 3 * CHUNK));
                at += 4 * CHUNK;
                weights += 4 * CHUNK;
                left -= 4;
            }
            if left > 0 {
                d = input(at + 3 * CHUNK);
                add_chunk(sums, [a, b, c, d], mask.chunk(weights));
                if left > 1 {
                    a = input(at + 4 * CHUNK);
                    add_chunk(sums, [b, c, d, a], mask.chunk(weights + CHUNK));
                    if left > 2 {
                        b = input(at + 5 * CHUNK);
                        add_chunk(sums, [c, d, a, b], mask.chunk(weights + 2 * CHUNK));
                    }
                }
            }
        }
        if rest > 0 && local <= end {
            some(sums, end, 0, rest);
        }
    }

    /// Puts a chunk of the row into the tile.
    #[inline(always)]
    #[track_caller]
    fn set(tile: Shared<T::Sum>, i: u32, chunk: [T; CHUNK]) {
        let wide: [T::Sum; CHUNK] = core::array::from_fn(|q| chunk[q].widen());
        tile.set_chunk(i as usize * CHUNK, wide);
    }

    /// Loads a tile's worth of the row, from a column on whose address is aligned to a chunk.
    #[inline(always)]
    #[track_caller]
    fn load(self, column: usize) -> Ahead<T, CHUNK> {
        let lane = thread::thread_idx_x() as usize;
        core::array::from_fn(|round| {
            let i = column + (round * 32 + lane) * CHUNK;
            self.row
                .input
                .get_chunk_readonly::<CHUNK>(self.row.start + i)
        })
    }

    /// Makes the tile the next one: what the last `count` chunks hold comes to the front, and `ahead` behind it.
    #[inline(always)]
    #[track_caller]
    fn follow(tile: Shared<T::Sum>, ahead: Ahead<T, CHUNK>, count: u32) {
        let lane = thread::thread_idx_x();
        for round in 0..BEST_PASS as u32 / 32 {
            let i = round * 32 + lane;
            if i < count {
                let chunk = tile.get_wide((TILE_CHUNKS + i) as usize * CHUNK);
                tile.set_chunk(i as usize * CHUNK, chunk.to_array::<CHUNK>());
            }
        }
        thread::sync_threads();
        for round in 0..BEST_CHUNKS {
            Self::set(tile, count + round as u32 * 32 + lane, ahead[round]);
        }
    }

    /// Brings `count` chunks of the row, from column `left` on, into the tile.
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
            let loaded = self.load(left as usize);
            for round in 0..BEST_CHUNKS {
                Self::set(tile, round as u32 * 32 + lane, loaded[round]);
            }
            let input = input.skip(start + left as usize);
            let mut i = TILE_CHUNKS + lane;
            while i < count {
                Self::set(tile, i, input.get_chunk_readonly(i as usize * CHUNK));
                i += 32;
            }
        } else {
            // The chunks that lie within the row, from `low` to `high`, and then the elements around them.
            let before = (-left).max(0) as usize;
            let low = before.div_ceil(CHUNK).min(count as usize) as u32;
            let past = (width as isize - left).max(0) as usize;
            let high = (past / CHUNK).clamp(low as usize, count as usize) as u32;
            let mut i = low + lane;
            while i < high {
                let column = left + (i as usize * CHUNK) as isize;
                Self::set(
                    tile,
                    i,
                    input.get_chunk_readonly(start + column as usize),
                );
                i += 32;
            }
            let (low, within) = (low * CHUNK as u32, (high - low) * CHUNK as u32);
            let around = len as u32 - within;
            let mut i = lane;
            while i < around {
                let at = if i < low { i } else { i + within };
                tile.set(at as usize, self.row.get(left + at as isize).widen());
                i += 32;
            }
        }
    }

    /// Writes the sums of the tile whose first output is the strip's number `from`; `whole` means that it lies within
    /// the row, and that its outputs' address is aligned to a chunk.
    #[inline(always)]
    #[track_caller]
    fn write(
        self,
        tile: Shared<T::Sum>,
        output: GlobalMut<T>,
        from: usize,
        whole: bool,
        sums: [T::Sum; OUTPUTS],
    ) {
        let lane = thread::thread_idx_x() as usize;
        for chunk in 0..BEST_CHUNKS {
            let values: [T::Sum; CHUNK] = core::array::from_fn(|q| sums[chunk * CHUNK + q]);
            tile.set_chunk((lane * BEST_CHUNKS + chunk) * CHUNK, values);
        }
        thread::sync_threads();
        let to = self.row.start + self.first + from;
        if whole {
            for round in 0..BEST_CHUNKS {
                let i = (round * 32 + lane) * CHUNK;
                let sums = tile.get_chunk::<CHUNK>(i);
                let values: [T; CHUNK] = core::array::from_fn(|q| T::narrow(sums[q]));
                output.set_chunk(to + i, values);
            }
        } else {
            let left = self.row.width - self.first - from;
            for round in 0..OUTPUTS {
                let i = round * 32 + lane;
                if i < left {
                    output.set(to + i, T::narrow(tile.get(i)));
                }
            }
        }
    }
}

/// Adds what one weight, number `step` of a chunk, brings to every output.
#[inline(always)]
fn add_step<W: Weight, const CHUNK: usize, const OUTPUTS: usize>(
    sums: &mut [W; OUTPUTS],
    window: [[W; CHUNK]; BEST_CHUNKS + 1],
    weights: [W; CHUNK],
    step: usize,
) {
    for output in 0..OUTPUTS {
        let at = step + output;
        sums[output] = weights[step].mul_add(window[at / CHUNK][at % CHUNK], sums[output]);
    }
}

/// Adds what a chunk of weights brings to every output.
#[inline(always)]
fn add_chunk<W: Weight, const CHUNK: usize, const OUTPUTS: usize>(
    sums: &mut [W; OUTPUTS],
    window: [[W; CHUNK]; BEST_CHUNKS + 1],
    weights: [W; CHUNK],
) {
    for step in 0..CHUNK {
        add_step(sums, window, weights, step);
    }
}
