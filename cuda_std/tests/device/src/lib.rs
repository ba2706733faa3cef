//! Kernels that use every device function of `cuda_std`.
//!
//! Their results mean nothing; that they compile for nvptx64, for every architecture, and that `ptxas`
//! takes what comes out, is what they are for. A kernel for each module.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, asm_experimental_arch)
)]
#![allow(clippy::missing_safety_doc)]

pub mod atomics;
pub mod functions;
pub mod memory;
pub mod threads;
pub mod warps;
