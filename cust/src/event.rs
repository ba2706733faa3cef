//! Events: markers in streams, for synchronization and for measuring time.

use std::mem;
use std::ptr;
use std::time::Duration;

use crate::error::{CudaError, CudaResult, DropResult, ToResult, written};
use crate::stream::{Stream, StreamWaitEventFlags};
use crate::sys::{self, CUevent};

bitflags::bitflags! {
    /// Flags of an event.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct EventFlags: u32 {
        /// The default: the event records the time.
        const DEFAULT = 0x0;
        /// A thread that waits for the event blocks instead of spinning.
        const BLOCKING_SYNC = 0x1;
        /// The event records no time, which makes it cheaper.
        const DISABLE_TIMING = 0x2;
        /// Other processes can use the event. It requires `DISABLE_TIMING`.
        const INTERPROCESS = 0x4;
    }
}

/// Whether the work before an event has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// The work has finished.
    Ready,
    /// The work has not finished yet.
    NotReady,
}

/// A marker that is recorded in a stream.
#[derive(Debug)]
pub struct Event(CUevent);

// SAFETY: any thread may use an event.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        let mut event = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuEventCreate(&mut event, flags.bits()) }.to_result()?;
        Ok(Self(event))
    }

    /// Records the event in a stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both handles are valid.
        unsafe { sys::cuEventRecord(self.0, stream.as_inner()) }.to_result()
    }

    /// Returns whether the work before the event has finished.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn query(&self) -> CudaResult<EventStatus> {
        // SAFETY: the event is valid.
        match unsafe { sys::cuEventQuery(self.0) }.to_result() {
            Ok(()) => Ok(EventStatus::Ready),
            Err(CudaError::NotReady) => Ok(EventStatus::NotReady),
            Err(error) => Err(error),
        }
    }

    /// Waits until the work before the event has finished.
    ///
    /// # Errors
    /// Returns the driver's error, which may be that of earlier work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the event is valid.
        unsafe { sys::cuEventSynchronize(self.0) }.to_result()
    }

    /// Returns the time from `start` to this event, in milliseconds.
    ///
    /// # Errors
    /// Returns the driver's error, for instance if one of the events has not completed yet.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        // SAFETY: the pointer is valid for a write; both events are valid.
        written(|milliseconds| unsafe { sys::cuEventElapsedTime(milliseconds, start.0, self.0) })
    }

    /// Returns the time from `start` to this event.
    ///
    /// # Errors
    /// Returns the errors of [`elapsed_time_f32`](Self::elapsed_time_f32), and [`CudaError::InvalidValue`] if `start` is
    /// the later event.
    pub fn elapsed(&self, start: &Self) -> CudaResult<Duration> {
        let milliseconds = f64::from(self.elapsed_time_f32(start)?);
        Duration::try_from_secs_f64(milliseconds / 1e3).map_err(|_| CudaError::InvalidValue)
    }

    /// Destroys the event and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the event.
    pub fn drop(event: Event) -> DropResult<Event> {
        // SAFETY: this value owns the handle, and is forgotten once it is destroyed.
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
        // SAFETY: this value owns the handle. A destructor cannot return an error.
        let _ = unsafe { sys::cuEventDestroy(self.0) };
    }
}

impl Stream {
    /// Makes all work that is queued from now on wait for an event, which may be of another stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        // SAFETY: both handles are valid; the driver keeps its own reference to the event.
        unsafe { sys::cuStreamWaitEvent(self.as_inner(), event.0, flags.bits()) }.to_result()
    }
}
