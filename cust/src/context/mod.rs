//! Contexts: what a process has of a device.
//!
//! [`Context`] is the primary context of a device, of which there is one per process, shared with the runtime API. Contexts
//! of one's own, and the stack of them, are in [`legacy`].

mod current;
pub mod legacy;

pub use self::current::{
    CacheConfig, ContextFlags, CurrentContext, ResourceLimit, SharedMemoryConfig,
};

use std::mem;
use std::ptr;

use crate::CudaApiVersion;
use crate::device::Device;
use crate::error::{CudaResult, DropResult, ToResult};
use crate::private::Sealed;
use crate::sys;

/// What has a context's handle.
pub trait ContextHandle: Sealed {
    /// The handle.
    fn get_inner(&self) -> sys::CUcontext;
}

/// A device's primary context, kept for as long as this value is there.
#[derive(Debug)]
pub struct Context {
    inner: sys::CUcontext,
    device: sys::CUdevice,
}

// SAFETY: a context may be used by any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Sealed for Context {}
impl ContextHandle for Context {
    fn get_inner(&self) -> sys::CUcontext {
        self.inner
    }
}

impl Clone for Context {
    /// Keeps the context once more, and makes it current.
    ///
    /// # Panics
    /// If the driver refuses, which it has no reason to where the context is kept already.
    fn clone(&self) -> Self {
        let device = Device {
            device: self.device,
        };
        Self::new(device).unwrap_or_else(|error| panic!("a context that is kept already: {error}"))
    }
}

impl Context {
    /// Keeps the device's primary context, made if need be, and makes it current for the calling thread.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(device: Device) -> CudaResult<Self> {
        // From here on it is given back whatever happens.
        let context = Self::retain(device)?;
        CurrentContext::set_current(&context)?;
        Ok(context)
    }

    /// Keeps the device's primary context, made if need be. The calling thread's current context stays what it is.
    ///
    /// # Errors
    /// What the driver says.
    pub fn retain(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: a place to write to.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut inner, device.as_raw()) }.to_result()?;
        Ok(Self {
            inner,
            device: device.as_raw(),
        })
    }

    /// Destroys everything in the device's primary context.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// Nothing in this process uses what was made in that context afterwards.
    pub unsafe fn reset(device: &Device) -> CudaResult<()> {
        // SAFETY: by the contract.
        unsafe { sys::cuDevicePrimaryCtxReset(device.as_raw()) }.to_result()
    }

    /// Sets the flags of the device's primary context.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_flags(&self, flags: ContextFlags) -> CudaResult<()> {
        // SAFETY: no pointers.
        unsafe { sys::cuDevicePrimaryCtxSetFlags(self.device, flags.bits()) }.to_result()
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> sys::CUcontext {
        self.inner
    }

    /// The version of the API that made the context.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }

    /// Gives the context back, as dropping it does, and says what came of it.
    ///
    /// # Errors
    /// What the driver says, and the context.
    pub fn drop(ctx: Context) -> DropResult<Context> {
        // SAFETY: kept by this value, which gives it back here and not once more.
        match unsafe { sys::cuDevicePrimaryCtxRelease(ctx.device) }.to_result() {
            Ok(()) => {
                mem::forget(ctx);
                Ok(())
            }
            Err(error) => Err((error, ctx)),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: kept by this value alone. There is nobody to tell of an error.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease(self.device) };
    }
}

fn api_version(context: sys::CUcontext) -> CudaResult<CudaApiVersion> {
    let mut version = 0;
    // SAFETY: a context and a place to write to.
    unsafe { sys::cuCtxGetApiVersion(context, &mut version) }.to_result()?;
    Ok(CudaApiVersion::of_number(version))
}
