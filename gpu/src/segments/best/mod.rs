//! `best`: equal work for every thread, however long the segments are.
//!
//! ```text
//! cuts: where segments begin, and where the last one ends; offsets, or for runs of keys a bit per element
//! launch 1 (starts): for every tile: how many cuts lie before it, by a search in the offsets
//! launch 2 (best): block = tile
//!     copy the tile's elements to shared memory, 16 bytes per load; for offsets, mark its cuts there
//!     thread: combine its elements behind their last cut, and count their cuts
//!     what is open before the thread's first element, and its number of cuts: a scan over the block
//!     thread: combine its elements again, from what is open; at a cut write the result, begin again
//!     write down for the tile: what was combined up to its first cut, and behind its last cut
//! launch 3 (join): for every tile with a cut: combine what the tiles before left open with what the tile has
//!     up to its first cut, and write the result
//! ```
//!
//! An input of a few tiles is one launch: the blocks search for themselves, and the last one joins. If some segments have no
//! elements, the others alone are reduced, and a launch spreads their results.
//!
//! For runs of keys, a launch of the family `scan` finds the bits and counts those of each group of keys, and another one
//! scans the counts.
//!
//! Source: the scan over (partial result, flag) is that of Blelloch, "Prefix Sums and Their Applications", 1990; the rest is
//! ours.

mod check;
mod join;
mod means;
mod runs;
mod spread;
mod starts;
mod tile;

pub use check::{SegmentsCheck, segments_check};
pub use join::{SegmentsJoin, segments_join};
pub use means::{SegmentsMeans, segments_means};
pub(crate) use runs::with_keys;
pub use runs::{SegmentsLengths, SegmentsRuns, segments_lengths, segments_runs};
pub use spread::{SegmentsSpread, segments_spread};
pub use starts::{SegmentsStarts, segments_starts};
pub use tile::{SegmentsBest, segments_best};
