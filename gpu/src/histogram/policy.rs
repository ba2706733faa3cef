//! The tuning of the histograms.

use crate::tuning::{self, Choice};

/// The threads of a block of `global_atomic`, `privatized` and `privatized_coarsened`.
pub const RUNG_BLOCK: usize = 256;
/// The values that a block of `privatized` counts.
pub const CHUNK: usize = RUNG_BLOCK * 16;
/// The blocks per multiprocessor of the variants with a grid-stride loop.
pub const RUNG_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;
/// The bins of one slice of `privatized` and `privatized_coarsened`: 4-byte counters that fit in the 48 KiB of shared memory
/// that every device provides by default.
pub const RUNG_SLICE: usize = 48 * 1024 / 4;

/// The minimum number of values per thread of a variant with a grid-stride loop, except `best`, so that short inputs get few
/// blocks.
pub const LEAST_PER_THREAD: usize = 16;
/// The maximum number of slices of bins of `privatized` and `privatized_coarsened`.
pub const MOST_SLICES: usize = 16;
/// The maximum number of slices of bins of `best`. With more bins, every value is counted by a global atomic.
pub const BEST_MOST_SLICES: usize = 6;

/// The maximum number of values that a block counts: its counters have 32 bits.
pub const MOST_VALUES_PER_BLOCK: usize = u32::MAX as usize;

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block if several blocks are resident.
    pub block: usize,
    /// The threads of a block that has a multiprocessor to itself, because its bins take all the shared memory.
    pub lone_block: usize,
    /// The maximum number of blocks per multiprocessor.
    pub resident: u32,
    /// The number of 16-byte loads that a thread has in flight: 1, 2 or 4.
    pub unroll: usize,
    /// The maximum shared memory of a block in bytes, if the bins fit in it, so that several blocks are resident. With more
    /// bins a block uses all the shared memory that the device allows for one. The value is at most what every device provides
    /// by default.
    pub shared_bytes: usize,
    /// The maximum number of sub-histograms of a block: a power of two. 32 is one per lane of a warp.
    pub copies: usize,
    /// The minimum number of values per thread, so that short inputs get few blocks.
    pub least_per_thread: usize,
}

impl Policy {
    /// Returns the number of threads of a block, for slices of `slice` bins.
    pub const fn block_for(&self, slice: usize) -> usize {
        if best_shared_bytes(slice, 1) > self.shared_bytes {
            self.lone_block
        } else {
            self.block
        }
    }

    /// Returns the maximum number of threads of a block.
    pub const fn most_threads(&self) -> usize {
        if self.lone_block > self.block {
            self.lone_block
        } else {
            self.block
        }
    }

    /// Returns the number of bins of one slice, for `bins` bins on a device that allows a block `most_bytes` of shared memory.
    /// It is all bins if they fit in [`shared_bytes`](Self::shared_bytes). Otherwise it makes the fewest slices of equal size,
    /// because each slice reads every value.
    pub const fn slice(&self, bins: usize, most_bytes: usize) -> usize {
        // A counter for every bin, and one more.
        let few = self.shared_bytes / 4 - 1;
        if bins <= few || most_bytes <= self.shared_bytes {
            return if bins < few { bins } else { few };
        }
        bins.div_ceil(bins.div_ceil(most_bytes / 4 - 1))
    }

    /// Returns the number of sub-histograms of a block for `bins` bins: the largest power of two that fits.
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

/// Returns the shared memory of a block of `best` in bytes, for a slice of `bins` bins: a counter per bin and copy, and one
/// more bin for the values outside of the slice.
pub const fn best_shared_bytes(bins: usize, copies: usize) -> usize {
    (bins + 1) * copies * 4
}
