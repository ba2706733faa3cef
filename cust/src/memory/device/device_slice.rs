//! A slice of a buffer in device memory.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

#[cfg(feature = "bytemuck")]
use bytemuck::{Pod, Zeroable};

use super::{AsyncCopyDestination, CopyDestination};
#[cfg(feature = "bytemuck")]
use crate::error::ToResult;
use crate::error::{CudaError, CudaResult};
use crate::memory::copy::{memcpy_dtod, memcpy_dtod_async, memcpy_dtoh_async, memcpy_htod_async};
use crate::memory::{DeviceCopy, DeviceMemory, DevicePointer, memcpy_dtoh, memcpy_htod};
use crate::stream::Stream;
#[cfg(feature = "bytemuck")]
use crate::sys::{self, CUdeviceptr};

/// A slice of elements in device memory.
///
/// A reference to a slice is a device address and a length. It refers to no bytes on the host, so host code cannot read
/// through it.
#[repr(transparent)]
pub struct DeviceSlice<T: DeviceCopy> {
    _phantom: PhantomData<T>,
    slice: [()],
}

// SAFETY: a slice of elements, and `T` is `Send`.
unsafe impl<T: Send + DeviceCopy> Send for DeviceSlice<T> {}
// SAFETY: a shared reference only allows copies of the elements.
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
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// Returns whether the slice has no elements.
    pub fn is_empty(&self) -> bool {
        self.slice.is_empty()
    }

    /// Returns the pointer to the first element. It is meaningless for a slice of zero bytes.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.slice.as_ptr().addr() as u64)
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut values: Vec<T> = Vec::with_capacity(self.len());
        // SAFETY: the device slice and the vector's capacity hold `len` elements, and the copy initializes them.
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

    /// Creates a slice from a device pointer and a number of elements.
    ///
    /// # Safety
    /// The pointer must be to `len` elements that live as long as the reference. Every write to them in that time must be
    /// ordered with the uses of the reference.
    #[allow(clippy::needless_pass_by_value)]
    pub unsafe fn from_raw_parts<'a>(ptr: DevicePointer<T>, len: usize) -> &'a DeviceSlice<T> {
        let slice = ptr::slice_from_raw_parts(address(ptr), len) as *const Self;
        // SAFETY: the slice has no bytes on the host, and its address is not null.
        unsafe { &*slice }
    }

    /// Creates a mutable slice from a device pointer and a number of elements.
    ///
    /// # Safety
    /// The pointer must be to `len` elements that live as long as the reference. Every other use of them in that time must
    /// be ordered with the uses of the reference.
    pub unsafe fn from_raw_parts_mut<'a>(
        ptr: DevicePointer<T>,
        len: usize,
    ) -> &'a mut DeviceSlice<T> {
        let slice = ptr::slice_from_raw_parts_mut(address(ptr), len) as *mut Self;
        // SAFETY: the slice has no bytes on the host, and its address is not null.
        unsafe { &mut *slice }
    }
}

/// Returns the address for a reference, which must not be 0. A buffer of zero bytes has the address 0.
fn address<T: DeviceCopy>(pointer: DevicePointer<T>) -> *mut () {
    if pointer.is_null() {
        ptr::dangling_mut()
    } else {
        pointer.as_mut_ptr().cast()
    }
}

#[cfg(feature = "bytemuck")]
impl<T: DeviceCopy + Pod> DeviceSlice<T> {
    /// Sets every byte to `value`.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_8(&mut self, value: u8) -> CudaResult<()> {
        // SAFETY: the range is valid for writes.
        self.set(1, |to, count| unsafe { sys::cuMemsetD8(to, value, count) })
    }

    /// Queues a fill that sets every byte to `value`.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// Until the fill has finished, the memory must live and nothing else may use it.
    pub unsafe fn set_8_async(&mut self, value: u8, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the range is valid for writes; the caller guarantees the rest.
        self.set(1, |to, count| unsafe {
            sys::cuMemsetD8Async(to, value, count, stream.as_inner())
        })
    }

    /// Sets every 2-byte word to `value`.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the size or the address is not a multiple of 2 bytes, or the driver's error.
    pub fn set_16(&mut self, value: u16) -> CudaResult<()> {
        // SAFETY: the range is valid for writes.
        self.set(2, |to, count| unsafe { sys::cuMemsetD16(to, value, count) })
    }

    /// Queues a fill that sets every 2-byte word to `value`.
    ///
    /// # Errors
    /// Returns the errors of [`set_16`](Self::set_16).
    ///
    /// # Safety
    /// Until the fill has finished, the memory must live and nothing else may use it.
    pub unsafe fn set_16_async(&mut self, value: u16, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the range is valid for writes; the caller guarantees the rest.
        self.set(2, |to, count| unsafe {
            sys::cuMemsetD16Async(to, value, count, stream.as_inner())
        })
    }

    /// Sets every 4-byte word to `value`.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the size or the address is not a multiple of 4 bytes, or the driver's error.
    pub fn set_32(&mut self, value: u32) -> CudaResult<()> {
        // SAFETY: the range is valid for writes.
        self.set(4, |to, count| unsafe { sys::cuMemsetD32(to, value, count) })
    }

    /// Queues a fill that sets every 4-byte word to `value`.
    ///
    /// # Errors
    /// Returns the errors of [`set_32`](Self::set_32).
    ///
    /// # Safety
    /// Until the fill has finished, the memory must live and nothing else may use it.
    pub unsafe fn set_32_async(&mut self, value: u32, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the range is valid for writes; the caller guarantees the rest.
        self.set(4, |to, count| unsafe {
            sys::cuMemsetD32Async(to, value, count, stream.as_inner())
        })
    }
}

#[cfg(feature = "bytemuck")]
impl<T: DeviceCopy + Zeroable> DeviceSlice<T> {
    /// Sets every byte to zero.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_zero(&mut self) -> CudaResult<()> {
        // SAFETY: the range is valid for writes, and `T` is `Zeroable`.
        self.set(1, |to, count| unsafe { sys::cuMemsetD8(to, 0, count) })
    }

    /// Queues a fill that sets every byte to zero.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// Until the fill has finished, the memory must live and nothing else may use it.
    pub unsafe fn set_zero_async(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the range is valid for writes, and `T` is `Zeroable`; the caller guarantees the rest.
        self.set(1, |to, count| unsafe {
            sys::cuMemsetD8Async(to, 0, count, stream.as_inner())
        })
    }
}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// Calls `write` with the address and the number of words of `size` bytes, if there are any.
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

    /// Returns the bytes to copy, or an error if the other end does not have as many elements.
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
        // SAFETY: both ranges have that many bytes.
        unsafe { memcpy_htod(self.as_raw_ptr(), from.as_ptr().cast(), bytes) }
    }

    /// # Safety
    /// The conditions of [`AsyncCopyDestination::async_copy_from`] must hold.
    pub(super) unsafe fn copy_from_slice_async(
        &mut self,
        from: &[T],
        stream: &Stream,
    ) -> CudaResult<()> {
        let bytes = self.bytes_with(from.len())?;
        // SAFETY: both ranges have that many bytes; the caller guarantees the rest.
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
        // SAFETY: both ranges have that many bytes.
        unsafe { memcpy_dtoh(to.as_mut_ptr().cast(), self.as_raw_ptr(), bytes) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceSlice<T>> for DeviceSlice<T> {
    fn copy_from(&mut self, val: &DeviceSlice<T>) -> CudaResult<()> {
        let bytes = self.bytes_with(val.len())?;
        // SAFETY: both ranges have that many bytes.
        unsafe { memcpy_dtod(self.as_raw_ptr(), val.as_raw_ptr(), bytes) }
    }

    fn copy_to(&self, val: &mut DeviceSlice<T>) -> CudaResult<()> {
        val.copy_from(self)
    }
}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> AsyncCopyDestination<I>
    for DeviceSlice<T>
{
    unsafe fn async_copy_from(&mut self, val: &I, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { self.copy_from_slice_async(val.as_ref(), stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut I, stream: &Stream) -> CudaResult<()> {
        let to = val.as_mut();
        let bytes = self.bytes_with(to.len())?;
        // SAFETY: both ranges have that many bytes; the caller guarantees the rest.
        unsafe { memcpy_dtoh_async(to.as_mut_ptr().cast(), self.as_raw_ptr(), bytes, stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceSlice<T>> for DeviceSlice<T> {
    unsafe fn async_copy_from(&mut self, val: &DeviceSlice<T>, stream: &Stream) -> CudaResult<()> {
        let bytes = self.bytes_with(val.len())?;
        // SAFETY: both ranges have that many bytes; the caller guarantees the rest.
        unsafe { memcpy_dtod_async(self.as_raw_ptr(), val.as_raw_ptr(), bytes, stream) }
    }

    unsafe fn async_copy_to(&self, val: &mut DeviceSlice<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { val.async_copy_from(self, stream) }
    }
}
