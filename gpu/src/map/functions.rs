//! The library's functions of `f32`, for maps.
//!
//! The accurate functions are those of [`cuda_std::float::accurate`], whose page lists their errors. [`approx`] has the
//! hardware's approximations.

use cuda_std::{GpuFloat, float::accurate, map::MapFn};

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: |$x:ident| $value:expr $(, each: $each:path)?;)*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name;

        // SAFETY: the type has no fields.
        unsafe impl MapFn for $name {
            type In = f32;
            type Out = f32;

            #[inline(always)]
            fn call(self, _index: usize, $x: f32) -> f32 {
                $value
            }

            $(
                #[inline(always)]
                fn call_chunk<const N: usize>(self, _index: usize, x: [f32; N]) -> [f32; N] {
                    $each(x)
                }
            )?
        }
    )* };
}

functions! {
    /// The sine, in radians.
    Sin: |x| accurate::sin(x), each: accurate::sin_each;
    /// The cosine, in radians.
    Cos: |x| accurate::cos(x), each: accurate::cos_each;
    /// `e^x`.
    Exp: |x| accurate::exp(x);
    /// `2^x`.
    Exp2: |x| accurate::exp2(x);
    /// The natural logarithm.
    Ln: |x| accurate::ln(x);
    /// The logarithm to base 2.
    Log2: |x| accurate::log2(x);
    /// The hyperbolic tangent.
    Tanh: |x| accurate::tanh(x);
    /// The square root, rounded once.
    Sqrt: |x| GpuFloat::sqrt(x);
    /// The absolute value.
    Abs: |x| x.abs();
    /// The negative.
    Neg: |x| -x;
}

/// `x` to the power `exponent`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pow {
    /// The exponent.
    pub exponent: f32,
}

// SAFETY: the type is a plain number.
unsafe impl MapFn for Pow {
    type In = f32;
    type Out = f32;

    #[inline(always)]
    fn call(self, _index: usize, x: f32) -> f32 {
        accurate::pow(x, self.exponent)
    }
}

/// `factor * x + offset`, rounded once.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The factor of `x`.
    pub factor: f32,
    /// The summand.
    pub offset: f32,
}

impl Scale {
    /// `x + offset`, rounded once.
    pub const fn add(offset: f32) -> Self {
        Self {
            factor: 1.0,
            offset,
        }
    }

    /// `factor * x`, rounded once.
    pub const fn multiply(factor: f32) -> Self {
        // Adding -0 changes nothing, not even the sign of a zero.
        Self {
            factor,
            offset: -0.0,
        }
    }
}

// SAFETY: the type is two plain numbers.
unsafe impl MapFn for Scale {
    type In = f32;
    type Out = f32;

    #[inline(always)]
    fn call(self, _index: usize, x: f32) -> f32 {
        GpuFloat::mul_add(x, self.factor, self.offset)
    }
}

/// `factor * x + y` for two arrays, rounded once.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleAdd {
    /// The factor of `x`.
    pub factor: f32,
}

// SAFETY: the type is a plain number.
unsafe impl MapFn for ScaleAdd {
    type In = (f32, f32);
    type Out = f32;

    #[inline(always)]
    fn call(self, _index: usize, (x, y): (f32, f32)) -> f32 {
        GpuFloat::mul_add(x, self.factor, y)
    }
}

/// `x` to the power `y` for two arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowPairs;

// SAFETY: the type has no fields.
unsafe impl MapFn for PowPairs {
    type In = (f32, f32);
    type Out = f32;

    #[inline(always)]
    fn call(self, _index: usize, (x, y): (f32, f32)) -> f32 {
        accurate::pow(x, y)
    }
}

/// The hardware's approximations, from [`cuda_std::float::approx`], whose page lists their errors. Unlike the other functions
/// they do not give the same bits on the CPU.
pub mod approx {
    use super::MapFn;
    use cuda_std::float::approx;

    functions! {
        /// The sine, in radians.
        Sin: |x| approx::sin(x);
        /// The cosine, in radians.
        Cos: |x| approx::cos(x);
        /// `e^x`.
        Exp: |x| approx::exp(x);
        /// `2^x`.
        Exp2: |x| approx::exp2(x);
        /// The natural logarithm.
        Ln: |x| approx::ln(x);
        /// The logarithm to base 2.
        Log2: |x| approx::log2(x);
        /// The hyperbolic tangent.
        Tanh: |x| approx::tanh(x);
        /// The square root.
        Sqrt: |x| approx::sqrt(x);
        /// `1 / sqrt(x)`.
        Rsqrt: |x| approx::rsqrt(x);
        /// `1 / x`.
        Recip: |x| approx::recip(x);
    }

    /// `x / y` for two arrays.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Div;

    // SAFETY: the type has no fields.
    unsafe impl MapFn for Div {
        type In = (f32, f32);
        type Out = f32;

        #[inline(always)]
        fn call(self, _index: usize, (x, y): (f32, f32)) -> f32 {
            approx::div(x, y)
        }
    }
}
