//! The tuning of the convolutions.

use crate::tuning::{self, Choice};

/// The threads of a block of `basic`, `constant_mask` and `tiled`: one per output.
pub const RUNG_BLOCK: usize = 256;

/// The maximum number of weights of a mask in constant memory: 4 KiB of `f32`, 8 KiB of `f64`.
pub const MOST_CONSTANTS: usize = 1024;

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The number of blocks that a multiprocessor should hold at once, if it can: 24 leave each thread 80 registers.
    pub resident: u32,
    /// The same for a mask that is not in constant memory.
    pub long_resident: u32,
    /// The number of weights of a mask from which on a block processes several tiles. Every tile but the first is loaded while
    /// the sums of the tile before are computed, and a block does its set-up once. But where memory bandwidth is the limit,
    /// addresses that are read and written at the same time should be close together, and several tiles put them further apart.
    pub several_from: usize,
    /// The number of these tiles.
    pub several: u32,
}

impl Policy {
    /// Returns the maximum number of tiles of a block, for a mask of `mask_width` weights.
    pub const fn tiles(&self, mask_width: usize) -> u32 {
        if mask_width >= self.several_from {
            self.several
        } else {
            1
        }
    }

    /// Returns the same for rows of `width` elements, in chunks of `chunk`.
    pub fn most_tiles(&self, mask_width: usize, width: usize, chunk: usize) -> u32 {
        width
            .div_ceil(best_span(chunk))
            .clamp(1, self.tiles(mask_width) as usize) as u32
    }
}

const SHIPPED: Policy = Policy {
    resident: 24,
    long_resident: 16,
    several_from: 37,
    several: 2,
};

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        SHIPPED,
        Policy {
            several: 1,
            ..SHIPPED
        },
        Policy {
            several_from: 0,
            ..SHIPPED
        },
        Policy {
            several: 3,
            ..SHIPPED
        },
        Policy {
            several: 4,
            ..SHIPPED
        },
        Policy {
            several: 6,
            ..SHIPPED
        },
        Policy {
            resident: 28,
            ..SHIPPED
        },
        Policy {
            resident: 20,
            ..SHIPPED
        },
        Policy {
            resident: 16,
            ..SHIPPED
        },
    ];
    const CHOICES: &'static [Choice] = &[Choice::always(0)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] = &[
        super::best::CONVOLUTION_BEST_ROWS,
        super::best::CONVOLUTION_BEST_LONG_ROWS,
    ];
}

/// The threads of a block of `best`: one warp.
pub const BEST_BLOCK: usize = 32;

/// The minimum number of waves of resident blocks that `best` launches before blocks get more than one tile each. With fewer,
/// the distribution of blocks over the multiprocessors matters.
pub const BEST_WAVES: usize = 4;

/// Returns the number of tiles per block, at most `most`, on a device with `resident` resident blocks, where one tile per warp
/// makes `blocks` blocks.
pub fn filling_tiles(most: u32, blocks: usize, resident: usize) -> u32 {
    (blocks / (BEST_WAVES * resident.max(1))).clamp(1, most as usize) as u32
}

/// The 16-byte chunks of outputs that a thread of `best` computes. The number is odd, so that the chunks of eight neighboring
/// lanes, which shared memory serves at once, lie in different banks.
pub const BEST_CHUNKS: usize = 5;

/// The chunks of a mask in global memory that `best` uses before it copies the next part of the input to shared memory: 256
/// weights of four bytes.
pub const BEST_PASS: usize = 64;

/// Returns the maximum number of chunks that a mask of `mask_width` weights covers. The first chunk may begin up to `chunk - 1`
/// elements before the mask.
const fn mask_chunks(mask_width: usize, chunk: usize) -> usize {
    (mask_width - 1).div_ceil(chunk) + 1
}

/// Returns the number of chunks of one pass, at most [`BEST_PASS`], for a mask of `mask_width` weights.
pub const fn best_pass_chunks(mask_width: usize, chunk: usize) -> usize {
    let chunks = mask_chunks(mask_width, chunk);
    if chunks < BEST_PASS {
        chunks
    } else {
        BEST_PASS
    }
}

/// Returns the number of outputs of a tile of `best`.
pub const fn best_span(chunk: usize) -> usize {
    BEST_BLOCK * BEST_CHUNKS * chunk
}

/// Returns the shared memory of a block of `best` in bytes: its tile of the input, and for a mask that is not in constant
/// memory (`long`) a pass's part of the mask.
pub const fn best_shared_bytes(mask_width: usize, chunk: usize, long: bool) -> usize {
    let chunks = if long {
        2 * best_pass_chunks(mask_width, chunk)
    } else {
        mask_chunks(mask_width, chunk)
    };
    16 * (BEST_CHUNKS * BEST_BLOCK + chunks)
}
