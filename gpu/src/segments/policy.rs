//! The sizes of `segments`.

/// The threads of a block, of all kernels.
pub const BLOCK: usize = 256;

/// The blocks of `segments_best` per multiprocessor that the registers must leave room for.
pub const RESIDENT: u32 = 4;

/// Returns the steps that a thread takes of the list of elements of `bytes` bytes and ends. It is odd, so that the threads of a
/// warp begin in different banks of shared memory. More steps share the work that a thread does once; these fill the 48 KiB
/// that a block may have on every card.
pub const fn items(bytes: usize) -> usize {
    if bytes > 4 { 23 } else { 45 }
}

/// Returns the steps of a tile.
pub const fn tile_steps(bytes: usize) -> usize {
    BLOCK * items(bytes)
}

/// Returns the words of shared memory that a tile takes: the ends of its segments and a word more, up to three unused ones,
/// then its elements between up to 15 bytes on either side. A step is an end or an element.
pub const fn tile_words(bytes: usize) -> usize {
    let each = if bytes > 4 { bytes / 4 } else { 1 };
    (tile_steps(bytes) * each).next_multiple_of(4) + 12
}

/// Returns the dynamic shared memory of a block of `segments_best`, in bytes.
pub const fn shared_bytes(bytes: usize) -> usize {
    tile_words(bytes) * 4
}

/// Up to this many tiles are one launch: the last block joins them.
pub const MOST_IN_ONE_LAUNCH: usize = BLOCK;

/// The tiles of which a thread of `segments_join` takes one after the other where it looks back.
pub const BACK: usize = 8;

/// The 16-byte loads of a thread for `segments_heads`.
pub const ROUNDS: usize = 4;
