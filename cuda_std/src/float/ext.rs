//! The functions that Rust-CUDA takes from libdevice and `std` does not have.

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Functions of `f32` and `f64` under Rust-CUDA's names, the same on both targets.
///
/// They come from the [`libm`](https://crates.io/crates/libm) crate or are computed from its functions in `f64`. They do
/// not use libdevice, so their bits differ from CUDA's. They branch and are slow on the GPU. The errors of `libm`'s
/// functions are about one unit in the last place, except near the zeros of `lgamma` and of the Bessel functions, where
/// they are relative to the size of neighboring values. The other functions state their errors.
pub trait FloatExt: Sized + sealed::Sealed {
    /// Returns the cosine of `self` times pi. The reduction is exact, so the error is about one unit in the last place.
    fn cospi(self) -> Self;
    /// Returns the sine of `self` times pi. The reduction is exact, so the error is about one unit in the last place.
    fn sinpi(self) -> Self;
    /// Returns [`sinpi`](Self::sinpi) and [`cospi`](Self::cospi).
    fn sincospi(self) -> (Self, Self);
    /// Returns the error function of `self`.
    fn error_function(self) -> Self;
    /// Returns the complementary error function, 1 minus the error function.
    fn complementary_error_function(self) -> Self;
    /// Returns the inverse of [`complementary_error_function`](Self::complementary_error_function), for `self` from 0 to 2.
    /// The error is within `1e-14` of the result's size plus 1 for `f64`. The result is infinite at 0 and 2, and NaN
    /// outside.
    fn inv_complementary_error_function(self) -> Self;
    /// Returns `e^(x^2)` times [`complementary_error_function`](Self::complementary_error_function). The relative error is
    /// about `1 + x^2` units in the last place of `f64`, and below 1 from 25 on.
    fn scaled_complementary_error_function(self) -> Self;
    /// Returns a fraction from 0.5 to 1 and the power of two by which it makes `self`.
    fn frexp(self) -> (Self, i32);
    /// Returns the exponent of the greatest power of two that is not above the magnitude of `self`.
    fn unbiased_exp(self) -> i32;
    /// Returns the Bessel function of the first kind of order 0, at `self`.
    fn j0(self) -> Self;
    /// Returns the Bessel function of the first kind of order 1, at `self`.
    fn j1(self) -> Self;
    /// Returns the Bessel function of the first kind of order `order`, at `self`.
    fn jn(self, order: i32) -> Self;
    /// Returns the Bessel function of the second kind of order 0, at `self`.
    fn y0(self) -> Self;
    /// Returns the Bessel function of the second kind of order 1, at `self`.
    fn y1(self) -> Self;
    /// Returns the Bessel function of the second kind of order `order`, at `self`.
    fn yn(self, order: i32) -> Self;
    /// Returns `self` times two to the power `exp`.
    fn ldexp(self, exp: i32) -> Self;
    /// Calls [`ldexp`](Self::ldexp).
    fn scale_by_n(self, exp: i32) -> Self;
    /// Returns the natural logarithm of the magnitude of the gamma function at `self`.
    fn log_gamma(self) -> Self;
    /// Returns the gamma function of `self`.
    fn gamma(self) -> Self;
    /// Returns the natural logarithm of `1 + self`.
    fn log1p(self) -> Self;
    /// Returns the distribution function of the standard normal distribution at `self`. The error is about two units in the
    /// last place near 0, and a relative error of about `x^2` units of `f64` far below it.
    fn norm_cdf(self) -> Self;
    /// Returns the quantile of the standard normal distribution at `self`. The errors are those of
    /// [`inv_complementary_error_function`](Self::inv_complementary_error_function).
    fn inv_norm_cdf(self) -> Self;
    /// Returns 1 divided by the cube root of `self`. The error is two units in the last place.
    fn rcbrt(self) -> Self;
    /// Clamps `self` to the range 0 to 1. NaN gives 0.
    fn saturate(self) -> Self;
}

/// Returns the sine and the cosine of `x` times pi.
fn sincospi(x: f64) -> (f64, f64) {
    use core::f64::consts::PI;
    if !x.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    // The remainder by 2 is exact, and so is the reduction by halves.
    let turned = libm::fmod(x, 2.0);
    let halves = libm::round(turned * 2.0);
    let rest = (turned - halves * 0.5) * PI;
    let (sin, cos) = (libm::sin(rest), libm::cos(rest));
    let (sin, cos) = match (halves as i32).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    };
    // A zero of the sine has the sign of `x`; a zero of the cosine is positive.
    (
        if sin == 0.0 {
            libm::copysign(0.0, x)
        } else {
            sin
        },
        cos + 0.0,
    )
}

/// Returns the inverse of `erfc`, by steps of Halley's method.
fn erfc_inv(p: f64) -> f64 {
    use core::f64::consts::{FRAC_2_SQRT_PI, LN_2};
    if p.is_nan() || !(0.0..=2.0).contains(&p) {
        return f64::NAN;
    }
    if p > 1.0 {
        return -erfc_inv(2.0 - p);
    }
    if p == 0.0 {
        return f64::INFINITY;
    }
    // erfc(x) is slightly below e^(-x^2), so this start is too large by less than one.
    let mut x = libm::sqrt(LN_2 - libm::log(p)) * (1.0 - p);
    for _ in 0..8 {
        let slope = FRAC_2_SQRT_PI * libm::exp(-x * x);
        if slope == 0.0 {
            break;
        }
        let step = (libm::erfc(x) - p) / slope;
        x += step / (1.0 - x * step);
    }
    x
}

/// Returns `e^(x^2) * erfc(x)`.
fn erfc_scaled(x: f64) -> f64 {
    use core::f64::consts::FRAC_2_SQRT_PI;
    if x < 25.0 {
        return libm::exp(x * x) * libm::erfc(x);
    }
    // The asymptotic series in 1 / (2 x^2). Its fifth term is below one unit in the last place.
    let t = 0.5 / (x * x);
    FRAC_2_SQRT_PI * 0.5 / x * (1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t))))
}

macro_rules! float_ext {
    ($ty:ident: $erf:ident, $erfc:ident, $frexp:ident, $ilogb:ident, $j0:ident, $j1:ident, $jn:ident, $y0:ident, $y1:ident,
     $yn:ident, $ldexp:ident, $lgamma:ident, $tgamma:ident, $log1p:ident, $cbrt:ident) => {
        impl FloatExt for $ty {
            fn cospi(self) -> Self {
                sincospi(f64::from(self)).1 as $ty
            }
            fn sinpi(self) -> Self {
                sincospi(f64::from(self)).0 as $ty
            }
            fn sincospi(self) -> (Self, Self) {
                let (sin, cos) = sincospi(f64::from(self));
                (sin as $ty, cos as $ty)
            }
            fn error_function(self) -> Self {
                libm::$erf(self)
            }
            fn complementary_error_function(self) -> Self {
                libm::$erfc(self)
            }
            fn inv_complementary_error_function(self) -> Self {
                erfc_inv(f64::from(self)) as $ty
            }
            fn scaled_complementary_error_function(self) -> Self {
                erfc_scaled(f64::from(self)) as $ty
            }
            fn frexp(self) -> (Self, i32) {
                libm::$frexp(self)
            }
            fn unbiased_exp(self) -> i32 {
                libm::$ilogb(self)
            }
            fn j0(self) -> Self {
                libm::$j0(self)
            }
            fn j1(self) -> Self {
                libm::$j1(self)
            }
            fn jn(self, order: i32) -> Self {
                libm::$jn(order, self)
            }
            fn y0(self) -> Self {
                libm::$y0(self)
            }
            fn y1(self) -> Self {
                libm::$y1(self)
            }
            fn yn(self, order: i32) -> Self {
                libm::$yn(order, self)
            }
            fn ldexp(self, exp: i32) -> Self {
                libm::$ldexp(self, exp)
            }
            fn scale_by_n(self, exp: i32) -> Self {
                libm::$ldexp(self, exp)
            }
            fn log_gamma(self) -> Self {
                libm::$lgamma(self)
            }
            fn gamma(self) -> Self {
                libm::$tgamma(self)
            }
            fn log1p(self) -> Self {
                libm::$log1p(self)
            }
            fn norm_cdf(self) -> Self {
                (0.5 * libm::erfc(-f64::from(self) * core::f64::consts::FRAC_1_SQRT_2)) as $ty
            }
            fn inv_norm_cdf(self) -> Self {
                (-core::f64::consts::SQRT_2 * erfc_inv(2.0 * f64::from(self))) as $ty
            }
            fn rcbrt(self) -> Self {
                1.0 / libm::$cbrt(self)
            }
            fn saturate(self) -> Self {
                if self > 0.0 { self.min(1.0) } else { 0.0 }
            }
        }
    };
}
float_ext!(f32: erff, erfcf, frexpf, ilogbf, j0f, j1f, jnf, y0f, y1f, ynf, ldexpf, lgammaf, tgammaf, log1pf, cbrtf);
float_ext!(f64: erf, erfc, frexp, ilogb, j0, j1, jn, y0, y1, yn, ldexp, lgamma, tgamma, log1p, cbrt);

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64, bound: f64) {
        assert!(
            (got - expected).abs() <= bound * expected.abs().max(1e-300),
            "{got} for {expected}"
        );
    }

    #[test]
    fn multiples_of_pi_are_reduced_exactly() {
        for (x, sin, cos) in [
            (0.0_f64, 0.0, 1.0),
            (0.5, 1.0, 0.0),
            (1.0, 0.0, -1.0),
            (1e15 + 0.5, 1.0, 0.0),
            (-1.5, 1.0, 0.0),
        ] {
            assert_eq!(x.sincospi(), (sin, cos), "{x}");
        }
        close(0.25_f64.sinpi(), core::f64::consts::FRAC_1_SQRT_2, 1e-15);
        close(
            f64::from(1.75_f32.cospi()),
            core::f64::consts::FRAC_1_SQRT_2,
            1e-7,
        );
        assert!(f64::INFINITY.sinpi().is_nan());
    }

    #[test]
    fn inverses_give_back_what_was_given() {
        for p in [
            1e-300_f64, 1e-100, 1e-10, 0.001, 0.1, 0.5, 0.9, 1.0, 1.3, 1.999,
        ] {
            let x = p.inv_complementary_error_function();
            // An error of 1e-14 in x changes erfc by 1e-14 times its slope.
            let slope = (1.0 + x.abs()) * 2.0 * x.abs().max(1.0) * 1e-14;
            close(x.complementary_error_function(), p, slope.max(1e-14));
        }
        for p in [1e-5_f64, 0.02, 0.5, 0.7, 0.9999] {
            close(p.inv_norm_cdf().norm_cdf(), p, 1e-12);
        }
        assert_eq!(0.0_f64.inv_complementary_error_function(), f64::INFINITY);
        assert_eq!(
            2.0_f64.inv_complementary_error_function(),
            f64::NEG_INFINITY
        );
        assert!(2.5_f64.inv_complementary_error_function().is_nan());
    }

    #[test]
    fn scaled_error_function_joins_its_series() {
        // Tabulated values of e^(x^2) erfc(x) at 1 and 10.
        close(
            1.0_f64.scaled_complementary_error_function(),
            0.427_583_576_155_807,
            1e-14,
        );
        close(
            10.0_f64.scaled_complementary_error_function(),
            0.056_140_992_743_822_6,
            1e-13,
        );
        let (below, above) = (24.999_999_f64, 25.000_001_f64);
        close(
            below.scaled_complementary_error_function(),
            above.scaled_complementary_error_function(),
            1e-7,
        );
        close(
            1e10_f64.scaled_complementary_error_function(),
            5.641_895_835_477_563e-11,
            1e-15,
        );
    }

    #[test]
    fn the_rest_is_what_it_is_called() {
        assert_eq!(12.0_f32.frexp(), (0.75, 4));
        assert_eq!(12.0_f64.unbiased_exp(), 3);
        assert_eq!((0.75_f32.ldexp(4), 0.75_f64.scale_by_n(4)), (12.0, 12.0));
        close(FloatExt::gamma(5.0_f64), 24.0, 1e-15);
        close(5.0_f64.log_gamma(), 24.0_f64.ln(), 1e-15);
        close(8.0_f64.rcbrt(), 0.5, 1e-15);
        assert_eq!(
            [
                (-1.0_f32).saturate(),
                0.5_f32.saturate(),
                7.0_f32.saturate(),
                f32::NAN.saturate()
            ],
            [0.0, 0.5, 1.0, 0.0]
        );
        close(1.0_f64.j0(), 0.765_197_686_557_966_6, 1e-14);
        close(1.0_f64.jn(2), 0.114_903_484_931_900_5, 1e-13);
        close(1.0_f64.yn(1), 1.0_f64.y1(), 1e-14);
    }
}
