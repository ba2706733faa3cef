//! The capture of a thread: which handle's work is recorded, and where it goes meanwhile.
//!
//! While a handle captures, the work that this thread queues on it goes to an executor made for the capture. What other threads
//! do is not touched, and neither is the handle's own stream, whatever becomes of the capture.

use std::{cell::RefCell, ptr, sync::Arc};

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
}

thread_local! {
    static CAPTURE: RefCell<Option<Capture>> = const { RefCell::new(None) };
}

/// Makes the error of something that cannot be captured.
fn not_capturable(given: String) -> Error {
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

/// Returns the executor that records the work of `executor`, or `None` if this thread captures nothing.
///
/// # Errors
/// Fails if this thread captures work of another handle.
pub(crate) fn recorder(
    executor: &Executor,
    operation: &'static str,
) -> Result<Option<Arc<Executor>>> {
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
    /// Ends the capture. Returns the executors of other handles whose memory the work uses.
    fn end(mut self) -> Vec<Arc<Executor>> {
        self.0 = None;
        CAPTURE
            .take()
            .map_or_else(Vec::new, |capture| capture.owners)
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
}

/// Records what `work` queues on `executor`, and makes a graph of it by `finish`.
pub(crate) fn record<G>(
    executor: &Arc<Executor>,
    work: impl FnOnce() -> Result<()>,
    finish: impl FnOnce(&Executor) -> Result<G>,
) -> Result<Captured<G>> {
    refuse("capture")?;
    let recorder = Arc::new(executor.begin_capture()?);
    CAPTURE.set(Some(Capture {
        of: executor.clone(),
        recorder: recorder.clone(),
        owners: Vec::new(),
    }));
    let recording = Recording(Some(recorder.clone()));
    work()?;
    let owners = recording.end();
    let graph = finish(&recorder)?;
    Ok(Captured { graph, owners })
}
