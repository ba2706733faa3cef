//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod naive;
mod tiled;

pub use naive::{GemmNaive, gemm_naive};
pub use tiled::{GemmTiled, gemm_tiled};
