//! Kernels that use every device function of `cuda_std`.
//!
//! They compute nothing of use. The workspace's tests compile them for nvptx64 (`device_build`), and run
//! them on both executors (`device_library`), whose results have to be the same to the bit.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, asm_experimental_arch)
)]
#![allow(clippy::missing_safety_doc)]

pub mod atomics;
pub mod blocks;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod bulk;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod clusters;
pub mod comparisons;
pub mod copies;
pub mod functions;
pub mod maps;
pub mod memory;
pub mod names;
pub mod operators;
pub mod products;
pub mod random;
pub mod threads;
pub mod tiles;
pub mod waits;
pub mod warp_tiles;
pub mod warps;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod wgmma;
