//! Graphs: work of a stream that is captured once and launched many times.

use super::error::{CudaError, Result, of};
use super::kept::Kept;
use super::module::CudaFunction;
use super::stream::CudaStream;
use cust::error::CudaError as DriverError;
use cust::graph::{CaptureMode, Graph, GraphExec};
use std::fmt;
use std::sync::Arc;

/// Work that was captured.
pub(crate) struct CudaWork {
    graph: Kept<Graph>,
    /// The kernels that the work launches, which keep their modules loaded.
    functions: Vec<Arc<CudaFunction>>,
}

/// Work that was captured, ready to be launched.
pub(crate) struct CudaGraph {
    exec: Kept<GraphExec>,
    /// The kernels of the work, and of the work before its updates, whose launches may still run.
    functions: Vec<Arc<CudaFunction>>,
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
    pub(crate) fn end_capture(&self, functions: Vec<Arc<CudaFunction>>) -> Result<CudaWork> {
        self.context().make_current()?;
        let graph = self.stream().end_capture();
        let graph = graph.map_err(of("cuStreamEndCapture"))?;
        Ok(CudaWork {
            graph: Kept::new(self.context(), graph, Graph::drop),
            functions,
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

impl CudaWork {
    /// Makes the work ready to be launched.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn instantiate(self) -> Result<CudaGraph> {
        let context = self.graph.context();
        context.make_current()?;
        // SAFETY: the kernels keep their modules loaded.
        let exec =
            unsafe { self.graph.instantiate() }.map_err(of("cuGraphInstantiateWithFlags"))?;
        Ok(CudaGraph {
            exec: Kept::new(context, exec, GraphExec::drop),
            functions: self.functions,
        })
    }
}

impl CudaGraph {
    /// Replaces the work. Launches before do the work of then, also if they still run. The nodes are updated in place; work
    /// that the driver does not put there is made ready anew.
    ///
    /// # Errors
    /// Errors of the driver. The work is then as it was.
    pub(crate) fn update(&mut self, work: CudaWork) -> Result<()> {
        work.graph.context().make_current()?;
        // The kernels of before stay, because nobody knows here whether their launches are done.
        for function in &work.functions {
            if !self.functions.iter().any(|it| Arc::ptr_eq(it, function)) {
                self.functions.push(function.clone());
            }
        }
        // SAFETY: the kernels keep their modules loaded.
        match unsafe { self.exec.update(&work.graph) } {
            Ok(()) => Ok(()),
            Err(refused) if refused.error == DriverError::GraphExecUpdateFailure => {
                self.exec = work.instantiate()?.exec;
                Ok(())
            }
            Err(failed) => Err(CudaError::new("cuGraphExecUpdate", failed.error)),
        }
    }

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
