//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod naive;
mod path;

pub use naive::{MergeNaive, MergeNaiveBounds, merge_naive, merge_naive_bounds};
pub use path::{MergePath, merge_path};
