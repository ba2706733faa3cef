//! The ladders of the reductions along an axis: sums of `u8`, as in the material that the ladder follows, and of
//! `f32`, of a square matrix and of a tall and a wide one.

use std::fmt::Display;

use rayon::prelude::*;
use warpwright::Result;
use warpwright::ops::axis::{Axis, AxisReducible, PreparedAxis};

use super::{Ladder, Ready, Run, copied, size};
use crate::sample;

/// A matrix's shape for a square of so many rows and columns.
type Shape = fn(usize) -> (usize, usize);

/// The shapes whose sums of `f32` are timed; those of `u8` are of the first.
const SHAPES: [Shape; 3] = [
    |side| (side, side),
    |side| (side * 8, (side / 16).max(1)),
    |side| ((side / 16).max(1), side * 8),
];

pub(super) fn run<F: FnMut()>(
    mut run: Run<'_, F>,
    family: &'static str,
    asked: Option<usize>,
) -> Result<Vec<Ladder>> {
    let elements = size(run.device, asked, 8192 * 8192, 512 * 512);
    let side = elements.isqrt().max(1);
    let axis = if family == Axis::Columns.family().name {
        Axis::Columns
    } else {
        Axis::Rows
    };
    let square = SHAPES[0](side);
    let mut ladders = vec![one(&mut run, axis, square, "u8", |hash| hash as u8)?];
    for shape in SHAPES {
        // Whole numbers from -8 to 8, whose sums are exact in f32 in any order.
        let whole = |hash| (hash % 17) as f32 - 8.0;
        ladders.push(one(&mut run, axis, shape(side), "f32", whole)?);
    }
    Ok(ladders)
}

fn one<F: FnMut(), T>(
    run: &mut Run<'_, F>,
    axis: Axis,
    (height, width): (usize, usize),
    name: &str,
    from_hash: fn(u64) -> T,
) -> Result<Ladder>
where
    T: AxisReducible + Into<f64>,
    T::Sum: Exact,
{
    let device = run.device;
    let values = sample::values(height * width, 24, from_hash);
    let expected = sums(&values, width, axis);
    let matrix = device.upload_matrix(&values, height, width)?;
    let copied = copied(device, &values)?;
    let bytes = (height * width * size_of::<T>()) as u64;
    drop(values);
    let family = axis.family().name;
    let problem = format!("sum of each of the {family} of {height} x {width} {name}");
    run.all(family, problem, bytes, &copied, |variant| {
        let request = device.reduce_axis(&matrix, axis).variant(variant);
        Ok(Box::new(Rung {
            prepared: request.prepare_sum()?,
            expected: &expected,
        }))
    })
}

/// The sum of each column or row of a matrix of whole numbers so wide, exact in `f64`.
pub fn sums<T: AxisReducible + Into<f64>>(values: &[T], width: usize, axis: Axis) -> Vec<f64> {
    let rows = values.par_chunks(width);
    match axis {
        Axis::Rows => rows
            .map(|row| row.iter().map(|&value| value.into()).sum())
            .collect(),
        Axis::Columns => {
            let none = || vec![0.0; width];
            let add = |mut sums: Vec<f64>, row: &[T]| {
                sums.iter_mut()
                    .zip(row)
                    .for_each(|(sum, &value)| *sum += value.into());
                sums
            };
            let merge = |mut a: Vec<f64>, b: Vec<f64>| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            };
            rows.with_min_len(256).fold(none, add).reduce(none, merge)
        }
    }
}

/// A sum of whole numbers that are small enough for `f64`.
trait Exact: Copy + Display {
    fn exact(self) -> f64;
}

impl Exact for u64 {
    fn exact(self) -> f64 {
        self as f64
    }
}

impl Exact for f32 {
    fn exact(self) -> f64 {
        self.into()
    }
}

struct Rung<'a, T: AxisReducible> {
    prepared: PreparedAxis<'a, T, T::Sum>,
    expected: &'a [f64],
}

impl<T: AxisReducible> Ready for Rung<'_, T>
where
    T::Sum: Exact,
{
    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = self.prepared.output()?.to_vec()?;
        if found.len() != self.expected.len() {
            let (found, expected) = (found.len(), self.expected.len());
            return Ok(Err(format!("expected {expected} results, found {found}")));
        }
        let mut pairs = found.iter().zip(self.expected).enumerate();
        // A NaN fails this comparison.
        let wrong = pairs.find(|(_, (found, expected))| found.exact() != **expected);
        Ok(match wrong {
            None => Ok(()),
            Some((at, (found, expected))) => {
                Err(format!("at {at}: expected {expected}, found {found}"))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_right() {
        let values = [1_u8, 2, 3, 4, 5, 6];
        assert_eq!(sums(&values, 3, Axis::Columns), [5.0, 7.0, 9.0]);
        assert_eq!(sums(&values, 3, Axis::Rows), [6.0, 15.0]);
    }
}
