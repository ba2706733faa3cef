//! `best`: twelve outputs per thread, whose window moves through registers.

use cuda_std::{
    prelude::*,
    shared::DynamicShared,
    warp::{self, FULL_MASK},
};

use super::{
    boundary::{Boundary, Row},
    policy::{BEST_CHUNKS, BEST_PASS, Policy, best_pass_chunks},
    sample::{Sample, Weight},
    window::{block_origin, window_start},
};
use crate::tuning::shipped;

/// Convolves each row of `width` elements of `input` with the mask in constant memory.
///
/// Everything moves in chunks of 16 bytes. A block brings its part of the input into shared memory, with
/// coalesced loads from the last aligned address at or before its first window; what lies outside of the
/// row takes its place there. A thread computes three neighbouring chunks of outputs. For a chunk of the
/// mask they need four chunks of input, of which three are those of the step before: one load from shared
/// memory per 48 multiply-adds (of four-byte elements). The four are named in turn, so that nothing is
/// moved between registers. The results go back through shared memory, so that the stores coalesce too.
///
/// As windows start at aligned addresses, the mask starts up to a chunk later: the steps before its first
/// weight are left out, and so are those behind its last.
///
/// Launch: blocks of [`threads`](super::policy::Policy::threads) threads, one per `3 * CHUNK` outputs of
/// a row each, along x and row by row; dynamic shared memory of
/// [`best_shared_bytes`](super::policy::best_shared_bytes). Reads `1536 + mask_width` four-byte elements
/// per 1536 outputs. Sums in the order of the window, each weight by one fused multiply-add: the same bits on
/// every device.
///
/// # Safety
/// `input` and `output` have as many elements, a multiple of `width`, and do not overlap; `width` is not 0.
/// `CHUNK` elements of the sum's type take 16 bytes, and `OUTPUTS` is three times that. For every skip `s`
/// from 0 to `CHUNK - 1` with which a block may start (an aligned address comes `s` elements before a
/// window), the sum's table holds weight `j` at `s * copies_apart + s + j`; the copies start at multiples of
/// `CHUNK`.
#[kernel(
    launch_bounds(shipped::<Policy, T>().block as u32, shipped::<Policy, T>().resident),
    instances(u8: (u8, 4, 12), f32: (f32, 4, 12), f64: (f64, 2, 6))
)]
pub unsafe fn convolution_best<T: Sample, const CHUNK: usize, const OUTPUTS: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    mask_width: usize,
    copies_apart: usize,
    boundary: Boundary,
) {
    let part = Part::<T, CHUNK, OUTPUTS>::of_this_block(input, width, mask_width, boundary);
    // SAFETY: the launch gives as much, and nothing else uses it.
    let tile = unsafe { DynamicShared::new() }.carve(part.tile_len(mask_width));
    let copy = part.skipped * copies_apart;
    let mask = InConstants { copy, at: copy };
    let sums = part.sums(tile, mask);
    part.write(tile, output, sums);
}

/// [`convolution_best`] for a mask that is not in constant memory: each block brings it into shared memory,
/// [`BEST_PASS`] chunks at a time together with the input that they meet.
///
/// # Safety
/// As for [`convolution_best`], but for the table.
#[kernel(
    launch_bounds(
        shipped::<Policy, T>().block as u32,
        shipped::<Policy, T>().long_resident
    ),
    instances(u8: (u8, 4, 12), f32: (f32, 4, 12), f64: (f64, 2, 6))
)]
pub unsafe fn convolution_best_long<T: Sample, const CHUNK: usize, const OUTPUTS: usize>(
    input: Global<T>,
    mask: Global<T::Sum>,
    output: GlobalMut<T>,
    width: usize,
    boundary: Boundary,
) {
    let part = Part::<T, CHUNK, OUTPUTS>::of_this_block(input, width, mask.len(), boundary);
    // SAFETY: the launch gives as much, and nothing else uses it.
    let mut memory = unsafe { DynamicShared::new() };
    let tile = memory.carve(part.tile_len(mask.len()));
    let mask = InShared {
        mask,
        part: memory.carve(best_pass_chunks(mask.len(), CHUNK) * CHUNK),
        skipped: part.skipped,
    };
    let sums = part.sums(tile, mask);
    part.write(tile, output, sums);
}

/// Where the weights come from, in chunks from the aligned address before the mask's first weight on.
trait Mask<W, const CHUNK: usize>: Copy {
    /// Makes `count` chunks from `first` on ready, after the next barrier.
    fn stage(self, first: usize, count: u32) -> Self;

    /// Where chunk `local` of those starts.
    fn start(self, local: u32) -> usize;

    /// The chunk that starts at `at`. What is no weight of the mask is some number or other.
    fn chunk(self, at: usize) -> [W; CHUNK];
}

/// The mask in constant memory.
#[derive(Clone, Copy)]
struct InConstants {
    /// Where the copy for this block's skip starts.
    copy: usize,
    /// Where the pass does.
    at: usize,
}

impl<W: Weight, const CHUNK: usize> Mask<W, CHUNK> for InConstants {
    #[inline(always)]
    fn stage(self, first: usize, _count: u32) -> Self {
        Self {
            at: self.copy + first * CHUNK,
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
    fn stage(self, first: usize, count: u32) -> Self {
        let mut i = thread::thread_idx_x() as usize;
        while i < count as usize * CHUNK {
            // Far past the end where it comes before the first weight.
            let j = (first * CHUNK + i).wrapping_sub(self.skipped);
            let inside = j < self.mask.len();
            self.part
                .set(i, if inside { self.mask.get(j) } else { W::ZERO });
            i += thread::block_dim_x() as usize;
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

/// What a block computes: `OUTPUTS` neighbouring elements of a row per thread.
#[derive(Clone, Copy)]
struct Part<T, const CHUNK: usize, const OUTPUTS: usize> {
    row: Row<T>,
    /// The column of the first output.
    first: usize,
    /// The column of the tile's first element, whose address is aligned to a chunk.
    tile_start: isize,
    /// Elements of the tile before the first window.
    skipped: usize,
    /// Elements of the tile that the first window reaches over, with those before it.
    reach: usize,
}

impl<T: Sample, const CHUNK: usize, const OUTPUTS: usize> Part<T, CHUNK, OUTPUTS> {
    #[inline(always)]
    fn of_this_block(
        input: Global<T>,
        width: usize,
        mask_width: usize,
        boundary: Boundary,
    ) -> Self {
        const { assert!(CHUNK * size_of::<T::Sum>() == 16 && OUTPUTS == CHUNK * BEST_CHUNKS) };
        let span = thread::block_dim_x() as usize * OUTPUTS;
        let (row, first) = block_origin(width, span);
        let start = row * width;
        let left = window_start(first, mask_width);
        // Of an address in elements, as far as it matters: `CHUNK` is a power of two.
        let address = (input.as_ptr().addr() / size_of::<T>())
            .wrapping_add(start)
            .wrapping_add(left as usize);
        let skipped = address % CHUNK;
        Self {
            row: Row {
                input,
                start,
                width,
                boundary,
            },
            first,
            tile_start: left - skipped as isize,
            skipped,
            reach: skipped + mask_width,
        }
    }

    /// Elements of the tile.
    #[inline(always)]
    fn tile_len(self, mask_width: usize) -> usize {
        let chunks = BEST_CHUNKS * thread::block_dim_x() as usize;
        (chunks + best_pass_chunks(mask_width, CHUNK)) * CHUNK
    }

    /// The sums of this thread's outputs; past the end of the row some numbers or other. Ends with a barrier.
    #[inline(always)]
    #[track_caller]
    fn sums<M: Mask<T::Sum, CHUNK>>(self, tile: Shared<T::Sum>, mask: M) -> [T::Sum; OUTPUTS] {
        let tid = thread::thread_idx_x() as usize;
        let threads = thread::block_dim_x() as usize;
        let own = tid * OUTPUTS;
        // By whole warps, so that the loop below is uniform.
        let needed = warp::any(FULL_MASK, self.first + own < self.row.width);
        let chunks = self.reach.div_ceil(CHUNK);
        // The chunks all of whose elements meet a weight. The first may lie past the last.
        let (whole, whole_end) = (self.skipped.div_ceil(CHUNK), self.reach / CHUNK);
        let rest = self.reach % CHUNK;

        let mut sums = [T::Sum::ZERO; OUTPUTS];
        let mut first = 0;
        loop {
            // From here on in chunks of this pass, which are few.
            let count = (chunks - first).min(BEST_PASS) as u32;
            self.stage(tile, first, BEST_CHUNKS as u32 * threads as u32 + count);
            let mask = mask.stage(first, count);
            thread::sync_threads();
            if needed {
                let input = |at: usize| -> [T::Sum; CHUNK] { tile.get_wide(at).to_array() };
                let some = |sums: &mut [T::Sum; OUTPUTS], local: u32, from: usize, to: usize| {
                    let at = own + local as usize * CHUNK;
                    let window = [
                        input(at),
                        input(at + CHUNK),
                        input(at + 2 * CHUNK),
                        input(at + 3 * CHUNK),
                    ];
                    let weights = mask.chunk(mask.start(local));
                    for step in 0..CHUNK {
                        if from <= step && step < to {
                            add_step(sums, window, weights, step);
                        }
                    }
                };
                let mut local = 0;
                if first == 0 && whole == 1 {
                    some(&mut sums, 0, self.skipped, self.reach);
                    local = 1;
                }
                let end = whole_end.saturating_sub(first).min(count as usize) as u32;
                if local < end {
                    let mut at = own + local as usize * CHUNK;
                    let mut weights = mask.start(local);
                    let mut left = end - local;
                    let (mut a, mut b, mut c) =
                        (input(at), input(at + CHUNK), input(at + 2 * CHUNK));
                    let mut d;
                    while left >= 4 {
                        d = input(at + 3 * CHUNK);
                        add_chunk(&mut sums, [a, b, c, d], mask.chunk(weights));
                        a = input(at + 4 * CHUNK);
                        add_chunk(&mut sums, [b, c, d, a], mask.chunk(weights + CHUNK));
                        b = input(at + 5 * CHUNK);
                        add_chunk(&mut sums, [c, d, a, b], mask.chunk(weights + 2 * CHUNK));
                        c = input(at + 6 * CHUNK);
                        add_chunk(&mut sums, [d, a, b, c], mask.chunk(weights + 3 * CHUNK));
                        at += 4 * CHUNK;
                        weights += 4 * CHUNK;
                        left -= 4;
                    }
                    if left > 0 {
                        d = input(at + 3 * CHUNK);
                        add_chunk(&mut sums, [a, b, c, d], mask.chunk(weights));
                        if left > 1 {
                            a = input(at + 4 * CHUNK);
                            add_chunk(&mut sums, [b, c, d, a], mask.chunk(weights + CHUNK));
                            if left > 2 {
                                b = input(at + 5 * CHUNK);
                                add_chunk(&mut sums, [c, d, a, b], mask.chunk(weights + 2 * CHUNK));
                            }
                        }
                    }
                }
                // A mask that ends in its first chunk is done.
                if rest > 0 && whole <= whole_end && end < count {
                    some(&mut sums, end, 0, rest);
                }
            }
            first += count as usize;
            // Before the tile takes something else.
            thread::sync_threads();
            if first == chunks {
                return sums;
            }
        }
    }

    /// Brings `count` chunks of the row, from chunk `first` of the windows' reach on, into the tile.
    #[inline(always)]
    #[track_caller]
    fn stage(self, tile: Shared<T::Sum>, first: usize, count: u32) {
        let tid = thread::thread_idx_x();
        let threads = thread::block_dim_x();
        let Row {
            input,
            start,
            width,
            ..
        } = self.row;
        let left = self.tile_start + (first * CHUNK) as isize;
        let set = |i: u32, chunk: [T; CHUNK]| {
            let wide: [T::Sum; CHUNK] = core::array::from_fn(|q| chunk[q].widen());
            tile.set_chunk(i as usize * CHUNK, wide);
        };
        let len = count as usize * CHUNK;
        if left >= 0 && left as usize + len <= width {
            let input = input.skip(start + left as usize);
            let load = |i: u32| input.get_chunk_readonly::<CHUNK>(i as usize * CHUNK);
            let loaded: [[T; CHUNK]; BEST_CHUNKS] =
                core::array::from_fn(|round| load(tid + round as u32 * threads));
            for round in 0..BEST_CHUNKS {
                set(tid + round as u32 * threads, loaded[round]);
            }
            let mut i = tid + BEST_CHUNKS as u32 * threads;
            while i < count {
                set(i, load(i));
                i += threads;
            }
        } else {
            // The chunks that lie within the row, from `low` to `high`, and then the elements around them.
            let before = (-left).max(0) as usize;
            let low = before.div_ceil(CHUNK).min(count as usize);
            let past = (width as isize - left).max(0) as usize;
            let high = (past / CHUNK).clamp(low, count as usize);
            let mut i = low as u32 + tid;
            while i < high as u32 {
                let column = left + (i as usize * CHUNK) as isize;
                set(i, input.get_chunk_readonly(start + column as usize));
                i += threads;
            }
            let around = len - (high - low) * CHUNK;
            let mut i = tid as usize;
            while i < around {
                let at = if i < low * CHUNK {
                    i
                } else {
                    i + (high - low) * CHUNK
                };
                tile.set(at, self.row.get(left + at as isize).widen());
                i += threads as usize;
            }
        }
    }

    /// Writes this thread's outputs. A warp's results lie in a part of the tile that it has to itself.
    #[inline(always)]
    #[track_caller]
    fn write(self, tile: Shared<T::Sum>, output: GlobalMut<T>, sums: [T::Sum; OUTPUTS]) {
        let tid = thread::thread_idx_x() as usize;
        for chunk in 0..BEST_CHUNKS {
            let values: [T::Sum; CHUNK] = core::array::from_fn(|q| sums[chunk * CHUNK + q]);
            tile.set_chunk((tid * BEST_CHUNKS + chunk) * CHUNK, values);
        }
        // SAFETY: blocks are of full warps, and all lanes come here.
        unsafe { warp::sync_warp(FULL_MASK) };
        let lane = tid % 32;
        let warp = (tid - lane) * OUTPUTS;
        let to = self.row.start + self.first;
        let left = self.row.width - self.first;
        let aligned = (output.as_ptr().addr() / size_of::<T>() + to).is_multiple_of(CHUNK);
        if aligned && warp + 32 * OUTPUTS <= left {
            for round in 0..BEST_CHUNKS {
                let i = warp + (round * 32 + lane) * CHUNK;
                let sums = tile.get_chunk::<CHUNK>(i);
                let values: [T; CHUNK] = core::array::from_fn(|q| T::narrow(sums[q]));
                output.set_chunk(to + i, values);
            }
        } else {
            for round in 0..OUTPUTS {
                let i = warp + round * 32 + lane;
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
