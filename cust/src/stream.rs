//! Streams: queues of work.

use std::ffi::c_void;
use std::mem;
use std::panic;
use std::ptr;

use crate::error::{CudaError, CudaResult, DropResult, ToResult, written};
use crate::event::Event;
use crate::function::{BlockSize, Function, GridSize};
use crate::launch::LaunchConfig;
use crate::sys::{self, CUresult, CUstream};

bitflags::bitflags! {
    /// How a stream goes with the default stream.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct StreamFlags: u32 {
        /// It waits for the default stream, and the default stream for it.
        const DEFAULT = 0x00;
        /// Neither waits for the other.
        const NON_BLOCKING = 0x01;
    }
}

bitflags::bitflags! {
    /// Flags of [`Stream::wait_event`]: CUDA has none so far.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// Nothing special.
        const DEFAULT = 0x0;
    }
}

/// A queue of work: what is queued is done in order.
#[derive(Debug)]
pub struct Stream {
    inner: CUstream,
}

// SAFETY: a stream may be used by any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new stream in the current context, with a priority of
    /// [`get_stream_priority_range`](crate::context::CurrentContext::get_stream_priority_range); none is 0.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: a place to write to.
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

    /// The stream's flags.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_flags(&self) -> CudaResult<StreamFlags> {
        // SAFETY: a place to write to; the stream is there.
        let flags = written(|flags| unsafe { sys::cuStreamGetFlags(self.inner, flags) })?;
        Ok(StreamFlags::from_bits_retain(flags))
    }

    /// The stream's priority.
    ///
    /// # Errors
    /// What the driver says.
    pub fn get_priority(&self) -> CudaResult<i32> {
        // SAFETY: a place to write to; the stream is there.
        written(|priority| unsafe { sys::cuStreamGetPriority(self.inner, priority) })
    }

    /// Calls `callback` when what was queued so far is done, on a thread of the driver's, with what came of that work. The
    /// callback must not call CUDA. A panic in it ends there.
    ///
    /// # Errors
    /// What the driver says; the callback is then not called.
    pub fn add_callback<T>(&self, callback: Box<T>) -> CudaResult<()>
    where
        T: FnOnce(CudaResult<()>) + Send + 'static,
    {
        let data = Box::into_raw(callback);
        // SAFETY: the function takes a box of this type; the driver calls it once, where this succeeds.
        let code = unsafe { sys::cuStreamAddCallback(self.inner, call::<T>, data.cast(), 0) };
        if code != sys::CUDA_SUCCESS {
            // SAFETY: from `into_raw` above, and nobody else has it.
            drop(unsafe { Box::from_raw(data) });
        }
        code.to_result()
    }

    /// Waits for everything that was queued.
    ///
    /// # Errors
    /// What the driver says, also of earlier work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the stream is there.
        unsafe { sys::cuStreamSynchronize(self.inner) }.to_result()
    }

    /// Whether everything that was queued is done.
    ///
    /// # Errors
    /// What the driver says, also of earlier work.
    pub fn query(&self) -> CudaResult<bool> {
        // SAFETY: the stream is there.
        match unsafe { sys::cuStreamQuery(self.inner) }.to_result() {
            Ok(()) => Ok(true),
            Err(CudaError::NotReady) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Has what is queued from now on wait for an event, also one of another stream.
    ///
    /// # Errors
    /// What the driver says.
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        // SAFETY: both are there; the driver keeps what it needs of the event.
        unsafe { sys::cuStreamWaitEvent(self.inner, event.as_inner(), flags.bits()) }.to_result()
    }

    /// Queues a kernel: what [`launch!`](crate::launch!) calls.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// There is a pointer per parameter of the kernel, each to a value of its type, and the kernel may be run with these
    /// values for as long as it runs.
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
        // SAFETY: the driver reads the array; the rest is the contract.
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

    /// Queues a kernel with what [`launch!`](crate::launch!) has no place for: clusters, cooperation, a priority. The
    /// parameters are pointers, as [`launch::parameter`](crate::launch::parameter) makes them.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// There is a pointer per parameter of the kernel, each to a value of its type, and the kernel may be run with these
    /// values for as long as it runs.
    pub unsafe fn launch_with(
        &self,
        func: &Function<'_>,
        config: &LaunchConfig,
        args: &[*mut c_void],
    ) -> CudaResult<()> {
        config.with_raw(self.inner, |raw| {
            // SAFETY: the driver reads the configuration and the array; the rest is the contract.
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

    /// The driver's handle.
    pub fn as_inner(&self) -> CUstream {
        self.inner
    }

    /// Destroys the stream, as dropping it does, and says what came of it. What is queued is still done.
    ///
    /// # Errors
    /// What the driver says, and the stream.
    pub fn drop(stream: Stream) -> DropResult<Stream> {
        // SAFETY: this value's own, destroyed here and not once more.
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
        // SAFETY: this value's own. There is nobody to tell of an error.
        let _ = unsafe { sys::cuStreamDestroy(self.inner) };
    }
}

/// What the driver calls for a callback of type `T`.
///
/// # Safety
/// `data` is a box of `T` that is nobody else's.
unsafe extern "system" fn call<T>(_: CUstream, status: CUresult, data: *mut c_void)
where
    T: FnOnce(CudaResult<()>) + Send + 'static,
{
    // SAFETY: by the contract.
    let callback = unsafe { Box::from_raw(data.cast::<T>()) };
    // A panic must not go on into the driver; the hook has told of it.
    let _ = panic::catch_unwind(panic::AssertUnwindSafe(|| callback(status.to_result())));
}
