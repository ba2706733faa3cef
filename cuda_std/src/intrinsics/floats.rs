//! Functions of floats.

use crate::{FloatExt, GpuFloat, float::approx};

functions! {
    /// The arc cosine.
    acos(x: f64) -> f64 = GpuFloat::acos(x);
    /// The arc cosine.
    acosf(x: f32) -> f32 = GpuFloat::acos(x);
    /// The inverse of the hyperbolic cosine.
    acosh(x: f64) -> f64 = GpuFloat::acosh(x);
    /// The inverse of the hyperbolic cosine.
    acoshf(x: f32) -> f32 = GpuFloat::acosh(x);
    /// The arc sine.
    asin(x: f64) -> f64 = GpuFloat::asin(x);
    /// The arc sine.
    asinf(x: f32) -> f32 = GpuFloat::asin(x);
    /// The inverse of the hyperbolic sine.
    asinh(x: f64) -> f64 = GpuFloat::asinh(x);
    /// The inverse of the hyperbolic sine.
    asinhf(x: f32) -> f32 = GpuFloat::asinh(x);
    /// The arc tangent.
    atan(x: f64) -> f64 = GpuFloat::atan(x);
    /// The arc tangent.
    atanf(x: f32) -> f32 = GpuFloat::atan(x);
    /// The inverse of the hyperbolic tangent.
    atanh(x: f64) -> f64 = GpuFloat::atanh(x);
    /// The inverse of the hyperbolic tangent.
    atanhf(x: f32) -> f32 = GpuFloat::atanh(x);
    /// The cube root.
    cbrt(x: f64) -> f64 = GpuFloat::cbrt(x);
    /// The cube root.
    cbrtf(x: f32) -> f32 = GpuFloat::cbrt(x);
    /// The least integer that is not below `x`.
    ceil(x: f64) -> f64 = GpuFloat::ceil(x);
    /// The least integer that is not below `x`.
    ceilf(x: f32) -> f32 = GpuFloat::ceil(x);
    /// The cosine.
    cos(x: f64) -> f64 = GpuFloat::cos(x);
    /// The cosine.
    cosf(x: f32) -> f32 = GpuFloat::cos(x);
    /// The hyperbolic cosine.
    cosh(x: f64) -> f64 = GpuFloat::cosh(x);
    /// The hyperbolic cosine.
    coshf(x: f32) -> f32 = GpuFloat::cosh(x);
    /// `e` to the power `x`.
    exp(x: f64) -> f64 = GpuFloat::exp(x);
    /// `e` to the power `x`.
    expf(x: f32) -> f32 = GpuFloat::exp(x);
    /// 2 to the power `x`.
    exp2(x: f64) -> f64 = GpuFloat::exp2(x);
    /// 2 to the power `x`.
    exp2f(x: f32) -> f32 = GpuFloat::exp2(x);
    /// `e` to the power `x`, less 1.
    expm1(x: f64) -> f64 = GpuFloat::exp_m1(x);
    /// `e` to the power `x`, less 1.
    expm1f(x: f32) -> f32 = GpuFloat::exp_m1(x);
    /// The magnitude.
    fabs(x: f64) -> f64 = GpuFloat::abs(x);
    /// The magnitude.
    fabsf(x: f32) -> f32 = GpuFloat::abs(x);
    /// The greatest integer that is not above `x`.
    floor(x: f64) -> f64 = GpuFloat::floor(x);
    /// The greatest integer that is not above `x`.
    floorf(x: f32) -> f32 = GpuFloat::floor(x);
    /// The natural logarithm.
    log(x: f64) -> f64 = GpuFloat::ln(x);
    /// The natural logarithm.
    logf(x: f32) -> f32 = GpuFloat::ln(x);
    /// The logarithm to the base 10.
    log10(x: f64) -> f64 = GpuFloat::log10(x);
    /// The logarithm to the base 10.
    log10f(x: f32) -> f32 = GpuFloat::log10(x);
    /// The natural logarithm of `1 + x`.
    log1p(x: f64) -> f64 = GpuFloat::ln_1p(x);
    /// The natural logarithm of `1 + x`.
    log1pf(x: f32) -> f32 = GpuFloat::ln_1p(x);
    /// The logarithm to the base 2.
    log2(x: f64) -> f64 = GpuFloat::log2(x);
    /// The logarithm to the base 2.
    log2f(x: f32) -> f32 = GpuFloat::log2(x);
    /// The nearest integer, halves away from zero.
    round(x: f64) -> f64 = GpuFloat::round(x);
    /// The nearest integer, halves away from zero.
    roundf(x: f32) -> f32 = GpuFloat::round(x);
    /// The sine.
    sin(x: f64) -> f64 = GpuFloat::sin(x);
    /// The sine.
    sinf(x: f32) -> f32 = GpuFloat::sin(x);
    /// The hyperbolic sine.
    sinh(x: f64) -> f64 = GpuFloat::sinh(x);
    /// The hyperbolic sine.
    sinhf(x: f32) -> f32 = GpuFloat::sinh(x);
    /// The square root.
    sqrt(x: f64) -> f64 = GpuFloat::sqrt(x);
    /// The square root.
    sqrtf(x: f32) -> f32 = GpuFloat::sqrt(x);
    /// The tangent.
    tan(x: f64) -> f64 = GpuFloat::tan(x);
    /// The tangent.
    tanf(x: f32) -> f32 = GpuFloat::tan(x);
    /// The hyperbolic tangent.
    tanh(x: f64) -> f64 = GpuFloat::tanh(x);
    /// The hyperbolic tangent.
    tanhf(x: f32) -> f32 = GpuFloat::tanh(x);
    /// The integer part.
    trunc(x: f64) -> f64 = GpuFloat::trunc(x);
    /// The integer part.
    truncf(x: f32) -> f32 = GpuFloat::trunc(x);
    /// The angle of the point (`y`, `x`): the arguments stand as in C, the first is the height.
    atan2(x: f64, y: f64) -> f64 = GpuFloat::atan2(x, y);
    /// The angle of the point (`y`, `x`): the arguments stand as in C, the first is the height.
    atan2f(x: f32, y: f32) -> f32 = GpuFloat::atan2(x, y);
    /// The magnitude of `x` with the sign of `y`.
    copysign(x: f64, y: f64) -> f64 = GpuFloat::copysign(x, y);
    /// The magnitude of `x` with the sign of `y`.
    copysignf(x: f32, y: f32) -> f32 = GpuFloat::copysign(x, y);
    /// `x * y + z`, rounded once.
    fma(x: f64, y: f64, z: f64) -> f64 = GpuFloat::mul_add(x, y, z);
    /// `x * y + z`, rounded once.
    fmaf(x: f32, y: f32, z: f32) -> f32 = GpuFloat::mul_add(x, y, z);
    /// `x * y + z`, rounded once.
    fma_rn(x: f64, y: f64, z: f64) -> f64 = GpuFloat::mul_add(x, y, z);
    /// `x * y + z`, rounded once.
    fmaf_rn(x: f32, y: f32, z: f32) -> f32 = GpuFloat::mul_add(x, y, z);
    /// The length of (`x`, `y`).
    hypot(x: f64, y: f64) -> f64 = GpuFloat::hypot(x, y);
    /// The length of (`x`, `y`).
    hypotf(x: f32, y: f32) -> f32 = GpuFloat::hypot(x, y);
    /// `x` to the power `y`.
    pow(x: f64, y: f64) -> f64 = GpuFloat::powf(x, y);
    /// `x` to the power `y`.
    powf(x: f32, y: f32) -> f32 = GpuFloat::powf(x, y);
    /// `x` to the power `y`.
    powi(x: f64, y: i32) -> f64 = GpuFloat::powi(x, y);
    /// `x` to the power `y`.
    powif(x: f32, y: i32) -> f32 = GpuFloat::powi(x, y);
    /// The cosine of `x` times pi.
    cospi(x: f64) -> f64 = FloatExt::cospi(x);
    /// The cosine of `x` times pi.
    cospif(x: f32) -> f32 = FloatExt::cospi(x);
    /// The sine of `x` times pi.
    sinpi(x: f64) -> f64 = FloatExt::sinpi(x);
    /// The sine of `x` times pi.
    sinpif(x: f32) -> f32 = FloatExt::sinpi(x);
    /// The error function.
    erf(x: f64) -> f64 = FloatExt::error_function(x);
    /// The error function.
    erff(x: f32) -> f32 = FloatExt::error_function(x);
    /// 1 less the error function.
    erfc(x: f64) -> f64 = FloatExt::complementary_error_function(x);
    /// 1 less the error function.
    erfcf(x: f32) -> f32 = FloatExt::complementary_error_function(x);
    /// The inverse of [`erfc`].
    erfcinv(x: f64) -> f64 = FloatExt::inv_complementary_error_function(x);
    /// The inverse of [`erfc`].
    erfcinvf(x: f32) -> f32 = FloatExt::inv_complementary_error_function(x);
    /// `e^(x^2)` times [`erfc`].
    erfcx(x: f64) -> f64 = FloatExt::scaled_complementary_error_function(x);
    /// `e^(x^2)` times [`erfc`].
    erfcxf(x: f32) -> f32 = FloatExt::scaled_complementary_error_function(x);
    /// The Bessel function of the first kind of order 0.
    j0(x: f64) -> f64 = FloatExt::j0(x);
    /// The Bessel function of the first kind of order 0.
    j0f(x: f32) -> f32 = FloatExt::j0(x);
    /// The Bessel function of the first kind of order 1.
    j1(x: f64) -> f64 = FloatExt::j1(x);
    /// The Bessel function of the first kind of order 1.
    j1f(x: f32) -> f32 = FloatExt::j1(x);
    /// The Bessel function of the second kind of order 0.
    y0(x: f64) -> f64 = FloatExt::y0(x);
    /// The Bessel function of the second kind of order 0.
    y0f(x: f32) -> f32 = FloatExt::y0(x);
    /// The Bessel function of the second kind of order 1.
    y1(x: f64) -> f64 = FloatExt::y1(x);
    /// The Bessel function of the second kind of order 1.
    y1f(x: f32) -> f32 = FloatExt::y1(x);
    /// The natural logarithm of the magnitude of the gamma function.
    lgamma(x: f64) -> f64 = FloatExt::log_gamma(x);
    /// The natural logarithm of the magnitude of the gamma function.
    lgammaf(x: f32) -> f32 = FloatExt::log_gamma(x);
    /// The gamma function.
    tgamma(x: f64) -> f64 = FloatExt::gamma(x);
    /// The gamma function.
    tgammaf(x: f32) -> f32 = FloatExt::gamma(x);
    /// The distribution function of the standard normal distribution.
    normcdf(x: f64) -> f64 = FloatExt::norm_cdf(x);
    /// The distribution function of the standard normal distribution.
    normcdff(x: f32) -> f32 = FloatExt::norm_cdf(x);
    /// The quantile of the standard normal distribution.
    normcdfinv(x: f64) -> f64 = FloatExt::inv_norm_cdf(x);
    /// The quantile of the standard normal distribution.
    normcdfinvf(x: f32) -> f32 = FloatExt::inv_norm_cdf(x);
    /// 1 divided by the cube root.
    rcbrt(x: f64) -> f64 = FloatExt::rcbrt(x);
    /// 1 divided by the cube root.
    rcbrtf(x: f32) -> f32 = FloatExt::rcbrt(x);
    /// The Bessel function of the first kind of order `n`.
    jn(n: i32, x: f64) -> f64 = FloatExt::jn(x, n);
    /// The Bessel function of the first kind of order `n`.
    jnf(n: i32, x: f32) -> f32 = FloatExt::jn(x, n);
    /// The Bessel function of the second kind of order `n`.
    yn(n: i32, x: f64) -> f64 = FloatExt::yn(x, n);
    /// The Bessel function of the second kind of order `n`.
    ynf(n: i32, x: f32) -> f32 = FloatExt::yn(x, n);
    /// `x` times two to the power `y`.
    ldexp(x: f64, y: i32) -> f64 = FloatExt::ldexp(x, y);
    /// `x` times two to the power `y`.
    ldexpf(x: f32, y: i32) -> f32 = FloatExt::ldexp(x, y);
    /// `x` times two to the power `y`.
    scalbn(x: f64, y: i32) -> f64 = FloatExt::ldexp(x, y);
    /// `x` times two to the power `y`.
    scalbnf(x: f32, y: i32) -> f32 = FloatExt::ldexp(x, y);
    /// The nearest number of 0 to 1, and 0 for NaN.
    saturatef(x: f32) -> f32 = FloatExt::saturate(x);
    /// A fraction of 0.5 to 1, and in `b` the power of two by which it gives `x`.
    frexp(x: f64, b: *mut i32) -> f64 = {
        let (fraction, exponent) = FloatExt::frexp(x);
        // SAFETY: by the contract.
        unsafe { b.write(exponent) };
        fraction
    };
    /// A fraction of 0.5 to 1, and in `b` the power of two by which it gives `x`.
    frexpf(x: f32, b: *mut i32) -> f32 = {
        let (fraction, exponent) = FloatExt::frexp(x);
        // SAFETY: by the contract.
        unsafe { b.write(exponent) };
        fraction
    };
    /// The sine, in `sptr`, and the cosine, in `cptr`.
    sincos(x: f64, sptr: *mut f64, cptr: *mut f64) = {
        let (sin, cos) = GpuFloat::sin_cos(x);
        // SAFETY: by the contract.
        unsafe {
            sptr.write(sin);
            cptr.write(cos);
        }
    };
    /// The sine, in `sptr`, and the cosine, in `cptr`.
    sincosf(x: f32, sptr: *mut f32, cptr: *mut f32) = {
        let (sin, cos) = GpuFloat::sin_cos(x);
        // SAFETY: by the contract.
        unsafe {
            sptr.write(sin);
            cptr.write(cos);
        }
    };
    /// The sine, in `sptr`, and the cosine, in `cptr`, of `x` times pi.
    sincospi(x: f64, sptr: *mut f64, cptr: *mut f64) = {
        let (sin, cos) = FloatExt::sincospi(x);
        // SAFETY: by the contract.
        unsafe {
            sptr.write(sin);
            cptr.write(cos);
        }
    };
    /// The sine, in `sptr`, and the cosine, in `cptr`, of `x` times pi.
    sincospif(x: f32, sptr: *mut f32, cptr: *mut f32) = {
        let (sin, cos) = FloatExt::sincospi(x);
        // SAFETY: by the contract.
        unsafe {
            sptr.write(sin);
            cptr.write(cos);
        }
    };
    /// 10 to the power `x`.
    exp10(x: f64) -> f64 = libm::exp10(x);
    /// 10 to the power `x`.
    exp10f(x: f32) -> f32 = libm::exp10f(x);
    /// The nearest integer, halves to the even one.
    rint(x: f64) -> f64 = libm::rint(x);
    /// The nearest integer, halves to the even one.
    rintf(x: f32) -> f32 = libm::rintf(x);
    /// [`rint`].
    nearbyint(x: f64) -> f64 = libm::rint(x);
    /// [`rint`].
    nearbyintf(x: f32) -> f32 = libm::rintf(x);
    /// The exponent of the greatest power of two that is not above the magnitude; the least `i32` for 0 and NaN.
    ilogb(x: f64) -> i32 = libm::ilogb(x);
    /// The exponent of the greatest power of two that is not above the magnitude; the least `i32` for 0 and NaN.
    ilogbf(x: f32) -> i32 = libm::ilogbf(x);
    /// [`ilogb`] as a float; minus infinity for 0, infinity for infinities.
    logb(x: f64) -> f64 = match x {
        0.0 => f64::NEG_INFINITY,
        x if x.is_finite() => libm::ilogb(x) as f64,
        x => x * x,
    };
    /// [`ilogb`] as a float; minus infinity for 0, infinity for infinities.
    logbf(x: f32) -> f32 = match x {
        0.0 => f32::NEG_INFINITY,
        x if x.is_finite() => libm::ilogbf(x) as f32,
        x => x * x,
    };
    /// `x - y` where it is positive, else 0.
    fdim(x: f64, y: f64) -> f64 = libm::fdim(x, y);
    /// `x - y` where it is positive, else 0.
    fdimf(x: f32, y: f32) -> f32 = libm::fdimf(x, y);
    /// The greater one; of a number and NaN the number.
    fmax(x: f64, y: f64) -> f64 = libm::fmax(x, y);
    /// The greater one; of a number and NaN the number.
    fmaxf(x: f32, y: f32) -> f32 = libm::fmaxf(x, y);
    /// The lesser one; of a number and NaN the number.
    fmin(x: f64, y: f64) -> f64 = libm::fmin(x, y);
    /// The lesser one; of a number and NaN the number.
    fminf(x: f32, y: f32) -> f32 = libm::fminf(x, y);
    /// The remainder of the division with the quotient rounded to zero.
    fmod(x: f64, y: f64) -> f64 = libm::fmod(x, y);
    /// The remainder of the division with the quotient rounded to zero.
    fmodf(x: f32, y: f32) -> f32 = libm::fmodf(x, y);
    /// The next number after `x` towards `y`.
    nextafter(x: f64, y: f64) -> f64 = libm::nextafter(x, y);
    /// The next number after `x` towards `y`.
    nextafterf(x: f32, y: f32) -> f32 = libm::nextafterf(x, y);
    /// The remainder of the division with the quotient rounded to the nearest.
    remainder(x: f64, y: f64) -> f64 = libm::remainder(x, y);
    /// The remainder of the division with the quotient rounded to the nearest.
    remainderf(x: f32, y: f32) -> f32 = libm::remainderf(x, y);
    /// [`remainder`], and in `quo` the low bits of the quotient with its sign.
    remquo(x: f64, y: f64, quo: *mut i32) -> f64 = {
        let (rest, quotient) = libm::remquo(x, y);
        // SAFETY: by the contract.
        unsafe { quo.write(quotient) };
        rest
    };
    /// [`remainder`], and in `quo` the low bits of the quotient with its sign.
    remquof(x: f32, y: f32, quo: *mut i32) -> f32 = {
        let (rest, quotient) = libm::remquof(x, y);
        // SAFETY: by the contract.
        unsafe { quo.write(quotient) };
        rest
    };
    /// The fraction, and in `b` the integer part.
    modf(x: f64, b: *mut f64) -> f64 = {
        let (fraction, whole) = libm::modf(x);
        // SAFETY: by the contract.
        unsafe { b.write(whole) };
        fraction
    };
    /// The fraction, and in `b` the integer part.
    modff(x: f32, b: *mut f32) -> f32 = {
        let (fraction, whole) = libm::modff(x);
        // SAFETY: by the contract.
        unsafe { b.write(whole) };
        fraction
    };
    /// 1 divided by the square root: two roundings.
    rsqrt(x: f64) -> f64 = 1.0 / GpuFloat::sqrt(x);
    /// 1 divided by the square root: two roundings.
    rsqrtf(x: f32) -> f32 = 1.0 / GpuFloat::sqrt(x);
    /// [`rint`] as an integer.
    llrint(x: f64) -> i64 = libm::rint(x) as i64;
    /// [`rint`] as an integer.
    llrintf(x: f32) -> i64 = libm::rintf(x) as i64;
    /// [`round`] as an integer.
    llround(x: f64) -> i64 = GpuFloat::round(x) as i64;
    /// [`round`] as an integer.
    llroundf(x: f32) -> i64 = GpuFloat::round(x) as i64;
    /// The sum.
    dadd_rn(x: f64, y: f64) -> f64 = x + y;
    /// The product.
    dmul_rn(x: f64, y: f64) -> f64 = x * y;
    /// The quotient.
    ddiv_rn(x: f64, y: f64) -> f64 = x / y;
    /// 1 divided by `x`.
    drcp_rn(x: f64) -> f64 = 1.0 / x;
    /// The square root.
    dsqrt_rn(x: f64) -> f64 = GpuFloat::sqrt(x);
    /// The sum.
    fadd_rn(x: f32, y: f32) -> f32 = x + y;
    /// The product.
    fmul_rn(x: f32, y: f32) -> f32 = x * y;
    /// The quotient.
    fdiv_rn(x: f32, y: f32) -> f32 = x / y;
    /// The difference.
    fsub_rn(x: f32, y: f32) -> f32 = x - y;
    /// 1 divided by `x`.
    frcp_rn(x: f32) -> f32 = 1.0 / x;
    /// The square root.
    fsqrt_rn(x: f32) -> f32 = GpuFloat::sqrt(x);
    /// The cosine, by the hardware's approximation.
    fast_cosf(x: f32) -> f32 = approx::cos(x);
    /// The sine, by the hardware's approximation.
    fast_sinf(x: f32) -> f32 = approx::sin(x);
    /// The tangent, by the hardware's approximation.
    fast_tanf(x: f32) -> f32 = approx::div(approx::sin(x), approx::cos(x));
    /// `e` to the power `x`, by the hardware's approximation.
    fast_expf(x: f32) -> f32 = approx::exp(x);
    /// 10 to the power `x`, by the hardware's approximation.
    fast_exp10f(x: f32) -> f32 = approx::exp2(x * core::f32::consts::LOG2_10);
    /// The natural logarithm, by the hardware's approximation.
    fast_logf(x: f32) -> f32 = approx::ln(x);
    /// The logarithm to the base 2, by the hardware's approximation.
    fast_log2f(x: f32) -> f32 = approx::log2(x);
    /// The logarithm to the base 10, by the hardware's approximation.
    fast_log10f(x: f32) -> f32 = approx::log2(x) * core::f32::consts::LOG10_2;
    /// `x` to the power `y`, by the hardware's approximations.
    fast_powf(x: f32, y: f32) -> f32 = approx::exp2(y * approx::log2(x));
    /// `x / y`, by the hardware's approximation.
    fast_fdividef(x: f32, y: f32) -> f32 = approx::div(x, y);
    /// [`fast_sinf`] in `sptr` and [`fast_cosf`] in `cptr`.
    fast_sincosf(x: f32, sptr: *mut f32, cptr: *mut f32) = {
        // SAFETY: by the contract.
        unsafe {
            sptr.write(approx::sin(x));
            cptr.write(approx::cos(x));
        }
    };
    /// Whether `x` is neither infinite nor NaN: 1 or 0.
    finitef(x: f32) -> i32 = i32::from(x.is_finite());
    /// Whether `x` is neither infinite nor NaN: 1 or 0.
    isfinited(x: f64) -> i32 = i32::from(x.is_finite());
    /// Whether `x` is infinite: 1 or 0.
    isinfd(x: f64) -> i32 = i32::from(x.is_infinite());
    /// Whether `x` is infinite: 1 or 0.
    isinff(x: f32) -> i32 = i32::from(x.is_infinite());
    /// Whether `x` is NaN: 1 or 0.
    isnand(x: f64) -> i32 = i32::from(x.is_nan());
    /// Whether `x` is NaN: 1 or 0.
    isnanf(x: f32) -> i32 = i32::from(x.is_nan());
    /// Whether the sign bit is set: 1 or 0.
    signbitd(x: f64) -> i32 = i32::from(x.is_sign_negative());
    /// Whether the sign bit is set: 1 or 0.
    signbitf(x: f32) -> i32 = i32::from(x.is_sign_negative());
    /// A NaN; the tag is not read.
    nan(_tagp: *mut i8) -> f64 = f64::NAN;
    /// A NaN; the tag is not read.
    nanf(_tagp: *mut i8) -> f32 = f32::NAN;
}
