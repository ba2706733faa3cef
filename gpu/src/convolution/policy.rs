//! Tuning of the convolutions, as data.

use crate::tuning::{self, Choice};

/// Threads of a block of `basic`, `constant_mask` and `tiled`: one per output.
pub const RUNG_BLOCK: usize = 256;

/// Weights that the mask's table in constant memory has room for: 4 KiB of `f32`, 8 KiB of `f64`.
pub const MOST_CONSTANTS: usize = 1024;

/// The numbers of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Threads of a block, at most; a short row gets fewer, in full warps. A block loads, computes and stores in
    /// turn, so that these overlap between blocks only: many small ones rather than few large ones.
    pub block: usize,
    /// Blocks that a multiprocessor is to hold at once, where it holds as many threads. 10 of 128 threads: 48
    /// registers per thread, and weights in uniform registers. With 8 blocks `ptxas` loads them into every lane.
    pub resident: u32,
    /// The same for a mask that is not in constant memory.
    pub long_resident: u32,
}

impl Policy {
    /// Threads of a block for rows of `width` elements, in chunks of `chunk`: 32 to [`block`](Self::block).
    pub const fn threads(&self, width: usize, chunk: usize) -> usize {
        let warps = width.div_ceil(32 * BEST_CHUNKS * chunk);
        let most = self.block / 32;
        32 * (if warps == 0 {
            1
        } else if warps < most {
            warps
        } else {
            most
        })
    }
}

const fn policy(block: usize, resident: u32, long_resident: u32) -> Policy {
    Policy {
        block,
        resident,
        long_resident,
    }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(128, 10, 4),
        policy(128, 8, 4),
        policy(128, 9, 4),
        policy(128, 12, 4),
        policy(64, 20, 8),
        policy(256, 5, 2),
        policy(256, 4, 2),
        policy(512, 2, 1),
    ];
    const CHOICES: &'static [Choice] = &[Choice::always(0)];
}

/// 16-byte chunks of outputs that a thread of `best` computes. Odd, so that the chunks of eight
/// neighbouring lanes, which shared memory serves at once, lie in different banks.
pub const BEST_CHUNKS: usize = 3;

/// Chunks of the mask that `best` goes through before it brings the next part of the input into shared
/// memory: 256 weights of four bytes.
pub const BEST_PASS: usize = 64;

/// Chunks of the mask that [`BEST_PASS`] lets into one pass, for a mask of `mask_width` weights: the first
/// chunk may begin up to `chunk - 1` elements before the mask does.
pub const fn best_pass_chunks(mask_width: usize, chunk: usize) -> usize {
    let chunks = (mask_width - 1).div_ceil(chunk) + 1;
    if chunks < BEST_PASS {
        chunks
    } else {
        BEST_PASS
    }
}

/// Shared memory of a block of `best` in bytes: its tile of the input, and for a mask that is not in
/// constant memory (`long`) a pass's part of it.
pub const fn best_shared_bytes(
    threads: usize,
    mask_width: usize,
    chunk: usize,
    long: bool,
) -> usize {
    let pass = best_pass_chunks(mask_width, chunk);
    16 * (BEST_CHUNKS * threads + pass * if long { 2 } else { 1 })
}
