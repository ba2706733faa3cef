//! The tuning of the matrix product.

use crate::tuning::{self, Choice};

/// The side of a tile of `tiled`, and of `naive`, which uses tiles only to divide C.
pub const RUNG_TILE: usize = 32;
/// The threads of a block of `naive` along y; along x there are [`RUNG_TILE`]. Each computes one element.
pub const NAIVE_ROWS: usize = 8;

/// The columns of C that a thread of `best` computes.
pub const PER_THREAD: usize = 8;
/// The index of the large tiles of `best` in the constants below.
pub const LARGE: usize = 0;
/// The index of the small tiles.
pub const SMALL: usize = 1;
/// The rows of C that a thread of `best` computes in a large tile, and in a small one.
pub const BEST_ROWS: [usize; 2] = [8, 4];
/// The sides of the large and small tiles of C of `best`.
pub const BEST_TILE: [usize; 2] = [128, 64];
/// The threads of a block of `best`: for a large tile 4 x 2 warps of 4 x 8 lanes, for a small one 4 warps below each other.
pub const BEST_BLOCK: [usize; 2] = [256, 128];
/// The minimum length along `k` of a tile of A or B of `best`.
pub const BEST_STEP: usize = 8;

/// The maximum `k` of `best`, which counts its tiles in 32 bits.
pub const BEST_MOST_K: usize = BEST_STEP * u32::MAX as usize;

/// The rows of tiles that consecutive blocks of `naive` and `tiled` go down before the next column.
pub const RUNG_GROUP: u32 = 16;

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The length of a tile of A or B along `k`: [`BEST_STEP`] or twice that.
    pub step: usize,
    /// The rows of tiles that consecutive blocks go down before the next column.
    pub group: u32,
    /// The number of blocks of large tiles that must be resident at once.
    pub resident: u32,
    /// The length of a small tile along k.
    pub small_step: usize,
    /// The number of blocks of small tiles that must be resident at once.
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
        // In f64 the sums alone take 128 registers, so that only one block fits a multiprocessor.
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

/// How a variant divides C among blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The rows and columns of C that a block computes.
    pub tile: [usize; 2],
    /// The threads of a block along x and y.
    pub block: [u32; 2],
}

/// The division of `naive`.
pub const NAIVE: Cut = Cut {
    tile: [NAIVE_ROWS, RUNG_TILE],
    block: [RUNG_TILE as u32, NAIVE_ROWS as u32],
};
/// The division of `tiled`.
pub const TILED: Cut = Cut {
    tile: [RUNG_TILE, RUNG_TILE],
    block: [RUNG_TILE as u32, RUNG_TILE as u32],
};

/// Returns how `best` divides C, into [`LARGE`] or [`SMALL`] tiles.
pub const fn best_cut(size: usize) -> Cut {
    Cut {
        tile: [BEST_TILE[size]; 2],
        block: [BEST_BLOCK[size] as u32, 1],
    }
}

/// Returns whether `best` uses small tiles: if there are fewer large ones than multiprocessors.
pub fn is_small(large_tiles: usize, multiprocessors: usize) -> bool {
    large_tiles < multiprocessors
}
