//! The ladders of the maps: the sine of `f32`, and the wave, which reads nothing.

use rayon::prelude::*;
use warpwright::Result;
use warpwright::cuda_std::float::accurate;
use warpwright::cuda_std::map::MapFn;
use warpwright::ops::map::{Function, PreparedMap, Sin, Wave};

use super::{Ladder, Ready, Run, copied, size};
use crate::sample;
use crate::verify::wave;

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Vec<Ladder>> {
    let elements = size(run.device, asked, 1 << 28, 1 << 20);
    let device = run.device;
    // From -1000 to 1000.
    let angle = |hash: u64| (hash as i32) as f32 * (1000.0 / (1u32 << 31) as f32);
    let values = sample::values(elements, 40, angle);
    let vector = device.upload(&values)?;
    let copied = copied(device, &values)?;
    let written = (elements * size_of::<f32>()) as u64;

    // The bits are the same on every device; `warpwright ulp` has the error of the function.
    let right = |i: usize, found: f32| found.to_bits() == accurate::sin(values[i]).to_bits();
    let problem = format!("sin of {elements} f32");
    let sines = run.all("map", problem, 2 * written, &copied, |variant| {
        let request = device.map_request(&vector, Sin).variant(variant);
        rung(request.prepare()?, elements, &right)
    })?;

    let right = |i: usize, found: f32| (f64::from(found) - wave(i, elements)).abs() <= 1e-6;
    let problem = format!("wave of {elements} f32, which are only written");
    let waves = run.all("map", problem, written, &copied, |variant| {
        let request = device
            .map_positions_request(elements, Wave)
            .variant(variant);
        rung(request.prepare()?, elements, &right)
    })?;
    Ok(vec![sines, waves])
}

/// Whether a result at a position is right.
type Right<'a> = &'a (dyn Fn(usize, f32) -> bool + Sync);

struct Rung<'a, F: Function> {
    prepared: PreparedMap<'a, F>,
    elements: usize,
    right: Right<'a>,
}

fn rung<'a, F: Function + 'a>(
    prepared: PreparedMap<'a, F>,
    elements: usize,
    right: Right<'a>,
) -> Result<Box<dyn Ready + 'a>>
where
    F::Map: MapFn<Out = f32>,
{
    Ok(Box::new(Rung {
        prepared,
        elements,
        right,
    }))
}

impl<F: Function> Ready for Rung<'_, F>
where
    F::Map: MapFn<Out = f32>,
{
    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = self.prepared.output()?.to_vec()?;
        if found.len() != self.elements {
            return Ok(Err(format!(
                "expected {} elements, found {}",
                self.elements,
                found.len()
            )));
        }
        let all = found.par_iter().enumerate();
        let wrong = all.find_first(|(i, found)| !(self.right)(*i, **found));
        Ok(wrong.map_or(Ok(()), |(i, found)| Err(format!("at {i}: found {found:e}"))))
    }
}
