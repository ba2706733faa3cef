//! Tuning of the reductions, as data.

/// Threads of a block of every rung but `best`; a power of two.
pub const RUNG_BLOCK: usize = 256;
/// Blocks per multiprocessor of the rungs that stride over the whole grid: enough for all its threads.
pub const RUNG_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// Threads of a block of `best`.
pub const BEST_BLOCK: usize = 256;
/// 16-byte loads that a thread of `best` has in flight.
pub const BEST_UNROLL: usize = 4;
/// Blocks of `best` per multiprocessor: what 256 threads with at most 32 registers fill.
pub const BEST_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// Threads of a block of the last pass.
pub const FINISH_BLOCK: usize = 512;
/// Partial results that one block of the last pass takes; more of them take another pass before it.
pub const FINISH_SPAN: usize = FINISH_BLOCK * 64;

/// How a first pass is cut into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Each block takes so many neighbouring elements and gives one partial result.
    PerBlock(usize),
    /// So many blocks per multiprocessor stride over the elements; one partial result each.
    Strided {
        /// Blocks per multiprocessor.
        blocks_per_multiprocessor: u32,
        /// Elements that one block takes at least, so that short inputs get few blocks.
        least_per_block: usize,
    },
    /// Pass after pass over ever fewer elements.
    Folding {
        /// The factor by which a pass shrinks them.
        by: usize,
    },
}

const STRIDED: Cut = Cut::Strided {
    blocks_per_multiprocessor: RUNG_BLOCKS_PER_MULTIPROCESSOR,
    least_per_block: RUNG_BLOCK * 2,
};

/// The cuts in the catalogue's order.
pub const CUTS: [Cut; super::FAMILY.variants.len()] = [
    Cut::PerBlock(RUNG_BLOCK),
    Cut::PerBlock(RUNG_BLOCK),
    Cut::PerBlock(RUNG_BLOCK),
    Cut::PerBlock(RUNG_BLOCK * 2),
    Cut::PerBlock(RUNG_BLOCK * 2),
    Cut::PerBlock(RUNG_BLOCK * 2),
    STRIDED,
    Cut::PerBlock(RUNG_BLOCK * 2),
    STRIDED,
    Cut::Folding { by: 2 },
    Cut::Folding { by: FOLD_SPAN },
    Cut::Strided {
        blocks_per_multiprocessor: BEST_BLOCKS_PER_MULTIPROCESSOR,
        least_per_block: BEST_BLOCK * 8,
    },
];

/// Elements that a block of `folding_shared` folds into one.
pub const FOLD_SPAN: usize = RUNG_BLOCK * 2;
