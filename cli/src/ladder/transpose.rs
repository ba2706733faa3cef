//! The ladder of the transpose: a square matrix of `f32`.

use rayon::prelude::*;
use warpwright::Result;
use warpwright::ops::transpose::PreparedTranspose;

use super::{Ladder, Ready, Run, copied, size};
use crate::sample;

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Ladder> {
    let elements = size(run.device, asked, 16_384 * 16_384, 1024 * 1024);
    let side = elements.isqrt().max(1);
    let device = run.device;
    // Whole numbers below 2^24, all exact in f32.
    let values = sample::values(side * side, 20, |hash| (hash >> 40) as f32);
    let matrix = device.upload_matrix(&values, side, side)?;
    let copied = copied(device, &values)?;
    let bytes = 2 * (side * side * size_of::<f32>()) as u64;
    run.all(
        "transpose",
        format!("{side} x {side} f32"),
        bytes,
        &copied,
        |variant| {
            let prepared = device
                .transpose_request(&matrix)
                .variant(variant)
                .prepare()?;
            Ok(Box::new(Rung {
                prepared,
                values: &values,
                side,
            }))
        },
    )
}

struct Rung<'a> {
    prepared: PreparedTranspose<'a, f32>,
    values: &'a [f32],
    side: usize,
}

impl Ready for Rung<'_> {
    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let (found, side) = (self.prepared.output()?.to_vec()?, self.side);
        let wrong = found.par_iter().enumerate().find_first(|(index, value)| {
            **value != self.values[index % side * side + index / side]
        });
        Ok(match wrong {
            None if found.len() == self.values.len() => Ok(()),
            None => Err(format!(
                "expected {} elements, found {}",
                self.values.len(),
                found.len()
            )),
            Some((index, value)) => Err(format!(
                "at row {} column {}: expected {}, found {value}",
                index / side,
                index % side,
                self.values[index % side * side + index / side]
            )),
        })
    }
}
