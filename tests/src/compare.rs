//! The rules for comparing a result with the expected one.
//!
//! | result | rule |
//! | --- | --- |
//! | moved data, counts, positions | equal to the bit |
//! | integer sums and products | equal, after wrapping modulo 2^64 |
//! | least and greatest element | equal to the bit, so -0 is not +0; any NaN for a NaN |
//! | float sums | within [`sum_bound`]; NaN for NaN; the same infinity; -0 and +0 are the same |
//! | float products | within [`product_bound`]; NaN for NaN; the same infinity; the same sign, of zeros too |
//! | mean | of integers equal to the exact quotient, rounded once; of floats as the sum, divided by the number of elements |
//!
//! A comparison fails unless `error <= bound` holds, so that a NaN on either side never passes by accident. A value so close to
//! the type's largest number that rounding decides may also be the infinity.

use std::fmt::Debug;

use approx::AbsDiffEq;
use bytemuck::Pod;

use crate::{
    number::Number,
    oracle::{self, Total},
};

/// The result of a comparison: `Ok`, or what is wrong.
pub type Outcome = Result<(), String>;

/// Requires equal bits, element by element.
pub fn same_bits<T: Pod + Debug>(got: &[T], want: &[T]) -> Outcome {
    if got.len() != want.len() {
        return Err(format!("{} elements, not {}", got.len(), want.len()));
    }
    let differs = |(got, want): (&T, &T)| bytemuck::bytes_of(got) != bytemuck::bytes_of(want);
    let Some(first) = got.iter().zip(want).position(differs) else {
        return Ok(());
    };
    let all = got
        .iter()
        .zip(want)
        .filter(|(got, want)| differs((got, want)))
        .count();
    Err(format!(
        "element {first} is {:?}, not {:?}; {all} of {} differ",
        got[first],
        want[first],
        got.len()
    ))
}

/// Requires equality.
pub fn same<T: PartialEq + Debug>(got: &T, want: &T) -> Outcome {
    if got == want {
        Ok(())
    } else {
        Err(format!("{got:?}, not {want:?}"))
    }
}

/// Compares a minimum or maximum: the bits must be equal, or both must be NaN.
pub fn same_element<T: Number>(got: Option<T>, want: Option<T>) -> Outcome {
    match (got, want) {
        (Some(got), Some(want)) if got.is_nan() && want.is_nan() => Ok(()),
        (Some(got), Some(want)) => same_bits(&[got], &[want]),
        _ => same(&got.is_some(), &want.is_some()),
    }
}

/// Requires NaN for NaN, the same infinity, or otherwise a distance of at most `bound`.
pub fn within(got: f64, want: f64, bound: f64) -> Outcome {
    let good = if want.is_nan() {
        got.is_nan()
    } else if want.is_infinite() {
        got == want
    } else {
        // This also fails if the bound is a NaN, or infinite.
        bound.is_finite() && got.is_finite() && got.abs_diff_eq(&want, bound)
    };
    if good {
        Ok(())
    } else {
        Err(format!("{got:e}, not {want:e} (at most {bound:e} off)"))
    }
}

/// Returns the bound of the error of a float sum in which an element passes through at most `chain` additions: `k / (1 - k) *
/// sum(|x|)` with `k = chain * u` (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), where `u` is 2^-24 for `f32`,
/// `f16` and `bf16`, which are summed in `f32`, and 2^-53 for `f64`.
pub fn sum_bound<T: Number>(chain: usize, magnitude: f64) -> f64 {
    growth(chain as f64 * T::ROUNDING) * magnitude
}

/// Returns the bound of the error of a float product of `factors` factors, in any order: `exp(k) - 1` of its magnitude, with
/// `k` as for a sum and every multiplication counted, since every rounding scales the result (`(1 + u)^n <= exp(n u)`); plus
/// what factors of at most 1 can lose below the least normal number.
pub fn product_bound<T: Number>(factors: usize, magnitude: f64) -> f64 {
    (factors as f64 * T::ROUNDING).exp_m1() * magnitude + factors as f64 * T::SMALLEST
}

/// Returns `k / (1 - k)`, or NaN if that is no longer a useful bound.
fn growth(k: f64) -> f64 {
    if k < 1.0 { k / (1.0 - k) } else { f64::NAN }
}

/// Checks a sum of `T`s, each of which passes through at most `chain` additions.
pub fn sum<T: Number>(got: T::Sum, want: Total, chain: usize) -> Outcome {
    match (T::total(got), want) {
        (Total::Real { value: got, .. }, Total::Real { value, magnitude }) => {
            rounded::<T>(got, value, sum_bound::<T>(chain, finite(magnitude)))
        }
        (got, want) => same(&got, &want),
    }
}

/// Checks a product of `factors` `T`s.
pub fn product<T: Number>(got: T::Sum, want: Total, factors: usize) -> Outcome {
    match (T::total(got), want) {
        (Total::Real { value: got, .. }, Total::Real { value, magnitude }) => {
            if !got.is_nan() && got.is_sign_negative() != value.is_sign_negative() {
                return Err(format!("{got:e}, which has not the sign of {value:e}"));
            }
            rounded::<T>(got, value, product_bound::<T>(factors, finite(magnitude)))
        }
        (got, want) => same(&got, &want),
    }
}

/// Checks the mean of `len` `T`s.
pub fn mean<T: Number>(got: Option<f64>, sum: Total, chain: usize, len: usize) -> Outcome {
    let (got, want) = match (got, sum) {
        (None, _) if len == 0 => return Ok(()),
        (Some(got), _) if len > 0 => (got, sum),
        _ => return Err(format!("{got:?} of {len} elements")),
    };
    match want {
        Total::Integer(sum) => same_bits(&[got], &[oracle::exact_quotient(sum, len)]),
        Total::Real { value, magnitude } => {
            // The division, and the multiplication here, round too; below the least normal number by half of the least positive
            // one.
            let rounding = f64::EPSILON * finite(value.abs()) + len as f64 * f64::from_bits(1);
            let bound = sum_bound::<T>(chain, finite(magnitude)) + rounding;
            rounded::<T>(got * len as f64, value, bound)
        }
    }
}

/// Applies [`within`] to a `got` that was rounded to the type in which `T` is summed: a result past the largest number of that
/// type is the infinity.
fn rounded<T: Number>(got: f64, want: f64, bound: f64) -> Outcome {
    if want.is_finite() && want.abs() + bound > T::LARGEST {
        let infinity = f64::INFINITY.copysign(want);
        let surely = want.abs() - bound > T::LARGEST;
        return within(got, infinity, 0.0).or_else(|wrong| {
            if surely {
                Err(wrong)
            } else {
                within(got, want, bound)
            }
        });
    }
    within(got, want, bound)
}

/// Returns `value`, or 0 if it is not finite: then the result is not finite either.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_std::{bf16, f16};

    fn real(value: f64) -> Total {
        Total::Real {
            value,
            magnitude: value.abs(),
        }
    }

    #[test]
    fn bits_that_differ_fail() {
        assert!(same_bits(&[1.0_f32, f32::NAN], &[1.0, f32::NAN]).is_ok());
        assert!(same_bits(&[0.0_f32], &[-0.0]).is_err());
        assert!(same_bits(&[f64::NAN], &[-f64::NAN]).is_err());
        assert!(same_bits(&[1_u8], &[1, 1]).is_err());
        let wrong = same_bits(&[1_u8, 2, 3], &[1, 5, 6]).unwrap_err();
        assert_eq!(wrong, "element 1 is 2, not 5; 2 of 3 differ");
    }

    #[test]
    fn values_that_differ_fail() {
        assert!(same(&Some(3_u64), &Some(3)).is_ok());
        assert!(same(&Some(3_u64), &Some(4)).is_err());
        assert!(same(&Some(3_u64), &None).is_err());
    }

    #[test]
    fn elements_differ_by_their_sign_but_not_by_their_nan() {
        assert!(same_element(Some(-0.0_f32), Some(-0.0)).is_ok());
        assert!(same_element(Some(-0.0_f32), Some(0.0)).is_err());
        assert!(same_element(Some(f32::NAN), Some(-f32::NAN)).is_ok());
        assert!(same_element(Some(f32::NAN), Some(1.0)).is_err());
        assert!(same_element(Some(1.0), Some(f32::NAN)).is_err());
        assert!(same_element::<u8>(None, None).is_ok());
        assert!(same_element(Some(0_u8), None).is_err());
        assert!(same_element(None, Some(0_u8)).is_err());
        assert!(same_element(Some(bf16::NEG_ZERO), Some(bf16::ZERO)).is_err());
    }

    #[test]
    fn a_nan_passes_for_a_nan_alone() {
        assert!(within(f64::NAN, f64::NAN, 0.0).is_ok());
        assert!(within(f64::NAN, 1.0, 1e9).is_err());
        assert!(within(1.0, f64::NAN, 1e9).is_err());
        assert!(within(f64::INFINITY, f64::NAN, 1e9).is_err());
    }

    #[test]
    fn a_bound_that_is_no_number_fails() {
        assert!(within(1.0, 1.0, f64::NAN).is_err());
        assert!(within(1.0, 1.0, f64::INFINITY).is_err());
        assert!(within(1.0, 1.0, -1.0).is_err());
        assert!(within(1.0, 1.0, 0.0).is_ok());
    }

    #[test]
    fn an_infinity_passes_for_itself_alone() {
        assert!(within(f64::INFINITY, f64::INFINITY, 0.0).is_ok());
        assert!(within(f64::NEG_INFINITY, f64::INFINITY, 1e9).is_err());
        assert!(within(f64::MAX, f64::INFINITY, 1e300).is_err());
        assert!(within(f64::INFINITY, f64::MAX, 1e300).is_err());
    }

    #[test]
    fn an_error_past_the_bound_fails() {
        assert!(within(1.5, 1.0, 0.5).is_ok());
        assert!(within(1.6, 1.0, 0.5).is_err());
        assert!(within(0.4, 1.0, 0.5).is_err());
    }

    #[test]
    fn the_bound_of_a_sum_is_that_of_its_type() {
        approx::assert_relative_eq!(
            sum_bound::<f32>(10, 3.0),
            30.0 * 2.0_f64.powi(-24),
            max_relative = 1e-5
        );
        assert_eq!(sum_bound::<f16>(10, 3.0), sum_bound::<f32>(10, 3.0));
        assert_eq!(sum_bound::<bf16>(10, 3.0), sum_bound::<f32>(10, 3.0));
        approx::assert_relative_eq!(
            sum_bound::<f64>(10, 3.0),
            30.0 * 2.0_f64.powi(-53),
            max_relative = 1e-5
        );
        assert_eq!(sum_bound::<u8>(10, 3.0), 0.0);
        assert!(sum_bound::<f32>(1 << 24, 1.0).is_nan());
    }

    #[test]
    fn sums_of_floats() {
        assert!(sum::<f32>(1.0, real(1.0 + 2.0_f64.powi(-24)), 1).is_ok());
        assert!(sum::<f32>(1.0, real(1.0 + 2.0_f64.powi(-22)), 1).is_err());
        assert!(sum::<f64>(1.0, real(1.0 + 2.0_f64.powi(-24)), 1).is_err());
        assert!(sum::<f32>(-0.0, real(0.0), 1).is_ok());
        assert!(sum::<f32>(f32::NAN, real(0.0), 1).is_err());
        assert!(sum::<f32>(f32::NAN, real(f64::NAN), 1).is_ok());
        assert!(sum::<f32>(f32::INFINITY, real(f64::NAN), 1).is_err());
        // With cancellation the bound grows with the magnitudes, not with the result.
        let cancelled = Total::Real {
            value: 1.0,
            magnitude: 1e8,
        };
        assert!(sum::<f32>(3.0, cancelled, 2).is_ok());
        assert!(sum::<f32>(30.0, cancelled, 2).is_err());
    }

    #[test]
    fn sums_past_the_largest_number_are_infinite() {
        let largest = f64::from(f32::MAX);
        assert!(sum::<f32>(f32::INFINITY, real(2.0 * largest), 1).is_ok());
        assert!(sum::<f32>(f32::MAX, real(2.0 * largest), 1).is_err());
        assert!(sum::<f32>(f32::NEG_INFINITY, real(2.0 * largest), 1).is_err());
        assert!(sum::<f32>(f32::MAX, real(largest), 1).is_ok());
        assert!(sum::<f32>(f32::INFINITY, real(largest / 2.0), 1).is_err());
        assert!(sum::<f64>(f64::INFINITY, real(f64::INFINITY), 1).is_ok());
    }

    #[test]
    fn sums_of_integers_are_exact() {
        assert!(sum::<u8>(765, Total::Integer(765), 100).is_ok());
        assert!(sum::<u8>(766, Total::Integer(765), 100).is_err());
        assert!(sum::<i64>(-1, Total::Integer(-1), 1).is_ok());
        assert!(sum::<u64>(u64::MAX, Total::Integer(-1), 1).is_err());
        assert!(sum::<u8>(1, real(1.0), 1).is_err());
    }

    #[test]
    fn products_keep_their_sign() {
        assert!(product::<f32>(-0.0, real(-0.0), 2).is_ok());
        assert!(product::<f32>(0.0, real(-0.0), 2).is_err());
        assert!(product::<f32>(-1.0, real(1.0), 1 << 23).is_err());
        assert!(product::<f32>(f32::NAN, real(f64::NAN), 2).is_ok());
        assert!(product::<f32>(f32::NAN, real(1.0), 2).is_err());
        assert!(product::<f32>(f32::NEG_INFINITY, real(f64::NEG_INFINITY), 2).is_ok());
        assert!(product::<f16>(1.5, real(1.5), 2).is_ok());
        assert!(product::<f16>(1.6, real(1.5), 2).is_err());
        assert!(product::<i32>(-6, Total::Integer(-6), 2).is_ok());
        assert!(product::<i32>(6, Total::Integer(-6), 2).is_err());
    }

    #[test]
    fn means_are_sums_divided() {
        assert!(mean::<u8>(Some(2.5), Total::Integer(5), 1, 2).is_ok());
        assert!(mean::<u8>(Some(2.5_f64.next_up()), Total::Integer(5), 1, 2).is_err());
        assert!(mean::<u8>(None, Total::Integer(0), 1, 0).is_ok());
        assert!(mean::<u8>(Some(0.0), Total::Integer(0), 1, 0).is_err());
        assert!(mean::<u8>(None, Total::Integer(5), 1, 2).is_err());
        let sum = 2 * i128::from(i64::MAX);
        assert!(mean::<i64>(Some(i64::MAX as f64), Total::Integer(sum), 1, 2).is_ok());
        assert!(mean::<i64>(Some(-1.0), Total::Integer(sum), 1, 2).is_err());
        assert!(mean::<f32>(Some(0.5), real(1.0), 1, 2).is_ok());
        assert!(mean::<f32>(Some(0.51), real(1.0), 1, 2).is_err());
        assert!(mean::<f32>(Some(f64::NAN), real(1.0), 1, 2).is_err());
        assert!(mean::<f32>(Some(f64::NAN), real(f64::NAN), 1, 2).is_ok());
    }
}
