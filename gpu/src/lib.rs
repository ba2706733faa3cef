//! The kernels of warpwright.
//!
//! Each family has a folder: `mod.rs` is its page (the operation, and the ladder of variants), `policy.rs` has the tuning, and
//! each variant has a file. What the
//! library launches by itself is always compiled; the slower variants, in the folder `ladder/`, with the feature `ladder`.
//! Every kernel compiles for the GPU (`nvptx64-nvidia-cuda`) and for the host, where the CPU executor runs the same function.
//!
//! This crate launches nothing: the library `warpwright` does.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
// An iterator over an array of loads keeps its state in local memory on the GPU. A loop over an index is unrolled.
#![allow(clippy::needless_range_loop)]

pub mod axis;
pub mod block;
mod catalogue;
pub mod columns;
pub mod convolution;
pub mod gemm;
pub mod histogram;
pub mod map;
pub mod merge;
pub mod random;
pub mod reduce;
pub mod rows;
pub mod scan;
pub mod segments;
pub mod select;
pub mod sort;
pub mod top_k;
pub mod transpose;
pub mod tuning;

pub use catalogue::{FAMILIES, Family, NoSuchVariant, Variant, family};
