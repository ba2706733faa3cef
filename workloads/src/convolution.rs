//! Convolutions: to the bit, in the order that the library promises.

use std::fmt::Debug;

use rayon::prelude::*;
use warpwright::ops::convolution::Convolvable;
use warpwright::{Boundary, Device, Matrix, Result};

use crate::compare::each;
use crate::{Prepared, Problem, Scale, Verdict, Workload, sample, with_variant};

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

const BOUNDARIES: [(Boundary, &str); 3] = [
    (Boundary::Zero, "zeros outside"),
    (Boundary::Clamp, "clamped"),
    (Boundary::Wrap, "wrapped"),
];

/// A type of elements.
pub trait Value: Convolvable + PartialEq + Debug {
    /// Its name.
    const NAME: &'static str;
    /// A value, mostly with digits behind the point where the type has them.
    fn value(hash: u64) -> Self;
    /// A weight of a mask of this width.
    fn weight(hash: u64, width: usize) -> Self::Mask;
    /// The output for these pairs of weights and values, of which those outside may be none.
    fn sum(pairs: impl Iterator<Item = (Self::Mask, Option<Self>)>) -> Self;
}

/// A number from -1 to 1.
fn fraction(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

macro_rules! values {
    ($($type:ident: $mask:ident, $value:expr, $output:expr;)*) => { $(
        impl Value for $type {
            const NAME: &'static str = stringify!($type);

            fn value(hash: u64) -> Self {
                $value(hash)
            }

            fn weight(hash: u64, width: usize) -> $mask {
                ((fraction(hash) + 0.3) / (width as f64).sqrt()) as $mask
            }

            fn sum(pairs: impl Iterator<Item = ($mask, Option<Self>)>) -> Self {
                let add = |sum, (weight, value): ($mask, Option<Self>)| {
                    weight.mul_add(value.unwrap_or_default() as $mask, sum)
                };
                $output(pairs.fold(0.0, add))
            }
        }
    )* };
}
values! {
    u8: f32, |hash| hash as u8, |sum: f32| sum.round_ties_even() as u8;
    f32: f32, |hash| fraction(hash) as f32, |sum| sum;
    f64: f64, fraction, |sum| sum;
}

/// A convolution of each of some rows of a matrix, or of a vector.
#[derive(Clone)]
pub struct Convolution<T: Value> {
    /// None for a vector.
    height: Option<usize>,
    width: usize,
    /// Rows of the matrix above and below those.
    around: [usize; 2],
    mask: Vec<T::Mask>,
    boundary: Boundary,
}

impl<T: Value> Convolution<T> {
    /// One of a vector with a mask of so many weights, and with zeros outside.
    pub fn new(len: usize, weights: usize) -> Self {
        Self {
            height: None,
            width: len,
            around: [0; 2],
            mask: sample::values(weights, 10, |hash| T::weight(hash, weights)),
            boundary: Boundary::Zero,
        }
    }

    /// The mask.
    pub fn mask(&self) -> &[T::Mask] {
        &self.mask
    }

    /// The values of a set, those around the convolved rows too.
    pub fn values(&self, set: usize) -> Vec<T> {
        sample::values(self.rows() * self.width, sample::stream(8, set), T::value)
    }

    /// Rows of the matrix.
    fn rows(&self) -> usize {
        self.height.unwrap_or(1) + self.around.iter().sum::<usize>()
    }
}

impl<T: Value> Problem for Convolution<T> {
    type Input = Matrix<T>;
    type Answer = Vec<T>;
    type Truth = Vec<T>;

    fn family(&self) -> &'static str {
        "convolution"
    }

    fn name(&self) -> String {
        let [above, below] = self.around;
        let rows = match self.height {
            None => String::new(),
            Some(height) if above + below == 0 => format!("{height} x "),
            Some(height) => {
                let total = height + above + below;
                format!("rows {above} to {} of {total} x ", above + height)
            }
        };
        let outside = BOUNDARIES
            .iter()
            .find(|(boundary, _)| *boundary == self.boundary);
        let outside = outside.map_or("", |(_, name)| name);
        let (width, weights) = (self.width, self.mask.len());
        format!(
            "{rows}{width} {} with {weights} weights, {outside}",
            T::NAME
        )
    }

    fn bytes(&self) -> usize {
        2 * self.height.unwrap_or(1) * self.width * size_of::<T>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Matrix<T>> {
        device.upload_matrix(&self.values(set), self.rows(), self.width)
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Matrix<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<T>>> {
        macro_rules! prepared {
            ($request:expr) => {{
                let request = $request.boundary(self.boundary);
                Ok(Prepared::new(
                    with_variant!(request, variant).prepare()?,
                    |prepared| prepared.enqueue(),
                    |prepared| prepared.output()?.to_vec(),
                ))
            }};
        }
        let above = self.around[0];
        match self.height {
            None => prepared!(device.convolve_request(input.as_vector(), &self.mask)),
            Some(height) => {
                let rows = input.rows(above..above + height)?;
                prepared!(device.convolve_rows_request(rows, &self.mask))
            }
        }
    }

    fn truth(&self, set: usize) -> Vec<T> {
        let [above, below] = self.around.map(|rows| rows * self.width);
        let mut values = self.values(set);
        values.truncate(values.len() - below);
        values.drain(..above);
        values
    }

    fn check(&self, truth: &Vec<T>, answer: &Vec<T>) -> Verdict {
        /// Products up to which every element is computed; of more, a part in so many.
        const MOST: usize = 1 << 32;
        const PARTS: usize = 61;
        const PART: usize = 4096;
        let all = truth.len().saturating_mul(self.mask.len()) <= MOST;
        let last = truth.len().saturating_sub(1) / PART;
        each(answer, truth.len(), |at, found| {
            let part = at / PART;
            if !all && !part.is_multiple_of(PARTS) && part != last {
                return None;
            }
            let expected = convolved_at(truth, self.width, &self.mask, self.boundary, at);
            (*found != expected).then(|| format!("expected {expected:?}, found {found:?}"))
        })
    }
}

/// One element of the convolution of each row of `width` elements, by a loop in the order that the library
/// promises.
fn convolved_at<T: Value>(
    values: &[T],
    width: usize,
    mask: &[T::Mask],
    boundary: Boundary,
    index: usize,
) -> T {
    let row = &values[index / width * width..][..width];
    let last = width as i64 - 1;
    let start = (index % width) as i64 - (mask.len() / 2) as i64;
    T::sum(mask.iter().enumerate().map(|(j, weight)| {
        let at = start + j as i64;
        let value = match boundary {
            _ if (0..=last).contains(&at) => Some(row[at as usize]),
            Boundary::Zero => None,
            Boundary::Clamp => Some(row[at.clamp(0, last) as usize]),
            Boundary::Wrap => Some(row[at.rem_euclid(last + 1) as usize]),
        };
        (*weight, value)
    }))
}

/// The convolution of each row of `width` elements, as the library promises it.
pub fn convolved<T: Value>(
    values: &[T],
    width: usize,
    mask: &[T::Mask],
    boundary: Boundary,
) -> Vec<T> {
    let all = (0..values.len()).into_par_iter().with_min_len(1 << 10);
    all.map(|index| convolved_at(values, width, mask, boundary, index))
        .collect()
}

/// What the variants are checked with.
pub fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    of_type::<u8>(&mut all, scale);
    of_type::<f32>(&mut all, scale);
    of_type::<f64>(&mut all, scale);
    all
}

fn of_type<T: Value>(all: &mut Vec<Workload>, scale: Scale) {
    for (at, (height, width)) in scale.all(&SHAPES, &LARGE).into_iter().enumerate() {
        // Each shape with some of the masks, and each mask with some of the shapes.
        let some = MASKS.into_iter().skip(at % 3).step_by(3);
        for (weights, (boundary, _)) in some.zip(BOUNDARIES.into_iter().cycle().skip(at)) {
            all.push(Workload::new(Convolution::<T> {
                height: Some(height),
                boundary,
                ..Convolution::new(width, weights)
            }));
        }
    }
    for (boundary, _) in BOUNDARIES {
        // The first element is not aligned for wide loads.
        all.push(Workload::new(Convolution::<T> {
            height: Some(5),
            around: [1, 1],
            boundary,
            ..Convolution::new(1001, 6)
        }));
    }
}

/// What the variants are timed with: a vector of `f32` with a narrow mask, for which the memory is the limit, and with
/// a wide one, for which the arithmetic is near.
pub fn timings(size: usize) -> Vec<Workload> {
    let of = |weights| Workload::new(Convolution::<f32>::new(size, weights));
    vec![of(5), of(63)]
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
        let bytes = convolved(&[3_u8, 200], 2, &[0.5, 1.5], Boundary::Zero);
        assert_eq!(bytes, [4, 255]);
    }

    #[test]
    fn a_wrong_sum_is_noticed() {
        let problem = Convolution::<f32>::new(1000, 5);
        let truth = problem.truth(0);
        let right = convolved(&truth, 1000, problem.mask(), Boundary::Zero);
        assert_eq!(problem.check(&truth, &right), Ok(()));
        for (at, value) in [(0, f32::NAN), (500, right[500] + 1e-5), (999, 0.0)] {
            let mut found = right.clone();
            found[at] = value;
            assert!(problem.check(&truth, &found).is_err(), "{at}");
        }
        assert!(problem.check(&truth, &Vec::new()).is_err());
    }
}
