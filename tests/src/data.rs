//! The values that the reductions are tested with.

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use crate::number::Number;

/// Returns a generator whose numbers are the same in every run.
pub fn generator(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// A kind of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// The type's whole range; floats of many magnitudes and both signs.
    Spread,
    /// Factors whose product neither overflows nor vanishes, nor wraps to 0, in any order.
    Factors,
    /// Equal elements, with the minimum and the maximum at a few places each.
    Ties,
    /// One of the awkward kinds.
    Awkward(Awkward),
}

/// Values that are easily handled wrongly. For integers, the infinities are the minimum and the maximum of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awkward {
    /// A NaN at the first position.
    NanFirst,
    /// A NaN in the middle.
    NanMiddle,
    /// A NaN at the last position.
    NanLast,
    /// NaNs of both signs, with different payloads.
    Nans,
    /// Only zeros, -0 and +0.
    Zeros,
    /// Only -0.
    NegativeZeros,
    /// One infinity.
    Infinity,
    /// One negative infinity.
    NegativeInfinity,
    /// Both infinities.
    Infinities,
    /// Numbers below the least normal one.
    Subnormal,
    /// Large numbers that cancel, and small ones that remain.
    Cancellation,
    /// The largest number everywhere: any sum of two overflows (integers wrap).
    Largest,
    /// The least number everywhere.
    Lowest,
    /// Descending numbers: the last one is the minimum.
    Falling,
}

impl Awkward {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::NanFirst,
        Self::NanMiddle,
        Self::NanLast,
        Self::Nans,
        Self::Zeros,
        Self::NegativeZeros,
        Self::Infinity,
        Self::NegativeInfinity,
        Self::Infinities,
        Self::Subnormal,
        Self::Cancellation,
        Self::Largest,
        Self::Lowest,
        Self::Falling,
    ];

    /// Returns the kinds that apply to `T`.
    pub fn of<T: Number>() -> impl Iterator<Item = Self> {
        let integers = [
            Self::Zeros,
            Self::Infinities,
            Self::Largest,
            Self::Lowest,
            Self::Falling,
        ];
        Self::ALL
            .into_iter()
            .filter(move |awkward| float::<T>() || integers.contains(awkward))
    }

    /// Returns whether the product is the same in every order, except for rounding: no part of it may overflow or vanish unless
    /// the whole does.
    pub fn has_product(self) -> bool {
        !matches!(self, Self::Falling | Self::Cancellation)
    }
}

impl Data {
    /// Returns `len` values of this kind, the same in every run.
    pub fn values<T: Number>(self, len: usize) -> Vec<T> {
        let mut rng = generator(len as u64);
        match self {
            Self::Spread => (0..len).map(|_| spread(&mut rng)).collect(),
            Self::Factors => factors(&mut rng, len),
            Self::Ties => ties(&mut rng, len),
            Self::Awkward(awkward) => awkward.values(&mut rng, len),
        }
    }
}

impl Data {
    /// Returns the number of multiplications that round in the product of `len` such values.
    pub fn roundings(self, len: usize) -> usize {
        if self == Self::Factors && len > FEW {
            0
        } else {
            len
        }
    }
}

/// Returns whether `T` is a float.
fn float<T: Number>() -> bool {
    T::ROUNDING > 0.0
}

fn spread<T: Number>(rng: &mut StdRng) -> T {
    if float::<T>() {
        T::from_real(rng.random_range(-1.0..1.0) * 2.0_f64.powi(rng.random_range(-10..10)))
    } else {
        T::from_low_bits(rng.random())
    }
}

/// The number of elements up to which the factors of [`factors`] are arbitrary numbers.
const FEW: usize = 5000;

fn factors<T: Number>(rng: &mut StdRng, len: usize) -> Vec<T> {
    let sign = |rng: &mut StdRng| if rng.random() { 1.0 } else { -1.0 };
    if !float::<T>() {
        // A product of odd numbers is odd.
        return (0..len)
            .map(|_| T::from_low_bits(rng.random::<u64>() | 1))
            .collect();
    }
    if len <= FEW {
        let factor = |rng: &mut StdRng| sign(rng) * 2.0_f64.powf(rng.random_range(-1.0..1.0));
        return (0..len).map(|_| T::from_real(factor(rng))).collect();
    }
    // The bound on the error of a product grows with the number of factors, until it has no use. So every product here is
    // exact: the factors are signs, and so few powers of two that none of their products overflows.
    let mut values: Vec<T> = (0..len).map(|_| T::from_real(sign(rng))).collect();
    for i in 0..80 {
        let at = rng.random_range(0..len);
        let factor = if i % 2 == 0 { 2.0 } else { 0.5 };
        values[at] = T::from_real(sign(rng) * factor);
    }
    values
}

fn ties<T: Number>(rng: &mut StdRng, len: usize) -> Vec<T> {
    let [least, middle, greatest] = [20.0, 30.0, 40.0].map(T::from_real);
    let mut values: Vec<T> = vec![middle; len];
    if len > 0 {
        for extreme in [least, greatest, least, greatest, least] {
            values[rng.random_range(0..len)] = extreme;
        }
    }
    values
}

impl Awkward {
    fn values<T: Number>(self, rng: &mut StdRng, len: usize) -> Vec<T> {
        let mut values: Vec<T> = factors(rng, len);
        if len == 0 {
            return values;
        }
        let nan = T::from_real(f64::NAN);
        let infinity = T::from_real(f64::INFINITY);
        let negative_infinity = T::from_real(f64::NEG_INFINITY);
        match self {
            Self::NanFirst => values[0] = nan,
            Self::NanMiddle => values[len / 2] = nan,
            Self::NanLast => values[len - 1] = nan,
            Self::Nans => {
                // All bits of the exponent and the lowest bit of the mantissa, with and without the sign.
                let bits = T::bits(infinity);
                let negative_bits = T::bits(negative_infinity);
                for at in [len / 3, len / 2, len - 1] {
                    let bits = if rng.random() { bits } else { negative_bits };
                    values[at] = if float::<T>() {
                        T::from_low_bits(bits | 1)
                    } else {
                        infinity
                    };
                }
            }
            Self::Zeros => {
                let zeros = [0.0, -0.0].map(T::from_real);
                values.fill_with(|| *zeros.choose(rng).expect("there are two"));
            }
            Self::NegativeZeros => values.fill(T::from_real(-0.0)),
            Self::Infinity => values[len / 2] = infinity,
            Self::NegativeInfinity => values[len / 2] = negative_infinity,
            Self::Infinities => {
                values[len / 3] = infinity;
                values[len - 1] = negative_infinity;
            }
            Self::Subnormal => values.fill_with(|| {
                let sign = if rng.random() {
                    T::bits(T::from_real(-0.0))
                } else {
                    0
                };
                // The low 7 bits belong to the mantissa of every float.
                T::from_low_bits(sign | rng.random_range(1..128))
            }),
            Self::Cancellation => {
                let large: Vec<f64> = (0..len / 2)
                    .map(|_| rng.random_range(1e4..6e4_f64).floor())
                    .collect();
                for (i, large) in large.iter().enumerate() {
                    values[i] = T::from_real(*large);
                    values[len - 1 - i] = T::from_real(-large);
                }
            }
            Self::Largest => values.fill(T::GREATEST),
            Self::Lowest => values.fill(T::LEAST),
            Self::Falling => {
                for (i, value) in values.iter_mut().enumerate() {
                    *value = T::from_real(200.0 - i as f64 / 32.0);
                }
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare, oracle::Total};
    use cuda_std::{bf16, f16};

    #[test]
    fn values_are_the_same_in_every_run() {
        for data in [
            Data::Spread,
            Data::Factors,
            Data::Ties,
            Data::Awkward(Awkward::Subnormal),
        ] {
            compare::same_bits(&data.values::<f32>(100), &data.values::<f32>(100)).unwrap();
        }
        assert_ne!(
            Data::Spread.values::<u64>(100),
            Data::Spread.values::<u64>(101)[..100]
        );
    }

    #[test]
    fn no_product_of_factors_vanishes_or_overflows() {
        fn check<T: Number>() {
            for len in [1, 4099, 65537] {
                match T::exact_product(&Data::Factors.values::<T>(len)) {
                    Total::Integer(product) => assert_ne!(product, 0, "{}", T::NAME),
                    Total::Real { value, .. } => {
                        assert!(
                            value != 0.0 && value.abs() < T::LARGEST,
                            "{} {value}",
                            T::NAME
                        );
                    }
                }
            }
        }
        macro_rules! each {
            ($ty:ident) => {
                check::<$ty>()
            };
        }
        crate::for_each_number!(each);
    }

    #[test]
    fn awkward_floats_are_what_they_are_called() {
        fn check<T: Number>() {
            let of = |awkward: Awkward| awkward.values::<T>(&mut generator(1), 99);
            let nans = of(Awkward::Nans);
            assert!(nans.iter().filter(|value| value.is_nan()).count() >= 2);
            assert!(of(Awkward::NanFirst)[0].is_nan() && of(Awkward::NanLast)[98].is_nan());
            assert!(of(Awkward::Subnormal).iter().all(|value| {
                value.real() != 0.0 && value.real().abs() < 1e-3 && value.real().is_finite()
            }));
            let zeros = of(Awkward::Zeros);
            assert!(zeros.iter().all(|value| value.real() == 0.0));
            assert!(zeros.iter().any(|value| value.real().is_sign_negative()));
            assert!(
                of(Awkward::Infinities)
                    .iter()
                    .filter(|v| v.real().is_infinite())
                    .count()
                    == 2
            );
            assert!(of(Awkward::Largest)[0].real().is_finite());
        }
        check::<f32>();
        check::<f64>();
        check::<f16>();
        check::<bf16>();
    }

    #[test]
    fn ties_have_their_extremes_at_several_places() {
        let values = Data::Ties.values::<u8>(1000);
        assert!(values.iter().filter(|value| **value == 20).count() > 1);
        assert!(values.iter().filter(|value| **value == 40).count() > 1);
    }
}
