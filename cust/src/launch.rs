//! Launches: the macro [`launch!`](crate::launch!), and [`LaunchConfig`] for launches with attributes.

use std::ffi::c_void;

use crate::error::CudaResult;
use crate::function::{BlockSize, GridSize};
use crate::memory::DeviceCopy;
use crate::sys::{
    self, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUstream,
};

/// Launches a kernel in a stream.
///
/// The syntax is `launch!(kernel<<<grid, block, shared, stream>>>(arguments))`. `kernel` is a
/// [`Function`](crate::function::Function), or `module.kernel`, which looks the kernel up by its name first. `grid` and
/// `block` are values that convert to a [`GridSize`] and a [`BlockSize`], `shared` is the dynamic shared memory in bytes,
/// and `stream` is the name of a variable. Each argument is evaluated once and must be [`DeviceCopy`]. The value is a
/// [`CudaResult`]`<()>`, which says that the launch was queued, not that the kernel ran.
///
/// # Safety
/// The arguments must match the kernel's parameters in number and type, and the kernel must be sound to run with them.
///
/// ```no_run
/// # use cust::prelude::*;
/// # fn example(module: &Module, stream: Stream, out: &DeviceBuffer<f32>) -> cust::error::CudaResult<()> {
/// // SAFETY: the kernel takes a pointer and a length, and stays in bounds.
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

/// Returns a launch parameter: a pointer to the value, which is valid for as long as the value lives.
pub fn parameter<T: DeviceCopy>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// The shape and the attributes of a launch: grid, block, shared memory, clusters, cooperation, priority.
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
    /// Creates a configuration with a grid of `grid` blocks of `block` threads each, and no attributes.
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

    /// Sets the dynamic shared memory of a block, in bytes. The default is 0.
    #[must_use]
    pub fn shared_bytes(self, shared_bytes: u32) -> Self {
        Self {
            shared_bytes,
            ..self
        }
    }

    /// Sets the number of blocks in a cluster.
    #[must_use]
    pub fn cluster(self, blocks: impl Into<GridSize>) -> Self {
        Self {
            cluster: Some(blocks.into()),
            ..self
        }
    }

    /// Makes the launch cooperative: all blocks are resident at once, and may wait for one another.
    #[must_use]
    pub fn cooperative(self, cooperative: bool) -> Self {
        Self {
            cooperative,
            ..self
        }
    }

    /// Sets the priority of the launch, in place of the stream's.
    #[must_use]
    pub fn priority(self, priority: i32) -> Self {
        Self {
            priority: Some(priority),
            ..self
        }
    }

    /// Calls `work` with the driver's form of the configuration.
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
