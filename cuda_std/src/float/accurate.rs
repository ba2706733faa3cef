//! Functions of `f32` with errors below one unit in the last place, fast on the GPU.
//!
//! Each function reduces its argument and evaluates a polynomial, in `f32` with explicit [`GpuFloat::mul_add`]: some 20 to
//! 100 instructions, without tables, calls or local memory. The order of operations is fixed, so the CPU and the GPU give
//! the same bits (except that the bits of a NaN may differ). Subnormal arguments and results, infinities, NaN and signed
//! zeros behave as in C.
//!
//! ```text
//! exp2(h + l):  n = round(h), r = (h - n) + l               2^n * (1 + r P(r)), |r| <= 1/2
//! exp(x):       h + l = x * log2(e) in two floats           exp2(h + l)
//! ln(x):        x = m * 2^e, f = m - 1                      e * ln(2) + f - f^2 / 2 + f^3 P(f), m in [sqrt(1/2), sqrt(2))
//! sin(x):       |x| = n * pi/2 + r, |r| <= about pi/4       sine or cosine of r by n mod 2, the sign by n mod 4 and x
//! tanh(x):      below 0.625                                 x + x^3 P(x^2)
//!               above                                       1 - 2 / (e^2x + 1)
//! pow(x, y):    h + l = y * log2(|x|) in two floats         exp2(h + l)
//! ```
//!
//! `P` is a polynomial of its own in each.
//!
//! Each error is below one unit in the last place of the result, which is 2^-149 for a subnormal result. `warpwright ulp
//! --full` has tried every argument, and 2^28 pairs of [`pow`], on the CPU and on an H100. The repository's `docs/ULP.md`
//! lists the largest error of each function.
//!
//! The polynomials are minimax fits to the remainder of each function after its first terms, found by Remez' exchange or by
//! iteratively reweighted least squares. The coefficients are rounded to `f32` one after the other from the lowest, and the
//! rest are fitted again each time. [`GpuFloat`]'s methods of the same names call these functions for `f32`.

use super::GpuFloat;

/// `1.5 * 2^23`. Adding it to a number below 2^22 rounds the number to an integer, which is then in the low bits.
const ROUND: f32 = 12_582_912.0;
/// 2^23, the scale that makes a subnormal normal.
const TWO_23: f32 = 8_388_608.0;
/// `log2(e)` as a sum of two floats.
const LOG2_E: [f32; 2] = [core::f32::consts::LOG2_E, 1.925_963e-8];
/// `ln(2)` as a sum of two floats.
const LN_2: [f32; 2] = [core::f32::consts::LN_2, -1.904_654_2e-9];

#[inline(always)]
fn fma(a: f32, b: f32, c: f32) -> f32 {
    GpuFloat::mul_add(a, b, c)
}

/// Evaluates the polynomial with these coefficients, the lowest first, by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[N - 1];
    for i in 1..N {
        value = fma(value, x, coefficients[N - 1 - i]);
    }
    value
}

/// Returns `2^n` for `n` from -126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// Converts an integer below 2^22 to a float, which is cheaper than the conversion instruction.
#[inline(always)]
fn small_integer(n: i32) -> f32 {
    f32::from_bits(ROUND.to_bits().wrapping_add(n as u32)) - ROUND
}

/// Returns `value * 2^n` for a `value` near 1 and `n` from -252 to 254, rounded once.
#[inline(always)]
fn scale(value: f32, n: i32) -> f32 {
    // The first product is exact. Two factors are used because 2^n may be out of range when the result is not.
    let half = n >> 1;
    value * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// Returns `1 / d` with a relative error of about 3e-6, for positive normal numbers: a first guess from the exponent, then
/// a cubic and a quadratic step of Newton's method.
#[inline(always)]
fn rough_reciprocal(d: f32) -> f32 {
    let guess = f32::from_bits(0x7ef3_11c7_u32.wrapping_sub(d.to_bits()));
    let e = fma(-d, guess, 1.0);
    let better = fma(guess, fma(e, e, e), guess);
    let e = fma(-d, better, 1.0);
    fma(better, e, better)
}

/// Returns the integer that adding [`ROUND`] left in the low bits.
#[inline(always)]
fn integer_of(shifted: f32) -> i32 {
    shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32
}

/// Clamps `x` to the range from `least` to `most`. NaN stays NaN.
#[inline(always)]
fn clamp(x: f32, least: f32, most: f32) -> f32 {
    let x = if x > most { most } else { x };
    if x < least { least } else { x }
}

/// Returns `e^x`.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Beyond these bounds the result is 0 or infinity.
    let x = clamp(x, -104.0, 89.0);
    let high = x * LOG2_E[0];
    exp2_of_sum(high, fma(x, LOG2_E[1], fma(x, LOG2_E[0], -high)))
}

/// Returns `2^x`.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    exp2_of_sum(clamp(x, -151.0, 129.0), 0.0)
}

/// Returns `2^(high + low)`, for `high` from -151 to 129 and a small `low`.
#[inline(always)]
fn exp2_of_sum(high: f32, low: f32) -> f32 {
    /// `(2^r - 1) / r` for `|r| <= 1/2`; the error is 2^-28 of `2^r`.
    const COEFFICIENTS: [f32; 6] = [
        6.931_472e-1,
        2.402_264_8e-1,
        5.550_359_6e-2,
        9.618_5e-3,
        1.339_097_6e-3,
        1.532_894_4e-4,
    ];
    let shifted = high + ROUND;
    let r = (high - (shifted - ROUND)) + low;
    let value = fma(r, polynomial(r, COEFFICIENTS), 1.0);
    scale(value, integer_of(shifted))
}

/// Returns `m` and `e` with `x = m * 2^e` and `m` in [sqrt(1/2), sqrt(2)), for positive finite `x`.
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    let subnormal = x < f32::MIN_POSITIVE;
    let bits = if subnormal { x * TWO_23 } else { x }.to_bits();
    // The exponent of x / sqrt(1/2), rounded down.
    let e = (bits.wrapping_sub(0x3f35_04f3) as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((e << 23) as u32));
    (m, small_integer(if subnormal { e - 23 } else { e }))
}

/// Returns the logarithm's special value if `x` is not a positive finite number, else `value`.
#[inline(always)]
fn logarithm(x: f32, value: f32) -> f32 {
    if x > 0.0 && x < f32::INFINITY {
        value
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else if x > 0.0 {
        x
    } else {
        f32::NAN
    }
}

/// Returns the natural logarithm of `x`.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    /// `(ln(1 + f) - f + f^2 / 2) / f^3`; the error is 2^-27 of the logarithm.
    const COEFFICIENTS: [f32; 8] = [
        3.333_333e-1,
        -2.500_082e-1,
        2.000_124_3e-1,
        -1.662_340_9e-1,
        1.420_153_7e-1,
        -1.315_957_2e-1,
        1.276_253_5e-1,
        -7.636_943_5e-2,
    ];
    /// `ln(2)` rounded to 16 bits, so that its product with the exponent is exact, and the remainder.
    const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
    let (m, e) = split(x);
    let f = m - 1.0;
    // The exponent's part plus `f`, exactly, as `sum + lost`.
    let part = e * LN_2[0];
    let sum = part + f;
    let lost = f - (sum - part);
    let q = fma(f, polynomial(f, COEFFICIENTS), -0.5);
    logarithm(x, sum + fma(f * f, q, fma(e, LN_2[1], lost)))
}

/// Returns the logarithm of `x` to base 2.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    /// `(log2(1 + f) / f - log2(e)) / f`; the error is 2^-27 of the logarithm.
    const COEFFICIENTS: [f32; 9] = [
        -7.213_473_3e-1,
        4.808_982e-1,
        -3.606_986_4e-1,
        2.885_714e-1,
        -2.395_684_4e-1,
        2.044_881_1e-1,
        -1.913_813_2e-1,
        1.870_723_5e-1,
        -1.102_616_5e-1,
    ];
    let (m, e) = split(x);
    let f = m - 1.0;
    let linear = f * LOG2_E[0];
    let low = fma(f, LOG2_E[1], fma(f, LOG2_E[0], -linear));
    let sum = e + linear;
    let lost = linear - (sum - e);
    let rest = fma(f * f, polynomial(f, COEFFICIENTS), low + lost);
    logarithm(x, sum + rest)
}

/// The bound of the near range: below it the number of quarter turns has 16 bits, and the first product and difference of
/// [`reduce_near`] are exact.
const NEAR: f32 = 100_000.0;

/// Reduces an angle `x >= 0` by quarter turns. Returns the number of quarter turns modulo 4 (in the low bits), and the rest
/// as a sum of two floats, at most about π/4.
#[inline(always)]
fn reduce(x: f32) -> (u32, f32, f32) {
    if x < NEAR {
        reduce_near(x)
    } else {
        reduce_large(x)
    }
}

/// Reduces an angle below [`NEAR`], like [`reduce`].
#[inline(always)]
fn reduce_near(x: f32) -> (u32, f32, f32) {
    /// π/2 as a sum of three floats.
    const QUARTER: [f32; 3] = [1.570_796_4, -4.371_139e-8, -1.715_124_5e-15];
    let shifted = fma(x, core::f32::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    let first = fma(n, -QUARTER[0], x);
    // `first` and `part` may cancel, so the rounding errors are kept.
    let part = n * QUARTER[1];
    let part_low = fma(n, QUARTER[1], -part);
    let high = first - part;
    let lost = (first - high) - part;
    (
        shifted.to_bits(),
        high,
        fma(n, -QUARTER[2], lost - part_low),
    )
}

/// Reduces an angle from 2^16 on, like [`reduce`], by the method of Payne and Hanek, "Radian reduction for trigonometric
/// functions", 1983: only those bits of 2/π matter that give neither whole turns nor negligible fractions.
#[inline(always)]
fn reduce_large(x: f32) -> (u32, f32, f32) {
    /// 2/π * 2^-16, as a fraction of 256 bits.
    const TWO_OVER_PI: [u128; 2] = [
        0x0000_a2f9_836e_4e44_1529_fc27_57d1_f534,
        0xddc0_db62_9599_3c43_9041_fe51_63ab_debb,
    ];
    /// π/2 * 2^-64.
    const QUARTER: f64 = core::f64::consts::FRAC_PI_2 / 18_446_744_073_709_551_616.0;
    if !x.is_finite() {
        return (0, f32::NAN, f32::NAN);
    }
    let bits = x.to_bits();
    let mantissa = (bits & 0x007f_ffff) | 0x0080_0000;
    // x = mantissa * 2^(exponent - 150). The shift drops whole turns and leaves the fraction.
    let shift = (bits >> 23) - 136;
    let window = (TWO_OVER_PI[0] << shift) | (TWO_OVER_PI[1] >> (128 - shift));
    let turns = window.wrapping_mul(u128::from(mantissa));
    let rest = (turns >> 62) as u64 as i64;
    let quarters = ((turns >> 126) as u32).wrapping_add(u32::from(rest < 0));
    let angle = rest as f64 * QUARTER;
    let high = angle as f32;
    (quarters, high, (angle - f64::from(high)) as f32)
}

/// Returns the sine of `high + low`, which is at most about π/4.
#[inline(always)]
fn sin_of_rest(high: f32, low: f32) -> f32 {
    /// `(sin(r) / r - 1) / r^2` in `r^2`; the error is 2^-28 of the sine.
    const COEFFICIENTS: [f32; 3] = [-1.666_665_4e-1, 8.332_101e-3, -1.950_658_5e-4];
    let square = high * high;
    high + fma(high * square, polynomial(square, COEFFICIENTS), low)
}

/// Returns the cosine of `high + low`, which is at most about π/4.
#[inline(always)]
fn cos_of_rest(high: f32, low: f32) -> f32 {
    /// `(cos(r) - 1 + r^2 / 2) / r^4` in `r^2`; the error is 2^-33.
    const COEFFICIENTS: [f32; 3] = [4.166_664_6e-2, -1.388_729_3e-3, 2.442_908_6e-5];
    let square = high * high;
    let small = fma(
        square,
        square * polynomial(square, COEFFICIENTS),
        -(high * low),
    );
    // The square is rounded, so the largest term is computed without it.
    1.0 + fma(high * -0.5, high, small)
}

/// Returns `value` with its sign flipped if bit 1 of `quarters` is set, and flipped again if `sign` is negative.
#[inline(always)]
fn with_sign(value: f32, quarters: u32, sign: f32) -> f32 {
    let flip = ((quarters << 30) ^ sign.to_bits()) & 0x8000_0000;
    f32::from_bits(value.to_bits() ^ flip)
}

/// Returns the sine of `x` from the reduction of its magnitude.
#[inline(always)]
fn sin_of_reduced((quarters, high, low): (u32, f32, f32), x: f32) -> f32 {
    let (sin, cos) = (sin_of_rest(high, low), cos_of_rest(high, low));
    with_sign(if quarters & 1 == 0 { sin } else { cos }, quarters, x)
}

/// Returns the cosine from the reduction of the angle.
#[inline(always)]
fn cos_of_reduced((quarters, high, low): (u32, f32, f32), _x: f32) -> f32 {
    let (sin, cos) = (sin_of_rest(high, low), cos_of_rest(high, low));
    let quarters = quarters.wrapping_add(1);
    with_sign(if quarters & 1 == 0 { sin } else { cos }, quarters, 0.0)
}

/// Applies `of_reduced` to several numbers, with one branch for all of them: numbers that are not [`NEAR`] are computed
/// again.
#[inline(always)]
fn each_reduced<const N: usize>(
    x: [f32; N],
    of_reduced: impl Fn((u32, f32, f32), f32) -> f32,
) -> [f32; N] {
    let (mut values, mut far) = ([0.0; N], false);
    for i in 0..N {
        let size = x[i].abs();
        // A NaN is not near.
        let near = size < NEAR;
        far |= !near;
        values[i] = of_reduced(reduce_near(size), x[i]);
    }
    if far {
        for i in 0..N {
            let size = x[i].abs();
            let near = size < NEAR;
            if !near {
                values[i] = of_reduced(reduce_large(size), x[i]);
            }
        }
    }
    values
}

/// Returns the sine of `x` radians. Infinities give NaN.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    sin_of_reduced(reduce(x.abs()), x)
}

/// Returns [`sin`] of several numbers, with the same bits as one by one, but faster.
#[inline(always)]
pub fn sin_each<const N: usize>(x: [f32; N]) -> [f32; N] {
    each_reduced(x, sin_of_reduced)
}

/// Returns the cosine of `x` radians. Infinities give NaN.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    cos_of_reduced(reduce(x.abs()), x)
}

/// Returns [`cos`] of several numbers, with the same bits as one by one, but faster.
#[inline(always)]
pub fn cos_each<const N: usize>(x: [f32; N]) -> [f32; N] {
    each_reduced(x, cos_of_reduced)
}

/// Returns [`sin`] and [`cos`] at little more than the cost of one.
#[inline(always)]
pub fn sin_cos(x: f32) -> (f32, f32) {
    let (quarters, high, low) = reduce(x.abs());
    let (sin, cos) = (sin_of_rest(high, low), cos_of_rest(high, low));
    let (a, b) = if quarters & 1 == 0 {
        (sin, cos)
    } else {
        (cos, sin)
    };
    (
        with_sign(a, quarters, x),
        with_sign(b, quarters.wrapping_add(1), 0.0),
    )
}

/// Returns the hyperbolic tangent of `x`.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    /// `(tanh(x) / x - 1) / x^2` in `x^2`, for `x` below 0.625; the error is 2^-28 of the tangent.
    const COEFFICIENTS: [f32; 5] = [
        -3.333_328_4e-1,
        1.333_148_3e-1,
        -5.374_277_4e-2,
        2.064_806_2e-2,
        -5.714_063_5e-3,
    ];
    let size = x.abs();
    let value = if size < 0.625 {
        let square = size * size;
        fma(size * square, polynomial(square, COEFFICIENTS), size)
    } else {
        tanh_large(if size > 10.0 { 10.0 } else { size })
    };
    value.copysign(x)
}

/// Returns `1 - 2 / (e^2x + 1)` for `x` from 0.6 to 10. For small `x` the quotient is half of 1, so the exponential and the
/// sum are carried as sums of two floats.
#[inline(always)]
fn tanh_large(x: f32) -> f32 {
    /// `(e^r - 1 - r) / r^2` for `|r| <= ln(2) / 2`; the error is 2^-28 of `e^r`.
    const EXP: [f32; 5] = [
        4.999_999_4e-1,
        1.666_651_7e-1,
        4.166_810_2e-2,
        8.369_192_5e-3,
        1.383_890_3e-3,
    ];
    let shifted = fma(2.0 * x, LOG2_E[0], ROUND);
    let n = shifted - ROUND;
    let first = fma(n, -LN_2[0], 2.0 * x);
    let r = fma(n, -LN_2[1], first);
    let r_low = fma(n, -LN_2[1], first - r);
    // e^r - 1.
    let (square, q) = (r * r, polynomial(r, EXP));
    let s = fma(square, q, r);
    let s_low = fma(square, q, r - s) + r_low;
    let power = power_of_two(integer_of(shifted));
    let d = fma(power, s, power + 1.0);
    let d_low = fma(power, s_low, fma(power, s, (power + 1.0) - d));
    let reciprocal = rough_reciprocal(d);
    let e = fma(-d_low, reciprocal, fma(-d, reciprocal, 1.0));
    let quotient = 2.0 * reciprocal;
    let value = 1.0 - quotient;
    let lost = (1.0 - value) - quotient;
    value + fma(-quotient, e, lost)
}

/// Returns `log2(x)` of a positive finite `x` as a sum of two floats, with a relative error of about 2^-36.
#[inline(always)]
fn log2_twice(x: f32) -> (f32, f32) {
    /// `2 log2(e)` and a third of it: the first two terms of the series.
    const LINEAR: [f32; 2] = [2.885_39, 3.851_926e-8];
    const CUBIC: [f32; 2] = [0.961_796_7, -7.028_462e-9];
    /// The rest of the series divided by `s^5`, in `s^2`.
    const COEFFICIENTS: [f32; 3] = [5.770_802e-1, 4.118_499e-1, 3.378_220_2e-1];
    let (m, e) = split(x);
    // log2(m) is a series in s = (m - 1) / (m + 1), which is computed as a sum of two floats.
    let (f, d) = (m - 1.0, m + 1.0);
    let d_low = m - (d - 1.0);
    let reciprocal = rough_reciprocal(d);
    let s = f * reciprocal;
    let s_low = fma(-s, d_low, fma(-s, d, f)) * reciprocal;
    let u = s * s;
    let u_low = fma(s + s, s_low, fma(s, s, -u));
    let q = u * polynomial(u, COEFFICIENTS);
    let c = CUBIC[0] + q;
    let c_low = (CUBIC[0] - c) + q + CUBIC[1];
    let w = u * c;
    let w_low = fma(u, c_low, fma(u_low, c, fma(u, c, -w)));
    let g = LINEAR[0] + w;
    let g_low = (LINEAR[0] - g) + w + (LINEAR[1] + w_low);
    let l = s * g;
    let l_low = fma(s, g_low, fma(s_low, g, fma(s, g, -l)));
    let high = e + l;
    (high, (e - high) + l + l_low)
}

/// Returns `x` to the power `y`, with the special cases of C's `pow`.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let size = x.abs();
    let (log, log_low) = log2_twice(size);
    let regular = size > 0.0 && size < f32::INFINITY;
    let log = logarithm(size, log);
    // The logarithm of 1 is 0, and stays 0 when multiplied by infinity.
    let high = if log == 0.0 { 0.0 } else { y * log };
    // Far out of range the low part may be NaN and is ignored.
    let low = if regular && log != 0.0 && high.abs() < 256.0 {
        fma(y, log_low, fma(y, log, -high))
    } else {
        0.0
    };
    let value = exp2_of_sum(clamp(high, -151.0, 129.0), low);
    let whole = GpuFloat::trunc(y) == y;
    let half = y * 0.5;
    let odd = whole && GpuFloat::trunc(half) != half;
    let value = if odd { value.copysign(x) } else { value };
    if y == 0.0 || x == 1.0 {
        1.0
    } else if x.is_nan() || y.is_nan() || (x < 0.0 && regular && !whole) {
        f32::NAN
    } else {
        value
    }
}
