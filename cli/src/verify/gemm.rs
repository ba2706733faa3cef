//! Checks of the matrix product: whole numbers exactly, others within the bound of their roundings.

use warpwright::ops::gemm::GemmElement;
use warpwright::{Device, Matrix};

use super::{Case, Scale, Wrong, all_equal};
use crate::sample;

/// Rows of A, columns of B, and what they share: none, one, around the sides of tiles, and as many large tiles as the
/// largest devices have multiprocessors, which are not cut smaller.
const SHAPES: [[usize; 3]; 11] = [
    [0, 3, 4],
    [3, 0, 4],
    [3, 4, 0],
    [1, 1, 1],
    [31, 33, 32],
    [128, 128, 24],
    [127, 129, 7],
    [130, 257, 37],
    [1, 131, 67],
    [19_072, 1, 5],
    [128, 19_072, 16],
];

/// Shapes for a GPU.
const LARGE: [[usize; 3]; 4] = [
    [512, 512, 512],
    [1021, 515, 259],
    [3, 7, 100_003],
    [2304, 140, 40],
];

/// An element type, as the oracle sees it.
trait Real: GemmElement + PartialEq + std::fmt::Debug + Into<f64> {
    /// The largest relative error of one rounding.
    const ROUNDING: f64;
    fn from_f64(value: f64) -> Self;
}

impl Real for f32 {
    const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    const ROUNDING: f64 = f64::EPSILON / 2.0;
    fn from_f64(value: f64) -> Self {
        value
    }
}

pub(super) fn cases(scale: Scale) -> Vec<Case> {
    let mut cases = Vec::new();
    elements::<f32>("f32", scale, &mut cases);
    elements::<f64>("f64", scale, &mut cases);
    cases
}

fn elements<T: Real>(name: &str, scale: Scale, cases: &mut Vec<Case>) {
    let mut shapes = SHAPES.to_vec();
    if scale == Scale::Large {
        shapes.extend(LARGE);
    }
    for (index, shape) in shapes.into_iter().enumerate() {
        let transposed = [index % 2 == 1, index / 2 % 2 == 1];
        let [m, n, k] = shape;
        let what = format!("{m} x {k} times {k} x {n} {name}, transposed {transposed:?}");
        cases.push(Case::new(what, move |device, variant| {
            whole_numbers::<T>(device, variant, shape, transposed)
        }));
    }
    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
        let what = format!("rectangles and factors of {name}, transposed {transposed:?}");
        cases.push(Case::new(what, move |device, variant| {
            rectangles::<T>(device, variant, transposed)
        }));
    }
}

/// The element (row, column) of a matrix, or of its transpose.
fn at<T: Copy>(values: &[T], width: usize, [row, column]: [usize; 2], transposed: bool) -> T {
    if transposed {
        values[column * width + row]
    } else {
        values[row * width + column]
    }
}

fn sides([height, width]: [usize; 2], transposed: bool) -> [usize; 2] {
    if transposed {
        [width, height]
    } else {
        [height, width]
    }
}

fn whole_numbers<T: Real>(
    device: &Device,
    variant: &str,
    [m, n, k]: [usize; 3],
    transposed: [bool; 2],
) -> Result<(), Wrong> {
    let numbers =
        |len, stream| sample::values(len, stream, |hash| T::from_f64((hash % 15) as f64 - 7.0));
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let ([rows_a, width_a], [rows_b, width_b]) =
        (sides([m, k], transposed[0]), sides([k, n], transposed[1]));
    let left = device.upload_matrix(&a, rows_a, width_a)?;
    let right = device.upload_matrix(&b, rows_b, width_b)?;
    let mut request = device.gemm(&left, &right).variant(variant);
    if transposed[0] {
        request = request.transpose_a();
    }
    if transposed[1] {
        request = request.transpose_b();
    }
    let found = request.run()?.to_vec()?;
    let integers = |values: &[T]| -> Vec<i64> {
        let integer = |value: &T| -> i64 { Into::<f64>::into(*value) as i64 };
        values.iter().map(integer).collect()
    };
    let (a, b) = (integers(&a), integers(&b));
    let mut expected = Vec::with_capacity(m * n);
    for row in 0..m {
        let mut sums = vec![0; n];
        for k in 0..k {
            let factor = at(&a, width_a, [row, k], transposed[0]);
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum += factor * at(&b, width_b, [k, column], transposed[1]);
            }
        }
        expected.extend(sums.into_iter().map(|sum| T::from_f64(sum as f64)));
    }
    all_equal(&found, &expected)
}

/// A product of rectangles that are not aligned, added to a rectangle with factors.
fn rectangles<T: Real>(device: &Device, variant: &str, transposed: [bool; 2]) -> Result<(), Wrong> {
    let ([m, n, k], [alpha, beta]) = ([133, 130, 45], [0.75, -1.5]);
    let ([rows_a, width_a], [rows_b, width_b]) =
        (sides([m, k], transposed[0]), sides([k, n], transposed[1]));
    let around = |height: usize, width: usize, stream| {
        let values = sample::values((height + 2) * (width + 5), stream, |hash| {
            T::from_f64((hash >> 40) as f64 / (1 << 23) as f64 - 1.0)
        });
        let matrix = device.upload_matrix(&values, height + 2, width + 5);
        matrix.map(|matrix| (values, matrix))
    };
    let (a, left) = around(rows_a, width_a, 3)?;
    let (b, right) = around(rows_b, width_b, 4)?;
    let (c, mut sum): (Vec<T>, Matrix<T>) = around(m, n, 5)?;
    let mut request = device
        .gemm(
            left.rect(2.., 3..width_a + 3)?,
            right.rect(2.., 3..width_b + 3)?,
        )
        .alpha(T::from_f64(alpha))
        .variant(variant);
    if transposed[0] {
        request = request.transpose_a();
    }
    if transposed[1] {
        request = request.transpose_b();
    }
    let target = sum.rect_mut(2.., 3..n + 3)?;
    request.beta_c(T::from_f64(beta), target).run()?;
    let found = sum.to_vec()?;
    let inner = |values: &[T], width: usize, place: [usize; 2], transposed| -> f64 {
        let inner = &values[2 * (width + 5) + 3..];
        at(inner, width + 5, place, transposed).into()
    };
    for (index, (found, old)) in found.iter().zip(&c).enumerate() {
        let (row, column) = (index / (n + 5), index % (n + 5));
        if row < 2 || !(3..n + 3).contains(&column) {
            if found != old {
                return Err(Wrong::Result(format!(
                    "outside of C at {index}: expected {old:?}, found {found:?}"
                )));
            }
            continue;
        }
        let (row, column) = (row - 2, column - 3);
        // Kahan's summation (1965) of products that come with their own errors.
        let (mut total, mut lost, mut magnitude) = (0.0_f64, 0.0_f64, 0.0_f64);
        for k in 0..k {
            let x = inner(&a, width_a, [row, k], transposed[0]);
            let y = inner(&b, width_b, [k, column], transposed[1]);
            let product = x * y;
            magnitude += product.abs();
            for term in [product, x.mul_add(y, -product)] {
                let term = term - lost;
                let next = total + term;
                lost = (next - total) - term;
                total = next;
            }
        }
        let old: f64 = (*old).into();
        let expected = alpha.mul_add(total, beta * old);
        let magnitude = alpha.abs() * magnitude + (beta * old).abs();
        // The roundings of the sum and of the two factors, and those of the oracle.
        let bound = ((k + 4) as f64 * T::ROUNDING + 2.0 * f64::EPSILON) * magnitude;
        let error = (Into::<f64>::into(*found) - expected).abs();
        // A NaN is an error too.
        let is_near = error <= bound;
        if !is_near {
            return Err(Wrong::Result(format!(
                "at row {row} column {column}: expected {expected:e} within {bound:e}, found {found:?}"
            )));
        }
    }
    Ok(())
}
