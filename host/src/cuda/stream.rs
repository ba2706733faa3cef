//! Streams and events.

use super::context::CudaContext;
use super::driver::{self, driver};
use super::error::Result;
use cust::sys::{CUevent, CUstream};
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A queue of work for a device: what is put into it runs in that order, apart from other streams.
///
/// Non-blocking in CUDA's sense: it does not wait for the null stream that other libraries may use.
/// (`cust`'s streams leave that flag off, which is why this is not one of them.)
pub(crate) struct CudaStream {
    raw: CUstream,
    id: u64,
    context: Arc<CudaContext>,
}

// SAFETY: a stream is a handle that the driver lets any thread use at any time.
unsafe impl Send for CudaStream {}
// SAFETY: as above.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    /// Makes a stream on the device of `context`.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<CudaStream> {
        context.make_current()?;
        let mut raw: CUstream = ptr::null_mut();
        // SAFETY: the function writes one handle.
        unsafe { driver!(cuStreamCreate(&mut raw, driver::STREAM_NON_BLOCKING)) }?;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(CudaStream {
            raw,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            context: context.clone(),
        })
    }

    /// The context that the stream belongs to.
    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// A number that no other stream of the process has had; the driver uses its handles again.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The driver's handle, valid while `self` lives.
    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }

    /// Blocks the calling thread until all work in the stream is done.
    ///
    /// # Errors
    /// What the driver returns; a kernel's failure shows here (`CudaErrorKind::DeviceFault`).
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: the stream is alive.
        unsafe { driver!(cuStreamSynchronize(self.raw)) }
    }

    /// Work put into this stream from now on waits for `event`, which may be of another stream or
    /// device.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn wait(&self, event: &CudaEvent) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: both are alive; the driver keeps what it needs of the event once this returns.
        unsafe { driver!(cuStreamWaitEvent(self.raw, event.raw, 0)) }
    }

    /// Work put into this stream from now on waits for all that is in `other` now.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn wait_for(&self, other: &CudaStream) -> Result<()> {
        if self.raw == other.raw {
            return Ok(());
        }
        let event = CudaEvent::without_timing(&other.context)?;
        event.record(other)?;
        self.wait(&event)
    }

    /// Records an event that can be timed.
    ///
    /// # Errors
    /// What the driver returns.
    #[cfg(test)]
    pub(crate) fn record(&self) -> Result<CudaEvent> {
        let event = CudaEvent::new(&self.context)?;
        event.record(self)?;
        Ok(event)
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        // SAFETY: the stream is alive and nobody else has it any more; the driver lets queued work finish.
        let destroy = || unsafe { driver!(cuStreamDestroy_v2(self.raw)) };
        self.context.give_back(destroy);
    }
}

impl fmt::Debug for CudaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaStream")
            .field("raw", &self.raw)
            .field("context", &self.context)
            .finish()
    }
}

/// A mark in a stream that can be waited for and, if made for it, timed.
pub(crate) struct CudaEvent {
    raw: CUevent,
    context: Arc<CudaContext>,
}

// SAFETY: an event is a handle that the driver lets any thread use at any time.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// Makes an event that can be timed.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<CudaEvent> {
        Self::with_flags(context, driver::EVENT_DEFAULT)
    }

    /// Makes an event that can be waited for only, which costs less.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn without_timing(context: &Arc<CudaContext>) -> Result<CudaEvent> {
        Self::with_flags(context, driver::EVENT_DISABLE_TIMING)
    }

    fn with_flags(context: &Arc<CudaContext>, flags: u32) -> Result<CudaEvent> {
        context.make_current()?;
        let mut raw: CUevent = ptr::null_mut();
        // SAFETY: the function writes one handle.
        unsafe { driver!(cuEventCreate(&mut raw, flags)) }?;
        Ok(CudaEvent {
            raw,
            context: context.clone(),
        })
    }

    /// Puts the mark behind the work that is in `stream` now, in place of where it was.
    ///
    /// # Errors
    /// What the driver returns, an error where the stream is of another device.
    pub(crate) fn record(&self, stream: &CudaStream) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: both are alive.
        unsafe { driver!(cuEventRecord(self.raw, stream.raw)) }
    }

    /// Blocks the calling thread until the work before the mark is done. One never recorded counts
    /// as done.
    ///
    /// # Errors
    /// What the driver returns; a kernel's failure shows here.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context.make_current()?;
        // SAFETY: the event is alive.
        unsafe { driver!(cuEventSynchronize(self.raw)) }
    }

    /// The device's time from `start` to this mark, to about half a microsecond. Waits until both
    /// are done.
    ///
    /// # Errors
    /// What the driver returns: both must have been recorded, and neither made without timing.
    pub(crate) fn elapsed_since(&self, start: &CudaEvent) -> Result<Duration> {
        self.synchronize()?;
        start.synchronize()?;
        let mut milliseconds = 0f32;
        // SAFETY: the function writes one float; both events are alive.
        unsafe { driver!(cuEventElapsedTime(&mut milliseconds, start.raw, self.raw)) }?;
        // Negative where the marks were given in the wrong order.
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // SAFETY: the event is alive and nobody else has it; the driver keeps what waits for it working.
        let destroy = || unsafe { driver!(cuEventDestroy_v2(self.raw)) };
        self.context.give_back(destroy);
    }
}

impl fmt::Debug for CudaEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaEvent")
            .field("raw", &self.raw)
            .finish_non_exhaustive()
    }
}
