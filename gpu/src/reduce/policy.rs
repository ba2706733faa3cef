//! The tuning of the reductions.

use crate::tuning::{self, Choice};

/// The threads of a block of every rung except `best`; a power of two.
pub const RUNG_BLOCK: usize = 256;
/// The blocks per multiprocessor of the rungs with a grid-stride loop: enough for all its threads.
pub const RUNG_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// The policy of `best`, which divides an input into as many blocks as are resident at once. Each block takes neighboring
/// elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block, for small inputs and for large ones: small blocks end sooner.
    pub threads: [usize; 2],
    /// The maximum number of blocks per multiprocessor, for small inputs and for large ones.
    pub blocks: [u32; 2],
    /// The number of bytes from which on an input is large.
    pub large_bytes: usize,
    /// The minimum number of resident blocks of [`most_threads`](Self::most_threads). Two blocks of 512: without this bound
    /// `ptxas` makes room for three on an H100, and spills.
    pub resident: u32,
    /// The number of 16-byte loads that a thread has in flight: 2, 4 or 8.
    pub unroll: usize,
    /// The same for positions, which take more registers per load.
    pub positions: usize,
}

impl Policy {
    /// Returns the number of threads of a block, for an input of `bytes` bytes.
    pub const fn threads_for(&self, bytes: usize) -> usize {
        self.threads[self.size(bytes)]
    }

    /// Returns the maximum number of blocks per multiprocessor, for an input of `bytes` bytes.
    pub const fn blocks_for(&self, bytes: usize) -> u32 {
        self.blocks[self.size(bytes)]
    }

    /// Returns the minimum number of bytes of a block, for an input of `bytes` bytes: what its threads have in flight.
    pub const fn least_bytes(&self, bytes: usize) -> usize {
        let least = if self.unroll < self.positions {
            self.unroll
        } else {
            self.positions
        };
        self.threads_for(bytes) * least * 16
    }

    /// Returns the maximum number of threads of a block.
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

/// The threads of a block of the last pass.
pub const FINISH_BLOCK: usize = 512;
/// The partial results of one block of the last pass. If there are more, another pass precedes it.
pub const FINISH_SPAN: usize = FINISH_BLOCK * 64;

/// How a first pass divides the input among blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Each block takes this many neighboring elements and gives one partial result.
    PerBlock(usize),
    /// A grid-stride loop, with one partial result per block.
    Strided {
        /// The blocks per multiprocessor.
        blocks_per_multiprocessor: u32,
        /// The minimum number of elements of one block, so that short inputs get few blocks.
        least_per_block: usize,
    },
    /// As the [`Policy`] says. `best` combines the partial results in the same launch.
    Best,
    /// Repeated passes over fewer and fewer elements.
    Folding {
        /// The factor by which a pass reduces the number of elements.
        by: usize,
    },
}

/// The division of the rungs with a grid-stride loop.
pub const STRIDED: Cut = Cut::Strided {
    blocks_per_multiprocessor: RUNG_BLOCKS_PER_MULTIPROCESSOR,
    least_per_block: RUNG_BLOCK * 2,
};

/// The elements that a block of `folding_shared` folds to one.
pub const FOLD_SPAN: usize = RUNG_BLOCK * 2;
