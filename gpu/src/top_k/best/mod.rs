//! `best`: one read of the elements, by a threshold that a sample gives.
//!
//! ```text
//! launch 1 (sample): one block finds a threshold from which up a sample has some more elements than it should
//! launch 2 (filter): all blocks: put the elements from the threshold up, the candidates, into a list in any order
//! launch 3 (chunks): if there are fewer candidates than k or more than the list has room for, which hardly ever happens:
//!     block by block, put the k best elements of a part of the array into the list instead
//! launch 4 (merge): one block finds the k best of the list, and sorts them
//! ```
//!
//! The threshold has a rank and a position. So it divides equal elements too, and an array of equal elements has no more
//! candidates than any other. The list's order changes from run to run; the result does not, because no two entries are alike.
//!
//! A small input is one block's work, in one launch (rows), and so is each row of a matrix. Inputs between are done by chunks
//! and merge alone.

mod filter;
mod rows;
mod sample;

pub use filter::{TopKFilter, top_k_filter};
pub use rows::{TopKRows, top_k_rows};
pub use sample::{TopKSample, top_k_sample};

use cuda_std::Global;

/// The elements of the state: the rank and the position of the threshold, and the number of candidates.
pub const RANK: usize = 0;
/// See [`RANK`].
pub const POSITION: usize = 1;
/// See [`RANK`].
pub const COUNT: usize = 2;
/// The number of elements of the state.
pub const STATE_LEN: usize = 3;

/// Returns the number of candidates, if they are at least `k` and the list has room for them.
#[inline(always)]
#[track_caller]
pub(super) fn candidates(state: Global<u64>, k: u32, capacity: usize) -> Option<usize> {
    let count = state.get(COUNT) as usize;
    (k as usize <= count && count <= capacity).then_some(count)
}
