//! `best`: one sweep per digit of 8 bits, lowest digit first.
//!
//! ```text
//! launch 1 (digits): count every digit of every key; the last block adds up where each digit begins
//! launch of a pass, block by block:
//!     take a ticket: the number of the tile
//!     load the tile's keys, count their digits by warp
//!     status[tile][digit] = the count                           (early: later tiles wait for it)
//!     in shared memory: place of the key = atomic_add(place of its warp and digit, 1)
//!     look back over the status of earlier tiles: where this tile's keys of each digit begin
//!     status[tile][digit] = the count of all tiles so far
//!     write the sorted tile: runs of neighbors for each digit
//!     if equal digits did not keep their order: sort the tile again by ballots, and write it again
//! ```
//!
//! Counting first costs a second addition per key and publishes the tile's counts long before others need them. In which order
//! the lanes of one `atomic_add` get their numbers is promised nowhere, though on NVIDIA's cards it has always been seen to be
//! that of the lanes. So a pass that has to keep the order of equal digits checks it where it reads the sorted tile anyway,
//! and the result does not rest on what the hardware does not promise.
//!
//! Keys alone, sorted by all their bits, need no order in the first pass: equal keys are alike. Its tiles take their places by
//! one atomic addition per digit, and look back at nothing.
//!
//! Up to [`SMALL_KEYS`](super::policy::SMALL_KEYS) keys are sorted by one block, in one launch.
//!
//! Source of the single sweep: Adinets, Merrill, "Onesweep: A faster least significant digit radix sort for GPUs", 2022,
//! <https://arxiv.org/abs/2206.01784>. The counting first and the checked atomics are the project's.

mod digits;
mod gather;
pub(super) mod items;
pub(super) mod keys;
mod marks;
mod small;

pub use digits::{SortBestDigits, sort_best_digits};
pub use gather::{SortBestGather, sort_best_gather};
#[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
pub(super) use items::SORT_BEST_ITEMS_ROWS;
pub use items::{SortBestItems, sort_best_items};
#[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
pub(super) use keys::{SORT_BEST_FIRST_ROWS, SORT_BEST_KEYS_ROWS};
pub use keys::{SortBestFirst, SortBestKeys, sort_best_first, sort_best_keys};
pub use marks::{SortBestMarks, sort_best_marks};
pub use small::{SortBestSmall, sort_best_small};
