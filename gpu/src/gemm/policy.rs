//! Tuning of the matrix product, as data.

/// Side of a tile of `naive` (which only cuts C by it) and of `tiled`.
pub const RUNG_TILE: usize = 32;
/// Threads of a block of `naive` along y; along x there are [`RUNG_TILE`]. Each computes one element.
pub const NAIVE_ROWS: usize = 8;

/// Threads of a block of `best`: 4 x 2 warps of 4 x 8 lanes.
pub const BEST_BLOCK: usize = 256;
/// Rows and columns of C that a thread of `best` computes.
pub const PER_THREAD: usize = 8;
/// Side of `best`'s tile of C: 16 threads along either side.
pub const BEST_TILE: usize = 16 * PER_THREAD;
/// How far along `k` a tile of A or B of `best` goes.
pub const BEST_STEP: usize = 8;

/// How far along `k` `best` goes at most: it counts its tiles in 32 bits.
pub const BEST_MOST_K: usize = BEST_STEP * u32::MAX as usize;

/// Rows of tiles that neighbouring blocks go down before they turn to the next column.
pub const GROUP: u32 = 16;

/// How a variant cuts C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Rows and columns of C that a block computes.
    pub tile: [usize; 2],
    /// Threads of a block along x and y.
    pub block: [u32; 2],
}

/// The policies in the catalogue's order.
pub const POLICIES: [Policy; super::FAMILY.variants.len()] = [
    Policy {
        tile: [NAIVE_ROWS, RUNG_TILE],
        block: [RUNG_TILE as u32, NAIVE_ROWS as u32],
    },
    Policy {
        tile: [RUNG_TILE, RUNG_TILE],
        block: [RUNG_TILE as u32, RUNG_TILE as u32],
    },
    Policy {
        tile: [BEST_TILE, BEST_TILE],
        block: [BEST_BLOCK as u32, 1],
    },
];
