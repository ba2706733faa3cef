//! The element types of matrix products.

use std::fmt;

use cuda_std::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use warpwright_gpu::gemm::{Kernels, Matrices, ResultIn};

use crate::{buffer::Element, ops::sealed::Sealed as LibraryType};

/// The types of a product: those of the elements of A and B (`Factor`), of sums and of the factors `alpha` and `beta`
/// (`Scale`), and of the result, C and a bias (`Result`).
///
/// This is an element type with its usual results, or [`ResultIn`], which has others:
///
/// | type | `Factor` | `Scale` | `Result` |
/// | --- | --- | --- | --- |
/// | `f32`, `f64` | itself | itself | itself |
/// | `f16`, `bf16` | itself | `f32` | itself |
/// | `i8` | itself | `i32` | `i32` |
/// | `F8E4M3`, `F8E5M2` | itself | `f32` | `f32` |
/// | `ResultIn<F8E4M3, R>` | `F8E4M3` | `f32` | `R`: `bf16` or `f16` |
/// | `ResultIn<f16, f32>`, `ResultIn<bf16, f32>` | `f16`, `bf16` | `f32` | `f32` |
///
/// Other crates cannot implement this trait.
pub trait GemmElement:
    Kernels<Factor: Element + LibraryType, Scale: Element, Result: Element + LibraryType> + fmt::Debug
{
    #[doc(hidden)]
    const ONE: Self::Scale;
    /// Changes no number that it is added to.
    #[doc(hidden)]
    const NEGATIVE_ZERO: Self::Scale;
    /// Whether there is the Gaussian error linear unit.
    #[doc(hidden)]
    const HAS_GELU: bool;
}

macro_rules! elements {
    ($($ty:ty: $one:literal, $negative_zero:literal, $has_gelu:literal;)*) => { $(
        impl GemmElement for $ty {
            const ONE: <Self as Matrices>::Scale = $one;
            const NEGATIVE_ZERO: <Self as Matrices>::Scale = $negative_zero;
            const HAS_GELU: bool = $has_gelu;
        }
    )* };
}
elements! {
    f32: 1.0, -0.0, true;
    f64: 1.0, -0.0, true;
    f16: 1.0, -0.0, true;
    bf16: 1.0, -0.0, true;
    i8: 1, 0, false;
    F8E4M3: 1.0, -0.0, true;
    F8E5M2: 1.0, -0.0, true;
    ResultIn<F8E4M3, bf16>: 1.0, -0.0, true;
    ResultIn<F8E4M3, f16>: 1.0, -0.0, true;
    ResultIn<f16, f32>: 1.0, -0.0, true;
    ResultIn<bf16, f32>: 1.0, -0.0, true;
}
