//! Copies between raw addresses. A copy of zero bytes does not call the driver.

use std::ffi::c_void;
use std::ptr;

use super::{DeviceCopy, DevicePointer};
use crate::context::ContextHandle;
use crate::error::{CudaError, CudaResult, ToResult};
use crate::stream::Stream;
use crate::sys::{self, CUDA_MEMCPY2D, CUdeviceptr};

/// Copies `size` bytes from the host at `src_ptr` to the device at `d_ptr`.
///
/// # Errors
/// Returns the driver's error.
///
/// # Safety
/// `src_ptr` must be valid for reads of `size` bytes on the host, and `d_ptr` for writes of `size` bytes on the device.
/// Nothing else may use the destination during the copy.
pub unsafe fn memcpy_htod(
    d_ptr: CUdeviceptr,
    src_ptr: *const c_void,
    size: usize,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemcpyHtoD(d_ptr, src_ptr, size) }.to_result()
}

/// Copies `size` bytes from the device at `src_ptr` to the host at `d_ptr`.
///
/// # Errors
/// Returns the driver's error.
///
/// # Safety
/// `d_ptr` must be valid for writes of `size` bytes on the host, and `src_ptr` for reads of `size` bytes on the device.
pub unsafe fn memcpy_dtoh(d_ptr: *mut c_void, src_ptr: CUdeviceptr, size: usize) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemcpyDtoH(d_ptr, src_ptr, size) }.to_result()
}

/// Copies `size` bytes on a device.
///
/// # Safety
/// `from` must be valid for reads and `to` for writes of `size` bytes.
pub(super) unsafe fn memcpy_dtod(
    to: CUdeviceptr,
    from: CUdeviceptr,
    size: usize,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemcpyDtoD(to, from, size) }.to_result()
}

/// Queues [`memcpy_htod`] in a stream.
///
/// # Safety
/// The same conditions must hold until the copy has finished.
pub(super) unsafe fn memcpy_htod_async(
    to: CUdeviceptr,
    from: *const c_void,
    size: usize,
    stream: &Stream,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemcpyHtoDAsync(to, from, size, stream.as_inner()) }.to_result()
}

/// Queues [`memcpy_dtoh`] in a stream.
///
/// # Safety
/// The same conditions must hold until the copy has finished.
pub(super) unsafe fn memcpy_dtoh_async(
    to: *mut c_void,
    from: CUdeviceptr,
    size: usize,
    stream: &Stream,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemcpyDtoHAsync(to, from, size, stream.as_inner()) }.to_result()
}

/// Queues [`memcpy_dtod`] in a stream.
///
/// # Safety
/// The same conditions must hold until the copy has finished.
pub(super) unsafe fn memcpy_dtod_async(
    to: CUdeviceptr,
    from: CUdeviceptr,
    size: usize,
    stream: &Stream,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemcpyDtoDAsync(to, from, size, stream.as_inner()) }.to_result()
}

/// Copies `height` rows of `width` elements from the host to a device. `dpitch` and `spitch` are the bytes from one row to
/// the next at the destination and at the source.
///
/// # Errors
/// Returns [`CudaError::InvalidMemoryAllocation`] if the bytes of a row overflow a `usize`, or the driver's error.
///
/// # Safety
/// All rows must be valid for reads at `src` on the host and for writes at `dst` on the device. Nothing else may use the
/// destination during the copy.
pub unsafe fn memcpy_2d_htod<T: DeviceCopy>(
    dst: DevicePointer<T>,
    dpitch: usize,
    src: *const T,
    spitch: usize,
    width: usize,
    height: usize,
) -> CudaResult<()> {
    let copy = CUDA_MEMCPY2D {
        srcMemoryType: sys::CU_MEMORYTYPE_HOST,
        srcHost: src.cast(),
        srcPitch: spitch,
        dstMemoryType: sys::CU_MEMORYTYPE_DEVICE,
        dstDevice: dst.as_raw(),
        dstPitch: dpitch,
        ..rectangle::<T>(width, height)?
    };
    // SAFETY: the caller upholds the contract.
    unsafe { copy_rectangle(&copy) }
}

/// Copies `height` rows of `width` elements from a device to the host. `dpitch` and `spitch` are the bytes from one row to
/// the next at the destination and at the source.
///
/// # Errors
/// Returns [`CudaError::InvalidMemoryAllocation`] if the bytes of a row overflow a `usize`, or the driver's error.
///
/// # Safety
/// All rows must be valid for writes at `dst` on the host and for reads at `src` on the device. Nothing else may use the
/// destination during the copy.
pub unsafe fn memcpy_2d_dtoh<T: DeviceCopy>(
    dst: *mut T,
    dpitch: usize,
    src: DevicePointer<T>,
    spitch: usize,
    width: usize,
    height: usize,
) -> CudaResult<()> {
    let copy = CUDA_MEMCPY2D {
        srcMemoryType: sys::CU_MEMORYTYPE_DEVICE,
        srcDevice: src.as_raw(),
        srcPitch: spitch,
        dstMemoryType: sys::CU_MEMORYTYPE_HOST,
        dstHost: dst.cast(),
        dstPitch: dpitch,
        ..rectangle::<T>(width, height)?
    };
    // SAFETY: the caller upholds the contract.
    unsafe { copy_rectangle(&copy) }
}

/// Describes a copy of this shape, without source and destination.
fn rectangle<T>(width: usize, height: usize) -> CudaResult<CUDA_MEMCPY2D> {
    let bytes = width
        .checked_mul(size_of::<T>())
        .ok_or(CudaError::InvalidMemoryAllocation)?;
    Ok(CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: 0,
        srcHost: ptr::null(),
        srcDevice: 0,
        srcArray: ptr::null_mut(),
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: 0,
        dstHost: ptr::null_mut(),
        dstDevice: 0,
        dstArray: ptr::null_mut(),
        dstPitch: 0,
        WidthInBytes: bytes,
        Height: height,
    })
}

/// # Safety
/// The source must be valid for reads and the destination for writes of all rows.
unsafe fn copy_rectangle(copy: &CUDA_MEMCPY2D) -> CudaResult<()> {
    if copy.WidthInBytes == 0 || copy.Height == 0 {
        return Ok(());
    }
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemcpy2D(copy) }.to_result()
}

/// Copies `count` elements from the memory of one context to that of another, which may be on another device.
///
/// No access has to be enabled for it. If the devices have access to each other's memory, the copy is direct; otherwise the
/// driver makes it through memory of the host.
///
/// # Errors
/// Returns the driver's error.
///
/// # Safety
/// `src` must be valid for reads of `count` elements in the source's context, and `dst` for writes of `count` elements in
/// the destination's. Nothing else may use the destination during the copy.
pub unsafe fn memcpy_peer<T: DeviceCopy, D: ContextHandle, S: ContextHandle>(
    dst: DevicePointer<T>,
    dst_context: &D,
    src: DevicePointer<T>,
    src_context: &S,
    count: usize,
) -> CudaResult<()> {
    let bytes = count
        .checked_mul(size_of::<T>())
        .ok_or(CudaError::InvalidValue)?;
    if bytes == 0 {
        return Ok(());
    }
    let (to, from) = (dst_context.get_inner(), src_context.get_inner());
    // SAFETY: the caller upholds the contract.
    unsafe { sys::cuMemcpyPeer(dst.as_raw(), to, src.as_raw(), from, bytes) }.to_result()
}

/// Queues [`memcpy_peer`] in a stream.
///
/// # Errors
/// Returns the driver's error.
///
/// # Safety
/// The conditions of [`memcpy_peer`] must hold until the copy has finished.
pub unsafe fn memcpy_peer_async<T: DeviceCopy, D: ContextHandle, S: ContextHandle>(
    dst: DevicePointer<T>,
    dst_context: &D,
    src: DevicePointer<T>,
    src_context: &S,
    count: usize,
    stream: &Stream,
) -> CudaResult<()> {
    let bytes = count
        .checked_mul(size_of::<T>())
        .ok_or(CudaError::InvalidValue)?;
    if bytes == 0 {
        return Ok(());
    }
    let (to, from) = (dst_context.get_inner(), src_context.get_inner());
    // SAFETY: the caller upholds the contract.
    let code = unsafe {
        sys::cuMemcpyPeerAsync(
            dst.as_raw(),
            to,
            src.as_raw(),
            from,
            bytes,
            stream.as_inner(),
        )
    };
    code.to_result()
}

/// Returns the free and the total memory of the current device, in bytes.
///
/// # Errors
/// Returns the driver's error.
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers are valid for writes.
    unsafe { sys::cuMemGetInfo(&mut free, &mut total) }.to_result()?;
    Ok((free, total))
}
