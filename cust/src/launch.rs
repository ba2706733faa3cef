//! Launches: the macro [`launch!`](crate::launch!), their dimensions, and [`LaunchConfig`] for launches with attributes.

use std::ffi::{c_int, c_void};

use crate::error::{CudaError, CudaResult};
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

macro_rules! shapes {
    ($($name:ident, $what:literal;)*) => { $(
        #[doc = concat!("The number of ", $what, " in each dimension.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The x dimension.
            pub x: u32,
            /// The y dimension.
            pub y: u32,
            /// The z dimension.
            pub z: u32,
        }

        impl $name {
            /// Creates a one-dimensional size.
            #[inline]
            pub fn x(x: u32) -> $name {
                Self { x, y: 1, z: 1 }
            }

            /// Creates a two-dimensional size.
            #[inline]
            pub fn xy(x: u32, y: u32) -> $name {
                Self { x, y, z: 1 }
            }

            /// Creates a three-dimensional size.
            #[inline]
            pub fn xyz(x: u32, y: u32, z: u32) -> $name {
                Self { x, y, z }
            }

            /// Returns the product of the dimensions as the driver's integer type.
            pub(crate) fn total(self) -> CudaResult<c_int> {
                let all = self.x.checked_mul(self.y).and_then(|plane| plane.checked_mul(self.z));
                all.and_then(|all| c_int::try_from(all).ok()).ok_or(CudaError::InvalidValue)
            }
        }

        impl From<u32> for $name {
            fn from(x: u32) -> $name {
                Self::x(x)
            }
        }

        impl From<(u32, u32)> for $name {
            fn from((x, y): (u32, u32)) -> $name {
                Self::xy(x, y)
            }
        }

        impl From<(u32, u32, u32)> for $name {
            fn from((x, y, z): (u32, u32, u32)) -> $name {
                Self::xyz(x, y, z)
            }
        }

        impl From<&$name> for $name {
            fn from(other: &$name) -> $name {
                *other
            }
        }

        vectors!("vek", $name, [vek::Vec2<u32>, vek::Vec2<usize>], [vek::Vec3<u32>, vek::Vec3<usize>]);
        vectors!("glam", $name, [glam::UVec2, glam::USizeVec2], [glam::UVec3, glam::USizeVec3]);
    )* };
}

/// Conversions from vectors. A `usize` that does not fit in 32 bits becomes `u32::MAX`, which the driver refuses.
macro_rules! vectors {
    ($feature:literal, $name:ident, [$($two:ty),*], [$($three:ty),*]) => {
        $(
            #[cfg(feature = $feature)]
            impl From<$two> for $name {
                fn from(vec: $two) -> Self {
                    Self::xy(narrow(vec.x), narrow(vec.y))
                }
            }
        )*
        $(
            #[cfg(feature = $feature)]
            impl From<$three> for $name {
                fn from(vec: $three) -> Self {
                    Self::xyz(narrow(vec.x), narrow(vec.y), narrow(vec.z))
                }
            }
        )*
    };
}

#[cfg(any(feature = "vek", feature = "glam"))]
fn narrow(count: impl TryInto<u32>) -> u32 {
    count.try_into().unwrap_or(u32::MAX)
}

shapes! {
    GridSize, "blocks";
    BlockSize, "threads of a block";
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
