//! The tuning of the selections.

use cuda_std::select::{BLOCK, ROUNDS, SLOTS, resident};

use crate::tuning::{self, Choice};

/// The threads of a block of the rungs.
pub const RUNG_BLOCK: usize = 256;
/// The elements that a thread of `naive` counts and writes.
pub const NAIVE_RUN: usize = 1024;
/// The elements that a block of `reduce_then_scan` counts and writes.
pub const RUNG_TILE: usize = 4096;
/// The threads of the block that adds up the rungs' counts.
pub const SCAN_BLOCK: usize = 1024;

/// The numbers of the kernel with persistent blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// The threads of a block.
    pub threads: usize,
    /// The 16-byte chunks of a thread in a tile.
    pub rounds: usize,
    /// The tiles of a block that are in shared memory or on their way there: 3 or 4.
    pub slots: usize,
    /// The resident blocks per multiprocessor.
    pub resident: u32,
    /// The number of bytes of the input from which on the blocks are persistent.
    pub from_bytes: usize,
}

impl Ring {
    /// Returns the numbers of the kernels of users' predicates, for elements of type `T`.
    pub const fn of_users<T>() -> Self {
        ring(BLOCK, ROUNDS, SLOTS, resident::<T>())
    }

    /// Returns the dynamic shared memory of a block, in bytes.
    pub const fn bytes(&self) -> usize {
        cuda_std::select::ring_bytes(self.threads, self.rounds, self.slots)
    }
}

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block.
    pub block: usize,
    /// The 16-byte loads of a thread, all in flight: a tile has `block * rounds * 16` bytes.
    pub rounds: usize,
    /// The number of blocks that must be resident at once, which limits the registers.
    pub resident: u32,
    /// The numbers for large inputs.
    pub ring: Ring,
}

const fn ring(threads: usize, rounds: usize, slots: usize, resident: u32) -> Ring {
    Ring {
        threads,
        rounds,
        slots,
        resident,
        from_bytes: 32 << 20,
    }
}

const fn policy(block: usize, rounds: usize, resident: u32, ring: Ring) -> Policy {
    Policy {
        block,
        rounds,
        resident,
        ring,
    }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        policy(512, 4, 2, ring(256, 4, 4, 3)),
        policy(256, 4, 4, ring(256, 4, 3, 4)),
        policy(256, 8, 3, ring(256, 8, 3, 2)),
        policy(384, 4, 3, ring(512, 4, 3, 2)),
        policy(128, 8, 6, ring(512, 4, 4, 1)),
        policy(640, 4, 2, ring(128, 8, 4, 3)),
        policy(256, 4, 3, ring(256, 4, 4, 2)),
        policy(256, 4, 5, ring(512, 2, 4, 3)),
        policy(256, 2, 6, ring(256, 3, 4, 4)),
        policy(512, 2, 3, ring(256, 2, 4, 5)),
        policy(256, 3, 5, ring(512, 2, 4, 2)),
        policy(512, 4, 2, ring(256, 4, 4, 2)),
    ];
    // With fewer registers, bytes and halves spill.
    const CHOICES: &'static [Choice] =
        &[Choice::up_to(1, 6), Choice::up_to(2, 11), Choice::always(0)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] = &[
        super::best::SELECT_BEST_ROWS,
        super::persistent::SELECT_BEST_PERSISTENT_ROWS,
    ];
}
