//! What came of running one library in one case.

use serde::{Deserialize, Serialize};

use crate::stats::Times;

/// What came of a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The answer was right; the times.
    Timed(Times),
    /// The answer was right; times were not asked for.
    Verified,
    /// The library is not there, for this reason.
    Missing(String),
    /// The answer was wrong; no time was taken.
    Wrong(String),
    /// It gave an error.
    Failed(String),
}

impl Outcome {
    /// The times, if it was timed.
    pub fn times(&self) -> Option<&Times> {
        match self {
            Self::Timed(times) => Some(times),
            _ => None,
        }
    }

    /// What there is to say of one that was not timed.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Timed(_) | Self::Verified => None,
            Self::Missing(text) => Some(format!("missing: {text}")),
            Self::Wrong(text) => Some(format!("wrong: {text}")),
            Self::Failed(text) => Some(format!("failed: {text}")),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Times around a median of so many microseconds.
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
