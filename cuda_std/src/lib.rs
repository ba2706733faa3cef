//! The device standard library: CUDA's programming model in Rust.
//!
//! Every function has two bodies. Compiled for `nvptx64-nvidia-cuda`, a function is the instruction of its name. Compiled
//! for the host, it runs on the CPU executor ([`cpu`]), where each lane of a block is a coroutine. A kernel thus runs
//! unchanged on a machine without a GPU, with its accesses checked.
//!
//! Names and signatures are those of Rust-CUDA's `cuda_std` where both crates have an item. The README lists what is
//! missing here, and why.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        abi_unadjusted,
        asm_experimental_arch,
        core_float_math,
        link_llvm_intrinsics,
        rustc_attrs,
        stdarch_nvptx
    ),
    allow(internal_features)
)]

// `#[kernel]` expands to paths in `::cuda_std`, in this crate too.
extern crate self as cuda_std;

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod async_copy;
pub mod atomic;
pub mod block;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod bulk;
pub mod cfg;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod cluster;
pub mod constant;
pub mod convert;
#[cfg(not(target_arch = "nvptx64"))]
pub mod cpu;
pub mod float;
pub mod intrinsics;
pub mod io;
#[cfg(not(target_arch = "nvptx64"))]
pub mod kernel;
pub mod map;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod mbarrier;
pub mod mem;
pub mod merge;
pub mod misc;
pub mod mma;
#[cfg(target_arch = "nvptx64")]
mod nvptx;
mod plain;
pub mod ptr;
pub mod random;
pub mod ring;
pub mod scan;
pub mod select;
pub mod shared;
mod space;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod tensor_map;
pub mod thread;
mod tile;
mod unrolled;
pub mod view;
pub mod warp;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod wgmma;

#[cfg(not(target_arch = "nvptx64"))]
use cpu::imp;
#[cfg(target_arch = "nvptx64")]
use nvptx as imp;

pub use float::{FloatExt, GpuFloat};
pub use float8;
pub use float8::{F8E4M3, F8E5M2};
#[cfg(feature = "glam")]
pub use glam;
pub use half;
pub use half::{bf16, f16};
pub use plain::Plain;
// These are `std`'s macros themselves, so that a glob import shadows none.
#[cfg(not(target_arch = "nvptx64"))]
pub use std::{print, println};
#[cfg(feature = "vek")]
pub use vek;
pub use view::{Global, GlobalMut, Shared};
#[doc(hidden)]
pub use warpwright_cuda_std_macros::__kernel_instances;
pub use warpwright_cuda_std_macros::{address_space, externally_visible, gpu_only, kernel};

/// The type of a kernel's parameter number `INDEX`. `#[kernel]` implements this trait for the launch marker.
#[doc(hidden)]
pub trait __Parameter<const INDEX: usize> {
    /// The parameter's type.
    type Type;
}

/// A kernel's launch bounds. `#[kernel]` implements this trait for the launch marker.
#[doc(hidden)]
pub trait __Bounds {
    /// The maximum number of threads per block and the minimum number of blocks per multiprocessor; 0 means unspecified. Then
    /// the blocks of a cluster along x, y and z.
    const LAUNCH: [u32; 5];
    /// The minimum dynamic shared memory in bytes.
    const DYNAMIC_SHARED: usize;
}

/// The names that most kernels use, for `use cuda_std::prelude::*;`.
pub mod prelude {
    pub use crate::view::{Global, GlobalMut, Shared};
    pub use crate::{Plain, f16, kernel, print, println, shared, shared_array, thread, warp};
    #[cfg(feature = "alloc")]
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        format,
        rc::Rc,
        string::{String, ToString},
        vec,
        vec::Vec,
    };
    pub use core::{assert_eq, assert_ne};
}

#[cfg(all(doctest, not(target_arch = "nvptx64")))]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
