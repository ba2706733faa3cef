//! The shape of tiles of elements of 1 or 2 bytes whose rows begin anywhere. The policy and `best/shifted.rs` both use it.

/// The bytes of a sector of the second-level cache. If rows do not begin at sectors, blocks still write pieces of output rows
/// that do: writing a partial sector takes about as long as writing three whole ones.
pub const SECTOR: usize = 32;

/// The words of a tile's row: one per lane of a warp.
pub const WORDS: usize = 32;
/// The words of an output row are stored in this many parts.
pub const PARTS: usize = 2;
/// The words of an output row in shared memory, including those by which the stored piece may begin later.
pub const LONG_WORDS: usize = PARTS * WORDS + SECTOR / 4;
/// The distance between rows of a plane in words. The padding prevents bank conflicts along columns.
pub const PITCH: usize = LONG_WORDS + 1;
/// The distance between planes in words. Plane `j` has the rows of the output whose number in the tile is `j` modulo `K`.
pub const PLANE: usize = WORDS * PITCH;

/// Returns the shared memory of a tile in bytes, for elements of `bytes` bytes.
pub const fn shared_bytes(bytes: usize) -> usize {
    4 / bytes * PLANE * 4
}

/// Returns whether a block of `threads` threads can take a tile of `tile_bytes` bytes along x and y, for elements of `bytes`
/// bytes. A warp takes a row of a tile, and a row of the output once per part. The block's warps must process both in full
/// rounds.
pub const fn takes(threads: usize, tile_bytes: [usize; 2], bytes: usize) -> bool {
    let warps = threads / WORDS;
    tile_bytes[0] == WORDS * 4
        && tile_bytes[1] == PARTS * WORDS * 4
        && LONG_WORDS.is_multiple_of(3 * warps)
        && warps.is_multiple_of(4 / bytes)
}
