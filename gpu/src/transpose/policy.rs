//! The tuning of the transpose.

use super::Variant;
use super::pieces;
pub use super::pieces::SECTOR;
use crate::tuning::{self, Choice};

/// How a variant divides the matrix among blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The tile's side along x, in elements.
    pub tile_width: usize,
    /// The tile's side along y, in elements.
    pub tile_height: usize,
    /// The threads of a block along x and y.
    pub block: [u32; 2],
}

/// The side of the rungs' tile: one thread per element, as in the material that the ladder follows.
pub const RUNG_TILE: usize = 16;

/// The division of `naive`, `tiled` and `padded`.
pub const RUNG: Cut = Cut {
    tile_width: RUNG_TILE,
    tile_height: RUNG_TILE,
    block: [16, 16],
};

/// Returns the bytes of the words that `best` moves. A thread takes as many words, one below the other, as a word has elements.
pub const fn word_bytes(element_bytes: usize) -> usize {
    if element_bytes <= 2 { 8 } else { 16 }
}

/// Returns the elements of a word.
pub const fn word_elements(element_bytes: usize) -> usize {
    word_bytes(element_bytes) / element_bytes
}

/// The policy of `best`, which divides a matrix into tiles of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block.
    pub threads: usize,
    /// The minimum number of blocks that a multiprocessor's registers have room for. At most 2048 threads are resident on any
    /// architecture, and 1024 on 7.5.
    pub resident: u32,
    /// The number of tiles that blocks go down before they go to the right. With 1, blocks take the tiles row by row.
    pub band: u32,
    /// The words of a tile's row, each of [`word_bytes`].
    pub words: usize,
    /// The words of a tile's column, which becomes a row of the output.
    pub words_down: usize,
}

impl Policy {
    /// Returns the elements of a tile's row, for elements of `element_bytes` bytes.
    pub const fn tile_width(&self, element_bytes: usize) -> usize {
        self.words * word_elements(element_bytes)
    }

    /// Returns the elements of a tile's column.
    pub const fn tile_height(&self, element_bytes: usize) -> usize {
        self.words_down * word_elements(element_bytes)
    }

    /// Returns the shared memory of a tile in bytes, with a word of padding after every row of each plane. If rows do not begin
    /// at words, a row is a sector longer, or there are as many more rows.
    pub const fn shared_bytes(&self, element_bytes: usize) -> usize {
        let in_words = word_elements(element_bytes)
            * self.words
            * (self.words_down + 1)
            * word_bytes(element_bytes);
        let (width, height) = (
            self.tile_width(element_bytes),
            self.tile_height(element_bytes),
        );
        let in_pieces = match element_bytes {
            1 | 2 => pieces::shared_bytes(element_bytes),
            16 => 0,
            bytes => (height + SECTOR / bytes) * (width + 1) * bytes,
        };
        if in_words > in_pieces {
            in_words
        } else {
            in_pieces
        }
    }

    /// Returns whether the kernels support this row of the table, for elements of `element_bytes` bytes: each way of moving a
    /// tile must process it in full rounds of the block.
    pub const fn fits(&self, element_bytes: usize) -> bool {
        let (across, down) = (self.words, self.words_down);
        match element_bytes {
            1 | 2 => {
                let tile = [
                    self.tile_width(element_bytes) * element_bytes,
                    self.tile_height(element_bytes) * element_bytes,
                ];
                pieces::takes(self.threads, tile, element_bytes)
                    && down.is_multiple_of(self.threads / across)
                    && across.is_multiple_of(self.threads / down)
            }
            16 => across == down && (across * down).is_multiple_of(self.threads),
            // A warp takes a part of a row, and the warps go through the rows.
            _ => {
                let side = self.tile_width(element_bytes);
                across == down
                    && (across * down).is_multiple_of(self.threads)
                    && side.is_multiple_of(32)
                    && side.is_multiple_of(self.threads / 32)
            }
        }
    }

    /// Returns how the matrix is divided.
    pub const fn cut(&self, element_bytes: usize) -> Cut {
        Cut {
            tile_width: self.tile_width(element_bytes),
            tile_height: self.tile_height(element_bytes),
            block: [self.threads as u32, 1],
        }
    }
}

/// Makes a row of the table for 256 threads and a tile of this many words. A tile's row is 128 bytes of small elements, 256
/// bytes of larger ones and 512 bytes of the largest. A column is 256 bytes, and 512 of the largest: the bytes that are written
/// in one piece.
const fn policy([words, words_down]: [usize; 2], resident: u32, band: u32) -> Policy {
    Policy {
        threads: 256,
        resident,
        band,
        words,
        words_down,
    }
}

/// The tile for elements of 1 and 2 bytes, which both ways of moving them support.
const SMALL: [usize; 2] = [16, 32];
/// The tile for elements of 4 and 8 bytes.
const LARGE: [usize; 2] = [16, 16];
/// The tile for elements of 16 bytes.
const LARGEST: [usize; 2] = [32, 32];

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(SMALL, 5, 4),
        policy(SMALL, 4, 4),
        policy(SMALL, 6, 4),
        policy(SMALL, 5, 1),
        policy(SMALL, 5, 2),
        policy(SMALL, 5, 8),
        policy(SMALL, 5, 16),
        Policy {
            threads: 128,
            ..policy(SMALL, 10, 4)
        },
        policy(LARGE, 5, 4),
        policy(LARGE, 4, 4),
        policy(LARGE, 6, 4),
        policy(LARGE, 5, 1),
        policy(LARGE, 5, 2),
        policy(LARGE, 5, 8),
        policy(LARGE, 5, 16),
        Policy {
            threads: 128,
            ..policy(LARGE, 10, 4)
        },
        policy(LARGEST, 5, 4),
        policy(LARGEST, 4, 4),
        policy(LARGEST, 6, 4),
        policy(LARGEST, 5, 1),
        policy(LARGEST, 5, 2),
        policy(LARGEST, 5, 8),
        policy(LARGEST, 5, 16),
        Policy {
            threads: 512,
            ..policy(LARGEST, 2, 4)
        },
    ];
    const CHOICES: &'static [Choice] = &[
        Choice::up_to(1, 3),
        Choice::up_to(2, 0),
        Choice::up_to(8, 11),
        Choice::up_to(16, 19),
    ];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] =
        &[super::best::TRANSPOSE_BEST_ROWS];
}

/// Returns the division of a variant for elements of `element_bytes` bytes, where `best` has this policy.
pub const fn cut(variant: Variant, best: Policy, element_bytes: usize) -> Cut {
    match variant {
        Variant::Best => best.cut(element_bytes),
        #[cfg(feature = "ladder")]
        _ => RUNG,
    }
}
