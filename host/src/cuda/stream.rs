//! Streams and events.

use super::context::CudaContext;
use super::error::{Result, of};
use super::kept::Kept;
use cust::event::{Event, EventFlags, EventStatus};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cust::sys::CUstream;
use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A queue of work for a device. Its work runs in order, and independently of other streams.
///
/// A stream of the library's own is non-blocking in CUDA's sense: it does not wait for the null stream, which other libraries
/// may use. A stream that somebody else owns is what it is, and is never destroyed here.
pub(crate) struct CudaStream {
    stream: Kept<Stream>,
    id: u64,
    borrowed: bool,
    /// What keeps a borrowed stream alive, if the library was given it.
    _owner: Option<Owner>,
}

/// Somebody else's value that keeps a stream or memory alive while it lives.
pub(crate) type Owner = Box<dyn Any + Send + Sync>;

impl CudaStream {
    /// Makes a stream on the device of `context`.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<CudaStream> {
        context.make_current()?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(of("cuStreamCreate"))?;
        Ok(CudaStream {
            stream: Kept::new(context, stream, Stream::drop),
            id: next_id(),
            borrowed: false,
            _owner: None,
        })
    }

    /// Borrows a stream that somebody else owns. Returns `None` if it does not belong to `context`. The default streams, whose
    /// handles are 0, 1 and 2, belong to every context.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Safety
    /// The handle must be valid while the result lives. The stream for each thread (2) must be used on one thread alone.
    pub(crate) unsafe fn borrow(
        context: &Arc<CudaContext>,
        raw: CUstream,
        owner: Option<Owner>,
    ) -> Result<Option<CudaStream>> {
        context.make_current()?;
        // SAFETY: by the contract.
        let stream = ManuallyDrop::new(unsafe { Stream::from_raw(raw) });
        let found = stream.get_context().map_err(of("cuStreamGetCtx"))?;
        if !context.is(found) {
            return Ok(None);
        }
        let leave = |stream: Stream| {
            stream.into_raw();
            Ok(())
        };
        Ok(Some(CudaStream {
            stream: Kept::new(context, ManuallyDrop::into_inner(stream), leave),
            id: next_id(),
            borrowed: true,
            _owner: owner,
        }))
    }

    /// Returns the context that the stream belongs to.
    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// Returns a number that is unique among all streams of the process. The driver reuses its handles.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Returns whether somebody else owns the stream.
    pub(super) fn is_borrowed(&self) -> bool {
        self.borrowed
    }

    /// Returns the driver's handle, which is valid while `self` lives.
    pub(crate) fn raw(&self) -> CUstream {
        self.stream.as_inner()
    }

    /// Returns the stream, for functions of `cust`.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Blocks the calling thread until all work in the stream is done.
    ///
    /// # Errors
    /// Errors of the driver, including failures of kernels (`CudaErrorKind::DeviceFault`).
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context().make_current()?;
        self.stream.synchronize().map_err(of("cuStreamSynchronize"))
    }

    /// Makes work queued in this stream from now on wait for `event`, which may be of another stream or device.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn wait(&self, event: &CudaEvent) -> Result<()> {
        self.context().make_current()?;
        self.stream
            .wait_event(&event.event, StreamWaitEventFlags::DEFAULT)
            .map_err(of("cuStreamWaitEvent"))
    }

    /// Makes work queued in this stream from now on wait for all work that is in `other` now.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn wait_for(&self, other: &CudaStream) -> Result<()> {
        // A default stream has the same handle on every device.
        if self.raw() == other.raw() && Arc::ptr_eq(self.context(), other.context()) {
            return Ok(());
        }
        let event = CudaEvent::without_timing(other.context())?;
        event.record(other)?;
        self.wait(&event)
    }

    /// Records an event that can be timed.
    ///
    /// # Errors
    /// Errors of the driver.
    #[cfg(test)]
    pub(crate) fn record(&self) -> Result<CudaEvent> {
        let event = CudaEvent::new(self.context())?;
        event.record(self)?;
        Ok(event)
    }
}

/// Returns a number that no other stream has.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl fmt::Debug for CudaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaStream")
            .field("raw", &self.raw())
            .field("context", self.context())
            .finish()
    }
}

/// A mark in a stream. It can be waited for and, if made for it, timed.
pub(crate) struct CudaEvent {
    event: Kept<Event>,
}

impl CudaEvent {
    /// Makes an event that can be timed.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<CudaEvent> {
        Self::with_flags(context, EventFlags::DEFAULT)
    }

    /// Makes an event that can only be waited for, which costs less.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn without_timing(context: &Arc<CudaContext>) -> Result<CudaEvent> {
        Self::with_flags(context, EventFlags::DISABLE_TIMING)
    }

    fn with_flags(context: &Arc<CudaContext>, flags: EventFlags) -> Result<CudaEvent> {
        context.make_current()?;
        let event = Event::new(flags).map_err(of("cuEventCreate"))?;
        Ok(CudaEvent {
            event: Kept::new(context, event, Event::drop),
        })
    }

    /// Returns the context that the event belongs to.
    pub(super) fn context(&self) -> &Arc<CudaContext> {
        self.event.context()
    }

    /// Returns whether the work before the event is done. An event that was never recorded counts as done.
    ///
    /// # Errors
    /// Errors of the driver, including failures of kernels.
    pub(crate) fn is_done(&self) -> Result<bool> {
        self.event.context().make_current()?;
        let status = self.event.query().map_err(of("cuEventQuery"))?;
        Ok(status == EventStatus::Ready)
    }

    /// Records the event after the work that is in `stream` now. This replaces an earlier record.
    ///
    /// # Errors
    /// Errors of the driver, for example if the stream is of another device.
    pub(crate) fn record(&self, stream: &CudaStream) -> Result<()> {
        self.event.context().make_current()?;
        self.event
            .record(&stream.stream)
            .map_err(of("cuEventRecord"))
    }

    /// Blocks the calling thread until the work before the event is done. An event that was never recorded counts as done.
    ///
    /// # Errors
    /// Errors of the driver, including failures of kernels.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.event.context().make_current()?;
        self.event.synchronize().map_err(of("cuEventSynchronize"))
    }

    /// Returns the device time from `start` to this event, to about half a microsecond. Waits for both.
    ///
    /// # Errors
    /// Errors of the driver. Both events must have been recorded, and neither made without timing.
    pub(crate) fn elapsed_since(&self, start: &CudaEvent) -> Result<Duration> {
        self.synchronize()?;
        start.synchronize()?;
        let milliseconds = self
            .event
            .elapsed_time_f32(&start.event)
            .map_err(of("cuEventElapsedTime"))?;
        // The time is negative if the events were recorded in the opposite order.
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

impl fmt::Debug for CudaEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaEvent")
            .field("event", &*self.event)
            .finish_non_exhaustive()
    }
}
