//! Executable graphs.

use std::fmt;
use std::mem;
use std::ptr;

use super::{Graph, GraphNode, KernelInvocation};
use crate::error::{CudaError, CudaResult, DropResult, ToResult};
use crate::stream::Stream;
use crate::sys::{self, CUgraphExec};

/// An executable graph, made by [`Graph::instantiate`].
#[derive(Debug)]
pub struct GraphExec {
    pub(super) raw: CUgraphExec,
}

// SAFETY: any thread may use it, one thread at a time.
unsafe impl Send for GraphExec {}
// SAFETY: what a shared reference gives is the handle alone.
unsafe impl Sync for GraphExec {}

impl GraphExec {
    /// Launches the graph in a stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The resources that the nodes use must live until the nodes have finished: modules, memory, and the sources of
    /// copies. The conditions of each launch and copy in the graph must hold now.
    pub unsafe fn launch(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both handles are valid; the caller guarantees the rest.
        unsafe { sys::cuGraphLaunch(self.raw, stream.as_inner()) }.to_result()
    }

    /// Updates the nodes to those of `graph`, which must have the same topology.
    ///
    /// # Errors
    /// Returns the driver's error and the node that does not match. This graph is then unchanged.
    ///
    /// # Safety
    /// The modules of all kernels in `graph` must still be loaded.
    pub unsafe fn update(&mut self, graph: &Graph) -> Result<(), UpdateError> {
        let (mut node, mut result) = (ptr::null_mut(), 0);
        // SAFETY: the pointers are valid for writes; both graphs are valid; the caller guarantees the rest.
        let code = unsafe { sys::cuGraphExecUpdate(self.raw, graph.raw, &mut node, &mut result) };
        code.to_result().map_err(|error| UpdateError {
            error,
            node: (!node.is_null()).then_some(GraphNode { raw: node }),
            result,
        })
    }

    /// Replaces the launch of a kernel node. `node` is a node of the graph that this one was instantiated from.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The node must belong to the graph that this one was instantiated from, which must still exist. The invocation must
    /// match the kernel's parameters in number and type.
    pub unsafe fn set_kernel_node(
        &mut self,
        node: GraphNode,
        invocation: KernelInvocation<'_>,
    ) -> CudaResult<()> {
        invocation.with_raw(|params| {
            // SAFETY: the caller upholds the contract; the driver copies the parameters.
            unsafe { sys::cuGraphExecKernelNodeSetParams(self.raw, node.raw, params) }.to_result()
        })
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUgraphExec {
        self.raw
    }
}

impl GraphExec {
    /// Destroys the executable graph and returns the driver's error, which a drop ignores. A launch that runs goes on.
    ///
    /// # Errors
    /// Returns the driver's error and the graph.
    pub fn drop(exec: GraphExec) -> DropResult<GraphExec> {
        // SAFETY: this value owns the handle, and is forgotten once it is destroyed.
        match unsafe { sys::cuGraphExecDestroy(exec.raw) }.to_result() {
            Ok(()) => {
                mem::forget(exec);
                Ok(())
            }
            Err(error) => Err((error, exec)),
        }
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle. A destructor cannot return an error.
        let _ = unsafe { sys::cuGraphExecDestroy(self.raw) };
    }
}

/// The error of an update of an executable graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateError {
    /// The driver's error.
    pub error: CudaError,
    /// The node that does not match, if the driver names it.
    pub node: Option<GraphNode>,
    /// The reason, as the driver's number.
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
