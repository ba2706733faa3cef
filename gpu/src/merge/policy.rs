//! The numbers of the kernels. Those of a merge's tile are in [`cuda_std::merge`].

/// The threads of a block of the rungs.
pub const RUNG_BLOCK: usize = 256;
/// The keys that a thread of `path` merges.
pub const PATH_ITEMS: usize = 8;
/// The blocks of `best` that a multiprocessor has registers for: none spill.
pub const RESIDENT: u32 = 4;

/// The threads of a block of `best` that searches.
pub const BOUNDS_BLOCK: usize = 256;
/// The keys that a thread searches for at the same time.
pub const NEEDLES: usize = 4;
/// The keys of the sorted array that such a block has in shared memory: ten steps of each search.
pub const SPLITTERS: usize = 1024;
