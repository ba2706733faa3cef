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
//! multiply-adds.
//!
//! Matrices of `i8` have sums, factors, C and a bias in `i32`, whose numbers wrap around. So all variants give the same bits on
//! every device, in whatever order they add.
//!
//! Matrices of `F8E4M3` and `F8E5M2` have sums, factors, C and a bias in `f32`. `naive`, `tiled` and `registers` add as in
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
//! Blocks form a one-dimensional grid over tiles of C.

// A kernel has a parameter for each view and number of a launch.
#![allow(clippy::too_many_arguments)]

mod band;
mod best;
mod fragments;
mod gelu;
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
pub use problem::{Element, Epilogue, Matrices, Problem, Rounded, Scalar, Strides};
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
        ],
        cut: policy::best_cut(policy::LARGE),
    },
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use cuda_std::{
        F8E4M3, F8E5M2, Global, GlobalMut, bf16, f16,
        kernel::{ByValue, Entry},
        tensor_map::EncodedTensorMap,
    };

    /// The kernels of products: one for each way in which A and B are stored, indexed by whether A is transposed and whether B
    /// is.
    pub type Products<T> = [[Entry<(
        Global<<T as Matrices>::Factor>,
        Global<<T as Matrices>::Factor>,
        GlobalMut<<T as Matrices>::Result>,
        Problem,
        <T as Matrices>::Scale,
        <T as Matrices>::Scale,
        GlobalMut<<T as Matrices>::Result>,
        Global<<T as Matrices>::Result>,
        Global<<T as Matrices>::Scale>,
        Global<<T as Matrices>::Scale>,
    )>; 2]; 2];

    /// The kernels of products whose operands tensor maps bring, indexed as [`Products`] are.
    pub type TiledProducts<T> = [[Entry<(
        EncodedTensorMap,
        EncodedTensorMap,
        GlobalMut<<T as Matrices>::Result>,
        GlobalMut<<T as Matrices>::Scale>,
        Problem,
        usize,
        <T as Matrices>::Scale,
        <T as Matrices>::Scale,
        GlobalMut<<T as Matrices>::Result>,
        Global<<T as Matrices>::Result>,
        Global<<T as Matrices>::Scale>,
        Global<<T as Matrices>::Scale>,
    )>; 2]; 2];

    /// The kernel that adds the sums of parts, for elements of C.
    pub type Parts<T> = Entry<(
        Global<<T as Element>::Scale>,
        GlobalMut<T>,
        Problem,
        usize,
        <T as Element>::Scale,
        <T as Element>::Scale,
        GlobalMut<T>,
        Global<T>,
        Global<<T as Element>::Scale>,
        Global<<T as Element>::Scale>,
    )>;

    /// The kernels for warpgroups.
    #[derive(Debug, Clone, Copy)]
    pub struct Wgmma<T: Matrices> {
        /// The products: for large, small and medium tiles.
        pub products: [TiledProducts<T>; 3],
        /// Adds the sums of parts.
        pub parts: Parts<T::Result>,
    }

    /// The kernels of a rung whose operands tensor maps bring, indexed as [`Products`] are.
    pub type MappedProducts<T> = [[Entry<(
        EncodedTensorMap,
        EncodedTensorMap,
        GlobalMut<<T as Matrices>::Result>,
        Problem,
        <T as Matrices>::Scale,
        <T as Matrices>::Scale,
        GlobalMut<<T as Matrices>::Result>,
        Global<<T as Matrices>::Result>,
        Global<<T as Matrices>::Scale>,
        Global<<T as Matrices>::Scale>,
    )>; 2]; 2];

    /// The kernels of a variant for a type: which products it takes, and how it is launched.
    #[derive(Debug, Clone, Copy)]
    pub enum Rung<T: Matrices> {
        /// Those of `best`, which the library chooses by the product: it takes all.
        Best,
        /// Each sum takes its products in the order of k, by fused multiply-adds: any product.
        InOrder(Products<T>),
        /// Products of fragments: any product, on a device with such tensor cores.
        Tensor(Products<T>),
        /// Products of warpgroups: operands that tensor maps can describe, on a device with such tensor cores.
        Mapped(MappedProducts<T>, policy::Mapped),
        /// The variant has no kernels for this type.
        None,
    }

    /// The kernel that writes the planes of A and B.
    pub type Split<T> = Entry<(
        Global<<T as Matrices>::Factor>,
        Global<<T as Matrices>::Factor>,
        GlobalMut<bf16>,
        GlobalMut<bf16>,
        Problem,
    )>;

    /// A kernel that multiplies planes.
    pub type OfPlanes<T> = Entry<(
        Global<bf16>,
        Global<bf16>,
        Global<<T as Matrices>::Factor>,
        Global<<T as Matrices>::Factor>,
        GlobalMut<<T as Matrices>::Result>,
        Problem,
        <T as Matrices>::Scale,
        <T as Matrices>::Scale,
        GlobalMut<<T as Matrices>::Result>,
        Global<<T as Matrices>::Result>,
        Global<<T as Matrices>::Scale>,
        Global<<T as Matrices>::Scale>,
    )>;

    /// The kernels for planes of `bf16`.
    #[derive(Debug, Clone, Copy)]
    pub struct Planes<T: Matrices> {
        /// Writes the planes.
        pub split: Split<T>,
        /// The products: for large and small tiles.
        pub products: [OfPlanes<T>; 2],
    }

    /// The kernel that writes the tiles of A and B.
    pub type OfTiles<T> = Entry<(
        Global<<T as Matrices>::Factor>,
        Global<<T as Matrices>::Factor>,
        GlobalMut<<T as Matrices>::Factor>,
        GlobalMut<<T as Matrices>::Factor>,
        Problem,
        usize,
    )>;

    /// The kernels of products of operands with lines along k: for large, small and medium tiles.
    pub type ProductsOfLines<T> = [Entry<(
        EncodedTensorMap,
        EncodedTensorMap,
        Global<<T as Matrices>::Factor>,
        Global<<T as Matrices>::Factor>,
        GlobalMut<<T as Matrices>::Result>,
        GlobalMut<<T as Matrices>::Scale>,
        Problem,
        usize,
        usize,
        <T as Matrices>::Scale,
        <T as Matrices>::Scale,
        GlobalMut<<T as Matrices>::Result>,
        Global<<T as Matrices>::Result>,
        Global<<T as Matrices>::Scale>,
        Global<<T as Matrices>::Scale>,
    )>; 3];

    /// When `best` multiplies lines along k.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum LinesAreFor {
        /// The precision that asks for it.
        Precision,
        /// Cards that can: other kernels give the same bits.
        Cards,
        /// Every device that can: other kernels give other bits.
        Devices,
    }

    /// The kernels for operands with lines along k.
    #[derive(Debug, Clone, Copy)]
    pub struct Lines<T: Matrices> {
        /// When they are used.
        pub are_for: LinesAreFor,
        /// Writes the tiles of operands that have none.
        pub tiles: OfTiles<T>,
        /// The products.
        pub products: ProductsOfLines<T>,
        /// Those of an A, or a B, with lines across k, if there are any.
        pub across: Option<[ProductsOfLines<T>; 2]>,
        /// Adds the sums of parts.
        pub parts: Parts<T::Result>,
    }

    /// A kernel that multiplies a matrix by a few vectors.
    pub type OfVectors<T> = Entry<(
        EncodedTensorMap,
        EncodedTensorMap,
        GlobalMut<<T as Matrices>::Result>,
        GlobalMut<<T as Matrices>::Scale>,
        GlobalMut<u32>,
        Problem,
        usize,
        usize,
        usize,
        <T as Matrices>::Scale,
        <T as Matrices>::Scale,
        GlobalMut<<T as Matrices>::Result>,
        Global<<T as Matrices>::Result>,
        Global<<T as Matrices>::Scale>,
        Global<<T as Matrices>::Scale>,
    )>;

    /// The kernels that multiply a matrix by a few vectors.
    #[derive(Debug, Clone, Copy)]
    pub struct Skinny<T: Matrices> {
        /// Those of a matrix with lines along k: for narrow and wide tiles.
        pub along: [OfVectors<T>; 2],
        /// Those of a matrix with lines across k, if there are any.
        pub across: Option<[OfVectors<T>; 2]>,
    }

    /// An element type, with its kernels.
    ///
    /// # Safety
    /// The kernels must be those of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels:
        Matrices<Factor: ByValue, Scale: ByValue, Result: ByValue> + Copy
    {
        /// The kernels of `best` for large tiles.
        const LARGE: Products<Self>;
        /// The kernels of `best` for small tiles.
        const SMALL: Products<Self>;
        /// Whether `best` has no others, apart from those of other fields here.
        const ONLY_SMALL: bool;
        /// The kernels of `best` on tensor cores, if there are any: for large and small tiles.
        const TENSOR: Option<[Products<Self>; 2]>;
        /// The kernels of `best` for warpgroups, if there are any.
        const WGMMA: Option<Wgmma<Self>>;
        /// The kernels of `best` for planes of `bf16`, if there are any.
        const PLANES: Option<Planes<Self>>;
        /// The kernels of `best` for operands with lines along k, if there are any.
        const LINES: Option<Lines<Self>>;
        /// The kernels of `best` for a few vectors, if there are any.
        const SKINNY: Option<Skinny<Self>>;
        /// Returns the kernels of a variant.
        fn rung(variant: Variant) -> Rung<Self>;
    }

    macro_rules! kernels {
        (of $kernel:ident $(for $($first:tt),+)?) => {
            // A lies along k as it is, B if it is transposed.
            [
                [
                    Entry::of::<$kernel<$($($first,)+)? true, false>>(),
                    Entry::of::<$kernel<$($($first,)+)? true, true>>(),
                ],
                [
                    Entry::of::<$kernel<$($($first,)+)? false, false>>(),
                    Entry::of::<$kernel<$($($first,)+)? false, true>>(),
                ],
            ]
        };
        ($($ty:ident: $best:ident $(of ($($first:tt),+))?, $small:ident, $only_small:literal, $tensor:expr, $wgmma:expr, $planes:expr, $lines:expr, $skinny:expr;)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $ty {
                const LARGE: Products<Self> = kernels!(of $best $(for $($first),+)?);
                const SMALL: Products<Self> = kernels!(of $small $(for $($first),+)?);
                const ONLY_SMALL: bool = $only_small;
                const TENSOR: Option<[Products<Self>; 2]> = $tensor;
                const WGMMA: Option<Wgmma<Self>> = $wgmma;
                const PLANES: Option<Planes<Self>> = $planes;
                const LINES: Option<Lines<Self>> = $lines;
                const SKINNY: Option<Skinny<Self>> = $skinny;

                fn rung(variant: Variant) -> Rung<Self> {
                    match variant {
                        #[cfg(feature = "ladder")]
                        Variant::Naive => Rung::InOrder([[Entry::of::<GemmNaive<$ty>>(); 2]; 2]),
                        #[cfg(feature = "ladder")]
                        Variant::Tiled => Rung::InOrder([[Entry::of::<GemmTiled<$ty>>(); 2]; 2]),
                        #[cfg(feature = "ladder")]
                        Variant::Registers => Rung::InOrder([[Entry::of::<GemmRegisters<$ty>>(); 2]; 2]),
                        Variant::Best => Rung::Best,
                        #[cfg(feature = "ladder")]
                        of_halves => of_halves!($ty, of_halves),
                    }
                }
            }
        )* };
    }
    #[cfg(feature = "ladder")]
    macro_rules! of_halves {
        (f16, $variant:ident) => { of_halves!(of f16, $variant) };
        (bf16, $variant:ident) => { of_halves!(of bf16, $variant) };
        (of $ty:ident, $variant:ident) => {
            match $variant {
                Variant::Fragments => Rung::Tensor(kernels!(of GemmFragments for $ty)),
                Variant::Copies => Rung::Tensor(kernels!(of GemmCopies for $ty)),
                Variant::Warpgroups => {
                    Rung::Mapped(kernels!(of GemmWarpgroups for $ty), policy::WARPGROUPS)
                }
                Variant::Specialised => {
                    Rung::Mapped(kernels!(of GemmSpecialised for $ty), policy::SPECIALISED)
                }
                Variant::Cluster => Rung::Mapped(kernels!(of GemmCluster for $ty), policy::CLUSTER),
                _ => Rung::None,
            }
        };
        ($ty:ident, $variant:ident) => {{
            let _: Variant = $variant;
            Rung::None
        }};
    }
    macro_rules! wgmma {
        ($ty:ident) => {
            Some(Wgmma {
                products: [
                    kernels!(of GemmBestWgmma for $ty, 128),
                    kernels!(of GemmBestWgmma for $ty, 32),
                    kernels!(of GemmBestWgmma for $ty, 64),
                ],
                parts: Entry::of::<GemmBestParts<$ty>>(),
            })
        };
    }
    macro_rules! lines {
        ($ty:ident, $result:ident, $source:ident, $turned:literal) => {
            [
                Entry::of::<GemmBestLines<$ty, $result, $source, 128, $turned>>(),
                Entry::of::<GemmBestLines<$ty, $result, $source, 32, $turned>>(),
                Entry::of::<GemmBestLines<$ty, $result, $source, 64, $turned>>(),
            ]
        };
    }
    macro_rules! bytes {
        ($ty:ident, $result:ident, $source:ident, $are_for:ident) => {
            Some(Lines {
                are_for: LinesAreFor::$are_for,
                tiles: Entry::of::<GemmBestTiles<$ty, 16>>(),
                products: lines!($ty, $result, $source, false),
                across: None,
                parts: Entry::of::<GemmBestParts<$result>>(),
            })
        };
    }
    macro_rules! skinny {
        (of $ty:ident, $result:ident, $source:ident) => {
            [
                Entry::of::<GemmBestSkinny<$ty, $result, $source, 8>>(),
                Entry::of::<GemmBestSkinny<$ty, $result, $source, 32>>(),
            ]
        };
        ($ty:ident, $result:ident, $along:ident $(+ $across:ident)?) => {
            Some(Skinny {
                along: skinny!(of $ty, $result, $along),
                across: skinny!(or_none $(skinny!(of $ty, $result, $across))?),
            })
        };
        (or_none) => { None };
        (or_none $some:expr) => { Some($some) };
    }
    kernels! {
        f32: GemmBest, GemmBestSmall, false, None, None, Some(Planes {
            split: Entry::of::<GemmBestSplit>(),
            products: [
                Entry::of::<GemmBestPlanes<64>>(),
                Entry::of::<GemmBestPlanes<32>>(),
            ],
        }), Some(Lines {
            are_for: LinesAreFor::Precision,
            tiles: Entry::of::<GemmBestTiles<f32, 4>>(),
            products: lines!(f32, f32, FromShared, false),
            across: Some([lines!(f32, f32, ByThreads, false), lines!(f32, f32, ByThreads, true)]),
            parts: Entry::of::<GemmBestParts<f32>>(),
        }), skinny!(f32, f32, FromShared + ByThreads);
        f64: GemmBestDouble, GemmBestSmallDouble, false, Some([
            kernels!(of GemmBestTensor),
            kernels!(of GemmBestTensorSmall),
        ]), None, None, None, None;
        f16: GemmBestFragments of (f16, f16, 8), GemmBestFragmentsSmall, false, None, wgmma!(f16), None, None,
            skinny!(f16, f16, FromShared + AcrossShared);
        bf16: GemmBestFragments of (bf16, bf16, 8), GemmBestFragmentsSmall, false, None, wgmma!(bf16), None, None,
            skinny!(bf16, bf16, FromShared + AcrossShared);
        i8: GemmBestFragments of (i8, i32, 16), GemmBestFragmentsSmall, false, None, None, None,
            bytes!(i8, i32, FromShared, Cards), skinny!(i8, i32, FromShared);
        F8E4M3: GemmBestFragmentsSmall of (F8E4M3, f32, 16), GemmBestFragmentsSmall, true, None, None, None,
            bytes!(F8E4M3, f32, BySteps, Devices), skinny!(F8E4M3, f32, BySteps);
        F8E5M2: GemmBestFragmentsSmall of (F8E5M2, f32, 16), GemmBestFragmentsSmall, true, None, None, None,
            bytes!(F8E5M2, f32, BySteps, Devices), skinny!(F8E5M2, f32, BySteps);
    }
    macro_rules! rounded {
        ($($ty:ident to $result:ident;)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for Rounded<$ty, $result> {
                const LARGE: Products<Self> = Self::SMALL;
                const SMALL: Products<Self> = kernels!(of GemmBestFragmentsSmall for $ty, $result, 16);
                const ONLY_SMALL: bool = true;
                const TENSOR: Option<[Products<Self>; 2]> = None;
                const WGMMA: Option<Wgmma<Self>> = None;
                const PLANES: Option<Planes<Self>> = None;
                const LINES: Option<Lines<Self>> = bytes!($ty, $result, BySteps, Devices);
                const SKINNY: Option<Skinny<Self>> = skinny!($ty, $result, BySteps);

                fn rung(variant: Variant) -> Rung<Self> {
                    match variant {
                        Variant::Best => Rung::Best,
                        #[cfg(feature = "ladder")]
                        _ => Rung::None,
                    }
                }
            }
        )* };
    }
    rounded! {
        F8E4M3 to bf16;
        F8E4M3 to f16;
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::{
    Kernels, Lines, LinesAreFor, MappedProducts, OfPlanes, OfTiles, OfVectors, Parts, Planes,
    Products, ProductsOfLines, Rung, Skinny, Split, TiledProducts, Wgmma,
};
