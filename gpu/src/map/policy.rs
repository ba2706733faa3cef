//! The tuning of the maps.

use crate::tuning::{self, Choice};

/// How a variant divides the elements among blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// One thread per element.
    PerThread,
    /// A grid-stride loop with as many blocks as are resident at once.
    Strided,
    /// One wide access of each array per thread. On an H100 a grid-stride loop was a twentieth slower.
    Tiled,
}

/// The threads of a block of every variant except `best`, and of a user's own map.
pub const BLOCK: usize = cuda_std::map::BLOCK;
/// The maximum number of blocks per multiprocessor: enough for all its threads.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block.
    pub block: usize,
    /// The number of blocks that must be resident at once: all that a multiprocessor has threads for. With five blocks, and two
    /// accesses in flight per thread, warps that waited for memory left the arithmetic of the sine idle.
    pub resident: u32,
}

const fn policy(block: usize, resident: u32) -> Policy {
    Policy { block, resident }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(256, 8),
        policy(256, 6),
        policy(256, 5),
        policy(256, 4),
        policy(128, 16),
        policy(512, 4),
    ];
    const CHOICES: &'static [Choice] = &[Choice::always(5)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] =
        &[super::best::MAP_BEST_ROWS];
}
