//! The transpose: exact, for every element size.

use std::fmt::Debug;

use warpwright::{Device, Element, Matrix, Result};

use crate::parallel;
use crate::sample::{Make, Part};
use crate::{Family, Prepared, Problem, Scale, Verdict, Workload, prepared, with_variant};

/// Heights and widths near the sides of tiles, and zero.
const SHAPES: [(usize, usize); 14] = [
    (0, 0),
    (0, 7),
    (7, 0),
    (1, 1),
    (1, 67),
    (67, 1),
    (2, 3),
    (16, 16),
    (15, 17),
    (31, 33),
    (33, 31),
    (64, 32),
    (65, 130),
    (129, 63),
];

/// Shapes for a GPU: large, prime, and long and thin.
const LARGE: [(usize, usize); 5] = [
    (1024, 2048),
    (2053, 1021),
    (3, 300_007),
    (300_007, 3),
    (4099, 4111),
];

/// The transpose of a range of rows of a matrix.
#[derive(Clone)]
pub struct Transpose<T> {
    height: usize,
    width: usize,
    part: Part,
    element: &'static str,
    make: Make<T>,
}

impl<T: Element> Transpose<T> {
    /// Makes the transpose of a whole matrix of elements that have this name.
    pub fn new(
        (height, width): (usize, usize),
        element: &'static str,
        from_hash: impl Fn(u64) -> T + Send + Sync + 'static,
    ) -> Self {
        Self {
            height,
            width,
            part: Part::WHOLE,
            element,
            make: Make::hashed(from_hash),
        }
    }

    /// Returns the same transpose with other values.
    #[must_use]
    pub fn of(self, make: Make<T>) -> Self {
        Self { make, ..self }
    }
}

impl<T: Element + PartialEq + Debug> Problem for Transpose<T> {
    type Input = Matrix<T>;
    type Answer = Vec<T>;
    type Truth = Vec<T>;

    fn family(&self) -> &'static str {
        "transpose"
    }

    fn name(&self) -> String {
        let rows = self.part.name("rows", self.height);
        format!("{rows} x {} {}", self.width, self.element)
    }

    fn bytes(&self) -> usize {
        2 * self.height * self.width * size_of::<T>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Matrix<T>> {
        device.upload_matrix(&self.values(set), self.part.total(self.height), self.width)
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Matrix<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<T>>> {
        let rows = input.rows(self.part.range(self.height))?;
        let request = with_variant!(device.transpose_request(rows), variant);
        Ok(prepared!(request.prepare()?, |it| it.output()?.to_vec()))
    }

    fn truth(&self, set: usize) -> Vec<T> {
        self.part.of(self.values(set), self.height, self.width)
    }

    fn check(&self, truth: &Vec<T>, answer: &Vec<T>) -> Verdict {
        transposed(truth, answer, self.height, self.width)
    }
}

impl<T: Element> Transpose<T> {
    fn values(&self, set: usize) -> Vec<T> {
        let height = self.part.total(self.height);
        self.make.values(height * self.width, 1, set)
    }
}

/// Checks that `found` is the transpose of a matrix.
///
/// # Errors
/// Returns the first difference.
pub fn transposed<T: Element + PartialEq + Debug>(
    values: &[T],
    found: &[T],
    height: usize,
    width: usize,
) -> Verdict {
    if found.len() != values.len() {
        let (expected, found) = (values.len(), found.len());
        return Err(format!("expected {expected} elements, found {found}"));
    }
    // A few columns are read at a time, so that each cache line is used fully.
    const COLUMNS: usize = 16;
    let wrong = |columns: std::ops::Range<usize>| {
        (0..height).find_map(|row| {
            columns.clone().find_map(|column| {
                let (expected, found) =
                    (values[row * width + column], found[column * height + row]);
                (found != expected)
                    .then(|| format!("at {column}, {row}: expected {expected:?}, found {found:?}"))
            })
        })
    };
    parallel::find(width, COLUMNS, wrong).map_or(Ok(()), Err)
}

/// The family `transpose`.
pub const FAMILY: Family = Family {
    name: "transpose",
    checks,
    timings,
    sizes: [20, 28],
    few: |len| {
        let side = len.isqrt();
        Workload::new(Transpose::new((side, side), "f32", |hash| hash as u32))
    },
    operations,
    same_everywhere: true,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    elements(&mut all, scale, "u8", |hash| hash as u8);
    elements(&mut all, scale, "u16", |hash| hash as u16);
    elements(&mut all, scale, "u32", |hash| hash as u32);
    elements(&mut all, scale, "u64", |hash| hash);
    elements(&mut all, scale, "u64 pairs", |hash| [hash, !hash]);
    all
}

fn elements<T: Element + PartialEq + Debug>(
    all: &mut Vec<Workload>,
    scale: Scale,
    element: &'static str,
    from_hash: fn(u64) -> T,
) {
    for shape in scale.all(&SHAPES, &LARGE) {
        all.push(Workload::new(Transpose::new(shape, element, from_hash)));
    }
    // The first element is not aligned for wide loads.
    all.push(Workload::new(Transpose {
        part: Part([1, 5]),
        ..Transpose::new((41, 35), element, from_hash)
    }));
}

/// Returns the problems that the variants are timed with: a square matrix of `f32`.
fn timings(size: usize) -> Vec<Workload> {
    let side = size.isqrt().max(1);
    // Whole numbers below 2^24 are exact in f32.
    let whole = |hash: u64| (hash >> 40) as f32;
    vec![Workload::new(Transpose::new((side, side), "f32", whole))]
}

fn operations() -> Vec<Workload> {
    let words = Transpose::new((37, 83), "u32", |hash| hash as u32);
    vec![Workload::new(words)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_transpose_is_found() {
        let values = [1_u8, 2, 3, 4, 5, 6];
        assert_eq!(transposed(&values, &[1, 4, 2, 5, 3, 6], 2, 3), Ok(()));
        let wrong = transposed(&values, &[1, 4, 2, 5, 6, 3], 2, 3).unwrap_err();
        assert!(wrong.contains("at 2, 0"), "{wrong}");
        assert!(transposed(&values, &[1], 2, 3).is_err());
        assert_eq!(transposed::<u8>(&[], &[], 0, 3), Ok(()));
    }

    #[test]
    fn the_truth_is_the_part_that_is_asked_for() {
        let part = Transpose {
            part: Part([1, 5]),
            ..Transpose::new((41, 35), "u64", |hash| hash)
        };
        let whole = Transpose::new((47, 35), "u64", |hash| hash);
        assert_eq!(part.name(), "rows 1 to 42 of 47 x 35 u64");
        assert_eq!(part.truth(3), whole.truth(3)[35..42 * 35]);
    }
}
