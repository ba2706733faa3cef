//! Tuning of the maps, as data.

use crate::tuning::{self, Choice};

/// How a variant cuts the elements into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// A thread per element.
    PerThread,
    /// As many blocks as are resident at once stride over the elements.
    Strided,
    /// A wide access of each array per thread: on an H100 blocks that stride over the input were a twentieth slower.
    Tiled,
}

/// Threads of a block: of every variant but `best`, and of a user's own map.
pub const BLOCK: usize = cuda_std::map::BLOCK;
/// Blocks per multiprocessor, at most: enough for all its threads.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// The cuts in the catalogue's order.
pub const CUTS: [Cut; super::FAMILY.variants.len()] = [Cut::PerThread, Cut::Strided, Cut::Tiled];

/// The numbers of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Threads of a block.
    pub block: usize,
    /// Blocks that have to be resident at once: all that a multiprocessor has threads for. With five, and two accesses in
    /// flight per thread, warps that wait for memory left the arithmetic of the sine idle.
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
