//! The element types of matrix products.

use cuda_std::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use warpwright_gpu::gemm::Kernels;

use crate::{buffer::Element, ops::sealed::Sealed as LibraryType};

/// An element type whose matrices can be multiplied: `f32`, `f64`, `f16`, `bf16`, `i8`, `F8E4M3`, `F8E5M2`.
///
/// Sums and the factors `alpha` and `beta` are of the type `Scale`: `f32` for types of 16 and 8 bits, but `i32` for `i8`;
/// otherwise the element type. The result, C and a bias are of the type `Result`: `f32` for `F8E4M3` and `F8E5M2`, `i32` for
/// `i8`, otherwise the element type.
pub trait GemmElement:
    Element + Kernels<Result: Element + LibraryType, Scale: Element> + LibraryType
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
            const ONE: Self::Scale = $one;
            const NEGATIVE_ZERO: Self::Scale = $negative_zero;
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
}
