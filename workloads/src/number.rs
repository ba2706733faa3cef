use std::fmt::Debug;

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use warpwright::Element;

use crate::sample::{normal, unit};

/// An element type of the oracles.
pub trait Number: Element + Debug + PartialOrd {
    /// The type's name.
    const NAME: &'static str;
    /// NaN, if the type has one.
    const NAN: Option<Self>;

    /// Returns the nearest number; integers truncate.
    fn from_f64(value: f64) -> Self;
    /// Returns a number whose sums are exact: any integer, or a float that is a whole number from -8 to 8.
    fn whole(hash: u64) -> Self;
    /// Returns a number whose products are exact: any odd integer, or a float that is 1 or -1, rarely 2 or 1/2.
    fn factor(hash: u64) -> Self;
    /// Returns a number for comparisons. The ends of the type, infinities and zeros of both signs are frequent.
    fn any(hash: u64) -> Self;
    /// Returns a float between -1 and 1, or any integer.
    fn fraction(hash: u64) -> Self;
    /// Returns a float of the normal distribution N(0, 1), or any integer.
    fn gaussian(hash: u64) -> Self;
    /// Returns the number as a float, rounded.
    fn real(self) -> f64;
    /// Returns the number as an integer. It must be whole.
    fn integer(self) -> i128;
    /// Returns a number that orders values as the library does, with -0 below +0; `None` for a NaN.
    fn rank(self) -> Option<i128>;
}

macro_rules! integers {
    ($($type:ident)*) => { $(
        impl Number for $type {
            const NAME: &'static str = stringify!($type);
            const NAN: Option<Self> = None;

            fn from_f64(value: f64) -> Self {
                value as Self
            }

            fn whole(hash: u64) -> Self {
                Self::any(hash)
            }

            fn factor(hash: u64) -> Self {
                hash as Self | 1
            }

            fn any(hash: u64) -> Self {
                match hash % 16 {
                    0 => Self::MIN,
                    1 => Self::MAX,
                    _ => (hash >> 4) as Self,
                }
            }

            fn fraction(hash: u64) -> Self {
                hash as Self
            }

            fn gaussian(hash: u64) -> Self {
                hash as Self
            }

            fn real(self) -> f64 {
                self as f64
            }

            fn integer(self) -> i128 {
                self.into()
            }

            fn rank(self) -> Option<i128> {
                Some(self.into())
            }
        }
    )* };
}
integers!(u8 u16 u32 u64 i8 i32 i64);

macro_rules! floats {
    ($($type:ident: $from:expr, $real:expr;)*) => { $(
        impl Number for $type {
            const NAME: &'static str = stringify!($type);
            const NAN: Option<Self> = Some(Self::NAN);

            fn from_f64(value: f64) -> Self {
                $from(value)
            }

            fn whole(hash: u64) -> Self {
                Self::from_f64((hash % 17) as f64 - 8.0)
            }

            fn factor(hash: u64) -> Self {
                // Twos and halves are rare, so that no order of multiplication overflows.
                Self::from_f64(match hash % 4096 {
                    0 => 2.0,
                    1 => 0.5,
                    other => if other % 2 == 0 { 1.0 } else { -1.0 },
                })
            }

            fn any(hash: u64) -> Self {
                Self::from_f64(match hash % 4096 {
                    0 => 0.0,
                    1 => -0.0,
                    2 => f64::INFINITY,
                    3 => f64::NEG_INFINITY,
                    _ => ((hash >> 12) % 20_001) as f64 / 100.0 - 100.0,
                })
            }

            fn fraction(hash: u64) -> Self {
                Self::from_f64(unit(hash))
            }

            fn gaussian(hash: u64) -> Self {
                Self::from_f64(normal(hash))
            }

            fn real(self) -> f64 {
                $real(self)
            }

            fn integer(self) -> i128 {
                self.real() as i128
            }

            fn rank(self) -> Option<i128> {
                let value = self.real();
                // The order is that of IEEE 754's totalOrder.
                let bits = value.to_bits() as i64;
                (!value.is_nan()).then_some((bits ^ (((bits >> 63) as u64) >> 1) as i64).into())
            }
        }
    )* };
}
floats! {
    f32: |value| value as f32, f64::from;
    f64: |value| value, |value: f64| value;
    f16: f16::from_f64, f64::from;
    bf16: bf16::from_f64, f64::from;
    F8E4M3: F8E4M3::from_f64, |value: F8E4M3| value.to_f64();
    F8E5M2: F8E5M2::from_f64, |value: F8E5M2| value.to_f64();
}

/// A type of sums.
pub trait Total: Element + Debug {
    /// Half the distance from 1 to the next number; `None` for integers.
    const ROUNDING: Option<f64>;

    /// Returns whether this is the sum of whole numbers whose exact sum is `sum`: integers wrap.
    fn is(self, sum: i128) -> bool;
    /// Returns the sum as a float.
    fn as_f64(self) -> f64;
}

macro_rules! totals {
    ($($type:ident: $rounding:expr;)*) => { $(
        impl Total for $type {
            const ROUNDING: Option<f64> = $rounding;

            fn is(self, sum: i128) -> bool {
                self == sum as Self
            }

            fn as_f64(self) -> f64 {
                self as f64
            }
        }
    )* };
}
totals! {
    u64: None;
    i64: None;
    f32: Some(f32::EPSILON as f64 / 2.0);
    f64: Some(f64::EPSILON / 2.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_of_both_signs_are_told_apart_and_nans_are_not() {
        assert!((-0.0_f64).rank() < 0.0_f64.rank());
        assert!((-0.0_f32).rank() < 0.0_f32.rank());
        assert!(f16::NEG_INFINITY.rank() < f16::MIN.rank());
        assert_eq!(f32::NAN.rank(), (-f32::NAN).rank());
        assert_eq!(bf16::NAN.rank(), None);
    }

    #[test]
    fn sums_of_integers_wrap() {
        assert!(510_u64.is(510) && 510_i64.is(510) && !510_u64.is(511));
        assert!(i64::MIN.is(i128::from(i64::MAX) + 1));
        assert!(0_u64.is(1 << 64));
        assert!((-0.0_f32).is(0) && !f32::NAN.is(0));
    }
}
