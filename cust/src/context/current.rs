//! The calling thread's current context and its settings.

use std::ptr;

use super::{ContextHandle, api_version};
use crate::CudaApiVersion;
use crate::device::Device;
use crate::error::{CudaError, CudaResult, ToResult, written};
use crate::private::Sealed;
use crate::sys::{self, CUcontext};

/// The preferred split of a multiprocessor's memory between the L1 cache and shared memory.
#[repr(u32)]
#[non_exhaustive]
#[derive(Copy, Clone, Debug, Hash, Eq, PartialEq)]
pub enum CacheConfig {
    /// No preference.
    PreferNone = 0,
    /// More shared memory, less L1 cache.
    PreferShared = 1,
    /// More L1 cache, less shared memory.
    PreferL1 = 2,
    /// L1 cache and shared memory of the same size.
    PreferEqual = 3,
}

/// A resource limit of a context.
#[repr(u32)]
#[non_exhaustive]
#[derive(Copy, Clone, Debug, Hash, Eq, PartialEq)]
pub enum ResourceLimit {
    /// The size of a thread's stack, in bytes.
    StackSize = 0,
    /// The size of the buffer for the output of kernels (`printf`), in bytes.
    PrintfFifoSize = 1,
    /// The size of the heap from which kernels allocate, in bytes.
    MallocHeapSize = 2,
    /// The nesting depth down to which a kernel may wait for kernels that it launched.
    DeviceRuntimeSynchronizeDepth = 3,
    /// The number of launches by kernels that may be pending.
    DeviceRuntimePendingLaunchCount = 4,
    /// The largest fetch of the L2 cache, in bytes.
    MaxL2FetchGranularity = 5,
    /// The size of the part of the L2 cache for persisting accesses, in bytes.
    PersistingL2CacheSize = 6,
}

/// The width of a shared memory bank, on devices where it can be set.
#[repr(u32)]
#[non_exhaustive]
#[derive(Copy, Clone, Debug, Hash, Eq, PartialEq)]
pub enum SharedMemoryConfig {
    /// The device's default.
    DefaultBankSize = 0,
    /// Four bytes.
    FourByteBankSize = 1,
    /// Eight bytes.
    EightByteBankSize = 2,
}

bitflags::bitflags! {
    /// Flags of a context: how its host threads wait, and what it supports.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct ContextFlags: u32 {
        /// A waiting thread spins.
        const SCHED_SPIN = 0x01;
        /// A waiting thread yields to other threads.
        const SCHED_YIELD = 0x02;
        /// A waiting thread blocks.
        const SCHED_BLOCKING_SYNC = 0x04;
        /// The driver chooses how to wait.
        const SCHED_AUTO = 0x00;
        /// Pinned host memory can be mapped. Current drivers always allow it.
        const MAP_HOST = 0x08;
        /// Local memory that was grown for a kernel is not shrunk after it.
        const LMEM_RESIZE_TO_MAX = 0x10;
    }
}

/// The range of stream priorities. A smaller number is a higher priority.
#[derive(Debug, Clone, Hash, Eq, PartialEq)]
pub struct StreamPriorityRange {
    /// The lowest priority, the largest number.
    pub least: i32,
    /// The highest priority, the smallest number.
    pub greatest: i32,
}

/// A non-owning handle of a context. If the context is destroyed, calls with this handle return an error.
#[derive(Debug, Clone)]
pub struct UnownedContext {
    inner: CUcontext,
}

// SAFETY: any thread may use a context.
unsafe impl Send for UnownedContext {}
// SAFETY: as above.
unsafe impl Sync for UnownedContext {}

impl UnownedContext {
    pub(super) fn new(inner: CUcontext) -> Self {
        Self { inner }
    }

    /// Returns the version of the API that created the context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }
}

impl Sealed for UnownedContext {}
impl ContextHandle for UnownedContext {
    fn get_inner(&self) -> CUcontext {
        self.inner
    }
}

/// The calling thread's current context.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Returns the preferred split between the L1 cache and shared memory.
    ///
    /// # Errors
    /// Returns the driver's error; [`CudaError::UnexpectedValue`] if the preference has no name here.
    pub fn get_cache_config() -> CudaResult<CacheConfig> {
        // SAFETY: the pointer is valid for a write.
        match written(|config| unsafe { sys::cuCtxGetCacheConfig(config) })? {
            0 => Ok(CacheConfig::PreferNone),
            1 => Ok(CacheConfig::PreferShared),
            2 => Ok(CacheConfig::PreferL1),
            3 => Ok(CacheConfig::PreferEqual),
            _ => Err(CudaError::UnexpectedValue),
        }
    }

    /// Returns the context's device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_device() -> CudaResult<Device> {
        // SAFETY: the pointer is valid for a write.
        let device = written(|device| unsafe { sys::cuCtxGetDevice(device) })?;
        Ok(Device { device })
    }

    /// Returns the context's flags. Bits that have no name here are kept.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_flags() -> CudaResult<ContextFlags> {
        // SAFETY: the pointer is valid for a write.
        let flags = written(|flags| unsafe { sys::cuCtxGetFlags(flags) })?;
        Ok(ContextFlags::from_bits_retain(flags))
    }

    /// Returns a resource limit.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_resource_limit(resource: ResourceLimit) -> CudaResult<usize> {
        // SAFETY: the pointer is valid for a write.
        written(|limit| unsafe { sys::cuCtxGetLimit(limit, resource as u32) })
    }

    /// Returns the width of a shared memory bank.
    ///
    /// # Errors
    /// Returns the driver's error; [`CudaError::UnexpectedValue`] if the size has no name here.
    pub fn get_shared_memory_config() -> CudaResult<SharedMemoryConfig> {
        // SAFETY: the pointer is valid for a write.
        match written(|config| unsafe { sys::cuCtxGetSharedMemConfig(config) })? {
            0 => Ok(SharedMemoryConfig::DefaultBankSize),
            1 => Ok(SharedMemoryConfig::FourByteBankSize),
            2 => Ok(SharedMemoryConfig::EightByteBankSize),
            _ => Err(CudaError::UnexpectedValue),
        }
    }

    /// Returns the range of stream priorities.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_stream_priority_range() -> CudaResult<StreamPriorityRange> {
        let mut range = StreamPriorityRange {
            least: 0,
            greatest: 0,
        };
        // SAFETY: the pointers are valid for writes.
        let code =
            unsafe { sys::cuCtxGetStreamPriorityRange(&mut range.least, &mut range.greatest) };
        code.to_result()?;
        Ok(range)
    }

    /// Sets the preferred split between the L1 cache and shared memory.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_cache_config(cfg: CacheConfig) -> CudaResult<()> {
        // SAFETY: the call takes no pointers.
        unsafe { sys::cuCtxSetCacheConfig(cfg as u32) }.to_result()
    }

    /// Sets a resource limit.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        // SAFETY: the call takes no pointers.
        unsafe { sys::cuCtxSetLimit(resource as u32, limit) }.to_result()
    }

    /// Sets the width of a shared memory bank.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_shared_memory_config(cfg: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: the call takes no pointers.
        unsafe { sys::cuCtxSetSharedMemConfig(cfg as u32) }.to_result()
    }

    /// Returns the current context without taking ownership.
    ///
    /// # Errors
    /// Returns the driver's error.
    #[inline]
    pub fn get_current() -> CudaResult<UnownedContext> {
        let mut context = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuCtxGetCurrent(&mut context) }.to_result()?;
        Ok(UnownedContext::new(context))
    }

    /// Makes a context current for the calling thread.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_current<C: ContextHandle>(c: &C) -> CudaResult<()> {
        // SAFETY: the argument is the handle of a context.
        unsafe { sys::cuCtxSetCurrent(c.get_inner()) }.to_result()
    }

    /// Waits for all work that was queued in the context.
    ///
    /// # Errors
    /// Returns the driver's error, which may be that of earlier work.
    pub fn synchronize() -> CudaResult<()> {
        // SAFETY: the call takes no pointers.
        unsafe { sys::cuCtxSynchronize() }.to_result()
    }

    /// Gives the current context access to the memory of `peer`, a context of another device.
    ///
    /// The access goes one way, and not to the memory of pools: see
    /// [`MemoryPool::set_access`](crate::memory::MemoryPool::set_access).
    ///
    /// # Errors
    /// Returns the driver's error, for instance if the two devices have no peer access.
    pub fn enable_peer_access<C: ContextHandle>(peer: &C) -> CudaResult<()> {
        // SAFETY: the argument is the handle of a context; 0 is the only flag value.
        unsafe { sys::cuCtxEnablePeerAccess(peer.get_inner(), 0) }.to_result()
    }

    /// Ends the current context's access to the memory of `peer`.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn disable_peer_access<C: ContextHandle>(peer: &C) -> CudaResult<()> {
        // SAFETY: the argument is the handle of a context.
        unsafe { sys::cuCtxDisablePeerAccess(peer.get_inner()) }.to_result()
    }
}
