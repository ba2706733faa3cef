//! Tuning of the random numbers, as data.

/// Threads of a block.
pub const BLOCK: usize = 256;
/// Quads of words that a thread of a striding kernel makes at least, so that short outputs get few blocks.
pub const LEAST_PER_THREAD: usize = 4;
/// Blocks per multiprocessor that stride over the quads of Philox, at most: four times as many as run at once, which evens
/// out what some of them lose.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 32;

/// The sequences of XORWOW that make one stream. A part of what the stream is, so it is the same for every
/// device: 16 warps for each multiprocessor of the largest, which hide that a word waits for the word
/// before it.
pub const SEQUENCES: usize = 1 << 16;
/// Words of a state of XORWOW.
pub const STATE_WORDS: usize = 6;

/// The logarithm to base 2 of the entries of a Poisson table, 4 bytes each, that blocks copy into shared memory; larger ones,
/// for means from some 10^5 on, are read through the caches. With 16 KiB a multiprocessor of compute capability 7.5 has room
/// for the 4 blocks that its threads fill, later ones for 6 to 8.
pub const SHARED_TABLE_BITS: u32 = 12;
