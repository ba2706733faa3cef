//! Events: points in the work of a handle.

use crate::{device::Device, error::Result, executor::Mark};

/// A point in the work of a handle, made by [`Device::record_event`]. Work of other handles and the host can wait for it.
#[derive(Debug)]
pub struct Event {
    mark: Mark,
    device: Device,
}

impl Device {
    /// Records an event after the work that this handle has queued so far. Does not wait.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver); [`Error::Invalid`](crate::Error::Invalid) while this thread captures.
    pub fn record_event(&self) -> Result<Event> {
        Ok(Event {
            mark: self.executor.mark("record_event", false)?,
            device: self.clone(),
        })
    }

    /// Makes the work that this handle queues from now on wait for `event`. The host does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), and as for [`record_event`](Self::record_event).
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.require_same("wait_event", &event.device)?;
        self.executor.wait_mark(&event.mark)
    }
}

impl Event {
    /// Waits until the work before the event is done.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if any of the work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.mark.synchronize()
    }
}
