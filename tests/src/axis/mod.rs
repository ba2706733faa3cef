//! The shared parts of the tests of reductions along columns and along rows.

pub mod requests;

use std::fmt;

use warpwright::{
    Device, Error, Matrix, Variant, Vector,
    ops::{
        axis::{Axis, AxisOperator, AxisReducible},
        reduce::Reducible,
    },
};
use warpwright_gpu::axis::CHUNK;

use crate::{
    Number,
    cases::{self, OFFSETS, Problem},
    compare::{self, Outcome},
    data::{Awkward, Data},
    devices::Executor,
    oracle::Total,
};

/// An element type of the reductions along an axis.
pub trait AxisNumber: AxisReducible<Sum = <Self::As as Reducible>::Sum> {
    /// A type with the same values that the oracles support.
    type As: Number;
    /// Returns the element with this value, or with its low bits.
    fn narrow(value: Self::As) -> Self;
    /// Returns the element's value.
    fn widen(self) -> Self::As;
}

macro_rules! axis_numbers {
    ($($ty:ty: $wide:ty;)*) => { $(
        impl AxisNumber for $ty {
            type As = $wide;
            fn narrow(value: $wide) -> Self {
                value as $ty
            }
            fn widen(self) -> $wide {
                self.into()
            }
        }
    )* };
}
axis_numbers! {
    u8: u8;
    u16: u32;
    u32: u32;
    i32: i32;
    f32: f32;
    f64: f64;
}

/// Calls `$callback!` once per element type of the reductions along an axis, with the type.
#[macro_export]
macro_rules! for_each_axis_number {
    ($callback:ident) => {
        $callback!(u8);
        $callback!(u16);
        $callback!(u32);
        $callback!(i32);
        $callback!(f32);
        $callback!(f64);
    };
}

/// A matrix that starts `above` rows into another one.
#[derive(Debug)]
pub struct Shape {
    /// The executor to run on.
    pub executor: Executor,
    /// The kind of its elements.
    pub data: Data,
    /// The number of its rows.
    pub height: usize,
    /// The number of its columns.
    pub width: usize,
    /// The number of rows above it.
    pub above: usize,
}

impl Problem for Shape {
    fn executor(&self) -> Executor {
        self.executor
    }
}

impl Shape {
    /// Returns every variant for every operator. On the CPU executor, where lanes cost time, large matrices, and matrices of
    /// many rows with a block each, get one operator per type.
    fn rungs<T: AxisNumber>(&self, axis: Axis) -> Vec<Rung> {
        const LARGE: usize = 5000;
        let elements = self.height * self.width;
        let mut operators = AxisOperator::ALL.to_vec();
        let many_blocks = axis == Axis::Rows && self.height > 50;
        if self.executor == Executor::Cpu && (elements > LARGE || many_blocks) {
            let name: usize = T::As::NAME.bytes().map(usize::from).sum();
            operators = vec![operators[(name + elements + size_of::<T>()) % operators.len()]];
        }
        let along = match axis {
            Axis::Columns => self.height,
            Axis::Rows => self.width,
        };
        // Another test requests results that do not exist without elements.
        operators.retain(|operator| along > 0 || *operator == AxisOperator::Sum);
        let variants = axis.family().variants.iter();
        variants
            .flat_map(|variant| operators.iter().map(move |operator| (variant, *operator)))
            .map(|(variant, operator)| Rung { variant, operator })
            .collect()
    }
}

/// A variant with an operator.
struct Rung {
    variant: &'static Variant,
    operator: AxisOperator,
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.operator.name(), self.variant.name)
    }
}

/// Returns shapes around every size at which a kernel changes its path, and odd ones. One of the variants uses a block per row,
/// so the CPU executor gets few matrices of many rows for it.
pub fn shapes(axis: Axis) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for executor in Executor::ALL {
        let most_rows = match (executor, axis) {
            (Executor::Cpu, Axis::Rows) => 300,
            _ => usize::MAX,
        };
        let mut push = |height, width, above| {
            if height > most_rows {
                return;
            }
            shapes.push(Shape {
                executor,
                data: Data::Spread,
                height,
                width,
                above,
            });
        };
        for height in [0, 1, 2, 16, 17, 67] {
            for width in [0, 1, 2, 3, 16, 31, 64, 129] {
                push(height, width, 0);
            }
        }
        // Tiles and their neighbors, and chunks of 128 and 256 elements.
        for side in [127, 128, 256, 257, 511, 512, 513, 1040] {
            push(5, side, 0);
            push(side, 5, 0);
            push(side, 1, 0);
            push(66, side, 0);
        }
        // Prime sizes, and long and thin ones.
        for (height, width) in [(127, 131), (4099, 3), (3, 4099), (1, 20_011), (20_011, 1)] {
            push(height, width, 0);
        }
        // Rows that several blocks share, and rows that share a warp.
        push(2, 70_003, 0);
        push(300, 7, 1);
        // Rows that warps and blocks share, with widths of whole tiles and others.
        for (height, width) in [(700, 512), (1300, 128), (1500, 37), (2100, 32)] {
            push(height, width, 0);
        }
        if executor == Executor::Cuda {
            let large = [
                (4099, 4099),
                (8192, 4096),
                (70_001, 512),
                (512, 70_001),
                (1 << 20, 3),
                (3, 1 << 20),
                (1 << 22, 1),
                (1, (1 << 23) + 3),
                (300_000, 64),
            ];
            for (height, width) in large {
                push(height, width, 0);
            }
        }
        // Rows of an odd width: their first element is aligned only to its size.
        for above in OFFSETS {
            for (height, width) in [(1, 33), (33, 1), (17, 37), (40, 131), (1100, 7), (7, 1100)] {
                push(height, width, above);
            }
            // The start is aligned to a row but not to 16 bytes.
            push(130, 129, above);
        }
    }
    shapes
}

/// Returns matrices of awkward values.
pub fn awkward<T: AxisNumber>() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for executor in Executor::ALL {
        for awkward in Awkward::of::<T::As>() {
            for (height, width) in [(1, 2), (3, 5), (40, 33), (300, 4)] {
                shapes.push(Shape {
                    executor,
                    data: Data::Awkward(awkward),
                    height,
                    width,
                    above: 0,
                });
            }
        }
    }
    shapes
}

/// Returns `height * width` values of this kind.
pub fn values<T: AxisNumber>(data: Data, height: usize, width: usize) -> Vec<T> {
    let values: Vec<T::As> = data.values(height * width);
    values.into_iter().map(T::narrow).collect()
}

/// Returns the columns or the rows of a matrix, in the oracles' type.
pub fn lines<T: AxisNumber>(
    values: &[T],
    height: usize,
    width: usize,
    axis: Axis,
) -> Vec<Vec<T::As>> {
    assert_eq!(values.len(), height * width);
    let at = |row: usize, column: usize| values[row * width + column].widen();
    match axis {
        Axis::Columns => (0..width)
            .map(|column| (0..height).map(|row| at(row, column)).collect())
            .collect(),
        Axis::Rows => (0..height)
            .map(|row| (0..width).map(|column| at(row, column)).collect())
            .collect(),
    }
}

/// A matrix on a device, and its lines that are reduced.
struct Prepared<T: AxisNumber> {
    matrix: Matrix<T>,
    lines: Vec<Vec<T::As>>,
}

impl<T: AxisNumber> Prepared<T> {
    fn new(device: &Device, shape: &Shape, axis: Axis) -> warpwright::Result<Self> {
        let &Shape { height, width, .. } = shape;
        let inner: Vec<T> = values(shape.data, height, width);
        // A kernel that reads elements around the matrix would show in every result.
        let poison = T::narrow(T::As::from_real(f64::NAN));
        let mut all = vec![poison; shape.above * width];
        all.extend(&inner);
        all.extend(vec![poison; width]);
        Ok(Self {
            matrix: device.upload_matrix(&all, shape.above + height + 1, width)?,
            lines: lines(&inner, height, width, axis),
        })
    }

    fn check(&self, device: &Device, shape: &Shape, axis: Axis, rung: &Rung) -> Outcome {
        let failed = |error: Error| error.to_string();
        let view = self.matrix.rows(shape.above..shape.above + shape.height);
        let request = device
            .reduce_axis(view.map_err(failed)?, axis)
            .variant(rung.variant.name);
        let extremes = |vector: warpwright::Result<Vector<T>>, least: bool| {
            each(vector.map_err(failed)?, &self.lines, |got, line| {
                let want = T::As::extreme(line, least).map(|(_, element)| element);
                compare::same_element(Some(got.widen()), want)
            })
        };
        match rung.operator {
            AxisOperator::Sum => each(request.sum().map_err(failed)?, &self.lines, |got, line| {
                compare::sum::<T::As>(got, T::As::exact_sum(line), chain::<T>(line.len()))
            }),
            AxisOperator::Mean => each(request.mean().map_err(failed)?, &self.lines, mean::<T>),
            AxisOperator::Min => extremes(request.min(), true),
            AxisOperator::Max => extremes(request.max(), false),
            other => Err(format!("no oracle of {other}")),
        }
    }
}

/// Compares each result with the expected result of its line.
fn each<O: warpwright::Element, N>(
    got: Vector<O>,
    lines: &[Vec<N>],
    compare: impl Fn(O, &[N]) -> Outcome,
) -> Outcome {
    let got = got.to_vec().map_err(|error| error.to_string())?;
    compare::same(&got.len(), &lines.len())?;
    let mut wrong = (0..got.len()).filter_map(|i| {
        let outcome = compare(got[i], &lines[i]);
        outcome.err().map(|wrong| (i, wrong))
    });
    match wrong.next() {
        None => Ok(()),
        Some((i, first)) => Err(format!(
            "result {i} is {first}; {} of {} are wrong",
            1 + wrong.count(),
            got.len()
        )),
    }
}

/// Returns the maximum number of additions that an element passes through, in the type that rounds the most: 256 in `f32` and
/// the rounding of the sum, where the additions in `f64` are too small to matter; for `f64` any order.
fn chain<T: AxisNumber>(len: usize) -> usize {
    if size_of::<T>() == 4 {
        CHUNK + 2
    } else {
        len + CHUNK
    }
}

fn mean<T: AxisNumber>(got: f64, line: &[T::As]) -> Outcome {
    let sum = T::As::exact_sum(line);
    if let Total::Real { value, magnitude } = sum {
        // No sum of `f32` overflows the totals, though a part may overflow.
        if size_of::<T>() == 4 && value.is_finite() && magnitude > T::As::LARGEST {
            let bound = compare::sum_bound::<T::As>(chain::<T>(line.len()), magnitude);
            let infinity = f64::INFINITY.copysign(value);
            return compare::within(got * line.len() as f64, value, bound)
                .or_else(|_| compare::within(got, infinity, 0.0));
        }
    }
    compare::mean::<T::As>(Some(got), sum, chain::<T>(line.len()), line.len())
}

/// Solves every problem by every variant for every operator.
///
/// # Panics
/// If any case fails.
pub fn check<T: AxisNumber>(axis: Axis, problems: &[Shape]) {
    cases::run(
        problems,
        |shape| shape.rungs::<T>(axis),
        |device, shape| Prepared::<T>::new(device, shape, axis),
        |device, shape, prepared, rung| prepared.check(device, shape, axis, rung),
    );
}

/// Returns the bits of the sums of a matrix whose last bits depend on the order of additions.
///
/// # Panics
/// Panics if the library returns an error.
pub fn sum_bits<T: AxisNumber>(
    device: &Device,
    (height, width): (usize, usize),
    above: usize,
    axis: Axis,
    variant: &str,
) -> Vec<u8> {
    let values: Vec<T> = values(Data::Spread, height + above, width);
    let matrix = device
        .upload_matrix(&values, height + above, width)
        .expect("an upload");
    let rows = matrix.rows(above..).expect("rows of the matrix");
    let sums = device.reduce_axis(rows, axis).variant(variant).sum();
    let sums = sums.and_then(|sums| sums.to_vec()).expect("sums");
    bytemuck::cast_slice(&sums).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_columns_or_rows() {
        let values = [1_u8, 2, 3, 4, 5, 6];
        let columns = lines(&values, 2, 3, Axis::Columns);
        assert_eq!(columns, [vec![1, 4], vec![2, 5], vec![3, 6]]);
        let rows = lines(&values, 2, 3, Axis::Rows);
        assert_eq!(rows, [vec![1, 2, 3], vec![4, 5, 6]]);
        assert!(lines::<u16>(&[], 2, 0, Axis::Columns).is_empty());
        assert_eq!(
            lines::<u16>(&[], 0, 2, Axis::Columns),
            vec![Vec::<u32>::new(); 2]
        );
    }

    #[test]
    fn one_wrong_result_of_several_is_seen() {
        let device = Device::cpu();
        let compare = |got: u32, line: &[u32]| compare::same(&got, &line[0]);
        let vector = || device.upload(&[1_u32, 2, 3]).unwrap();
        assert!(each(vector(), &[vec![1], vec![2], vec![3]], compare).is_ok());
        let wrong = each(vector(), &[vec![1], vec![7], vec![8]], compare).unwrap_err();
        assert_eq!(wrong, "result 1 is 2, not 7; 2 of 3 are wrong");
        assert!(each(vector(), &[vec![1]], compare).is_err());
    }

    #[test]
    fn a_mean_of_numbers_whose_sum_f32_cannot_hold_may_be_infinite_but_not_wrong() {
        let line = [f32::MAX; 4];
        let max = f64::from(f32::MAX);
        assert!(mean::<f32>(max, &line).is_ok());
        assert!(mean::<f32>(f64::INFINITY, &line).is_ok());
        assert!(mean::<f32>(f64::NEG_INFINITY, &line).is_err());
        assert!(mean::<f32>(f64::NAN, &line).is_err());
        assert!(mean::<f32>(max / 2.0, &line).is_err());
        assert!(mean::<u16>(1.5, &[1, 2]).is_ok());
        assert!(mean::<u16>(1.6, &[1, 2]).is_err());
    }
}
