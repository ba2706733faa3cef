//! As many random numbers as the picture has pixels.

use std::path::Path;

use warpwright::{Device, Family, Generator};
use warpwright_cli::output::Target;
use warpwright_cli::plot::HistogramPlot;

use crate::{Picture, Result, Table, Timed, compare, row, timed};

/// The file that it writes.
pub const FILE: &str = "normal.svg";
/// The seed of all numbers here.
const SEED: u64 = 2026;

/// Runs every variant, makes numbers of each distribution, and draws the normal ones.
pub fn run(device: &Device, image: &Picture, family: &Family, out: &Path) -> Result<Table> {
    let len = image.pixels.len();
    let bytes = 4 * len as u64;
    let mut rows = Vec::new();
    for variant in family.variants {
        rows.push(row(variant.name, bytes, one(device, variant.name, len))?);
    }
    let mut random = device.generator(Generator::Xorwow, SEED)?;
    let normal = random.normal(len, 0.0_f32, 1.0)?;
    let values = vec![
        ("mean of normal", near(device.mean(&normal)?, 0.0, 1.0, len)),
        ("mean of log-normal", {
            let (mean, deviation) = (0.125_f64.exp(), (0.25_f64.exp() * 0.25_f64.exp_m1()).sqrt());
            let found = device.mean(&random.log_normal(len, 0.0_f64, 0.5)?)?;
            near(found, mean, deviation, len)
        }),
        ("mean of Poisson", {
            let found = device.mean(&random.poisson(len, 7.5)?)?;
            near(found, 7.5, 7.5_f64.sqrt(), len)
        }),
    ];
    let histogram = device.histogram_range(&normal, 256, -5.0, 5.0)?;
    let plot = HistogramPlot {
        title: "Normal random numbers",
        counts: &histogram.counts,
        outside: histogram.outside,
        range: Some((-5.0, 5.0)),
    };
    Target::plot(&out.join(FILE))?
        .stage_text(&plot.svg())?
        .commit()?;
    Ok(Table {
        title: format!("{len} uniform f32 by Philox, and other distributions by XORWOW"),
        rows,
        values,
    })
}

fn one(device: &Device, variant: &str, len: usize) -> warpwright::Result<Timed> {
    let mut output = device.zeros::<f32>(len)?;
    let time = timed(device, || {
        let random = device.generator(Generator::Philox, SEED)?;
        random.variant(variant).fill_uniform(output.view_mut())
    })?;
    Ok((time, check(&output.to_vec()?)))
}

/// Against Philox4x32-10 as its paper has it.
fn check(found: &[f32]) -> std::result::Result<(), String> {
    for (block, found) in found.chunks(4).enumerate() {
        let words = philox(block as u64, SEED);
        for (i, (found, word)) in found.iter().zip(words).enumerate() {
            let expected = (f64::from(word as f32) + 0.5) / 4_294_967_296.0;
            compare(
                &format!("number {}", 4 * block + i),
                *found,
                expected as f32,
            )?;
        }
    }
    Ok(())
}

fn philox(block: u64, key: u64) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = [block as u32, (block >> 32) as u32, 0, 0];
    let [mut k, mut l] = [key as u32, (key >> 32) as u32];
    for _ in 0..10 {
        let (first, second) = (u64::from(a) * 0xd251_1f53, u64::from(c) * 0xcd9e_8d57);
        (a, b) = ((second >> 32) as u32 ^ b ^ k, second as u32);
        (c, d) = ((first >> 32) as u32 ^ d ^ l, first as u32);
        (k, l) = (k.wrapping_add(0x9e37_79b9), l.wrapping_add(0xbb67_ae85));
    }
    [a, b, c, d]
}

/// A mean within five standard deviations of what it should be.
fn near(
    found: Option<f64>,
    mean: f64,
    deviation: f64,
    len: usize,
) -> std::result::Result<String, String> {
    let Some(found) = found else {
        return compare("numbers", len, 0).map(|()| "none".to_owned());
    };
    let bound = 5.0 * deviation / (len as f64).sqrt();
    if (found - mean).abs() <= bound {
        Ok(format!("{found:.6}, expected {mean:.6} within {bound:.6}"))
    } else {
        Err(format!("expected {mean} within {bound}, found {found}"))
    }
}
