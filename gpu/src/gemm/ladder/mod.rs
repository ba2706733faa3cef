//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod cluster;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod copies;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod fragments;
mod naive;
mod registers;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod specialised;
mod tiled;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod warpgroups;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod write_fragments;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod write_panels;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use cluster::{GemmCluster, gemm_cluster};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use copies::{GemmCopies, gemm_copies};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use fragments::{GemmFragments, gemm_fragments};
pub use naive::{GemmNaive, gemm_naive};
pub use registers::{GemmRegisters, gemm_registers};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use specialised::{GemmSpecialised, gemm_specialised};
pub use tiled::{GemmTiled, gemm_tiled};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use warpgroups::{GemmWarpgroups, gemm_warpgroups};
