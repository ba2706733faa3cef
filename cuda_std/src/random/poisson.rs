//! Poisson numbers.

use super::{Philox4x32, normal::ln_f64, uniform_f64};
use crate::GpuFloat;

/// The Poisson distribution with a mean from 0 to 10^6.
///
/// Below a mean of 10, sampling is by inversion: the first `k` at which the sum of the probabilities reaches a uniform
/// number of 53 bits. From 10 on, it is by transformed rejection (Hörmann, "The transformed rejection method for generating
/// Poisson random variables", Insurance: Mathematics and Economics 12, 1993, algorithm PTRS), which takes 1.1 to 1.3
/// attempts on average. Its probabilities are computed in `f64`, with a relative error below 10^-8.
///
/// A number is computed from four words. If an attempt is rejected, the next one takes its four words from
/// [`Philox4x32::block`] under a key and a counter that hold the first four. A number thus depends only on its own four
/// words, however many attempts it takes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    mean: f64,
    /// `e^-mean` for inversion, `ln mean` for rejection.
    of_mean: f64,
    a: f64,
    b: f64,
    /// The logarithm of the reciprocal of the acceptance scale.
    ln_inverse_alpha: f64,
    accept_below: f64,
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: the struct is six plain numbers without padding.
unsafe impl crate::kernel::ByValue for Poisson {}

impl Poisson {
    /// The largest mean.
    pub const LARGEST_MEAN: f64 = 1e6;
    /// The mean from which on numbers are sampled by rejection.
    const REJECTION_FROM: f64 = 10.0;
    /// A bound on the numbers by inversion. A larger number has a probability below 10^-70.
    const MOST_BY_INVERSION: u32 = 128;

    /// Creates the distribution. Returns `None` if the mean is not from 0 to [`LARGEST_MEAN`](Self::LARGEST_MEAN).
    pub fn new(mean: f64) -> Option<Self> {
        // A NaN is in no range.
        if !(0.0..=Self::LARGEST_MEAN).contains(&mean) {
            return None;
        }
        if mean < Self::REJECTION_FROM {
            return Some(Self {
                mean,
                of_mean: GpuFloat::exp(-mean),
                a: 0.0,
                b: 0.0,
                ln_inverse_alpha: 0.0,
                accept_below: 0.0,
            });
        }
        let b = 0.931 + 2.53 * GpuFloat::sqrt(mean);
        Some(Self {
            mean,
            of_mean: GpuFloat::ln(mean),
            a: -0.059 + 0.024_83 * b,
            b,
            ln_inverse_alpha: GpuFloat::ln(1.1239 + 1.1328 / (b - 3.4)),
            accept_below: 0.9277 - 3.6224 / (b - 2.0),
        })
    }

    /// Returns the mean.
    pub fn mean(self) -> f64 {
        self.mean
    }

    /// Returns a Poisson number from four random words.
    #[inline]
    pub fn sample(self, words: [u32; 4]) -> u32 {
        if self.mean < Self::REJECTION_FROM {
            return self.inversion(uniform_f64(words[0], words[1]));
        }
        let [k, l, c, d] = words;
        let (mut words, mut attempt) = (words, 0);
        loop {
            let [w, x, y, z] = words;
            if let Some(number) = self.attempt(uniform_f64(w, x) - 0.5, uniform_f64(y, z)) {
                return number;
            }
            attempt += 1;
            words = Philox4x32::block([attempt, 0, c, d], [k, l]);
        }
    }

    #[inline(always)]
    fn inversion(self, uniform: f64) -> u32 {
        let (mut probability, mut number) = (self.of_mean, 0);
        let mut sum = probability;
        while uniform > sum && number < Self::MOST_BY_INVERSION {
            number += 1;
            probability *= self.mean / f64::from(number);
            sum += probability;
        }
        number
    }

    #[inline(always)]
    fn attempt(self, u: f64, v: f64) -> Option<u32> {
        let us = 0.5 - u.abs();
        let number = GpuFloat::floor((2.0 * self.a / us + self.b) * u + self.mean + 0.43);
        if us >= 0.07 && v <= self.accept_below {
            return Some(number as u32);
        }
        if number < 0.0 || us < 0.013 && v > us {
            return None;
        }
        let hat = ln_f64(v) + self.ln_inverse_alpha - ln_f64(self.a / (us * us) + self.b);
        let probability = number * self.of_mean - self.mean - ln_factorial(number);
        (hat <= probability).then_some(number as u32)
    }
}

/// Returns `ln n!` of an integer: by multiplication up to 20, and by Stirling's series above, within 10^-12 plus rounding
/// errors.
#[inline(always)]
fn ln_factorial(n: f64) -> f64 {
    /// Half of `ln 2 pi`.
    const HALF_LN_TAU: f64 = 0.918_938_533_204_672_7;
    if n <= 20.0 {
        let (mut product, mut factor) = (1.0, 2.0);
        while factor <= n {
            product *= factor;
            factor += 1.0;
        }
        return ln_f64(product);
    }
    let inverse = 1.0 / n;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0)));
    (n + 0.5) * ln_f64(n) - n + HALF_LN_TAU + series
}
