//! The shape of tiles of elements of 1 or 2 bytes whose rows begin anywhere: what the policy counts on, and what
//! `best/shifted.rs` goes by.

/// Bytes of a sector of the second-level cache. Where rows do not begin at sectors, the pieces of the output's rows that
/// blocks write do so all the same: to write a part of a sector takes about as long as to write three.
pub const SECTOR: usize = 32;

/// Words of a row of a tile: one per lane of a warp.
pub const WORDS: usize = 32;
/// Words of a row of the output that are stored at once, and how often.
pub const PARTS: usize = 2;
/// Words of a row of the output in shared memory: as many more as the piece that is stored may begin later.
pub const LONG_WORDS: usize = PARTS * WORDS + SECTOR / 4;
/// Words from one row of a plane to the next, so that columns do not meet in a bank.
pub const PITCH: usize = LONG_WORDS + 1;
/// Words from one plane to the next. Plane `j` has the rows of the output whose number in the tile is `j` modulo `K`.
pub const PLANE: usize = WORDS * PITCH;

/// Shared memory of a tile in bytes, for elements of `bytes` bytes.
pub const fn shared_bytes(bytes: usize) -> usize {
    4 / bytes * PLANE * 4
}

/// Whether a block of so many threads takes a tile of so many bytes along x and y, for elements of `bytes` bytes: a warp
/// takes a row of a tile, a row of the output takes it as often as it has parts, and the block's warps go through
/// either in full rounds.
pub const fn takes(threads: usize, tile_bytes: [usize; 2], bytes: usize) -> bool {
    let warps = threads / WORDS;
    tile_bytes[0] == WORDS * 4
        && tile_bytes[1] == PARTS * WORDS * 4
        && LONG_WORDS.is_multiple_of(3 * warps)
        && warps.is_multiple_of(4 / bytes)
}
