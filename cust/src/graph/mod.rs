//! Graphs: work that is described once, by stream capture or node by node, and launched as a whole.

mod capture;
mod exec;
mod node;

pub use self::capture::{CaptureMode, CaptureStatus};
pub use self::exec::{GraphExec, UpdateError};
pub use self::node::{GraphNode, GraphNodeType, KernelInvocation, KernelNodeShape};

use std::ffi::CString;
use std::path::Path;
use std::ptr;

use crate::error::{CudaError, CudaResult, DropResult, ToResult};
use crate::function::{BlockSize, GridSize};
use crate::sys::{self, CUDA_KERNEL_NODE_PARAMS, CUgraph, CUgraphNode};

bitflags::bitflags! {
    /// Flags of [`Graph::new`]. CUDA defines none so far.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct GraphCreationFlags: u32 {
        /// No flags.
        const NONE = 0;
    }
}

/// A graph: nodes and the dependencies between them.
#[derive(Debug)]
pub struct Graph {
    raw: CUgraph,
}

// SAFETY: any thread may use a graph, and one thread at a time may change it.
unsafe impl Send for Graph {}

impl Graph {
    /// Creates a graph without nodes.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(flags: GraphCreationFlags) -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuGraphCreate(&mut raw, flags.bits()) }.to_result()?;
        Ok(Self { raw })
    }

    /// Adds a node that launches a kernel after all of `dependencies`.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if a dependency is no node of this graph, or the driver's error.
    ///
    /// # Safety
    /// The invocation must match the kernel's parameters in number and type, since the driver reads as many bytes as the
    /// kernel has parameters.
    pub unsafe fn add_kernel_node(
        &mut self,
        invocation: KernelInvocation<'_>,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let dependencies = self.checked(dependencies.as_ref())?;
        let mut raw = ptr::null_mut();
        invocation.with_raw(|params| {
            // SAFETY: one pointer is valid for a write, the others for reads of `dependencies.len()` nodes of this graph
            // and of the kernel's parameters, which the driver copies.
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
    /// Returns [`CudaError::InvalidValue`] if a dependency is no node of this graph, or the driver's error.
    pub fn add_empty_node(
        &mut self,
        dependencies: impl AsRef<[GraphNode]>,
    ) -> CudaResult<GraphNode> {
        let dependencies = self.checked(dependencies.as_ref())?;
        let mut raw = ptr::null_mut();
        // SAFETY: one pointer is valid for a write, the other for reads of `dependencies.len()` nodes of this graph.
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

    /// Returns whether a node belongs to this graph.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn is_valid_node(&self, node: GraphNode) -> CudaResult<bool> {
        Ok(self.nodes()?.contains(&node))
    }

    /// Returns the number of nodes.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn num_nodes(&self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the pointer is valid for a write; null asks for the number.
        unsafe { sys::cuGraphGetNodes(self.raw, ptr::null_mut(), &mut count) }.to_result()?;
        Ok(count)
    }

    /// Returns all nodes.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn nodes(&self) -> CudaResult<Vec<GraphNode>> {
        let mut nodes = vec![
            GraphNode {
                raw: ptr::null_mut()
            };
            self.num_nodes()?
        ];
        let mut count = nodes.len();
        // SAFETY: the vector has room for `count` nodes; `GraphNode` is `repr(transparent)` over the handle.
        unsafe { sys::cuGraphGetNodes(self.raw, nodes.as_mut_ptr().cast(), &mut count) }
            .to_result()?;
        nodes.truncate(count);
        Ok(nodes)
    }

    /// Returns the number of edges.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn num_edges(&self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the pointer is valid for a write; null asks for the number.
        let code =
            unsafe { sys::cuGraphGetEdges(self.raw, ptr::null_mut(), ptr::null_mut(), &mut count) };
        code.to_result()?;
        Ok(count)
    }

    /// Returns all edges, each as a node and a node that depends on it.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn edges(&self) -> CudaResult<Vec<(GraphNode, GraphNode)>> {
        let mut from = vec![ptr::null_mut(); self.num_edges()?];
        let mut to = from.clone();
        let mut count = from.len();
        // SAFETY: both vectors have room for `count` nodes.
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

    /// Returns the type of a node.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the node does not belong to this graph, or the driver's error.
    pub fn node_type(&self, node: GraphNode) -> CudaResult<GraphNodeType> {
        self.checked(&[node])?;
        let mut kind = 0;
        // SAFETY: the pointer is valid for a write; the node is valid.
        unsafe { sys::cuGraphNodeGetType(node.raw, &mut kind) }.to_result()?;
        Ok(GraphNodeType::from_raw(kind))
    }

    /// Returns the launch dimensions of a kernel node.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the node is no kernel node of this graph, or the driver's error.
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
        // SAFETY: the pointer is valid for a write; the node is valid.
        unsafe { sys::cuGraphKernelNodeGetParams(node.raw, &mut raw) }.to_result()?;
        Ok(KernelNodeShape {
            block_dim: BlockSize::xyz(raw.blockDimX, raw.blockDimY, raw.blockDimZ),
            grid_dim: GridSize::xyz(raw.gridDimX, raw.gridDimY, raw.gridDimZ),
            shared_mem_bytes: raw.sharedMemBytes,
        })
    }

    /// Writes the graph to a DOT file for Graphviz.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] for a path that is not UTF-8 or contains a NUL, or the driver's error.
    pub fn dump_debug_dotfile<P: AsRef<Path>>(&self, path: P) -> CudaResult<()> {
        let path = path
            .as_ref()
            .to_str()
            .and_then(|path| CString::new(path).ok());
        let path = path.ok_or(CudaError::InvalidValue)?;
        // SAFETY: the path is a C string; 0 is no flags.
        unsafe { sys::cuGraphDebugDotPrint(self.raw, path.as_ptr(), 0) }.to_result()
    }

    /// Creates an executable graph from this graph.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The modules of all kernels in the graph must still be loaded.
    pub unsafe fn instantiate(&self) -> CudaResult<GraphExec> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is valid for a write; 0 is no flags; the caller guarantees the rest.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, self.raw, 0) }.to_result()?;
        Ok(GraphExec { raw })
    }

    /// Creates a graph from the driver's handle, which it then owns.
    ///
    /// # Safety
    /// The handle must be that of a graph that nothing else owns.
    pub unsafe fn from_raw(raw: CUgraph) -> Self {
        Self { raw }
    }

    /// Returns the driver's handle, which the caller must then destroy.
    pub fn into_raw(self) -> CUgraph {
        std::mem::ManuallyDrop::new(self).raw
    }
}

impl Graph {
    /// Destroys the graph and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the graph.
    pub fn drop(graph: Graph) -> DropResult<Graph> {
        // SAFETY: this value owns the handle, and is forgotten once it is destroyed.
        match unsafe { sys::cuGraphDestroy(graph.raw) }.to_result() {
            Ok(()) => {
                std::mem::forget(graph);
                Ok(())
            }
            Err(error) => Err((error, graph)),
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle. A destructor cannot return an error.
        let _ = unsafe { sys::cuGraphDestroy(self.raw) };
    }
}
