//! Functions that a whole block executes together, used by several kernels.

mod each;
mod reduce;
mod ticket;

pub use each::{Share, for_each};
pub use reduce::{last_warp, reduce_shuffle, reduce_warp, tree, unrolled_tree};
pub use ticket::is_last;
