//! Contexts of one's own beside the primary one, and the calling thread's stack of contexts.

use std::mem;
use std::ptr;

pub use super::current::{
    CacheConfig, ContextFlags, CurrentContext, ResourceLimit, SharedMemoryConfig,
};
use super::{ContextHandle, api_version};
use crate::CudaApiVersion;
use crate::device::Device;
use crate::error::{CudaResult, DropResult, ToResult};
use crate::private::Sealed;
use crate::sys::{self, CUcontext};

/// A context that is destroyed with this value.
#[derive(Debug)]
pub struct Context {
    inner: CUcontext,
}

impl Context {
    /// Makes a context of the device, which becomes the calling thread's current one.
    ///
    /// # Errors
    /// What the driver says.
    pub fn create_and_push(flags: ContextFlags, device: Device) -> CudaResult<Context> {
        let mut inner = ptr::null_mut();
        // SAFETY: a place to write to.
        unsafe { sys::cuCtxCreate(&mut inner, flags.bits(), device.as_raw()) }.to_result()?;
        Ok(Self { inner })
    }

    /// The version of the API that made the context.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }

    /// The same context without a claim on it, for another thread.
    pub fn get_unowned(&self) -> UnownedContext {
        UnownedContext::new(self.inner)
    }

    /// Destroys the context, as dropping it does, and says what came of it.
    ///
    /// # Errors
    /// What the driver says, and the context.
    pub fn drop(ctx: Context) -> DropResult<Context> {
        // SAFETY: this value's own, destroyed here and not once more.
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
        // SAFETY: this value's own. There is nobody to tell of an error.
        let _ = unsafe { sys::cuCtxDestroy(self.inner) };
    }
}

impl Sealed for Context {}
impl ContextHandle for Context {
    fn get_inner(&self) -> CUcontext {
        self.inner
    }
}

impl Sealed for UnownedContext {}
impl ContextHandle for UnownedContext {
    fn get_inner(&self) -> CUcontext {
        self.inner
    }
}

/// A context without a claim on it: it may be destroyed meanwhile, and calls then give an error.
#[derive(Debug, Clone)]
pub struct UnownedContext {
    inner: CUcontext,
}

// SAFETY: a context may be used by any thread.
unsafe impl Send for UnownedContext {}
// SAFETY: as above.
unsafe impl Sync for UnownedContext {}

impl UnownedContext {
    pub(super) fn new(inner: CUcontext) -> Self {
        Self { inner }
    }

    /// The version of the API that made the context.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        api_version(self.inner)
    }
}

/// The calling thread's stack of contexts, whose uppermost is the current one.
#[derive(Debug)]
pub struct ContextStack;

impl ContextStack {
    /// Takes the uppermost context off.
    ///
    /// # Errors
    /// What the driver says.
    pub fn pop() -> CudaResult<UnownedContext> {
        let mut context = ptr::null_mut();
        // SAFETY: a place to write to.
        unsafe { sys::cuCtxPopCurrent(&mut context) }.to_result()?;
        Ok(UnownedContext::new(context))
    }

    /// Puts a context on top.
    ///
    /// # Errors
    /// What the driver says.
    pub fn push<C: ContextHandle>(ctx: &C) -> CudaResult<()> {
        // SAFETY: the handle of a context.
        unsafe { sys::cuCtxPushCurrent(ctx.get_inner()) }.to_result()
    }
}

/// The priorities that streams can have: the smaller the number, the more urgent.
#[derive(Debug, Clone, Hash, Eq, PartialEq)]
pub struct StreamPriorityRange {
    /// The least urgent.
    pub least: i32,
    /// The most urgent.
    pub greatest: i32,
}
