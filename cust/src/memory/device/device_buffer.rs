//! An owned buffer in device memory.

use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};

#[cfg(feature = "bytemuck")]
pub use bytemuck;
#[cfg(feature = "bytemuck")]
use bytemuck::{Pod, PodCastError, Zeroable};

use super::{AsyncCopyDestination, CopyDestination, DeviceSlice};
use crate::error::{CudaResult, DropResult};
use crate::memory::{
    DeviceCopy, DevicePointer, cuda_free, cuda_free_async, cuda_malloc, cuda_malloc_async,
};
use crate::stream::Stream;

/// An owned buffer of elements in device memory, which a drop frees.
#[derive(Debug)]
#[repr(C)]
pub struct DeviceBuffer<T: DeviceCopy> {
    buf: DevicePointer<T>,
    len: usize,
}

// SAFETY: the buffer owns its elements, and `T` is `Send`.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBuffer<T> {}
// SAFETY: a shared reference only allows copies of the elements.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBuffer<T> {}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates a buffer of `size` elements on the current device without initializing it. A buffer of zero bytes has no
    /// memory.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidMemoryAllocation`](crate::error::CudaError::InvalidMemoryAllocation) if the size
    /// overflows a `usize`, or the driver's error.
    ///
    /// # Safety
    /// Elements must be written before they are read.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size == 0 || size_of::<T>() == 0 {
            DevicePointer::null()
        } else {
            // SAFETY: the caller upholds the contract.
            unsafe { cuda_malloc(size) }?
        };
        Ok(Self { buf, len: size })
    }

    /// Allocates a buffer in stream order without initializing it.
    ///
    /// # Errors
    /// Returns the errors of [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    /// Elements must be written before they are read, and only work that is ordered after this may use the buffer.
    pub unsafe fn uninitialized_async(size: usize, stream: &Stream) -> CudaResult<Self> {
        let buf = if size == 0 || size_of::<T>() == 0 {
            DevicePointer::null()
        } else {
            // SAFETY: the caller upholds the contract.
            unsafe { cuda_malloc_async(stream, size) }?
        };
        Ok(Self { buf, len: size })
    }

    /// Frees the buffer in stream order.
    ///
    /// # Errors
    /// Returns the driver's error. The buffer is then leaked, since queued work may still use it.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        if this.buf.is_null() {
            return Ok(());
        }
        // SAFETY: this value owns the memory, and `ManuallyDrop` keeps it from being freed twice.
        unsafe { cuda_free_async(stream, this.buf) }
    }

    /// Creates a buffer from a device pointer and a number of elements.
    ///
    /// # Safety
    /// The pointer must be to `capacity` elements that the driver allocated and that nothing else owns.
    pub unsafe fn from_raw_parts(ptr: DevicePointer<T>, capacity: usize) -> DeviceBuffer<T> {
        Self {
            buf: ptr,
            len: capacity,
        }
    }

    /// Frees the buffer and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the buffer.
    pub fn drop(dev_buf: DeviceBuffer<T>) -> DropResult<DeviceBuffer<T>> {
        match dev_buf.free() {
            Ok(()) => {
                mem::forget(dev_buf);
                Ok(())
            }
            Err(error) => Err((error, dev_buf)),
        }
    }

    fn free(&self) -> CudaResult<()> {
        if self.buf.is_null() {
            return Ok(());
        }
        // SAFETY: this value owns the resource, and this is called once, at its end.
        unsafe { cuda_free(self.buf) }
    }
}

#[cfg(feature = "bytemuck")]
impl<T: DeviceCopy + Zeroable> DeviceBuffer<T> {
    /// Allocates a buffer of `size` elements on the current device and fills it with zeros.
    ///
    /// # Errors
    /// Returns the errors of [`uninitialized`](Self::uninitialized).
    pub fn zeroed(size: usize) -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read.
        let mut made = unsafe { Self::uninitialized(size) }?;
        made.set_zero()?;
        Ok(made)
    }

    /// Allocates a buffer and fills it with zeros, in stream order.
    ///
    /// # Errors
    /// Returns the errors of [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    /// Only work that is ordered after this may use the buffer.
    pub unsafe fn zeroed_async(size: usize, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the next queued operation writes the elements; the caller guarantees the rest.
        unsafe {
            let mut made = Self::uninitialized_async(size, stream)?;
            made.set_zero_async(stream)?;
            Ok(made)
        }
    }
}

#[cfg(feature = "bytemuck")]
impl<A: DeviceCopy + Pod> DeviceBuffer<A> {
    /// Reinterprets the elements as another type.
    ///
    /// # Panics
    /// Panics if [`try_cast`](Self::try_cast) returns an error.
    pub fn cast<B: Pod + DeviceCopy>(self) -> DeviceBuffer<B> {
        self.try_cast()
            .unwrap_or_else(|error| panic!("a cast of a buffer: {error}"))
    }

    /// Reinterprets the elements as another type.
    ///
    /// # Errors
    /// Returns an error if the address is not aligned for `B`, or if the size is not a multiple of the size of `B`. The
    /// buffer is then freed.
    pub fn try_cast<B: Pod + DeviceCopy>(self) -> Result<DeviceBuffer<B>, PodCastError> {
        let bytes = self.len * size_of::<A>();
        let len = if size_of::<A>() == size_of::<B>() {
            self.len
        } else if size_of::<B>() == 0 || !bytes.is_multiple_of(size_of::<B>()) {
            return Err(PodCastError::OutputSliceWouldHaveSlop);
        } else {
            bytes / size_of::<B>()
        };
        if !self.buf.as_raw().is_multiple_of(align_of::<B>() as u64) {
            return Err(PodCastError::TargetAlignmentGreaterAndInputNotAligned);
        }
        let this = ManuallyDrop::new(self);
        Ok(DeviceBuffer {
            buf: this.buf.cast(),
            len,
        })
    }
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates a buffer on the current device and copies `slice` to it.
    ///
    /// # Errors
    /// Returns the driver's error of the allocation or the copy.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read.
        let mut made = unsafe { Self::uninitialized(slice.len()) }?;
        made.copy_from_slice(slice)?;
        Ok(made)
    }

    /// Allocates a buffer and copies `slice` to it, in stream order.
    ///
    /// # Errors
    /// Returns the driver's error of the allocation or the copy.
    ///
    /// # Safety
    /// Until the copy has finished, `slice` must live and nothing may write to it. Only work that is ordered after the copy
    /// may use the buffer.
    pub unsafe fn from_slice_async(slice: &[T], stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the next queued operation writes the elements; the caller guarantees the rest.
        unsafe {
            let mut made = Self::uninitialized_async(slice.len(), stream)?;
            made.copy_from_slice_async(slice, stream)?;
            Ok(made)
        }
    }

    /// Returns a slice of all elements.
    pub fn as_slice(&self) -> &DeviceSlice<T> {
        self
    }
}

impl<T: DeviceCopy> Deref for DeviceBuffer<T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        // SAFETY: the buffer holds as many elements for as long as it lives.
        unsafe { DeviceSlice::from_raw_parts(self.buf, self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for DeviceBuffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        // SAFETY: the buffer holds as many elements for as long as it lives.
        unsafe { DeviceSlice::from_raw_parts_mut(self.buf, self.len) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBuffer<T>> for DeviceSlice<T> {
    fn copy_from(&mut self, val: &DeviceBuffer<T>) -> CudaResult<()> {
        self.copy_from(val.as_slice())
    }

    fn copy_to(&self, val: &mut DeviceBuffer<T>) -> CudaResult<()> {
        let to: &mut DeviceSlice<T> = val;
        to.copy_from(self)
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceBuffer<T>> for DeviceSlice<T> {
    unsafe fn async_copy_from(&mut self, val: &DeviceBuffer<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { self.async_copy_from(val.as_slice(), stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut DeviceBuffer<T>, stream: &Stream) -> CudaResult<()> {
        let to: &mut DeviceSlice<T> = val;
        // SAFETY: the caller upholds the contract.
        unsafe { to.async_copy_from(self, stream) }
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        // A destructor cannot return an error.
        let _ = self.free();
    }
}
