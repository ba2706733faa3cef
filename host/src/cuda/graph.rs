//! Graphs: work of a stream that is captured once and launched many times.

use super::error::{Result, of};
use super::kept::Kept;
use super::module::CudaFunction;
use super::stream::CudaStream;
use cust::graph::{CaptureMode, Graph, GraphExec};
use std::fmt;
use std::sync::Arc;

/// Work that was captured, ready to be launched.
pub(crate) struct CudaGraph {
    exec: Kept<GraphExec>,
    /// The kernels that the work launches, which keep their modules loaded.
    _functions: Vec<Arc<CudaFunction>>,
}

impl CudaStream {
    /// Begins a capture: work that is queued from now on becomes part of a graph and does not run. The calls that this or
    /// another thread makes meanwhile are not restricted, because nobody else uses the stream.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn begin_capture(&self) -> Result<()> {
        self.context().make_current()?;
        self.stream()
            .begin_capture(CaptureMode::Relaxed)
            .map_err(of("cuStreamBeginCapture"))
    }

    /// Ends the capture. `functions` are the kernels that were launched.
    ///
    /// # Errors
    /// Errors of the driver, for example if the capture has failed.
    pub(crate) fn end_capture(&self, functions: Vec<Arc<CudaFunction>>) -> Result<CudaGraph> {
        self.context().make_current()?;
        let graph = self.stream().end_capture();
        let graph = graph.map_err(of("cuStreamEndCapture"))?;
        let graph = Kept::new(self.context(), graph, Graph::drop);
        // SAFETY: the kernels keep their modules loaded.
        let exec = unsafe { graph.instantiate() }.map_err(of("cuGraphInstantiateWithFlags"))?;
        Ok(CudaGraph {
            exec: Kept::new(self.context(), exec, GraphExec::drop),
            _functions: functions,
        })
    }

    /// Ends a capture that is not wanted any more.
    pub(crate) fn abandon_capture(&self) {
        if self.context().make_current().is_ok()
            && let Ok(graph) = self.stream().end_capture()
        {
            drop(Kept::new(self.context(), graph, Graph::drop));
        }
    }
}

impl CudaGraph {
    /// Queues the work in `stream`.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Safety
    /// What the work was captured with must still exist, and each part of it must be sound at this point of the stream.
    pub(crate) unsafe fn launch(&mut self, stream: &CudaStream) -> Result<()> {
        stream.context().make_current()?;
        // SAFETY: by the contract.
        unsafe { self.exec.launch(stream.stream()) }.map_err(of("cuGraphLaunch"))
    }
}

impl fmt::Debug for CudaGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaGraph")
            .field("exec", &*self.exec)
            .finish_non_exhaustive()
    }
}
