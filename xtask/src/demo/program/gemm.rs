//! A part of the picture, smoothed by a matrix product.

use std::path::Path;

use warpwright::{Device, DeviceKind, Family, Matrix, MatrixRect};

use crate::{Picture, Result, Table, Timed, picture, row, timed};

/// The file that it writes.
pub const FILE: &str = "smoothed.png";

/// The part's longest side. The CPU executor runs lane by lane, so its part is smaller.
const MOST: (usize, usize) = (256, 4096);

/// Runs every variant on the picture's middle, and writes the result of the last, `best`.
///
/// The matrix that is multiplied with has the weights 1/4, 1/2, 1/4 around its diagonal, so that every pixel
/// becomes a mean of its neighbours in the row. All of it is exact in `f32`.
pub fn run(device: &Device, image: &Picture, family: &Family, out: &Path) -> Result<Table> {
    let most = if device.kind() == DeviceKind::Cpu {
        MOST.0
    } else {
        MOST.1
    };
    let (width, height) = (image.width.min(most), image.height.min(most));
    let (left, top) = ((image.width - width) / 2, (image.height - height) / 2);
    let pixel = |x: usize, y: usize| f32::from(image.pixels[(top + y) * image.width + left + x]);
    let mut expected = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let before = if x > 0 { pixel(x - 1, y) } else { 0.0 };
            let after = if x + 1 < width { pixel(x + 1, y) } else { 0.0 };
            expected.push(before / 4.0 + pixel(x, y) / 2.0 + after / 4.0);
        }
    }
    let pixels: Vec<f32> = image.pixels.iter().map(|pixel| f32::from(*pixel)).collect();
    let pixels = device.upload_matrix(&pixels, image.height, image.width)?;
    let part = pixels.rect(top..top + height, left..left + width)?;
    let mut weights = vec![0.0; width * width];
    for x in 0..width {
        for (neighbour, weight) in [(x.wrapping_sub(1), 0.25), (x, 0.5), (x + 1, 0.25)] {
            if neighbour < width {
                weights[neighbour * width + x] = weight;
            }
        }
    }
    let weights = device.upload_matrix(&weights, width, width)?;
    let bytes = 4 * (2 * width * height + width * width) as u64;
    let mut rows = Vec::new();
    let mut last = Vec::new();
    for variant in family.variants {
        let result = one(device, part, &weights, variant.name, &expected, &mut last);
        rows.push(row(variant.name, bytes, result)?);
    }
    let smoothed: Vec<u8> = last.iter().map(|value| *value as u8).collect();
    picture::save(&out.join(FILE), &smoothed, width, height)?;
    Ok(Table {
        title: format!("product of {height} x {width} and {width} x {width} f32"),
        rows,
        values: Vec::new(),
    })
}

fn one(
    device: &Device,
    part: MatrixRect<'_, f32>,
    weights: &Matrix<f32>,
    variant: &str,
    expected: &[f32],
    last: &mut Vec<f32>,
) -> warpwright::Result<Timed> {
    let mut prepared = device.gemm(part, weights).variant(variant).prepare()?;
    let time = timed(device, || prepared.enqueue())?;
    *last = prepared.output()?.to_vec()?;
    let differs = last
        .iter()
        .zip(expected)
        .position(|(found, expected)| found != expected);
    Ok((
        time,
        match differs {
            None if last.len() == expected.len() => Ok(()),
            None => Err(format!(
                "expected {} pixels, found {}",
                expected.len(),
                last.len()
            )),
            Some(at) => Err(format!(
                "at {at}: expected {}, found {}",
                expected[at], last[at]
            )),
        },
    ))
}
