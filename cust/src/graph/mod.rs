//! Graphs: work that is described once, by capturing a stream or node by node, and queued as a whole.

mod capture;
mod exec;
mod node;

pub use self::capture::{CaptureMode, CaptureStatus};
pub use self::exec::{GraphExec, UpdateError};
pub use self::node::{GraphNode, GraphNodeType, KernelInvocation, KernelNodeShape};

use std::ffi::CString;
use std::path::Path;
use std::ptr;

use crate::error::{CudaError, CudaResult, ToResult};
use crate::function::{BlockSize, GridSize};
use crate::sys::{self, CUDA_KERNEL_NODE_PARAMS, CUgraph, CUgraphNode};

bitflags::bitflags! {
    /// Flags of [`Graph::new`]: CUDA has none so far.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct GraphCreationFlags: u32 {
        /// Nothing special.
        const NONE = 0;
    }
}

/// Nodes, and which of them come before which.
#[derive(Debug)]
pub struct Graph {
    raw: CUgraph,
}

// SAFETY: a graph may be used by any thread, by one at a time where it is changed.
unsafe impl Send for Graph {}

impl Graph {
    /// A graph without nodes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(flags: GraphCreationFlags) -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: a place to write to.
        unsafe { sys::cuGraphCreate(&mut raw, flags.bits()) }.to_result()?;
        Ok(Self { raw })
    }

    /// Adds a node that runs a kernel after all of `dependencies`.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where a dependency is no node of this graph, and what the driver says.
    ///
    /// # Safety
    /// The invocation has the kernel's parameters, in number and type: the driver reads as many bytes as the kernel has.
    pub unsafe fn add_kernel_node(
        &mut self,
        invocation: KernelInvocation<'_>,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let dependencies = self.checked(dependencies.as_ref())?;
        let mut raw = ptr::null_mut();
        invocation.with_raw(|params| {
            // SAFETY: a place to write to, so many nodes of this graph; the driver copies the parameters, of which there are
            // as many as the kernel has.
            unsafe {
                sys::cuGraphAddKernelNode(
                    &mut raw,
                    self.raw,
                    dependencies.as_ptr(),
                    dependencies.len(),
                    params,
                )
            }
            .to_result()
        })?;
        Ok(GraphNode { raw })
    }

    /// Adds a node that does nothing after all of `dependencies`.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where a dependency is no node of this graph, and what the driver says.
    pub fn add_empty_node(
        &mut self,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let dependencies = self.checked(dependencies.as_ref())?;
        let mut raw = ptr::null_mut();
        // SAFETY: a place to write to, so many nodes of this graph.
        let code = unsafe {
            sys::cuGraphAddEmptyNode(
                &mut raw,
                self.raw,
                dependencies.as_ptr(),
                dependencies.len(),
            )
        };
        code.to_result()?;
        Ok(GraphNode { raw })
    }

    fn checked(&self, nodes: &[GraphNode]) -> CudaResult<Vec<CUgraphNode>> {
        let own = if nodes.is_empty() {
            Vec::new()
        } else {
            self.nodes()?
        };
        if nodes.iter().all(|node| own.contains(node)) {
            Ok(nodes.iter().map(|node| node.raw).collect())
        } else {
            Err(CudaError::InvalidValue)
        }
    }

    /// Whether a node is one of this graph.
    ///
    /// # Errors
    /// What the driver says.
    pub fn is_valid_node(&self, node: GraphNode) -> CudaResult<bool> {
        Ok(self.nodes()?.contains(&node))
    }

    /// How many nodes there are.
    ///
    /// # Errors
    /// What the driver says.
    pub fn num_nodes(&self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: a place to write to; null asks for the number.
        unsafe { sys::cuGraphGetNodes(self.raw, ptr::null_mut(), &mut count) }.to_result()?;
        Ok(count)
    }

    /// All nodes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn nodes(&self) -> CudaResult<Vec<GraphNode>> {
        let mut nodes = vec![
            GraphNode {
                raw: ptr::null_mut()
            };
            self.num_nodes()?
        ];
        let mut count = nodes.len();
        // SAFETY: room for so many; a node is its handle.
        unsafe { sys::cuGraphGetNodes(self.raw, nodes.as_mut_ptr().cast(), &mut count) }
            .to_result()?;
        nodes.truncate(count);
        Ok(nodes)
    }

    /// How many pairs of a node and one that depends on it there are.
    ///
    /// # Errors
    /// What the driver says.
    pub fn num_edges(&self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: a place to write to; null asks for the number.
        let code =
            unsafe { sys::cuGraphGetEdges(self.raw, ptr::null_mut(), ptr::null_mut(), &mut count) };
        code.to_result()?;
        Ok(count)
    }

    /// All pairs of a node and one that depends on it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn edges(&self) -> CudaResult<Vec<(GraphNode, GraphNode)>> {
        let mut from = vec![ptr::null_mut(); self.num_edges()?];
        let mut to = from.clone();
        let mut count = from.len();
        // SAFETY: room for so many in each.
        let code = unsafe {
            sys::cuGraphGetEdges(self.raw, from.as_mut_ptr(), to.as_mut_ptr(), &mut count)
        };
        code.to_result()?;
        let node = GraphNode::from_raw;
        Ok(from
            .into_iter()
            .zip(to)
            .take(count)
            .map(|(from, to)| (node(from), node(to)))
            .collect())
    }

    /// What a node does.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where it is no node of this graph, and what the driver says.
    pub fn node_type(&self, node: GraphNode) -> CudaResult<GraphNodeType> {
        self.checked(&[node])?;
        let mut kind = 0;
        // SAFETY: a place to write to; the node is there.
        unsafe { sys::cuGraphNodeGetType(node.raw, &mut kind) }.to_result()?;
        Ok(GraphNodeType::from_raw(kind))
    }

    /// The shape of a kernel node.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where it is no kernel node of this graph, and what the driver says.
    pub fn kernel_node_shape(&self, node: GraphNode) -> CudaResult<KernelNodeShape> {
        if self.node_type(node)? != GraphNodeType::KernelInvocation {
            return Err(CudaError::InvalidValue);
        }
        let mut raw = CUDA_KERNEL_NODE_PARAMS {
            func: ptr::null_mut(),
            gridDimX: 0,
            gridDimY: 0,
            gridDimZ: 0,
            blockDimX: 0,
            blockDimY: 0,
            blockDimZ: 0,
            sharedMemBytes: 0,
            kernelParams: ptr::null_mut(),
            extra: ptr::null_mut(),
        };
        // SAFETY: a place to write to; the node is there.
        unsafe { sys::cuGraphKernelNodeGetParams(node.raw, &mut raw) }.to_result()?;
        Ok(KernelNodeShape {
            block_dim: BlockSize::xyz(raw.blockDimX, raw.blockDimY, raw.blockDimZ),
            grid_dim: GridSize::xyz(raw.gridDimX, raw.gridDimY, raw.gridDimZ),
            shared_mem_bytes: raw.sharedMemBytes,
        })
    }

    /// Writes the graph as a file for Graphviz.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] for a path that is not UTF-8 or has a NUL in it, and what the driver says.
    pub fn dump_debug_dotfile<P: AsRef<Path>>(&self, path: P) -> CudaResult<()> {
        let path = path
            .as_ref()
            .to_str()
            .and_then(|path| CString::new(path).ok());
        let path = path.ok_or(CudaError::InvalidValue)?;
        // SAFETY: a C string; no flags.
        unsafe { sys::cuGraphDebugDotPrint(self.raw, path.as_ptr(), 0) }.to_result()
    }

    /// Makes of the graph what can be launched.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The modules of all kernels in the graph are still loaded.
    pub unsafe fn instantiate(&self) -> CudaResult<GraphExec> {
        let mut raw = ptr::null_mut();
        // SAFETY: a place to write to; no flags; the rest is the contract.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, self.raw, 0) }.to_result()?;
        Ok(GraphExec { raw })
    }

    /// A graph of the driver's handle.
    ///
    /// # Safety
    /// It is a graph, and nobody else's.
    pub unsafe fn from_raw(raw: CUgraph) -> Self {
        Self { raw }
    }

    /// The driver's handle, which is then the caller's to destroy.
    pub fn into_raw(self) -> CUgraph {
        std::mem::ManuallyDrop::new(self).raw
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: this value's own. There is nobody to tell of an error.
        let _ = unsafe { sys::cuGraphDestroy(self.raw) };
    }
}
