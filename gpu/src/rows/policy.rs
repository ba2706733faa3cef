//! Tuning of the reductions of rows, as data.

/// Threads of a block of `chunk_atomic`, and of its last pass.
pub const RUNG_BLOCK: usize = 256;
/// Neighbouring elements that a thread of `chunk_atomic` adds.
pub const CHUNK: usize = 128;
/// Threads of a block of `block_per_row`.
pub const ROW_BLOCK: usize = 512;

/// Threads of a block of `best`.
pub const BEST_BLOCK: usize = 256;
/// Blocks of `best` per multiprocessor: what 256 threads with at most 32 registers fill.
pub const BEST_BLOCKS_PER_MULTIPROCESSOR: u32 = 8;
/// 16-byte loads that a thread of `best` has in flight.
pub const BEST_UNROLL: usize = 4;
/// Bytes of a row that a block of `best` takes at least where several share one: two rounds of loads.
pub const BEST_LEAST_BYTES: usize = BEST_BLOCK * BEST_UNROLL * 16 * 2;
/// Bytes from which a row has a block of its own, also where there are rows for every thread: on an H100 warps that go
/// from row to row were slower.
pub const BEST_ROW_BYTES: usize = BEST_LEAST_BYTES;
/// The part of the device's threads that rows of so many threads have to fill; else blocks share rows.
/// A quarter has twice as many loads in flight as the latency of an H100's memory takes to be hidden.
pub const BEST_LEAST_FILLING: usize = 4;

/// Threads that share a row of `bytes` bytes, as a power of two: as many as have four wide loads each, up
/// to a warp.
pub fn lanes_log2(bytes: usize) -> u32 {
    let wides = bytes.div_ceil(16);
    wides
        .div_ceil(BEST_UNROLL)
        .clamp(1, 32)
        .next_power_of_two()
        .ilog2()
}

/// Elements of a row that a block takes where several blocks share one, for rows of so many elements of
/// `size` bytes: as many blocks as are resident at once (`filling`), and no more than there is work for.
/// A multiple of 16 bytes.
pub fn elements_per_block(height: usize, width: usize, size: usize, filling: usize) -> usize {
    let most = (width.saturating_mul(size) / BEST_LEAST_BYTES).max(1);
    let blocks = (filling / height).clamp(1, most);
    width.div_ceil(blocks).next_multiple_of(16 / size)
}
