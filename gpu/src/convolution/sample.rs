//! The element types.

use cuda_std::{GpuFloat, Plain, constant, constant::Constant};

use super::policy::MOST_CONSTANTS;

constant! {
    /// The table of a mask of `f32`.
    pub static CONVOLUTION_MASK_F32: [f32; MOST_CONSTANTS];
    /// The table of a mask of `f64`.
    pub static CONVOLUTION_MASK_F64: [f64; MOST_CONSTANTS];
}

/// The type of a mask and of its sums.
pub trait Weight: GpuFloat + 'static {
    /// The value at which a sum starts.
    const ZERO: Self;

    /// Returns the table of masks of this type in constant memory.
    fn table() -> &'static Constant<Self, MOST_CONSTANTS>;
}

macro_rules! weights {
    ($($ty:ident: $table:ident;)*) => { $(
        impl Weight for $ty {
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn table() -> &'static Constant<Self, MOST_CONSTANTS> {
                &$table
            }
        }
    )* };
}
weights! {
    f32: CONVOLUTION_MASK_F32;
    f64: CONVOLUTION_MASK_F64;
}

/// An element type of the input and the output.
pub trait Sample: Plain {
    /// The type of the mask and the sum.
    type Sum: Weight;
    /// The element outside of the input for [`Boundary::Zero`](super::Boundary::Zero).
    const ZERO: Self;

    /// Returns the value as it enters the sum. The conversion is exact.
    fn widen(self) -> Self::Sum;

    /// Returns the output for a sum.
    fn narrow(sum: Self::Sum) -> Self;
}

macro_rules! floats {
    ($($ty:ident),*) => { $(
        impl Sample for $ty {
            type Sum = Self;
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn widen(self) -> Self {
                self
            }

            #[inline(always)]
            fn narrow(sum: Self) -> Self {
                sum
            }
        }
    )* };
}
floats!(f32, f64);

impl Sample for u8 {
    type Sum = f32;
    const ZERO: Self = 0;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from(self)
    }

    /// Returns the nearest integer, ties to even, limited to 0 to 255. NaN gives 0.
    #[inline(always)]
    // `clamp` keeps a NaN; the maximum of a NaN and 0 is 0.
    #[allow(clippy::manual_clamp)]
    fn narrow(sum: f32) -> u8 {
        // From 2^23 on adjacent `f32`s are 1 apart, so the addition rounds to an integer. Its low bits hold that integer, but
        // `ptxas` 13.0 converts an `f32` whose low byte is stored (F2IP).
        let rounded = (sum.max(0.0).min(255.0) + 8_388_608.0) - 8_388_608.0;
        // SAFETY: the value is an integer from 0 to 255.
        unsafe { rounded.to_int_unchecked::<u32>() as u8 }
    }
}
