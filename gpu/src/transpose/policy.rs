//! Tuning of the transpose, as data.

use super::best::shifted;

/// How a variant cuts the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The tile's side along x, in elements.
    pub tile_width: usize,
    /// The tile's side along y, in elements.
    pub tile_height: usize,
    /// Threads of a block along x and y.
    pub block: [u32; 2],
}

/// The rungs' tile: one thread per element, as in the material that the ladder follows.
pub const RUNG_TILE: usize = 16;

/// `naive`, `tiled` and `padded`.
pub const RUNG: Policy = Policy {
    tile_width: RUNG_TILE,
    tile_height: RUNG_TILE,
    block: [16, 16],
};

/// Threads of a block of `best`.
pub const BEST_THREADS: usize = 256;

/// Blocks of `best` that a multiprocessor's registers have room for, at least; no more than 2048 threads are
/// resident on any architecture, and 1024 on 7.5.
pub const BEST_RESIDENT: u32 = 5;

/// Tiles that blocks of `best` go down before they go to the right; 1 takes row after row of tiles.
pub const BEST_BAND: u32 = 4;

/// Bytes of a sector of the second-level cache. Where rows do not begin at sectors, the pieces of the output's rows that
/// blocks write do so all the same: to write a part of a sector takes about as long as to write three.
pub const SECTOR: usize = 32;

/// How `best` cuts a matrix of elements of one size: into tiles of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Best {
    /// Bytes of an element.
    pub element_bytes: usize,
    /// Bytes of a word.
    pub word_bytes: usize,
    /// Words of a tile's row.
    pub words: usize,
    /// Words of a tile's column, which becomes a row of the output.
    pub words_down: usize,
}

impl Best {
    /// The sizes of elements.
    pub const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

    /// The cut for elements of `element_bytes` bytes. A row of a tile is 128 bytes of small elements, 256 bytes
    /// of larger ones and 512 of the largest; a column is 256 bytes, and 512 of the largest: what is written in one piece.
    pub const fn of(element_bytes: usize) -> Self {
        let (word_bytes, words, words_down) = match element_bytes {
            1 | 2 => (8, 16, 32),
            16 => (16, 32, 32),
            _ => (16, 16, 16),
        };
        Self {
            element_bytes,
            word_bytes,
            words,
            words_down,
        }
    }

    /// Elements of a word.
    pub const fn elements(self) -> usize {
        self.word_bytes / self.element_bytes
    }

    /// Elements of a tile's row.
    pub const fn tile_width(self) -> usize {
        self.words * self.elements()
    }

    /// Elements of a tile's column.
    pub const fn tile_height(self) -> usize {
        self.words_down * self.elements()
    }

    /// Shared memory of a tile in bytes, with a word of padding behind every row of each plane; where rows do not
    /// begin at words, a row is a sector longer, or there are as many more of them.
    pub const fn shared_bytes(self) -> usize {
        let in_words = self.elements() * self.words * (self.words_down + 1) * self.word_bytes;
        let in_pieces = match self.element_bytes {
            bytes @ (1 | 2) => shifted::shared_bytes(bytes),
            16 => 0,
            bytes => (self.tile_height() + SECTOR / bytes) * (self.tile_width() + 1) * bytes,
        };
        if in_words > in_pieces {
            in_words
        } else {
            in_pieces
        }
    }

    /// As a policy.
    pub const fn policy(self) -> Policy {
        Policy {
            tile_width: self.tile_width(),
            tile_height: self.tile_height(),
            block: [BEST_THREADS as u32, 1],
        }
    }
}

/// The policies of the variants in the catalogue's order, for elements of so many bytes.
pub const fn policies(element_bytes: usize) -> [Policy; super::FAMILY.variants.len()] {
    [RUNG, RUNG, RUNG, Best::of(element_bytes).policy()]
}
