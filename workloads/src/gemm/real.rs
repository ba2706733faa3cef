//! The element types of products, and the errors of their sums.

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use warpwright::ops::gemm::{GemmElement, ResultIn};

use crate::Number;

/// The types of a product.
pub trait Real: GemmElement<Factor: Number, Result: Number> {
    /// What follows the name of the elements, if results have another type than is usual.
    const TO: &'static str = "";
    /// If sums are rounded to elements once more: half the distance from 1 to the next element, and from 0 to the least one.
    const ROUNDED: Option<[f64; 2]>;
    /// Whether sums depend on the kernel.
    const VARIES: bool = Self::ROUNDED.is_some();
    /// Factors of the product and of C.
    const FACTORS: [f64; 2];
    /// Returns a factor.
    fn factor_of(value: f64) -> Self::Scale;
    /// Returns the error of a sum of so many products, for products whose magnitudes add up to 1.
    fn error(products: usize) -> f64;
    /// The error of the Gaussian error linear unit of 1, if there is that function.
    const GELU: Option<f64>;
}

/// Factors of floats.
const OF_FLOATS: [f64; 2] = [0.75, -1.5];

macro_rules! reals {
    ($($ty:ident)*) => { $(
        impl Real for $ty {
            const ROUNDED: Option<[f64; 2]> = None;
            const FACTORS: [f64; 2] = OF_FLOATS;
            const GELU: Option<f64> = Some(4.0 * $ty::EPSILON as f64);

            fn factor_of(value: f64) -> Self {
                value as Self
            }

            fn error(products: usize) -> f64 {
                products as f64 * f64::from($ty::EPSILON) / 2.0
            }
        }
    )* };
}
reals! { f32 f64 }

macro_rules! halves {
    ($($ty:ident: $least:expr;)*) => { $(
        impl Real for $ty {
            const ROUNDED: Option<[f64; 2]> =
                Some([$ty::EPSILON.to_f64_const() / 2.0, $least / 2.0]);
            const FACTORS: [f64; 2] = OF_FLOATS;
            const GELU: Option<f64> = Some(1.0 / 65_536.0);

            fn factor_of(value: f64) -> f32 {
                value as f32
            }

            /// An instruction of compute capability 9.0 loses less than 2^-25 of the largest term with each of 16 products and
            /// its earlier sum, and at most 2^-23 of its sum: 21 * 2^-25 for 16 products. On 8.0 it is 11 * 2^-24 for 8
            /// products. A fused multiply-add loses 2^-24. The last instruction may have fewer products.
            fn error(products: usize) -> f64 {
                (products as f64 + 8.0) * f64::from(f32::EPSILON)
            }
        }
    )* };
}
halves! {
    f16: f16::MIN_POSITIVE_SUBNORMAL.to_f64_const();
    bf16: bf16::MIN_POSITIVE_SUBNORMAL.to_f64_const();
}

/// Sums in `i32`, which are exact: an oracle's sums must not wrap around.
impl Real for i8 {
    const ROUNDED: Option<[f64; 2]> = None;
    const FACTORS: [f64; 2] = [3.0, -2.0];
    const GELU: Option<f64> = None;

    fn factor_of(value: f64) -> i32 {
        value as i32
    }

    fn error(_products: usize) -> f64 {
        0.0
    }
}

macro_rules! eight_bits {
    ($($ty:ident)*) => { $(
        impl Real for $ty {
            const ROUNDED: Option<[f64; 2]> = None;
            const VARIES: bool = true;
            const FACTORS: [f64; 2] = OF_FLOATS;
            const GELU: Option<f64> = f32::GELU;

            fn factor_of(value: f64) -> f32 {
                value as f32
            }

            /// An instruction of compute capability 9.0 loses less than 2^-13 of the largest term with each of 32 products, its
            /// earlier sum and its sum. Four have the products of a step, whose sums are rounded.
            fn error(products: usize) -> f64 {
                4.0 * 34.0 / 8192.0 + f32::error(products)
            }
        }
    )* };
}
eight_bits! { F8E4M3 F8E5M2 }

macro_rules! results {
    ($($ty:ident in $result:ident: $to:literal;)*) => { $(
        impl Real for ResultIn<$ty, $result> {
            const TO: &'static str = $to;
            const ROUNDED: Option<[f64; 2]> = $result::ROUNDED;
            const VARIES: bool = true;
            const FACTORS: [f64; 2] = OF_FLOATS;
            const GELU: Option<f64> = $result::GELU;

            fn factor_of(value: f64) -> f32 {
                value as f32
            }

            fn error(products: usize) -> f64 {
                $ty::error(products)
            }
        }
    )* };
}
results! {
    F8E4M3 in bf16: " to bf16";
    F8E4M3 in f16: " to f16";
    f16 in f32: " to f32";
    bf16 in f32: " to f32";
}
