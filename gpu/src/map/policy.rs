//! Tuning of the maps, as data.

/// How a variant cuts the elements into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// A thread per element.
    PerThread,
    /// As many blocks as are resident at once stride over the elements.
    Strided,
    /// A wide access of each array per thread: on an H100 blocks that stride over the input were a twentieth slower.
    Tiled,
}

/// Threads of a block: of every variant, and of a user's own map.
pub const BLOCK: usize = cuda_std::map::BLOCK;
/// Blocks of `best` that have to be resident at once: all that a multiprocessor has threads for. With five, and two accesses
/// in flight per thread, warps that wait for memory left the arithmetic of the sine idle.
pub const BEST_RESIDENT: u32 = 8;
/// Blocks per multiprocessor, at most: enough for all its threads.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// The cuts in the catalogue's order.
pub const CUTS: [Cut; super::FAMILY.variants.len()] = [Cut::PerThread, Cut::Strided, Cut::Tiled];
