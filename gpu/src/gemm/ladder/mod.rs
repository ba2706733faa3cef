//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod cluster;
mod naive;
mod tiled;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use cluster::{GemmCluster, gemm_cluster};
pub use naive::{GemmNaive, gemm_naive};
pub use tiled::{GemmTiled, gemm_tiled};
