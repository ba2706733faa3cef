//! Tuning of the histograms, as data.

/// Threads of a block of `global_atomic`, `privatized` and `privatized_coarsened`.
pub const RUNG_BLOCK: usize = 256;
/// Values that a block of `privatized` counts.
pub const CHUNK: usize = RUNG_BLOCK * 16;
/// Blocks per multiprocessor of the variants that stride over the grid.
pub const RUNG_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;
/// Bins of one slice of `privatized` and `privatized_coarsened`: 4-byte counters that fit the 48 KiB of
/// shared memory that every device gives without asking.
pub const RUNG_SLICE: usize = 48 * 1024 / 4;

/// Threads of a block of `best`.
pub const BEST_BLOCK: usize = 512;
/// Blocks of `best` per multiprocessor, at most.
pub const BEST_BLOCKS_PER_MULTIPROCESSOR: u32 = 4;
/// Values that a thread of a striding variant counts at least, so that short inputs get few blocks.
pub const LEAST_PER_THREAD: usize = 16;
/// 16-byte loads that a thread of `best` has in flight.
pub const BEST_UNROLL: usize = 2;
/// Shared memory of a block of `best` in bytes, at most, where the bins have room in it: several blocks are
/// resident. With more bins a block takes all that the device gives to one.
pub const BEST_SHARED_BYTES: usize = 48 * 1024;
/// Sub-histograms of a block of `best`, at most: one per lane of a warp.
pub const BEST_MOST_COPIES: usize = 32;

/// Bins of one slice of `best`, for so many bins on a device that gives a block `most_bytes` of shared memory: all of
/// them where they have room in [`BEST_SHARED_BYTES`], else as many as make as few slices of one size as there
/// can be, because each slice reads every value.
pub const fn best_slice(bins: usize, most_bytes: usize) -> usize {
    // A counter for every bin and one more.
    let few = BEST_SHARED_BYTES / 4 - 1;
    if bins <= few || most_bytes <= BEST_SHARED_BYTES {
        return if bins < few { bins } else { few };
    }
    bins.div_ceil(bins.div_ceil(most_bytes / 4 - 1))
}
/// Slices of bins of `privatized` and `privatized_coarsened`, at most.
pub const MOST_SLICES: usize = 16;
/// Slices of bins of `best`, at most: with more bins, every value goes to its counter by a global atomic.
pub const BEST_MOST_SLICES: usize = 6;

/// A block counts in 32 bits, so it must not count more values than this.
pub const MOST_VALUES_PER_BLOCK: usize = u32::MAX as usize;

/// Sub-histograms of a block of `best` for so many bins: as many as there is room for, a power of two.
pub const fn copies(bins: usize) -> usize {
    let mut copies = BEST_MOST_COPIES;
    while copies > 1 && best_shared_bytes(bins, copies) > BEST_SHARED_BYTES {
        copies /= 2;
    }
    copies
}

/// Shared memory of a block of `best` for a slice of so many bins: a counter per bin and copy, and one bin
/// more for the values that are of none of them.
pub const fn best_shared_bytes(bins: usize, copies: usize) -> usize {
    (bins + 1) * copies * 4
}
