//! Contexts other than the primary one, and the calling thread's context stack.

use std::mem;
use std::ptr;

pub use super::current::{
    CacheConfig, ContextFlags, CurrentContext, ResourceLimit, SharedMemoryConfig,
    StreamPriorityRange, UnownedContext,
};
use super::{ContextHandle, api_version};
use crate::CudaApiVersion;
use crate::device::Device;
use crate::error::{CudaResult, DropResult, ToResult};
use crate::private::Sealed;
use crate::sys::{self, CUcontext};

/// A context that this value owns, and destroys when it is dropped.
#[derive(Debug)]
pub struct Context {
    inner: CUcontext,
}

impl Context {
    /// Creates a context of the device and makes it current for the calling thread.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn create_and_push(flags: ContextFlags, device: Device) -> CudaResult<Context> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuCtxCreate(&mut inner, flags.bits(), device.as_raw()) }.to_result()?;
        Ok(Self { inner })
    }

    /// Returns the version of the API that created the context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }

    /// Returns a non-owning handle of the same context, for instance for another thread.
    pub fn get_unowned(&self) -> UnownedContext {
        UnownedContext::new(self.inner)
    }

    /// Destroys the context and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the context.
    pub fn drop(ctx: Context) -> DropResult<Context> {
        // SAFETY: this value owns the handle, and is forgotten once it is destroyed.
        match unsafe { sys::cuCtxDestroy(ctx.inner) }.to_result() {
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
        // SAFETY: this value owns the handle. A destructor cannot return an error.
        let _ = unsafe { sys::cuCtxDestroy(self.inner) };
    }
}

impl Sealed for Context {}
impl ContextHandle for Context {
    fn get_inner(&self) -> CUcontext {
        self.inner
    }
}

/// The calling thread's context stack. The context on top is the current one.
#[derive(Debug)]
pub struct ContextStack;

impl ContextStack {
    /// Pops the context on top of the stack.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn pop() -> CudaResult<UnownedContext> {
        let mut context = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuCtxPopCurrent(&mut context) }.to_result()?;
        Ok(UnownedContext::new(context))
    }

    /// Pushes a context on the stack.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn push<C: ContextHandle>(ctx: &C) -> CudaResult<()> {
        // SAFETY: the argument is the handle of a context.
        unsafe { sys::cuCtxPushCurrent(ctx.get_inner()) }.to_result()
    }
}
