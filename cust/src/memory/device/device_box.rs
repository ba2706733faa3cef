//! An owned value in device memory.

use std::fmt;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr;

use super::{AsyncCopyDestination, CopyDestination};
#[cfg(feature = "bytemuck")]
use crate::error::ToResult;
use crate::error::{CudaResult, DropResult};
use crate::memory::copy::{memcpy_dtod, memcpy_dtod_async, memcpy_dtoh_async, memcpy_htod_async};
use crate::memory::{
    DeviceCopy, DevicePointer, cuda_free, cuda_free_async, cuda_malloc, cuda_malloc_async,
    memcpy_dtoh, memcpy_htod,
};
use crate::stream::Stream;
#[cfg(feature = "bytemuck")]
use crate::sys;
use crate::sys::CUdeviceptr;

/// An owned value in device memory, which a drop frees.
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy> {
    pub(crate) ptr: DevicePointer<T>,
}

// SAFETY: the box owns its value, and `T` is `Send`.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBox<T> {}
// SAFETY: a shared reference only allows copies of the value.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBox<T> {}

impl<T: DeviceCopy> DeviceBox<T> {
    /// Allocates a box on the current device and copies `val` to it.
    ///
    /// # Errors
    /// Returns the driver's error of the allocation or the copy.
    pub fn new(val: &T) -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read.
        let mut made = unsafe { Self::uninitialized() }?;
        made.copy_from(val)?;
        Ok(made)
    }

    /// Allocates a box and copies `val` to it, in stream order.
    ///
    /// # Errors
    /// Returns the driver's error of the allocation or the copy.
    ///
    /// # Safety
    /// Until the copy has finished, `val` must live and nothing may write to it. Only work that is ordered after the copy
    /// may use the box.
    pub unsafe fn new_async(val: &T, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the next queued operation writes the value.
        let mut made = unsafe { Self::uninitialized_async(stream) }?;
        // SAFETY: the caller upholds the contract.
        unsafe { made.async_copy_from(val, stream) }?;
        Ok(made)
    }

    /// Frees the value in stream order.
    ///
    /// # Errors
    /// Returns the driver's error. The value is then leaked, since queued work may still use it.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        if this.ptr.is_null() {
            return Ok(());
        }
        // SAFETY: this value owns the memory, and `ManuallyDrop` keeps it from being freed twice.
        unsafe { cuda_free_async(stream, this.ptr) }
    }

    /// Copies the value to the host and returns it.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: both addresses are those of a `T`, and the copy initializes `value`.
        unsafe {
            memcpy_dtoh(value.as_mut_ptr().cast(), self.ptr.as_raw(), size_of::<T>())?;
            Ok(value.assume_init())
        }
    }
}

#[cfg(feature = "bytemuck")]
impl<T: DeviceCopy + bytemuck::Zeroable> DeviceBox<T> {
    /// Allocates a box of zeros on the current device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn zeroed() -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read.
        let made = unsafe { Self::uninitialized() }?;
        if !made.ptr.is_null() {
            // SAFETY: the address is that of a `T`.
            unsafe { sys::cuMemsetD8(made.ptr.as_raw(), 0, size_of::<T>()) }.to_result()?;
        }
        Ok(made)
    }

    /// Allocates a box of zeros in stream order.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// Only work that is ordered after this may use the box.
    pub unsafe fn zeroed_async(stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the next queued operation writes the value.
        let made = unsafe { Self::uninitialized_async(stream) }?;
        if !made.ptr.is_null() {
            // SAFETY: the address is that of a `T`.
            let code = unsafe {
                sys::cuMemsetD8Async(made.ptr.as_raw(), 0, size_of::<T>(), stream.as_inner())
            };
            code.to_result()?;
        }
        Ok(made)
    }
}

impl<T: DeviceCopy> DeviceBox<T> {
    /// Allocates a box on the current device without initializing it. A value of zero bytes has no memory, and its box has
    /// the address 0.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The value must be written before it is read.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self {
                ptr: DevicePointer::null(),
            });
        }
        // SAFETY: the caller upholds the contract.
        Ok(Self {
            ptr: unsafe { cuda_malloc(1) }?,
        })
    }

    /// Allocates a box in stream order without initializing it.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The value must be written before it is read, and only work that is ordered after this may use the box.
    pub unsafe fn uninitialized_async(stream: &Stream) -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self {
                ptr: DevicePointer::null(),
            });
        }
        // SAFETY: the caller upholds the contract.
        Ok(Self {
            ptr: unsafe { cuda_malloc_async(stream, 1) }?,
        })
    }

    /// Creates a box from a device address.
    ///
    /// # Safety
    /// The conditions of [`from_device`](Self::from_device) must hold.
    pub unsafe fn from_raw(ptr: CUdeviceptr) -> Self {
        Self {
            ptr: DevicePointer::from_raw(ptr),
        }
    }

    /// Creates a box from a device pointer.
    ///
    /// # Safety
    /// The pointer must be to a value that the driver allocated and that nothing else owns.
    pub unsafe fn from_device(ptr: DevicePointer<T>) -> Self {
        Self { ptr }
    }

    /// Returns the device pointer, whose memory the caller must then free.
    #[allow(clippy::wrong_self_convention)]
    pub fn into_device(b: DeviceBox<T>) -> DevicePointer<T> {
        ManuallyDrop::new(b).ptr
    }

    /// Returns the device pointer.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.ptr
    }

    /// Frees the value and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the box.
    pub fn drop(dev_box: DeviceBox<T>) -> DropResult<DeviceBox<T>> {
        match dev_box.free() {
            Ok(()) => {
                mem::forget(dev_box);
                Ok(())
            }
            Err(error) => Err((error, dev_box)),
        }
    }

    fn free(&self) -> CudaResult<()> {
        if self.ptr.is_null() {
            return Ok(());
        }
        // SAFETY: this value owns the resource, and this is called once, at its end.
        unsafe { cuda_free(self.ptr) }
    }
}

impl<T: DeviceCopy> Drop for DeviceBox<T> {
    fn drop(&mut self) {
        // A destructor cannot return an error.
        let _ = self.free();
    }
}

impl<T: DeviceCopy> fmt::Pointer for DeviceBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.ptr, f)
    }
}

impl<T: DeviceCopy> crate::private::Sealed for DeviceBox<T> {}

impl<T: DeviceCopy> CopyDestination<T> for DeviceBox<T> {
    fn copy_from(&mut self, val: &T) -> CudaResult<()> {
        // SAFETY: both addresses are those of a `T`.
        unsafe { memcpy_htod(self.ptr.as_raw(), ptr::from_ref(val).cast(), size_of::<T>()) }
    }

    fn copy_to(&self, val: &mut T) -> CudaResult<()> {
        // SAFETY: both addresses are those of a `T`.
        unsafe { memcpy_dtoh(ptr::from_mut(val).cast(), self.ptr.as_raw(), size_of::<T>()) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBox<T>> for DeviceBox<T> {
    fn copy_from(&mut self, val: &DeviceBox<T>) -> CudaResult<()> {
        // SAFETY: both addresses are those of a `T`.
        unsafe { memcpy_dtod(self.ptr.as_raw(), val.ptr.as_raw(), size_of::<T>()) }
    }

    fn copy_to(&self, val: &mut DeviceBox<T>) -> CudaResult<()> {
        val.copy_from(self)
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<T> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, val: &T, stream: &Stream) -> CudaResult<()> {
        let from = ptr::from_ref(val).cast();
        // SAFETY: both addresses are those of a `T`; the caller guarantees the rest.
        unsafe { memcpy_htod_async(self.ptr.as_raw(), from, size_of::<T>(), stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut T, stream: &Stream) -> CudaResult<()> {
        let to = ptr::from_mut(val).cast();
        // SAFETY: both addresses are those of a `T`; the caller guarantees the rest.
        unsafe { memcpy_dtoh_async(to, self.ptr.as_raw(), size_of::<T>(), stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceBox<T>> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, val: &DeviceBox<T>, stream: &Stream) -> CudaResult<()> {
        let (to, from) = (self.ptr.as_raw(), val.ptr.as_raw());
        // SAFETY: both addresses are those of a `T`; the caller guarantees the rest.
        unsafe { memcpy_dtod_async(to, from, size_of::<T>(), stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut DeviceBox<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { val.async_copy_from(self, stream) }
    }
}
