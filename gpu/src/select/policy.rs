//! The tuning of the selections.

use crate::tuning::{self, Choice};

/// The threads of a block of the rungs.
pub const RUNG_BLOCK: usize = 256;
/// The elements that a thread of `naive` counts and writes.
pub const NAIVE_RUN: usize = 1024;
/// The elements that a block of `reduce_then_scan` counts and writes.
pub const RUNG_TILE: usize = 4096;
/// The threads of the block that adds up the rungs' counts.
pub const SCAN_BLOCK: usize = 1024;

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block.
    pub block: usize,
    /// The 16-byte loads of a thread, all in flight: a tile has `block * rounds * 16` bytes.
    pub rounds: usize,
    /// The number of blocks that must be resident at once, which limits the registers.
    pub resident: u32,
}

const fn policy(block: usize, rounds: usize, resident: u32) -> Policy {
    Policy {
        block,
        rounds,
        resident,
    }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(512, 4, 2),
        policy(256, 4, 4),
        policy(256, 8, 3),
        policy(384, 4, 3),
        policy(128, 8, 6),
        policy(640, 4, 2),
        policy(256, 4, 3),
        policy(256, 4, 5),
        policy(256, 2, 6),
        policy(512, 2, 3),
        policy(256, 3, 5),
    ];
    // With 64 registers, unique bytes spill.
    const CHOICES: &'static [Choice] = &[Choice::up_to(1, 6), Choice::always(0)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] =
        &[super::best::SELECT_BEST_ROWS];
}
