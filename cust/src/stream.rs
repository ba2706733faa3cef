//! Streams: queues of work for a device.

use std::ffi::c_void;
use std::mem;
use std::panic;
use std::ptr;

use crate::error::{CudaError, CudaResult, DropResult, ToResult, written};
use crate::function::{BlockSize, Function, GridSize};
use crate::launch::LaunchConfig;
use crate::sys::{self, CUcontext, CUresult, CUstream};

bitflags::bitflags! {
    /// Flags of a stream: how it synchronizes with the default stream.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct StreamFlags: u32 {
        /// The stream and the default stream wait for each other.
        const DEFAULT = 0x00;
        /// The stream and the default stream do not wait for each other.
        const NON_BLOCKING = 0x01;
    }
}

bitflags::bitflags! {
    /// Flags of [`Stream::wait_event`]. CUDA defines none so far.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// No flags.
        const DEFAULT = 0x0;
    }
}

/// A queue of work, which runs in order.
#[derive(Debug)]
pub struct Stream {
    inner: CUstream,
}

// SAFETY: any thread may use a stream.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream in the current context. `priority` is in the range of
    /// [`get_stream_priority_range`](crate::context::CurrentContext::get_stream_priority_range); `None` is priority 0.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe {
            match priority {
                Some(priority) => {
                    sys::cuStreamCreateWithPriority(&mut inner, flags.bits(), priority)
                }
                None => sys::cuStreamCreate(&mut inner, flags.bits()),
            }
        }
        .to_result()?;
        Ok(Self { inner })
    }

    /// Returns the stream's flags.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_flags(&self) -> CudaResult<StreamFlags> {
        // SAFETY: the pointer is valid for a write; the stream is valid.
        let flags = written(|flags| unsafe { sys::cuStreamGetFlags(self.inner, flags) })?;
        Ok(StreamFlags::from_bits_retain(flags))
    }

    /// Returns the stream's priority.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_priority(&self) -> CudaResult<i32> {
        // SAFETY: the pointer is valid for a write; the stream is valid.
        written(|priority| unsafe { sys::cuStreamGetPriority(self.inner, priority) })
    }

    /// Queues a call of `callback` on a thread of the driver, after all work that is queued so far. The argument is the
    /// status of that work. The callback must not call CUDA. A panic in it is caught.
    ///
    /// # Errors
    /// Returns the driver's error. The callback is then not called.
    pub fn add_callback<T>(&self, callback: Box<T>) -> CudaResult<()>
    where
        T: FnOnce(CudaResult<()>) + Send + 'static,
    {
        let data = Box::into_raw(callback);
        // SAFETY: `call::<T>` takes a `Box<T>`; the driver calls it exactly once if this call succeeds.
        let code = unsafe { sys::cuStreamAddCallback(self.inner, call::<T>, data.cast(), 0) };
        if code != sys::CUDA_SUCCESS {
            // SAFETY: the pointer is from `into_raw` above, and the driver did not take it.
            drop(unsafe { Box::from_raw(data) });
        }
        code.to_result()
    }

    /// Waits for all queued work.
    ///
    /// # Errors
    /// Returns the driver's error, which may be that of earlier work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the stream is valid.
        unsafe { sys::cuStreamSynchronize(self.inner) }.to_result()
    }

    /// Returns whether all queued work has finished.
    ///
    /// # Errors
    /// Returns the driver's error, which may be that of earlier work.
    pub fn query(&self) -> CudaResult<bool> {
        // SAFETY: the stream is valid.
        match unsafe { sys::cuStreamQuery(self.inner) }.to_result() {
            Ok(()) => Ok(true),
            Err(CudaError::NotReady) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Launches a kernel. [`launch!`](crate::launch!) calls this.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// `args` must have one pointer per parameter of the kernel, each to a value of the parameter's type. The kernel must
    /// be sound to run with these values.
    #[doc(hidden)]
    pub unsafe fn launch<G, B>(
        &self,
        func: &Function<'_>,
        grid_size: G,
        block_size: B,
        shared_mem_bytes: u32,
        args: &[*mut c_void],
    ) -> CudaResult<()>
    where
        G: Into<GridSize>,
        B: Into<BlockSize>,
    {
        let (grid, block) = (grid_size.into(), block_size.into());
        // SAFETY: the driver reads the array; the caller guarantees the rest.
        unsafe {
            sys::cuLaunchKernel(
                func.to_raw(),
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_mem_bytes,
                self.inner,
                args.as_ptr().cast_mut(),
                ptr::null_mut(),
            )
        }
        .to_result()
    }

    /// Launches a kernel with attributes that [`launch!`](crate::launch!) has no syntax for: clusters, cooperation, a
    /// priority. `args` are pointers from [`launch::parameter`](crate::launch::parameter).
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// `args` must have one pointer per parameter of the kernel, each to a value of the parameter's type. The kernel must
    /// be sound to run with these values.
    pub unsafe fn launch_with(
        &self,
        func: &Function<'_>,
        config: &LaunchConfig,
        args: &[*mut c_void],
    ) -> CudaResult<()> {
        config.with_raw(self.inner, |raw| {
            // SAFETY: the driver reads the configuration and the array; the caller guarantees the rest.
            unsafe {
                sys::cuLaunchKernelEx(
                    raw,
                    func.to_raw(),
                    args.as_ptr().cast_mut(),
                    ptr::null_mut(),
                )
            }
            .to_result()
        })
    }

    /// Creates a stream from the driver's handle, which it then owns: see [`Stream::into_raw`].
    ///
    /// # Safety
    /// The handle must be that of a stream, or one of the default streams, and stay valid while the stream lives. Nothing
    /// else may destroy it meanwhile. A stream that somebody else owns, and the default streams, must not be dropped.
    pub unsafe fn from_raw(inner: CUstream) -> Self {
        Self { inner }
    }

    /// Returns the driver's handle, which the caller must then destroy.
    pub fn into_raw(self) -> CUstream {
        mem::ManuallyDrop::new(self).inner
    }

    /// Returns the driver's handle.
    pub fn as_inner(&self) -> CUstream {
        self.inner
    }

    /// Returns the context that the stream belongs to. For a default stream this is the current context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn get_context(&self) -> CudaResult<CUcontext> {
        // SAFETY: the pointer is valid for a write; the stream is valid.
        written(|context| unsafe { sys::cuStreamGetCtx(self.inner, context) })
    }

    /// Destroys the stream and returns the driver's error, which a drop ignores. Queued work still runs.
    ///
    /// # Errors
    /// Returns the driver's error and the stream.
    pub fn drop(stream: Stream) -> DropResult<Stream> {
        // SAFETY: this value owns the handle, and is forgotten once it is destroyed.
        match unsafe { sys::cuStreamDestroy(stream.inner) }.to_result() {
            Ok(()) => {
                mem::forget(stream);
                Ok(())
            }
            Err(error) => Err((error, stream)),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle. A destructor cannot return an error.
        let _ = unsafe { sys::cuStreamDestroy(self.inner) };
    }
}

/// The function that the driver calls for a callback of type `T`.
///
/// # Safety
/// `data` must be from `Box::<T>::into_raw`, and nothing else may own it.
unsafe extern "system" fn call<T>(_: CUstream, status: CUresult, data: *mut c_void)
where
    T: FnOnce(CudaResult<()>) + Send + 'static,
{
    // SAFETY: the caller upholds the contract.
    let callback = unsafe { Box::from_raw(data.cast::<T>()) };
    // A panic must not unwind into the driver. The panic hook has reported it.
    let _ = panic::catch_unwind(panic::AssertUnwindSafe(|| callback(status.to_result())));
}
