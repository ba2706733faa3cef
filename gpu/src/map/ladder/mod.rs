//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod direct;
mod rolled;

pub use direct::{MapDirect, map_direct};
pub use rolled::{MapRolled, map_rolled};
