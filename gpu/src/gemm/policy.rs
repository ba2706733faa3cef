//! Tuning of the matrix product, as data.

use crate::tuning::{self, Choice};

/// Side of a tile of `naive` (which only cuts C by it) and of `tiled`.
pub const RUNG_TILE: usize = 32;
/// Threads of a block of `naive` along y; along x there are [`RUNG_TILE`]. Each computes one element.
pub const NAIVE_ROWS: usize = 8;

/// Columns of C that a thread of `best` computes.
pub const PER_THREAD: usize = 8;
/// The places of the large tiles of `best` in the constants below.
pub const LARGE: usize = 0;
/// Those of the small ones.
pub const SMALL: usize = 1;
/// Rows of C that a thread of `best` computes in a large tile, and in a small one.
pub const BEST_ROWS: [usize; 2] = [8, 4];
/// Side of `best`'s large and small tiles of C.
pub const BEST_TILE: [usize; 2] = [128, 64];
/// Threads of a block of `best` for a large tile, 4 x 2 warps of 4 x 8 lanes, and for a small one, 4 warps below each other.
pub const BEST_BLOCK: [usize; 2] = [256, 128];
/// How far along `k` a tile of A or B of `best` goes at least.
pub const BEST_STEP: usize = 8;

/// How far along `k` `best` goes at most: it counts its tiles in 32 bits.
pub const BEST_MOST_K: usize = BEST_STEP * u32::MAX as usize;

/// Rows of tiles that neighboring blocks of `naive` and `tiled` go down before they turn to the next column.
pub const RUNG_GROUP: u32 = 16;

/// The numbers of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How far along `k` a tile of A or B goes: [`BEST_STEP`] or twice that.
    pub step: usize,
    /// Rows of tiles that neighboring blocks go down before they turn to the next column.
    pub group: u32,
    /// Blocks of large tiles that have to be resident at once.
    pub resident: u32,
    /// Of small tiles, how far along k.
    pub small_step: usize,
    /// Of small tiles, blocks that have to be resident at once.
    pub small_resident: u32,
}

const fn policy(step: usize, group: u32, resident: u32) -> Policy {
    Policy {
        step,
        group,
        resident,
        small_step: step,
        small_resident: 2 * resident,
    }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(8, 16, 2),
        // In f64 the sums alone take 128 registers, so that one block fits a multiprocessor.
        policy(8, 16, 1),
        policy(16, 16, 2),
        policy(16, 16, 1),
        policy(8, 8, 2),
        policy(8, 8, 1),
        policy(8, 32, 2),
        policy(8, 32, 1),
        Policy {
            small_step: 16,
            ..policy(8, 16, 2)
        },
        Policy {
            small_step: 16,
            ..policy(8, 16, 1)
        },
    ];
    const CHOICES: &'static [Choice] = &[Choice::up_to(4, 8), Choice::up_to(8, 1)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] = &[
        super::best::GEMM_BEST_ROWS,
        super::best::GEMM_BEST_SMALL_ROWS,
        super::best::GEMM_BEST_DOUBLE_ROWS,
        super::best::GEMM_BEST_SMALL_DOUBLE_ROWS,
    ];
}

/// How a variant cuts C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Rows and columns of C that a block computes.
    pub tile: [usize; 2],
    /// Threads of a block along x and y.
    pub block: [u32; 2],
}

/// The cuts in the catalogue's order.
pub const CUTS: [Cut; super::FAMILY.variants.len()] = [
    Cut {
        tile: [NAIVE_ROWS, RUNG_TILE],
        block: [RUNG_TILE as u32, NAIVE_ROWS as u32],
    },
    Cut {
        tile: [RUNG_TILE, RUNG_TILE],
        block: [RUNG_TILE as u32, RUNG_TILE as u32],
    },
    best_cut(LARGE),
];

/// How `best` cuts C, into [`LARGE`] tiles or [`SMALL`] ones.
pub const fn best_cut(size: usize) -> Cut {
    Cut {
        tile: [BEST_TILE[size]; 2],
        block: [BEST_BLOCK[size] as u32, 1],
    }
}

/// Whether `best` takes small tiles: where there are fewer large ones than multiprocessors.
pub fn is_small(large_tiles: usize, multiprocessors: usize) -> bool {
    large_tiles < multiprocessors
}
