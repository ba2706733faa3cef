//! A buffer on a device.

use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};

#[cfg(feature = "bytemuck")]
pub use bytemuck;
#[cfg(feature = "bytemuck")]
use bytemuck::{Pod, PodCastError, Zeroable};

use super::DeviceSlice;
use crate::error::{CudaResult, DropResult};
use crate::memory::{
    DeviceCopy, DevicePointer, cuda_free, cuda_free_async, cuda_malloc, cuda_malloc_async,
};
use crate::stream::Stream;

/// Elements on a device, freed with this.
#[derive(Debug)]
#[repr(C)]
pub struct DeviceBuffer<T: DeviceCopy> {
    buf: DevicePointer<T>,
    len: usize,
}

// SAFETY: it owns its elements, which may go to another thread.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBuffer<T> {}
// SAFETY: a shared reference only copies the elements.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBuffer<T> {}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Room for `size` elements on the current device; none where they have no bytes.
    ///
    /// # Errors
    /// What the driver says, and
    /// [`CudaError::InvalidMemoryAllocation`](crate::error::CudaError::InvalidMemoryAllocation) for more bytes than can be
    /// counted.
    ///
    /// # Safety
    /// Elements must be written before they are read.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size == 0 || size_of::<T>() == 0 {
            DevicePointer::null()
        } else {
            // SAFETY: by the contract.
            unsafe { cuda_malloc(size) }?
        };
        Ok(Self { buf, len: size })
    }

    /// Allocates in the order of a stream.
    ///
    /// # Errors
    /// As of [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    /// Elements must be written before they are read, and the buffer be used only by what is ordered after this.
    pub unsafe fn uninitialized_async(size: usize, stream: &Stream) -> CudaResult<Self> {
        let buf = if size == 0 || size_of::<T>() == 0 {
            DevicePointer::null()
        } else {
            // SAFETY: by the contract.
            unsafe { cuda_malloc_async(stream, size) }?
        };
        Ok(Self { buf, len: size })
    }

    /// Frees the buffer in the order of a stream.
    ///
    /// # Errors
    /// What the driver says; the buffer is then never freed, for what was queued may still use it.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        if this.buf.is_null() {
            return Ok(());
        }
        // SAFETY: this value's own, freed here and not once more.
        unsafe { cuda_free_async(stream, this.buf) }
    }

    /// A buffer of the elements at this address.
    ///
    /// # Safety
    /// There are so many, allocated by the driver and nobody else's.
    pub unsafe fn from_raw_parts(ptr: DevicePointer<T>, capacity: usize) -> DeviceBuffer<T> {
        Self {
            buf: ptr,
            len: capacity,
        }
    }

    /// Frees the buffer, as dropping it does, and says what came of it.
    ///
    /// # Errors
    /// What the driver says, and the buffer.
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
        // SAFETY: this value's own; called once, at its end.
        unsafe { cuda_free(self.buf) }
    }
}

#[cfg(feature = "bytemuck")]
impl<T: DeviceCopy + Zeroable> DeviceBuffer<T> {
    /// A buffer of `size` elements of zeros on the current device.
    ///
    /// # Errors
    /// As of [`uninitialized`](Self::uninitialized).
    pub fn zeroed(size: usize) -> CudaResult<Self> {
        // SAFETY: written at once.
        let mut made = unsafe { Self::uninitialized(size) }?;
        made.set_zero()?;
        Ok(made)
    }

    /// Allocates and writes zeros in the order of a stream.
    ///
    /// # Errors
    /// As of [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    /// The buffer is used only by what is ordered after this.
    pub unsafe fn zeroed_async(size: usize, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: written by what is queued next; the rest is the contract.
        unsafe {
            let mut made = Self::uninitialized_async(size, stream)?;
            made.set_zero_async(stream)?;
            Ok(made)
        }
    }
}

#[cfg(feature = "bytemuck")]
impl<A: DeviceCopy + Pod> DeviceBuffer<A> {
    /// The same bytes as elements of another type.
    ///
    /// # Panics
    /// Where [`try_cast`](Self::try_cast) gives an error.
    pub fn cast<B: Pod + DeviceCopy>(self) -> DeviceBuffer<B> {
        self.try_cast()
            .unwrap_or_else(|error| panic!("a cast of a buffer: {error}"))
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// That the address is no multiple of the other type's alignment, or that the bytes are no whole number of its
    /// elements. The buffer is then freed.
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
    /// A buffer on the current device with these elements.
    ///
    /// # Errors
    /// What the driver says of the allocation and the copy.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: written at once.
        let mut made = unsafe { Self::uninitialized(slice.len()) }?;
        made.copy_from_slice(slice)?;
        Ok(made)
    }

    /// Allocates and copies in the order of a stream.
    ///
    /// # Errors
    /// What the driver says of the allocation and the copy.
    ///
    /// # Safety
    /// `slice` is there and not written to until the copy is done; the buffer is used only by what is ordered after it.
    pub unsafe fn from_slice_async(slice: &[T], stream: &Stream) -> CudaResult<Self> {
        // SAFETY: written by what is queued next; the rest is the contract.
        unsafe {
            let mut made = Self::uninitialized_async(slice.len(), stream)?;
            made.copy_from_slice_async(slice, stream)?;
            Ok(made)
        }
    }

    /// All elements.
    pub fn as_slice(&self) -> &DeviceSlice<T> {
        self
    }
}

impl<T: DeviceCopy> Deref for DeviceBuffer<T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        // SAFETY: there are so many elements, for as long as this is there.
        unsafe { DeviceSlice::from_raw_parts(self.buf, self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for DeviceBuffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        // SAFETY: there are so many elements, for as long as this is there.
        unsafe { DeviceSlice::from_raw_parts_mut(self.buf, self.len) }
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        // There is nobody to tell of an error.
        let _ = self.free();
    }
}
