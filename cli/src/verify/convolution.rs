//! Checks of the convolution: to the bit, in the order that the library promises.

use std::fmt::Debug;

use rayon::prelude::*;
use warpwright::ops::convolution::Convolvable;
use warpwright::{Boundary, Device, MatrixView};

use super::{Case, Scale, Wrong, all_equal};
use crate::sample;

/// Heights and widths: none, around a warp's and a block's outputs, and prime.
const SHAPES: [(usize, usize); 14] = [
    (0, 0),
    (0, 7),
    (7, 0),
    (1, 1),
    (1, 33),
    (1, 256),
    (1, 2560),
    (1, 2561),
    (1, 7681),
    (2, 5),
    (3, 97),
    (17, 640),
    (5, 1021),
    (129, 2),
];

/// Shapes for a GPU.
const LARGE: [(usize, usize); 3] = [(1, 5_000_011), (1021, 1013), (70_001, 3)];

/// Widths of masks: even and odd, around chunks, and more than constant memory takes.
const MASKS: [usize; 12] = [1, 2, 3, 4, 5, 8, 31, 64, 127, 257, 1024, 1500];

pub(super) fn cases(scale: Scale) -> Vec<Case> {
    let mut cases = Vec::new();
    elements::<u8>("u8", scale, &mut cases);
    elements::<f32>("f32", scale, &mut cases);
    elements::<f64>("f64", scale, &mut cases);
    cases
}

/// An element type that is checked.
pub trait Sample: Convolvable + PartialEq + Debug {
    /// A value, mostly with digits behind the point where the type has them.
    fn value(hash: u64) -> Self;
    /// A weight of a mask of this width.
    fn weight(hash: u64, width: usize) -> Self::Mask;
    /// What lies outside, where that is zero.
    fn zero() -> Self;
    /// The output for these pairs of weights and values.
    fn sum(pairs: impl Iterator<Item = (Self::Mask, Self)>) -> Self;
}

/// A number from -1 to 1.
fn fraction(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

macro_rules! samples {
    ($($type:ident: $mask:ident, $value:expr, $output:expr;)*) => { $(
        impl Sample for $type {
            fn value(hash: u64) -> Self {
                $value(hash)
            }

            fn weight(hash: u64, width: usize) -> $mask {
                ((fraction(hash) + 0.3) / (width as f64).sqrt()) as $mask
            }

            fn zero() -> Self {
                0 as $type
            }

            fn sum(pairs: impl Iterator<Item = ($mask, Self)>) -> Self {
                let zero: $mask = 0.0;
                $output(pairs.fold(zero, |sum, (weight, value)| weight.mul_add(value as $mask, sum)))
            }
        }
    )* };
}

samples! {
    u8: f32, |hash| hash as u8, |sum: f32| sum.round_ties_even() as u8;
    f32: f32, |hash| fraction(hash) as f32, |sum| sum;
    f64: f64, fraction, |sum| sum;
}

fn elements<T: Sample>(name: &'static str, scale: Scale, cases: &mut Vec<Case>) {
    let boundaries = [
        (Boundary::Zero, "zeros outside"),
        (Boundary::Clamp, "clamped"),
        (Boundary::Wrap, "wrapped"),
    ];
    let mut shapes = SHAPES.to_vec();
    if scale == Scale::Large {
        shapes.extend(LARGE);
    }
    for (at, (height, width)) in shapes.into_iter().enumerate() {
        // Each shape with some of the masks, and each mask with some of the shapes.
        let some = MASKS.into_iter().skip(at % 3).step_by(3);
        for (mask, (boundary, outside)) in some.zip(boundaries.into_iter().cycle().skip(at)) {
            cases.push(Case::new(
                format!("{height} x {width} {name} with {mask} weights, {outside}"),
                move |device, variant| {
                    let values = sample::values(height * width, 8, T::value);
                    let matrix = device.upload_matrix(&values, height, width)?;
                    check(device, variant, matrix.view(), &values, mask, boundary)
                },
            ));
        }
    }
    for (boundary, outside) in boundaries {
        // Rows of a larger matrix: the first element is not aligned for wide loads.
        cases.push(Case::new(
            format!("rows 1 to 6 of 7 x 1001 {name} with 6 weights, {outside}"),
            move |device, variant| {
                let values = sample::values(7 * 1001, 9, T::value);
                let matrix = device.upload_matrix(&values, 7, 1001)?;
                let part = &values[1001..6 * 1001];
                check(device, variant, matrix.rows(1..6)?, part, 6, boundary)
            },
        ));
    }
}

fn check<T: Sample>(
    device: &Device,
    variant: &str,
    matrix: MatrixView<'_, T>,
    values: &[T],
    mask: usize,
    boundary: Boundary,
) -> Result<(), Wrong> {
    let mask = sample::values(mask, 10, |hash| T::weight(hash, mask));
    let found = device
        .convolve_rows_request(matrix, &mask)
        .boundary(boundary)
        .variant(variant)
        .run()?
        .to_vec()?;
    all_equal(&found, &convolved(values, matrix.width(), &mask, boundary))
}

/// The convolution of each row of `width` elements, by a loop in the order that the library promises.
pub fn convolved<T: Sample>(
    values: &[T],
    width: usize,
    mask: &[T::Mask],
    boundary: Boundary,
) -> Vec<T> {
    let one = |index: usize| {
        let row = &values[index / width * width..][..width];
        let last = width as i64 - 1;
        let start = (index % width) as i64 - (mask.len() / 2) as i64;
        let pairs = mask.iter().enumerate().map(|(j, weight)| {
            let at = start + j as i64;
            let value = match boundary {
                _ if (0..=last).contains(&at) => row[at as usize],
                Boundary::Zero => T::zero(),
                Boundary::Clamp => row[at.clamp(0, last) as usize],
                Boundary::Wrap => row[at.rem_euclid(last + 1) as usize],
            };
            (*weight, value)
        });
        T::sum(pairs)
    };
    let all = (0..values.len()).into_par_iter().with_min_len(1 << 10);
    all.map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let values = [1.0_f32, 2.0, 3.0, 4.0];
        let of = |width, mask: &[f32], boundary| convolved(&values, width, mask, boundary);
        let three = [1.0, 0.0, -1.0];
        assert_eq!(of(4, &three, Boundary::Zero), [-2.0, -2.0, -2.0, 3.0]);
        assert_eq!(of(2, &three, Boundary::Clamp), [-1.0, -1.0, -1.0, -1.0]);
        assert_eq!(of(4, &[1.0, 2.0], Boundary::Wrap), [6.0, 5.0, 8.0, 11.0]);
        assert_eq!(
            convolved(&[3_u8, 200], 2, &[0.5, 1.5], Boundary::Zero),
            [4, 255]
        );
    }
}
