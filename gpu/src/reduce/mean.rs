//! Means: the sum in 128 bits from which that of integers of 32 and 64 bits is computed, and the division.

use cuda_std::{Plain, warp::Shuffle};

/// A sum in 128 bits, in two's complement. Its halves are aligned like the sums of other types.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// The lower 64 bits.
    pub low: u64,
    /// The upper 64 bits.
    pub high: u64,
}

// SAFETY: the type has plain fields.
unsafe impl Plain for Total {}

impl Shuffle for Total {
    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self {
            low: self.low.map_words(each),
            high: self.high.map_words(each),
        }
    }
}

impl Total {
    /// Returns the number in one integer.
    #[inline(always)]
    pub const fn bits(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    #[inline(always)]
    pub(super) const fn of(bits: u128) -> Self {
        Self {
            low: bits as u64,
            high: (bits >> 64) as u64,
        }
    }
}

/// An accumulator of sums of integers that can be converted to 128 bits.
pub trait Widened: Plain {
    /// Returns the same number in 128 bits.
    fn total(self) -> Total;
}

impl Widened for u64 {
    #[inline(always)]
    fn total(self) -> Total {
        Total::of(self.into())
    }
}

impl Widened for i64 {
    #[inline(always)]
    fn total(self) -> Total {
        Total::of(i128::from(self) as u128)
    }
}

/// A sum that is divided to a mean.
pub trait Dividend: Plain {
    /// Returns the sum divided by `len`, which must not be 0. Of integers this is the exact quotient, rounded once.
    fn quotient(self, len: usize) -> f64;
}

impl Dividend for Total {
    #[inline(always)]
    fn quotient(self, len: usize) -> f64 {
        let sum = self.bits() as i128;
        let quotient = rounded(sum.unsigned_abs(), len as u64);
        if sum < 0 { -quotient } else { quotient }
    }
}

impl Dividend for u64 {
    #[inline(always)]
    fn quotient(self, len: usize) -> f64 {
        self.total().quotient(len)
    }
}

impl Dividend for i64 {
    #[inline(always)]
    fn quotient(self, len: usize) -> f64 {
        self.total().quotient(len)
    }
}

impl Dividend for f32 {
    #[inline(always)]
    fn quotient(self, len: usize) -> f64 {
        f64::from(self) / len as f64
    }
}

impl Dividend for f64 {
    #[inline(always)]
    fn quotient(self, len: usize) -> f64 {
        self / len as f64
    }
}

/// Returns `dividend / divisor`, rounded once.
#[inline(always)]
fn rounded(dividend: u128, divisor: u64) -> f64 {
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    if dividend == 0 {
        return 0.0;
    }
    if dividend <= EXACT as u128 && divisor <= EXACT {
        return dividend as u64 as f64 / divisor as f64;
    }
    // Both are shifted up as far as possible, so that the quotient is between 1/2 and 2 times 2^64. A device has no division
    // of 128 bits: this one makes a bit of the quotient in each step, from the highest on.
    let (up, divisor_up) = (dividend.leading_zeros(), divisor.leading_zeros());
    let (shifted, divisor) = (dividend << up, divisor << divisor_up);
    let (mut rest, mut low) = ((shifted >> 64) as u64, shifted as u64);
    let mut quotient = u64::from(rest >= divisor);
    rest -= quotient * divisor;
    for _ in 0..STEPS {
        let carry = rest >> 63 != 0;
        rest = rest << 1 | low >> 63;
        low <<= 1;
        let fits = carry || rest >= divisor;
        if fits {
            rest = rest.wrapping_sub(divisor);
        }
        quotient = quotient << 1 | u64::from(fits);
    }
    // What is left only decides on which side of a tie the quotient lies. The lowest bit, for which an `f64` has no room, says
    // the same.
    quotient |= u64::from(rest | low != 0);
    // The exponent is between -125 and 65.
    let exponent = 64 - STEPS as i32 + divisor_up as i32 - up as i32;
    quotient as f64 * f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// The bits of a quotient behind the first one: more than an `f64` has, and few enough for a `u64`.
const STEPS: u32 = 62;

#[cfg(test)]
mod tests {
    use super::*;

    /// The quotient by a division of 128 bits. Its lowest bit is set if there is a rest.
    fn wanted(dividend: u128, divisor: u64) -> f64 {
        let shift = dividend.leading_zeros() % u128::BITS;
        let (dividend, divisor) = (dividend << shift, u128::from(divisor));
        let rest = u128::from(!dividend.is_multiple_of(divisor));
        ((dividend / divisor) | rest) as f64 * 2_f64.powi(-(shift as i32))
    }

    #[test]
    fn quotients_are_rounded_once() {
        let mut state = 1_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let edges = [0, 1, 2, 3, 1 << 53, (1 << 53) + 1, u64::MAX - 1, u64::MAX];
        let pairs = edges.map(|high| edges.map(|low| u128::from(high) << 64 | u128::from(low)));
        let all: Vec<u128> = (0..20_000)
            .map(|i| (u128::from(next()) << 64 | u128::from(next())) >> (i % 128))
            .collect();
        for dividend in pairs.into_iter().flatten().chain(all) {
            let given = [1, 3, (1 << 53) + 1, u64::MAX];
            for divisor in given.into_iter().chain([(next() >> (next() % 64)).max(1)]) {
                let found = rounded(dividend, divisor);
                let wanted = wanted(dividend, divisor);
                assert_eq!(found, wanted, "{dividend} / {divisor}");
            }
        }
        let quotient = |sum: i128, len| Total::of(sum as u128).quotient(len);
        assert_eq!(quotient(0, usize::MAX), 0.0);
        assert_eq!((-1_i64).quotient(3), -1.0 / 3.0);
        assert_eq!(quotient(i64::MIN as i128 * 7, 7), i64::MIN as f64);
        // The quotient is above the tie between two floats by less than a neighboring float can show.
        let (tie, below) = ((1_i128 << 53) + 1, (1_u64 << 53) as f64);
        assert_eq!(quotient(tie * 3, 3), below);
        assert_eq!(quotient(tie * 3 + 1, 3), below + 2.0);
        assert_eq!(quotient(-(tie * 3 + 1), 3), -(below + 2.0));
        assert_eq!(quotient(tie * i128::from(u64::MAX) - 1, usize::MAX), below);
        assert_eq!(quotient(i128::MAX, 1), 2_f64.powi(127));
        assert_eq!(quotient(i128::MIN, 1), -(2_f64.powi(127)));
        assert_eq!(1_u64.quotient(usize::MAX), 2_f64.powi(-64));
    }
}
