//! Allocations without an owner. An allocation of zero bytes returns [`CudaError::InvalidMemoryAllocation`].

use std::ptr;

use super::{DeviceCopy, DevicePointer, UnifiedPointer};
use crate::error::{CudaError, CudaResult, ToResult};
use crate::stream::Stream;
use crate::sys;

/// Returns the bytes of `count` elements, or an error if they are zero or overflow a `usize`.
pub(super) fn bytes_of<T>(count: usize) -> CudaResult<usize> {
    let bytes = count.checked_mul(size_of::<T>()).filter(|bytes| *bytes > 0);
    bytes.ok_or(CudaError::InvalidMemoryAllocation)
}

/// Allocates memory for `count` elements on the current device.
///
/// # Errors
/// Returns [`CudaError::InvalidMemoryAllocation`] if the size is zero or overflows a `usize`, or the driver's error.
///
/// # Safety
/// The memory is uninitialized and must be written before it is read.
pub unsafe fn cuda_malloc<T: DeviceCopy>(count: usize) -> CudaResult<DevicePointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address = 0;
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::cuMemAlloc(&mut address, bytes) }.to_result()?;
    Ok(DevicePointer::from_raw(address))
}

/// Allocates memory for `count` elements on the current device, in stream order.
///
/// # Errors
/// Returns the errors of [`cuda_malloc`].
///
/// # Safety
/// The condition of [`cuda_malloc`] must hold. Only work that is queued in the stream afterwards, or ordered after it, may
/// use the memory.
pub unsafe fn cuda_malloc_async<T: DeviceCopy>(
    stream: &Stream,
    count: usize,
) -> CudaResult<DevicePointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address = 0;
    // SAFETY: the pointer is valid for a write; the stream is valid.
    unsafe { sys::cuMemAllocAsync(&mut address, bytes, stream.as_inner()) }.to_result()?;
    Ok(DevicePointer::from_raw(address))
}

/// Frees device memory in stream order.
///
/// # Errors
/// Returns [`CudaError::InvalidMemoryAllocation`] for a null pointer, or the driver's error.
///
/// # Safety
/// The memory must be an allocation on the device that is not freed yet, and all uses of it must be ordered before this.
pub unsafe fn cuda_free_async<T: DeviceCopy>(
    stream: &Stream,
    p: DevicePointer<T>,
) -> CudaResult<()> {
    if p.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemFreeAsync(p.as_raw(), stream.as_inner()) }.to_result()
}

/// Allocates unified memory for `count` elements, which the host and all devices can access.
///
/// # Errors
/// Returns the errors of [`cuda_malloc`].
///
/// # Safety
/// The memory is uninitialized and must be written before it is read.
pub unsafe fn cuda_malloc_unified<T: DeviceCopy>(count: usize) -> CudaResult<UnifiedPointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address = 0;
    // SAFETY: the pointer is valid for a write.
    unsafe { sys::cuMemAllocManaged(&mut address, bytes, sys::CU_MEM_ATTACH_GLOBAL) }
        .to_result()?;
    let pointer = ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the memory was allocated as unified memory above.
    Ok(unsafe { UnifiedPointer::wrap(pointer) })
}

/// Allocates `height` rows of `width` elements on the current device, padded so that each row starts at an aligned address.
/// Returns the pointer and the pitch, the bytes from one row to the next.
///
/// # Errors
/// Returns [`CudaError::InvalidMemoryAllocation`] if the size is zero or overflows a `usize`, or the driver's error, for
/// instance if the size of an element is not 4, 8 or 16 bytes.
///
/// # Safety
/// The memory is uninitialized and must be written before it is read.
pub unsafe fn cuda_malloc_pitched<T: DeviceCopy>(
    width: usize,
    height: usize,
) -> CudaResult<(DevicePointer<T>, usize)> {
    let row = bytes_of::<T>(width)?;
    if height == 0 {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    let element = u32::try_from(size_of::<T>()).map_err(|_| CudaError::InvalidMemoryAllocation)?;
    let (mut address, mut pitch) = (0, 0);
    // SAFETY: the pointers are valid for writes.
    unsafe { sys::cuMemAllocPitch(&mut address, &mut pitch, row, height, element) }.to_result()?;
    Ok((DevicePointer::from_raw(address), pitch))
}

/// Frees device memory.
///
/// # Errors
/// Returns [`CudaError::InvalidMemoryAllocation`] for a null pointer, or the driver's error.
///
/// # Safety
/// The memory must be an allocation on the device that is not freed yet and no longer used.
pub unsafe fn cuda_free<T: DeviceCopy>(ptr: DevicePointer<T>) -> CudaResult<()> {
    if ptr.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemFree(ptr.as_raw()) }.to_result()
}

/// Frees unified memory.
///
/// # Errors
/// Returns [`CudaError::InvalidMemoryAllocation`] for a null pointer, or the driver's error.
///
/// # Safety
/// The memory must be an allocation of unified memory that is not freed yet and no longer used.
pub unsafe fn cuda_free_unified<T: DeviceCopy>(p: UnifiedPointer<T>) -> CudaResult<()> {
    if p.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemFree(p.as_raw() as sys::CUdeviceptr) }.to_result()
}

/// Allocates pinned (page-locked) host memory for `count` elements, which devices copy from and to fastest.
///
/// # Errors
/// Returns the errors of [`cuda_malloc`].
///
/// # Safety
/// The memory is uninitialized and must be written before it is read.
pub unsafe fn cuda_malloc_locked<T>(count: usize) -> CudaResult<*mut T> {
    let bytes = bytes_of::<T>(count)?;
    let mut pointer = ptr::null_mut();
    // SAFETY: the pointer is valid for a write; 0 is no flags.
    unsafe { sys::cuMemHostAlloc(&mut pointer, bytes, 0) }.to_result()?;
    Ok(pointer.cast())
}

/// Frees pinned host memory.
///
/// # Errors
/// Returns [`CudaError::InvalidMemoryAllocation`] for a null pointer, or the driver's error.
///
/// # Safety
/// The memory must be an allocation of pinned memory that is not freed yet and no longer used.
pub unsafe fn cuda_free_locked<T>(ptr: *mut T) -> CudaResult<()> {
    if ptr.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemFreeHost(ptr.cast()) }.to_result()
}
