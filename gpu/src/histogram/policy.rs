//! Tuning of the histograms, as data.

use crate::tuning::{self, Choice};

/// Threads of a block of `global_atomic`, `privatized` and `privatized_coarsened`.
pub const RUNG_BLOCK: usize = 256;
/// Values that a block of `privatized` counts.
pub const CHUNK: usize = RUNG_BLOCK * 16;
/// Blocks per multiprocessor of the variants that stride over the grid.
pub const RUNG_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;
/// Bins of one slice of `privatized` and `privatized_coarsened`: 4-byte counters that fit the 48 KiB of
/// shared memory that every device gives without asking.
pub const RUNG_SLICE: usize = 48 * 1024 / 4;

/// Values that a thread of a striding variant but `best` counts at least, so that short inputs get few blocks.
pub const LEAST_PER_THREAD: usize = 16;
/// Slices of bins of `privatized` and `privatized_coarsened`, at most.
pub const MOST_SLICES: usize = 16;
/// Slices of bins of `best`, at most: with more bins, every value goes to its counter by a global atomic.
pub const BEST_MOST_SLICES: usize = 6;

/// A block counts in 32 bits, so it must not count more values than this.
pub const MOST_VALUES_PER_BLOCK: usize = u32::MAX as usize;

/// The numbers of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Threads of a block of which several are resident.
    pub block: usize,
    /// Threads of a block that has a multiprocessor to itself, as its bins take all the shared memory there is.
    pub lone_block: usize,
    /// Blocks per multiprocessor, at most.
    pub resident: u32,
    /// 16-byte loads that a thread has in flight: 1, 2 or 4.
    pub unroll: usize,
    /// Shared memory of a block in bytes, at most, where the bins have room in it: several blocks are resident. With
    /// more bins a block takes all that the device gives to one. No more than every device gives without asking.
    pub shared_bytes: usize,
    /// Sub-histograms of a block, at most: a power of two, 32 being one per lane of a warp.
    pub copies: usize,
    /// Values that a thread counts at least, so that short inputs get few blocks.
    pub least_per_thread: usize,
}

impl Policy {
    /// Threads of a block for slices of so many bins.
    pub const fn block_for(&self, slice: usize) -> usize {
        if best_shared_bytes(slice, 1) > self.shared_bytes {
            self.lone_block
        } else {
            self.block
        }
    }

    /// Threads of a block, at most.
    pub const fn most_threads(&self) -> usize {
        if self.lone_block > self.block {
            self.lone_block
        } else {
            self.block
        }
    }

    /// Bins of one slice, for so many bins on a device that gives a block `most_bytes` of shared memory: all of them
    /// where they have room in [`shared_bytes`](Self::shared_bytes), else as many as make as few slices of one size as
    /// there can be, because each slice reads every value.
    pub const fn slice(&self, bins: usize, most_bytes: usize) -> usize {
        // A counter for every bin and one more.
        let few = self.shared_bytes / 4 - 1;
        if bins <= few || most_bytes <= self.shared_bytes {
            return if bins < few { bins } else { few };
        }
        bins.div_ceil(bins.div_ceil(most_bytes / 4 - 1))
    }

    /// Sub-histograms of a block for so many bins: as many as there is room for, a power of two.
    pub const fn copies_for(&self, bins: usize) -> usize {
        let mut copies = self.copies;
        while copies > 1 && best_shared_bytes(bins, copies) > self.shared_bytes {
            copies /= 2;
        }
        copies
    }
}

const BASE: Policy = Policy {
    block: 512,
    lone_block: 1024,
    resident: 4,
    unroll: 2,
    shared_bytes: 48 * 1024,
    copies: 32,
    least_per_thread: 16,
};

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        BASE,
        Policy { unroll: 1, ..BASE },
        Policy { unroll: 4, ..BASE },
        Policy {
            block: 256,
            resident: 8,
            ..BASE
        },
        Policy {
            block: 1024,
            resident: 2,
            ..BASE
        },
        Policy { copies: 16, ..BASE },
        Policy { copies: 8, ..BASE },
        Policy {
            resident: 2,
            ..BASE
        },
        Policy {
            lone_block: 512,
            ..BASE
        },
    ];
    const CHOICES: &'static [Choice] =
        &[Choice::up_to(1, 4), Choice::up_to(4, 2), Choice::always(8)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] =
        &[super::best::HISTOGRAM_BEST_ROWS];
}

/// Shared memory of a block of `best` for a slice of so many bins: a counter per bin and copy, and one bin
/// more for the values that are of none of them.
pub const fn best_shared_bytes(bins: usize, copies: usize) -> usize {
    (bins + 1) * copies * 4
}
