//! Functions of floats.

use crate::{FloatExt, GpuFloat, float::approx};

functions! {
    /// Returns the arc cosine of `x`.
    acos(x: f64) -> f64 = GpuFloat::acos(x);
    /// Returns the arc cosine of `x`.
    acosf(x: f32) -> f32 = GpuFloat::acos(x);
    /// Returns the inverse hyperbolic cosine of `x`.
    acosh(x: f64) -> f64 = GpuFloat::acosh(x);
    /// Returns the inverse hyperbolic cosine of `x`.
    acoshf(x: f32) -> f32 = GpuFloat::acosh(x);
    /// Returns the arc sine of `x`.
    asin(x: f64) -> f64 = GpuFloat::asin(x);
    /// Returns the arc sine of `x`.
    asinf(x: f32) -> f32 = GpuFloat::asin(x);
    /// Returns the inverse hyperbolic sine of `x`.
    asinh(x: f64) -> f64 = GpuFloat::asinh(x);
    /// Returns the inverse hyperbolic sine of `x`.
    asinhf(x: f32) -> f32 = GpuFloat::asinh(x);
    /// Returns the arc tangent of `x`.
    atan(x: f64) -> f64 = GpuFloat::atan(x);
    /// Returns the arc tangent of `x`.
    atanf(x: f32) -> f32 = GpuFloat::atan(x);
    /// Returns the inverse hyperbolic tangent of `x`.
    atanh(x: f64) -> f64 = GpuFloat::atanh(x);
    /// Returns the inverse hyperbolic tangent of `x`.
    atanhf(x: f32) -> f32 = GpuFloat::atanh(x);
    /// Returns the cube root of `x`.
    cbrt(x: f64) -> f64 = GpuFloat::cbrt(x);
    /// Returns the cube root of `x`.
    cbrtf(x: f32) -> f32 = GpuFloat::cbrt(x);
    /// Returns the least integer that is not below `x`.
    ceil(x: f64) -> f64 = GpuFloat::ceil(x);
    /// Returns the least integer that is not below `x`.
    ceilf(x: f32) -> f32 = GpuFloat::ceil(x);
    /// Returns the cosine of `x`.
    cos(x: f64) -> f64 = GpuFloat::cos(x);
    /// Returns the cosine of `x`.
    cosf(x: f32) -> f32 = GpuFloat::cos(x);
    /// Returns the hyperbolic cosine of `x`.
    cosh(x: f64) -> f64 = GpuFloat::cosh(x);
    /// Returns the hyperbolic cosine of `x`.
    coshf(x: f32) -> f32 = GpuFloat::cosh(x);
    /// Returns `e` to the power `x`.
    exp(x: f64) -> f64 = GpuFloat::exp(x);
    /// Returns `e` to the power `x`.
    expf(x: f32) -> f32 = GpuFloat::exp(x);
    /// Returns 2 to the power `x`.
    exp2(x: f64) -> f64 = GpuFloat::exp2(x);
    /// Returns 2 to the power `x`.
    exp2f(x: f32) -> f32 = GpuFloat::exp2(x);
    /// Returns `e` to the power `x`, minus 1.
    expm1(x: f64) -> f64 = GpuFloat::exp_m1(x);
    /// Returns `e` to the power `x`, minus 1.
    expm1f(x: f32) -> f32 = GpuFloat::exp_m1(x);
    /// Returns the magnitude of `x`.
    fabs(x: f64) -> f64 = GpuFloat::abs(x);
    /// Returns the magnitude of `x`.
    fabsf(x: f32) -> f32 = GpuFloat::abs(x);
    /// Returns the greatest integer that is not above `x`.
    floor(x: f64) -> f64 = GpuFloat::floor(x);
    /// Returns the greatest integer that is not above `x`.
    floorf(x: f32) -> f32 = GpuFloat::floor(x);
    /// Returns the natural logarithm of `x`.
    log(x: f64) -> f64 = GpuFloat::ln(x);
    /// Returns the natural logarithm of `x`.
    logf(x: f32) -> f32 = GpuFloat::ln(x);
    /// Returns the logarithm of `x` to base 10.
    log10(x: f64) -> f64 = GpuFloat::log10(x);
    /// Returns the logarithm of `x` to base 10.
    log10f(x: f32) -> f32 = GpuFloat::log10(x);
    /// Returns the natural logarithm of `1 + x`.
    log1p(x: f64) -> f64 = GpuFloat::ln_1p(x);
    /// Returns the natural logarithm of `1 + x`.
    log1pf(x: f32) -> f32 = GpuFloat::ln_1p(x);
    /// Returns the logarithm of `x` to base 2.
    log2(x: f64) -> f64 = GpuFloat::log2(x);
    /// Returns the logarithm of `x` to base 2.
    log2f(x: f32) -> f32 = GpuFloat::log2(x);
    /// Returns the nearest integer, halves away from zero.
    round(x: f64) -> f64 = GpuFloat::round(x);
    /// Returns the nearest integer, halves away from zero.
    roundf(x: f32) -> f32 = GpuFloat::round(x);
    /// Returns the sine of `x`.
    sin(x: f64) -> f64 = GpuFloat::sin(x);
    /// Returns the sine of `x`.
    sinf(x: f32) -> f32 = GpuFloat::sin(x);
    /// Returns the hyperbolic sine of `x`.
    sinh(x: f64) -> f64 = GpuFloat::sinh(x);
    /// Returns the hyperbolic sine of `x`.
    sinhf(x: f32) -> f32 = GpuFloat::sinh(x);
    /// Returns the square root of `x`.
    sqrt(x: f64) -> f64 = GpuFloat::sqrt(x);
    /// Returns the square root of `x`.
    sqrtf(x: f32) -> f32 = GpuFloat::sqrt(x);
    /// Returns the tangent of `x`.
    tan(x: f64) -> f64 = GpuFloat::tan(x);
    /// Returns the tangent of `x`.
    tanf(x: f32) -> f32 = GpuFloat::tan(x);
    /// Returns the hyperbolic tangent of `x`.
    tanh(x: f64) -> f64 = GpuFloat::tanh(x);
    /// Returns the hyperbolic tangent of `x`.
    tanhf(x: f32) -> f32 = GpuFloat::tanh(x);
    /// Returns the integer part of `x`.
    trunc(x: f64) -> f64 = GpuFloat::trunc(x);
    /// Returns the integer part of `x`.
    truncf(x: f32) -> f32 = GpuFloat::trunc(x);
    /// Returns the angle of a point. The arguments are as in C: the first is the ordinate.
    atan2(x: f64, y: f64) -> f64 = GpuFloat::atan2(x, y);
    /// Returns the angle of a point. The arguments are as in C: the first is the ordinate.
    atan2f(x: f32, y: f32) -> f32 = GpuFloat::atan2(x, y);
    /// Returns the magnitude of `x` with the sign of `y`.
    copysign(x: f64, y: f64) -> f64 = GpuFloat::copysign(x, y);
    /// Returns the magnitude of `x` with the sign of `y`.
    copysignf(x: f32, y: f32) -> f32 = GpuFloat::copysign(x, y);
    /// Returns `x * y + z`, rounded once.
    fma(x: f64, y: f64, z: f64) -> f64 = GpuFloat::mul_add(x, y, z);
    /// Returns `x * y + z`, rounded once.
    fmaf(x: f32, y: f32, z: f32) -> f32 = GpuFloat::mul_add(x, y, z);
    /// Returns `x * y + z`, rounded once.
    fma_rn(x: f64, y: f64, z: f64) -> f64 = GpuFloat::mul_add(x, y, z);
    /// Returns `x * y + z`, rounded once.
    fmaf_rn(x: f32, y: f32, z: f32) -> f32 = GpuFloat::mul_add(x, y, z);
    /// Returns the length of (`x`, `y`).
    hypot(x: f64, y: f64) -> f64 = GpuFloat::hypot(x, y);
    /// Returns the length of (`x`, `y`).
    hypotf(x: f32, y: f32) -> f32 = GpuFloat::hypot(x, y);
    /// Returns `x` to the power `y`.
    pow(x: f64, y: f64) -> f64 = GpuFloat::powf(x, y);
    /// Returns `x` to the power `y`.
    powf(x: f32, y: f32) -> f32 = GpuFloat::powf(x, y);
    /// Returns `x` to the power `y`.
    powi(x: f64, y: i32) -> f64 = GpuFloat::powi(x, y);
    /// Returns `x` to the power `y`.
    powif(x: f32, y: i32) -> f32 = GpuFloat::powi(x, y);
    /// Returns the cosine of `x` times pi.
    cospi(x: f64) -> f64 = FloatExt::cospi(x);
    /// Returns the cosine of `x` times pi.
    cospif(x: f32) -> f32 = FloatExt::cospi(x);
    /// Returns the sine of `x` times pi.
    sinpi(x: f64) -> f64 = FloatExt::sinpi(x);
    /// Returns the sine of `x` times pi.
    sinpif(x: f32) -> f32 = FloatExt::sinpi(x);
    /// Returns the error function of `x`.
    erf(x: f64) -> f64 = FloatExt::error_function(x);
    /// Returns the error function of `x`.
    erff(x: f32) -> f32 = FloatExt::error_function(x);
    /// Returns the complementary error function of `x`.
    erfc(x: f64) -> f64 = FloatExt::complementary_error_function(x);
    /// Returns the complementary error function of `x`.
    erfcf(x: f32) -> f32 = FloatExt::complementary_error_function(x);
    /// Returns the inverse of [`erfc`].
    erfcinv(x: f64) -> f64 = FloatExt::inv_complementary_error_function(x);
    /// Returns the inverse of [`erfc`].
    erfcinvf(x: f32) -> f32 = FloatExt::inv_complementary_error_function(x);
    /// Returns `e^(x^2)` times [`erfc`].
    erfcx(x: f64) -> f64 = FloatExt::scaled_complementary_error_function(x);
    /// Returns `e^(x^2)` times [`erfc`].
    erfcxf(x: f32) -> f32 = FloatExt::scaled_complementary_error_function(x);
    /// Returns the Bessel function of the first kind of order 0, at `x`.
    j0(x: f64) -> f64 = FloatExt::j0(x);
    /// Returns the Bessel function of the first kind of order 0, at `x`.
    j0f(x: f32) -> f32 = FloatExt::j0(x);
    /// Returns the Bessel function of the first kind of order 1, at `x`.
    j1(x: f64) -> f64 = FloatExt::j1(x);
    /// Returns the Bessel function of the first kind of order 1, at `x`.
    j1f(x: f32) -> f32 = FloatExt::j1(x);
    /// Returns the Bessel function of the second kind of order 0, at `x`.
    y0(x: f64) -> f64 = FloatExt::y0(x);
    /// Returns the Bessel function of the second kind of order 0, at `x`.
    y0f(x: f32) -> f32 = FloatExt::y0(x);
    /// Returns the Bessel function of the second kind of order 1, at `x`.
    y1(x: f64) -> f64 = FloatExt::y1(x);
    /// Returns the Bessel function of the second kind of order 1, at `x`.
    y1f(x: f32) -> f32 = FloatExt::y1(x);
    /// Returns the natural logarithm of the magnitude of the gamma function at `x`.
    lgamma(x: f64) -> f64 = FloatExt::log_gamma(x);
    /// Returns the natural logarithm of the magnitude of the gamma function at `x`.
    lgammaf(x: f32) -> f32 = FloatExt::log_gamma(x);
    /// Returns the gamma function of `x`.
    tgamma(x: f64) -> f64 = FloatExt::gamma(x);
    /// Returns the gamma function of `x`.
    tgammaf(x: f32) -> f32 = FloatExt::gamma(x);
    /// Returns the distribution function of the standard normal distribution at `x`.
    normcdf(x: f64) -> f64 = FloatExt::norm_cdf(x);
    /// Returns the distribution function of the standard normal distribution at `x`.
    normcdff(x: f32) -> f32 = FloatExt::norm_cdf(x);
    /// Returns the quantile of the standard normal distribution at `x`.
    normcdfinv(x: f64) -> f64 = FloatExt::inv_norm_cdf(x);
    /// Returns the quantile of the standard normal distribution at `x`.
    normcdfinvf(x: f32) -> f32 = FloatExt::inv_norm_cdf(x);
    /// Returns 1 divided by the cube root of `x`.
    rcbrt(x: f64) -> f64 = FloatExt::rcbrt(x);
    /// Returns 1 divided by the cube root of `x`.
    rcbrtf(x: f32) -> f32 = FloatExt::rcbrt(x);
    /// Returns the Bessel function of the first kind of order `n`, at `x`.
    jn(n: i32, x: f64) -> f64 = FloatExt::jn(x, n);
    /// Returns the Bessel function of the first kind of order `n`, at `x`.
    jnf(n: i32, x: f32) -> f32 = FloatExt::jn(x, n);
    /// Returns the Bessel function of the second kind of order `n`, at `x`.
    yn(n: i32, x: f64) -> f64 = FloatExt::yn(x, n);
    /// Returns the Bessel function of the second kind of order `n`, at `x`.
    ynf(n: i32, x: f32) -> f32 = FloatExt::yn(x, n);
    /// Returns `x` times two to the power `y`.
    ldexp(x: f64, y: i32) -> f64 = FloatExt::ldexp(x, y);
    /// Returns `x` times two to the power `y`.
    ldexpf(x: f32, y: i32) -> f32 = FloatExt::ldexp(x, y);
    /// Returns `x` times two to the power `y`.
    scalbn(x: f64, y: i32) -> f64 = FloatExt::ldexp(x, y);
    /// Returns `x` times two to the power `y`.
    scalbnf(x: f32, y: i32) -> f32 = FloatExt::ldexp(x, y);
    /// Clamps `x` to the range 0 to 1. NaN gives 0.
    saturatef(x: f32) -> f32 = FloatExt::saturate(x);
    /// Returns a fraction from 0.5 to 1 and writes to `b` the power of two by which it makes `x`.
    frexp(x: f64, b: *mut i32) -> f64 = {
        let (fraction, exponent) = FloatExt::frexp(x);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe { b.write(exponent) };
        fraction
    };
    /// Returns a fraction from 0.5 to 1 and writes to `b` the power of two by which it makes `x`.
    frexpf(x: f32, b: *mut i32) -> f32 = {
        let (fraction, exponent) = FloatExt::frexp(x);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe { b.write(exponent) };
        fraction
    };
    /// Writes the sine of `x` to `sptr` and the cosine to `cptr`.
    sincos(x: f64, sptr: *mut f64, cptr: *mut f64) = {
        let (sin, cos) = GpuFloat::sin_cos(x);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe {
            sptr.write(sin);
            cptr.write(cos);
        }
    };
    /// Writes the sine of `x` to `sptr` and the cosine to `cptr`.
    sincosf(x: f32, sptr: *mut f32, cptr: *mut f32) = {
        let (sin, cos) = GpuFloat::sin_cos(x);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe {
            sptr.write(sin);
            cptr.write(cos);
        }
    };
    /// Writes the sine of `x` times pi to `sptr` and the cosine to `cptr`.
    sincospi(x: f64, sptr: *mut f64, cptr: *mut f64) = {
        let (sin, cos) = FloatExt::sincospi(x);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe {
            sptr.write(sin);
            cptr.write(cos);
        }
    };
    /// Writes the sine of `x` times pi to `sptr` and the cosine to `cptr`.
    sincospif(x: f32, sptr: *mut f32, cptr: *mut f32) = {
        let (sin, cos) = FloatExt::sincospi(x);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe {
            sptr.write(sin);
            cptr.write(cos);
        }
    };
    /// Returns 10 to the power `x`.
    exp10(x: f64) -> f64 = libm::exp10(x);
    /// Returns 10 to the power `x`.
    exp10f(x: f32) -> f32 = libm::exp10f(x);
    /// Returns the nearest integer, halves to the even one.
    rint(x: f64) -> f64 = libm::rint(x);
    /// Returns the nearest integer, halves to the even one.
    rintf(x: f32) -> f32 = libm::rintf(x);
    /// Calls [`rint`].
    nearbyint(x: f64) -> f64 = libm::rint(x);
    /// Calls [`rint`].
    nearbyintf(x: f32) -> f32 = libm::rintf(x);
    /// Returns the exponent of the greatest power of two that is not above the magnitude. 0 and NaN give the least `i32`.
    ilogb(x: f64) -> i32 = libm::ilogb(x);
    /// Returns the exponent of the greatest power of two that is not above the magnitude. 0 and NaN give the least `i32`.
    ilogbf(x: f32) -> i32 = libm::ilogbf(x);
    /// Returns [`ilogb`] as a float. 0 gives minus infinity, and infinities give infinity.
    logb(x: f64) -> f64 = match x {
        0.0 => f64::NEG_INFINITY,
        x if x.is_finite() => libm::ilogb(x) as f64,
        x => x * x,
    };
    /// Returns [`ilogb`] as a float. 0 gives minus infinity, and infinities give infinity.
    logbf(x: f32) -> f32 = match x {
        0.0 => f32::NEG_INFINITY,
        x if x.is_finite() => libm::ilogbf(x) as f32,
        x => x * x,
    };
    /// Returns `x - y` if it is positive, else 0.
    fdim(x: f64, y: f64) -> f64 = libm::fdim(x, y);
    /// Returns `x - y` if it is positive, else 0.
    fdimf(x: f32, y: f32) -> f32 = libm::fdimf(x, y);
    /// Returns the greater argument. If one is NaN, returns the other.
    fmax(x: f64, y: f64) -> f64 = libm::fmax(x, y);
    /// Returns the greater argument. If one is NaN, returns the other.
    fmaxf(x: f32, y: f32) -> f32 = libm::fmaxf(x, y);
    /// Returns the lesser argument. If one is NaN, returns the other.
    fmin(x: f64, y: f64) -> f64 = libm::fmin(x, y);
    /// Returns the lesser argument. If one is NaN, returns the other.
    fminf(x: f32, y: f32) -> f32 = libm::fminf(x, y);
    /// Returns the remainder of the division with the quotient rounded to zero.
    fmod(x: f64, y: f64) -> f64 = libm::fmod(x, y);
    /// Returns the remainder of the division with the quotient rounded to zero.
    fmodf(x: f32, y: f32) -> f32 = libm::fmodf(x, y);
    /// Returns the next number after `x` towards `y`.
    nextafter(x: f64, y: f64) -> f64 = libm::nextafter(x, y);
    /// Returns the next number after `x` towards `y`.
    nextafterf(x: f32, y: f32) -> f32 = libm::nextafterf(x, y);
    /// Returns the remainder of the division with the quotient rounded to the nearest.
    remainder(x: f64, y: f64) -> f64 = libm::remainder(x, y);
    /// Returns the remainder of the division with the quotient rounded to the nearest.
    remainderf(x: f32, y: f32) -> f32 = libm::remainderf(x, y);
    /// Returns [`remainder`] and writes to `quo` the low bits of the quotient with its sign.
    remquo(x: f64, y: f64, quo: *mut i32) -> f64 = {
        let (rest, quotient) = libm::remquo(x, y);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe { quo.write(quotient) };
        rest
    };
    /// Returns [`remainder`] and writes to `quo` the low bits of the quotient with its sign.
    remquof(x: f32, y: f32, quo: *mut i32) -> f32 = {
        let (rest, quotient) = libm::remquof(x, y);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe { quo.write(quotient) };
        rest
    };
    /// Returns the fraction and writes the integer part to `b`.
    modf(x: f64, b: *mut f64) -> f64 = {
        let (fraction, whole) = libm::modf(x);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe { b.write(whole) };
        fraction
    };
    /// Returns the fraction and writes the integer part to `b`.
    modff(x: f32, b: *mut f32) -> f32 = {
        let (fraction, whole) = libm::modff(x);
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe { b.write(whole) };
        fraction
    };
    /// Returns 1 divided by the square root of `x`, with two roundings.
    rsqrt(x: f64) -> f64 = 1.0 / GpuFloat::sqrt(x);
    /// Returns 1 divided by the square root of `x`, with two roundings.
    rsqrtf(x: f32) -> f32 = 1.0 / GpuFloat::sqrt(x);
    /// Returns [`rint`] as an integer.
    llrint(x: f64) -> i64 = libm::rint(x) as i64;
    /// Returns [`rint`] as an integer.
    llrintf(x: f32) -> i64 = libm::rintf(x) as i64;
    /// Returns [`round`] as an integer.
    llround(x: f64) -> i64 = GpuFloat::round(x) as i64;
    /// Returns [`round`] as an integer.
    llroundf(x: f32) -> i64 = GpuFloat::round(x) as i64;
    /// Returns the sum.
    dadd_rn(x: f64, y: f64) -> f64 = x + y;
    /// Returns the product.
    dmul_rn(x: f64, y: f64) -> f64 = x * y;
    /// Returns the quotient.
    ddiv_rn(x: f64, y: f64) -> f64 = x / y;
    /// Returns 1 divided by `x`.
    drcp_rn(x: f64) -> f64 = 1.0 / x;
    /// Returns the square root of `x`.
    dsqrt_rn(x: f64) -> f64 = GpuFloat::sqrt(x);
    /// Returns the sum.
    fadd_rn(x: f32, y: f32) -> f32 = x + y;
    /// Returns the product.
    fmul_rn(x: f32, y: f32) -> f32 = x * y;
    /// Returns the quotient.
    fdiv_rn(x: f32, y: f32) -> f32 = x / y;
    /// Returns the difference.
    fsub_rn(x: f32, y: f32) -> f32 = x - y;
    /// Returns 1 divided by `x`.
    frcp_rn(x: f32) -> f32 = 1.0 / x;
    /// Returns the square root of `x`.
    fsqrt_rn(x: f32) -> f32 = GpuFloat::sqrt(x);
    /// Returns the cosine of `x`, by the hardware's approximation.
    fast_cosf(x: f32) -> f32 = approx::cos(x);
    /// Returns the sine of `x`, by the hardware's approximation.
    fast_sinf(x: f32) -> f32 = approx::sin(x);
    /// Returns the tangent of `x`, by the hardware's approximation.
    fast_tanf(x: f32) -> f32 = approx::div(approx::sin(x), approx::cos(x));
    /// Returns `e` to the power `x`, by the hardware's approximation.
    fast_expf(x: f32) -> f32 = approx::exp(x);
    /// Returns 10 to the power `x`, by the hardware's approximation.
    fast_exp10f(x: f32) -> f32 = approx::exp2(x * core::f32::consts::LOG2_10);
    /// Returns the natural logarithm, by the hardware's approximation.
    fast_logf(x: f32) -> f32 = approx::ln(x);
    /// Returns the logarithm to the base 2, by the hardware's approximation.
    fast_log2f(x: f32) -> f32 = approx::log2(x);
    /// Returns the logarithm to the base 10, by the hardware's approximation.
    fast_log10f(x: f32) -> f32 = approx::log2(x) * core::f32::consts::LOG10_2;
    /// Returns `x` to the power `y`, by the hardware's approximations.
    fast_powf(x: f32, y: f32) -> f32 = approx::exp2(y * approx::log2(x));
    /// Returns `x / y`, by the hardware's approximation.
    fast_fdividef(x: f32, y: f32) -> f32 = approx::div(x, y);
    /// Writes [`fast_sinf`] to `sptr` and [`fast_cosf`] to `cptr`.
    fast_sincosf(x: f32, sptr: *mut f32, cptr: *mut f32) = {
        // SAFETY: the caller guarantees that the pointers are valid for writes.
        unsafe {
            sptr.write(approx::sin(x));
            cptr.write(approx::cos(x));
        }
    };
    /// Returns 1 if `x` is neither infinite nor NaN, else 0.
    finitef(x: f32) -> i32 = i32::from(x.is_finite());
    /// Returns 1 if `x` is neither infinite nor NaN, else 0.
    isfinited(x: f64) -> i32 = i32::from(x.is_finite());
    /// Returns 1 if `x` is infinite, else 0.
    isinfd(x: f64) -> i32 = i32::from(x.is_infinite());
    /// Returns 1 if `x` is infinite, else 0.
    isinff(x: f32) -> i32 = i32::from(x.is_infinite());
    /// Returns 1 if `x` is NaN, else 0.
    isnand(x: f64) -> i32 = i32::from(x.is_nan());
    /// Returns 1 if `x` is NaN, else 0.
    isnanf(x: f32) -> i32 = i32::from(x.is_nan());
    /// Returns 1 if the sign bit of `x` is set, else 0.
    signbitd(x: f64) -> i32 = i32::from(x.is_sign_negative());
    /// Returns 1 if the sign bit of `x` is set, else 0.
    signbitf(x: f32) -> i32 = i32::from(x.is_sign_negative());
    /// Returns a NaN. The tag is not read.
    nan(_tagp: *mut i8) -> f64 = f64::NAN;
    /// Returns a NaN. The tag is not read.
    nanf(_tagp: *mut i8) -> f32 = f32::NAN;
}
