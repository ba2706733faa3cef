//! The picture with rows and columns exchanged.

use std::path::Path;

use warpwright::{Device, Family, Matrix};

use crate::{Picture, Result, Table, Timed, picture, row, timed};

/// The file that it writes.
pub const FILE: &str = "transposed.png";

/// Runs every variant, and writes the result of the last, `best`.
pub fn run(device: &Device, image: &Picture, family: &Family, out: &Path) -> Result<Table> {
    let (width, height) = (image.width, image.height);
    let mut expected = vec![0; image.pixels.len()];
    for (y, line) in image.pixels.chunks(width.max(1)).enumerate() {
        for (x, pixel) in line.iter().enumerate() {
            expected[x * height + y] = *pixel;
        }
    }
    let matrix = device.upload_matrix(&image.pixels, height, width)?;
    let bytes = 2 * image.pixels.len() as u64;
    let mut rows = Vec::new();
    let mut last = Vec::new();
    for variant in family.variants {
        let result = one(device, &matrix, variant.name, &expected, &mut last);
        rows.push(row(variant.name, bytes, result)?);
    }
    picture::save(&out.join(FILE), &last, height, width)?;
    Ok(Table {
        title: format!("transpose of {} u8", image.size()),
        rows,
        values: Vec::new(),
    })
}

fn one(
    device: &Device,
    matrix: &Matrix<u8>,
    variant: &str,
    expected: &[u8],
    last: &mut Vec<u8>,
) -> warpwright::Result<Timed> {
    let mut prepared = device
        .transpose_request(matrix)
        .variant(variant)
        .prepare()?;
    let time = timed(device, || prepared.enqueue())?;
    *last = prepared.output()?.to_vec()?;
    Ok((time, picture::compare(last, expected)))
}
