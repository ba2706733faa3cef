//! Launches: the macro [`launch!`](crate::launch!), and [`LaunchConfig`] for what it has no place for.

use std::ffi::c_void;

use crate::error::CudaResult;
use crate::function::{BlockSize, GridSize};
use crate::memory::DeviceCopy;
use crate::sys::{
    self, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUstream,
};

/// Queues a kernel in a stream.
///
/// `launch!(kernel<<<grid, block, shared, stream>>>(arguments))`, where `kernel` is a
/// [`Function`](crate::function::Function), or `module.kernel` to look it up by its name first. `grid` and `block` are what
/// can be made a [`GridSize`] and a [`BlockSize`], `shared` the bytes of dynamic shared memory,
/// `stream` the name of a variable. Each argument is evaluated once and must be [`DeviceCopy`]. What comes of it is a
/// [`CudaResult`]`<()>`: that the kernel was queued, not that it ran.
///
/// # Safety
/// The arguments are, in number and type, the kernel's parameters, and the kernel may be run with them.
///
/// ```no_run
/// # use cust::prelude::*;
/// # fn example(module: &Module, stream: Stream, out: &DeviceBuffer<f32>) -> cust::error::CudaResult<()> {
/// // SAFETY: the kernel takes a pointer and a length, and stays inside.
/// unsafe {
///     launch!(module.fill<<<(4, 1), 256, 0, stream>>>(out.as_device_ptr(), out.len()))?;
/// }
/// stream.synchronize()
/// # }
/// ```
#[macro_export]
macro_rules! launch {
    ($module:ident . $function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>($($arg:expr),* $(,)?)) => {
        match $module.get_function(stringify!($function)) {
            Ok(function) => $crate::launch!(function<<<$grid, $block, $shared, $stream>>>($($arg),*)),
            Err(error) => Err(error),
        }
    };
    ($function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>($($arg:expr),* $(,)?)) => {
        $stream.launch(
            &$function,
            $grid,
            $block,
            $shared,
            &[$($crate::launch::parameter(&$arg)),*],
        )
    };
}

/// A parameter as a launch wants it: a pointer to the value, good for as long as the value is there.
pub fn parameter<T: DeviceCopy>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// The shape of a launch, with clusters of blocks and more.
///
/// ```
/// use cust::launch::LaunchConfig;
///
/// let config = LaunchConfig::new(64, 256).shared_bytes(1024).cluster(2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    grid: GridSize,
    block: BlockSize,
    shared_bytes: u32,
    cluster: Option<GridSize>,
    cooperative: bool,
    priority: Option<i32>,
}

impl LaunchConfig {
    /// So many blocks of so many threads.
    pub fn new(grid: impl Into<GridSize>, block: impl Into<BlockSize>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            shared_bytes: 0,
            cluster: None,
            cooperative: false,
            priority: None,
        }
    }

    /// So many bytes of dynamic shared memory per block.
    #[must_use]
    pub fn shared_bytes(self, shared_bytes: u32) -> Self {
        Self {
            shared_bytes,
            ..self
        }
    }

    /// Clusters of so many blocks.
    #[must_use]
    pub fn cluster(self, blocks: impl Into<GridSize>) -> Self {
        Self {
            cluster: Some(blocks.into()),
            ..self
        }
    }

    /// All blocks run at once, and may wait for one another.
    #[must_use]
    pub fn cooperative(self, cooperative: bool) -> Self {
        Self {
            cooperative,
            ..self
        }
    }

    /// A priority beside the stream's.
    #[must_use]
    pub fn priority(self, priority: i32) -> Self {
        Self {
            priority: Some(priority),
            ..self
        }
    }

    /// Does something with the driver's form of the configuration.
    pub(crate) fn with_raw<T>(
        &self,
        stream: CUstream,
        work: impl FnOnce(&CUlaunchConfig) -> CudaResult<T>,
    ) -> CudaResult<T> {
        let mut attributes = Vec::new();
        if let Some(cluster) = self.cluster {
            attributes.push(attribute(
                sys::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                &[cluster.x, cluster.y, cluster.z],
            ));
        }
        if self.cooperative {
            attributes.push(attribute(sys::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &[1]));
        }
        if let Some(priority) = self.priority {
            attributes.push(attribute(
                sys::CU_LAUNCH_ATTRIBUTE_PRIORITY,
                &[priority.cast_unsigned()],
            ));
        }
        work(&CUlaunchConfig {
            gridDimX: self.grid.x,
            gridDimY: self.grid.y,
            gridDimZ: self.grid.z,
            blockDimX: self.block.x,
            blockDimY: self.block.y,
            blockDimZ: self.block.z,
            sharedMemBytes: self.shared_bytes,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        })
    }
}

fn attribute(id: CUlaunchAttributeID, words: &[u32]) -> CUlaunchAttribute {
    let mut value = [0; 16];
    value[..words.len()].copy_from_slice(words);
    CUlaunchAttribute {
        id,
        pad: [0],
        value: CUlaunchAttributeValue(value),
    }
}
