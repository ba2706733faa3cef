//! What the library costs beyond the driver, as a part of a record.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::stats::Times;

/// The most seconds that a process's first operation is to take beyond the context.
pub const FIRST_AIM: f64 = 0.050;
/// The most that an operation on one element is to take, as a multiple of the bare driver calls.
pub const CALLS_AIM: f64 = 1.2;

/// What the library costs beyond the driver.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Overhead {
    /// First operations of processes, by family.
    #[serde(default)]
    pub cold: Vec<Cold>,
    /// Operations on one element.
    #[serde(default)]
    pub calls: Vec<Calls>,
}

/// The first operation of a process: one of a family.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cold {
    /// The family.
    pub family: String,
    /// Without the driver's cache of compiled kernels: the kernel is compiled.
    pub uncached: Start,
    /// With the kernel in that cache.
    pub cached: Start,
}

/// The start of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The context alone, by bare driver calls: the driver's library opened, a first call made.
    pub context: Outcome,
    /// After that, the first operation: the library's handle, the kernel loaded, from input to output on the host.
    pub first: Outcome,
}

/// How an operation is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A prepared request, queued and waited for.
    Prepared,
    /// From the request to the result on the host, with memory taken and given back.
    Once,
}

impl Form {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Once => "in one call",
        }
    }
}

/// An operation on one element beside the driver calls that it needs, per call, waiting included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// The family.
    pub family: String,
    /// What is done.
    pub work: String,
    /// How it is asked for.
    pub form: Form,
    /// The library's.
    pub ours: Outcome,
    /// The driver calls alone.
    pub bare: Outcome,
}

impl Overhead {
    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.cold.is_empty() && self.calls.is_empty()
    }

    /// Whether all that was to be timed was right.
    pub fn is_right(&self) -> bool {
        let starts = self.cold.iter().flat_map(|it| [&it.uncached, &it.cached]);
        let mut outcomes = starts
            .flat_map(|start| [&start.context, &start.first])
            .chain(
                self.calls
                    .iter()
                    .flat_map(|calls| [&calls.ours, &calls.bare]),
            );
        outcomes.all(|outcome| outcome.times().is_some())
    }
}

impl Start {
    /// Whether the first operation took no longer than was wanted; none where it was not timed.
    pub fn met(&self) -> Option<bool> {
        Some(self.first.times()?.median < FIRST_AIM)
    }
}

impl Calls {
    /// Both times; none where they were not taken.
    pub fn times(&self) -> Option<[&Times; 2]> {
        Some([self.ours.times()?, self.bare.times()?])
    }

    /// The time as a multiple of that of the bare calls.
    pub fn ratio(&self) -> Option<f64> {
        let [ours, bare] = self.times()?;
        Some(ours.median / bare.median)
    }

    /// Whether the ratio is what was wanted; none where there is none.
    pub fn met(&self) -> Option<bool> {
        Some(self.ratio()? <= CALLS_AIM)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::outcome::tests::times;

    /// One start and two forms of one operation, of which one missed its aim.
    pub fn overhead() -> Overhead {
        let start = |first: f64| Start {
            context: times(250e3),
            first: times(first),
        };
        let calls = |form, ours| Calls {
            family: "reduce".to_owned(),
            work: "sum f32".to_owned(),
            form,
            ours: times(ours),
            bare: times(10.0),
        };
        Overhead {
            cold: vec![Cold {
                family: "reduce".to_owned(),
                uncached: start(60e3),
                cached: start(12e3),
            }],
            calls: vec![calls(Form::Prepared, 10.5), calls(Form::Once, 12.5)],
        }
    }

    #[test]
    fn overhead_has_its_aims() {
        let overhead = overhead();
        assert_eq!(overhead.cold[0].uncached.met(), Some(false));
        assert_eq!(overhead.cold[0].cached.met(), Some(true));
        assert_eq!(overhead.calls[0].ratio(), Some(1.05));
        assert_eq!(
            overhead.calls.iter().map(Calls::met).collect::<Vec<_>>(),
            [Some(true), Some(false)]
        );
        assert!(overhead.is_right());
        let mut wrong = overhead;
        wrong.calls[0].ours = Outcome::Wrong("expected 1".to_owned());
        assert!(!wrong.is_right() && wrong.calls[0].met().is_none());
    }
}
