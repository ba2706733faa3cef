//! Matrix product: `C = alpha * op(A) * op(B) + beta * C`, where `op` is the identity or the transpose.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | one thread per element of C |
//! | `tiled` | square tiles of A and B through shared memory |
//! | `best` | register blocks: many elements of C per thread, the next tile on its way; small tiles where large ones would be few |
//!
//! op(A) is `m` x `k`, op(B) is `k` x `n`, C is `m` x `n`. All are row-major, each with its own leading dimension. The work is
//! `m * n * k` fused multiply-adds.
//!
//! Every variant adds an element's products in the order of `k`, from 0, with one rounding for each product and addition
//! together. So all variants give the same bits on every device: for element (i, j) `s = fma(a[i][k], b[k][j], s)` for every k,
//! then `alpha * s`, or `fma(alpha, s, beta * c)` unless `beta` is 0. If `beta` is 0, C is not read.
//!
//! Blocks form a one-dimensional grid over tiles of C.

mod best;
mod naive;
mod operand;
pub mod policy;
mod problem;
mod tiled;

pub use best::{
    GemmBest, GemmBestDouble, GemmBestSmall, GemmBestSmallDouble, gemm_best, gemm_best_double,
    gemm_best_small, gemm_best_small_double,
};
pub use naive::{GemmNaive, gemm_naive};
pub use problem::{Problem, Real, Strides};
pub use tiled::{GemmTiled, gemm_tiled};

use crate::catalogue::declare_family;

declare_family! {
    name: "gemm",
    summary: "matrix product: alpha * op(A) * op(B) + beta * C",
    variants: [
        Naive {
            name: "naive",
            idea: "one thread per element of C: every operand comes from global memory",
            kernels: ["gemm_naive"],
        },
        Tiled {
            name: "tiled",
            idea: "32 x 32 tiles of A and B in shared memory: each is loaded once per tile of C",
            kernels: ["gemm_tiled"],
        },
        Best {
            name: "best",
            idea: "8 x 8 elements of C per thread in registers, 16-byte loads, two tiles in turn",
            kernels: [
                "gemm_best",
                "gemm_best_double",
                "gemm_best_small",
                "gemm_best_small_double",
            ],
        },
    ],
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use cuda_std::kernel::{ByValue, Entry, EntryOf};

    /// An element type, with its kernels.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Real + ByValue {
        /// The kernels in the catalogue's order, indexed by whether A is transposed and whether B is.
        const KERNELS: [[[EntryOf<GemmNaive<Self>>; 2]; 2]; FAMILY.variants.len()];
        /// The kernels of `best` for small tiles.
        const SMALL: [[EntryOf<GemmNaive<Self>>; 2]; 2];
    }

    macro_rules! kernels {
        ($($ty:ident: $best:ident, $small:ident;)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $ty {
                const KERNELS: [[[EntryOf<GemmNaive<Self>>; 2]; 2]; FAMILY.variants.len()] = [
                    [[Entry::of::<GemmNaive<$ty>>(); 2]; 2],
                    [[Entry::of::<GemmTiled<$ty>>(); 2]; 2],
                    // A lies along k as it is, B if it is transposed.
                    [
                        [Entry::of::<$best<true, false>>(), Entry::of::<$best<true, true>>()],
                        [Entry::of::<$best<false, false>>(), Entry::of::<$best<false, true>>()],
                    ],
                ];
                const SMALL: [[EntryOf<GemmNaive<Self>>; 2]; 2] = [
                    [Entry::of::<$small<true, false>>(), Entry::of::<$small<true, true>>()],
                    [Entry::of::<$small<false, false>>(), Entry::of::<$small<false, true>>()],
                ];
            }
        )* };
    }
    kernels! {
        f32: GemmBest, GemmBestSmall;
        f64: GemmBestDouble, GemmBestSmallDouble;
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
