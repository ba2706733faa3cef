//! Tuning of the transpose, as data.

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

/// `best`'s tile side. A row of 32 four-byte elements is one 128-byte line on both sides.
pub const BEST_TILE: usize = 32;

/// `best`'s threads along y: each thread moves `BEST_TILE / BEST_ROWS` elements, all of whose loads are
/// in flight at once.
pub const BEST_ROWS: usize = 8;

/// `best`.
pub const BEST: Policy = Policy {
    tile_width: BEST_TILE,
    tile_height: BEST_TILE,
    block: [BEST_TILE as u32, BEST_ROWS as u32],
};

/// The policies in the catalogue's order.
pub const POLICIES: [Policy; super::FAMILY.variants.len()] = [RUNG, RUNG, RUNG, BEST];
