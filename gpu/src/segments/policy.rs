//! The sizes of `segments`.

pub use crate::scan::policy::KEY_GROUP;

/// The threads of a block, of all kernels.
pub const BLOCK: usize = 256;

/// Returns the blocks of `segments_best` per multiprocessor that the registers must leave room for, for elements of `bytes`
/// bytes: with a fifth block, elements of 8 bytes spill.
pub const fn resident(bytes: usize) -> u32 {
    if bytes > 4 { 4 } else { 5 }
}

/// The most 16-byte chunks of a thread of `segments_best`.
pub const MOST_CHUNKS: usize = 8;

/// Returns the 16-byte chunks of a thread of `segments_best`, for elements of `bytes` bytes: more chunks share the work that a
/// thread does once.
pub const fn chunks(bytes: usize) -> usize {
    if bytes < 4 { 4 } else { MOST_CHUNKS }
}

/// Returns the elements of `bytes` bytes that a thread of `segments_best` takes.
pub const fn items(bytes: usize) -> usize {
    chunks(bytes) * 16 / bytes
}

/// Returns the elements of a tile.
pub const fn tile_len(bytes: usize) -> usize {
    BLOCK * items(bytes)
}

/// The most elements of a tile, of any type.
pub const MOST_TILE_LEN: usize = tile_len(1);

/// The most cuts at one element that `segments_best` takes: it counts them in a byte.
pub const MOST_EQUAL: usize = u8::MAX as usize;

/// Offsets are crowded where so many are less than [`MOST_TILE_LEN`] elements apart, or more than [`MOST_EQUAL`] are equal: a
/// block would take longer than others. Then `segments_best` gets those alone that do not equal the one before.
pub const MOST_CUTS: usize = 1 << 16;

/// Returns the dynamic shared memory of a block of `segments_best`, in bytes: the elements of a tile, and a byte for each.
pub const fn shared_bytes(bytes: usize) -> usize {
    tile_len(bytes) * (bytes + 1)
}

/// Up to this many tiles are one launch: the last block joins them.
pub const MOST_IN_ONE_LAUNCH: usize = 2 * BLOCK;

/// The tiles of which a thread of `segments_join` takes one after the other where it looks back.
pub const BACK: usize = 8;
