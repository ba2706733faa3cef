//! A device's primary context, to which everything else belongs.

use super::device::{self, CudaDeviceInfo};
use super::error::{Result, is_device_fault, of};
use cust::context::{Context, ContextHandle, CurrentContext};
use cust::device::Device;
use cust::error::{CudaError as DriverError, DropResult};
use cust::memory::{MemoryPool, mem_get_info};
use cust::sys::CUcontext;
use std::cell::Cell;
use std::fmt;
use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// A device's primary context, which the CUDA runtime and other libraries in the process use too.
///
/// [`CudaContext::open`] returns the same context for the same device each time. It stays open until the process ends:
/// closing it and opening it again would take a good part of a second and unload every module.
pub(crate) struct CudaContext {
    context: Context,
    device: Device,
    info: CudaDeviceInfo,
    /// The device's default memory pool.
    pool: Option<MemoryPool>,
}

/// The contexts opened so far, by the ordinal of their devices.
static OPENED: Mutex<Vec<(usize, Arc<CudaContext>)>> = Mutex::new(Vec::new());

thread_local! {
    /// The context that [`CudaContext::make_current`] last set on this thread.
    static LAST_SET: Cell<CUcontext> = const { Cell::new(ptr::null_mut()) };
}

impl CudaContext {
    /// Opens device `ordinal`, or returns the context that is open on it, and makes it current on this thread.
    ///
    /// # Errors
    /// `CudaErrorKind::NoDriver`, `NoDevice`, `OutOfMemory`, and other errors of the driver.
    pub(crate) fn open(ordinal: usize) -> Result<Arc<CudaContext>> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, context)) = opened.iter().find(|(number, _)| *number == ordinal) {
            context.make_current()?;
            return Ok(context.clone());
        }
        let device = device::get_device(ordinal)?;
        let info = device::device_info(ordinal)?;
        let context = Context::retain(device).map_err(of("cuDevicePrimaryCtxRetain"))?;
        let mut context = CudaContext {
            context,
            device,
            info,
            pool: None,
        };
        context.make_current()?;
        context.pool = context.default_pool(device)?;
        let context = Arc::new(context);
        opened.push((ordinal, context.clone()));
        Ok(context)
    }

    /// Returns a context that is open, if any is: without one, this process has no device memory that it knows of.
    pub(crate) fn any_open() -> Option<Arc<CudaContext>> {
        let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        opened.first().map(|(_, context)| context.clone())
    }

    /// Returns whether `raw` is the driver's handle of this context.
    pub(super) fn is(&self, raw: CUcontext) -> bool {
        self.context.as_raw() == raw
    }

    /// Returns the driver's handle.
    pub(super) fn raw(&self) -> CUcontext {
        self.context.as_raw()
    }

    /// Returns the context, for functions of `cust`.
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the device.
    pub(super) fn device(&self) -> Device {
        self.device
    }

    /// Returns the device's default memory pool, if memory is allocated from it.
    pub(super) fn pool(&self) -> Option<&MemoryPool> {
        self.pool.as_ref()
    }

    /// Returns the description of the device.
    pub(crate) fn info(&self) -> &CudaDeviceInfo {
        &self.info
    }

    /// Makes this the current context of the calling thread. This asks the driver which context is current, which takes
    /// some nanoseconds, because other libraries in the process may have set theirs.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn make_current(&self) -> Result<()> {
        let context = self.context.as_raw();
        if LAST_SET.get() == context {
            let current = CurrentContext::get_current().map_err(of("cuCtxGetCurrent"))?;
            if current.get_inner() == context {
                return Ok(());
            }
        }
        CurrentContext::set_current(&self.context).map_err(of("cuCtxSetCurrent"))?;
        LAST_SET.set(context);
        Ok(())
    }

    /// Returns the free and the total memory of the device in bytes. Memory that the pool keeps for reuse counts as free.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn mem_get_info(&self) -> Result<(u64, u64)> {
        self.make_current()?;
        let (free, total) = mem_get_info().map_err(of("cuMemGetInfo"))?;
        let kept = match &self.pool {
            Some(pool) => {
                let failed = of("cuMemPoolGetAttribute");
                let reserved = pool.reserved_bytes().map_err(&failed)?;
                reserved.saturating_sub(pool.used_bytes().map_err(&failed)?)
            }
            None => 0,
        };
        Ok((
            (free as u64).saturating_add(kept).min(total as u64),
            total as u64,
        ))
    }

    /// Releases memory that the pool keeps for reuse to the system.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn trim_pool(&self) -> Result<()> {
        let Some(pool) = &self.pool else {
            return Ok(());
        };
        self.make_current()?;
        pool.trim_to(0).map_err(of("cuMemPoolTrimTo"))
    }

    /// Destroys a driver object in a `drop`, which cannot report an error: a call that fails is made once more. After a
    /// device fault it is not, because everything is lost with the context.
    pub(super) fn give_back<T>(&self, thing: T, drop: impl Fn(T) -> DropResult<T>) {
        let attempt = |thing| match self.make_current() {
            Ok(()) => drop(thing),
            Err(failed) => Err((failed.error, thing)),
        };
        let left = match attempt(thing) {
            Err((error, thing)) if !is_device_fault(error.code()) => attempt(thing),
            done => done,
        };
        // Dropping it would call the driver again.
        if let Err((_, thing)) = left {
            mem::forget(thing);
        }
    }

    /// Returns whether memory is allocated in stream order, from the device's pool.
    pub(super) fn has_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// Returns the device's default pool, set to keep freed memory. Returns `None` if the device or the driver has no
    /// pools.
    fn default_pool(&self, device: Device) -> Result<Option<MemoryPool>> {
        if !self.info.memory_pools {
            return Ok(None);
        }
        let told = MemoryPool::default_of(device)
            .map_err(of("cuDeviceGetDefaultMemPool"))
            .and_then(|pool| {
                let told = pool.set_release_threshold(u64::MAX);
                told.map_err(of("cuMemPoolSetAttribute")).map(|()| pool)
            });
        match told {
            Ok(pool) => Ok(Some(pool)),
            Err(failed) => match failed.error {
                DriverError::NotSupported | DriverError::MissingFunction { .. } => Ok(None),
                _ => Err(failed),
            },
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
