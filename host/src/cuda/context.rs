//! A device's primary context, which everything else lives in.

use super::device::{self, CudaDeviceInfo};
use super::door::NO_FUNCTION;
use super::driver::driver;
use super::error::{CudaErrorKind, Result};
use cust::sys::{CUcontext, CUmemoryPool};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// `CUDA_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: u32 = 801;
/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`.
const POOL_RELEASE_THRESHOLD: c_int = 4;
/// `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT`.
const POOL_RESERVED: c_int = 5;
/// `CU_MEMPOOL_ATTR_USED_MEM_CURRENT`.
const POOL_USED: c_int = 7;

/// A device's primary context, the one that the CUDA runtime and other libraries in the process use
/// too.
///
/// [`CudaContext::open`] gives the same context for the same device each time. It stays open until
/// the process ends: closing and opening it again would take a good part of a second and unload
/// every module.
pub(crate) struct CudaContext {
    context: cust::context::Context,
    info: CudaDeviceInfo,
    pool: Option<CUmemoryPool>,
}

// SAFETY: the context and the pool are handles that the driver lets any thread use at any time.
unsafe impl Send for CudaContext {}
// SAFETY: as above.
unsafe impl Sync for CudaContext {}

/// The contexts opened so far, by the ordinal of their devices.
static OPENED: Mutex<Vec<(usize, Arc<CudaContext>)>> = Mutex::new(Vec::new());

thread_local! {
    /// The context that [`CudaContext::make_current`] last set on this thread.
    static LAST_SET: Cell<CUcontext> = const { Cell::new(ptr::null_mut()) };
}

impl CudaContext {
    /// Opens device `ordinal`, or gives the context that is open on it, and makes it current on
    /// this thread.
    ///
    /// # Errors
    /// `CudaErrorKind::NoDriver`, `NoDevice`, `OutOfMemory`, and what else the driver returns.
    pub(crate) fn open(ordinal: usize) -> Result<Arc<CudaContext>> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, context)) = opened.iter().find(|(number, _)| *number == ordinal) {
            context.make_current()?;
            return Ok(context.clone());
        }
        let device = device::get_device(ordinal)?;
        let info = device::device_info(ordinal)?;
        // Retained once by hand first: here a device can be in exclusive use (46) or out of memory,
        // and `cust`'s own retain, which then finds the context there, could not express every such
        // code.
        let mut raw: CUcontext = ptr::null_mut();
        // SAFETY: the function writes one handle.
        unsafe { driver!(cuDevicePrimaryCtxRetain(&mut raw, device.as_raw())) }?;
        let context = cust::context::Context::new(device)
            .map_err(|e| device::from_cust("cuDevicePrimaryCtxRetain", e));
        // SAFETY: undoes the retain above, nothing more.
        let release = || unsafe { driver!(cuDevicePrimaryCtxRelease_v2(device.as_raw())) };
        // A context retained once too often would stay open if `cust` could not retain it.
        let released = release().or_else(|_| release());
        let mut context = CudaContext {
            context: context?,
            info,
            pool: None,
        };
        released?;
        context.make_current()?;
        context.pool = context.default_pool(device.as_raw())?;
        let context = Arc::new(context);
        opened.push((ordinal, context.clone()));
        Ok(context)
    }

    /// The description of the device.
    pub(crate) fn info(&self) -> &CudaDeviceInfo {
        &self.info
    }

    /// Makes this the context of the calling thread. The driver is asked which is current, some
    /// nanoseconds, because other libraries in the process may have set their own.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn make_current(&self) -> Result<()> {
        let context = self.context.as_raw();
        if LAST_SET.get() == context {
            let mut current: CUcontext = ptr::null_mut();
            // SAFETY: the function writes one handle.
            unsafe { driver!(cuCtxGetCurrent(&mut current)) }?;
            if current == context {
                return Ok(());
            }
        }
        // SAFETY: the handle is of a context that is retained as long as `self` lives.
        unsafe { driver!(cuCtxSetCurrent(context)) }?;
        LAST_SET.set(context);
        Ok(())
    }

    /// Free and total memory of the device in bytes. Memory that the pool keeps for reuse counts as
    /// free.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn mem_get_info(&self) -> Result<(u64, u64)> {
        self.make_current()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: the function writes two sizes.
        unsafe { driver!(cuMemGetInfo_v2(&mut free, &mut total)) }?;
        let kept = match self.pool {
            Some(pool) => {
                let reserved = pool_attribute(pool, POOL_RESERVED)?;
                reserved.saturating_sub(pool_attribute(pool, POOL_USED)?)
            }
            None => 0,
        };
        Ok((
            (free as u64).saturating_add(kept).min(total as u64),
            total as u64,
        ))
    }

    /// Gives memory that the pool keeps for reuse back to the system.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn trim_pool(&self) -> Result<()> {
        let Some(pool) = self.pool else { return Ok(()) };
        self.make_current()?;
        // SAFETY: the device's default pool lives as long as the driver.
        unsafe { driver!(cuMemPoolTrimTo(pool, 0)) }
    }

    /// Gives something back to the driver, for a `drop`, which has nobody to tell of an error: a call that
    /// fails is made once more. Not after a fault on the device: then it is all lost with the context.
    pub(super) fn give_back(&self, call: impl Fn() -> Result<()>) {
        let attempt = || self.make_current().and_then(|()| call());
        if let Err(error) = attempt()
            && error.kind() != CudaErrorKind::DeviceFault
        {
            let _ = attempt();
        }
    }

    /// Whether memory is allocated in stream order from the device's pool.
    pub(super) fn has_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// The device's default pool, told to keep freed memory; `None` where the device or the driver
    /// has no pools.
    fn default_pool(&self, device: c_int) -> Result<Option<CUmemoryPool>> {
        if !self.info.memory_pools {
            return Ok(None);
        }
        let mut pool: CUmemoryPool = ptr::null_mut();
        let mut threshold = u64::MAX;
        // SAFETY: the first function writes one handle, the second reads a u64, which this
        // attribute is.
        let told = unsafe {
            driver!(cuDeviceGetDefaultMemPool(&mut pool, device)).and_then(|()| {
                let value = (&raw mut threshold).cast::<c_void>();
                driver!(cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, value))
            })
        };
        match told {
            Ok(()) => Ok(Some(pool)),
            Err(error) if [NOT_SUPPORTED, NO_FUNCTION].contains(&error.code) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for CudaContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaContext")
            .field("ordinal", &self.info.ordinal)
            .finish_non_exhaustive()
    }
}

fn pool_attribute(pool: CUmemoryPool, attribute: c_int) -> Result<u64> {
    let mut value = 0u64;
    // SAFETY: both attributes asked for are u64.
    unsafe {
        driver!(cuMemPoolGetAttribute(
            pool,
            attribute,
            (&raw mut value).cast::<c_void>()
        ))
    }?;
    Ok(value)
}
