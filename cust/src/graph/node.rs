//! Nodes of graphs.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use crate::function::{BlockSize, Function, GridSize};
use crate::memory::DeviceCopy;
use crate::sys::{self, CUDA_KERNEL_NODE_PARAMS, CUgraphNode};

/// A kernel launch with copies of its arguments, for a node of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelInvocation<'a> {
    /// The number of threads of a block.
    pub block_dim: BlockSize,
    /// The number of blocks.
    pub grid_dim: GridSize,
    /// The dynamic shared memory of a block, in bytes.
    pub shared_mem_bytes: u32,
    func: sys::CUfunction,
    params: Vec<Box<[u128]>>,
    module: PhantomData<&'a ()>,
}

impl<'a> KernelInvocation<'a> {
    /// Creates an invocation without arguments. [`argument`](Self::argument) adds them.
    pub fn new(
        function: &Function<'a>,
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        shared_mem_bytes: u32,
    ) -> Self {
        Self {
            block_dim: block.into(),
            grid_dim: grid.into(),
            shared_mem_bytes,
            func: function.to_raw(),
            params: Vec::new(),
            module: PhantomData,
        }
    }

    /// Adds the next argument.
    #[must_use]
    pub fn argument<T: DeviceCopy>(mut self, value: T) -> Self {
        let mut words = vec![0_u128; size_of::<T>().div_ceil(16)].into_boxed_slice();
        // SAFETY: the words have room for a `T`, and an unaligned write needs no alignment.
        unsafe { words.as_mut_ptr().cast::<T>().write_unaligned(value) };
        self.params.push(words);
        self
    }

    /// Calls `work` with the driver's form of the invocation.
    pub(super) fn with_raw<R>(&self, work: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS) -> R) -> R {
        let mut pointers: Vec<*mut c_void> = self
            .params
            .iter()
            .map(|words| words.as_ptr().cast_mut().cast())
            .collect();
        work(&CUDA_KERNEL_NODE_PARAMS {
            func: self.func,
            gridDimX: self.grid_dim.x,
            gridDimY: self.grid_dim.y,
            gridDimZ: self.grid_dim.z,
            blockDimX: self.block_dim.x,
            blockDimY: self.block_dim.y,
            blockDimZ: self.block_dim.z,
            sharedMemBytes: self.shared_mem_bytes,
            kernelParams: pointers.as_mut_ptr(),
            extra: ptr::null_mut(),
        })
    }
}

/// Creates a [`KernelInvocation`] with the syntax of [`launch!`](crate::launch!) without the stream:
/// `kernel_invocation!(kernel<<<grid, block, shared>>>(arguments))`.
#[macro_export]
macro_rules! kernel_invocation {
    ($function:ident <<<$grid:expr, $block:expr, $shared:tt>>>($($arg:expr),* $(,)?)) => {
        $crate::graph::KernelInvocation::new(&$function, $grid, $block, $shared)$(.argument($arg))*
    };
}

/// The launch dimensions of a kernel node, as the driver returns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelNodeShape {
    /// The number of threads of a block.
    pub block_dim: BlockSize,
    /// The number of blocks.
    pub grid_dim: GridSize,
    /// The dynamic shared memory of a block, in bytes.
    pub shared_mem_bytes: u32,
}

/// A handle of a graph's node, which is checked when it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct GraphNode {
    pub(super) raw: CUgraphNode,
}

// SAFETY: the value is only a handle.
unsafe impl Send for GraphNode {}
// SAFETY: as above.
unsafe impl Sync for GraphNode {}

impl GraphNode {
    /// Creates a node from the driver's handle.
    pub fn from_raw(raw: CUgraphNode) -> Self {
        Self { raw }
    }

    /// Returns the driver's handle.
    pub fn to_raw(self) -> CUgraphNode {
        self.raw
    }
}

/// The type of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphNodeType {
    /// Launches a kernel.
    KernelInvocation,
    /// Copies memory.
    Memcpy,
    /// Fills memory.
    Memset,
    /// Calls a function on the host.
    HostExecute,
    /// Runs another graph.
    ChildGraph,
    /// Does nothing.
    Empty,
    /// Waits for an event.
    WaitEvent,
    /// Records an event.
    EventRecord,
    /// Signals a semaphore of another API.
    SemaphoreSignal,
    /// Waits for a semaphore of another API.
    SemaphoreWait,
    /// Allocates memory.
    MemoryAllocation,
    /// Frees memory.
    MemoryFree,
    /// Writes and waits for values in memory.
    BatchMemoryOperation,
    /// Runs a graph if a value says so, or for as long as it does.
    Conditional,
    /// A type that has no name here, with the driver's number.
    Other(u32),
}

impl GraphNodeType {
    /// Returns the type with the driver's number `raw`.
    pub fn from_raw(raw: sys::CUgraphNodeType) -> Self {
        NODE_TYPES
            .get(raw as usize)
            .copied()
            .unwrap_or(Self::Other(raw))
    }

    /// Returns the driver's number of the type.
    pub fn to_raw(self) -> sys::CUgraphNodeType {
        match self {
            Self::Other(raw) => raw,
            known => NODE_TYPES
                .iter()
                .position(|it| *it == known)
                .unwrap_or_default() as u32,
        }
    }
}

/// The types in the order of the driver's numbers.
const NODE_TYPES: [GraphNodeType; 14] = [
    GraphNodeType::KernelInvocation,
    GraphNodeType::Memcpy,
    GraphNodeType::Memset,
    GraphNodeType::HostExecute,
    GraphNodeType::ChildGraph,
    GraphNodeType::Empty,
    GraphNodeType::WaitEvent,
    GraphNodeType::EventRecord,
    GraphNodeType::SemaphoreSignal,
    GraphNodeType::SemaphoreWait,
    GraphNodeType::MemoryAllocation,
    GraphNodeType::MemoryFree,
    GraphNodeType::BatchMemoryOperation,
    GraphNodeType::Conditional,
];
