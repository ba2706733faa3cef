//! The ladder of the maps: the sine of `f32`.

use rayon::prelude::*;
use warpwright::Result;
use warpwright::cuda_std::float::accurate;
use warpwright::ops::map::{PreparedMap, Sin};

use super::{Ladder, Ready, Run, copied, size};
use crate::sample;

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Ladder> {
    let elements = size(run.device, asked, 1 << 28, 1 << 20);
    let device = run.device;
    // From -1000 to 1000.
    let values = sample::values(elements, 40, |hash| {
        (hash as i32) as f32 * (1000.0 / (1u32 << 31) as f32)
    });
    let vector = device.upload(&values)?;
    let copied = copied(device, &values)?;
    let bytes = 2 * (elements * size_of::<f32>()) as u64;
    run.all(
        "map",
        format!("sin of {elements} f32"),
        bytes,
        &copied,
        |variant| {
            let prepared = device
                .map_request(&vector, Sin)
                .variant(variant)
                .prepare()?;
            Ok(Box::new(Rung {
                prepared,
                values: &values,
            }))
        },
    )
}

struct Rung<'a> {
    prepared: PreparedMap<'a, Sin>,
    values: &'a [f32],
}

impl Ready for Rung<'_> {
    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = self.prepared.output().to_vec()?;
        // The bits are the same on every device; `warpwright ulp` has the error of the function.
        let wrong = |(i, value): &(usize, &f32)| {
            value.to_bits() != accurate::sin(self.values[*i]).to_bits()
        };
        Ok(match found.par_iter().enumerate().find_first(wrong) {
            None if found.len() == self.values.len() => Ok(()),
            None => Err(format!(
                "expected {} elements, found {}",
                self.values.len(),
                found.len()
            )),
            Some((i, value)) => Err(format!(
                "at {i}: expected {:e}, found {value:e}",
                accurate::sin(self.values[i])
            )),
        })
    }
}
