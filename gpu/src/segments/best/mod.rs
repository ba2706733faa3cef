//! `best`: equal work for every thread, however long the segments are.
//!
//! ```text
//! the list of steps: the elements in order, and behind a segment's last element its end    (n elements + m ends)
//! launch 1 (cut): for every tile of the list: how many ends lie before it, by a search in the offsets
//! launch 2 (best): block = tile
//!     copy the tile's elements to shared memory, 16 bytes per load, and its ends
//!     thread: find its part of the tile by a search in the ends, then step by step:
//!         an element: combine it          an end: write the result, begin again
//!     what a thread combines before its first end goes on from the threads before: a scan over the block
//!     write down for the tile: what was combined up to its first end, and behind its last end
//! launch 3 (join): for every tile with an end: combine what the tiles before left open with what the tile has
//!     up to its first end, and write the result
//! ```
//!
//! An input of a few tiles is one launch: the blocks search for themselves, and the last one joins.
//!
//! Source: the list and its cut are those of merge-based sparse matrix times vector (Merrill and Garland, 2016); the join is
//! ours.

mod check;
mod cut;
mod heads;
mod join;
mod tile;

pub use check::{SegmentsCheck, segments_check};
pub use cut::{SegmentsCut, segments_cut};
pub(crate) use heads::with_keys;
pub use heads::{SegmentsHeads, SegmentsLengths, segments_heads, segments_lengths};
pub use join::{SegmentsJoin, segments_join};
pub use tile::{SegmentsBest, segments_best};

/// What stands for no segment: the tile has no end.
pub(super) const NONE: u64 = u64::MAX;
