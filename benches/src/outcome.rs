//! The result of one library in one case.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::stats::Times;

/// The result of a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The answer was right; these are the times.
    Timed(Times),
    /// The answer was right; no times were requested.
    Verified,
    /// The library is not installed, for this reason.
    Missing(String),
    /// The answer was wrong; the contender was not timed.
    Wrong(String),
    /// The library returned an error.
    Failed(String),
}

impl Outcome {
    /// Makes the outcome of samples in seconds per operation.
    pub fn of(samples: &[f64], repeats: u32) -> Self {
        match Times::of(samples, repeats) {
            Some(times) => Self::Timed(times),
            None => Self::Failed(format!("positive times required, given {samples:?}")),
        }
    }

    /// Returns the times, if the contender was timed.
    pub fn times(&self) -> Option<&Times> {
        match self {
            Self::Timed(times) => Some(times),
            _ => None,
        }
    }

    /// Returns the reason why the contender was not timed.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Timed(_) | Self::Verified => None,
            Self::Missing(text) => Some(format!("missing: {text}")),
            Self::Wrong(text) => Some(format!("wrong: {text}")),
            Self::Failed(text) => Some(format!("failed: {text}")),
        }
    }
}

impl From<Box<dyn Error>> for Outcome {
    fn from(error: Box<dyn Error>) -> Self {
        Self::Failed(error.to_string())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes times around a median of `microseconds`.
    pub fn times(microseconds: f64) -> Outcome {
        let at = |part: f64| part * microseconds * 1e-6;
        Outcome::Timed(Times {
            median: at(1.0),
            low: at(0.99),
            high: at(1.01),
            least: at(0.98),
            samples: 9,
            repeats: 2,
        })
    }
}
