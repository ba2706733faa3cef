//! Checks of the reductions along an axis.
//!
//! Sums are checked on whole numbers, so that floats must be exact too and a value that was left out or
//! taken twice is always seen. The rounding of float sums is checked on fractions, against its bound.

use warpwright::ops::axis::{Axis, AxisOperator, AxisReducible};
use warpwright::{Device, MatrixView};

use super::{Case, Scale, Wrong, all_equal};
use crate::sample;

/// Heights and widths around the sides of tiles and chunks, unaligned ones, and none.
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

/// A type whose reductions are checked.
trait Sample: AxisReducible + Into<f64> {
    const NAME: &'static str;
    /// Half the distance from 1 to the next number; none for integers.
    const ROUNDING: Option<f64>;
    /// How many roundings an element of `len` passes at most.
    fn roundings(len: usize) -> usize;
    /// A whole number of which sums are exact.
    fn whole(hash: u64) -> Self;
    /// A number for comparisons; some come often, and floats may be NaN.
    fn any(hash: u64) -> Self;
    /// A number that orders values as the library does; the largest for a NaN.
    fn rank(self) -> i128;
    /// The nearest number to a fraction; integers cut it off.
    fn fraction(value: f64) -> Self;
    /// A sum of whole numbers.
    fn exact(sum: i128) -> Self::Sum;
    /// A sum as a float.
    fn real(sum: Self::Sum) -> f64;
}

macro_rules! integers {
    ($($type:ident),*) => {
        $(impl Sample for $type {
            const NAME: &'static str = stringify!($type);
            const ROUNDING: Option<f64> = None;

            fn roundings(_len: usize) -> usize {
                0
            }

            fn whole(hash: u64) -> Self {
                match hash % 16 {
                    0 => $type::MIN,
                    1 => $type::MAX,
                    _ => (hash >> 4) as $type,
                }
            }

            fn any(hash: u64) -> Self {
                Self::whole(hash)
            }

            fn rank(self) -> i128 {
                self.into()
            }

            fn fraction(value: f64) -> Self {
                value as Self
            }

            fn exact(sum: i128) -> Self::Sum {
                sum as Self::Sum
            }

            fn real(sum: Self::Sum) -> f64 {
                sum as f64
            }
        })*
    };
}
integers!(u8, u16, u32, i32);

macro_rules! floats {
    ($($type:ident: $roundings:expr;)*) => {
        $(impl Sample for $type {
            const NAME: &'static str = stringify!($type);
            const ROUNDING: Option<f64> = Some($type::EPSILON as f64 / 2.0);

            fn roundings(len: usize) -> usize {
                $roundings(len)
            }

            fn whole(hash: u64) -> Self {
                // Few enough that every sum is a number that f32 holds exactly.
                (hash % 9) as $type - 4.0
            }

            fn any(hash: u64) -> Self {
                match hash % 4096 {
                    0 => 0.0,
                    1 => -0.0,
                    2 => $type::INFINITY,
                    3 => $type::NEG_INFINITY,
                    4 => $type::NAN,
                    _ => ((hash >> 12) % 20_001) as $type / 100.0 - 100.0,
                }
            }

            fn rank(self) -> i128 {
                if self.is_nan() {
                    return i128::MAX;
                }
                // The order of IEEE 754's totalOrder, in which -0 lies below +0.
                let bits = f64::from(self).to_bits() as i64;
                i128::from(bits ^ (((bits >> 63) as u64) >> 1) as i64)
            }

            fn fraction(value: f64) -> Self {
                value as Self
            }

            fn exact(sum: i128) -> Self::Sum {
                sum as Self::Sum
            }

            fn real(sum: Self::Sum) -> f64 {
                sum.into()
            }
        })*
    };
}
floats! {
    f32: |_len| 258;
    f64: |len| len + 64;
}

pub(super) fn cases(axis: Axis, scale: Scale) -> Vec<Case> {
    let mut cases = Vec::new();
    of_type::<u8>(axis, scale, &mut cases);
    of_type::<u16>(axis, scale, &mut cases);
    of_type::<u32>(axis, scale, &mut cases);
    of_type::<i32>(axis, scale, &mut cases);
    of_type::<f32>(axis, scale, &mut cases);
    of_type::<f64>(axis, scale, &mut cases);
    cases
}

fn of_type<T: Sample>(axis: Axis, scale: Scale, cases: &mut Vec<Case>) {
    let mut shapes: Vec<_> = SHAPES.iter().map(|&(h, w)| (h, w, 0)).collect();
    // Rows of a larger matrix, whose first element is not aligned for wide loads.
    shapes.extend([(40, 131, 1), (1300, 7, 3)]);
    if scale == Scale::Large {
        shapes.extend(LARGE.iter().map(|&(h, w)| (h, w, 0)));
    }
    for (height, width, above) in shapes {
        let along = match axis {
            Axis::Columns => height,
            Axis::Rows => width,
        };
        for operator in AxisOperator::ALL {
            // No elements have a sum and nothing else.
            if along == 0 && operator != AxisOperator::Sum {
                continue;
            }
            let name = format!(
                "{} of {height} x {width} {} below {above} rows",
                operator.name(),
                T::NAME
            );
            cases.push(Case::new(name, move |device, variant| {
                let from_hash = match operator {
                    AxisOperator::Sum | AxisOperator::Mean => T::whole,
                    AxisOperator::Min | AxisOperator::Max => T::any,
                };
                let values = sample::values((height + above) * width, 12, from_hash);
                let matrix = device.upload_matrix(&values, height + above, width)?;
                let lines = lines(&values[above * width..], height, width, axis);
                let view = matrix.rows(above..)?;
                check(device, variant, operator, axis, view, &lines)
            }));
        }
        if T::ROUNDING.is_some() && along > 0 {
            let name = format!("rounding of the sum of {height} x {width} {}", T::NAME);
            cases.push(Case::new(name, move |device, variant| {
                rounding::<T>(device, variant, axis, (height, width))
            }));
        }
    }
}

/// The columns or the rows of a matrix.
fn lines<T: Copy>(values: &[T], height: usize, width: usize, axis: Axis) -> Vec<Vec<T>> {
    match axis {
        Axis::Columns => (0..width)
            .map(|column| {
                (0..height)
                    .map(|row| values[row * width + column])
                    .collect()
            })
            .collect(),
        Axis::Rows => (0..height)
            .map(|row| values[row * width..(row + 1) * width].to_vec())
            .collect(),
    }
}

fn check<T: Sample>(
    device: &Device,
    variant: &str,
    operator: AxisOperator,
    axis: Axis,
    matrix: MatrixView<'_, T>,
    lines: &[Vec<T>],
) -> Result<(), Wrong> {
    let request = device.reduce_axis(matrix, axis).variant(variant);
    // Whole numbers, so exact.
    let sum = |line: &Vec<T>| line.iter().map(|&value| value.into() as i128).sum::<i128>();
    let extreme = |found: Vec<T>, wanted: fn(&[T]) -> Option<i128>| {
        let found: Vec<_> = found.into_iter().map(|value| Some(value.rank())).collect();
        all_equal(
            &found,
            &lines.iter().map(|line| wanted(line)).collect::<Vec<_>>(),
        )
    };
    match operator {
        AxisOperator::Sum => {
            let expected: Vec<_> = lines
                .iter()
                .map(|line| T::real(T::exact(sum(line))))
                .collect();
            let found = request.sum()?.to_vec()?.into_iter().map(T::real);
            all_equal(&found.collect::<Vec<_>>(), &expected)
        }
        AxisOperator::Mean => {
            let mean = |line: &Vec<T>| sum(line) as f64 / line.len() as f64;
            let expected: Vec<_> = lines.iter().map(mean).collect();
            all_equal(&request.mean()?.to_vec()?, &expected)
        }
        AxisOperator::Min => extreme(request.min()?.to_vec()?, least),
        AxisOperator::Max => extreme(request.max()?.to_vec()?, greatest),
    }
}

/// The rank of the least element; a NaN wins.
fn least<T: Sample>(line: &[T]) -> Option<i128> {
    let ranks = || line.iter().map(|value| value.rank());
    if T::ROUNDING.is_some() && ranks().any(|rank| rank == i128::MAX) {
        return Some(i128::MAX);
    }
    ranks().min()
}

/// The rank of the greatest element; a NaN has the greatest of all.
fn greatest<T: Sample>(line: &[T]) -> Option<i128> {
    line.iter().map(|value| value.rank()).max()
}

/// Sums of fractions: the error is at most `steps * epsilon / 2 * sum(|x|)`, to first order.
fn rounding<T: Sample>(
    device: &Device,
    variant: &str,
    axis: Axis,
    (height, width): (usize, usize),
) -> Result<(), Wrong> {
    // Multiples of a power of two, of which a million add up without an error in f64.
    let fraction = |hash: u64| T::fraction((hash % 65_537) as f64 / 65_536.0 - 0.25);
    let values = sample::values(height * width, 13, fraction);
    let matrix = device.upload_matrix(&values, height, width)?;
    let request = device.reduce_axis(&matrix, axis).variant(variant);
    let found = request.sum()?.to_vec()?;
    let lines = lines(&values, height, width, axis);
    let Some(unit) = T::ROUNDING else {
        return Ok(());
    };
    for (i, (line, found)) in lines.iter().zip(found).enumerate() {
        let expected: f64 = line.iter().map(|&value| value.into()).sum();
        let size: f64 = line.iter().map(|&value| value.into().abs()).sum();
        let (found, bound) = (
            T::real(found),
            T::roundings(line.len()) as f64 * unit * size,
        );
        // A NaN fails this comparison.
        if (found - expected).abs() <= bound {
            continue;
        }
        return Err(Wrong::Result(format!(
            "at {i}: expected {expected} within {bound:e}, found {found}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let values = [1, 2, 3, 4, 5, 6];
        assert_eq!(
            lines(&values, 2, 3, Axis::Columns),
            [[1, 4], [2, 5], [3, 6]]
        );
        assert_eq!(lines(&values, 2, 3, Axis::Rows), [[1, 2, 3], [4, 5, 6]]);
        let zero = |value: f32| Some(value.rank());
        assert_eq!(least(&[0.0_f32, -0.0]), zero(-0.0));
        assert_eq!(greatest(&[-0.0_f32, 0.0]), zero(0.0));
        assert_ne!(zero(0.0), zero(-0.0));
        assert_eq!(least(&[1.0_f32, f32::NAN]), Some(i128::MAX));
        assert_eq!(greatest(&[1.0_f32, f32::NAN]), Some(i128::MAX));
        assert_eq!(least(&[3_u8, 200]), Some(3));
    }
}
