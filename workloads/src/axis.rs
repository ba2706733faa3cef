//! Reductions along an axis of a matrix.
//!
//! Sums are checked with whole numbers. Floats must then be exact too, and an element that is missing or added twice is always
//! noticed. The rounding of float sums is checked with fractions, against its bound.

use warpwright::ops::axis::{Axis, AxisOperator, AxisReducible};
use warpwright::{Device, MatrixView, Result, Vector};

use crate::compare::each;
use crate::parallel;
use crate::sample::{Make, spread};
use crate::{
    Bits, Family, Number, Prepared, Problem, Scale, Total, Verdict, Workload, prepared,
    with_variant, within,
};

/// Heights and widths near the sides of tiles and chunks, unaligned ones, and zero.
const SHAPES: [(usize, usize); 17] = [
    (0, 0),
    (0, 7),
    (7, 0),
    (1, 1),
    (1, 67),
    (67, 1),
    (2, 3),
    (16, 16),
    (65, 130),
    (5, 511),
    (33, 512),
    (130, 513),
    (257, 64),
    (300, 4),
    (300, 3),
    (1, 5000),
    (2, 70_001),
];

/// Shapes for a GPU: large, prime, and long and thin.
const LARGE: [(usize, usize); 9] = [
    (1024, 2048),
    (2053, 1021),
    (8192, 8192),
    (4099, 4111),
    (70_000, 512),
    (512, 70_000),
    (3, 3_000_017),
    (3_000_017, 3),
    (3_000_017, 1),
];

/// The kind of values of a reduction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Values for which the operator's result is exact. Those for comparisons include NaN.
    Exact,
    /// Fractions, whose sums are rounded.
    Fractions,
}

/// A reduction of each column or row of a range of rows of a matrix.
#[derive(Clone)]
pub struct AxisReduction<T> {
    axis: Axis,
    operator: AxisOperator,
    height: usize,
    width: usize,
    /// The elements before the matrix in its allocation.
    before: usize,
    data: Data,
    make: Make<T>,
}

impl<T: Number> AxisReduction<T> {
    /// Makes the reduction of a whole matrix.
    pub fn new(
        axis: Axis,
        operator: AxisOperator,
        (height, width): (usize, usize),
        data: Data,
    ) -> Self {
        let from_hash = match (data, operator) {
            // Multiples of a power of two, of which f64 adds a million without an error.
            (Data::Fractions, _) => {
                |hash: u64| T::from_f64((hash % 65_537) as f64 / 65_536.0 - 0.25)
            }
            (Data::Exact, AxisOperator::Sum | AxisOperator::Mean) => T::whole,
            (Data::Exact, _) => |hash: u64| match T::NAN {
                Some(nan) if hash >> 32 & 0xfff == 4 => nan,
                _ => T::any(hash),
            },
        };
        Self {
            axis,
            operator,
            height,
            width,
            before: 0,
            data,
            make: Make::hashed(from_hash),
        }
    }

    /// Returns the same reduction with other values, which must match its [`Data`].
    #[must_use]
    pub fn of(self, make: Make<T>) -> Self {
        Self { make, ..self }
    }

    /// Returns the same reduction of a matrix that starts after `elements` elements of its allocation.
    #[must_use]
    pub fn behind(self, elements: usize) -> Self {
        let before = elements;
        Self { before, ..self }
    }
}

/// The results of a reduction, by the kind of its operator.
#[derive(Debug)]
pub enum Answer<T: AxisReducible> {
    /// The sums.
    Sums(Vec<T::Sum>),
    /// The means.
    Means(Vec<f64>),
    /// The elements.
    Elements(Vec<T>),
}

impl<T: AxisReducible> Bits for Answer<T> {
    fn bits(&self) -> Vec<u8> {
        match self {
            Self::Sums(sums) => sums.bits(),
            Self::Means(means) => means.bits(),
            Self::Elements(elements) => elements.bits(),
        }
    }
}

/// The expected results, from the oracle.
#[derive(Debug)]
pub enum Truth {
    /// Exact sums; those of integers wrap.
    Whole(Vec<i128>),
    /// Sums or means of fractions, each with the error bound of a result.
    Real(Vec<(f64, f64)>),
    /// Means that are exact except for the division.
    Means(Vec<f64>),
    /// The ranks of elements; `None` for a NaN.
    Ranks(Vec<Option<i128>>),
}

impl<T: Number + AxisReducible<Sum: Total>> AxisReduction<T> {
    fn values(&self, set: usize) -> Vec<T> {
        let len = self.before + self.height * self.width;
        self.make.values(len, 12, set)
    }

    /// Returns the number of elements of one result.
    fn along(&self) -> usize {
        match self.axis {
            Axis::Columns => self.height,
            Axis::Rows => self.width,
        }
    }

    /// Returns the maximum number of roundings that an element undergoes on its way to a sum, in units of the sums' type. The
    /// library adds `f32` in `f64`, except for the last 258 steps.
    fn roundings(&self) -> f64 {
        match size_of::<T>() {
            4 => 258.0,
            _ => (self.along() + 64) as f64,
        }
    }

    /// Checks the results.
    ///
    /// # Errors
    /// Returns the first wrong one.
    pub fn check(truth: &Truth, answer: &Answer<T>) -> Verdict {
        match (truth, answer) {
            (Truth::Whole(sums), Answer::Sums(found)) => each(found, sums.len(), |at, found| {
                let wrong = !found.is(sums[at]);
                wrong.then(|| format!("expected {}, found {found:?}", sums[at]))
            }),
            (Truth::Real(sums), Answer::Sums(found)) => each(found, sums.len(), |at, found| {
                let (sum, bound) = sums[at];
                within(found.as_f64(), sum, bound).err()
            }),
            (Truth::Means(means), Answer::Means(found)) => crate::equal(found, means),
            (Truth::Real(means), Answer::Means(found)) => each(found, means.len(), |at, found| {
                let (mean, bound) = means[at];
                within(*found, mean, bound).err()
            }),
            (Truth::Ranks(ranks), Answer::Elements(found)) => {
                each(found, ranks.len(), |at, found| {
                    let wrong = found.rank() != ranks[at];
                    wrong.then(|| format!("expected the rank {:?}, found {found:?}", ranks[at]))
                })
            }
            _ => Err(format!("expected {truth:?}, found {answer:?}")),
        }
    }
}

impl<T: Number + AxisReducible<Sum: Total>> Problem for AxisReduction<T> {
    type Input = Vector<T>;
    type Answer = Answer<T>;
    type Truth = Truth;

    fn family(&self) -> &'static str {
        self.axis.family().name
    }

    fn name(&self) -> String {
        let what = match self.data {
            Data::Fractions => "rounding of the ",
            Data::Exact => "",
        };
        let behind = match self.before {
            0 => String::new(),
            elements => format!(" behind {elements} elements"),
        };
        let (operator, family) = (self.operator.name(), Problem::family(self));
        let (height, width) = (self.height, self.width);
        format!(
            "{what}{operator} of each of the {family} of {height} x {width} {}{behind}",
            T::NAME
        )
    }

    fn bytes(&self) -> usize {
        self.height * self.width * size_of::<T>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<T>> {
        device.upload(&self.values(set))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vector<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Answer<T>>> {
        let matrix = input.slice(self.before..)?;
        let matrix = MatrixView::from_vector(matrix, self.height, self.width)?;
        let request = device.reduce_axis(matrix, self.axis);
        let request = with_variant!(request, variant);
        macro_rules! of {
            ($prepare:ident, $kind:ident) => {
                prepared!(request.$prepare()?, |it| Ok(Answer::$kind(
                    it.output()?.to_vec()?
                )))
            };
        }
        Ok(match self.operator {
            AxisOperator::Sum => of!(prepare_sum, Sums),
            AxisOperator::Mean => of!(prepare_mean, Means),
            AxisOperator::Min => of!(prepare_min, Elements),
            AxisOperator::Max => of!(prepare_max, Elements),
            other => unreachable!("a workload of {other}"),
        })
    }

    fn wavers(&self, variant: &str) -> bool {
        let adds = matches!(self.operator, AxisOperator::Sum | AxisOperator::Mean);
        variant == "chunk_atomic" && adds && T::Sum::ROUNDING.is_some()
    }

    fn truth(&self, set: usize) -> Truth {
        let values = self.values(set);
        let results = match self.axis {
            Axis::Columns => self.width,
            Axis::Rows => self.height,
        };
        let matrix = Values {
            values: &values[self.before..],
            width: self.width,
            axis: self.axis,
            results,
        };
        let sums = || matrix.fold(0, |sum: i128, value: T| sum + value.integer(), |a, b| a + b);
        let better = |a: Option<i128>, b: Option<i128>| a.max(b);
        match (self.operator, self.data) {
            (AxisOperator::Sum, Data::Exact) => Truth::Whole(sums()),
            (AxisOperator::Sum | AxisOperator::Mean, Data::Fractions) => {
                let add = |(sum, size): (f64, f64), value: T| {
                    (sum + value.real(), size + value.real().abs())
                };
                let sums = matrix.fold((0.0, 0.0), add, |a, b| (a.0 + b.0, a.1 + b.1));
                let unit = self.roundings() * T::Sum::ROUNDING.unwrap_or_default();
                let over = match self.operator {
                    AxisOperator::Mean => self.along() as f64,
                    _ => 1.0,
                };
                let result = |(sum, size): (f64, f64)| (sum / over, unit * size / over);
                Truth::Real(sums.into_iter().map(result).collect())
            }
            (AxisOperator::Mean, Data::Exact) => {
                let mean = |sum: i128| sum as f64 / self.along() as f64;
                Truth::Means(sums().into_iter().map(mean).collect())
            }
            // The greatest key, which is that of a NaN if there is one.
            (AxisOperator::Max, _) => {
                let key = |value: T| Some(value.rank().unwrap_or(i128::MAX));
                let found = matrix.fold(None, |best, value| better(best, key(value)), better);
                Truth::Ranks(
                    found
                        .into_iter()
                        .map(|key| key.filter(|key| *key != i128::MAX))
                        .collect(),
                )
            }
            (AxisOperator::Min, _) => {
                let key = |value: T| Some(value.rank().map_or(i128::MAX, |rank| -rank));
                let found = matrix.fold(None, |best, value| better(best, key(value)), better);
                let rank = |key: Option<i128>| key.filter(|key| *key != i128::MAX).map(|key| -key);
                Truth::Ranks(found.into_iter().map(rank).collect())
            }
            (other, _) => unreachable!("an oracle of {other}"),
        }
    }

    fn check(&self, truth: &Truth, answer: &Answer<T>) -> Verdict {
        Self::check(truth, answer)
    }
}

/// A matrix on the host whose columns or rows are reduced.
struct Values<'a, T> {
    values: &'a [T],
    width: usize,
    axis: Axis,
    results: usize,
}

/// The number of values that a thread takes at a time.
const PART: usize = 1 << 14;

impl<T: Copy + Sync> Values<'_, T> {
    fn fold<A: Copy + Send + Sync>(
        &self,
        zero: A,
        add: impl Fn(A, T) -> A + Sync,
        merge: impl Fn(A, A) -> A + Sync,
    ) -> Vec<A> {
        let none = || vec![zero; self.results];
        if self.width == 0 {
            return none();
        }
        let height = self.values.len() / self.width;
        let row = |at: usize| &self.values[at * self.width..(at + 1) * self.width];
        match self.axis {
            Axis::Rows => parallel::map(height, (PART / self.width).max(1), |at| {
                row(at).iter().copied().fold(zero, &add)
            }),
            Axis::Columns => {
                let rows = (PART / self.width).max(height / 256).max(1);
                let parts = parallel::parts(height, rows, |part| {
                    let mut all = none();
                    for at in part {
                        let pairs = all.iter_mut().zip(row(at));
                        pairs.for_each(|(one, value)| *one = add(*one, *value));
                    }
                    all
                });
                let both = |mut a: Vec<A>, b: Vec<A>| {
                    a.iter_mut().zip(b).for_each(|(a, b)| *a = merge(*a, b));
                    a
                };
                parts.into_iter().reduce(both).unwrap_or_else(none)
            }
        }
    }
}

/// The family `columns`.
pub const COLUMNS: Family = Family {
    name: "columns",
    checks: |scale| checks(Axis::Columns, scale),
    timings: |size| timings(Axis::Columns, size),
    sizes: [18, 26],
    few: |len| few(Axis::Columns, len),
    operations: || operations(Axis::Columns),
    same_everywhere: false,
};

/// The family `rows`.
pub const ROWS: Family = Family {
    name: "rows",
    checks: |scale| checks(Axis::Rows, scale),
    timings: |size| timings(Axis::Rows, size),
    few: |len| few(Axis::Rows, len),
    operations: || operations(Axis::Rows),
    ..COLUMNS
};

/// Returns the problems that the variants are checked with.
fn checks(axis: Axis, scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    of_type::<u8>(&mut all, axis, scale);
    of_type::<u16>(&mut all, axis, scale);
    of_type::<u32>(&mut all, axis, scale);
    of_type::<i32>(&mut all, axis, scale);
    of_type::<f32>(&mut all, axis, scale);
    of_type::<f64>(&mut all, axis, scale);
    all
}

fn of_type<T: Number + AxisReducible<Sum: Total>>(
    all: &mut Vec<Workload>,
    axis: Axis,
    scale: Scale,
) {
    let mut shapes: Vec<_> = SHAPES.map(|shape| (shape, 0)).to_vec();
    // The first element of these is not aligned for wide loads.
    shapes.extend([((40, 131), 131), ((1300, 7), 21)]);
    shapes.extend(scale.pick(&[][..], &LARGE).iter().map(|shape| (*shape, 0)));
    for (shape, before) in shapes {
        let mut add = |operator, data| {
            let problem = AxisReduction::<T>::new(axis, operator, shape, data);
            // Only sums exist without elements.
            let any = problem.along() > 0;
            if any || (operator, data) == (AxisOperator::Sum, Data::Exact) {
                all.push(Workload::new(problem.behind(before)));
            }
        };
        for operator in AxisOperator::ALL {
            add(operator, Data::Exact);
        }
        if T::Sum::ROUNDING.is_some() {
            add(AxisOperator::Sum, Data::Fractions);
        }
    }
}

/// Returns the problems that the variants are timed with: sums of `u8` of a square matrix, and of `f32` of a square, a tall and
/// a wide matrix.
fn timings(axis: Axis, size: usize) -> Vec<Workload> {
    let side = size.isqrt().max(1);
    let (square, long, short) = ((side, side), side * 8, (side / 16).max(1));
    let sum = AxisOperator::Sum;
    let mut all = vec![Workload::new(AxisReduction::<u8>::new(
        axis,
        sum,
        square,
        Data::Exact,
    ))];
    for shape in [square, (long, short), (short, long)] {
        let problem = AxisReduction::<f32>::new(axis, sum, shape, Data::Exact);
        all.push(Workload::new(problem));
    }
    all
}

fn few(axis: Axis, len: usize) -> Workload {
    let (sum, side) = (AxisOperator::Sum, len.isqrt());
    let shape = (side, side);
    Workload::new(AxisReduction::<f32>::new(axis, sum, shape, Data::Exact))
}

fn operations(axis: Axis) -> Vec<Workload> {
    let mut all = Vec::new();
    let (sum, shape) = (AxisOperator::Sum, (37, 83));
    for operator in AxisOperator::ALL {
        let data = match operator {
            AxisOperator::Sum | AxisOperator::Mean => Data::Fractions,
            _ => Data::Exact,
        };
        let problem = AxisReduction::new(axis, operator, shape, data);
        all.push(Workload::new(
            problem.of(Make::hashed(|hash| spread(hash) as f32)),
        ));
    }
    let doubles = AxisReduction::new(axis, sum, shape, Data::Fractions).of(Make::hashed(spread));
    let words = AxisReduction::<u32>::new(axis, sum, (30, 100), Data::Exact);
    all.extend([Workload::new(doubles), Workload::new(words)]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(values: &[u8], width: usize, axis: Axis, results: usize) -> Vec<i128> {
        let matrix = Values {
            values,
            width,
            axis,
            results,
        };
        matrix.fold(0, |sum, value| sum + i128::from(value), |a, b| a + b)
    }

    #[test]
    fn the_oracle_is_right() {
        let values = [1, 2, 3, 4, 5, 6];
        assert_eq!(fold(&values, 3, Axis::Columns, 3), [5, 7, 9]);
        assert_eq!(fold(&values, 3, Axis::Rows, 2), [6, 15]);
        assert_eq!(fold(&[], 0, Axis::Rows, 2), [0, 0]);
        assert_eq!(fold(&[], 2, Axis::Columns, 2), [0, 0]);
    }

    #[test]
    fn extremes_are_those_of_a_loop() {
        let least =
            AxisReduction::<f32>::new(Axis::Rows, AxisOperator::Min, (100, 100), Data::Exact);
        let greatest = AxisReduction {
            operator: AxisOperator::Max,
            ..least.clone()
        };
        let values = least.values(0);
        let (Truth::Ranks(low), Truth::Ranks(high)) = (least.truth(0), greatest.truth(0)) else {
            panic!("ranks");
        };
        for (at, row) in values.chunks(100).enumerate() {
            let ranks: Option<Vec<_>> = row.iter().map(|value| value.rank()).collect();
            assert_eq!(
                low[at],
                ranks.as_ref().and_then(|all| all.iter().copied().min())
            );
            assert_eq!(
                high[at],
                ranks.as_ref().and_then(|all| all.iter().copied().max())
            );
        }
        assert!(low.iter().any(Option::is_none) && low.iter().any(Option::is_some));
    }

    #[test]
    fn wrong_results_are_noticed() {
        let check = AxisReduction::<f32>::check;
        let sums = |found: &[f32]| Answer::Sums(found.to_vec());
        assert!(check(&Truth::Whole(vec![1, 2]), &sums(&[1.0, 2.0])).is_ok());
        assert!(check(&Truth::Whole(vec![1, 2]), &sums(&[1.0, 3.0])).is_err());
        assert!(check(&Truth::Whole(vec![1, 2]), &sums(&[1.0])).is_err());
        assert!(check(&Truth::Whole(vec![1]), &Answer::Elements(vec![1.0])).is_err());
        assert!(check(&Truth::Real(vec![(1.0, 0.5)]), &sums(&[f32::NAN])).is_err());
        let zero = Truth::Ranks(vec![0.0_f32.rank()]);
        assert!(check(&zero, &Answer::Elements(vec![-0.0])).is_err());
        assert!(check(&zero, &Answer::Elements(vec![0.0])).is_ok());
    }
}
