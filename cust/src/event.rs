//! Events: marks in streams, to wait for and to measure between.

use std::mem;
use std::ptr;
use std::time::Duration;

use crate::error::{CudaError, CudaResult, DropResult, ToResult, written};
use crate::stream::Stream;
use crate::sys::{self, CUevent};

bitflags::bitflags! {
    /// What an event is for.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct EventFlags: u32 {
        /// Nothing special.
        const DEFAULT = 0x0;
        /// A thread that waits for it sleeps.
        const BLOCKING_SYNC = 0x1;
        /// It keeps no time, and costs less.
        const DISABLE_TIMING = 0x2;
        /// Another process can use it; goes with `DISABLE_TIMING` only.
        const INTERPROCESS = 0x4;
    }
}

/// Whether what was queued before an event is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// It is.
    Ready,
    /// Not yet.
    NotReady,
}

/// A mark that streams pass.
#[derive(Debug)]
pub struct Event(CUevent);

// SAFETY: an event may be used by any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// A new event.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        let mut event = ptr::null_mut();
        // SAFETY: a place to write to.
        unsafe { sys::cuEventCreate(&mut event, flags.bits()) }.to_result()?;
        Ok(Self(event))
    }

    /// Queues the event in a stream.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both are there.
        unsafe { sys::cuEventRecord(self.0, stream.as_inner()) }.to_result()
    }

    /// Whether what was queued before the event is done.
    ///
    /// # Errors
    /// What the driver says.
    pub fn query(&self) -> CudaResult<EventStatus> {
        // SAFETY: the event is there.
        match unsafe { sys::cuEventQuery(self.0) }.to_result() {
            Ok(()) => Ok(EventStatus::Ready),
            Err(CudaError::NotReady) => Ok(EventStatus::NotReady),
            Err(error) => Err(error),
        }
    }

    /// Waits for what was queued before the event.
    ///
    /// # Errors
    /// What the driver says, also of earlier work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the event is there.
        unsafe { sys::cuEventSynchronize(self.0) }.to_result()
    }

    /// The milliseconds from `start` to this event.
    ///
    /// # Errors
    /// What the driver says, for instance that one of them has not been passed yet.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        // SAFETY: a place to write to; both events are there.
        written(|milliseconds| unsafe { sys::cuEventElapsedTime(milliseconds, start.0, self.0) })
    }

    /// The time from `start` to this event.
    ///
    /// # Errors
    /// As of [`elapsed_time_f32`](Self::elapsed_time_f32); [`CudaError::InvalidValue`] where `start` is the later.
    pub fn elapsed(&self, start: &Self) -> CudaResult<Duration> {
        let milliseconds = f64::from(self.elapsed_time_f32(start)?);
        Duration::try_from_secs_f64(milliseconds / 1e3).map_err(|_| CudaError::InvalidValue)
    }

    pub(crate) fn as_inner(&self) -> CUevent {
        self.0
    }

    /// Destroys the event, as dropping it does, and says what came of it.
    ///
    /// # Errors
    /// What the driver says, and the event.
    pub fn drop(event: Event) -> DropResult<Event> {
        // SAFETY: this value's own, destroyed here and not once more.
        match unsafe { sys::cuEventDestroy(event.0) }.to_result() {
            Ok(()) => {
                mem::forget(event);
                Ok(())
            }
            Err(error) => Err((error, event)),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: this value's own. There is nobody to tell of an error.
        let _ = unsafe { sys::cuEventDestroy(self.0) };
    }
}
