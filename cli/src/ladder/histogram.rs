//! The ladder of the histogram: bytes in 256 bins.

use rayon::prelude::*;
use warpwright::{Histogram, Result};

use super::{Ladder, Ready, Run, copied, size};
use crate::sample;

pub(super) fn run<F: FnMut()>(mut run: Run<'_, F>, asked: Option<usize>) -> Result<Ladder> {
    let elements = size(run.device, asked, 1 << 30, 1 << 20);
    let device = run.device;
    let values = sample::values(elements, 22, |hash| hash as u8);
    let expected = values
        .par_chunks(1 << 20)
        .map(|part| {
            let mut counts = [0u64; 256];
            part.iter()
                .for_each(|&value| counts[usize::from(value)] += 1);
            counts
        })
        .reduce(
            || [0; 256],
            |a, b| std::array::from_fn(|bin| a[bin] + b[bin]),
        );
    let vector = device.upload(&values)?;
    let copied = copied(device, &values)?;
    drop(values);
    let problem = format!("{elements} u8 in 256 bins");
    run.all("histogram", problem, elements as u64, &copied, |variant| {
        let prepared = device
            .histogram_request(&vector, 256)
            .variant(variant)
            .prepare()?;
        // The type of a prepared histogram names its binning rule, so it is kept behind two closures.
        let prepared = std::rc::Rc::new(std::cell::RefCell::new(prepared));
        let again = prepared.clone();
        Ok(Box::new(Rung {
            enqueue: Box::new(move || again.borrow_mut().enqueue()),
            finish: Box::new(move || prepared.borrow().finish()),
            expected,
        }))
    })
}

struct Rung<'a> {
    enqueue: Box<dyn FnMut() -> Result<()> + 'a>,
    finish: Box<dyn Fn() -> Result<Histogram> + 'a>,
    expected: [u64; 256],
}

impl Ready for Rung<'_> {
    fn enqueue(&mut self) -> Result<()> {
        (self.enqueue)()
    }

    fn check(&self) -> Result<std::result::Result<(), String>> {
        let found = (self.finish)()?;
        if found.outside != 0 {
            return Ok(Err(format!(
                "expected none outside, found {}",
                found.outside
            )));
        }
        let mut pairs = found.counts.iter().zip(&self.expected).enumerate();
        Ok(
            match pairs.find(|(_, (found, expected))| found != expected) {
                None if found.counts.len() == 256 => Ok(()),
                None => Err(format!("expected 256 bins, found {}", found.counts.len())),
                Some((bin, (found, expected))) => {
                    Err(format!("in bin {bin}: expected {expected}, found {found}"))
                }
            },
        )
    }
}
