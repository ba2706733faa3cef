//! Whether the numbers follow their distributions. Seeds are fixed, so every test has one outcome; a test of a true
//! hypothesis would fail for one seed in 10,000 ([`LEAST_P`]).

use cuda_std::random::{Philox4x32, Xorwow, uniform_f32};
use statrs::{
    distribution::{ChiSquared, ContinuousCDF, Normal},
    function::gamma::ln_gamma,
};
use warpwright::{Generator, RandomGenerator};
use warpwright_tests::devices;

use super::GENERATORS;

/// The least p-value that passes.
const LEAST_P: f64 = 1e-4;
/// Samples of a round, as in the material that the family follows.
const SAMPLES: usize = 1_024_000;

fn passes(what: &str, p: f64) {
    println!("{what}: p = {p:.4}");
    assert!(p >= LEAST_P, "{what}: p = {p:e}");
}

/// The p-value of a standard normal statistic, two-sided.
fn p_of_normal(z: f64) -> f64 {
    2.0 * Normal::standard().cdf(-z.abs())
}

/// The p-value of counts against what is expected of them.
fn p_of_chi_square(counts: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(counts.len(), expected.len());
    assert!(
        expected.len() >= 2 && expected.iter().all(|e| *e >= 5.0),
        "{expected:?}"
    );
    let terms = counts.iter().zip(expected);
    let statistic: f64 = terms.map(|(c, e)| (*c as f64 - e).powi(2) / e).sum();
    ChiSquared::new((counts.len() - 1) as f64)
        .unwrap()
        .sf(statistic)
}

/// The p-value of the largest distance between the samples' distribution and the uniform one (Kolmogorov and
/// Smirnov; the series of the limit, with Stephens' correction for the number of samples).
fn p_of_uniform(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let distance = samples.iter().enumerate().fold(0.0_f64, |worst, (i, x)| {
        worst.max((i as f64 + 1.0) / n - x).max(x - i as f64 / n)
    });
    let root = n.sqrt();
    let scaled = (root + 0.12 + 0.11 / root) * distance;
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(k * k) * scaled * scaled).exp()
    };
    (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// Mean and standard deviation of samples of a distribution with these and this fourth standardised moment.
fn moments(what: &str, samples: &[f64], mean: f64, std_dev: f64, kurtosis: f64) {
    let n = samples.len() as f64;
    let found = samples.iter().sum::<f64>() / n;
    passes(
        &format!("{what}: mean {found}"),
        p_of_normal((found - mean) / std_dev * n.sqrt()),
    );
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let z = (variance / (std_dev * std_dev) - 1.0) / ((kurtosis - 1.0) / n).sqrt();
    passes(
        &format!("{what}: standard deviation {}", variance.sqrt()),
        p_of_normal(z),
    );
}

/// Samples that should be uniform: their distribution, in the large and in 256 parts.
fn uniform(what: &str, samples: Vec<f64>) {
    assert!(samples.iter().all(|x| (0.0..=1.0).contains(x)));
    let mut counts = vec![0; 256];
    for x in &samples {
        counts[((x * 256.0) as usize).min(255)] += 1;
    }
    let expected = vec![samples.len() as f64 / 256.0; 256];
    passes(
        &format!("{what}: chi-square"),
        p_of_chi_square(&counts, &expected),
    );
    let serial = correlation(&samples[1..], &samples[..samples.len() - 1]);
    passes(&format!("{what}: neighbours"), serial);
    passes(
        &format!("{what}: Kolmogorov-Smirnov"),
        p_of_uniform(samples),
    );
}

/// The p-value of the correlation of two rows of samples.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let mean = |x: &[f64]| x.iter().sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let product = |x: &[f64], y: &[f64], mx: f64, my: f64| {
        x.iter()
            .zip(y)
            .map(|(x, y)| (x - mx) * (y - my))
            .sum::<f64>()
    };
    let both = product(a, b, mean_a, mean_b);
    let scale = (product(a, a, mean_a, mean_a) * product(b, b, mean_b, mean_b)).sqrt();
    p_of_normal(both / scale * n.sqrt())
}

fn wide(samples: Vec<f32>) -> Vec<f64> {
    samples.into_iter().map(f64::from).collect()
}

/// Runs a test for every device and both kinds of generators.
fn for_each(test: impl Fn(&str, &mut RandomGenerator)) {
    for device in devices::all() {
        for kind in GENERATORS {
            let mut random = device.generator(kind, 20_261_121).unwrap();
            test(&format!("{} {kind:?}", device.kind()), &mut random);
        }
    }
}

#[test]
fn uniform_numbers_are_uniform() {
    for_each(|what, random| {
        for round in 0..2 {
            let samples = wide(random.uniform::<f32>(SAMPLES).unwrap().to_vec().unwrap());
            moments(
                &format!("{what} f32 {round}"),
                &samples,
                0.5,
                (1.0_f64 / 12.0).sqrt(),
                1.8,
            );
            uniform(&format!("{what} f32 {round}"), samples);
        }
        let samples = random.uniform::<f64>(SAMPLES).unwrap().to_vec().unwrap();
        moments(
            &format!("{what} f64"),
            &samples,
            0.5,
            (1.0_f64 / 12.0).sqrt(),
            1.8,
        );
        uniform(&format!("{what} f64"), samples);
    });
}

#[test]
fn normal_numbers_are_normal() {
    let (mean, std_dev) = (-2.0, 3.0);
    let normal = Normal::new(mean, std_dev).unwrap();
    for_each(|what, random| {
        for round in 0..2 {
            let samples = random.normal(SAMPLES, mean as f32, std_dev as f32).unwrap();
            let samples = wide(samples.to_vec().unwrap());
            moments(&format!("{what} f32 {round}"), &samples, mean, std_dev, 3.0);
            let parts = samples.iter().map(|x| normal.cdf(*x)).collect();
            uniform(&format!("{what} f32 {round}"), parts);
        }
        let samples = random
            .normal(SAMPLES, mean, std_dev)
            .unwrap()
            .to_vec()
            .unwrap();
        moments(&format!("{what} f64"), &samples, mean, std_dev, 3.0);
        // The members of a pair have the radius in common, which shows in their squares if anywhere.
        let square = |first: usize| -> Vec<f64> {
            let members = samples.iter().skip(first).step_by(2);
            members.map(|x| ((x - mean) / std_dev).powi(2)).collect()
        };
        passes(
            &format!("{what} f64: pairs"),
            correlation(&square(0), &square(1)),
        );
        uniform(
            &format!("{what} f64"),
            samples.iter().map(|x| normal.cdf(*x)).collect(),
        );
    });
}

#[test]
fn log_normal_numbers_have_normal_logarithms() {
    let (mean, std_dev) = (0.5_f64, 0.25_f64);
    let normal = Normal::new(mean, std_dev).unwrap();
    let variance = std_dev * std_dev;
    let of_powers = (mean + variance / 2.0).exp();
    let deviation = of_powers * (variance.exp() - 1.0).sqrt();
    let e = |factor: f64| (factor * variance).exp();
    let kurtosis = e(4.0) + 2.0 * e(3.0) + 3.0 * e(2.0) - 3.0;
    for_each(|what, random| {
        let samples = random
            .log_normal(SAMPLES, mean as f32, std_dev as f32)
            .unwrap();
        let samples = wide(samples.to_vec().unwrap());
        moments(
            &format!("{what} f32"),
            &samples,
            of_powers,
            deviation,
            kurtosis,
        );
        uniform(
            &format!("{what} f32"),
            samples.iter().map(|x| normal.cdf(x.ln())).collect(),
        );
        let samples = random
            .log_normal(SAMPLES, mean, std_dev)
            .unwrap()
            .to_vec()
            .unwrap();
        moments(
            &format!("{what} f64"),
            &samples,
            of_powers,
            deviation,
            kurtosis,
        );
        uniform(
            &format!("{what} f64"),
            samples.iter().map(|x| normal.cdf(x.ln())).collect(),
        );
    });
}

/// Numbers per mean.
const POISSON_SAMPLES: usize = 256_000;

/// Counts of neighbouring values together, so that each part has an expectation of 10 and, of large means, about a
/// hundredth of all; the last part takes the rest.
fn poisson_parts(lambda: f64, samples: &[u32]) -> (Vec<u64>, Vec<f64>) {
    let n = samples.len() as f64;
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let least = (n / 100.0).max(10.0).min(n * 0.001 + 10.0 * lambda);
    let spread = 12.0 * lambda.sqrt() + 20.0;
    let first = (lambda - spread).max(0.0) as u64;
    let (mut counts, mut expected) = (Vec::new(), Vec::new());
    let (mut part, mut taken, mut seen) = (0.0, 0.0, 0);
    for k in first..(lambda + spread) as u64 {
        part += n * (k as f64 * lambda.ln() - lambda - ln_gamma(k as f64 + 1.0)).exp();
        // What is left must be enough for a part of its own.
        if part >= least && n - taken - part >= least {
            let upto = sorted.partition_point(|x| u64::from(*x) <= k);
            counts.push((upto - seen) as u64);
            expected.push(part);
            (taken, seen, part) = (taken + part, upto, 0.0);
        }
    }
    counts.push((sorted.len() - seen) as u64);
    expected.push(n - taken);
    (counts, expected)
}

#[test]
fn poisson_numbers_have_their_probabilities() {
    for_each(|what, random| {
        for lambda in [
            0.01, 0.5, 1.0, 5.0, 9.99, 10.0, 30.0, 64.0, 1000.0, 1e5, 1e6,
        ] {
            let samples = random
                .poisson(POISSON_SAMPLES, lambda)
                .unwrap()
                .to_vec()
                .unwrap();
            let (counts, expected) = poisson_parts(lambda, &samples);
            let what = format!("{what} lambda {lambda}, {} parts", counts.len());
            passes(&what, p_of_chi_square(&counts, &expected));
            let samples: Vec<f64> = samples.into_iter().map(f64::from).collect();
            moments(&what, &samples, lambda, lambda.sqrt(), 3.0 + 1.0 / lambda);
        }
    });
}

#[test]
fn neighbouring_sequences_have_nothing_in_common() {
    const LEN: usize = 100_000;
    let sequences: [fn(u64) -> Vec<f64>; 2] = [
        |number| {
            let mut random = Philox4x32::new(5, number, 0);
            (0..LEN)
                .map(|_| f64::from(uniform_f32(random.next_word())))
                .collect()
        },
        |number| {
            let mut random = Xorwow::new(5, number, 0);
            (0..LEN)
                .map(|_| f64::from(uniform_f32(random.next_word())))
                .collect()
        },
    ];
    for (kind, sequence) in GENERATORS.iter().zip(sequences) {
        for number in 0..8 {
            let p = correlation(&sequence(number), &sequence(number + 1));
            passes(&format!("{kind:?} sequences {number} and the next"), p);
        }
    }
    // And those of the library, and of neighbouring seeds.
    for device in devices::all() {
        for kind in GENERATORS {
            let draw = |seed, sequence| {
                let random = device.generator(kind, seed).unwrap();
                wide(
                    random
                        .sequence(sequence)
                        .uniform::<f32>(LEN)
                        .unwrap()
                        .to_vec()
                        .unwrap(),
                )
            };
            passes(
                &format!("{kind:?} sequences"),
                correlation(&draw(1, 0), &draw(1, 1)),
            );
            passes(
                &format!("{kind:?} seeds"),
                correlation(&draw(1, 0), &draw(2, 0)),
            );
        }
    }
}

#[test]
fn the_tests_notice_what_is_wrong() {
    let device = warpwright::Device::cpu();
    let mut random = device.generator(Generator::Philox, 3).unwrap();
    let samples = random.uniform::<f64>(100_000).unwrap().to_vec().unwrap();
    let shifted: Vec<f64> = samples.iter().map(|x| (x + 0.02).min(1.0)).collect();
    assert!(p_of_uniform(samples.clone()) >= LEAST_P);
    assert!(p_of_uniform(shifted) < LEAST_P);
    let smooth: Vec<f64> = samples
        .windows(2)
        .map(|pair| pair[0] + 0.05 * pair[1])
        .collect();
    assert!(correlation(&smooth[1..], &smooth[..smooth.len() - 1]) < LEAST_P);
    let samples = random.poisson(100_000, 30.0).unwrap().to_vec().unwrap();
    let (counts, expected) = poisson_parts(30.0, &samples);
    assert!(p_of_chi_square(&counts, &expected) >= LEAST_P);
    let (counts, expected) = poisson_parts(30.2, &samples);
    assert!(p_of_chi_square(&counts, &expected) < LEAST_P);
    assert!(p_of_normal(3.9) < LEAST_P && p_of_normal(3.8) > LEAST_P);
}
