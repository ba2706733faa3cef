//! Stream capture.

use std::ptr;

use super::Graph;
use crate::error::{CudaError, CudaResult, ToResult};
use crate::stream::Stream;
use crate::sys;

/// The threads whose potentially unsafe calls make a capture fail. Such a call cannot be captured, for instance an
/// allocation.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// Calls of all threads.
    Global = 0,
    /// Calls of the capturing thread.
    ThreadLocal = 1,
    /// No calls.
    Relaxed = 2,
}

/// Whether a stream is capturing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaptureStatus {
    /// The stream does not capture: queued work runs.
    None,
    /// The stream captures queued work.
    Active,
    /// The capture has failed: the stream refuses work until the capture is ended.
    Invalidated,
}

impl Stream {
    /// Begins a capture. Work that is queued from now on becomes nodes of a graph and does not run.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn begin_capture(&self, mode: CaptureMode) -> CudaResult<()> {
        // SAFETY: the stream is valid.
        unsafe { sys::cuStreamBeginCapture(self.as_inner(), mode as u32) }.to_result()
    }

    /// Ends the capture and returns the graph.
    ///
    /// # Errors
    /// Returns the driver's error, for instance if the stream is not capturing, or if the capture has failed.
    pub fn end_capture(&self) -> CudaResult<Graph> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is valid for a write; the stream is valid.
        unsafe { sys::cuStreamEndCapture(self.as_inner(), &mut raw) }.to_result()?;
        if raw.is_null() {
            Err(CudaError::StreamCaptureInvalidated)
        } else {
            Ok(Graph { raw })
        }
    }

    /// Returns the state of the capture.
    ///
    /// # Errors
    /// Returns the driver's error; [`CudaError::UnexpectedValue`] if the state has no name here.
    pub fn capture_status(&self) -> CudaResult<CaptureStatus> {
        let mut status = 0;
        // SAFETY: the pointer is valid for a write; the stream is valid.
        unsafe { sys::cuStreamIsCapturing(self.as_inner(), &mut status) }.to_result()?;
        match status {
            0 => Ok(CaptureStatus::None),
            1 => Ok(CaptureStatus::Active),
            2 => Ok(CaptureStatus::Invalidated),
            _ => Err(CudaError::UnexpectedValue),
        }
    }
}
