//! How often each grey value comes.

use std::path::Path;

use warpwright::{Device, Family, Histogram, Vector};
use warpwright_cli::output::Target;
use warpwright_cli::plot::HistogramPlot;

use crate::{Picture, Result, Table, Timed, compare, row, timed};

/// The file that it writes.
pub const FILE: &str = "histogram.svg";

/// Runs every variant, and draws the result of the best.
pub fn run(device: &Device, image: &Picture, family: &Family, out: &Path) -> Result<Table> {
    let mut expected = vec![0_u64; 256];
    for pixel in &image.pixels {
        expected[usize::from(*pixel)] += 1;
    }
    let vector = device.upload(&image.pixels)?;
    let bytes = image.pixels.len() as u64;
    let mut rows = Vec::new();
    for variant in family.variants {
        let result = one(device, &vector, variant.name, &expected);
        rows.push(row(variant.name, bytes, result)?);
    }
    let found = device.histogram(&vector, 256)?;
    let plot = HistogramPlot {
        title: "Grey values of the picture",
        counts: &found.counts,
        outside: found.outside,
        range: None,
    };
    Target::plot(&out.join(FILE))?
        .stage_text(&plot.svg())?
        .commit()?;
    let title = format!("histogram of {} u8 in 256 bins", image.pixels.len());
    Ok(Table {
        title,
        rows,
        values: vec![("best, as drawn", drawn(&found, &expected))],
    })
}

fn drawn(found: &Histogram, expected: &[u64]) -> std::result::Result<String, String> {
    check(found, expected)?;
    let used = expected.iter().filter(|count| **count > 0).count();
    Ok(format!("{used} of 256 grey values occur"))
}

fn one(
    device: &Device,
    vector: &Vector<u8>,
    variant: &str,
    expected: &[u64],
) -> warpwright::Result<Timed> {
    let mut prepared = device
        .histogram_request(vector, 256)
        .variant(variant)
        .prepare()?;
    let time = timed(device, || prepared.enqueue())?;
    Ok((time, check(&prepared.finish()?, expected)))
}

fn check(found: &Histogram, expected: &[u64]) -> std::result::Result<(), String> {
    compare("bins", found.counts.len(), expected.len())?;
    for (bin, (found, expected)) in found.counts.iter().zip(expected).enumerate() {
        compare(&format!("bin {bin}"), found, expected)?;
    }
    compare("values outside", found.outside, 0)
}
