//! The sizes of `top_k`.

/// The most elements that the kernels of the family select; of more, all are sorted.
pub const MOST_K: usize = 4096;

/// The threads of a block.
pub const BLOCK: usize = 512;
/// The bits of a digit by which a block narrows its elements down.
pub const DIGIT_BITS: u32 = 11;
/// The values of a digit.
pub const BINS: usize = 1 << DIGIT_BITS;
/// The elements that a thread reads at once when a block counts digits.
pub const UNROLL: usize = 8;
/// The words of a block's shared memory for sums of 64 bits, one per warp.
pub const SUMS: usize = BLOCK / 32;
/// The words of a block's shared memory for sums of 32 bits, and for what one thread tells the others.
pub const WORDS: usize = SUMS + 16;

/// Returns the entries that a block has room for to find `k`, where a block can have `most_bytes` of shared memory: more than
/// `k` if they fit, so that it need not find the `k`-th exactly before it sorts.
pub const fn most_entries(k: usize, rank_bytes: usize, most_bytes: usize) -> usize {
    let mut most = if k <= 512 { 2048 } else { 2 * MOST_K };
    while shared_bytes(most, rank_bytes) > most_bytes && most > MOST_K {
        most /= 2;
    }
    most
}

/// The fewest entries that a threshold of a part of the elements should leave.
pub const ENOUGH: usize = 128;
/// The same per selected element.
pub const ENOUGH_PER_K: usize = 4;
/// The fewest elements of such a part.
pub const LEAST_PART: usize = 2048;
/// The fewest elements of which a part is counted first.
pub const LEAST_WITH_PART: usize = 1 << 14;
/// The loads of 16 bytes of a thread in flight when a block looks for elements above a threshold.
pub const ABOVE_UNROLL: usize = 4;

/// Returns the dynamic shared memory of a block that sorts up to `most` entries of ranks of `rank_bytes` bytes.
pub const fn shared_bytes(most: usize, rank_bytes: usize) -> usize {
    SUMS * 8 + (BINS + WORDS) * 4 + (most * rank_bytes).next_multiple_of(4) + most * 4
}

/// The bits of a digit of `top_k_kth`.
pub const KTH_DIGIT_BITS: u32 = 8;
/// The values of such a digit.
pub const KTH_DIGITS: usize = 1 << KTH_DIGIT_BITS;
/// The threads of a block of `top_k_kth`, one per digit.
pub const KTH_BLOCK: usize = KTH_DIGITS;
/// The blocks of `top_k_kth` per multiprocessor. 33 KiB of shared memory each fit on every card since sm_80; earlier ones take
/// one.
pub const KTH_RESIDENT: u32 = 4;
/// The fewest elements of a block of `top_k_kth`: a block's own work is that of its 8192 counters.
pub const KTH_LEAST_PER_BLOCK: usize = 1 << 14;

/// Inputs of up to this many elements are one block's work.
pub const SMALL: usize = 1 << 15;
/// The fewest elements of a chunk of `two_level`.
pub const LEAST_CHUNK: usize = 1 << 13;
/// The fewest elements of such a chunk per selected element.
pub const LEAST_CHUNK_PER_K: usize = 4;
/// The most entries that `best` merges of chunks. Above that, a sample is quicker.
pub const MOST_CHUNK_ENTRIES: usize = 1 << 16;
/// The most elements that `best` selects of by chunks.
pub const MOST_CHUNKED: usize = 1 << 24;

/// The most samples of an array, a power of two.
pub const MOST_SAMPLES: usize = 1 << 16;
/// The fewest elements that are sampled.
pub const LEAST_SAMPLED: usize = 1 << 14;

/// Returns the number of samples of `len` elements: one of 64 or fewer, a power of two.
#[inline(always)]
pub const fn samples(len: usize) -> usize {
    if len / 64 < MOST_SAMPLES {
        1 << (len / 64).ilog2()
    } else {
        MOST_SAMPLES
    }
}

/// The blocks of a filter per multiprocessor.
pub const FILTER_RESIDENT: u32 = 2;
/// The fewest elements of a filter's block.
pub const FILTER_LEAST_PER_BLOCK: usize = BLOCK * 16;
/// The entries that a filter's block gathers before it takes room for them.
pub const STAGE: usize = 1024;

/// Returns the position of sample `i` of an array of `len` elements: in each of [`samples`] equal parts one that a hash picks.
/// Data with a period would otherwise give samples of one kind. Needs at least [`LEAST_SAMPLED`] elements and fewer than 2^32.
#[inline(always)]
pub const fn sample_position(i: usize, len: usize) -> u32 {
    let part = (len / samples(len)) as u32;
    // The multiplier is 2^32 divided by the golden ratio.
    let hash = (i as u32).wrapping_mul(0x9e37_79b9);
    i as u32 * part + ((hash as u64 * part as u64) >> 32) as u32
}

/// How a sample finds the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// The sample whose rank, counted from the best, is the threshold.
    pub target: usize,
    /// The room for candidates.
    pub capacity: usize,
}

/// Returns how a sample finds `k` of `len` elements. Of uniformly spread elements, fewer than `k` or more candidates than there
/// is room for come up less than once in a million times.
pub const fn sampling(len: usize, k: usize) -> Sampling {
    // The samples among the k best are Poisson distributed.
    let samples = samples(len);
    let expected = (k * samples).div_ceil(len);
    let target = expected + (expected.isqrt() + 1) * 5;
    let per_sample = len.div_ceil(samples);
    Sampling {
        target,
        capacity: (target + 7 * (target.isqrt() + 1)) * per_sample,
    }
}
