//! Matrix product: `C = alpha * op(A) * op(B) + beta * C`, where `op` is the identity or the transpose.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | one thread per element of C |
//! | `tiled` | square tiles of A and B through shared memory |
//! | `registers` | 8 x 8 elements of C in the registers of each thread |
//! | `fragments` | `f16` and `bf16` on tensor cores, by products of fragments |
//! | `copies` | the next tiles come by asynchronous copies, to a ring |
//! | `warpgroups` | tensor cores of 9.0, by products of warpgroups, whose tiles tensor maps bring |
//! | `specialised` | a warp copies, two warpgroups multiply |
//! | `cluster` | two blocks share tiles of B |
//! | `best` | register blocks, the next tile on its way; small tiles where large ones would be few; other types than `f32` on tensor cores |
//!
//! op(A) is `m` x `k`, op(B) is `k` x `n`, C is `m` x `n`. All are row-major, each with its own leading dimension. The work is
//! `m * n * k` fused multiply-adds. A launch computes any number of products of the same sizes, whose matrices are at equal
//! distances, or shared by all.
//!
//! An [`Epilogue`] is part of the same kernel: a sum is multiplied by scales of its row and of its column; C or another matrix
//! is added, times `beta`; a bias for each column is added, and negative elements are replaced by 0, or the Gaussian error
//! linear unit is computed, before an element is rounded.
//!
//! In `f32` and `f64` every variant adds an element's products in the order of `k`, from 0, with one rounding for each product
//! and addition together. So all variants give the same bits on every device: for element (i, j)
//! `s = fma(a[i][k], b[k][j], s)` for every k, then `alpha * s`, or `fma(alpha, s, beta * c)` unless `beta` is 0. If `beta` is
//! 0, C is not read.
//!
//! From compute capability 9.0 on `best` multiplies `f64` on tensor cores, whose products of fragments are such fused
//! multiply-adds in such an order.
//!
//! Matrices of `f16` and `bf16` have sums and factors in `f32`, and an element of C is rounded once, at the end. `naive`,
//! `tiled` and `registers` add as in `f32`. The others add 16 products at a time on tensor cores ([`cuda_std::mma`]), so that
//! their bits differ, also between generations of devices; before compute capability 8.0 products of fragments are fused
//! multiply-adds. C and a bias may also be of `f32` ([`ResultIn`]): then nothing is rounded at the end.
//!
//! Matrices of `i8` have sums, factors, C and a bias in `i32`, whose numbers wrap around. So all variants give the same bits on
//! every device, in whatever order they add.
//!
//! Matrices of `F8E4M3` and `F8E5M2` have sums, factors, C and a bias in `f32`; C and a bias of products of `F8E4M3` may also
//! be of `bf16` or `f16` ([`ResultIn`]). `naive`, `tiled` and `registers` add as in
//! `f32`. `best` adds 32 products at a time on tensor cores of 9.0, which keep 13 bits, and rounds sums of 128. Elsewhere it
//! multiplies them as `f16`.
//!
//! On compute capability 9.0 `best` multiplies `f16` and `bf16` by warpgroups ([`cuda_std::wgmma`]), if the rows of A and B are
//! at multiples of 16 bytes. The bits are those of its other kernels there, unless it divides k into parts, because C has few
//! elements and k is long. Then it adds the sums of the parts in order.
//!
//! There `best` also multiplies `f32` on tensor cores, if the caller asks for it: by six products of planes of `bf16`, whose
//! error is about that of sums in `f32`, but whose bits are others; or by products of elements that are rounded to TF32.
//!
//! Where C has few rows or columns, the time is that of reading the other operand. Products on the tensor cores of 9.0 then
//! have tiles of few rows and columns ([`gemm_best_skinny`]), so that all multiprocessors read.
//!
//! Products of different sizes form a group, whose small ones a launch computes together ([`gemm_best_group`]).
//!
//! Blocks form a one-dimensional grid over tiles of C.

// A kernel has a parameter for each view and number of a launch.
#![allow(clippy::too_many_arguments)]

mod band;
mod best;
mod fragments;
mod gelu;
mod group;
#[cfg(not(target_arch = "nvptx64"))]
mod kernels;
#[cfg(feature = "ladder")]
mod ladder;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod lines;
mod operand;
mod output;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod parts;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod planes;
pub mod policy;
mod problem;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod skinny;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod staging;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
mod tensor;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod wgmma;

pub use band::{Fragments, Half};
pub use best::{
    GemmBest, GemmBestDouble, GemmBestSmall, GemmBestSmallDouble, gemm_best, gemm_best_double,
    gemm_best_small, gemm_best_small_double,
};
pub use fragments::{
    GemmBestFragments, GemmBestFragmentsSmall, gemm_best_fragments, gemm_best_fragments_small,
};
pub use group::{
    GemmBestGroup, GemmBestGroupSingle, MEMBER_WORDS, gemm_best_group, gemm_best_group_single,
};
#[cfg(feature = "ladder")]
pub use ladder::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use lines::{
    BySteps, ByThreads, FromShared, GemmBestLines, GemmBestTiles, Multiplied, OfLines, Source,
    gemm_best_lines, gemm_best_tiles,
};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use parts::{GemmBestParts, gemm_best_parts};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use planes::{GemmBestPlanes, GemmBestSplit, gemm_best_planes, gemm_best_split};
pub use problem::{Element, Epilogue, Matrices, Problem, ResultIn, Scalar, Strides};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use skinny::{AcrossShared, GemmBestSkinny, gemm_best_skinny};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub use tensor::{GemmBestTensor, GemmBestTensorSmall, gemm_best_tensor, gemm_best_tensor_small};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use wgmma::{GemmBestWgmma, gemm_best_wgmma};

use crate::catalogue::declare_family;
use policy::Cut;

declare_family! {
    name: "gemm",
    summary: "matrix product: alpha * op(A) * op(B) + beta * C",
    cut: Cut,
    ladder: [
        Naive {
            name: "naive",
            idea: "one thread per element of C: every operand comes from global memory",
            kernels: ["gemm_naive"],
            cut: policy::NAIVE,
        },
        Tiled {
            name: "tiled",
            idea: "32 x 32 tiles of A and B in shared memory: each is loaded once per tile of C",
            kernels: ["gemm_tiled"],
            cut: policy::TILED,
        },
        Registers {
            name: "registers",
            idea: "8 x 8 elements of C per thread in registers: 16 loads from shared memory for 64 multiply-adds",
            kernels: ["gemm_registers"],
            cut: policy::best_cut(policy::LARGE),
        },
        Fragments {
            name: "fragments",
            idea: "tensor cores: a warp multiplies fragments that it loads from shared memory",
            kernels: ["gemm_fragments"],
            cut: policy::best_cut(policy::LARGE),
        },
        Copies {
            name: "copies",
            idea: "asynchronous copies to a ring of tiles: the next ones come while the block multiplies",
            kernels: ["gemm_copies"],
            cut: policy::best_cut(policy::LARGE),
        },
        Warpgroups {
            name: "warpgroups",
            idea: "warpgroups multiply tiles in shared memory, which tensor maps bring to two slots in turn",
            kernels: ["gemm_warpgroups"],
            cut: policy::WARPGROUPS.cut,
        },
        Specialised {
            name: "specialised",
            idea: "a warp only copies and two warpgroups only multiply, with a ring of slots between them",
            kernels: ["gemm_specialised"],
            cut: policy::SPECIALISED.cut,
        },
        Cluster {
            name: "cluster",
            idea: "tensor cores; two blocks of a cluster share tiles of B: each brings half of one to both",
            kernels: ["gemm_cluster"],
            cut: policy::CLUSTER.cut,
        },
    ],
    best: {
        idea: "8 x 8 elements of C per thread in registers, 16-byte loads, two tiles in turn",
        kernels: [
            "gemm_best",
            "gemm_best_double",
            "gemm_best_small",
            "gemm_best_small_double",
            "gemm_best_fragments",
            "gemm_best_fragments_small",
            "gemm_best_tensor",
            "gemm_best_tensor_small",
            "gemm_best_wgmma",
            "gemm_best_parts",
            "gemm_best_split",
            "gemm_best_planes",
            "gemm_best_tiles",
            "gemm_best_lines",
            "gemm_best_skinny",
            "gemm_best_group",
            "gemm_best_group_single",
        ],
        cut: policy::best_cut(policy::LARGE),
    },
}

#[cfg(not(target_arch = "nvptx64"))]
pub use kernels::{
    Groups, Kernels, Lines, LinesAreFor, MappedProducts, OfPlanes, OfTiles, OfVectors, Parts,
    Planes, Products, ProductsOfLines, Rung, Skinny, Split, TiledProducts, Wgmma,
};
