//! The results of prepared work.

use crate::error::{Error, InvalidKind, Result};

/// The memory of a prepared operation's result. It is accessible only after the work that computes it was queued.
#[derive(Debug)]
pub(super) struct Made<R> {
    operation: &'static str,
    place: R,
    /// Whether all of the work requested last is queued.
    queued: bool,
}

impl<R> Made<R> {
    /// Wraps a place that `operation` has yet to fill.
    pub fn at(operation: &'static str, place: R) -> Self {
        Self {
            operation,
            place,
            queued: false,
        }
    }

    /// Queues work that fills the place. If that fails there is no result, not even of earlier work.
    pub fn by(&mut self, queue: impl FnOnce(&mut R) -> Result<()>) -> Result<()> {
        self.queued = false;
        queue(&mut self.place)?;
        self.queued = true;
        Ok(())
    }

    /// Returns the result of the work queued last.
    pub fn get(&self) -> Result<&R> {
        self.check().map(|()| &self.place)
    }

    /// Like [`get`](Self::get), but by value.
    pub fn take(self) -> Result<R> {
        self.check().map(|()| self.place)
    }

    fn check(&self) -> Result<()> {
        if self.queued {
            return Ok(());
        }
        Err(Error::invalid(
            InvalidKind::NotQueued,
            self.operation,
            "work queued by `enqueue` before its result is asked for",
            "none",
        ))
    }
}
