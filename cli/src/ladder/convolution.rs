//! The ladders of the convolution: `f32` with a narrow mask and with a wide one.

use rayon::prelude::*;
use warpwright::ops::convolution::PreparedConvolve;
use warpwright::{Boundary, Result, VectorView};

use super::{Ladder, Ready, Run, copied, size};
use crate::sample;
use crate::verify::convolved;

/// Widths of the masks: one for which the memory is the limit, and one for which the arithmetic is near.
const MASKS: [usize; 2] = [5, 63];

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Vec<Ladder>> {
    let elements = size(run.device, asked, 1 << 26, 1 << 18);
    let device = run.device;
    let fraction = |hash: u64| (hash >> 40) as f32 / (1 << 23) as f32 - 1.0;
    let values = sample::values(elements, 23, fraction);
    let vector = device.upload(&values)?;
    let copied = copied(device, &values)?;
    let bytes = 2 * (elements * size_of::<f32>()) as u64;
    let mut ladders = Vec::new();
    for width in MASKS {
        let mask = sample::values(width, 24, fraction);
        let expected = convolved(&values, elements, &mask, Boundary::Zero);
        let problem = format!("{elements} f32 with a mask of {width}");
        ladders.push(run.all("convolution", problem, bytes, &copied, |variant| {
            let prepared = device
                .convolve_request(&vector, &mask)
                .variant(variant)
                .prepare()?;
            Ok(Box::new(Rung {
                prepared,
                expected: &expected,
            }))
        })?);
    }
    Ok(ladders)
}

struct Rung<'a> {
    prepared: PreparedConvolve<'a, VectorView<'a, f32>>,
    expected: &'a [f32],
}

impl Ready for Rung<'_> {
    fn enqueue(&mut self) -> Result<()> {
        self.prepared.enqueue()
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = self.prepared.output()?.to_vec()?;
        let pairs = found.par_iter().zip(self.expected).enumerate();
        let wrong = pairs.find_first(|(_, (found, expected))| found != expected);
        Ok(match wrong {
            None if found.len() == self.expected.len() => Ok(()),
            None => Err(format!(
                "expected {} elements, found {}",
                self.expected.len(),
                found.len()
            )),
            Some((index, (found, expected))) => {
                Err(format!("at {index}: expected {expected}, found {found}"))
            }
        })
    }
}
