//! The sum, least, greatest and mean of each column, or of each row, of the pixels.

use warpwright::ops::axis::Axis;
use warpwright::{Device, Element, Family, Matrix, Vector};

use crate::{Picture, Result, Table, Timed, compare, row, timed};

/// Runs every variant for the sums, and the best one for the other operations.
pub fn run(device: &Device, image: &Picture, family: &Family, axis: Axis) -> Result<Table> {
    let (width, height) = (image.width, image.height);
    let (results, along) = match axis {
        Axis::Columns => (width, height),
        Axis::Rows => (height, width),
    };
    let (mut sums, mut least, mut greatest) =
        (vec![0_u64; results], vec![255; results], vec![0; results]);
    for (y, line) in image.pixels.chunks(width.max(1)).enumerate() {
        for (x, pixel) in line.iter().enumerate() {
            let at = match axis {
                Axis::Columns => x,
                Axis::Rows => y,
            };
            sums[at] += u64::from(*pixel);
            least[at] = (*pixel).min(least[at]);
            greatest[at] = (*pixel).max(greatest[at]);
        }
    }
    // The sums are exact in f64.
    let means: Vec<f64> = sums.iter().map(|sum| *sum as f64 / along as f64).collect();
    let matrix = device.upload_matrix(&image.pixels, height, width)?;
    let bytes = image.pixels.len() as u64;
    let mut rows = Vec::new();
    for variant in family.variants {
        let result = one(device, &matrix, axis, variant.name, &sums);
        rows.push(row(variant.name, bytes, result)?);
    }
    let request = || device.reduce_axis(&matrix, axis);
    let mut values = Vec::new();
    // A picture without pixels has none of them.
    if along > 0 {
        values.push(("least", all(&request().min()?, &least)?));
        values.push(("greatest", all(&request().max()?, &greatest)?));
        values.push(("mean", all(&request().mean()?, &means)?));
    }
    Ok(Table {
        title: format!("sum of each of the {} of {} u8", family.name, image.size()),
        rows,
        values,
    })
}

fn one(
    device: &Device,
    matrix: &Matrix<u8>,
    axis: Axis,
    variant: &str,
    expected: &[u64],
) -> warpwright::Result<Timed> {
    let request = device.reduce_axis(matrix, axis).variant(variant);
    let mut prepared = request.prepare_sum()?;
    let time = timed(device, || prepared.enqueue())?;
    Ok((time, same(&prepared.output()?.to_vec()?, expected)))
}

/// How many results there are, all right, or what is wrong with the first wrong one.
fn all<T: Element + PartialEq + std::fmt::Debug>(
    found: &Vector<T>,
    expected: &[T],
) -> Result<std::result::Result<String, String>> {
    let found = found.to_vec()?;
    Ok(same(&found, expected).map(|()| format!("{} results", found.len())))
}

fn same<T: PartialEq + std::fmt::Debug>(
    found: &[T],
    expected: &[T],
) -> std::result::Result<(), String> {
    compare("results", found.len(), expected.len())?;
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        compare(&format!("at {at}"), found, expected)?;
    }
    Ok(())
}
