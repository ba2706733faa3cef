//! A part of a buffer on a device.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

#[cfg(feature = "bytemuck")]
use bytemuck::{Pod, Zeroable};

use super::{AsyncCopyDestination, CopyDestination, DeviceBuffer};
#[cfg(feature = "bytemuck")]
use crate::error::ToResult;
use crate::error::{CudaError, CudaResult};
use crate::memory::copy::{memcpy_dtod, memcpy_dtod_async, memcpy_dtoh_async, memcpy_htod_async};
use crate::memory::{DeviceCopy, DeviceMemory, DevicePointer, memcpy_dtoh, memcpy_htod};
use crate::stream::Stream;
#[cfg(feature = "bytemuck")]
use crate::sys::{self, CUdeviceptr};

/// Elements on a device that belong to a buffer.
///
/// A reference to it is an address on the device and a length. It has no bytes on the host, so that nothing there can
/// follow it.
#[repr(transparent)]
pub struct DeviceSlice<T: DeviceCopy> {
    _phantom: PhantomData<T>,
    slice: [()],
}

// SAFETY: elements that may go to another thread.
unsafe impl<T: Send + DeviceCopy> Send for DeviceSlice<T> {}
// SAFETY: a shared reference only copies the elements.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceSlice<T> {}

impl<T: DeviceCopy> fmt::Debug for DeviceSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSlice")
            .field("ptr", &self.as_device_ptr())
            .field("len", &self.len())
            .finish()
    }
}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slice.is_empty()
    }

    /// The address of the first element. Where there are no bytes it means nothing.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.slice.as_ptr().addr() as u64)
    }

    /// The elements, copied to the host.
    ///
    /// # Errors
    /// What the driver says.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut values: Vec<T> = Vec::with_capacity(self.len());
        // SAFETY: so many elements are readable on the device and writable here, and then they are there.
        unsafe {
            memcpy_dtoh(
                values.as_mut_ptr().cast(),
                self.as_raw_ptr(),
                self.size_in_bytes(),
            )?;
            values.set_len(self.len());
        }
        Ok(values)
    }

    /// The elements at an address.
    ///
    /// # Safety
    /// There are so many, for as long as the reference is there, and nothing writes to them meanwhile that it is not ordered
    /// with.
    #[allow(clippy::needless_pass_by_value)]
    pub unsafe fn from_raw_parts<'a>(ptr: DevicePointer<T>, len: usize) -> &'a DeviceSlice<T> {
        let slice = ptr::slice_from_raw_parts(address(ptr), len) as *const Self;
        // SAFETY: no bytes, at an address that is not null.
        unsafe { &*slice }
    }

    /// The elements at an address.
    ///
    /// # Safety
    /// There are so many, for as long as the reference is there, and nothing else uses them meanwhile that it is not
    /// ordered with.
    pub unsafe fn from_raw_parts_mut<'a>(
        ptr: DevicePointer<T>,
        len: usize,
    ) -> &'a mut DeviceSlice<T> {
        let slice = ptr::slice_from_raw_parts_mut(address(ptr), len) as *mut Self;
        // SAFETY: no bytes, at an address that is not null.
        unsafe { &mut *slice }
    }
}

/// An address as a reference can have it: not 0, which is what a buffer without bytes has.
fn address<T: DeviceCopy>(pointer: DevicePointer<T>) -> *mut () {
    if pointer.is_null() {
        ptr::dangling_mut()
    } else {
        pointer.as_mut_ptr().cast()
    }
}

#[cfg(feature = "bytemuck")]
impl<T: DeviceCopy + Pod> DeviceSlice<T> {
    /// Writes `value` to every byte.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_8(&mut self, value: u8) -> CudaResult<()> {
        // SAFETY: so many bytes are writable.
        self.set(1, |to, count| unsafe { sys::cuMemsetD8(to, value, count) })
    }

    /// Queues a write of `value` to every byte.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// Until it is done the memory is there and nothing else uses it.
    pub unsafe fn set_8_async(&mut self, value: u8, stream: &Stream) -> CudaResult<()> {
        // SAFETY: so many bytes are writable; the rest is the contract.
        self.set(1, |to, count| unsafe {
            sys::cuMemsetD8Async(to, value, count, stream.as_inner())
        })
    }

    /// Writes `value` to every two bytes.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where the bytes or the address are no multiple of two, and what the driver says.
    pub fn set_16(&mut self, value: u16) -> CudaResult<()> {
        // SAFETY: so many bytes are writable.
        self.set(2, |to, count| unsafe { sys::cuMemsetD16(to, value, count) })
    }

    /// Queues a write of `value` to every two bytes.
    ///
    /// # Errors
    /// As of [`set_16`](Self::set_16).
    ///
    /// # Safety
    /// Until it is done the memory is there and nothing else uses it.
    pub unsafe fn set_16_async(&mut self, value: u16, stream: &Stream) -> CudaResult<()> {
        // SAFETY: so many bytes are writable; the rest is the contract.
        self.set(2, |to, count| unsafe {
            sys::cuMemsetD16Async(to, value, count, stream.as_inner())
        })
    }

    /// Writes `value` to every four bytes.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where the bytes or the address are no multiple of four, and what the driver says.
    pub fn set_32(&mut self, value: u32) -> CudaResult<()> {
        // SAFETY: so many bytes are writable.
        self.set(4, |to, count| unsafe { sys::cuMemsetD32(to, value, count) })
    }

    /// Queues a write of `value` to every four bytes.
    ///
    /// # Errors
    /// As of [`set_32`](Self::set_32).
    ///
    /// # Safety
    /// Until it is done the memory is there and nothing else uses it.
    pub unsafe fn set_32_async(&mut self, value: u32, stream: &Stream) -> CudaResult<()> {
        // SAFETY: so many bytes are writable; the rest is the contract.
        self.set(4, |to, count| unsafe {
            sys::cuMemsetD32Async(to, value, count, stream.as_inner())
        })
    }
}

#[cfg(feature = "bytemuck")]
impl<T: DeviceCopy + Zeroable> DeviceSlice<T> {
    /// Writes zeros.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_zero(&mut self) -> CudaResult<()> {
        // SAFETY: so many bytes are writable, and zeros are a value.
        self.set(1, |to, count| unsafe { sys::cuMemsetD8(to, 0, count) })
    }

    /// Queues a write of zeros.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// Until it is done the memory is there and nothing else uses it.
    pub unsafe fn set_zero_async(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: so many bytes are writable, and zeros are a value; the rest is the contract.
        self.set(1, |to, count| unsafe {
            sys::cuMemsetD8Async(to, 0, count, stream.as_inner())
        })
    }
}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// Writes the slice as so many units of `size` bytes.
    #[cfg(feature = "bytemuck")]
    fn set(
        &mut self,
        size: usize,
        write: impl FnOnce(CUdeviceptr, usize) -> u32,
    ) -> CudaResult<()> {
        let (to, bytes) = (self.as_raw_ptr(), self.size_in_bytes());
        if bytes == 0 {
            return Ok(());
        }
        if !bytes.is_multiple_of(size) || !to.is_multiple_of(size as u64) {
            return Err(CudaError::InvalidValue);
        }
        write(to, bytes / size).to_result()
    }

    /// The bytes to copy where the other end has so many elements.
    fn bytes_with(&self, len: usize) -> CudaResult<usize> {
        if len == self.len() {
            Ok(self.size_in_bytes())
        } else {
            Err(CudaError::InvalidValue)
        }
    }
}

impl<T: DeviceCopy> DeviceSlice<T> {
    pub(super) fn copy_from_slice(&mut self, from: &[T]) -> CudaResult<()> {
        let bytes = self.bytes_with(from.len())?;
        // SAFETY: so many bytes at both ends.
        unsafe { memcpy_htod(self.as_raw_ptr(), from.as_ptr().cast(), bytes) }
    }

    /// # Safety
    /// As of [`AsyncCopyDestination::async_copy_from`].
    pub(super) unsafe fn copy_from_slice_async(
        &mut self,
        from: &[T],
        stream: &Stream,
    ) -> CudaResult<()> {
        let bytes = self.bytes_with(from.len())?;
        // SAFETY: so many bytes at both ends; the rest is the contract.
        unsafe { memcpy_htod_async(self.as_raw_ptr(), from.as_ptr().cast(), bytes, stream) }
    }
}

impl<T: DeviceCopy> crate::private::Sealed for DeviceSlice<T> {}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> CopyDestination<I> for DeviceSlice<T> {
    fn copy_from(&mut self, val: &I) -> CudaResult<()> {
        self.copy_from_slice(val.as_ref())
    }

    fn copy_to(&self, val: &mut I) -> CudaResult<()> {
        let to = val.as_mut();
        let bytes = self.bytes_with(to.len())?;
        // SAFETY: so many bytes at both ends.
        unsafe { memcpy_dtoh(to.as_mut_ptr().cast(), self.as_raw_ptr(), bytes) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceSlice<T>> for DeviceSlice<T> {
    fn copy_from(&mut self, val: &DeviceSlice<T>) -> CudaResult<()> {
        let bytes = self.bytes_with(val.len())?;
        // SAFETY: so many bytes at both ends.
        unsafe { memcpy_dtod(self.as_raw_ptr(), val.as_raw_ptr(), bytes) }
    }

    fn copy_to(&self, val: &mut DeviceSlice<T>) -> CudaResult<()> {
        val.copy_from(self)
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

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> AsyncCopyDestination<I>
    for DeviceSlice<T>
{
    unsafe fn async_copy_from(&mut self, val: &I, stream: &Stream) -> CudaResult<()> {
        // SAFETY: by the contract.
        unsafe { self.copy_from_slice_async(val.as_ref(), stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut I, stream: &Stream) -> CudaResult<()> {
        let to = val.as_mut();
        let bytes = self.bytes_with(to.len())?;
        // SAFETY: so many bytes at both ends; the rest is the contract.
        unsafe { memcpy_dtoh_async(to.as_mut_ptr().cast(), self.as_raw_ptr(), bytes, stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceSlice<T>> for DeviceSlice<T> {
    unsafe fn async_copy_from(&mut self, val: &DeviceSlice<T>, stream: &Stream) -> CudaResult<()> {
        let bytes = self.bytes_with(val.len())?;
        // SAFETY: so many bytes at both ends; the rest is the contract.
        unsafe { memcpy_dtod_async(self.as_raw_ptr(), val.as_raw_ptr(), bytes, stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut DeviceSlice<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: by the contract.
        unsafe { val.async_copy_from(self, stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceBuffer<T>> for DeviceSlice<T> {
    unsafe fn async_copy_from(&mut self, val: &DeviceBuffer<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: by the contract.
        unsafe { self.async_copy_from(val.as_slice(), stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut DeviceBuffer<T>, stream: &Stream) -> CudaResult<()> {
        let to: &mut DeviceSlice<T> = val;
        // SAFETY: by the contract.
        unsafe { to.async_copy_from(self, stream) }
    }
}
