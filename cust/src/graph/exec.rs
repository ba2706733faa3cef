//! Graphs that can be launched.

use std::fmt;
use std::ptr;

use super::{Graph, GraphNode, KernelInvocation};
use crate::error::{CudaError, CudaResult, ToResult};
use crate::stream::Stream;
use crate::sys::{self, CUgraphExec};

/// A graph that can be launched.
#[derive(Debug)]
pub struct GraphExec {
    pub(super) raw: CUgraphExec,
}

// SAFETY: it may be used by any thread, by one at a time.
unsafe impl Send for GraphExec {}

impl GraphExec {
    /// Queues the graph in a stream.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// All that its nodes use is there until they are done: modules, memory, values that copies read. What holds for each
    /// launch and copy in it holds now.
    pub unsafe fn launch(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both are there; the rest is the contract.
        unsafe { sys::cuGraphLaunch(self.raw, stream.as_inner()) }.to_result()
    }

    /// Takes over what the nodes of a graph of the same form do.
    ///
    /// # Errors
    /// What the driver says, with the node that does not fit; this graph stays what it was.
    ///
    /// # Safety
    /// The modules of all kernels in the graph are still loaded.
    pub unsafe fn update(&mut self, graph: &Graph) -> Result<(), UpdateError> {
        let (mut node, mut result) = (ptr::null_mut(), 0);
        // SAFETY: places to write to; both graphs are there; the rest is the contract.
        let code = unsafe { sys::cuGraphExecUpdate(self.raw, graph.raw, &mut node, &mut result) };
        code.to_result().map_err(|error| UpdateError {
            error,
            node: (!node.is_null()).then_some(GraphNode { raw: node }),
            result,
        })
    }

    /// Has a kernel node launch another way. The node is the one of the graph that this was made of.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The node is one of the graph that this was made of, which is still there, and the invocation has the kernel's
    /// parameters, in number and type.
    pub unsafe fn set_kernel_node(
        &mut self,
        node: GraphNode,
        invocation: KernelInvocation<'_>,
    ) -> CudaResult<()> {
        invocation.with_raw(|params| {
            // SAFETY: by the contract; the driver copies the parameters.
            unsafe { sys::cuGraphExecKernelNodeSetParams(self.raw, node.raw, params) }.to_result()
        })
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> CUgraphExec {
        self.raw
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: this value's own. There is nobody to tell of an error.
        let _ = unsafe { sys::cuGraphExecDestroy(self.raw) };
    }
}

/// Why an update of a graph was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateError {
    /// The driver's error.
    pub error: CudaError,
    /// The node that does not fit, where the driver says which.
    pub node: Option<GraphNode>,
    /// The driver's number of the reason.
    pub result: sys::CUgraphExecUpdateResult,
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.result {
            2 => "the nodes or what they depend on are others",
            3 => "a node is of another type",
            4 => "a kernel of another function cannot be put there",
            5 => "a parameter changed that cannot be changed",
            6 => "something in a node cannot be changed",
            7 => "a function changed in a way that cannot be",
            8 => "an attribute changed that cannot be changed",
            other => return write!(f, "update of a graph: {}, reason {other}", self.error),
        };
        write!(f, "update of a graph: {}: {reason}", self.error)
    }
}

impl std::error::Error for UpdateError {}
