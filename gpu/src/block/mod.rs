//! Pieces that a whole block executes together, and that several kernels use.

mod reduce;

pub use reduce::{last_warp, reduce_shuffle, reduce_warp, tree, unrolled_tree};
