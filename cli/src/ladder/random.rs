//! The ladder of the random numbers: uniform `f32` by Philox.

use rayon::prelude::*;
use warpwright::{Generator, RandomGenerator, Result, Vector};

use super::{Ladder, Ready, Run, copied, size};
use crate::verify::random::{philox, uniform};

/// The seed.
const SEED: u64 = 2026;

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Ladder> {
    let elements = size(run.device, asked, 1 << 28, 1 << 20);
    let device = run.device;
    let copied = copied(device, &vec![0_f32; elements])?;
    let problem = format!("{elements} uniform f32 by Philox, which are written and not read");
    let bytes = (elements * size_of::<f32>()) as u64;
    run.all("random", problem, bytes, &copied, |variant| {
        Ok(Box::new(Rung {
            random: device.generator(Generator::Philox, SEED)?.variant(variant),
            output: device.zeros(elements)?,
        }))
    })
}

struct Rung {
    random: RandomGenerator,
    output: Vector<f32>,
}

impl Ready for Rung {
    fn enqueue(&mut self) -> Result<()> {
        self.random.fill_uniform(self.output.view_mut())
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = self.output.to_vec()?;
        let first = self.random.position() - found.len() as u64;
        let wrong = found
            .par_iter()
            .enumerate()
            .find_map_first(|(index, value)| {
                let word = first + index as u64;
                let expected = uniform(philox(word / 4, 0, SEED)[(word % 4) as usize]);
                (*value != expected)
                    .then(|| format!("at {index}: expected {expected}, found {value}"))
            });
        Ok(wrong.map_or(Ok(()), Err))
    }
}
