//! Tuning of the convolutions, as data.

use crate::tuning::{self, Choice};

/// Threads of a block of `basic`, `constant_mask` and `tiled`: one per output.
pub const RUNG_BLOCK: usize = 256;

/// Weights that the mask's table in constant memory has room for: 4 KiB of `f32`, 8 KiB of `f64`.
pub const MOST_CONSTANTS: usize = 1024;

/// The numbers of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Blocks that a multiprocessor is to hold at once, where it holds as many: 24 leave each thread 80 registers.
    pub resident: u32,
    /// The same for a mask that is not in constant memory.
    pub long_resident: u32,
    /// Weights of the masks from which on a block goes through several tiles. Every tile but the first is loaded while the
    /// sums of the one before it are made, and what a block has to find out first is found out once; but where memory
    /// alone counts, what is read and written at a time should lie close together, and it lies further apart.
    pub several_from: usize,
    /// How many they are.
    pub several: u32,
}

impl Policy {
    /// Tiles that a block goes through, at most, with a mask of `mask_width` weights.
    pub const fn tiles(&self, mask_width: usize) -> u32 {
        if mask_width >= self.several_from {
            self.several
        } else {
            1
        }
    }

    /// The same in rows of `width` elements, in chunks of `chunk`.
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

/// Threads of a block of `best`: a warp.
pub const BEST_BLOCK: usize = 32;

/// How many times the blocks that the device holds at once `best` makes at least, before they get more than one tile
/// each: fewer, and how they fall to the multiprocessors counts.
pub const BEST_WAVES: usize = 4;

/// Tiles per block, `most` at most, where a device holds so many blocks at once, and one tile per warp makes so many
/// `blocks`.
pub fn filling_tiles(most: u32, blocks: usize, resident: usize) -> u32 {
    (blocks / (BEST_WAVES * resident.max(1))).clamp(1, most as usize) as u32
}

/// 16-byte chunks of outputs that a thread of `best` computes. Odd, so that the chunks of eight
/// neighboring lanes, which shared memory serves at once, lie in different banks.
pub const BEST_CHUNKS: usize = 5;

/// Chunks of a mask that is not in constant memory that `best` goes through before it brings the next part of the input
/// into shared memory: 256 weights of four bytes.
pub const BEST_PASS: usize = 64;

/// Chunks that a mask of `mask_width` weights reaches over, at most: the first one may begin up to `chunk - 1` elements
/// before the mask does.
const fn mask_chunks(mask_width: usize, chunk: usize) -> usize {
    (mask_width - 1).div_ceil(chunk) + 1
}

/// Chunks that [`BEST_PASS`] lets into one pass, for a mask of `mask_width` weights.
pub const fn best_pass_chunks(mask_width: usize, chunk: usize) -> usize {
    let chunks = mask_chunks(mask_width, chunk);
    if chunks < BEST_PASS {
        chunks
    } else {
        BEST_PASS
    }
}

/// Outputs of a tile of `best`.
pub const fn best_span(chunk: usize) -> usize {
    BEST_BLOCK * BEST_CHUNKS * chunk
}

/// Shared memory of a block of `best` in bytes: its tile of the input, and for a mask that is not in
/// constant memory (`long`) a pass's part of it.
pub const fn best_shared_bytes(mask_width: usize, chunk: usize, long: bool) -> usize {
    let chunks = if long {
        2 * best_pass_chunks(mask_width, chunk)
    } else {
        mask_chunks(mask_width, chunk)
    };
    16 * (BEST_CHUNKS * BEST_BLOCK + chunks)
}
