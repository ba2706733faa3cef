//! Allocations without an owner. One of no bytes is [`CudaError::InvalidMemoryAllocation`].

use std::ptr;

use super::{DeviceCopy, DevicePointer, UnifiedPointer};
use crate::error::{CudaError, CudaResult, ToResult};
use crate::stream::Stream;
use crate::sys;

/// The bytes of so many elements: at least one, and no more than can be counted.
pub(super) fn bytes_of<T>(count: usize) -> CudaResult<usize> {
    let bytes = count.checked_mul(size_of::<T>()).filter(|bytes| *bytes > 0);
    bytes.ok_or(CudaError::InvalidMemoryAllocation)
}

/// Allocates room for `count` elements on the current device.
///
/// # Errors
/// [`CudaError::InvalidMemoryAllocation`] for no bytes or too many to count, and what the driver says.
///
/// # Safety
/// What is there must be written before it is read.
pub unsafe fn cuda_malloc<T: DeviceCopy>(count: usize) -> CudaResult<DevicePointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address = 0;
    // SAFETY: a place to write to.
    unsafe { sys::cuMemAlloc(&mut address, bytes) }.to_result()?;
    Ok(DevicePointer::from_raw(address))
}

/// Allocates room for `count` elements on the current device, in the order of a stream.
///
/// # Errors
/// As of [`cuda_malloc`].
///
/// # Safety
/// As of [`cuda_malloc`], and the memory is there only for what is queued in the stream afterwards, or ordered after it.
pub unsafe fn cuda_malloc_async<T: DeviceCopy>(
    stream: &Stream,
    count: usize,
) -> CudaResult<DevicePointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address = 0;
    // SAFETY: a place to write to; the stream is there.
    unsafe { sys::cuMemAllocAsync(&mut address, bytes, stream.as_inner()) }.to_result()?;
    Ok(DevicePointer::from_raw(address))
}

/// Frees memory of a device in the order of a stream.
///
/// # Errors
/// [`CudaError::InvalidMemoryAllocation`] for a null pointer, and what the driver says.
///
/// # Safety
/// The memory was allocated on the device, is not freed yet, and nothing uses it that is not ordered before.
pub unsafe fn cuda_free_async<T: DeviceCopy>(
    stream: &Stream,
    p: DevicePointer<T>,
) -> CudaResult<()> {
    if p.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemFreeAsync(p.as_raw(), stream.as_inner()) }.to_result()
}

/// Allocates room for `count` elements in unified memory, which the host and all devices can reach.
///
/// # Errors
/// As of [`cuda_malloc`].
///
/// # Safety
/// What is there must be written before it is read.
pub unsafe fn cuda_malloc_unified<T: DeviceCopy>(count: usize) -> CudaResult<UnifiedPointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address = 0;
    // SAFETY: a place to write to.
    unsafe { sys::cuMemAllocManaged(&mut address, bytes, sys::CU_MEM_ATTACH_GLOBAL) }
        .to_result()?;
    let pointer = ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: allocated as unified memory above.
    Ok(unsafe { UnifiedPointer::wrap(pointer) })
}

/// Allocates `height` rows of `width` elements on the current device, each row at an address good for it: gives the pointer and
/// the bytes from one row to the next.
///
/// # Errors
/// [`CudaError::InvalidMemoryAllocation`] for no bytes or too many to count, and what the driver says, for instance that
/// elements are neither 4 nor 8 nor 16 bytes long.
///
/// # Safety
/// What is there must be written before it is read.
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
    // SAFETY: places to write to.
    unsafe { sys::cuMemAllocPitch(&mut address, &mut pitch, row, height, element) }.to_result()?;
    Ok((DevicePointer::from_raw(address), pitch))
}

/// Frees memory of a device.
///
/// # Errors
/// [`CudaError::InvalidMemoryAllocation`] for a null pointer, and what the driver says.
///
/// # Safety
/// The memory was allocated on the device, is not freed yet, and nothing uses it any more.
pub unsafe fn cuda_free<T: DeviceCopy>(ptr: DevicePointer<T>) -> CudaResult<()> {
    if ptr.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemFree(ptr.as_raw()) }.to_result()
}

/// Frees unified memory.
///
/// # Errors
/// [`CudaError::InvalidMemoryAllocation`] for a null pointer, and what the driver says.
///
/// # Safety
/// The memory was allocated as unified memory, is not freed yet, and nothing uses it any more.
pub unsafe fn cuda_free_unified<T: DeviceCopy>(p: UnifiedPointer<T>) -> CudaResult<()> {
    if p.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemFree(p.as_raw() as sys::CUdeviceptr) }.to_result()
}

/// Allocates room for `count` elements in memory of the host that is locked in place, from and to which devices copy
/// fastest.
///
/// # Errors
/// As of [`cuda_malloc`].
///
/// # Safety
/// What is there must be written before it is read.
pub unsafe fn cuda_malloc_locked<T>(count: usize) -> CudaResult<*mut T> {
    let bytes = bytes_of::<T>(count)?;
    let mut pointer = ptr::null_mut();
    // SAFETY: a place to write to; no flags.
    unsafe { sys::cuMemHostAlloc(&mut pointer, bytes, 0) }.to_result()?;
    Ok(pointer.cast())
}

/// Frees locked memory of the host.
///
/// # Errors
/// [`CudaError::InvalidMemoryAllocation`] for a null pointer, and what the driver says.
///
/// # Safety
/// The memory was allocated as locked memory, is not freed yet, and nothing uses it any more.
pub unsafe fn cuda_free_locked<T>(ptr: *mut T) -> CudaResult<()> {
    if ptr.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemFreeHost(ptr.cast()) }.to_result()
}
