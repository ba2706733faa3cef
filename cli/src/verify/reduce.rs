//! Checks of the reductions.
//!
//! Sums are checked on small whole numbers and products on powers of two, so that floats must be exact
//! too and a value that was left out or taken twice is always seen. The rounding of sums is checked on
//! fractions, against its bound.

use half::{bf16, f16};
use warpwright::ops::reduce::{Operator, Reducible, Value};
use warpwright::{Device, VectorView};

use super::{Case, Scale, Wrong};
use crate::sample;

const LENGTHS: [usize; 13] = [0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 4097, 9001, 20_011];
const LARGE: [usize; 3] = [1 << 20, 3_000_017, (1 << 24) + 1];

/// A type whose reductions are checked.
trait Sample: Reducible + std::fmt::Debug {
    const NAME: &'static str;

    /// A whole number of which sums are exact.
    fn small(hash: u64) -> Self;
    /// A number of which products are exact.
    fn factor(hash: u64) -> Self;
    /// Any number but NaN, for comparisons; some come often.
    fn any(hash: u64) -> Self;
    /// NaN, where the type has one.
    fn nan() -> Option<Self>;
    /// The sum of numbers from [`small`](Self::small).
    fn exact_sum(values: &[Self]) -> Self::Sum;
    /// The product of numbers from [`factor`](Self::factor).
    fn exact_product(values: &[Self]) -> Self::Sum;
    /// A number that orders values as the library does; none for NaN.
    fn rank(self) -> Option<i128>;
    /// Bits that tell values apart, those of the signs of zeroes too; all NaNs are one.
    fn identity(self) -> i128;
    /// Bits that tell sums apart.
    fn sum_identity(sum: Self::Sum) -> i128;
    /// The mean of numbers from [`small`](Self::small), rounded more than once.
    fn mean(values: &[Self]) -> f64;
}

macro_rules! integers {
    ($($type:ident: $sum:ident),*) => {
        $(impl Sample for $type {
            const NAME: &'static str = stringify!($type);

            fn small(hash: u64) -> Self {
                // Integers wrap, so any bits will do.
                hash as $type
            }

            fn factor(hash: u64) -> Self {
                (hash as $type) | 1
            }

            fn any(hash: u64) -> Self {
                match hash % 16 {
                    0 => $type::MIN,
                    1 => $type::MAX,
                    _ => (hash >> 4) as $type,
                }
            }

            fn nan() -> Option<Self> {
                None
            }

            fn exact_sum(values: &[Self]) -> $sum {
                values.iter().fold(0, |sum, &value| sum.wrapping_add(value as $sum))
            }

            fn exact_product(values: &[Self]) -> $sum {
                values.iter().fold(1, |product, &value| product.wrapping_mul(value as $sum))
            }

            fn rank(self) -> Option<i128> {
                Some(i128::from(self))
            }

            fn identity(self) -> i128 {
                i128::from(self)
            }

            fn sum_identity(sum: $sum) -> i128 {
                i128::from(sum)
            }

            fn mean(values: &[Self]) -> f64 {
                let sum: i128 = values.iter().map(|&value| i128::from(value)).sum();
                let len = values.len() as i128;
                (sum / len) as f64 + (sum % len) as f64 / len as f64
            }
        })*
    };
}

integers!(u8: u64, u16: u64, u32: u64, u64: u64, i32: i64, i64: i64);

macro_rules! floats {
    ($($type:ident: $sum:ident, $from:expr, $to:expr;)*) => {
        $(impl Sample for $type {
            const NAME: &'static str = stringify!($type);

            fn small(hash: u64) -> Self {
                // From -8 to 8: even 2^24 of them add up to a number that f32 holds exactly.
                $from((hash % 17) as f64 - 8.0)
            }

            fn factor(hash: u64) -> Self {
                // Twos and halves are rare, so that no order of multiplication overflows.
                match hash % 4096 {
                    0 => $from(2.0),
                    1 => $from(0.5),
                    other => $from(if other % 2 == 0 { 1.0 } else { -1.0 }),
                }
            }

            fn any(hash: u64) -> Self {
                match hash % 4096 {
                    0 => $from(0.0),
                    1 => $from(-0.0),
                    2 => $from(f64::INFINITY),
                    3 => $from(f64::NEG_INFINITY),
                    _ => $from(((hash >> 12) % 20_001) as f64 / 100.0 - 100.0),
                }
            }

            fn nan() -> Option<Self> {
                Some($from(f64::NAN))
            }

            fn exact_sum(values: &[Self]) -> $sum {
                values.iter().map(|&value| -> f64 { $to(value) }).sum::<f64>() as $sum + 0.0
            }

            fn exact_product(values: &[Self]) -> $sum {
                values.iter().map(|&value| -> f64 { $to(value) }).product::<f64>() as $sum
            }

            fn rank(self) -> Option<i128> {
                let value: f64 = $to(self);
                // The order of IEEE 754's totalOrder, in which -0 lies below +0.
                let bits = value.to_bits() as i64;
                (!value.is_nan()).then_some(i128::from(bits ^ (((bits >> 63) as u64) >> 1) as i64))
            }

            fn identity(self) -> i128 {
                self.rank().unwrap_or(i128::MAX)
            }

            fn sum_identity(sum: $sum) -> i128 {
                // A sum of zeroes may have either sign.
                if sum.is_nan() { i128::MAX } else { i128::from((f64::from(sum) + 0.0).to_bits()) }
            }

            fn mean(values: &[Self]) -> f64 {
                f64::from(Self::exact_sum(values)) / values.len() as f64
            }
        })*
    };
}

floats! {
    f32: f32, |value: f64| value as f32, f64::from;
    f64: f64, |value: f64| value, |value: f64| value;
    f16: f32, f16::from_f64, f64::from;
    bf16: f32, bf16::from_f64, f64::from;
}

pub(super) fn cases(scale: Scale) -> Vec<Case> {
    let mut cases = Vec::new();
    of_type::<u8>(scale, &mut cases);
    of_type::<u16>(scale, &mut cases);
    of_type::<u32>(scale, &mut cases);
    of_type::<u64>(scale, &mut cases);
    of_type::<i32>(scale, &mut cases);
    of_type::<i64>(scale, &mut cases);
    of_type::<f32>(scale, &mut cases);
    of_type::<f64>(scale, &mut cases);
    of_type::<f16>(scale, &mut cases);
    of_type::<bf16>(scale, &mut cases);
    rounding(scale, &mut cases);
    cases
}

fn of_type<T: Sample>(scale: Scale, cases: &mut Vec<Case>) {
    let mut lengths = LENGTHS.to_vec();
    if scale == Scale::Large {
        lengths.extend(LARGE);
    }
    for operator in Operator::ALL {
        for &length in &lengths {
            let name = format!("{} of {length} {}", operator.name(), T::NAME);
            cases.push(Case::new(name, move |device, variant| {
                let values = sample::values(length, 6, |hash| data::<T>(operator, hash));
                whole(device, variant, operator, &values)
            }));
        }
        // A part whose first element is not aligned for wide loads.
        let name = format!(
            "{} of elements 1 to 4999 of 5001 {}",
            operator.name(),
            T::NAME
        );
        cases.push(Case::new(name, move |device, variant| {
            let values = sample::values(5001, 7, |hash| data::<T>(operator, hash));
            let vector = device.upload(&values)?;
            check(
                device,
                variant,
                operator,
                vector.slice(1..4999)?,
                &values[1..4999],
            )
        }));
    }
    for operator in [
        Operator::Min,
        Operator::Max,
        Operator::ArgMin,
        Operator::ArgMax,
    ] {
        // All the same: the first position wins.
        let name = format!("{} of 3000 equal {}", operator.name(), T::NAME);
        cases.push(Case::new(name, move |device, variant| {
            whole(device, variant, operator, &[T::small(3); 3000])
        }));
        let Some(nan) = T::nan() else { continue };
        for places in [&[0][..], &[2999], &[1234, 77, 2000]] {
            let name = format!("{} of 3000 {}, NaN at {places:?}", operator.name(), T::NAME);
            cases.push(Case::new(name, move |device, variant| {
                let mut values = sample::values(3000, 9, T::any);
                places.iter().for_each(|&place| values[place] = nan);
                whole(device, variant, operator, &values)
            }));
        }
    }
}

fn data<T: Sample>(operator: Operator, hash: u64) -> T {
    match operator {
        Operator::Sum | Operator::Mean => T::small(hash),
        Operator::Product => T::factor(hash),
        _ => T::any(hash),
    }
}

fn whole<T: Sample>(
    device: &Device,
    variant: &str,
    operator: Operator,
    values: &[T],
) -> Result<(), Wrong> {
    let vector = device.upload(values)?;
    check(device, variant, operator, vector.view(), values)
}

fn check<T: Sample>(
    device: &Device,
    variant: &str,
    operator: Operator,
    vector: VectorView<'_, T>,
    values: &[T],
) -> Result<(), Wrong> {
    let mut prepared = device.reduce(vector).variant(variant).prepare(operator)?;
    prepared.enqueue()?;
    let found = prepared.finish()?;
    let expected = oracle(operator, values);
    let same = match (found, expected) {
        // A NaN fails this comparison.
        (Some(Value::Mean(found)), Some(Value::Mean(expected))) => {
            (found - expected).abs() <= 2.0 * f64::EPSILON * expected.abs()
        }
        _ => found.map(identity) == expected.map(identity),
    };
    if same {
        return Ok(());
    }
    Err(Wrong::Result(format!(
        "expected {expected:?}, found {found:?}"
    )))
}

fn identity<T: Sample>(value: Value<T>) -> i128 {
    match value {
        Value::Sum(sum) => T::sum_identity(sum),
        Value::Element(element) => element.identity(),
        Value::Index(index) => i128::from(index),
        Value::Mean(mean) => i128::from(mean.to_bits()),
    }
}

/// The result by a loop over the values.
fn oracle<T: Sample>(operator: Operator, values: &[T]) -> Option<Value<T>> {
    let position = |least: bool| {
        let mut found: Option<(usize, i128)> = None;
        for (index, value) in values.iter().enumerate() {
            // The first NaN wins over everything.
            let Some(key) = value.rank() else {
                return Some(index);
            };
            let better = |(_, best)| if least { key < best } else { key > best };
            if found.is_none_or(better) {
                found = Some((index, key));
            }
        }
        found.map(|(index, _)| index)
    };
    match operator {
        Operator::Sum => Some(Value::Sum(T::exact_sum(values))),
        Operator::Product => Some(Value::Sum(T::exact_product(values))),
        Operator::Min => position(true).map(|index| Value::Element(values[index])),
        Operator::Max => position(false).map(|index| Value::Element(values[index])),
        Operator::ArgMin => position(true).map(|index| Value::Index(index as u64)),
        Operator::ArgMax => position(false).map(|index| Value::Index(index as u64)),
        Operator::Mean => (!values.is_empty()).then(|| Value::Mean(T::mean(values))),
    }
}

/// Sums of fractions: the error of any order of additions is at most
/// `(n - 1) * epsilon / 2 * sum(|x|)`, to first order.
fn rounding(scale: Scale, cases: &mut Vec<Case>) {
    let lengths: &[usize] = if scale == Scale::Large {
        &[1000, 20_011, 1 << 22]
    } else {
        &[1000, 20_011]
    };
    let fraction = |hash: u64| (hash >> 11) as f64 / (1u64 << 53) as f64 - 0.25;
    for &length in lengths {
        cases.push(Case::new(
            format!("rounding of the sum of {length} f32"),
            move |device, variant| {
                let values = sample::values(length, 10, |hash| fraction(hash) as f32);
                let vector = device.upload(&values)?;
                let found = device.reduce(&vector).variant(variant).sum()?;
                within(f64::from(found), &wide(&values), f64::from(f32::EPSILON))
            },
        ));
        cases.push(Case::new(
            format!("rounding of the sum of {length} f64"),
            move |device, variant| {
                let values = sample::values(length, 11, fraction);
                let vector = device.upload(&values)?;
                let found = device.reduce(&vector).variant(variant).sum()?;
                within(found, &values, f64::EPSILON)
            },
        ));
    }
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// Whether a sum is within the bound of its rounding.
fn within(found: f64, values: &[f64], epsilon: f64) -> Result<(), Wrong> {
    // Neumaier's compensated sum: its own error is far below the bound.
    let (mut sum, mut correction, mut size) = (0.0f64, 0.0, 0.0);
    for &value in values {
        let next = sum + value;
        correction += if sum.abs() >= value.abs() {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        sum = next;
        size += value.abs();
    }
    let expected = sum + correction;
    let bound = values.len() as f64 * epsilon / 2.0 * size;
    // A NaN fails this comparison.
    if (found - expected).abs() <= bound {
        return Ok(());
    }
    Err(Wrong::Result(format!(
        "expected {expected} within {bound:e}, found {found}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let values = [3.0f32, -0.0, 0.0, -0.0, 3.0];
        assert_eq!(oracle(Operator::ArgMin, &values), Some(Value::Index(1)));
        assert_eq!(oracle(Operator::ArgMax, &values), Some(Value::Index(0)));
        let values = [1.0f64, f64::NAN, f64::NEG_INFINITY, f64::NAN];
        assert_eq!(oracle(Operator::ArgMin, &values), Some(Value::Index(1)));
        assert_eq!(oracle::<u8>(Operator::Min, &[]), None);
        assert_eq!(
            oracle::<u8>(Operator::Sum, &[255, 255]),
            Some(Value::Sum(510))
        );
        assert_eq!(
            oracle::<i64>(Operator::Sum, &[i64::MAX, 1]),
            Some(Value::Sum(i64::MIN))
        );
        assert_eq!(oracle::<u32>(Operator::Product, &[]), Some(Value::Sum(1)));
        let mean = oracle::<i64>(Operator::Mean, &[i64::MAX, i64::MAX]);
        assert_eq!(mean, Some(Value::Mean(i64::MAX as f64)));
        assert_eq!(oracle::<u8>(Operator::Mean, &[]), None);
    }

    #[test]
    fn zeroes_of_both_signs_are_told_apart_and_nans_are_not() {
        assert_ne!(0.0f32.identity(), (-0.0f32).identity());
        assert_eq!(f32::NAN.identity(), (-f32::NAN).identity());
        assert!((-0.0f64).rank() < 0.0f64.rank());
        assert!(f16::NEG_INFINITY.rank() < f16::MIN.rank());
    }

    #[test]
    fn the_bound_lets_no_nan_and_no_large_error_pass() {
        assert!(within(1.0, &[0.5, 0.5], f64::EPSILON).is_ok());
        assert!(within(f64::NAN, &[0.5, 0.5], f64::EPSILON).is_err());
        assert!(within(1.0 + 1e-14, &[0.5, 0.5], f64::EPSILON).is_err());
        assert!(within(1.0, &[0.5, f64::NAN], f64::EPSILON).is_err());
    }
}
