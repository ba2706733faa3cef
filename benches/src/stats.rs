//! Statistics of a list of times.

use serde::{Deserialize, Serialize};

/// The times of one contender in one case, in seconds per operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The median, from which all rates and ratios are made.
    pub median: f64,
    /// A tenth of the samples are below this.
    pub low: f64,
    /// A tenth of the samples are above this.
    pub high: f64,
    /// The shortest sample.
    pub least: f64,
    /// The number of samples.
    pub samples: usize,
    /// The number of operations that one sample times together.
    pub repeats: u32,
}

impl Times {
    /// Makes the statistics of samples in seconds per operation. Returns `None` without samples, or if one is not a valid time.
    pub fn of(samples: &[f64], repeats: u32) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let right = |time: &f64| time.is_finite() && *time > 0.0;
        if !sorted.iter().all(right) {
            return None;
        }
        Some(Self {
            median: quantile(&sorted, 0.5)?,
            low: quantile(&sorted, 0.1)?,
            high: quantile(&sorted, 0.9)?,
            least: *sorted.first()?,
            samples: sorted.len(),
            repeats,
        })
    }

    /// Returns the width of the middle eight tenths as a share of the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

/// Returns the quantile `part` of sorted values, interpolated linearly.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let place = part * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let (low, high) = (*sorted.get(below)?, *sorted.get(above)?);
    Some(low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_ten_samples() {
        let samples: Vec<f64> = (0..=10).rev().map(|i| 1.0 + f64::from(i) / 10.0).collect();
        let times = Times::of(&samples, 3).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(times.median, 1.5);
        near(times.low, 1.1);
        near(times.high, 1.9);
        near(times.least, 1.0);
        near(times.spread(), 0.8 / 1.5);
        assert_eq!((times.samples, times.repeats), (11, 3));
    }

    #[test]
    fn an_even_number_has_its_middle_between_two() {
        assert_eq!(Times::of(&[4.0, 2.0], 1).unwrap().median, 3.0);
        assert_eq!(Times::of(&[2.0], 1).unwrap().spread(), 0.0);
    }

    #[test]
    fn what_is_no_time_gives_none() {
        assert_eq!(Times::of(&[], 1), None);
        assert_eq!(Times::of(&[1.0, 0.0], 1), None);
        assert_eq!(Times::of(&[1.0, f64::NAN], 1), None);
    }
}
