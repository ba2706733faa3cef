//! The element types of the reductions, for the oracles.

use std::fmt::Debug;

use cuda_std::{bf16, f16};
use warpwright::ops::reduce::Reducible;

use crate::oracle::{self, Total};

/// An element type of the reductions.
pub trait Number: Reducible + Debug {
    /// The type's name in the kernels' names.
    const NAME: &'static str;
    /// Half the distance from 1 to the next number of the type in which sums are accumulated: the largest relative error of one
    /// rounding. 0 for integers, whose sums are exact.
    const ROUNDING: f64;
    /// The largest finite number of the type in which sums are accumulated.
    const LARGEST: f64;
    /// The least positive number of that type, including subnormal ones; 0 for integers.
    const SMALLEST: f64;

    /// The least finite element.
    const LEAST: Self;
    /// The greatest finite element.
    const GREATEST: Self;

    /// Returns the value. It is exact, except for integers beyond 2^53.
    fn real(self) -> f64;

    /// Returns the nearest element to `value`; integers truncate.
    fn from_real(value: f64) -> Self;

    /// Returns the element with these low bits.
    fn from_low_bits(bits: u64) -> Self;

    /// Returns the bits, as [`from_low_bits`](Self::from_low_bits) takes them.
    fn bits(self) -> u64;

    /// Returns whether it is a NaN.
    fn is_nan(self) -> bool;

    /// Returns whether it is less than `other`; -0 is less than +0, and the result is false for a NaN.
    fn below(self, other: Self) -> bool;

    /// Returns the sum of `values`.
    fn exact_sum(values: &[Self]) -> Total;

    /// Returns the sum of `values` for their mean; it does not wrap for integers.
    fn whole_sum(values: &[Self]) -> Total;

    /// Returns the product of `values`.
    fn exact_product(values: &[Self]) -> Total;

    /// Returns the minimum or the maximum and its position: the first NaN if there is one, otherwise the first of equal
    /// elements. -0 is less than +0. Returns `None` without elements.
    fn extreme(values: &[Self], least: bool) -> Option<(u64, Self)> {
        let mut best: Option<(u64, Self)> = None;
        for (i, value) in values.iter().enumerate() {
            let better = match best {
                None => true,
                Some((_, best)) if best.is_nan() => false,
                Some(_) if value.is_nan() => true,
                Some((_, best)) if least => value.below(best),
                Some((_, best)) => best.below(*value),
            };
            if better {
                best = Some((i as u64, *value));
            }
        }
        best
    }

    /// Converts a sum or product from the library.
    fn total(sum: Self::Sum) -> Total;
}

macro_rules! integers {
    ($($ty:ident: $sum:ty;)*) => { $(
        impl Number for $ty {
            const NAME: &'static str = stringify!($ty);
            const ROUNDING: f64 = 0.0;
            const LARGEST: f64 = <$sum>::MAX as f64;
            const SMALLEST: f64 = 0.0;
            const LEAST: Self = <$ty>::MIN;
            const GREATEST: Self = <$ty>::MAX;

            fn real(self) -> f64 {
                self as f64
            }
            fn from_real(value: f64) -> Self {
                value as $ty
            }
            fn from_low_bits(bits: u64) -> Self {
                bits as $ty
            }
            fn bits(self) -> u64 {
                self as u64
            }
            fn is_nan(self) -> bool {
                false
            }
            fn below(self, other: Self) -> bool {
                self < other
            }
            fn exact_sum(values: &[Self]) -> Total {
                let Total::Integer(sum) = Self::whole_sum(values) else {
                    unreachable!("a sum of integers")
                };
                Total::Integer(i128::from(sum as $sum))
            }
            fn whole_sum(values: &[Self]) -> Total {
                Total::Integer(values.iter().map(|value| i128::from(*value)).sum())
            }
            fn exact_product(values: &[Self]) -> Total {
                let product = values.iter().fold(1_i128, |product, value| {
                    // The low 64 bits of a product depend only on the low 64 bits of its factors.
                    i128::from(product.wrapping_mul(i128::from(*value)) as $sum)
                });
                Total::Integer(product)
            }
            fn total(sum: $sum) -> Total {
                Total::Integer(i128::from(sum))
            }
        }
    )* };
}
integers! {
    u8: u64;
    u16: u64;
    u32: u64;
    i32: i64;
    u64: u64;
    i64: i64;
}

macro_rules! floats {
    ($($ty:ident: $sum:ident, $bits:ty, $to:expr, $from:expr;)*) => { $(
        impl Number for $ty {
            const NAME: &'static str = stringify!($ty);
            const ROUNDING: f64 = $sum::EPSILON as f64 / 2.0;
            const LARGEST: f64 = $sum::MAX as f64;
            const SMALLEST: f64 = $sum::from_bits(1) as f64;
            const LEAST: Self = <$ty>::MIN;
            const GREATEST: Self = <$ty>::MAX;

            fn real(self) -> f64 {
                $to(self)
            }
            fn from_real(value: f64) -> Self {
                $from(value)
            }
            fn from_low_bits(bits: u64) -> Self {
                <$ty>::from_bits(bits as $bits)
            }
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
            fn is_nan(self) -> bool {
                self != self
            }
            fn below(self, other: Self) -> bool {
                self < other || (self == other && self.is_sign_negative() && other.is_sign_positive())
            }
            fn exact_sum(values: &[Self]) -> Total {
                oracle::real_sum(values.iter().map(|value| value.real()))
            }
            fn whole_sum(values: &[Self]) -> Total {
                Self::exact_sum(values)
            }
            fn exact_product(values: &[Self]) -> Total {
                oracle::real_product(values.iter().map(|value| value.real()))
            }
            fn total(sum: $sum) -> Total {
                Total::Real { value: sum.into(), magnitude: f64::from(sum).abs() }
            }
        }
    )* };
}
floats! {
    f32: f32, u32, f64::from, |value| value as f32;
    f64: f64, u64, |value| value, |value| value;
    f16: f32, u16, f16::to_f64, f16::from_f64;
    bf16: f32, u16, bf16::to_f64, bf16::from_f64;
}

/// Calls `$callback!` once per element type of the reductions, with the type.
#[macro_export]
macro_rules! for_each_number {
    ($callback:ident) => {
        $callback!(u8);
        $callback!(u16);
        $callback!(u32);
        $callback!(i32);
        $callback!(u64);
        $callback!(i64);
        $callback!(f32);
        $callback!(f64);
        $callback!(f16);
        $callback!(bf16);
    };
}
