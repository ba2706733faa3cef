//! Exact sums of floats, as a fixed-point number with a place for every bit that an `f64` can have.

/// The bits of a limb that are used; the others take carries.
const LIMB: u32 = 32;
/// The exponent of the lowest bit, that of the least subnormal number.
const LEAST: i32 = -1074;
/// The number of limbs from there to 2^1024, with room for 2^63 addends.
const LIMBS: usize = (1024 + 64 + 1074) / LIMB as usize + 2;

/// A sum without rounding.
#[derive(Debug, Clone)]
pub struct Exact {
    /// The limbs, in two's complement as a whole. Each is multiplied by its power of 2^32.
    limbs: [i64; LIMBS],
    /// The number of addends since the carries were propagated.
    pending: u32,
}

impl Default for Exact {
    fn default() -> Self {
        Self {
            limbs: [0; LIMBS],
            pending: 0,
        }
    }
}

impl Exact {
    /// Adds a number.
    ///
    /// # Panics
    /// Panics if it is an infinity or a NaN.
    pub fn add(&mut self, value: f64) {
        assert!(value.is_finite(), "{value} has no place in an exact sum");
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, place) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << 52, exponent - 1),
        };
        let (limb, shift) = (place as usize / LIMB as usize, place as u32 % LIMB);
        let wide = u128::from(mantissa) << shift;
        for i in 0..3 {
            let part = (wide >> (LIMB * i as u32)) as u32;
            let part = i64::from(part);
            self.limbs[limb + i] += if value < 0.0 { -part } else { part };
        }
        self.pending += 1;
        if self.pending == 1 << 30 {
            self.carry();
        }
    }

    /// Adds another sum `times` times.
    pub fn add_times(&mut self, other: &Self, times: u32) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        for (limb, part) in self.limbs.iter_mut().zip(other.limbs) {
            // Each is below 2^32 times 2^30, except for the highest, which is small.
            *limb += part * i64::from(times);
        }
        assert!(times < 1 << 30, "{times} times is too often");
        self.carry();
    }

    /// Propagates carries. Every limb except the highest is then from 0 to 2^32 - 1.
    fn carry(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            *limb += carry;
            carry = *limb >> LIMB;
            *limb &= (1 << LIMB) - 1;
        }
        self.limbs[LIMBS - 1] += carry;
        self.pending = 0;
    }

    /// Returns the distance from `value`, with a relative error of about 2^-30.
    ///
    /// # Panics
    /// Panics if `value` is an infinity or a NaN.
    pub fn distance(&self, value: f64) -> f64 {
        let mut rest = self.clone();
        rest.add(-value);
        rest.approximate().abs()
    }

    /// Returns the sum with a relative error of about 2^-30; 0 for 0.
    pub fn approximate(&self) -> f64 {
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.limbs[LIMBS - 1] < 0;
        if negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.carry();
        }
        let magnitude = sum
            .limbs
            .iter()
            .enumerate()
            .rev()
            .fold(0.0, |total, (i, limb)| {
                // The factor is applied in two steps, because alone it may exceed the range of `f64`.
                let place = i as i32 * LIMB as i32 + LEAST;
                let half = place / 2;
                total + *limb as f64 * 2.0_f64.powi(half) * 2.0_f64.powi(place - half)
            });
        if negative { -magnitude } else { magnitude }
    }
}

/// Returns the exact sum, and that of the magnitudes.
pub fn sums(values: impl Iterator<Item = f64>) -> (Exact, Exact) {
    let (mut sum, mut magnitude) = (Exact::default(), Exact::default());
    for value in values {
        sum.add(value);
        magnitude.add(value.abs());
    }
    (sum, magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        sums(values.iter().copied()).0.approximate()
    }

    #[test]
    fn single_numbers_stay_what_they_are() {
        for value in [
            0.0,
            1.0,
            -1.5,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            1e-310,
        ] {
            assert_eq!(sum(&[value]), value);
            assert_eq!(sums([value].into_iter()).0.distance(value), 0.0);
        }
    }

    #[test]
    fn what_cancels_leaves_the_rest() {
        assert_eq!(sum(&[1e300, 1.0, -1e300]), 1.0);
        assert_eq!(sum(&[1e300, 5e-324, -1e300]), 5e-324);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX, -3.0]), -3.0);
        assert_eq!(sum(&[1.0, -0.5, -0.5]), 0.0);
    }

    #[test]
    fn distances_see_the_last_bit() {
        let (exact, _) = sums([1.0, 2.0_f64.powi(-80)].into_iter());
        assert_eq!(exact.distance(1.0), 2.0_f64.powi(-80));
    }

    #[test]
    fn many_times_is_as_often_as_that() {
        let (one, _) = sums([0.1, -3e-9].into_iter());
        let (mut many, mut loops) = (Exact::default(), Exact::default());
        many.add_times(&one, 1000);
        for _ in 0..1000 {
            loops.add(0.1);
            loops.add(-3e-9);
        }
        assert_eq!(many.approximate(), loops.approximate());
        assert!(many.distance(100.0 - 3e-6) < 1e-12);
        let mut negative = Exact::default();
        negative.add_times(&sums([-2.0].into_iter()).0, 1 << 20);
        assert_eq!(negative.approximate(), -f64::from(1 << 21));
    }
}
