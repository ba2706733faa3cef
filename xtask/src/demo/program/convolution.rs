//! The picture blurred along its rows.

use std::path::Path;

use warpwright::{Boundary, Device, Family, Matrix};
use warpwright_workloads::convolution::convolved;

use crate::{Picture, Result, Table, Timed, picture, row, timed};

/// The file that it writes.
pub const FILE: &str = "blurred.png";

/// Runs every variant, and writes the result of the last, `best`.
pub fn run(device: &Device, image: &Picture, family: &Family, out: &Path) -> Result<Table> {
    let (width, height) = (image.width, image.height);
    // A bell of odd width, about a hundredth of the picture's, whose weights add up to 1.
    let half = (width / 200).clamp(1, 100) as i32;
    let bell = |x: i32| (-4.0 * f64::from(x * x) / f64::from(half * half)).exp();
    let total: f64 = (-half..=half).map(bell).sum();
    let mask: Vec<f32> = (-half..=half).map(|x| (bell(x) / total) as f32).collect();

    let expected = convolved(&image.pixels, width, &mask, Boundary::Clamp);
    let matrix = device.upload_matrix(&image.pixels, height, width)?;
    let bytes = 2 * image.pixels.len() as u64;
    let mut rows = Vec::new();
    let mut last = Vec::new();
    for variant in family.variants {
        let result = one(device, &matrix, &mask, variant.name, &expected, &mut last);
        rows.push(row(variant.name, bytes, result)?);
    }
    picture::save(&out.join(FILE), &last, width, height)?;
    Ok(Table {
        title: format!(
            "convolution of the rows of {} u8 with a mask of {}",
            image.size(),
            mask.len()
        ),
        rows,
        values: Vec::new(),
    })
}

fn one(
    device: &Device,
    matrix: &Matrix<u8>,
    mask: &[f32],
    variant: &str,
    expected: &[u8],
    last: &mut Vec<u8>,
) -> warpwright::Result<Timed> {
    let mut prepared = device
        .convolve_rows_request(matrix, mask)
        .boundary(Boundary::Clamp)
        .variant(variant)
        .prepare()?;
    let time = timed(device, || prepared.enqueue())?;
    *last = prepared.output()?.to_vec()?;
    Ok((time, picture::compare(last, expected)))
}
