//! The hardware's approximations of `f32` functions: one or two instructions each.
//!
//! The bounds are those of the PTX ISA ("Floating Point Instructions", `.approx` forms), but for two that an
//! H100 was seen to miss, when every argument was tried (`warpwright ulp --full`): see [`cos`] and [`div`]. On the CPU
//! executor each is the `f64` function of `libm`, rounded: within the same bounds, but not the same bits
//! as on the GPU. Subnormal operands and results are kept where not said otherwise; NaN gives NaN.

use crate::imp::float as imp;

/// `2^x`; relative error at most `2^-22`.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    imp::exp2(x)
}

/// The logarithm of `x` to base 2; absolute error at most `2^-22` for `x` in (0.5, 2), relative error at
/// most `2^-22` elsewhere.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    imp::log2(x)
}

/// The sine of `x` radians; absolute error at most `2^-20.5` for `x` in [-2π, 2π], `2^-14.7` in
/// [-100π, 100π]; no bound elsewhere.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    imp::sin(x)
}

/// The cosine of `x` radians; absolute error at most `2^-20.4` for `x` in [-2π, 2π] (the PTX ISA says `2^-20.5`),
/// `2^-14.7` in [-100π, 100π]; no bound elsewhere.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    imp::cos(x)
}

/// The hyperbolic tangent; relative error at most `2^-11`.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    imp::tanh(x)
}

/// The square root; relative error at most `2^-23`.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    imp::sqrt(x)
}

/// `1 / sqrt(x)`; relative error at most `2^-22.9`.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    imp::rsqrt(x)
}

/// `1 / x`; error at most one unit in the last place.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    imp::recip(x)
}

/// `a / b`; error at most 2.1 units in the last place for all values (`div.full.f32`; the PTX ISA says two).
#[inline(always)]
pub fn div(a: f32, b: f32) -> f32 {
    imp::div(a, b)
}

/// `e^x` as `exp2(x * log2(e))`; the relative error grows with `|x|`: at most `2^-22 + |x| 2^-23`.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * core::f32::consts::LOG2_E)
}

/// The natural logarithm as `log2(x) * ln(2)`; absolute error at most `2^-22` for `x` in (0.5, 2),
/// relative error at most `2^-21` elsewhere.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    log2(x) * core::f32::consts::LN_2
}
