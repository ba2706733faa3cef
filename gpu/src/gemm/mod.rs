//! Matrix product: `C = alpha * op(A) * op(B) + beta * C`, `op` being nothing or the transpose.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | one thread per element of C |
//! | `tiled` | square tiles of A and B through shared memory |
//! | `best` | register blocks: many elements of C per thread, the next tile on its way; small tiles where large ones would be few |
//!
//! op(A) is `m` x `k`, op(B) is `k` x `n`, C is `m` x `n`; all are row-major, each with a leading dimension
//! of its own. The work is `m * n * k` fused multiply-adds.
//!
//! Every variant adds an element's products in the order of `k`, from 0, each product and sum rounded once
//! together. So all of them give the same bits, on every device: for element (i, j)
//! `s = fma(a[i][k], b[k][j], s)` for every k, then `alpha * s`, or `fma(alpha, s, beta * c)` unless
//! `beta` is 0. With `beta` 0, C is not read.
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

use crate::{Family, Variant};

/// The family's row in the catalogue.
pub const FAMILY: Family = Family {
    name: "gemm",
    summary: "matrix product: alpha * op(A) * op(B) + beta * C",
    variants: &[
        Variant {
            name: "naive",
            idea: "one thread per element of C: every operand comes from global memory",
            kernels: &["gemm_naive"],
        },
        Variant {
            name: "tiled",
            idea: "32 x 32 tiles of A and B in shared memory: each is loaded once per tile of C",
            kernels: &["gemm_tiled"],
        },
        Variant {
            name: "best",
            idea: "8 x 8 elements of C per thread in registers, 16-byte loads, two tiles in turn",
            kernels: &[
                "gemm_best",
                "gemm_best_double",
                "gemm_best_small",
                "gemm_best_small_double",
            ],
        },
    ],
};

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use crate::tuning::SHIPPED;
    use cuda_std::kernel::{ByValue, Kernel, KernelDescriptor};

    /// An element type, with its kernels.
    ///
    /// # Safety
    /// The kernels are the instances for this type: launches pass them its parameters, unchecked.
    pub unsafe trait Kernels: Real + ByValue {
        /// The kernels in the catalogue's order, by whether A and whether B is transposed.
        const KERNELS: [[[&'static KernelDescriptor; 2]; 2]; FAMILY.variants.len()];
        /// Those of `best` for small tiles.
        const SMALL: [[&'static KernelDescriptor; 2]; 2];
    }

    macro_rules! kernels {
        ($($ty:ident: $best:ident, $small:ident;)*) => { $(
            // SAFETY: instances for this type.
            unsafe impl Kernels for $ty {
                const KERNELS: [[[&'static KernelDescriptor; 2]; 2]; FAMILY.variants.len()] = [
                    [[&GemmNaive::<$ty>::DESCRIPTOR; 2]; 2],
                    [[&GemmTiled::<$ty>::DESCRIPTOR; 2]; 2],
                    // A lies along k as it is, B when it is transposed.
                    [
                        [&$best::<true, false, SHIPPED>::DESCRIPTOR, &$best::<true, true, SHIPPED>::DESCRIPTOR],
                        [&$best::<false, false, SHIPPED>::DESCRIPTOR, &$best::<false, true, SHIPPED>::DESCRIPTOR],
                    ],
                ];
                const SMALL: [[&'static KernelDescriptor; 2]; 2] = [
                    [&$small::<true, false, SHIPPED>::DESCRIPTOR, &$small::<true, true, SHIPPED>::DESCRIPTOR],
                    [&$small::<false, false, SHIPPED>::DESCRIPTOR, &$small::<false, true, SHIPPED>::DESCRIPTOR],
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
