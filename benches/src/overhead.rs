//! The library's cost beyond the driver, as a part of a record.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::stats::Times;

/// The aim for a process's first operation: the maximum seconds beyond the context.
pub const FIRST_AIM: f64 = 0.050;
/// The aim for an operation on one element: the maximum multiple of the bare driver calls.
pub const CALLS_AIM: f64 = 1.2;
/// The aim for a graph of small operations: the maximum multiple of the time of PyTorch's graph of the same.
pub const GRAPH_AIM: f64 = 1.1;

/// The library's cost beyond the driver.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Overhead {
    /// The first operations of processes, by family.
    #[serde(default)]
    pub cold: Vec<Cold>,
    /// Operations on one element.
    #[serde(default)]
    pub calls: Vec<Calls>,
    /// Graphs of small operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<Graph>,
}

/// A family's operation as the first of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cold {
    /// The family.
    pub family: String,
    /// The start without the driver's cache of compiled kernels: the kernel is compiled.
    pub uncached: Start,
    /// The start with the kernel in that cache.
    pub cached: Start,
}

/// The start of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The time of the context alone, by bare driver calls: opening the driver's library, and the first call.
    pub context: Outcome,
    /// The time of the first operation after that: opening the library's device, loading the kernel, and the operation from
    /// input to output on the host.
    pub first: Outcome,
}

/// The form of an operation's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A prepared request that is queued and waited for.
    Prepared,
    /// One call, from the request to the result on the host, which allocates and frees memory.
    Once,
}

impl Form {
    /// Returns the name of the form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Once => "in one call",
        }
    }
}

/// An operation on one element and the driver calls that it needs, timed per call with the wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// The family.
    pub family: String,
    /// The operation.
    pub work: String,
    /// The form of the call.
    pub form: Form,
    /// The library's result.
    pub ours: Outcome,
    /// The result of the driver calls alone.
    pub bare: Outcome,
}

/// Small operations, captured as a graph and replayed; the times are of all operations together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The operations, and whether each replay is waited for.
    pub work: String,
    /// The result of the library's graph.
    pub ours: Outcome,
    /// The result of the library without a graph: the operations queued one by one.
    pub apart: Outcome,
    /// The result of PyTorch's graph.
    pub pytorch: Outcome,
}

impl Overhead {
    /// Returns whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.cold.is_empty() && self.calls.is_empty() && self.graphs.is_empty()
    }

    /// Returns whether all measured operations were right.
    pub fn is_right(&self) -> bool {
        let starts = self.cold.iter().flat_map(|it| [&it.uncached, &it.cached]);
        let mut outcomes = starts
            .flat_map(|start| [&start.context, &start.first])
            .chain(
                self.calls
                    .iter()
                    .flat_map(|calls| [&calls.ours, &calls.bare]),
            )
            .chain(self.graphs.iter().flat_map(|it| [&it.ours, &it.apart]));
        outcomes.all(|outcome| outcome.times().is_some())
    }
}

impl Start {
    /// Returns whether the first operation met its aim, or `None` if it was not timed.
    pub fn met(&self) -> Option<bool> {
        Some(self.first.times()?.median < FIRST_AIM)
    }
}

impl Calls {
    /// Returns both times, or `None` if they were not taken.
    pub fn times(&self) -> Option<[&Times; 2]> {
        Some([self.ours.times()?, self.bare.times()?])
    }

    /// Returns the time as a multiple of that of the bare calls.
    pub fn ratio(&self) -> Option<f64> {
        let [ours, bare] = self.times()?;
        Some(ours.median / bare.median)
    }

    /// Returns whether the ratio meets its aim, or `None` if there is none.
    pub fn met(&self) -> Option<bool> {
        Some(self.ratio()? <= CALLS_AIM)
    }
}

impl Graph {
    /// Returns the time as a multiple of that of PyTorch's graph, or `None` if one was not timed.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.ours.times()?.median / self.pytorch.times()?.median)
    }

    /// Returns whether the ratio meets its aim, or `None` if there is none.
    pub fn met(&self) -> Option<bool> {
        Some(self.ratio()? <= GRAPH_AIM)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::outcome::tests::times;

    /// Makes one start, two forms of one operation, and three graphs; one of each missed its aim, and one graph has no peer.
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
        let graph = |work: &str, ours, pytorch| Graph {
            work: work.to_owned(),
            ours: times(ours),
            apart: times(60.0),
            pytorch,
        };
        let missing = Outcome::Missing("no <torch> & no GPU".to_owned());
        Overhead {
            cold: vec![Cold {
                family: "reduce".to_owned(),
                uncached: start(60e3),
                cached: start(12e3),
            }],
            calls: vec![calls(Form::Prepared, 10.5), calls(Form::Once, 12.5)],
            graphs: vec![
                graph("2 operations", 30.0, times(40.0)),
                graph("2 operations, waited for", 48.0, times(40.0)),
                graph("3 operations", 30.0, missing),
            ],
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
        assert_eq!(overhead.graphs[0].ratio(), Some(0.75));
        assert_eq!(
            overhead.graphs.iter().map(Graph::met).collect::<Vec<_>>(),
            [Some(true), Some(false), None]
        );
        // A peer that is missing is no mistake of the library.
        assert!(overhead.is_right());
        let wrong = || Outcome::Wrong("expected 1".to_owned());
        let mut apart = overhead.clone();
        apart.graphs[0].apart = wrong();
        assert!(!apart.is_right());
        let mut calls = overhead;
        calls.calls[0].ours = wrong();
        assert!(!calls.is_right() && calls.calls[0].met().is_none());
    }
}
