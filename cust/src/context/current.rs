//! The calling thread's current context, and what can be set of it.

use std::ptr;

use super::ContextHandle;
use super::legacy::{StreamPriorityRange, UnownedContext};
use crate::device::Device;
use crate::error::{CudaError, CudaResult, ToResult, written};
use crate::sys;

/// What a multiprocessor's memory is rather used for.
#[repr(u32)]
#[non_exhaustive]
#[derive(Copy, Clone, Debug, Hash, Eq, PartialEq)]
pub enum CacheConfig {
    /// No preference.
    PreferNone = 0,
    /// Shared memory.
    PreferShared = 1,
    /// The L1 cache.
    PreferL1 = 2,
    /// Both the same.
    PreferEqual = 3,
}

/// A limit of a context.
#[repr(u32)]
#[non_exhaustive]
#[derive(Copy, Clone, Debug, Hash, Eq, PartialEq)]
pub enum ResourceLimit {
    /// The bytes of a thread's stack.
    StackSize = 0,
    /// The bytes of the buffer for what kernels print.
    PrintfFifoSize = 1,
    /// The bytes that kernels can allocate.
    MallocHeapSize = 2,
    /// How deep kernels that launch kernels may wait for them.
    DeviceRuntimeSynchronizeDepth = 3,
    /// How many launches of kernels may wait.
    DeviceRuntimePendingLaunchCount = 4,
    /// The bytes that the L2 cache reads at a time.
    MaxL2FetchGranularity = 5,
    /// The bytes of the L2 cache that can be set aside.
    PersistingL2CacheSize = 6,
}

/// The size of the banks of shared memory, where a device can choose.
#[repr(u32)]
#[non_exhaustive]
#[derive(Copy, Clone, Debug, Hash, Eq, PartialEq)]
pub enum SharedMemoryConfig {
    /// The device's own.
    DefaultBankSize = 0,
    /// Four bytes.
    FourByteBankSize = 1,
    /// Eight bytes.
    EightByteBankSize = 2,
}

bitflags::bitflags! {
    /// How a context waits, and what it can do.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct ContextFlags: u32 {
        /// A waiting thread spins.
        const SCHED_SPIN = 0x01;
        /// A waiting thread lets others run.
        const SCHED_YIELD = 0x02;
        /// A waiting thread sleeps.
        const SCHED_BLOCKING_SYNC = 0x04;
        /// The driver chooses how to wait.
        const SCHED_AUTO = 0x00;
        /// Memory of the host can be mapped; always so today.
        const MAP_HOST = 0x08;
        /// Local memory stays as large as a kernel has needed it.
        const LMEM_RESIZE_TO_MAX = 0x10;
    }
}

/// The calling thread's current context.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// The preference between the L1 cache and shared memory.
    ///
    /// # Errors
    /// What the driver says; [`CudaError::UnexpectedValue`] for a preference without a name here.
    pub fn get_cache_config() -> CudaResult<CacheConfig> {
        // SAFETY: a place to write to.
        match written(|config| unsafe { sys::cuCtxGetCacheConfig(config) })? {
            0 => Ok(CacheConfig::PreferNone),
            1 => Ok(CacheConfig::PreferShared),
            2 => Ok(CacheConfig::PreferL1),
            3 => Ok(CacheConfig::PreferEqual),
            _ => Err(CudaError::UnexpectedValue),
        }
    }

    /// The context's device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_device() -> CudaResult<Device> {
        // SAFETY: a place to write to.
        let device = written(|device| unsafe { sys::cuCtxGetDevice(device) })?;
        Ok(Device { device })
    }

    /// The context's flags; those without a name here are kept.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_flags() -> CudaResult<ContextFlags> {
        // SAFETY: a place to write to.
        let flags = written(|flags| unsafe { sys::cuCtxGetFlags(flags) })?;
        Ok(ContextFlags::from_bits_retain(flags))
    }

    /// A limit.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_resource_limit(resource: ResourceLimit) -> CudaResult<usize> {
        // SAFETY: a place to write to.
        written(|limit| unsafe { sys::cuCtxGetLimit(limit, resource as u32) })
    }

    /// The size of the banks of shared memory.
    ///
    /// # Errors
    /// What the driver says; [`CudaError::UnexpectedValue`] for a size without a name here.
    pub fn get_shared_memory_config() -> CudaResult<SharedMemoryConfig> {
        // SAFETY: a place to write to.
        match written(|config| unsafe { sys::cuCtxGetSharedMemConfig(config) })? {
            0 => Ok(SharedMemoryConfig::DefaultBankSize),
            1 => Ok(SharedMemoryConfig::FourByteBankSize),
            2 => Ok(SharedMemoryConfig::EightByteBankSize),
            _ => Err(CudaError::UnexpectedValue),
        }
    }

    /// The priorities that streams can have.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_stream_priority_range() -> CudaResult<StreamPriorityRange> {
        let mut range = StreamPriorityRange {
            least: 0,
            greatest: 0,
        };
        // SAFETY: places to write to.
        let code =
            unsafe { sys::cuCtxGetStreamPriorityRange(&mut range.least, &mut range.greatest) };
        code.to_result()?;
        Ok(range)
    }

    /// Sets the preference between the L1 cache and shared memory.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_cache_config(cfg: CacheConfig) -> CudaResult<()> {
        // SAFETY: no pointers.
        unsafe { sys::cuCtxSetCacheConfig(cfg as u32) }.to_result()
    }

    /// Sets a limit.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        // SAFETY: no pointers.
        unsafe { sys::cuCtxSetLimit(resource as u32, limit) }.to_result()
    }

    /// Sets the size of the banks of shared memory.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_shared_memory_config(cfg: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: no pointers.
        unsafe { sys::cuCtxSetSharedMemConfig(cfg as u32) }.to_result()
    }

    /// The current context, without a claim on it.
    ///
    /// # Errors
    /// What the driver says.
    #[inline]
    pub fn get_current() -> CudaResult<UnownedContext> {
        let mut context = ptr::null_mut();
        // SAFETY: a place to write to.
        unsafe { sys::cuCtxGetCurrent(&mut context) }.to_result()?;
        Ok(UnownedContext::new(context))
    }

    /// Makes a context current for the calling thread.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_current<C: ContextHandle>(c: &C) -> CudaResult<()> {
        // SAFETY: the handle of a context.
        unsafe { sys::cuCtxSetCurrent(c.get_inner()) }.to_result()
    }

    /// Waits for everything that was queued in the context.
    ///
    /// # Errors
    /// What the driver says, also of earlier work.
    pub fn synchronize() -> CudaResult<()> {
        // SAFETY: no pointers.
        unsafe { sys::cuCtxSynchronize() }.to_result()
    }

    /// Lets the current context access the memory of `peer`, a context of another device.
    ///
    /// # Errors
    /// What the driver says, for instance that the two devices cannot.
    pub fn enable_peer_access<C: ContextHandle>(peer: &C) -> CudaResult<()> {
        // SAFETY: the handle of a context; there are no flags.
        unsafe { sys::cuCtxEnablePeerAccess(peer.get_inner(), 0) }.to_result()
    }

    /// Ends the current context's access to the memory of `peer`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn disable_peer_access<C: ContextHandle>(peer: &C) -> CudaResult<()> {
        // SAFETY: the handle of a context.
        unsafe { sys::cuCtxDisablePeerAccess(peer.get_inner()) }.to_result()
    }
}
