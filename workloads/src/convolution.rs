//! Convolutions, compared bit by bit, because the library specifies the order of the sums.

use warpwright::ops::convolution::Convolvable;
use warpwright::{Boundary, Device, Matrix, Result};

use crate::compare::each;
use crate::parallel;
use crate::sample::{self, Make, Part, spread};
use crate::{
    Family, Number, Prepared, Problem, Scale, Verdict, Workload, equal, prepared, with_variant,
};

/// Heights and widths: zero, near the outputs of a warp and of a block, and prime.
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

/// The widths of masks: even and odd, near chunks, and too large for constant memory.
const MASKS: [usize; 12] = [1, 2, 3, 4, 5, 8, 31, 64, 127, 257, 1024, 1500];

const BOUNDARIES: [(Boundary, &str); 3] = [
    (Boundary::Zero, "zeros outside"),
    (Boundary::Clamp, "clamped"),
    (Boundary::Wrap, "wrapped"),
];

/// An element type.
pub trait Value: Convolvable + Number {
    /// Returns a weight for a mask of this width.
    fn weight(hash: u64, width: usize) -> Self::Mask;
    /// Returns the output for these pairs of weights and values. A value outside of the input may be `None`.
    fn sum(pairs: impl Iterator<Item = (Self::Mask, Option<Self>)>) -> Self;
}

/// Returns a number from -1 to 1.
fn fraction(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

macro_rules! values {
    ($($type:ident: $mask:ident, $output:expr;)*) => { $(
        impl Value for $type {
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
    u8: f32, |sum: f32| sum.round_ties_even() as u8;
    f32: f32, |sum| sum;
    f64: f64, |sum| sum;
}

/// A convolution of each row of a range of rows of a matrix, or of a vector.
#[derive(Clone)]
pub struct Convolution<T: Value> {
    /// The number of rows; `None` for a vector.
    height: Option<usize>,
    width: usize,
    part: Part,
    mask: Vec<T::Mask>,
    boundary: Boundary,
    make: Make<T>,
    /// Whether every element is compared, whatever their number.
    all: bool,
}

/// The oracle's data of a convolution.
pub struct Truth<T> {
    /// The values that are convolved.
    pub values: Vec<T>,
    /// All expected elements; if `None`, a sample is computed during the comparison.
    expected: Option<Vec<T>>,
}

impl<T: Value> Convolution<T> {
    /// Makes the convolution of a vector with a mask of `weights` weights, with zeros outside.
    pub fn new(len: usize, weights: usize) -> Self {
        Self {
            height: None,
            width: len,
            part: Part::WHOLE,
            mask: sample::values(weights, 10, |hash| T::weight(hash, weights)),
            boundary: Boundary::Zero,
            make: Make::hashed(T::fraction),
            all: false,
        }
    }

    /// Makes the convolution of each row of a matrix with a mask. Every element is compared, whatever their number.
    pub fn rows(
        (height, width): (usize, usize),
        mask: Vec<T::Mask>,
        boundary: Boundary,
        make: Make<T>,
    ) -> Self {
        Self {
            height: Some(height),
            width,
            part: Part::WHOLE,
            mask,
            boundary,
            make,
            all: true,
        }
    }

    /// Computes one element by a loop, in the order that the library specifies.
    fn element(&self, values: &[T], index: usize) -> T {
        let width = self.width;
        let row = &values[index / width * width..][..width];
        let last = width as i64 - 1;
        let start = (index % width) as i64 - (self.mask.len() / 2) as i64;
        T::sum(self.mask.iter().enumerate().map(|(j, weight)| {
            let at = start + j as i64;
            let value = match self.boundary {
                _ if (0..=last).contains(&at) => Some(row[at as usize]),
                Boundary::Zero => None,
                Boundary::Clamp => Some(row[at.clamp(0, last) as usize]),
                Boundary::Wrap => Some(row[at.rem_euclid(last + 1) as usize]),
            };
            (*weight, value)
        }))
    }

    /// Computes all elements.
    fn elements(&self, values: &[T]) -> Vec<T> {
        parallel::map(values.len(), 1 << 10, |index| self.element(values, index))
    }

    /// Returns the same convolution with another boundary.
    #[must_use]
    pub fn boundary(self, boundary: Boundary) -> Self {
        Self { boundary, ..self }
    }

    /// Returns the mask.
    pub fn mask(&self) -> &[T::Mask] {
        &self.mask
    }

    /// Returns the values of a set, including those around the convolved rows.
    pub fn values(&self, set: usize) -> Vec<T> {
        self.make.values(self.all_rows() * self.width, 8, set)
    }

    /// Returns the number of rows of the matrix.
    fn all_rows(&self) -> usize {
        self.part.total(self.height.unwrap_or(1))
    }
}

impl<T: Value> Problem for Convolution<T> {
    type Input = Matrix<T>;
    type Answer = Vec<T>;
    type Truth = Truth<T>;

    fn family(&self) -> &'static str {
        "convolution"
    }

    fn name(&self) -> String {
        let rows = self.height.map_or_else(String::new, |height| {
            format!("{} x ", self.part.name("rows", height))
        });
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
        device.upload_matrix(&self.values(set), self.all_rows(), self.width)
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Matrix<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<T>>> {
        macro_rules! of {
            ($request:expr) => {{
                let request = with_variant!($request.boundary(self.boundary), variant);
                Ok(prepared!(request.prepare()?, |it| it.output()?.to_vec()))
            }};
        }
        match self.height {
            None => of!(device.convolve_request(input.as_vector(), &self.mask)),
            Some(height) => {
                let rows = input.rows(self.part.range(height))?;
                of!(device.convolve_rows_request(rows, &self.mask))
            }
        }
    }

    fn truth(&self, set: usize) -> Truth<T> {
        /// The maximum number of products for which every element is computed.
        const MOST: usize = 1 << 32;
        let height = self.height.unwrap_or(1);
        let values = self.part.of(self.values(set), height, self.width);
        let all = self.all || values.len().saturating_mul(self.mask.len()) <= MOST;
        Truth {
            expected: all.then(|| self.elements(&values)),
            values,
        }
    }

    fn check(&self, truth: &Truth<T>, answer: &Vec<T>) -> Verdict {
        /// One in this many elements is compared if they are computed during the comparison.
        const PARTS: usize = 61;
        const PART: usize = 4096;
        let values = &truth.values;
        if let Some(expected) = &truth.expected {
            return equal(answer, expected);
        }
        let last = values.len().saturating_sub(1) / PART;
        each(answer, values.len(), |at, found| {
            let part = at / PART;
            if !part.is_multiple_of(PARTS) && part != last {
                return None;
            }
            let expected = self.element(values, at);
            (*found != expected).then(|| format!("expected {expected:?}, found {found:?}"))
        })
    }
}

/// The family `convolution`.
pub const FAMILY: Family = Family {
    name: "convolution",
    checks,
    timings,
    sizes: [18, 26],
    few: |len| Workload::new(Convolution::<f32>::new(len, 3)),
    operations,
    same_everywhere: true,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    of_type::<u8>(&mut all, scale);
    of_type::<f32>(&mut all, scale);
    of_type::<f64>(&mut all, scale);
    all
}

fn of_type<T: Value>(all: &mut Vec<Workload>, scale: Scale) {
    for (at, (height, width)) in scale.all(&SHAPES, &LARGE).into_iter().enumerate() {
        // Each shape is combined with some of the masks, and each mask with some of the shapes.
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
            part: Part([1, 1]),
            boundary,
            ..Convolution::new(1001, 6)
        }));
    }
}

/// Returns the problems that the variants are timed with: a vector of `f32` with a narrow mask, limited by memory, and with a
/// wide mask, for which arithmetic is close to the limit.
fn timings(size: usize) -> Vec<Workload> {
    let of = |weights| Workload::new(Convolution::<f32>::new(size, weights));
    vec![of(5), of(63)]
}

fn operations() -> Vec<Workload> {
    let make = Make::hashed(|hash| spread(hash) as f32);
    let mask = vec![0.1, 0.7, -0.3, 1e3, 0.1];
    let rows = Convolution::rows((37, 83), mask, Boundary::Zero, make.clone());
    let vector = Convolution {
        make,
        ..Convolution::new(3071, 5)
    };
    vec![Workload::new(vector), Workload::new(rows)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        fn of<T: Value>(
            values: &[T],
            width: usize,
            mask: &[T::Mask],
            boundary: Boundary,
        ) -> Vec<T> {
            let (shape, make) = ((values.len() / width, width), Make::given(values));
            let problem = Convolution::rows(shape, mask.to_vec(), boundary, make);
            problem.truth(0).expected.unwrap()
        }
        let values = [1.0_f32, 2.0, 3.0, 4.0];
        let three = [1.0, 0.0, -1.0];
        assert_eq!(
            of(&values, 4, &three, Boundary::Zero),
            [-2.0, -2.0, -2.0, 3.0]
        );
        assert_eq!(
            of(&values, 2, &three, Boundary::Clamp),
            [-1.0, -1.0, -1.0, -1.0]
        );
        assert_eq!(
            of(&values, 4, &[1.0, 2.0], Boundary::Wrap),
            [6.0, 5.0, 8.0, 11.0]
        );
        let bytes = of(&[3_u8, 200], 2, &[0.5, 1.5], Boundary::Zero);
        assert_eq!(bytes, [4, 255]);
    }

    #[test]
    fn a_wrong_sum_is_noticed() {
        let problem = Convolution::<f32>::new(1000, 5);
        let all = problem.truth(0);
        let some = Truth {
            values: all.values.clone(),
            expected: None,
        };
        let right = problem.elements(&all.values);
        for truth in [all, some] {
            assert_eq!(problem.check(&truth, &right), Ok(()));
            for (at, value) in [(0, f32::NAN), (500, right[500] + 1e-5), (999, 0.0)] {
                let mut found = right.clone();
                found[at] = value;
                assert!(problem.check(&truth, &found).is_err(), "{at}");
            }
            assert!(problem.check(&truth, &Vec::new()).is_err());
        }
    }
}
