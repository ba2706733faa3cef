//! Functions that a whole block executes together, used by several kernels.

pub use cuda_std::block::is_last;

mod each;
mod reduce;

pub use each::{Share, for_each};
pub use reduce::{last_warp, reduce_shuffle, reduce_warp, tree, unrolled_tree};
