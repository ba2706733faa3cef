//! The capture of a thread: which handle's work is recorded, and where it goes meanwhile.
//!
//! While a handle captures, the work that this thread queues on it goes to an executor made for the capture. What other threads
//! do is not touched, and neither is the handle's own stream, whatever becomes of the capture.

use std::{cell::RefCell, fmt, ptr, sync::Arc};

use super::Executor;
use crate::error::{Error, InvalidKind, Result};

/// A capture under way.
struct Capture {
    /// The executor of the handle that captures.
    of: Arc<Executor>,
    /// The executor that records the work.
    recorder: Arc<Executor>,
    /// The executors of other handles whose memory the work uses.
    owners: Vec<Arc<Executor>>,
    parts: Vec<Part>,
}

/// What one node of a graph does, without what it does it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Fill,
    Copy,
    /// A launch of the kernel of this name.
    Launch(&'static str),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fill => f.write_str("a fill"),
            Self::Copy => f.write_str("a copy"),
            Self::Launch(kernel) => write!(f, "a launch of `{kernel}`"),
        }
    }
}

/// Fails if `given`, the parts of work that is to replace that of a graph, are not those of the graph.
pub(crate) fn require_same(graph: &[Part], given: &[Part]) -> Result<()> {
    let differs = |at: &usize| graph.get(*at) != given.get(*at);
    let Some(at) = (0..graph.len().max(given.len())).find(differs) else {
        return Ok(());
    };
    let number = at + 1;
    let given = match (given.get(at), graph.get(at)) {
        (Some(part), Some(own)) => format!("{part} as number {number}, where the graph has {own},"),
        (Some(part), None) => format!("{part} as number {number}, where the graph has {at},"),
        (None, own) => {
            let own = own.map_or_else(String::new, Part::to_string);
            format!("{at}, where the graph has {own} as number {number},")
        }
    };
    Err(Error::invalid(
        InvalidKind::Capture,
        UPDATE,
        "launches of the same kernels, copies and fills in the same order as in the graph",
        given,
    ))
}

/// The operation that replaces what a graph does.
pub(crate) const UPDATE: &str = "update of a graph";

thread_local! {
    static CAPTURE: RefCell<Option<Capture>> = const { RefCell::new(None) };
}

/// Makes the error of something that cannot be captured.
pub(crate) fn not_capturable(given: String) -> Error {
    Error::invalid(
        InvalidKind::Capture,
        "capture",
        "work of the handle that captures, prepared before, which neither allocates nor waits nor copies from or to the host",
        given,
    )
}

/// Returns whether this thread captures work.
pub(crate) fn is_active() -> bool {
    CAPTURE.with_borrow(Option::is_some)
}

/// Fails if this thread captures work, which `operation` cannot be part of.
pub(crate) fn refuse(operation: &'static str) -> Result<()> {
    CAPTURE.with_borrow(|capture| match capture {
        None => Ok(()),
        Some(_) => Err(not_capturable(format!("`{operation}`"))),
    })
}

/// Has `record` record work of `executor`, which becomes `part` of the graph. Returns false if nothing is captured here.
///
/// # Errors
/// Fails if this thread captures work of another handle, and as `record` does.
pub(crate) fn records(
    executor: &Executor,
    operation: &'static str,
    part: Option<Part>,
    record: impl FnOnce(&Executor) -> Result<()>,
) -> Result<bool> {
    let Some(recorder) = recorder(executor, operation)? else {
        return Ok(false);
    };
    record(&recorder)?;
    CAPTURE.with_borrow_mut(|capture| {
        if let Some(capture) = capture {
            capture.parts.extend(part);
        }
    });
    Ok(true)
}

/// Returns the executor that records the work of `executor`, or `None` if this thread captures nothing.
fn recorder(executor: &Executor, operation: &'static str) -> Result<Option<Arc<Executor>>> {
    CAPTURE.with_borrow(|capture| match capture {
        None => Ok(None),
        Some(capture) if ptr::eq(&*capture.recorder, executor) => Ok(None),
        Some(capture) if ptr::eq(&*capture.of, executor) => Ok(Some(capture.recorder.clone())),
        Some(_) => Err(not_capturable(format!("`{operation}` of another handle"))),
    })
}

/// Notes that captured work uses memory of `owners`. Returns whether this thread captures work.
pub(crate) fn uses<'a>(owners: impl Iterator<Item = &'a Arc<Executor>>) -> bool {
    CAPTURE.with_borrow_mut(|capture| {
        let Some(capture) = capture else {
            return false;
        };
        for owner in owners {
            let known = [&capture.of].into_iter().chain(&capture.owners);
            if !known.into_iter().any(|it| Arc::ptr_eq(it, owner)) {
                capture.owners.push(owner.clone());
            }
        }
        true
    })
}

/// Takes the capture from its thread, and gives it back when it is dropped.
struct Paused(Option<Capture>);

impl Drop for Paused {
    fn drop(&mut self) {
        CAPTURE.set(self.0.take());
    }
}

/// Does `work` now, although this thread may capture.
pub(crate) fn uncaptured<T>(work: impl FnOnce() -> T) -> T {
    let _paused = Paused(CAPTURE.take());
    work()
}

/// Ends the capture of the thread when it is dropped, whatever happens.
struct Recording(Option<Arc<Executor>>);

impl Recording {
    /// Ends the capture.
    fn end(mut self) -> Option<Capture> {
        self.0 = None;
        CAPTURE.take()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(recorder) = &self.0 {
            drop(CAPTURE.take());
            recorder.abandon_capture();
        }
    }
}

/// Work that was captured.
#[derive(Debug)]
pub(crate) struct Captured<G> {
    pub graph: G,
    pub owners: Vec<Arc<Executor>>,
    pub parts: Vec<Part>,
}

/// Records what `work` queues on `executor`, and makes a graph of it by `finish`, if `check` lets its parts be.
pub(crate) fn record<G>(
    operation: &'static str,
    executor: &Arc<Executor>,
    work: impl FnOnce() -> Result<()>,
    check: impl Fn(&[Part]) -> Result<()>,
    finish: impl FnOnce(&Executor) -> Result<G>,
) -> Result<Captured<G>> {
    refuse(operation)?;
    let recorder = Arc::new(executor.begin_capture()?);
    CAPTURE.set(Some(Capture {
        of: executor.clone(),
        recorder: recorder.clone(),
        owners: Vec::new(),
        parts: Vec::new(),
    }));
    let recording = Recording(Some(recorder.clone()));
    work()?;
    CAPTURE.with_borrow(|capture| capture.iter().try_for_each(|it| check(&it.parts)))?;
    let (owners, parts) = recording
        .end()
        .map_or_else(Default::default, |capture| (capture.owners, capture.parts));
    let graph = finish(&recorder)?;
    Ok(Captured {
        graph,
        owners,
        parts,
    })
}
