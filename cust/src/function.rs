//! Kernels and their attributes.

use std::ffi::{CString, c_int};
use std::marker::PhantomData;
use std::ptr;

use crate::context::{CacheConfig, SharedMemoryConfig};
use crate::error::{CudaError, CudaResult, ToResult, written};
use crate::launch::LaunchConfig;
pub use crate::launch::{BlockSize, GridSize};
use crate::module::Module;
use crate::sys::{self, CUfunction};

/// An attribute of a kernel. Some of those from `MaxDynamicSharedSizeBytes` on can also be set. The names are the driver's
/// without the prefix `CU_FUNC_ATTRIBUTE_`.
#[repr(u32)]
#[non_exhaustive]
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum FunctionAttribute {
    /// The maximum number of threads in a block.
    MaxThreadsPerBlock = 0,
    /// The static shared memory of a block, in bytes.
    SharedMemorySizeBytes = 1,
    /// The constant memory that the kernel uses, in bytes.
    ConstSizeBytes = 2,
    /// The local memory of a thread, in bytes.
    LocalSizeBytes = 3,
    /// The number of registers of a thread.
    NumRegisters = 4,
    /// The PTX version: ten times the major version plus the minor version.
    PtxVersion = 5,
    /// The architecture of the machine code: ten times the major version plus the minor version.
    BinaryVersion = 6,
    /// Whether the kernel was compiled to cache global loads in the L1 cache.
    CacheModeCa = 7,
    /// The maximum dynamic shared memory of a launch, in bytes. It must be set before a launch with more than 48 KiB.
    MaxDynamicSharedSizeBytes = 8,
    /// The preferred share of shared memory in a multiprocessor's L1 cache and shared memory, in percent.
    PreferredSharedMemoryCarveout = 9,
    /// Whether a launch must set the cluster size.
    ClusterSizeMustBeSet = 10,
    /// The x dimension of the cluster that the kernel was compiled for, in blocks.
    RequiredClusterWidth = 11,
    /// The y dimension of that cluster.
    RequiredClusterHeight = 12,
    /// The z dimension of that cluster.
    RequiredClusterDepth = 13,
    /// Whether the kernel may run with cluster sizes that not every device supports.
    NonPortableClusterSizeAllowed = 14,
    /// The policy that schedules the blocks of a cluster.
    ClusterSchedulingPolicyPreference = 15,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Function<'a> {
    inner: CUfunction,
    module: PhantomData<&'a Module>,
}

// SAFETY: any thread may launch a kernel.
unsafe impl Send for Function<'_> {}
// SAFETY: as above.
unsafe impl Sync for Function<'_> {}

impl Function<'_> {
    /// Returns an attribute of the kernel.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_attribute(&self, attr: FunctionAttribute) -> CudaResult<i32> {
        // SAFETY: the pointer is valid for a write; the kernel is valid.
        written(|value| unsafe { sys::cuFuncGetAttribute(value, attr as u32, self.inner) })
    }

    /// Sets an attribute of the kernel.
    ///
    /// # Errors
    /// Returns the driver's error, for instance if the attribute cannot be set.
    pub fn set_attribute(&mut self, attr: FunctionAttribute, value: i32) -> CudaResult<()> {
        // SAFETY: the kernel is valid.
        unsafe { sys::cuFuncSetAttribute(self.inner, attr as u32, value) }.to_result()
    }

    /// Allows launches with up to `bytes` bytes of dynamic shared memory. A launch with more than 48 KiB needs it.
    ///
    /// # Errors
    /// Returns the driver's error if the device has less shared memory, and [`CudaError::InvalidValue`] if `bytes` does not
    /// fit in 31 bits.
    pub fn set_max_dynamic_shared_memory(&mut self, bytes: usize) -> CudaResult<()> {
        let bytes = i32::try_from(bytes).map_err(|_| CudaError::InvalidValue)?;
        self.set_attribute(FunctionAttribute::MaxDynamicSharedSizeBytes, bytes)
    }

    /// Sets the kernel's preferred split between the L1 cache and shared memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_cache_config(&mut self, config: CacheConfig) -> CudaResult<()> {
        // SAFETY: the kernel is valid.
        unsafe { sys::cuFuncSetCacheConfig(self.inner, config as u32) }.to_result()
    }

    /// Sets the width of a shared memory bank for the kernel.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_shared_memory_config(&mut self, cfg: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: the kernel is valid.
        unsafe { sys::cuFuncSetSharedMemConfig(self.inner, cfg as u32) }.to_result()
    }

    /// Returns the driver's handle.
    pub fn to_raw(&self) -> CUfunction {
        self.inner
    }

    /// Returns the dynamic shared memory, in bytes, that a block can have if `blocks` blocks of `block_size` threads are to
    /// be resident on a multiprocessor.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn available_dynamic_shared_memory_per_block(
        &self,
        blocks: GridSize,
        block_size: BlockSize,
    ) -> CudaResult<usize> {
        let (blocks, threads) = (blocks.total()?, block_size.total()?);
        // SAFETY: the pointer is valid for a write; the kernel is valid.
        written(|bytes| unsafe {
            sys::cuOccupancyAvailableDynamicSMemPerBlock(bytes, self.inner, blocks, threads)
        })
    }

    /// Returns the occupancy: the number of blocks of `block_size` threads that are resident on a multiprocessor at once.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        block_size: BlockSize,
        dynamic_smem_size: usize,
    ) -> CudaResult<u32> {
        let threads = block_size.total()?;
        let mut blocks = 0;
        // SAFETY: the pointer is valid for a write; the kernel is valid.
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

    /// Returns the smallest grid, in blocks, and the block size, in threads, with which the kernel reaches the highest
    /// occupancy. A block has at most `block_size_limit` threads in all; 0 means no limit.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn suggested_launch_configuration(
        &self,
        dynamic_smem_size: usize,
        block_size_limit: BlockSize,
    ) -> CudaResult<(u32, u32)> {
        let limit = block_size_limit.total()?;
        let (mut blocks, mut threads) = (0, 0);
        // SAFETY: the pointers are valid for writes; the kernel is valid; `None` means that the shared memory does not
        // depend on the block size.
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

    /// Returns the maximum number of blocks in a cluster of such a launch.
    ///
    /// # Errors
    /// Returns the driver's error, for instance if the device does not support clusters.
    pub fn max_potential_cluster_size(&self, config: &LaunchConfig) -> CudaResult<u32> {
        let mut size = 0;
        config.with_raw(ptr::null_mut(), |raw| {
            // SAFETY: one pointer is valid for a write, the other for a read; the kernel is valid.
            unsafe { sys::cuOccupancyMaxPotentialClusterSize(&mut size, self.inner, raw) }
                .to_result()
        })?;
        count(size)
    }

    /// Returns the number of clusters of such a launch that are resident on the device at once.
    ///
    /// # Errors
    /// Returns the driver's error, for instance if the device does not support clusters.
    pub fn max_active_clusters(&self, config: &LaunchConfig) -> CudaResult<u32> {
        let mut clusters = 0;
        config.with_raw(ptr::null_mut(), |raw| {
            // SAFETY: one pointer is valid for a write, the other for a read; the kernel is valid.
            unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, self.inner, raw) }.to_result()
        })?;
        count(clusters)
    }
}

impl Module {
    /// Returns a kernel of the module.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the name contains a NUL, or the driver's error, for instance if the module
    /// has no kernel of this name.
    pub fn get_function<T: AsRef<str>>(&self, name: T) -> CudaResult<Function<'_>> {
        let name = CString::new(name.as_ref()).map_err(|_| CudaError::InvalidValue)?;
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is valid for a write; the name is a C string; the module is valid.
        let code = unsafe { sys::cuModuleGetFunction(&mut inner, self.as_inner(), name.as_ptr()) };
        code.to_result()?;
        Ok(Function {
            inner,
            module: PhantomData,
        })
    }
}

fn count(value: c_int) -> CudaResult<u32> {
    u32::try_from(value).map_err(|_| CudaError::UnexpectedValue)
}
