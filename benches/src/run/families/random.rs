//! Random numbers, beside cuRAND.

use rayon::prelude::*;
use warpwright::{Device, Element, Generator, RandomGenerator, Vector, VectorViewMut};

use super::super::peers::curand::Numbers;
use super::super::peers::rival;
use super::super::{Bench, Contest, Result, Spec, local, pointer, power};
use crate::record::{Aim, Bound};

const SEED: u64 = 2026;

pub(super) fn run(bench: &mut Bench) {
    for (generator, name) in [(Generator::Philox, "Philox"), (Generator::Xorwow, "XORWOW")] {
        let ratio = |normal| {
            if normal {
                if name == "Philox" { 1.4 } else { 3.0 }
            } else {
                1.0
            }
        };
        of::<f32>(
            bench,
            generator,
            format!("uniform f32, {name}"),
            Numbers::Uniform,
            ratio(false),
        );
        of::<f32>(
            bench,
            generator,
            format!("normal f32, {name}"),
            Numbers::Normal,
            ratio(true),
        );
        of::<f32>(
            bench,
            generator,
            format!("log-normal f32, {name}"),
            Numbers::LogNormal,
            ratio(false),
        );
        for mean in [1.0, 10.0, 1000.0] {
            of::<u32>(
                bench,
                generator,
                format!("Poisson({mean}) u32, {name}"),
                Numbers::Poisson(mean),
                ratio(false),
            );
        }
    }
}

/// An element type that numbers are made in.
trait Random: Element {
    fn fill(
        random: &mut RandomGenerator,
        numbers: Numbers,
        output: VectorViewMut<'_, Self>,
    ) -> Result<()>;
    fn number(self) -> f64;
}

impl Random for f32 {
    fn fill(
        random: &mut RandomGenerator,
        numbers: Numbers,
        output: VectorViewMut<'_, Self>,
    ) -> Result<()> {
        match numbers {
            Numbers::Uniform => random.fill_uniform(output)?,
            Numbers::Normal => random.fill_normal(output, 0.0, 1.0)?,
            Numbers::LogNormal => random.fill_log_normal(output, 0.0, 1.0)?,
            Numbers::Poisson(_) => return Err("whole numbers required for Poisson".into()),
        }
        Ok(())
    }

    fn number(self) -> f64 {
        self.into()
    }
}

impl Random for u32 {
    fn fill(
        random: &mut RandomGenerator,
        numbers: Numbers,
        output: VectorViewMut<'_, Self>,
    ) -> Result<()> {
        match numbers {
            Numbers::Poisson(mean) => Ok(random.fill_poisson(output, mean)?),
            _ => Err("floats required".into()),
        }
    }

    fn number(self) -> f64 {
        self.into()
    }
}

fn of<T: Random>(
    bench: &mut Bench,
    generator: Generator,
    work: String,
    numbers: Numbers,
    ratio: f64,
) {
    let len = bench.scale().pick(1 << 28, 1 << 26, 1 << 14);
    let bytes = len * size_of::<T>();
    let sets = bench.sets(bytes);
    let (device, peers) = (bench.device(), bench.peers());
    let spec = Spec {
        family: "random",
        work,
        size: power(len),
        elements: len,
        bytes,
        operations: 0,
        bound: Bound::Write,
        aim: Aim {
            share: None,
            ratio: Some(ratio),
        },
    };
    let candidates = bench.candidates(&spec);
    bench.case(spec, || {
        let outputs = || {
            (0..sets)
                .map(|_| Ok(device.zeros::<T>(len)?))
                .collect::<Result<Vec<Vector<T>>>>()
        };
        let ours = |device: &Device| {
            Ok(local(
                (device.generator(generator, SEED)?, outputs()?),
                move |(random, outputs), set| T::fill(random, numbers, outputs[set].view_mut()),
                move |(_, outputs), set| Ok(check(&some(&outputs[set], set)?, numbers)),
            ))
        };
        let mut rivals = candidates.rivals(ours);
        let ours = ours(&device)?;
        if peers.wanted() {
            let curand = peers.curand().and_then(|curand| {
                let curand = curand.numbers(generator, numbers, len)?;
                Ok(local(
                    (curand, outputs()?),
                    |(curand, outputs), set| curand(pointer(&mut outputs[set])),
                    move |(_, outputs), set| Ok(check(&some(&outputs[set], set)?, numbers)),
                ))
            });
            rivals.push(rival("cuRAND", curand));
        }
        Ok(Contest { sets, ours, rivals })
    })
}

/// All of the first set's numbers, and the last of another's.
fn some<T: Random>(output: &Vector<T>, set: usize) -> Result<Vec<T>> {
    let start = if set == 0 {
        0
    } else {
        output.len().saturating_sub(1 << 22)
    };
    Ok(output.slice(start..)?.to_vec()?)
}

/// Compares mean and variance with those of the distribution, of log-normal numbers those of the logarithms.
/// What the numbers are, word by word, is for the library's own tests: the libraries' orders differ.
fn check<T: Random>(found: &[T], numbers: Numbers) -> Result<(), String> {
    let (mean, variance, kurtosis) = match numbers {
        Numbers::Uniform => (0.5, 1.0 / 12.0, 1.8),
        Numbers::Normal | Numbers::LogNormal => (0.0, 1.0, 3.0),
        Numbers::Poisson(mean) => (mean, mean, 3.0 + 1.0 / mean),
    };
    let number = |value: &T| match numbers {
        Numbers::LogNormal => value.number().ln(),
        _ => value.number(),
    };
    let count = found.len() as f64;
    let sums = found.par_chunks(1 << 16).map(|part| {
        part.iter().fold([0.0; 2], |[sum, squares], value| {
            let away = number(value) - mean;
            [sum + away, squares + away * away]
        })
    });
    let [sum, squares] = sums.reduce(|| [0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    let (away, spread) = (sum / count, squares / count);
    // Eight standard errors: once in 10^15 runs. cuRAND's Poisson numbers of large means are rounded normal ones,
    // whose variance is 1/12 more; so is that of any rounding, and is let pass.
    let (mean_error, spread_error) = (
        8.0 * (variance / count).sqrt(),
        8.0 * variance * ((kurtosis - 1.0) / count).sqrt(),
    );
    let rounding = if matches!(numbers, Numbers::Poisson(_)) {
        [0.01, 0.1]
    } else {
        [1e-4, 1e-4]
    };
    // A NaN fails these comparisons.
    let right = away.abs() <= mean_error + rounding[0]
        && (spread - variance).abs() <= spread_error + rounding[1];
    if right {
        Ok(())
    } else {
        Err(format!(
            "expected mean {mean} and variance {variance}, found {} and {spread}",
            mean + away
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_numbers_are_found() {
        let even: Vec<f32> = (0..10_000).map(|i| (i as f32 + 0.5) / 1e4).collect();
        assert_eq!(check(&even, Numbers::Uniform), Ok(()));
        assert!(check(&even, Numbers::Normal).is_err());
        assert!(check(&[0.0_f32; 100], Numbers::Uniform).is_err());
        assert!(check(&[f32::NAN; 4], Numbers::Uniform).is_err());
        assert!(check(&[5_u32; 1000], Numbers::Poisson(10.0)).is_err());
    }
}
