//! Floating-point functions.
//!
//! [`GpuFloat`] has the functions that `core` lacks: with `use cuda_std::GpuFloat;` a kernel calls `x.sqrt()` or `x.sin()`
//! on the GPU as on the host. [`accurate`] has fast functions of `f32` with errors below one unit in the last place.
//! [`approx`] has the hardware's approximations, which are faster still.
//!
//! Addition, multiplication, division and the functions listed as exact in [`GpuFloat`] are correctly rounded on both
//! targets, and `a * b + c` is never fused; [`GpuFloat::mul_add`] is the fused form. Where the order of operations is
//! fixed, the GPU and the CPU therefore agree to the bit. `core`'s remainder `a % b` is not exact on the GPU;
//! [`GpuFloat::rem_euclid`] is.

pub mod accurate;
pub mod approx;
mod ext;

pub use ext::FloatExt;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// The floating-point functions of `std`, on the GPU too.
///
/// Exact and cheap: `floor ceil round trunc fract abs signum copysign mul_add sqrt`. Exact but slow for a large quotient:
/// `rem_euclid`, and `div_euclid` except for the rounding of its quotient.
///
/// Within one unit in the last place and fast on the GPU, for `f32`: `sin cos sin_cos exp exp2 ln log2 tanh powf`. These
/// are the functions of [`accurate`].
///
/// On the host, `x.sin()` on a concrete `f32` calls `std`'s method, whose bits may differ. To compare the executors bit by
/// bit, call `accurate::sin(x)` or `GpuFloat::sin(x)`.
///
/// All other functions come from the [`libm`](https://crates.io/crates/libm) crate on both targets. Their results are the
/// same to the bit, and within about one unit in the last place (two for `f64`'s `powf`, `tan`, the hyperbolic functions
/// and their inverses). They are slow on the GPU: they branch, and some use tables and local memory. Where an approximation
/// suffices, [`approx`] is faster.
pub trait GpuFloat: crate::Plain + PartialOrd + sealed::Sealed {
    /// Returns the greatest integer that is not greater than `self`.
    fn floor(self) -> Self;
    /// Returns the least integer that is not less than `self`.
    fn ceil(self) -> Self;
    /// Returns the nearest integer, with halves rounded away from zero.
    fn round(self) -> Self;
    /// Returns the integer part of `self`.
    fn trunc(self) -> Self;
    /// Returns the fractional part: `self - self.trunc()`.
    fn fract(self) -> Self;
    /// Returns the absolute value of `self`.
    fn abs(self) -> Self;
    /// Returns `1` with the sign of `self`, or NaN for NaN.
    fn signum(self) -> Self;
    /// Returns the magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// Returns `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Returns the integer `n` for which `self - n * rhs` is `self.rem_euclid(rhs)`.
    fn div_euclid(self, rhs: Self) -> Self;
    /// Returns the remainder of `self` by `rhs` that is not negative.
    fn rem_euclid(self, rhs: Self) -> Self;
    /// Returns `self` to an integer power, by squaring. The relative error grows with the number of multiplications, about
    /// `2 log2 |n|`.
    fn powi(self, n: i32) -> Self;
    /// Returns `self` to the power `n`.
    fn powf(self, n: Self) -> Self;
    /// Returns the square root of `self`.
    fn sqrt(self) -> Self;
    /// Returns `e` to the power `self`.
    fn exp(self) -> Self;
    /// Returns `2` to the power `self`.
    fn exp2(self) -> Self;
    /// Returns the natural logarithm of `self`.
    fn ln(self) -> Self;
    /// Returns the logarithm of `self` to the base `base`: `self.ln() / base.ln()`.
    fn log(self, base: Self) -> Self;
    /// Returns the logarithm of `self` to base 2.
    fn log2(self) -> Self;
    /// Returns the logarithm of `self` to base 10.
    fn log10(self) -> Self;
    /// Returns the cube root of `self`.
    fn cbrt(self) -> Self;
    /// Returns the length of the hypotenuse of a right triangle with the legs `self` and `other`.
    fn hypot(self, other: Self) -> Self;
    /// Returns the sine of `self` radians.
    fn sin(self) -> Self;
    /// Returns the cosine of `self` radians.
    fn cos(self) -> Self;
    /// Returns the tangent of `self` radians.
    fn tan(self) -> Self;
    /// Returns the inverse sine of `self`, in radians.
    fn asin(self) -> Self;
    /// Returns the inverse cosine of `self`, in radians.
    fn acos(self) -> Self;
    /// Returns the inverse tangent of `self`, in radians.
    fn atan(self) -> Self;
    /// Returns the angle of the point (`other`, `self`), in radians.
    fn atan2(self, other: Self) -> Self;
    /// Returns the sine and the cosine of `self` radians.
    fn sin_cos(self) -> (Self, Self);
    /// Returns `e` to the power `self`, minus 1, accurately near zero.
    fn exp_m1(self) -> Self;
    /// Returns the natural logarithm of `1 + self`, accurately near zero.
    fn ln_1p(self) -> Self;
    /// Returns the hyperbolic sine of `self`.
    fn sinh(self) -> Self;
    /// Returns the hyperbolic cosine of `self`.
    fn cosh(self) -> Self;
    /// Returns the hyperbolic tangent of `self`.
    fn tanh(self) -> Self;
    /// Returns the inverse hyperbolic sine of `self`.
    fn asinh(self) -> Self;
    /// Returns the inverse hyperbolic cosine of `self`.
    fn acosh(self) -> Self;
    /// Returns the inverse hyperbolic tangent of `self`.
    fn atanh(self) -> Self;
}

#[cfg(target_arch = "nvptx64")]
macro_rules! exact {
    ($ty:ident::$function:ident($($argument:expr),*)) => { core::$ty::math::$function($($argument),*) };
}
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! exact {
    ($ty:ident::$function:ident($($argument:expr),*)) => { <$ty>::$function($($argument),*) };
}

macro_rules! gpu_float {
    ($ty:ident, $fmod:ident, $hypot:ident, $atan2:ident, $acosh:ident;
     $pow:path, $sincos:path; $($name:ident: $function:path),*) => {
        impl GpuFloat for $ty {
            #[inline(always)]
            fn floor(self) -> Self {
                exact!($ty::floor(self))
            }

            #[inline(always)]
            fn ceil(self) -> Self {
                exact!($ty::ceil(self))
            }

            #[inline(always)]
            fn round(self) -> Self {
                exact!($ty::round(self))
            }

            #[inline(always)]
            fn trunc(self) -> Self {
                exact!($ty::trunc(self))
            }

            #[inline(always)]
            fn fract(self) -> Self {
                self - GpuFloat::trunc(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                <$ty>::abs(self)
            }

            #[inline(always)]
            fn signum(self) -> Self {
                <$ty>::signum(self)
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$ty>::copysign(self, sign)
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                exact!($ty::mul_add(self, a, b))
            }

            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = GpuFloat::trunc(self / rhs);
                if libm::$fmod(self, rhs) < 0.0 {
                    return if rhs > 0.0 { quotient - 1.0 } else { quotient + 1.0 };
                }
                quotient
            }

            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                let remainder = libm::$fmod(self, rhs);
                if remainder < 0.0 { remainder + <$ty>::abs(rhs) } else { remainder }
            }

            #[inline]
            fn powi(self, n: i32) -> Self {
                let mut left = n.unsigned_abs();
                let mut square = self;
                let mut power = 1.0;
                while left != 0 {
                    if left & 1 != 0 {
                        power *= square;
                    }
                    square *= square;
                    left >>= 1;
                }
                if n < 0 { 1.0 / power } else { power }
            }

            #[inline]
            fn powf(self, n: Self) -> Self {
                $pow(self, n)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                exact!($ty::sqrt(self))
            }

            #[inline]
            fn log(self, base: Self) -> Self {
                GpuFloat::ln(self) / GpuFloat::ln(base)
            }

            #[inline]
            fn hypot(self, other: Self) -> Self {
                libm::$hypot(self, other)
            }

            #[inline]
            fn atan2(self, other: Self) -> Self {
                libm::$atan2(self, other)
            }

            #[inline]
            fn acosh(self) -> Self {
                // `libm` returns numbers for some arguments outside the function's domain.
                if self < 1.0 { <$ty>::NAN } else { libm::$acosh(self) }
            }

            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                $sincos(self)
            }

            $(
                #[inline]
                fn $name(self) -> Self {
                    $function(self)
                }
            )*
        }
    };
}

gpu_float! {
    f32, fmodf, hypotf, atan2f, acoshf; accurate::pow, accurate::sin_cos;
    exp: accurate::exp, exp2: accurate::exp2, ln: accurate::ln, log2: accurate::log2, sin: accurate::sin,
    cos: accurate::cos, tanh: accurate::tanh, log10: libm::log10f, cbrt: libm::cbrtf, tan: libm::tanf,
    asin: libm::asinf, acos: libm::acosf, atan: libm::atanf, exp_m1: libm::expm1f, ln_1p: libm::log1pf,
    sinh: libm::sinhf, cosh: libm::coshf, asinh: libm::asinhf, atanh: libm::atanhf
}

gpu_float! {
    f64, fmod, hypot, atan2, acosh; libm::pow, libm::sincos;
    exp: libm::exp, exp2: libm::exp2, ln: libm::log, log2: libm::log2, sin: libm::sin, cos: libm::cos,
    tanh: libm::tanh, log10: libm::log10, cbrt: libm::cbrt, tan: libm::tan, asin: libm::asin,
    acos: libm::acos, atan: libm::atan, exp_m1: libm::expm1, ln_1p: libm::log1p, sinh: libm::sinh,
    cosh: libm::cosh, asinh: libm::asinh, atanh: libm::atanh
}
