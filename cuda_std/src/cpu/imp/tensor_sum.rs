//! The sum of products as a tensor core makes it.
//!
//! ```text
//! a term is a product, exact, or c times 1; its exponent is the sum of its factors', also if its significand is 2 or more
//! if an operand is NaN, or infinity meets 0 in a product or the other infinity in the sum: the NaN 7fffffff
//! else if a term is infinite: that infinity
//! largest = the greatest exponent of the terms that are not 0
//! for each term: align it to the largest exponent; cut it to precision.term bits after the point, toward zero
//! add the terms exactly
//! cut the sum to a fraction of precision.sum bits, toward zero; larger than all is infinity, and 0 is +0
//! ```
//!
//! So the order of the products does not matter, and the executor gives the bits that the card gives. Subnormal numbers are
//! kept: as a term each has the exponent of its format's least normal number.

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

/// A factor of a product, in the format in which the tensor core gets it.
pub(crate) trait Factor: Copy {
    /// The exponent of the format's subnormal numbers.
    const LEAST_EXPONENT: i32;
    /// Returns the same value.
    fn to_f32(self) -> f32;
}

/// Also for formats with fewer bits and the exponents of `f32`.
impl Factor for f32 {
    const LEAST_EXPONENT: i32 = -126;
    fn to_f32(self) -> f32 {
        self
    }
}

impl Factor for bf16 {
    const LEAST_EXPONENT: i32 = -126;
    fn to_f32(self) -> f32 {
        self.to_f32()
    }
}

impl Factor for f16 {
    const LEAST_EXPONENT: i32 = -14;
    fn to_f32(self) -> f32 {
        self.to_f32()
    }
}

impl Factor for F8E4M3 {
    const LEAST_EXPONENT: i32 = -6;
    fn to_f32(self) -> f32 {
        Self::to_f32(&self)
    }
}

impl Factor for F8E5M2 {
    const LEAST_EXPONENT: i32 = -14;
    fn to_f32(self) -> f32 {
        Self::to_f32(&self)
    }
}

/// The bits that a tensor core keeps.
#[derive(Clone, Copy)]
pub(crate) struct Precision {
    /// Those after the point of a term that is aligned to the largest one.
    pub term: u32,
    /// Those of a sum's fraction.
    pub sum: i32,
}

impl Precision {
    /// Those of compute capability 9.0 for products of 16 bits and of TF32.
    pub const HALVES: Self = Self {
        term: 25,
        sum: FRACTION,
    };
    /// Those for products of `F8E4M3` and `F8E5M2`.
    pub const EIGHT_BITS: Self = Self { term: 13, sum: 13 };
}

/// The bits of the fraction of an `f32`.
const FRACTION: i32 = 23;

/// The bits after the point of a product.
const EXACT: u32 = 2 * FRACTION as u32;

/// The exponent of a term that is 0: it is never the largest beside other numbers.
const OF_ZERO: i32 = -1 << 20;

/// A finite number, `significand * 2^(exponent - 23)`.
#[derive(Clone, Copy)]
struct Parts {
    significand: i64,
    exponent: i32,
}

impl Parts {
    /// Returns the parts of a finite number. A significand below 2^23 is that of a format's subnormal number, or 0.
    fn new<T: Factor>(value: T) -> Self {
        let bits = value.to_f32().to_bits();
        let (field, fraction) = (bits >> FRACTION & 0xFF, i64::from(bits & 0x007F_FFFF));
        let (mut significand, mut exponent) = match field {
            0 => (fraction, -126),
            _ => (fraction | 1 << FRACTION, field as i32 - 127),
        };
        // `f32` has a format's subnormal numbers as normal ones. The bits that are shifted out are 0.
        if exponent < T::LEAST_EXPONENT {
            let shift = (T::LEAST_EXPONENT - exponent).min(63);
            (significand, exponent) = (significand >> shift, T::LEAST_EXPONENT);
        }
        if bits >> 31 == 1 {
            significand = -significand;
        }
        Self {
            significand,
            exponent,
        }
    }

    /// Returns a sum as a term: times 1.
    fn of_sum(value: f32) -> Self {
        Self::new(value).times(Self::new(1.0_f32))
    }

    /// Returns a product, whose significand has 46 bits after the point.
    fn times(self, other: Self) -> Self {
        Self {
            significand: self.significand * other.significand,
            exponent: self.exponent + other.exponent,
        }
    }
}

/// Returns the sum of `c` and of all products, as a tensor core's instruction adds them. Compute capability 9.0 adds 16
/// products of 16 bits at once, and 32 of 8 bits.
pub(crate) fn tensor_sum<T: Factor>(
    c: f32,
    products: impl Iterator<Item = (T, T)> + Clone,
    precision: Precision,
) -> f32 {
    assert!(precision.term <= EXACT, "too many bits");
    // The product in `f64` has the class of the exact one: its exponent is far from the bounds.
    let special = products.clone().fold(f64::from(c), |sum, (a, b)| {
        let product = f64::from(a.to_f32()) * f64::from(b.to_f32());
        match product.is_finite() {
            true => sum,
            false => sum + product,
        }
    });
    if special.is_nan() {
        return f32::from_bits(0x7FFF_FFFF);
    }
    if special.is_infinite() {
        return special as f32;
    }

    let terms = products.map(|(a, b)| Parts::new(a).times(Parts::new(b)));
    let mut all = ([0; MOST + 1], [OF_ZERO; MOST + 1]);
    assert!(terms.clone().count() <= MOST, "too many products");
    for (i, term) in terms.chain([Parts::of_sum(c)]).enumerate() {
        if term.significand != 0 {
            (all.0[i], all.1[i]) = (term.significand, term.exponent);
        }
    }
    aligned_sum(&all.0, &all.1, precision)
}

/// Returns the sum of finite terms, given by their significands with [`EXACT`] bits after the point and their exponents.
fn aligned_sum(significands: &[i64], exponents: &[i32], precision: Precision) -> f32 {
    let largest = exponents.iter().fold(i32::MIN, |most, it| most.max(*it));
    if largest < OF_ZERO / 2 {
        return 0.0;
    }
    let mut sum = 0;
    for (significand, exponent) in significands.iter().zip(exponents) {
        let shift = (EXACT - precision.term) as i32 + (largest - exponent);
        // A division would truncate too, but not by more than 62 bits.
        let magnitude = significand.abs() >> shift.min(63);
        sum += if *significand < 0 {
            -magnitude
        } else {
            magnitude
        };
    }
    rounded_toward_zero(sum, largest - precision.term as i32, precision.sum)
}

/// The most products that an instruction adds at once.
const MOST: usize = 32;

/// Factors of many sums, taken apart once. An instruction adds `AT_ONCE` products at once.
pub(crate) struct Factors<T, const AT_ONCE: usize> {
    values: Vec<T>,
    significands: Vec<i32>,
    exponents: Vec<i32>,
    /// For each run of `AT_ONCE` values, whether all are finite.
    are_finite: Vec<bool>,
}

impl<T: Factor, const AT_ONCE: usize> Factors<T, AT_ONCE> {
    pub fn new(values: Vec<T>) -> Self {
        let parts = |value: &T| match Parts::new(*value) {
            Parts { significand: 0, .. } => (0, OF_ZERO),
            parts => (parts.significand as i32, parts.exponent),
        };
        let (significands, exponents) = values.iter().map(parts).unzip();
        let is_finite = |value: &T| value.to_f32().is_finite();
        let are_finite = values.chunks(AT_ONCE).map(|run| run.iter().all(is_finite));
        Self {
            are_finite: are_finite.collect(),
            significands,
            exponents,
            values,
        }
    }

    /// Returns [`tensor_sum`] of `c` and the products of run `i` and run `j` of other factors.
    pub fn sum(&self, i: usize, others: &Self, j: usize, c: f32, precision: Precision) -> f32 {
        let of = |i: usize| i * AT_ONCE..(i + 1) * AT_ONCE;
        if !(self.are_finite[i] && others.are_finite[j] && c.is_finite()) {
            let (a, b) = (self.values[of(i)].iter(), others.values[of(j)].iter());
            return tensor_sum(c, a.copied().zip(b.copied()), precision);
        }
        let c = Parts::of_sum(c);
        let mut significands = [c.significand; MOST + 1];
        let mut exponents = [c.exponent; MOST + 1];
        if c.significand == 0 {
            exponents[AT_ONCE] = OF_ZERO;
        }
        let (a, b) = (&self.significands[of(i)], &others.significands[of(j)]);
        for ((product, a), b) in significands.iter_mut().zip(a).zip(b) {
            *product = i64::from(*a) * i64::from(*b);
        }
        let (a, b) = (&self.exponents[of(i)], &others.exponents[of(j)]);
        for ((exponent, a), b) in exponents.iter_mut().zip(a).zip(b) {
            *exponent = a + b;
        }
        let terms = ..=AT_ONCE;
        aligned_sum(&significands[terms], &exponents[terms], precision)
    }
}

/// Returns `value * 2^exponent`, rounded toward zero to an `f32` with a fraction of `fraction` bits, or an infinity.
fn rounded_toward_zero(value: i64, exponent: i32, fraction: i32) -> f32 {
    /// The exponent of the least subnormal number.
    const LEAST: i32 = -149;
    let magnitude = value.unsigned_abs();
    let bits = (u64::BITS - magnitude.leading_zeros()) as i32;
    let shift = (bits - (fraction + 1)).max(LEAST - exponent).max(0);
    // Both factors and their product are exact: the exponent is from -175 to 300.
    let magnitude = (magnitude >> shift.min(63)) as f64;
    let result = magnitude * f64::from_bits(((exponent + shift + 1023) as u64) << 52);
    (if value < 0 { -result } else { result }) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum<T: Factor>(c: f32, products: &[(T, T)]) -> f32 {
        tensor_sum(c, products.iter().copied(), Precision::HALVES)
    }

    fn power(exponent: i32) -> f32 {
        2.0_f32.powi(exponent)
    }

    #[test]
    fn exact_sums_are_exact() {
        assert_eq!(sum::<f32>(0.0, &[]), 0.0);
        assert_eq!(sum::<f32>(-1.5, &[]), -1.5);
        assert_eq!(sum(1.0, &[(2.0_f32, 3.0), (-4.0, 0.5)]), 5.0);
        let sixteen = [(f16::from_f32(1.5), f16::from_f32(-2.5)); 16];
        assert_eq!(sum(10.0, &sixteen), -50.0);
        let sixteen = [(bf16::from_f32(1.5), bf16::from_f32(-2.5)); 16];
        assert_eq!(sum(10.0, &sixteen), -50.0);
    }

    #[test]
    fn large_terms_cancel_and_take_small_ones_with_them() {
        // The small term is below the last bit of the large ones, as it would be in no order of exact additions.
        let large = power(60);
        assert_eq!(sum(-large, &[(large, 1.0), (1.0, 1.0)]), 0.0);
        assert_eq!(sum(-power(25), &[(power(25), 1.0), (1.0_f32, 1.0)]), 1.0);
        assert_eq!(sum(-power(26), &[(power(26), 1.0), (1.0_f32, 1.0)]), 0.0);
        // Products that `f32` could not hold cancel too.
        let huge = power(100);
        assert_eq!(sum(1.0, &[(huge, huge), (-huge, huge)]), 0.0);
    }

    #[test]
    fn terms_and_the_sum_are_truncated_toward_zero() {
        // Eight halves of the last bit of 25 are lost each for itself.
        let half = power(-13);
        assert_eq!(sum(1.0, &[(half, half); 15]), 1.0);
        // Two of 25 bits are below the last bit of the sum, four make one.
        let two = (power(-12), power(-13));
        assert_eq!(sum(1.0, &[two; 3]), 1.0);
        assert_eq!(sum(1.0, &[two; 4]), 1.0 + f32::EPSILON);
        assert_eq!(sum(-1.0, &[(-two.0, two.1); 7]), -1.0 - f32::EPSILON);
        // 1 less a quarter: toward zero.
        assert_eq!(sum(1.0, &[(-two.0, two.1)]), 1.0 - f32::EPSILON / 2.0);
        // One bit less than on compute capability 9.0.
        let less = Precision { term: 24, sum: 23 };
        assert_eq!(tensor_sum(1.0, [two; 4].into_iter(), less), 1.0);
    }

    #[test]
    fn a_product_has_the_exponent_of_its_factors() {
        // 1.5 * 1.5 is 2.25 with the exponent 0, so that 2^-25 stays.
        let small = (power(-12), power(-13));
        let all = [(1.5, 1.5), small, (-1.5, 1.5)];
        assert_eq!(sum(0.0, &all), power(-25));
        // 2.25 as C has the exponent 1.
        assert_eq!(sum(2.25, &[small, (-1.5, 1.5)]), 0.0);
    }

    #[test]
    fn subnormal_numbers_are_kept() {
        let least = f32::from_bits(1);
        assert_eq!(sum::<f32>(least, &[]), least);
        assert_eq!(sum(least, &[(least, 1.0), (least, -3.0)]), -least);
        assert_eq!(
            sum(0.0, &[(bf16::from_bits(1), bf16::from_f32(2.0))]),
            power(-132)
        );
        // The least of `f16` squared; as a term it has the exponent -28, so that 2^-54 is lost beside it, and 2^-53 is not.
        let least = f16::from_bits(1);
        assert_eq!(sum(0.0, &[(least, least)]), power(-48));
        assert_eq!(sum(power(-54), &[(least, least)]), power(-48));
        assert_eq!(sum(power(-53), &[(least, least)]), power(-48) + power(-53));
        // Rounded toward zero below the least number.
        assert_eq!(sum(0.0, &[(power(-75), power(-75))]).to_bits(), 0);
        assert_eq!(
            sum(0.0, &[(power(-75), 1.75 * power(-74))]),
            f32::from_bits(1)
        );
    }

    #[test]
    fn infinities_and_nan_are_those_of_the_sum() {
        let (infinity, nan) = (f32::INFINITY, 0x7FFF_FFFF);
        assert_eq!(sum(1.0, &[(infinity, 2.0), (1.0, 1.0)]), infinity);
        assert_eq!(sum(-infinity, &[(1.0_f32, 1.0)]), -infinity);
        assert_eq!(sum(0.0, &[(infinity, -2.0), (-infinity, 1.0)]), -infinity);
        assert_eq!(sum(infinity, &[(-infinity, 1.0)]).to_bits(), nan);
        assert_eq!(sum(0.0, &[(infinity, 0.0)]).to_bits(), nan);
        assert_eq!(sum(0.0, &[(f16::NAN, f16::ZERO)]).to_bits(), nan);
        assert_eq!(sum::<f32>(f32::NAN, &[]).to_bits(), nan);
        // A sum that is too large, of terms that are not.
        assert_eq!(sum(f32::MAX, &[(f32::MAX, 1.0)]), infinity);
        assert_eq!(sum(0.0, &[(power(100), -power(100))]), -infinity);
    }

    #[test]
    fn the_order_of_products_does_not_matter() {
        let mut products: Vec<(f32, f32)> = (0..16)
            .map(|i| (power(i * 3 % 11 - 5) * 1.375, (i as f32 - 7.5) * 0.8125))
            .collect();
        let expected = sum(0.1, &products);
        for _ in 0..16 {
            products.rotate_left(1);
            assert_eq!(sum(0.1, &products), expected);
        }
    }

    #[test]
    fn sums_of_eight_bits_keep_thirteen_bits() {
        let sum = |c, products: &[(F8E4M3, F8E4M3)]| {
            tensor_sum(c, products.iter().copied(), Precision::EIGHT_BITS)
        };
        let of = |a, b| (F8E4M3::from_f32(a), F8E4M3::from_f32(b));
        // 2^-13 is the last bit beside 1, and 2^-14 is lost, however often.
        assert_eq!(sum(1.0, &[of(power(-6), power(-7))]), 1.0 + power(-13));
        assert_eq!(sum(1.0, &[of(power(-7), power(-7)); 31]), 1.0);
        // C is truncated too, also alone.
        assert_eq!(sum(1.0 + power(-14), &[]), 1.0);
        assert_eq!(sum(-1.0 - power(-14), &[of(0.0, 1.0)]), -1.0);
        // 3 + 2^-13 has 15 bits.
        assert_eq!(sum(1.0, &[of(2.0, 1.0), of(power(-6), power(-7))]), 3.0);
        assert_eq!(sum(0.0, &[of(448.0, 448.0); 32]), 32.0 * 448.0 * 448.0);
        // The least numbers.
        assert_eq!(sum(0.0, &[of(power(-9), power(-9))]), power(-18));
        let least = (F8E5M2::from_bits(1), F8E5M2::from_bits(1));
        let products = [least; 3].into_iter();
        assert_eq!(
            tensor_sum(0.0, products, Precision::EIGHT_BITS),
            3.0 * power(-32)
        );
        // Eight bits have one NaN, or infinities too.
        let nan = (F8E4M3::from_bits(0x7F), F8E4M3::from_bits(0));
        assert_eq!(sum(1.0, &[nan]).to_bits(), 0x7FFF_FFFF);
        let infinity = (F8E5M2::from_bits(0xFC), F8E5M2::from_bits(1));
        let products = [infinity].into_iter();
        assert_eq!(
            tensor_sum(1.0, products, Precision::EIGHT_BITS),
            f32::NEG_INFINITY
        );
    }

    /// Factors that are taken apart give the same bits.
    #[test]
    fn factors_have_the_same_sums() {
        let mut state = 7_u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        for kind in 0..4 {
            for _ in 0..500 {
                let f16 = |next: &mut dyn FnMut() -> u32| match kind {
                    // Any bits; of one size; subnormal and 0; far apart.
                    0 => f16::from_bits(next() as u16),
                    1 => f16::from_f32(next() as f32 / 16_777_216.0 - 0.5),
                    2 => f16::from_bits(next() as u16 & 0x83FF),
                    _ => f16::from_bits(next() as u16 & 0xF800),
                };
                check_factors::<_, 16>(|| f16(&mut next), Precision::HALVES);
                check_factors::<_, 32>(|| F8E5M2::from_bits(next() as u8), Precision::EIGHT_BITS);
                // Without the NaN.
                check_factors::<_, 32>(
                    || F8E4M3::from_bits((next() as u8).saturating_sub(1) & 0xFE),
                    Precision::EIGHT_BITS,
                );
            }
        }
    }

    /// Compares sums of random factors.
    fn check_factors<T: Factor, const AT_ONCE: usize>(
        mut value: impl FnMut() -> T,
        precision: Precision,
    ) {
        let (a, b): (Vec<T>, Vec<T>) = (0..2 * AT_ONCE).map(|_| (value(), value())).unzip();
        let c = [
            0.0,
            -0.0,
            1.5,
            f32::MIN_POSITIVE / 4.0,
            f32::MAX,
            f32::NAN,
            f32::INFINITY,
        ];
        for c in c {
            let pairs = (0..AT_ONCE).map(|k| (a[k], b[AT_ONCE + k]));
            let expected = tensor_sum(c, pairs, precision);
            let [a, b] = [&a, &b].map(|of| Factors::<T, AT_ONCE>::new(of.clone()));
            let found = a.sum(0, &b, 1, c, precision);
            assert_eq!(found.to_bits(), expected.to_bits(), "{c}");
        }
    }
}
