//! Matrix products: those of whole numbers are compared exactly, others within the bound of their roundings.

use warpwright::ops::gemm::{Matrices, Precision, Rung, Way};
use warpwright::{Device, Matrix, MatrixRect, Result};

mod cases;
mod real;
mod rectangles;

pub use real::Real;

use crate::compare::each;
use crate::parallel;
use crate::sample::{self, Make};
use crate::{Family, Number, Prepared, Problem, Verdict, Workload, prepared, with_variant, within};

/// Checks an element of a product of `T`, of which the exact value is `expected`, or that is the Gaussian error linear unit of
/// it. `bound` is the bound of its error before that and before it is rounded to an element. An infinity is right if a value
/// within the bound rounds to it.
fn near<T: Real>(found: T::Result, expected: f64, bound: f64, gelu: bool) -> Verdict {
    let (mut expected, mut bound) = (expected, bound);
    if gelu {
        // Its slope is below 1.13.
        let of_one = T::GELU.ok_or("this type has no Gaussian error linear unit")?;
        bound = 1.13 * bound + (expected.abs() + bound) * of_one;
        expected *= 0.5 * libm::erfc(-expected * std::f64::consts::FRAC_1_SQRT_2);
    }
    let ends = [expected - bound, expected + bound].map(T::Result::from_f64);
    if found.real().is_infinite() && ends.contains(&found) {
        return Ok(());
    }
    if let Some([relative, least]) = T::ROUNDED {
        bound += (expected.abs() + bound) * relative + least;
    }
    within(found.real(), expected, bound)
}

/// The kind of values of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Small whole numbers, whose products are exact.
    Whole,
    /// Numbers between -1 and 1, normally distributed ones, or any integers.
    Fractions,
}

/// A product of whole matrices.
#[derive(Clone)]
pub struct Product<T: Real> {
    /// Rows of A, columns of B, and the common dimension.
    shape: [usize; 3],
    /// The number of such products, which are computed at once, and whether as a group instead of a batch.
    count: usize,
    grouped: bool,
    /// Whether a bias is added, and the Gaussian error linear unit computed.
    layer: bool,
    /// Whether A and B are transposed.
    transposed: [bool; 2],
    data: Data,
    make: [Make<T::Factor>; 2],
    precision: Precision,
    /// The kernels of `best`, if not those that the library chooses.
    way: Option<Way>,
}

impl<T: Real> Product<T> {
    /// Makes the product of two matrices: `shape` has the rows of A, the columns of B, and the common dimension.
    pub fn new(shape: [usize; 3], data: Data) -> Self {
        let make = Make::hashed(match data {
            Data::Whole => |hash: u64| T::Factor::from_f64((hash % 9) as f64 - 4.0),
            Data::Fractions => T::Factor::fraction,
        });
        Self {
            shape,
            count: 1,
            grouped: false,
            layer: false,
            transposed: [false; 2],
            data,
            make: [make.clone(), make],
            precision: Precision::Exact,
            way: None,
        }
    }

    /// Returns so many such products of fractions.
    pub fn stacks(shape: [usize; 3], count: usize) -> Self {
        Self {
            count,
            ..Self::new(shape, Data::Fractions)
        }
    }

    /// Returns a group of so many such products of fractions.
    pub fn group(shape: [usize; 3], count: usize) -> Self {
        Self {
            grouped: true,
            ..Self::stacks(shape, count)
        }
    }

    /// Returns a layer of a neural network: a product of fractions, a bias, and the Gaussian error linear unit, which integers
    /// have not.
    pub fn layer(shape: [usize; 3]) -> Self {
        Self {
            layer: true,
            ..Self::new(shape, Data::Fractions)
        }
    }

    /// Returns the rows of A, the columns of B, and the common dimension.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Returns the number of products.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns whether it is a [`group`](Self::group).
    pub fn is_grouped(&self) -> bool {
        self.grouped
    }

    /// Returns whether it is a [`layer`](Self::layer).
    pub fn is_layer(&self) -> bool {
        self.layer
    }

    /// Returns the same product, computed with a precision.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// Returns the same product of matrices that are transposed or not, A before B.
    #[must_use]
    pub fn with_transposed(self, transposed: [bool; 2]) -> Self {
        Self { transposed, ..self }
    }

    /// Returns whether A and B are transposed.
    pub fn transposed(&self) -> [bool; 2] {
        self.transposed
    }

    /// Returns the precision.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Returns the same product of fractions with numbers of the normal distribution N(0, 1) in their place, or any integers.
    #[must_use]
    pub fn normal(self) -> Self {
        let make = Make::hashed(T::Factor::gaussian);
        self.of([make.clone(), make])
    }

    /// Returns the same product with other values, which must match its [`Data`].
    #[must_use]
    pub fn of(self, make: [Make<T::Factor>; 2]) -> Self {
        Self { make, ..self }
    }
}

/// Returns whether a variant refuses products of this type, of operands that tensor maps can describe or not.
fn refuses<T: Real>(variant: &str, has_maps: bool) -> bool {
    variant.parse().is_ok_and(|variant| match T::rung(variant) {
        Rung::Best | Rung::InOrder(_) | Rung::Tensor(_) => false,
        Rung::Mapped(..) => !has_maps,
        Rung::None => true,
    })
}

/// A and B on the host, and elements of C or of the bias.
type Values<T> = (
    [Vec<<T as Matrices>::Factor>; 2],
    Vec<<T as Matrices>::Result>,
);

/// A and B on a device, and C or the bias.
type Places<T> = (
    [Matrix<<T as Matrices>::Factor>; 2],
    Matrix<<T as Matrices>::Result>,
);

/// The oracle's data of a product.
pub enum Truth<T: Real> {
    /// All elements.
    All(Vec<T::Result>),
    /// Weights, and the weighted sum of each row, for Freivalds' check (1977): C x = A (B x) for a random vector x. A row with
    /// a wrong element passes with a probability of 2^-20.
    Sums(Vec<i64>, Vec<i64>),
    /// The operands and the bias, from which some elements are computed during the comparison.
    Operands(Values<T>),
}

/// Returns an element of C or of a bias: a fraction, or an integer of as few bits as those of A and B.
fn result_of<T: Real>(hash: u64) -> T::Result {
    T::Result::from_f64(T::Factor::fraction(hash).real())
}

/// A matrix on the host, or its transpose.
struct View<'a, T> {
    values: &'a [T],
    width: usize,
    transposed: bool,
}

impl<T: Copy> View<'_, T> {
    fn at(&self, row: usize, column: usize) -> T {
        match self.transposed {
            true => self.values[column * self.width + row],
            false => self.values[row * self.width + column],
        }
    }
}

impl<T: Real> Product<T> {
    /// Returns the heights and widths of A and B of one product in memory.
    fn sides(&self) -> [[usize; 2]; 2] {
        let [m, n, k] = self.shape;
        let side = |[height, width]: [usize; 2], transposed| match transposed {
            true => [width, height],
            false => [height, width],
        };
        [
            side([m, k], self.transposed[0]),
            side([k, n], self.transposed[1]),
        ]
    }

    /// Returns all A, all B, and the bias.
    fn values(&self, set: usize) -> Values<T> {
        let [of_a, of_b] = self
            .sides()
            .map(|[height, width]| self.count * height * width);
        let of_bias = if self.layer { self.shape[1] } else { 0 };
        let [a, b] = &self.make;
        let bias = Make::hashed(result_of::<T>).values(of_bias, 6, set);
        ([a.values(of_a, 1, set), b.values(of_b, 2, set)], bias)
    }

    fn operands<'a>(&self, [a, b]: [&'a [T::Factor]; 2]) -> [View<'a, T::Factor>; 2] {
        let [[_, width_a], [_, width_b]] = self.sides();
        let [transposed_a, transposed_b] = self.transposed;
        [(a, width_a, transposed_a), (b, width_b, transposed_b)].map(
            |(values, width, transposed)| View {
                values,
                width,
                transposed,
            },
        )
    }

    /// Compares some elements, spread over rows and columns, with sums in `f64`.
    fn some(&self, ([a, b], bias): &Values<T>, found: &[T::Result]) -> Verdict {
        let [m, n, k] = self.shape;
        let rows = self.count * m;
        // All elements of a small product. Of a large one, every row and every column twice, at places that a hash chooses.
        let some = 4 * rows.max(n);
        let turns = some.max((rows * n).min(1 << 14));
        let wrong = |turn: usize| {
            let hash = sample::hash(turn as u64) as usize;
            let (row, column) = match turn % 2 {
                _ if rows * n <= 1 << 14 => (turn / n % rows, turn % n),
                0 => (turn / 2 % rows, hash % n),
                _ => (hash % rows, turn / 2 % n),
            };
            let number = row / m;
            let [a, b] = self.operands([&a[number * m * k..], &b[number * k * n..]]);
            let (mut sum, mut size) = (0.0, 0.0);
            for k in 0..k {
                let product = a.at(row % m, k).real() * b.at(k, column).real();
                sum += product;
                size += product.abs();
            }
            if self.layer {
                sum += bias[column].real();
                size += bias[column].real().abs();
            }
            // The oracle's roundings count too, and that of the bias.
            let error = match self.precision {
                // The bounds that the library states for these precisions, and the roundings of the oracle and the bias.
                Precision::Bf16x6 => f32::error(k / 64 + 64 + 1) + f64::EPSILON * k as f64,
                Precision::Tf32 => f32::error((1 << 14) + 4 + 2 * (k + 8) + 1),
                _ => T::error(2 * k + 1),
            };
            near::<T>(found[row * n + column], sum, error * size, self.layer)
                .err()
                .map(|text| format!("at {row}, {column}: {text}"))
        };
        let first = parallel::find(turns, 16, |mut part| part.find_map(wrong));
        first.map_or(Ok(()), Err)
    }
}

impl<T: Real> Problem for Product<T> {
    type Input = Places<T>;
    type Answer = Vec<T::Result>;
    type Truth = Truth<T>;

    fn family(&self) -> &'static str {
        "gemm"
    }

    fn name(&self) -> String {
        let [m, n, k] = self.shape;
        let transposed = match self.transposed {
            [false, false] => "",
            [true, false] => ", A transposed",
            [false, true] => ", B transposed",
            [true, true] => ", A and B transposed",
        };
        let way = self.way.map_or(String::new(), |way| format!(", {way:?}"));
        let count = match self.count {
            1 => String::new(),
            count if self.grouped => format!("a group of {count} products of "),
            count => format!("{count} products of "),
        };
        let layer = if self.layer { ", bias and GELU" } else { "" };
        let precision = match self.precision {
            Precision::Exact => String::new(),
            precision => format!(" by {precision}"),
        };
        format!(
            "{count}{m} x {k} times {k} x {n} {}{}{precision}{transposed}{layer}{way}",
            T::Factor::NAME,
            T::TO
        )
    }

    fn bytes(&self) -> usize {
        let [m, n, k] = self.shape;
        let of_one = (m * k + k * n) * size_of::<T::Factor>() + m * n * size_of::<T::Result>();
        self.count * of_one
    }

    fn varies(&self) -> bool {
        T::VARIES || self.precision != Precision::Exact
    }

    fn excludes(&self, variant: &str) -> bool {
        let rows = self
            .sides()
            .map(|[_, width]| width * size_of::<T::Factor>());
        // Sizes of 0 are no product.
        let is_product = !self.shape.contains(&0);
        refuses::<T>(
            variant,
            !is_product || rows.iter().all(|bytes| bytes.is_multiple_of(16)),
        )
    }

    fn operations(&self) -> Option<u64> {
        let sides = self.shape.iter().chain([&self.count]);
        Some(sides.map(|&side| side as u64).product::<u64>() * 2)
    }

    fn input(&self, device: &Device, set: usize) -> Result<Places<T>> {
        let (([a, b], bias), [of_a, of_b]) = (self.values(set), self.sides());
        let upload = |values: &[T::Factor], [height, width]: [usize; 2]| {
            device.upload_matrix(values, self.count * height, width)
        };
        let bias = device.upload_matrix(&bias, 1, bias.len())?;
        Ok(([upload(&a, of_a)?, upload(&b, of_b)?], bias))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        ([a, b], bias): &'a Places<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<T::Result>>> {
        let request = |a: MatrixRect<'a, T::Factor>, b: MatrixRect<'a, T::Factor>| {
            let mut request = with_variant!(device.gemm_of::<T>(a, b), variant);
            if self.layer {
                request = request.bias(bias.as_vector()).gelu();
            }
            if self.transposed[0] {
                request = request.transpose_a();
            }
            if self.transposed[1] {
                request = request.transpose_b();
            }
            request = request.precision(self.precision);
            match self.way {
                Some(way) => request.way(way),
                None => request,
            }
        };
        if !self.grouped {
            let request = request(a.into(), b.into()).batch(self.count);
            return Ok(prepared!(request.prepare()?, |it| it.output()?.to_vec()));
        }
        let [[rows_of_a, _], [rows_of_b, _]] = self.sides();
        let products = (0..self.count).map(|number| {
            let rows = |height: usize| number * height..(number + 1) * height;
            let a = a.rect(rows(rows_of_a), ..)?;
            Ok(request(a, b.rect(rows(rows_of_b), ..)?))
        });
        let products = products.collect::<Result<Vec<_>>>()?;
        Ok(prepared!(device.gemm_group(products).prepare()?, |it| {
            let parts = it.results()?.iter().map(Matrix::to_vec);
            Ok(parts.collect::<Result<Vec<_>>>()?.concat())
        }))
    }

    fn truth(&self, set: usize) -> Truth<T> {
        /// The maximum number of operations for which every element is computed.
        const MOST: u64 = 1 << 29;
        let values = self.values(set);
        if self.data == Data::Fractions {
            return Truth::Operands(values);
        }
        let [m, n, k] = self.shape;
        let (operands, _) = values;
        let integers = operands.map(|values| integers(&values));
        let [[_, width_a], [_, width_b]] = self.sides();
        let [a, b] = [
            View {
                values: &integers[0],
                width: width_a,
                transposed: self.transposed[0],
            },
            View {
                values: &integers[1],
                width: width_b,
                transposed: self.transposed[1],
            },
        ];
        // Sums that are rounded to elements do not add up.
        if self.operations() > Some(MOST) && T::ROUNDED.is_none() {
            let weights = sample::values(n, 24, |hash| (hash >> 44) as i64);
            let inner = times(&b, &weights, k);
            let sums = times(&a, &inner, m);
            return Truth::Sums(weights, sums);
        }
        let row = |row: std::ops::Range<usize>| {
            let row = row.start;
            let mut sums = vec![0_i64; n];
            for k in 0..k {
                let factor = a.at(row, k);
                let columns = sums.iter_mut().enumerate();
                columns.for_each(|(column, sum)| *sum += factor * b.at(k, column));
            }
            let sums = sums.into_iter();
            sums.map(|sum| T::Result::from_f64(sum as f64))
                .collect::<Vec<_>>()
        };
        Truth::All(parallel::parts(m, 1, row).concat())
    }

    fn check(&self, truth: &Truth<T>, answer: &Vec<T::Result>) -> Verdict {
        let [m, n, _] = self.shape;
        match truth {
            Truth::All(expected) => crate::equal(answer, expected),
            Truth::Operands(values) => {
                each(answer, self.count * m * n, |_, _| None)?;
                self.some(values, answer)
            }
            Truth::Sums(weights, expected) => {
                // NaN must be found too.
                each(answer, m * n, |_, found| {
                    let value = found.real();
                    let whole = value.fract() == 0.0 && value.abs() < 16_777_216.0;
                    (!whole).then(|| format!("expected a whole number, found {found:?}"))
                })?;
                let integers = integers(answer);
                let found = View {
                    values: &integers,
                    width: n,
                    transposed: false,
                };
                let found = times(&found, weights, m);
                crate::equal(&found, expected).map_err(|text| format!("weighted sums: {text}"))
            }
        }
    }
}

/// Returns the product of a matrix of `rows` rows and a vector.
fn times(matrix: &View<'_, i64>, vector: &[i64], rows: usize) -> Vec<i64> {
    let row = |row: usize| {
        let products = vector.iter().enumerate();
        products.map(|(column, x)| matrix.at(row, column) * x).sum()
    };
    parallel::map(rows, 1, row)
}

fn integers<T: Number>(values: &[T]) -> Vec<i64> {
    parallel::map(values.len(), 1 << 14, |at| values[at].integer() as i64)
}

/// The family `gemm`.
pub const FAMILY: Family = Family {
    name: "gemm",
    checks: cases::checks,
    timings: cases::timings,
    sizes: [16, 24],
    few: |len| Workload::new(Product::<f32>::new([len.isqrt(); 3], Data::Whole)),
    operations: cases::operations,
    same_everywhere: true,
};

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn wrong(problem: &Product<f32>, truth: &Truth<f32>, right: &[f32], at: usize, value: f32) {
        assert_eq!(problem.check(truth, &right.to_vec()), Ok(()));
        let mut found = right.to_vec();
        found[at] = value;
        assert!(problem.check(truth, &found).is_err(), "{value}");
    }

    #[test]
    fn the_oracle_is_right_and_wrong_elements_are_noticed() {
        let mut problem = Product::<f32>::new([40, 30, 20], Data::Whole);
        for transposed in [[false, false], [true, false], [false, true], [true, true]] {
            problem.transposed = transposed;
            let truth = problem.truth(0);
            let Truth::All(right) = &truth else {
                panic!("a small one")
            };
            let ([a, b], _) = problem.values(0);
            let [a, b] = problem.operands([&a, &b]);
            let one: f32 = (0..20).map(|k| a.at(3, k) * b.at(k, 5)).sum();
            assert_eq!(right[3 * 30 + 5], one);
            wrong(&problem, &truth, right, 7, 0.5);
            wrong(&problem, &truth, right, 7, f32::NAN);
            assert!(problem.check(&truth, &vec![0.0; 3]).is_err());
        }
    }

    #[test]
    fn weighted_sums_notice_a_wrong_element() {
        let problem = Product::<f32>::new([600, 500, 1000], Data::Whole);
        let truth = problem.truth(0);
        assert!(matches!(truth, Truth::Sums(..)));
        let ([a, b], _) = problem.values(0);
        let [a, b] = problem.operands([&a, &b]);
        let row = |row| {
            let (a, b) = (&a, &b);
            (0..500).map(move |column| (0..1000).map(|k| a.at(row, k) * b.at(k, column)).sum())
        };
        let right: Vec<f32> = (0..600).flat_map(row).collect();
        let value = right[12_345] + 1.0;
        wrong(&problem, &truth, &right, 12_345, value);
        wrong(&problem, &truth, &right, 12_345, f32::NAN);
    }

    #[test]
    fn infinities_are_right_for_values_that_round_to_them_alone() {
        let is_right = |found, expected, size| {
            near::<f16>(f16::from_f64(found), expected, f16::error(4) * size, false).is_ok()
        };
        let large = |found, expected| is_right(found, expected, 7e4);
        assert!(large(f64::INFINITY, 7e4) && large(f64::NEG_INFINITY, -7e4));
        assert!(large(f64::INFINITY, 65_519.99) && large(65_504.0, 65_519.99));
        assert!(!large(f64::NEG_INFINITY, 7e4) && !large(65_504.0, 7e4));
        assert!(!large(f64::INFINITY, 65_000.0) && !large(f64::NAN, 7e4));
        // Where large terms cancel, the sum may be beyond either end.
        assert!(is_right(f64::NEG_INFINITY, 1.0, 1e12) && is_right(f64::INFINITY, -1.0, 1e12));
        assert!(near::<f32>(f32::INFINITY, 1e39, f32::error(4) * 1e39, false).is_ok());
        assert!(near::<f32>(f32::INFINITY, 1e38, f32::error(4) * 1e38, false).is_err());
    }

    #[test]
    fn samples_of_fractions_notice_a_wrong_row() {
        let problem = Product::<f32>::new([33, 20, 40], Data::Fractions);
        let truth = problem.truth(0);
        let Truth::Operands(([a, b], _)) = &truth else {
            panic!("fractions")
        };
        let [a, b] = problem.operands([a, b]);
        let row = |row| {
            let (a, b) = (&a, &b);
            (0..20).map(move |column| (0..40).map(|k| a.at(row, k) * b.at(k, column)).sum())
        };
        let right: Vec<f32> = (0..33).flat_map(row).collect();
        for at in [0, 7, 210, 33 * 20 - 1] {
            wrong(&problem, &truth, &right, at, f32::NAN);
            wrong(&problem, &truth, &right, at, right[at] + 0.01);
        }
    }
}
