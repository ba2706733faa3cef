//! Random numbers, compared with cuRAND.

use rayon::prelude::*;
use warpwright::{Generator, Vector};
use warpwright_workloads::random::{Distribution, Draw, Random};

use super::super::peers::Peers;
use super::super::{Bench, Result, Spec, local, pointer};
use super::case;
use crate::record::Bound;

pub(super) fn run(bench: &mut Bench) {
    let (normal, log_normal) = (
        Distribution::Normal(0.0, 1.0),
        Distribution::LogNormal(0.0, 1.0),
    );
    for (generator, name, ratio) in [
        (Generator::Philox, "Philox", 1.4),
        (Generator::Xorwow, "XORWOW", 3.0),
    ] {
        let mut of_f32 = |what, distribution, ratio| {
            of::<f32>(
                bench,
                generator,
                format!("{what} f32, {name}"),
                distribution,
                ratio,
            );
        };
        of_f32("uniform", Distribution::Uniform, 1.0);
        of_f32("normal", normal, ratio);
        of_f32("log-normal", log_normal, 1.0);
        for mean in [1.0, 10.0, 1000.0] {
            let work = format!("Poisson({mean}) u32, {name}");
            of::<u32>(bench, generator, work, Distribution::Poisson(mean), 1.0);
        }
    }
}

fn of<T: Random>(
    bench: &mut Bench,
    generator: Generator,
    work: String,
    distribution: Distribution,
    ratio: f64,
) {
    let len = bench.scale().pick(1 << 28, 1 << 26, 1 << 14);
    let problem = Draw::<T>::new(generator, distribution, len);
    let spec = Spec::of("random", work, len, Bound::Write).aim(None, ratio);
    case(bench, spec, problem, |_, place| {
        place.peer("cuRAND", Peers::curand, |curand| {
            Ok(local(
                (
                    curand.numbers(generator, distribution, len)?,
                    place.outputs::<T>(len)?,
                ),
                |(curand, outputs), set| curand(pointer(&mut outputs[set])),
                move |(_, outputs), set| Ok(check(&some(&outputs[set], set)?, distribution)),
            ))
        })
    })
}

/// Returns all numbers of the first set, and the last ones of any other.
fn some<T: Random>(output: &Vector<T>, set: usize) -> Result<Vec<T>> {
    let start = if set == 0 {
        0
    } else {
        output.len().saturating_sub(1 << 22)
    };
    Ok(output.slice(start..)?.to_vec()?)
}

/// Compares mean and variance with those of the distribution, for log-normal numbers those of the logarithms. Our numbers are
/// compared with the oracle one by one; the other libraries' orders differ.
fn check<T: Random>(found: &[T], distribution: Distribution) -> Result<(), String> {
    let (mean, variance, kurtosis) = match distribution {
        Distribution::Words | Distribution::Uniform => (0.5, 1.0 / 12.0, 1.8),
        Distribution::Normal(..) | Distribution::LogNormal(..) => (0.0, 1.0, 3.0),
        Distribution::Poisson(mean) => (mean, mean, 3.0 + 1.0 / mean),
    };
    let number = |value: &T| match distribution {
        Distribution::LogNormal(..) => value.real().ln(),
        _ => value.real(),
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
    // Eight standard errors: once in 10^15 runs. cuRAND's Poisson numbers of large means are rounded normal numbers, whose
    // variance is 1/12 more, as with any rounding; that is accepted.
    let (mean_error, spread_error) = (
        8.0 * (variance / count).sqrt(),
        8.0 * variance * ((kurtosis - 1.0) / count).sqrt(),
    );
    let rounding = if matches!(distribution, Distribution::Poisson(_)) {
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
        assert_eq!(check(&even, Distribution::Uniform), Ok(()));
        assert!(check(&even, Distribution::Normal(0.0, 1.0)).is_err());
        assert!(check(&[0.0_f32; 100], Distribution::Uniform).is_err());
        assert!(check(&[f32::NAN; 4], Distribution::Uniform).is_err());
        assert!(check(&[5_u32; 1000], Distribution::Poisson(10.0)).is_err());
    }
}
