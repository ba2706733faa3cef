//! Floating-point functions.
//!
//! [`GpuFloat`] has the functions that `core` lacks: with `use cuda_std::GpuFloat;` a kernel calls
//! `x.sqrt()` or `x.sin()` on the GPU as it would on the host. [`accurate`] has the functions of `f32`
//! that are within one unit in the last place and fast; [`approx`] has the hardware's approximations, which
//! are faster still.
//!
//! Addition, multiplication, division and the functions called exact below are correctly rounded on both
//! bodies, and `a * b + c` is never fused unless [`GpuFloat::mul_add`] says so: where the order of
//! operations is fixed, the GPU and the CPU agree to the bit. Of what `core` itself has, the remainder
//! `a % b` is not exact on the GPU; [`GpuFloat::rem_euclid`] is.

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
/// Exact, and cheap: `floor ceil round trunc fract abs signum copysign mul_add sqrt`. Exact but slow where
/// the quotient is large: `rem_euclid`, `div_euclid` (but for the rounding of its quotient).
///
/// Within one unit in the last place, and fast on the GPU, for `f32`: `sin cos sin_cos exp exp2 ln log2
/// tanh powf`, which are the functions of [`accurate`].
///
/// Where a type is known to be `f32`, `x.sin()` is on the host `std`'s own method, whose bits may differ: to
/// compare the executors bit by bit, call `accurate::sin(x)`, or `GpuFloat::sin(x)`.
///
/// All others come from the [`libm`](https://crates.io/crates/libm) crate on both bodies: results are the
/// same to the bit, and within about one unit in the last place (two for `f64`'s `powf`, `tan`, the
/// hyperbolic functions and their inverses), but they are slow on the GPU: they branch, and some use tables
/// and local memory. Where an approximation will do, [`approx`] is faster.
pub trait GpuFloat: crate::Plain + PartialOrd + sealed::Sealed {
    /// The greatest integer that is not greater.
    fn floor(self) -> Self;
    /// The least integer that is not less.
    fn ceil(self) -> Self;
    /// The nearest integer; halves go away from zero.
    fn round(self) -> Self;
    /// The integer part.
    fn trunc(self) -> Self;
    /// The fractional part: `self - self.trunc()`.
    fn fract(self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// `1` with the sign of `self`; NaN for NaN.
    fn signum(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The integer `n` for which `self - n * rhs` is `self.rem_euclid(rhs)`.
    fn div_euclid(self, rhs: Self) -> Self;
    /// The remainder of `self` by `rhs` that is not negative.
    fn rem_euclid(self, rhs: Self) -> Self;
    /// `self` to an integer power, by squaring: the relative error grows with the number of multiplications,
    /// about `2 log2 |n|` of them.
    fn powi(self, n: i32) -> Self;
    /// `self` to the power `n`.
    fn powf(self, n: Self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// `e` to the power `self`.
    fn exp(self) -> Self;
    /// `2` to the power `self`.
    fn exp2(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The logarithm to a base: `self.ln() / base.ln()`.
    fn log(self, base: Self) -> Self;
    /// The logarithm to base 2.
    fn log2(self) -> Self;
    /// The logarithm to base 10.
    fn log10(self) -> Self;
    /// The cube root.
    fn cbrt(self) -> Self;
    /// The length of the hypotenuse of a right triangle with these legs.
    fn hypot(self, other: Self) -> Self;
    /// The sine, in radians.
    fn sin(self) -> Self;
    /// The cosine, in radians.
    fn cos(self) -> Self;
    /// The tangent, in radians.
    fn tan(self) -> Self;
    /// The inverse sine, in radians.
    fn asin(self) -> Self;
    /// The inverse cosine, in radians.
    fn acos(self) -> Self;
    /// The inverse tangent, in radians.
    fn atan(self) -> Self;
    /// The angle of the point (`other`, `self`), in radians.
    fn atan2(self, other: Self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// `e` to the power `self`, less 1; accurate near zero.
    fn exp_m1(self) -> Self;
    /// The natural logarithm of `1 + self`; accurate near zero.
    fn ln_1p(self) -> Self;
    /// The hyperbolic sine.
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent.
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
                // libm gives numbers for some arguments outside of the function's domain.
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
