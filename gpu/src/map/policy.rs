//! Tuning of the maps, as data.

use crate::tuning::{self, Choice};

/// How a variant cuts the elements into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// A thread per element.
    PerThread,
    /// As many blocks as are resident at once stride over the elements.
    Strided,
    /// Two wide accesses per thread, and so many blocks that none takes a second tile: on an H100 blocks that
    /// stride over the input were a twentieth slower.
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
    /// Blocks that have to be resident at once: with four of 256 threads, warps that wait for memory leave the
    /// arithmetic of the sine idle.
    pub resident: u32,
    /// Chunks of 16 bytes that a thread takes at a time, for a function of 0, 1 and 2 arrays.
    pub chunks: [usize; 3],
}

const fn policy(block: usize, resident: u32, chunks: [usize; 3]) -> Policy {
    Policy {
        block,
        resident,
        chunks,
    }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(cuda_std::map::BLOCK, 5, cuda_std::map::CHUNKS),
        policy(256, 4, [1, 2, 1]),
        policy(256, 6, [1, 2, 1]),
        policy(256, 8, [1, 2, 1]),
        policy(256, 5, [1, 1, 1]),
        policy(256, 8, [1, 1, 1]),
        policy(128, 10, [1, 2, 1]),
        policy(512, 2, [1, 2, 1]),
    ];
    const CHOICES: &'static [Choice] = &[Choice::always(0)];
}
