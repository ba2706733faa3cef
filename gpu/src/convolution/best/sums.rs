//! The sums of a thread, whose windows move through registers.
//!
//! ```text
//! window[0..5] = the first five chunks of input
//! if the first weight lies within a chunk: the weights of that chunk one by one; the window moves on
//! for each six chunks of weights:
//!     for i in 0..6:                                      (written out: the window's places are constants)
//!         window[(5 + i) % 6] = the next chunk of input
//!         sums += weights of chunk i * window, which begins at place i
//! the chunks that are left, at most five: the same
//! if the last weight lies within a chunk: the weights of that chunk one by one
//! ```
//!
//! A window in registers cannot be indexed by a variable, and moving it would be instructions for nothing. After six chunks
//! each place has its first meaning again, so the loop's body is six chunks long.

use cuda_std::{Shared, thread, unrolled};

use super::mask::Mask;
use crate::convolution::{policy::BEST_CHUNKS, sample::Weight};

/// The chunks of input that a thread's outputs need for a chunk of weights.
const WINDOW: usize = BEST_CHUNKS + 1;

/// The extent of the windows, from the aligned address at or before their start, or a pass's part of it.
#[derive(Clone, Copy)]
pub struct Windows {
    /// The elements before the mask's first weight, less than a chunk.
    pub skipped: u32,
    /// The number of chunks.
    pub chunks: u32,
    /// The number of elements of the last chunk that the mask uses; 0 for all.
    pub rest: u32,
}

/// Adds the products of the weights whose `windows` are in the tile.
#[inline(always)]
#[track_caller]
pub fn add<W: Weight, M: Mask<W, CHUNK>, const CHUNK: usize, const OUTPUTS: usize>(
    sums: &mut [W; OUTPUTS],
    tile: Shared<W>,
    mask: M,
    windows: Windows,
) {
    let Windows {
        skipped,
        chunks,
        rest,
    } = windows;
    let input = |at: usize| -> [W; CHUNK] { tile.get_wide(at).to_array() };
    let mut at = thread::thread_idx_x() as usize * OUTPUTS;
    let mut weights = mask.start();
    // The number of chunks, without one that the mask ends in.
    let mut left = chunks - (rest > 0) as u32;

    let mut window = [[W::ZERO; CHUNK]; WINDOW];
    if skipped > 0 {
        unrolled!(i < WINDOW => { window[i] = input(at + i * CHUNK); });
        let first = mask.chunk(weights);
        for step in 1..CHUNK {
            // A mask may end in its first chunk.
            if skipped <= step as u32 && (left > 0 || (step as u32) < rest) {
                add_step(sums, window, first, step);
            }
        }
        if left == 0 {
            return;
        }
        window = rotated(window, 1);
        at += CHUNK;
        weights += CHUNK;
        left -= 1;
    } else {
        unrolled!(i < BEST_CHUNKS => { window[i] = input(at + i * CHUNK); });
    }
    // The code after the loop counts from here, so that the loop steps only what it needs.
    let mut rounds = left / WINDOW as u32;
    let behind = (rounds * WINDOW as u32) as usize * CHUNK;
    left -= rounds * WINDOW as u32;
    let (last_at, last_weights) = (at + behind, weights + behind);
    while rounds > 0 {
        unrolled!(i < WINDOW => {
            window[(BEST_CHUNKS + i) % WINDOW] = input(at + (BEST_CHUNKS + i) * CHUNK);
            add_chunk(sums, rotated(window, i), mask.chunk(weights + i * CHUNK));
        });
        at += WINDOW * CHUNK;
        weights += WINDOW * CHUNK;
        rounds -= 1;
    }
    (at, weights) = (last_at, last_weights);
    'behind: {
        unrolled!(i < BEST_CHUNKS => {
            if left <= i as u32 {
                break 'behind;
            }
            window[(BEST_CHUNKS + i) % WINDOW] = input(at + (BEST_CHUNKS + i) * CHUNK);
            add_chunk(sums, rotated(window, i), mask.chunk(weights + i * CHUNK));
        });
    }
    if rest > 0 {
        let at = at + left as usize * CHUNK;
        unrolled!(i < WINDOW => { window[i] = input(at + i * CHUNK); });
        let last = mask.chunk(weights + left as usize * CHUNK);
        for step in 0..CHUNK - 1 {
            if (step as u32) < rest {
                add_step(sums, window, last, step);
            }
        }
    }
}

/// Returns the window rotated by `by` chunks.
#[inline(always)]
fn rotated<W: Copy, const CHUNK: usize>(
    window: [[W; CHUNK]; WINDOW],
    by: usize,
) -> [[W; CHUNK]; WINDOW] {
    core::array::from_fn(|i| window[(i + by) % WINDOW])
}

/// Adds the product of one weight, number `step` of a chunk, to every output.
#[inline(always)]
fn add_step<W: Weight, const CHUNK: usize, const OUTPUTS: usize>(
    sums: &mut [W; OUTPUTS],
    window: [[W; CHUNK]; WINDOW],
    weights: [W; CHUNK],
    step: usize,
) {
    for output in 0..OUTPUTS {
        let at = step + output;
        sums[output] = weights[step].mul_add(window[at / CHUNK][at % CHUNK], sums[output]);
    }
}

/// Adds the products of a chunk of weights to every output.
#[inline(always)]
fn add_chunk<W: Weight, const CHUNK: usize, const OUTPUTS: usize>(
    sums: &mut [W; OUTPUTS],
    window: [[W; CHUNK]; WINDOW],
    weights: [W; CHUNK],
) {
    for step in 0..CHUNK {
        add_step(sums, window, weights, step);
    }
}
