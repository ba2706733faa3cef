//! A value on a device.

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

/// A value on a device, freed with this.
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy> {
    pub(crate) ptr: DevicePointer<T>,
}

// SAFETY: it owns its value, which may go to another thread.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBox<T> {}
// SAFETY: a shared reference only copies the value.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBox<T> {}

impl<T: DeviceCopy> DeviceBox<T> {
    /// A box on the current device with this value.
    ///
    /// # Errors
    /// What the driver says of the allocation and the copy.
    pub fn new(val: &T) -> CudaResult<Self> {
        // SAFETY: written at once.
        let mut made = unsafe { Self::uninitialized() }?;
        made.copy_from(val)?;
        Ok(made)
    }

    /// Allocates and copies in the order of a stream.
    ///
    /// # Errors
    /// What the driver says of the allocation and the copy.
    ///
    /// # Safety
    /// `val` is there and not written to until the copy is done; the box is used only by what is ordered after it.
    pub unsafe fn new_async(val: &T, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: written by what is queued next.
        let mut made = unsafe { Self::uninitialized_async(stream) }?;
        // SAFETY: by the contract.
        unsafe { made.async_copy_from(val, stream) }?;
        Ok(made)
    }

    /// Frees the value in the order of a stream.
    ///
    /// # Errors
    /// What the driver says; the value is then never freed, for what was queued may still use it.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        if this.ptr.is_null() {
            return Ok(());
        }
        // SAFETY: this value's own, freed here and not once more.
        unsafe { cuda_free_async(stream, this.ptr) }
    }

    /// The value, copied to the host.
    ///
    /// # Errors
    /// What the driver says.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: a `T` is readable on the device and writable here.
        unsafe {
            memcpy_dtoh(value.as_mut_ptr().cast(), self.ptr.as_raw(), size_of::<T>())?;
            Ok(value.assume_init())
        }
    }
}

#[cfg(feature = "bytemuck")]
impl<T: DeviceCopy + bytemuck::Zeroable> DeviceBox<T> {
    /// A box on the current device with zeros.
    ///
    /// # Errors
    /// What the driver says.
    pub fn zeroed() -> CudaResult<Self> {
        // SAFETY: written at once.
        let made = unsafe { Self::uninitialized() }?;
        if !made.ptr.is_null() {
            // SAFETY: a `T` is writable there.
            unsafe { sys::cuMemsetD8(made.ptr.as_raw(), 0, size_of::<T>()) }.to_result()?;
        }
        Ok(made)
    }

    /// Allocates and writes zeros in the order of a stream.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The box is used only by what is ordered after this.
    pub unsafe fn zeroed_async(stream: &Stream) -> CudaResult<Self> {
        // SAFETY: written by what is queued next.
        let made = unsafe { Self::uninitialized_async(stream) }?;
        if !made.ptr.is_null() {
            // SAFETY: a `T` is writable there.
            let code = unsafe {
                sys::cuMemsetD8Async(made.ptr.as_raw(), 0, size_of::<T>(), stream.as_inner())
            };
            code.to_result()?;
        }
        Ok(made)
    }
}

impl<T: DeviceCopy> DeviceBox<T> {
    /// Room for a value on the current device; none, at the address 0, where values have no bytes.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The value must be written before it is read.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self {
                ptr: DevicePointer::null(),
            });
        }
        // SAFETY: by the contract.
        Ok(Self {
            ptr: unsafe { cuda_malloc(1) }?,
        })
    }

    /// Allocates in the order of a stream.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The value must be written before it is read, and the box be used only by what is ordered after this.
    pub unsafe fn uninitialized_async(stream: &Stream) -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self {
                ptr: DevicePointer::null(),
            });
        }
        // SAFETY: by the contract.
        Ok(Self {
            ptr: unsafe { cuda_malloc_async(stream, 1) }?,
        })
    }

    /// A box of the value at this address.
    ///
    /// # Safety
    /// As of [`from_device`](Self::from_device).
    pub unsafe fn from_raw(ptr: CUdeviceptr) -> Self {
        Self {
            ptr: DevicePointer::from_raw(ptr),
        }
    }

    /// A box of the value at this address.
    ///
    /// # Safety
    /// There is a value, allocated by the driver and nobody else's.
    pub unsafe fn from_device(ptr: DevicePointer<T>) -> Self {
        Self { ptr }
    }

    /// The address of the value, which is then the caller's to free.
    #[allow(clippy::wrong_self_convention)]
    pub fn into_device(b: DeviceBox<T>) -> DevicePointer<T> {
        ManuallyDrop::new(b).ptr
    }

    /// The address of the value.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.ptr
    }

    /// Frees the value, as dropping the box does, and says what came of it.
    ///
    /// # Errors
    /// What the driver says, and the box.
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
        // SAFETY: this value's own; called once, at its end.
        unsafe { cuda_free(self.ptr) }
    }
}

impl<T: DeviceCopy> Drop for DeviceBox<T> {
    fn drop(&mut self) {
        // There is nobody to tell of an error.
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
        // SAFETY: a `T` at both ends.
        unsafe { memcpy_htod(self.ptr.as_raw(), ptr::from_ref(val).cast(), size_of::<T>()) }
    }

    fn copy_to(&self, val: &mut T) -> CudaResult<()> {
        // SAFETY: a `T` at both ends.
        unsafe { memcpy_dtoh(ptr::from_mut(val).cast(), self.ptr.as_raw(), size_of::<T>()) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBox<T>> for DeviceBox<T> {
    fn copy_from(&mut self, val: &DeviceBox<T>) -> CudaResult<()> {
        // SAFETY: a `T` at both ends.
        unsafe { memcpy_dtod(self.ptr.as_raw(), val.ptr.as_raw(), size_of::<T>()) }
    }

    fn copy_to(&self, val: &mut DeviceBox<T>) -> CudaResult<()> {
        val.copy_from(self)
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<T> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, val: &T, stream: &Stream) -> CudaResult<()> {
        let from = ptr::from_ref(val).cast();
        // SAFETY: a `T` at both ends; the rest is the contract.
        unsafe { memcpy_htod_async(self.ptr.as_raw(), from, size_of::<T>(), stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut T, stream: &Stream) -> CudaResult<()> {
        let to = ptr::from_mut(val).cast();
        // SAFETY: a `T` at both ends; the rest is the contract.
        unsafe { memcpy_dtoh_async(to, self.ptr.as_raw(), size_of::<T>(), stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceBox<T>> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, val: &DeviceBox<T>, stream: &Stream) -> CudaResult<()> {
        let (to, from) = (self.ptr.as_raw(), val.ptr.as_raw());
        // SAFETY: a `T` at both ends; the rest is the contract.
        unsafe { memcpy_dtod_async(to, from, size_of::<T>(), stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut DeviceBox<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: by the contract.
        unsafe { val.async_copy_from(self, stream) }
    }
}
