//! Tuning of the reductions, as data.

use crate::tuning::{self, Choice};

/// Threads of a block of every rung but `best`; a power of two.
pub const RUNG_BLOCK: usize = 256;
/// Blocks per multiprocessor of the rungs that stride over the whole grid: enough for all its threads.
pub const RUNG_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// The numbers of `best`, which cuts an input into as many blocks as run at once, each of which takes neighboring
/// elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Threads of a block, for small inputs and for large ones: small blocks come to an end sooner.
    pub threads: [usize; 2],
    /// Blocks per multiprocessor, at most, for the same.
    pub blocks: [u32; 2],
    /// Bytes from which an input is a large one.
    pub large_bytes: usize,
    /// Blocks of [`most_threads`](Self::most_threads) that run at once at least. Two of 512: without it `ptxas` makes
    /// room for three on an H100, and spills.
    pub resident: u32,
    /// 16-byte loads that a thread has in flight: 2, 4 or 8.
    pub unroll: usize,
    /// The same for positions, which take more registers for each.
    pub positions: usize,
}

impl Policy {
    /// Threads of a block, for an input of so many bytes.
    pub const fn threads_for(&self, bytes: usize) -> usize {
        self.threads[self.size(bytes)]
    }

    /// Blocks per multiprocessor, at most, for an input of so many bytes.
    pub const fn blocks_for(&self, bytes: usize) -> u32 {
        self.blocks[self.size(bytes)]
    }

    /// Bytes that a block takes at least of an input of so many bytes: what its threads have in flight.
    pub const fn least_bytes(&self, bytes: usize) -> usize {
        let least = if self.unroll < self.positions {
            self.unroll
        } else {
            self.positions
        };
        self.threads_for(bytes) * least * 16
    }

    /// Threads of a block, at most.
    pub const fn most_threads(&self) -> usize {
        let [small, large] = self.threads;
        if small > large { small } else { large }
    }

    const fn size(&self, bytes: usize) -> usize {
        (bytes >= self.large_bytes) as usize
    }
}

const SHIPPED: Policy = Policy {
    threads: [256, 512],
    blocks: [2, 2],
    large_bytes: 8 << 20,
    resident: 2,
    unroll: 4,
    positions: 4,
};

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        SHIPPED,
        Policy {
            threads: [256, 256],
            resident: 4,
            ..SHIPPED
        },
        Policy {
            threads: [256, 256],
            blocks: [2, 4],
            resident: 4,
            ..SHIPPED
        },
        Policy {
            threads: [512, 512],
            ..SHIPPED
        },
        Policy {
            threads: [256, 1024],
            blocks: [2, 1],
            resident: 1,
            ..SHIPPED
        },
        Policy {
            blocks: [4, 2],
            ..SHIPPED
        },
        Policy {
            blocks: [1, 2],
            ..SHIPPED
        },
        Policy {
            large_bytes: 4 << 20,
            ..SHIPPED
        },
        Policy {
            large_bytes: 32 << 20,
            ..SHIPPED
        },
        Policy {
            unroll: 2,
            positions: 2,
            ..SHIPPED
        },
        Policy {
            unroll: 8,
            positions: 8,
            ..SHIPPED
        },
        Policy {
            unroll: 8,
            ..SHIPPED
        },
    ];
    const CHOICES: &'static [Choice] = &[Choice::up_to(2, 0), Choice::always(11)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] =
        &[super::best::REDUCE_BEST_ROWS];
}

/// Threads of a block of the last pass.
pub const FINISH_BLOCK: usize = 512;
/// Partial results that one block of the last pass takes; more of them take another pass before it.
pub const FINISH_SPAN: usize = FINISH_BLOCK * 64;

/// How a first pass is cut into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Each block takes so many neighboring elements and gives one partial result.
    PerBlock(usize),
    /// So many blocks per multiprocessor stride over the elements; one partial result each.
    Strided {
        /// Blocks per multiprocessor.
        blocks_per_multiprocessor: u32,
        /// Elements that one block takes at least, so that short inputs get few blocks.
        least_per_block: usize,
    },
    /// As the [`Policy`] says: `best` combines the partial results in the same launch.
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
