//! What prepared work makes.

use crate::error::{Error, Result};

/// The result of a prepared operation, or the memory that it comes out of: nobody has it before work that makes it is
/// queued.
#[derive(Debug)]
pub(super) struct Made<R> {
    operation: &'static str,
    place: R,
    /// Whether the work that was asked for last is queued as a whole.
    queued: bool,
}

impl<R> Made<R> {
    /// A place that `operation` has yet to fill.
    pub fn at(operation: &'static str, place: R) -> Self {
        Self {
            operation,
            place,
            queued: false,
        }
    }

    /// Queues work that fills the place. Where that fails there is no result, also none of the work before it.
    pub fn by(&mut self, queue: impl FnOnce(&mut R) -> Result<()>) -> Result<()> {
        self.queued = false;
        queue(&mut self.place)?;
        self.queued = true;
        Ok(())
    }

    /// What the work queued last makes.
    pub fn get(&self) -> Result<&R> {
        self.check().map(|()| &self.place)
    }

    /// The same, to keep.
    pub fn take(self) -> Result<R> {
        self.check().map(|()| self.place)
    }

    fn check(&self) -> Result<()> {
        if self.queued {
            return Ok(());
        }
        Err(Error::invalid(
            self.operation,
            "work queued by `enqueue` before its result is asked for",
            "none",
        ))
    }
}
