//! Sum, least, greatest and mean of the pixels.

use warpwright::ops::reduce::{Operator, Value};
use warpwright::{Device, Family, Vector};

use crate::{Picture, Result, Table, Timed, compare, row, timed};

/// Runs every variant for the sum, and the best one for the other operations.
pub fn run(device: &Device, image: &Picture, family: &Family) -> Result<Table> {
    let pixels = &image.pixels;
    let expected: u64 = pixels.iter().map(|pixel| u64::from(*pixel)).sum();
    let vector = device.upload(pixels)?;
    let bytes = pixels.len() as u64;
    let mut rows = Vec::new();
    for variant in family.variants {
        let result = one(device, &vector, variant.name, expected);
        rows.push(row(variant.name, bytes, result)?);
    }

    let least = pixels.iter().min().copied();
    let greatest = pixels.iter().max().copied();
    let first = |value: Option<u8>| {
        pixels
            .iter()
            .position(|pixel| Some(*pixel) == value)
            .map(|position| position as u64)
    };
    // The sum is exact in f64.
    let mean = (!pixels.is_empty()).then(|| expected as f64 / pixels.len() as f64);
    let values = vec![
        ("sum", value(device.sum(&vector)?, expected)),
        ("least", optional(device.min(&vector)?, least)),
        ("greatest", optional(device.max(&vector)?, greatest)),
        (
            "first of the least",
            optional(device.argmin(&vector)?, first(least)),
        ),
        (
            "first of the greatest",
            optional(device.argmax(&vector)?, first(greatest)),
        ),
        ("mean", optional(device.mean(&vector)?, mean)),
    ];
    let title = format!("sum of {} u8, and other reductions", pixels.len());
    Ok(Table {
        title,
        rows,
        values,
    })
}

fn one(
    device: &Device,
    vector: &Vector<u8>,
    variant: &str,
    expected: u64,
) -> warpwright::Result<Timed> {
    let mut prepared = device
        .reduce(vector)
        .variant(variant)
        .prepare(Operator::Sum)?;
    let time = timed(device, || prepared.enqueue())?;
    Ok((
        time,
        compare("sum", prepared.finish()?, Some(Value::Sum(expected))),
    ))
}

fn value<T: PartialEq + std::fmt::Debug + std::fmt::Display + Copy>(
    found: T,
    expected: T,
) -> std::result::Result<String, String> {
    compare("result", found, expected).map(|()| found.to_string())
}

fn optional<T: PartialEq + std::fmt::Debug + std::fmt::Display + Copy>(
    found: Option<T>,
    expected: Option<T>,
) -> std::result::Result<String, String> {
    compare("result", found, expected)
        .map(|()| found.map_or_else(|| "none".to_owned(), |value| value.to_string()))
}
