//! Kernels, and the shapes of their launches.

use std::ffi::c_int;
use std::marker::PhantomData;

use crate::context::{CacheConfig, SharedMemoryConfig};
use crate::error::{CudaError, CudaResult, ToResult, written};
use crate::launch::LaunchConfig;
use crate::module::Module;
use crate::sys::{self, CUfunction};

macro_rules! shapes {
    ($($name:ident, $what:literal;)*) => { $(
        #[doc = concat!("How many ", $what, " there are in each direction.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            /// In the first direction.
            pub x: u32,
            /// In the second.
            pub y: u32,
            /// In the third.
            pub z: u32,
        }

        impl $name {
            /// In one direction.
            #[inline]
            pub fn x(x: u32) -> $name {
                Self { x, y: 1, z: 1 }
            }

            /// In two directions.
            #[inline]
            pub fn xy(x: u32, y: u32) -> $name {
                Self { x, y, z: 1 }
            }

            /// In three directions.
            #[inline]
            pub fn xyz(x: u32, y: u32, z: u32) -> $name {
                Self { x, y, z }
            }

            /// All of them, as the driver counts.
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

/// Conversions from vectors. One of `usize` that does not fit 32 bits becomes the largest number, which the driver
/// refuses.
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

/// What can be asked about a kernel, and of the ones from `MaxDynamicSharedSizeBytes` on some be set. The names are the
/// driver's, without its prefix.
#[repr(u32)]
#[non_exhaustive]
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum FunctionAttribute {
    /// The most threads that a block can have.
    MaxThreadsPerBlock = 0,
    /// The bytes of shared memory that the kernel itself declares.
    SharedMemorySizeBytes = 1,
    /// The bytes of constant memory.
    ConstSizeBytes = 2,
    /// The bytes of local memory of a thread.
    LocalSizeBytes = 3,
    /// The registers of a thread.
    NumRegisters = 4,
    /// The version of PTX, ten times major plus minor.
    PtxVersion = 5,
    /// The architecture of the machine code, ten times major plus minor.
    BinaryVersion = 6,
    /// Whether it was compiled to cache all loads.
    CacheModeCa = 7,
    /// The most bytes of dynamic shared memory that a launch may ask for. Above 48 KiB it has to be set first.
    MaxDynamicSharedSizeBytes = 8,
    /// The wanted share of shared memory in a multiprocessor's memory, in percent.
    PreferredSharedMemoryCarveout = 9,
    /// Whether a launch has to say the size of its clusters.
    ClusterSizeMustBeSet = 10,
    /// The width of a cluster, in blocks, that the kernel was compiled for.
    RequiredClusterWidth = 11,
    /// Its height.
    RequiredClusterHeight = 12,
    /// Its depth.
    RequiredClusterDepth = 13,
    /// Whether clusters of a size may be used that not every device has.
    NonPortableClusterSizeAllowed = 14,
    /// How the blocks of a cluster are spread over multiprocessors.
    ClusterSchedulingPolicyPreference = 15,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Function<'a> {
    inner: CUfunction,
    module: PhantomData<&'a Module>,
}

// SAFETY: a kernel may be launched by any thread.
unsafe impl Send for Function<'_> {}
// SAFETY: as above.
unsafe impl Sync for Function<'_> {}

impl Function<'_> {
    pub(crate) fn new(inner: CUfunction, _module: &Module) -> Function<'_> {
        Function {
            inner,
            module: PhantomData,
        }
    }

    /// An attribute of the kernel.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_attribute(&self, attr: FunctionAttribute) -> CudaResult<i32> {
        // SAFETY: a place to write to; the kernel is there.
        written(|value| unsafe { sys::cuFuncGetAttribute(value, attr as u32, self.inner) })
    }

    /// Sets an attribute of the kernel.
    ///
    /// # Errors
    /// What the driver says, for instance that the attribute cannot be set.
    pub fn set_attribute(&mut self, attr: FunctionAttribute, value: i32) -> CudaResult<()> {
        // SAFETY: the kernel is there.
        unsafe { sys::cuFuncSetAttribute(self.inner, attr as u32, value) }.to_result()
    }

    /// Allows launches with so many bytes of dynamic shared memory: needed above 48 KiB.
    ///
    /// # Errors
    /// That the device has less.
    pub fn set_max_dynamic_shared_memory(&mut self, bytes: usize) -> CudaResult<()> {
        let bytes = i32::try_from(bytes).map_err(|_| CudaError::InvalidValue)?;
        self.set_attribute(FunctionAttribute::MaxDynamicSharedSizeBytes, bytes)
    }

    /// Sets the kernel's preference between the L1 cache and shared memory.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_cache_config(&mut self, config: CacheConfig) -> CudaResult<()> {
        // SAFETY: the kernel is there.
        unsafe { sys::cuFuncSetCacheConfig(self.inner, config as u32) }.to_result()
    }

    /// Sets the size of the banks of the kernel's shared memory.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_shared_memory_config(&mut self, cfg: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: the kernel is there.
        unsafe { sys::cuFuncSetSharedMemConfig(self.inner, cfg as u32) }.to_result()
    }

    /// The driver's handle.
    pub fn to_raw(&self) -> CUfunction {
        self.inner
    }

    /// The bytes of dynamic shared memory that a block can have where so many blocks of that size run on a multiprocessor.
    ///
    /// # Errors
    /// What the driver says.
    pub fn available_dynamic_shared_memory_per_block(
        &self,
        blocks: GridSize,
        block_size: BlockSize,
    ) -> CudaResult<usize> {
        let (blocks, threads) = (blocks.total()?, block_size.total()?);
        // SAFETY: a place to write to; the kernel is there.
        written(|bytes| unsafe {
            sys::cuOccupancyAvailableDynamicSMemPerBlock(bytes, self.inner, blocks, threads)
        })
    }

    /// How many blocks of that size run at once on a multiprocessor.
    ///
    /// # Errors
    /// What the driver says.
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        block_size: BlockSize,
        dynamic_smem_size: usize,
    ) -> CudaResult<u32> {
        let threads = block_size.total()?;
        let mut blocks = 0;
        // SAFETY: a place to write to; the kernel is there.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.inner,
                threads,
                dynamic_smem_size,
            )
        };
        code.to_result()?;
        count(blocks)
    }

    /// The fewest blocks that fill the device, and the size of a block for which that is so. A block has no more threads
    /// than `block_size_limit` in all; where that is 0 there is no limit.
    ///
    /// # Errors
    /// What the driver says.
    pub fn suggested_launch_configuration(
        &self,
        dynamic_smem_size: usize,
        block_size_limit: BlockSize,
    ) -> CudaResult<(u32, u32)> {
        let limit = block_size_limit.total()?;
        let (mut blocks, mut threads) = (0, 0);
        // SAFETY: places to write to; the kernel is there; shared memory does not depend on the block.
        let code = unsafe {
            sys::cuOccupancyMaxPotentialBlockSize(
                &mut blocks,
                &mut threads,
                self.inner,
                None,
                dynamic_smem_size,
                limit,
            )
        };
        code.to_result()?;
        Ok((count(blocks)?, count(threads)?))
    }

    /// The most blocks that a cluster of such a launch can have.
    ///
    /// # Errors
    /// What the driver says, for instance that the device has no clusters.
    pub fn max_potential_cluster_size(&self, config: &LaunchConfig) -> CudaResult<u32> {
        let mut size = 0;
        config.with_raw(std::ptr::null_mut(), |raw| {
            // SAFETY: a place to write to, a configuration to read; the kernel is there.
            unsafe { sys::cuOccupancyMaxPotentialClusterSize(&mut size, self.inner, raw) }
                .to_result()
        })?;
        count(size)
    }

    /// How many clusters of such a launch run at once on the device.
    ///
    /// # Errors
    /// What the driver says, for instance that the device has no clusters.
    pub fn max_active_clusters(&self, config: &LaunchConfig) -> CudaResult<u32> {
        let mut clusters = 0;
        config.with_raw(std::ptr::null_mut(), |raw| {
            // SAFETY: a place to write to, a configuration to read; the kernel is there.
            unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, self.inner, raw) }.to_result()
        })?;
        count(clusters)
    }
}

fn count(value: c_int) -> CudaResult<u32> {
    u32::try_from(value).map_err(|_| CudaError::UnexpectedValue)
}
