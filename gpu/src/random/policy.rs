//! The tuning of the random numbers.

use crate::tuning::{self, Choice};

/// The threads of a block of `per_thread`, and of the kernel that makes the states.
pub const BLOCK: usize = 256;
/// The minimum number of quads per thread of a grid-stride loop, so that short outputs get few blocks.
pub const LEAST_PER_THREAD: usize = 4;
/// The policy of `per_thread`.
pub const RUNG: Policy = policy(BLOCK, 0);

/// The policy of `best` or of `per_thread`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block. The number divides [`SEQUENCES`].
    pub block: usize,
    /// The number of blocks that must be resident at once; 0 leaves it to the compiler.
    pub resident: u32,
    /// The maximum number of blocks per multiprocessor that stride over the quads of Philox: four times the resident blocks,
    /// which evens out delays of some of them.
    pub blocks_per_multiprocessor: u32,
}

const fn policy(block: usize, resident: u32) -> Policy {
    Policy {
        block,
        resident,
        blocks_per_multiprocessor: 4 * (2048 / block) as u32,
    }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(256, 0),
        policy(128, 0),
        policy(512, 0),
        policy(256, 4),
        policy(256, 8),
        Policy {
            blocks_per_multiprocessor: 8,
            ..policy(256, 0)
        },
        Policy {
            blocks_per_multiprocessor: 64,
            ..policy(256, 0)
        },
        Policy {
            blocks_per_multiprocessor: 32,
            ..policy(512, 0)
        },
        Policy {
            blocks_per_multiprocessor: 8,
            ..policy(512, 0)
        },
        policy(1024, 0),
    ];
    const CHOICES: &'static [Choice] = &[Choice::always(2)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] = &[
        super::best::RANDOM_BEST_PHILOX_ROWS,
        super::best::RANDOM_BEST_XORWOW_ROWS,
    ];
}

/// The number of sequences of XORWOW that make one stream. It is part of the stream's definition, so it is the same for every
/// device: 16 warps for each multiprocessor of the largest device hide that each word depends on the word before it.
pub const SEQUENCES: usize = 1 << 16;
/// The words of a state of XORWOW.
pub const STATE_WORDS: usize = 6;

/// The base-2 logarithm of the number of entries of a Poisson table, 4 bytes each, that blocks copy into shared memory. Larger
/// tables, for means from about 10^5 on, are read through the caches. With 16 KiB a multiprocessor of compute capability 7.5
/// has room for the 4 blocks that its threads fill, and later ones for 6 to 8.
pub const SHARED_TABLE_BITS: u32 = 12;
