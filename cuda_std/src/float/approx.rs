//! The hardware's approximations of `f32` functions: one or two instructions each.
//!
//! The error bounds are those of the PTX ISA ("Floating Point Instructions", `.approx` forms), except for two that an H100
//! missed when every argument was tried (`warpwright ulp --full`): see [`cos`] and [`div`]. On the CPU executor each
//! function is the `f64` function of `libm`, rounded: within the same bounds, but with other bits than the GPU's. Subnormal
//! operands and results are kept unless stated otherwise. NaN gives NaN.

use crate::imp::float as imp;

/// Returns `2^x`, with a relative error of at most `2^-22`.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    imp::exp2(x)
}

/// Returns the logarithm of `x` to base 2. The absolute error is at most `2^-22` for `x` in (0.5, 2), the relative error at
/// most `2^-22` elsewhere.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    imp::log2(x)
}

/// Returns the sine of `x` radians. The absolute error is at most `2^-20.5` for `x` in [-2π, 2π] and `2^-14.7` in [-100π,
/// 100π]. There is no bound elsewhere.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    imp::sin(x)
}

/// Returns the cosine of `x` radians. The absolute error is at most `2^-20.4` for `x` in [-2π, 2π] (the PTX ISA says
/// `2^-20.5`) and `2^-14.7` in [-100π, 100π]. There is no bound elsewhere.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    imp::cos(x)
}

/// Returns the hyperbolic tangent of `x`, with a relative error of at most `2^-11`.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    imp::tanh(x)
}

/// Returns the square root of `x`, with a relative error of at most `2^-23`.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    imp::sqrt(x)
}

/// Returns `1 / sqrt(x)`, with a relative error of at most `2^-22.9`.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    imp::rsqrt(x)
}

/// Returns `1 / x`, with an error of at most one unit in the last place.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    imp::recip(x)
}

/// Returns `a / b`, with an error of at most 2.1 units in the last place for all values (`div.full.f32`; the PTX ISA says
/// two).
#[inline(always)]
pub fn div(a: f32, b: f32) -> f32 {
    imp::div(a, b)
}

/// Returns `e^x`, computed as `exp2(x * log2(e))`. The relative error grows with `|x|`: it is at most `2^-22 + |x| 2^-23`.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * core::f32::consts::LOG2_E)
}

/// Returns the natural logarithm of `x`, computed as `log2(x) * ln(2)`. The absolute error is at most `2^-22` for `x` in
/// (0.5, 2), the relative error at most `2^-21` elsewhere.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    log2(x) * core::f32::consts::LN_2
}
