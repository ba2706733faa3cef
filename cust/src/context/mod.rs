//! Contexts: a process's state on a device.
//!
//! [`Context`] is a device's primary context. A process has one of them per device and shares it with the runtime API. The
//! module [`legacy`] has contexts that a program creates itself, and the context stack.

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

/// A type that holds the handle of a context.
pub trait ContextHandle: Sealed {
    /// Returns the handle.
    fn get_inner(&self) -> sys::CUcontext;
}

/// A reference to a device's primary context, which lives at least as long as this value.
#[derive(Debug)]
pub struct Context {
    inner: sys::CUcontext,
    device: sys::CUdevice,
}

// SAFETY: any thread may use a context.
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
    /// Retains the context once more and makes it current.
    ///
    /// # Panics
    /// Panics if the driver returns an error. It has no reason to, since the context is already retained.
    fn clone(&self) -> Self {
        let device = Device {
            device: self.device,
        };
        Self::new(device).unwrap_or_else(|error| panic!("a context that is kept already: {error}"))
    }
}

impl Context {
    /// Retains the device's primary context and makes it current for the calling thread. The driver creates the context if
    /// it does not exist.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(device: Device) -> CudaResult<Self> {
        // From here on a drop releases the context, on an error too.
        let context = Self::retain(device)?;
        CurrentContext::set_current(&context)?;
        Ok(context)
    }

    /// Retains the device's primary context without changing the calling thread's current context. The driver creates the
    /// context if it does not exist.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn retain(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut inner, device.as_raw()) }.to_result()?;
        Ok(Self {
            inner,
            device: device.as_raw(),
        })
    }

    /// Destroys all resources in the device's primary context.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// Nothing in this process may use a resource of that context afterwards.
    pub unsafe fn reset(device: &Device) -> CudaResult<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { sys::cuDevicePrimaryCtxReset(device.as_raw()) }.to_result()
    }

    /// Sets the flags of the device's primary context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_flags(&self, flags: ContextFlags) -> CudaResult<()> {
        // SAFETY: the call takes no pointers.
        unsafe { sys::cuDevicePrimaryCtxSetFlags(self.device, flags.bits()) }.to_result()
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> sys::CUcontext {
        self.inner
    }

    /// Returns the version of the API that created the context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }

    /// Releases the context and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the context.
    pub fn drop(ctx: Context) -> DropResult<Context> {
        // SAFETY: this value holds one reference to the context, and is forgotten once that is released.
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
        // SAFETY: this value holds one reference to the context. A destructor cannot return an error.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease(self.device) };
    }
}

fn api_version(context: sys::CUcontext) -> CudaResult<CudaApiVersion> {
    let mut version = 0;
    // SAFETY: `context` is a context, and the pointer is valid for a write.
    unsafe { sys::cuCtxGetApiVersion(context, &mut version) }.to_result()?;
    Ok(CudaApiVersion::of_number(version))
}
