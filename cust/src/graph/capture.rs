//! The capture of a stream.

use std::ptr;

use super::Graph;
use crate::error::{CudaError, CudaResult, ToResult};
use crate::stream::Stream;
use crate::sys;

/// Which unsafe calls of which threads end a capture with an error: those that could not be captured, such as an
/// allocation.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// Of all threads.
    Global = 0,
    /// Of the thread that captures.
    ThreadLocal = 1,
    /// None.
    Relaxed = 2,
}

/// What a stream does with what is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaptureStatus {
    /// It is done.
    None,
    /// It is captured.
    Active,
    /// It is refused: the capture has failed, and has to be ended.
    Invalidated,
}

impl Stream {
    /// Begins to capture: what is queued from now on becomes nodes of a graph and is not done.
    ///
    /// # Errors
    /// What the driver says.
    pub fn begin_capture(&self, mode: CaptureMode) -> CudaResult<()> {
        // SAFETY: the stream is there.
        unsafe { sys::cuStreamBeginCapture(self.as_inner(), mode as u32) }.to_result()
    }

    /// Ends a capture and gives the graph.
    ///
    /// # Errors
    /// What the driver says, for instance that there is no capture, or that it has failed.
    pub fn end_capture(&self) -> CudaResult<Graph> {
        let mut raw = ptr::null_mut();
        // SAFETY: a place to write to; the stream is there.
        unsafe { sys::cuStreamEndCapture(self.as_inner(), &mut raw) }.to_result()?;
        if raw.is_null() {
            Err(CudaError::StreamCaptureInvalidated)
        } else {
            Ok(Graph { raw })
        }
    }

    /// Whether the stream is captured.
    ///
    /// # Errors
    /// What the driver says; [`CudaError::UnexpectedValue`] for a state without a name here.
    pub fn capture_status(&self) -> CudaResult<CaptureStatus> {
        let mut status = 0;
        // SAFETY: a place to write to; the stream is there.
        unsafe { sys::cuStreamIsCapturing(self.as_inner(), &mut status) }.to_result()?;
        match status {
            0 => Ok(CaptureStatus::None),
            1 => Ok(CaptureStatus::Active),
            2 => Ok(CaptureStatus::Invalidated),
            _ => Err(CudaError::UnexpectedValue),
        }
    }
}
