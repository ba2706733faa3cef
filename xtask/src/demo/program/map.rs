//! Functions of every pixel.

use warpwright::cuda_std::{float::accurate, map::MapFn};
use warpwright::ops::map::{Function, Sin, Sqrt, Tanh, Wave};
use warpwright::{Device, Family, Vector};

use crate::{Picture, Result, Table, Timed, row, timed};

/// Runs every variant for the sine of the pixels, and the best one for other functions.
pub fn run(device: &Device, image: &Picture, family: &Family) -> Result<Table> {
    let angles: Vec<f32> = image.pixels.iter().map(|pixel| f32::from(*pixel)).collect();
    let expected: Vec<f32> = angles.iter().map(|angle| accurate::sin(*angle)).collect();
    let vector = device.upload(&angles)?;
    let bytes = 2 * size_of_val(&*angles) as u64;
    let mut rows = Vec::new();
    for variant in family.variants {
        let result = one(device, &vector, variant.name, &expected);
        rows.push(row(variant.name, bytes, result)?);
    }
    let len = angles.len();
    let wave = device.map_positions(len, Wave)?.to_vec()?;
    // cos(a)^2 + sin(a)^2 is 1.
    let crest =
        |i: usize| 1.0 - ((i as f64 - (len / 2) as f64) * std::f64::consts::PI / len as f64).cos();
    let values = vec![
        ("sin", ulps(device, &vector, &angles, Sin, f64::sin)?),
        ("tanh", ulps(device, &vector, &angles, Tanh, f64::tanh)?),
        ("sqrt", ulps(device, &vector, &angles, Sqrt, f64::sqrt)?),
        ("wave", largest(&wave, crest, |_| 1.0, 1e-6, "")),
    ];
    Ok(Table {
        title: format!("sin of {len} pixels as f32, and other functions"),
        rows,
        values,
    })
}

fn one(
    device: &Device,
    vector: &Vector<f32>,
    variant: &str,
    expected: &[f32],
) -> warpwright::Result<Timed> {
    let mut prepared = device.map_request(vector, Sin).variant(variant).prepare()?;
    let time = timed(device, || prepared.enqueue())?;
    let found = prepared.output()?.to_vec()?;
    let differs = found
        .iter()
        .zip(expected)
        .position(|(found, expected)| found.to_bits() != expected.to_bits());
    Ok((
        time,
        match differs {
            None if found.len() == expected.len() => Ok(()),
            None => Err(format!(
                "expected {} elements, found {}",
                expected.len(),
                found.len()
            )),
            Some(at) => Err(format!(
                "at {at}: expected {:e}, found {:e}",
                expected[at], found[at]
            )),
        },
    ))
}

/// What is shown of a function: its largest error, or what is wrong.
type Shown = std::result::Result<String, String>;

/// The largest error against `f64` in units in the last place, of which there may be 1.
fn ulps<F: Function>(
    device: &Device,
    vector: &Vector<f32>,
    values: &[f32],
    function: F,
    exact: fn(f64) -> f64,
) -> Result<Shown>
where
    F::Map: MapFn<In = f32, Out = f32>,
{
    let found = device.map(vector, function)?.to_vec()?;
    let unit =
        |exact: f64| (exact.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() - 23.0).exp2();
    Ok(largest(
        &found,
        |i| exact(f64::from(values[i])),
        unit,
        1.0,
        " ulp",
    ))
}

/// The largest error, counted in the unit that belongs to the exact result.
fn largest(
    found: &[f32],
    exact: impl Fn(usize) -> f64,
    unit: impl Fn(f64) -> f64,
    bound: f64,
    name: &str,
) -> Shown {
    let mut most = 0.0;
    for (i, found) in found.iter().enumerate() {
        let exact = exact(i);
        let error = (f64::from(*found) - exact).abs() / unit(exact);
        if error.is_nan() || error > bound {
            return Err(format!("at {i}: expected {exact:e}, found {found:e}"));
        }
        most = error.max(most);
    }
    Ok(format!("at most {most:.2e}{name} off"))
}
