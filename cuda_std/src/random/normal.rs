//! Normal numbers by the Box-Muller method, and the logarithm, sine and cosine that it needs.
//!
//! The functions only cover the ranges that occur here. They have no branches, only a few multiply-adds each, and give the
//! same bits on the GPU and on the CPU. The coefficients in `f32` are minimax approximations, each fitted to the rounding
//! of the ones before. Those in `f64` are Taylor's.

use super::{Fused, uniform_f32, uniform_f64};
use crate::{GpuFloat, imp};

/// A bound below all squares of nonzero radii, and well above the smallest normal number.
const LEAST_SQUARE: f32 = 1.0 / 18_446_744_073_709_551_616.0;

/// The largest magnitude of the numbers of [`normal_pair_f32`], rounded up.
pub const MOST_NORMAL_F32: f32 = 6.78;

/// The largest magnitude of the numbers of [`normal_pair_f64`], rounded up.
pub const MOST_NORMAL_F64: f64 = 8.67;

/// Returns two independent standard normal numbers from two words, by the Box-Muller method ("A note on the generation of
/// random normal deviates", 1958): `sqrt(-2 ln u)` times the cosine and the sine of a random angle, where `u` is the
/// [`uniform_f32`] of the first word and the angle comes from the second.
///
/// The largest magnitude is 6.77, that of `u = 2^-33`. If `u` is 1, the radius is 2^-32 instead of 0, which avoids the
/// special cases of the square root. Each factor is accurate to two units in the last place, and each number to four.
#[inline(always)]
pub fn normal_pair_f32(first: u32, second: u32) -> (f32, f32) {
    normal_pair_scaled_f32(first, second, 0.0, 1.0)
}

/// Returns [`normal_pair_f32`] times `std_dev`, plus `mean`. The radius is multiplied first; each number is then one
/// multiply-add.
#[inline(always)]
pub fn normal_pair_scaled_f32(first: u32, second: u32, mean: f32, std_dev: f32) -> (f32, f32) {
    let square = minus_two_ln_f32(uniform_f32(first)).max(LEAST_SQUARE);
    let radius = imp::float::sqrt_of_normal(square) * std_dev;
    let (cosine, sine) = direction_f32(second);
    (radius.mul_add_(cosine, mean), radius.mul_add_(sine, mean))
}

/// Returns two independent standard normal numbers from four words, like [`normal_pair_f32`], with `u` the [`uniform_f64`]
/// of the first two words and the angle from the last two. The largest magnitude is 8.66. The numbers are accurate to four
/// units in the last place.
#[inline(always)]
pub fn normal_pair_f64(words: [u32; 4]) -> (f64, f64) {
    normal_pair_scaled_f64(words, 0.0, 1.0)
}

/// Returns [`normal_pair_f64`] times `std_dev`, plus `mean`, like [`normal_pair_scaled_f32`].
#[inline(always)]
pub fn normal_pair_scaled_f64(words: [u32; 4], mean: f64, std_dev: f64) -> (f64, f64) {
    let [a, b, c, d] = words;
    let radius = GpuFloat::sqrt(-2.0 * ln_f64(uniform_f64(a, b))) * std_dev;
    let (cosine, sine) = direction_f64(u64::from(c) | u64::from(d) << 32);
    (radius.mul_add_(cosine, mean), radius.mul_add_(sine, mean))
}

/// Returns `-2 ln u` for a normal number `u` in (0, 1], within 2 units in the last place.
///
/// `u = 2^e (1 + f)` with `f` in [-1/3, 1/3); `ln (1 + f) = f P(f)`.
#[inline(always)]
fn minus_two_ln_f32(u: f32) -> f32 {
    /// The bits of 2/3.
    const LEAST: u32 = 0x3f2a_aaab;
    /// `-2 ln 2` scaled for an exponent that is still in its position in the float's bits.
    const PER_EXPONENT: f32 = (-2.0 * core::f64::consts::LN_2 / 8_388_608.0) as f32;
    let bits = u.to_bits();
    let exponent = bits.wrapping_sub(LEAST) & 0xff80_0000;
    let f = f32::from_bits(bits.wrapping_sub(exponent)) - 1.0;
    let mut p = -0.279_185_74_f32;
    p = p.mul_add_(f, 0.317_637_86);
    p = p.mul_add_(f, -0.280_545_3);
    p = p.mul_add_(f, 0.326_502_4);
    p = p.mul_add_(f, -0.400_164_3);
    p = p.mul_add_(f, 0.500_249_7);
    p = p.mul_add_(f, -0.666_665_3);
    p = p.mul_add_(f, 0.999_997_56);
    p = p.mul_add_(f, -2.0);
    p.mul_add_(f, exponent as i32 as f32 * PER_EXPONENT)
}

/// Returns the cosine and the sine of a random angle. The low 30 bits give a part `x` of a quarter turn in [-1/2, 1/2]. The
/// high two bits select one of four quarters: they exchange the two values and flip the sign of the larger one.
///
/// The error is within 1.5 units in the last place, for small sines too.
#[inline(always)]
fn direction_f32(word: u32) -> (f32, f32) {
    let x = (word << 2) as i32 as f32 * (1.0 / 4_294_967_296.0);
    let z = x * x;
    let mut sine = -0.004_685_971_4_f32;
    sine = sine.mul_add_(z, 0.079_712_525);
    sine = sine.mul_add_(z, -0.645_966_65);
    sine = sine.mul_add_(z, core::f32::consts::FRAC_PI_2) * x;
    let mut cosine = -0.020_422_446_f32;
    cosine = cosine.mul_add_(z, 0.253_605_22);
    cosine = cosine.mul_add_(z, -1.233_697_9);
    cosine = cosine.mul_add_(z, 1.0);
    let cosine = f32::from_bits(cosine.to_bits() ^ (word & 0x8000_0000));
    if word & 0x4000_0000 == 0 {
        (cosine, sine)
    } else {
        (sine, cosine)
    }
}

/// Returns [`direction_f32`] in double precision, from 62 and two bits.
#[inline(always)]
fn direction_f64(bits: u64) -> (f64, f64) {
    /// `(-1)^n / (2n + 1)!`, the last first.
    const SINE: [f64; 8] = [
        1.0 / 355_687_428_096_000.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
    ];
    /// `(-1)^n / (2n)!`, the last first.
    const COSINE: [f64; 8] = [
        1.0 / 20_922_789_888_000.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -1.0 / 2.0,
    ];
    let x = (bits << 2) as i64 as f64 * (1.0 / 18_446_744_073_709_551_616.0);
    let angle = x * core::f64::consts::FRAC_PI_2;
    let z = angle * angle;
    let (mut sine, mut cosine) = (SINE[0], COSINE[0]);
    for i in 1..8 {
        sine = sine.mul_add_(z, SINE[i]);
        cosine = cosine.mul_add_(z, COSINE[i]);
    }
    let sine = (sine * z).mul_add_(angle, angle);
    let cosine = cosine.mul_add_(z, 1.0);
    let cosine = f64::from_bits(cosine.to_bits() ^ (bits & 1 << 63));
    if bits & 1 << 62 == 0 {
        (cosine, sine)
    } else {
        (sine, cosine)
    }
}

/// Returns `e` to the power `x`, for any `x` that is not NaN, within 1 unit in the last place. The result is infinity or 0
/// where it is out of range. The function has no branches and gives the same bits on the GPU and on the CPU.
#[inline(always)]
pub fn exp_f32(x: f32) -> f32 {
    // These are two instructions; `clamp`, which keeps NaN, takes four.
    #[allow(clippy::manual_clamp)]
    let (p, exponent) = exp_parts_f32(x.max(-104.0).min(89.0));
    // The scaling has two steps, because the power itself may be out of range: half of the exponent is added to that of
    // `p`, which is near 1, and the rest is a factor whose product is rounded.
    let half = exponent >> 1;
    raised_f32(p, half) * raised_f32(1.0, exponent - half)
}

/// Returns [`exp_f32`] for `x` from -87 to 88, where the result is a normal number, with the same bits and fewer
/// instructions. For any other `x` the result is unspecified.
#[inline(always)]
pub fn exp_moderate_f32(x: f32) -> f32 {
    let (p, exponent) = exp_parts_f32(x);
    raised_f32(p, exponent)
}

/// Returns `p` near 1 and an exponent, such that `p` times 2 to the exponent is `e` to the power `x`.
#[inline(always)]
fn exp_parts_f32(x: f32) -> (f32, i32) {
    /// Adding this leaves the nearest integer in a float's low bits.
    const ROUND: f32 = 12_582_912.0;
    /// `ln 2` as a sum of two floats. The high part has so few bits that its products with exponents are exact.
    const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
    let shifted = x.mul_add_(core::f32::consts::LOG2_E, ROUND);
    let exponent = shifted - ROUND;
    let f = exponent.mul_add_(-LN_2[0], x);
    let f = exponent.mul_add_(-LN_2[1], f);
    let mut p = 0.001_380_57_f32;
    p = p.mul_add_(f, 0.008_367_901);
    p = p.mul_add_(f, 0.041_668_22);
    p = p.mul_add_(f, 0.166_665_23);
    p = p.mul_add_(f, 0.499_999_94);
    p = p.mul_add_(f, 1.0);
    p = p.mul_add_(f, 1.0);
    (p, shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32)
}

/// Returns `x` times a power of 2, where both are normal numbers.
#[inline(always)]
fn raised_f32(x: f32, by: i32) -> f32 {
    f32::from_bits(x.to_bits().wrapping_add((by << 23) as u32))
}

/// Returns `e` to the power `x`, for any `x` that is not NaN: [`exp_f32`] in double precision.
#[inline(always)]
pub fn exp_f64(x: f64) -> f64 {
    let (p, exponent) = exp_parts_f64(x.clamp(-746.0, 710.0));
    let half = exponent >> 1;
    p * power_f64(half) * power_f64(exponent - half)
}

/// Returns [`exp_f64`] for `x` from -708 to 709, like [`exp_moderate_f32`].
#[inline(always)]
pub fn exp_moderate_f64(x: f64) -> f64 {
    let (p, exponent) = exp_parts_f64(x);
    p * power_f64(exponent)
}

/// Returns a number near 1 and an exponent, like [`exp_parts_f32`].
#[inline(always)]
fn exp_parts_f64(x: f64) -> (f64, i32) {
    /// Adding this leaves the nearest integer in a float's low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// `ln 2` as in [`exp_parts_f32`]. The bits are those of fdlibm's constants.
    const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    /// `1 / n!`, the last first.
    const TERMS: [f64; 14] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        1.0 / 2.0,
        1.0,
        1.0,
    ];
    let exponent = x.mul_add_(core::f64::consts::LOG2_E, ROUND) - ROUND;
    let f = exponent.mul_add_(-LN_2[0], x);
    let f = exponent.mul_add_(-LN_2[1], f);
    let mut p = TERMS[0];
    for i in 1..TERMS.len() {
        p = p.mul_add_(f, TERMS[i]);
    }
    (p, exponent as i32)
}

/// Returns 2 to a power that is the exponent of a normal number.
#[inline(always)]
fn power_f64(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Returns the natural logarithm of a positive normal number, within 2 units in the last place.
///
/// `x = 2^e (1 + f)` with `f` in [-1/3, 1/3). `ln (1 + f)` is twice the inverse hyperbolic tangent of `f / (2 + f)`,
/// computed by its series.
#[inline(always)]
pub(super) fn ln_f64(x: f64) -> f64 {
    /// The bits of 2/3, rounded up.
    const LEAST: u64 = 0x3fe5_5555_5555_5556;
    /// `ln 2` as a sum of two floats. The high part has so few bits that its products with exponents are exact.
    const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    let bits = x.to_bits();
    let exponent = bits.wrapping_sub(LEAST) & 0xfff0_0000_0000_0000;
    let f = f64::from_bits(bits.wrapping_sub(exponent)) - 1.0;
    let exponent = (exponent as i64 >> 52) as i32 as f64;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut p = 2.0 / 23.0;
    for i in 0..10 {
        p = p.mul_add_(z, 2.0 / (21.0 - 2.0 * i as f64));
    }
    // `f - s f` is `2 s`, and `f` is exact.
    let tail = (p * z).mul_add_(s, exponent * LN_2[1]);
    exponent.mul_add_(LN_2[0], f - (s * f - tail))
}
