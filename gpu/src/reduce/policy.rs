//! Tuning of the reductions, as data.

/// Threads of a block of every rung but `best`; a power of two.
pub const RUNG_BLOCK: usize = 256;
/// Blocks per multiprocessor of the rungs that stride over the whole grid: enough for all its threads.
pub const RUNG_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// How `best` cuts an input: into as many blocks, each of which takes neighbouring elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Best {
    /// For inputs of at least so many bytes.
    pub from_bytes: usize,
    /// Threads of a block, up to [`BEST_MOST_THREADS`].
    pub threads: usize,
    /// Blocks per multiprocessor, at most.
    pub blocks_per_multiprocessor: u32,
}

impl Best {
    /// Bytes that a block takes at least: what its threads have in flight.
    pub const fn least_bytes(self) -> usize {
        self.threads * BEST_UNROLL * 16
    }

    const fn new(from_bytes: usize, threads: usize, blocks_per_multiprocessor: u32) -> Self {
        Self {
            from_bytes,
            threads,
            blocks_per_multiprocessor,
        }
    }
}

/// The cuts, for ever larger inputs: small blocks come to an end sooner.
pub const BEST: [Best; 2] = [
    Best::new(0, 256, 2),
    Best::new(8 << 20, BEST_MOST_THREADS, 2),
];

/// How `best` cuts an input of so many bytes.
pub fn best(bytes: usize) -> Best {
    let fits = |cut: &&Best| cut.from_bytes <= bytes;
    *BEST.iter().rfind(fits).unwrap_or(&BEST[0])
}

/// Threads of a block of `best`, at most.
pub const BEST_MOST_THREADS: usize = 512;
/// Blocks of so many threads that run at once at least: without it `ptxas` makes room for three on an H100, and spills.
pub const BEST_RESIDENT: u32 = 2;
/// 16-byte loads that a thread of `best` has in flight.
pub const BEST_UNROLL: usize = 4;

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
    /// As [`best`] says, which combines the partial results in the same launch.
    Best,
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
    Cut::Best,
];

/// Elements that a block of `folding_shared` folds into one.
pub const FOLD_SPAN: usize = RUNG_BLOCK * 2;
