//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod privatized;
mod privatized_coarsened;

pub use privatized::{HistogramPrivatized, histogram_privatized};
pub use privatized_coarsened::{HistogramPrivatizedCoarsened, histogram_privatized_coarsened};
