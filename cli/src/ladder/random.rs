//! The ladders of the random numbers: uniform and normal `f32` by Philox, uniform `f32` by XORWOW. They are
//! written and not read.

use rayon::prelude::*;
use warpwright::cuda_std::random::Xorwow;
use warpwright::{Generator, RandomGenerator, Result, Vector};

use super::{Ladder, Ready, Run, copied, size};
use crate::verify::random::{SEQUENCES, normal_quad, philox, uniform};

/// The seed.
const SEED: u64 = 2026;

/// A problem: its name, what makes the words, and whether the numbers are normal.
const PROBLEMS: [(&str, Generator, bool); 3] = [
    ("uniform f32 by Philox", Generator::Philox, false),
    ("normal f32 by Philox", Generator::Philox, true),
    ("uniform f32 by XORWOW", Generator::Xorwow, false),
];

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Vec<Ladder>> {
    let elements = size(run.device, asked, 1 << 28, 1 << 20);
    let device = run.device;
    let copied = copied(device, &vec![0_f32; elements])?;
    let bytes = (elements * size_of::<f32>()) as u64;
    let mut ladders = Vec::new();
    for (name, kind, normal) in PROBLEMS {
        let problem = format!("{elements} {name}, written and not read");
        ladders.push(run.all("random", problem, bytes, &copied, |variant| {
            Ok(Box::new(Rung {
                random: device.generator(kind, SEED)?.variant(variant),
                output: device.zeros(elements)?,
                normal,
            }))
        })?);
    }
    Ok(ladders)
}

struct Rung {
    random: RandomGenerator,
    output: Vector<f32>,
    normal: bool,
}

impl Ready for Rung {
    fn enqueue(&mut self) -> Result<()> {
        let output = self.output.view_mut();
        if self.normal {
            self.random.fill_normal(output, 0.0, 1.0)
        } else {
            self.random.fill_uniform(output)
        }
    }

    /// Of the first numbers of the stream: it is called after the first round alone.
    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = self.output.to_vec()?;
        let place = self.random.position();
        if place != Some(found.len() as u64) {
            return Ok(Err(format!(
                "expected to be at word {}, found {place:?}",
                found.len()
            )));
        }
        let quads = found.len().div_ceil(4) as u64;
        let wrong = match self.random.kind() {
            Generator::Philox => (0..quads)
                .into_par_iter()
                .find_map_first(|quad| self.wrong(&found, quad, philox(quad, 0, SEED))),
            _ => (0..SEQUENCES.min(quads))
                .into_par_iter()
                .find_map_first(|sequence| {
                    let mut random = Xorwow::new(SEED, sequence, 0);
                    let mut of_sequence = (sequence..quads).step_by(SEQUENCES as usize);
                    of_sequence.find_map(|quad| {
                        let words = std::array::from_fn(|_| random.next_word());
                        self.wrong(&found, quad, words)
                    })
                }),
        };
        Ok(wrong.map_or(Ok(()), Err))
    }
}

impl Rung {
    /// What is wrong with the numbers that are made from a quad of words.
    fn wrong(&self, found: &[f32], quad: u64, words: [u32; 4]) -> Option<String> {
        let (expected, bound) = if self.normal {
            (normal_quad(words), 2e-6)
        } else {
            (words.map(|word| f64::from(uniform(word))), 0.0)
        };
        let first = 4 * quad as usize;
        expected.iter().zip(first..).find_map(|(expected, index)| {
            let found = f64::from(*found.get(index)?);
            let near = (found - expected).abs() <= bound;
            (!near).then(|| format!("at {index}: expected {expected}, found {found}"))
        })
    }
}
