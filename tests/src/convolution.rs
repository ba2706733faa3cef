//! The right results of the convolutions: by plain loops in the order that the library specifies, and by sums in about twice
//! the precision.

use std::fmt::Debug;

use bytemuck::Pod;
use rayon::prelude::*;
use warpwright::{Boundary, ops::convolution::Convolvable};

use crate::{
    compare::{self, Outcome},
    number::Number,
    oracle::{self, Total},
};

/// An element type of the convolutions, for the oracles.
pub trait Convolved: Convolvable<Mask = Self::Weight> + Debug + PartialEq {
    /// The type of the mask.
    type Weight: Number + Pod;

    /// The value outside of the input for the zero boundary.
    const ZERO: Self;

    /// Returns the value; exact.
    fn real(self) -> f64;

    /// Returns the next sum: `weight * value + sum`, rounded once.
    fn step(sum: Self::Weight, weight: Self::Weight, value: Self) -> Self::Weight;

    /// Returns the output for a sum. All NaNs become the same one.
    fn output(sum: Self::Weight) -> Self;

    /// Returns the canonical NaN for a NaN, otherwise the value.
    fn canonical(self) -> Self;

    /// Checks that `self` is `value` rounded, up to an error of `bound`.
    fn near(self, value: f64, bound: f64) -> Outcome;
}

macro_rules! floats {
    ($($ty:ident),*) => { $(
        impl Convolved for $ty {
            type Weight = $ty;
            const ZERO: Self = 0.0;

            fn real(self) -> f64 {
                self.into()
            }
            fn step(sum: $ty, weight: $ty, value: $ty) -> $ty {
                weight.mul_add(value, sum)
            }
            fn output(sum: $ty) -> $ty {
                sum.canonical()
            }
            fn canonical(self) -> $ty {
                if self.is_nan() { <$ty>::NAN } else { self }
            }
            fn near(self, value: f64, bound: f64) -> Outcome {
                compare::within(self.into(), value, bound)
            }
        }
    )* };
}
floats!(f32, f64);

impl Convolved for u8 {
    type Weight = f32;
    const ZERO: Self = 0;

    fn real(self) -> f64 {
        self.into()
    }
    fn step(sum: f32, weight: f32, value: u8) -> f32 {
        weight.mul_add(value.into(), sum)
    }
    fn output(sum: f32) -> u8 {
        sum.round_ties_even() as u8
    }
    fn canonical(self) -> u8 {
        self
    }
    fn near(self, value: f64, bound: f64) -> Outcome {
        compare::within(self.into(), value.clamp(0.0, 255.0), 0.5 + bound)
    }
}

/// Returns the element of `row` at `at`, which may lie outside.
fn element<T: Convolved>(row: &[T], at: i64, boundary: Boundary) -> T {
    let last = row.len() as i64 - 1;
    match boundary {
        _ if (0..=last).contains(&at) => row[at as usize],
        Boundary::Zero => T::ZERO,
        Boundary::Clamp => row[at.clamp(0, last) as usize],
        Boundary::Wrap => row[at.rem_euclid(last + 1) as usize],
    }
}

/// Returns the elements of the window of output `i`, in order.
fn window<T: Convolved>(
    row: &[T],
    i: usize,
    mask_width: usize,
    boundary: Boundary,
) -> impl Iterator<Item = T> {
    let start = i as i64 - (mask_width / 2) as i64;
    (start..start + mask_width as i64).map(move |at| element(row, at, boundary))
}

/// Returns the convolution of every row of `width` elements, exact to the bit.
pub fn in_order<T: Convolved>(
    values: &[T],
    width: usize,
    mask: &[T::Weight],
    boundary: Boundary,
) -> Vec<T> {
    let one = |(index, _): (usize, &T)| {
        let row = &values[index / width * width..][..width];
        let pairs = window(row, index % width, mask.len(), boundary).zip(mask);
        let zero = T::Weight::from_real(0.0);
        T::output(pairs.fold(zero, |sum, (value, weight)| T::step(sum, *weight, value)))
    };
    values
        .par_iter()
        .enumerate()
        .with_min_len(256)
        .map(one)
        .collect()
}

/// Checks that every element of `got` is within the error bound of a convolution.
pub fn close<T: Convolved>(
    got: &[T],
    values: &[T],
    width: usize,
    mask: &[T::Weight],
    boundary: Boundary,
) -> Outcome {
    compare::same(&got.len(), &values.len())?;
    got.par_iter().enumerate().try_for_each(|(index, got)| {
        let row = &values[index / width * width..][..width];
        let window = window(row, index % width, mask.len(), boundary);
        // A product and its rounding error, which together are exact.
        let products = window.zip(mask).flat_map(|(value, weight)| {
            let (value, weight) = (value.real(), weight.real());
            let product = value * weight;
            [product, value.mul_add(weight, -product)]
        });
        let Total::Real { value, magnitude } = oracle::real_sum(products) else {
            return Err("a sum of floats is one".to_owned());
        };
        // Below the least normal number an operation has an error of half of the least positive one.
        let bound = compare::sum_bound::<T::Weight>(mask.len(), magnitude)
            + mask.len() as f64 * T::Weight::SMALLEST;
        got.near(value, bound)
            .map_err(|wrong| format!("element {index}: {wrong}"))
    })
}

/// Checks that `got` has the bits of `want`, except for the payloads of NaNs.
pub fn same<T: Convolved>(got: &[T], want: &[T]) -> Outcome {
    let got: Vec<T> = got.iter().map(|value| value.canonical()).collect();
    compare::same_bits(&got, want)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: [f32; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

    #[test]
    fn windows_are_where_they_should_be() {
        let convolved = |mask: &[f32], boundary| in_order(&INPUT, 5, mask, boundary);
        let three = [1.0, 0.0, -1.0];
        assert_eq!(
            convolved(&three, Boundary::Zero),
            [-2.0, -2.0, -2.0, -2.0, 4.0]
        );
        assert_eq!(
            convolved(&three, Boundary::Clamp),
            [-1.0, -2.0, -2.0, -2.0, -1.0]
        );
        assert_eq!(
            convolved(&three, Boundary::Wrap),
            [3.0, -2.0, -2.0, -2.0, 3.0]
        );
        assert_eq!(
            convolved(&[1.0, 2.0], Boundary::Zero),
            [2.0, 5.0, 8.0, 11.0, 14.0]
        );
        assert_eq!(
            in_order(&INPUT[..2], 2, &[1.0; 5], Boundary::Wrap),
            [7.0, 8.0]
        );
        assert_eq!(
            in_order(&INPUT[..4], 2, &three, Boundary::Zero),
            [-2.0, 1.0, -4.0, 3.0]
        );
    }

    #[test]
    fn bytes_are_rounded_and_limited() {
        let halves = in_order(&[1_u8, 2, 3, 5, 255], 5, &[0.5], Boundary::Zero);
        assert_eq!(halves, [0, 1, 2, 2, 128]);
        assert_eq!(in_order(&[1_u8, 200], 2, &[-1.0], Boundary::Zero), [0, 0]);
        assert_eq!(in_order(&[1_u8, 200], 2, &[2.0], Boundary::Zero), [2, 255]);
        let nan = in_order(&[1_u8], 1, &[f32::NAN], Boundary::Zero);
        assert_eq!(nan, [0]);
    }

    #[test]
    fn a_small_error_is_close_and_a_larger_one_is_not() {
        let mask = [1.0_f32 / 3.0, 0.1, -0.7];
        let values = [0.3, 1.7, -2.9, 1e-3];
        let mut got = in_order(&values, 4, &mask, Boundary::Wrap);
        close(&got, &values, 4, &mask, Boundary::Wrap).unwrap();
        got[2] += 1e-5;
        assert!(close(&got, &values, 4, &mask, Boundary::Wrap).is_err());
        got[2] = f32::NAN;
        assert!(close(&got, &values, 4, &mask, Boundary::Wrap).is_err());
        assert!(close(&[3_u8], &[1], 1, &[1.4], Boundary::Zero).is_err());
        close(&[1_u8], &[1], 1, &[1.4], Boundary::Zero).unwrap();
    }
}
