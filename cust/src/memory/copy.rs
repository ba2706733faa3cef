//! Copies between addresses. A copy of no bytes asks the driver nothing.

use std::ffi::c_void;
use std::ptr;

use super::{DeviceCopy, DevicePointer};
use crate::context::ContextHandle;
use crate::error::{CudaError, CudaResult, ToResult};
use crate::stream::Stream;
use crate::sys::{self, CUDA_MEMCPY2D, CUdeviceptr};

/// Copies from the host to a device.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// So many bytes are readable at `src_ptr` and, on the device, writable at `d_ptr`; nothing else uses those meanwhile.
pub unsafe fn memcpy_htod(
    d_ptr: CUdeviceptr,
    src_ptr: *const c_void,
    size: usize,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemcpyHtoD(d_ptr, src_ptr, size) }.to_result()
}

/// Copies from a device to the host.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// So many bytes are writable at `d_ptr`, on the host, and readable at `src_ptr`, on the device.
pub unsafe fn memcpy_dtoh(d_ptr: *mut c_void, src_ptr: CUdeviceptr, size: usize) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemcpyDtoH(d_ptr, src_ptr, size) }.to_result()
}

/// Copies from one place on a device to another.
///
/// # Safety
/// So many bytes are readable at `from` and writable at `to`.
pub(super) unsafe fn memcpy_dtod(
    to: CUdeviceptr,
    from: CUdeviceptr,
    size: usize,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemcpyDtoD(to, from, size) }.to_result()
}

/// Queues [`memcpy_htod`] in a stream.
///
/// # Safety
/// As there, until the copy is done.
pub(super) unsafe fn memcpy_htod_async(
    to: CUdeviceptr,
    from: *const c_void,
    size: usize,
    stream: &Stream,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemcpyHtoDAsync(to, from, size, stream.as_inner()) }.to_result()
}

/// Queues [`memcpy_dtoh`] in a stream.
///
/// # Safety
/// As there, until the copy is done.
pub(super) unsafe fn memcpy_dtoh_async(
    to: *mut c_void,
    from: CUdeviceptr,
    size: usize,
    stream: &Stream,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemcpyDtoHAsync(to, from, size, stream.as_inner()) }.to_result()
}

/// Queues [`memcpy_dtod`] in a stream.
///
/// # Safety
/// As there, until the copy is done.
pub(super) unsafe fn memcpy_dtod_async(
    to: CUdeviceptr,
    from: CUdeviceptr,
    size: usize,
    stream: &Stream,
) -> CudaResult<()> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemcpyDtoDAsync(to, from, size, stream.as_inner()) }.to_result()
}

/// Copies a rectangle of `height` rows of `width` elements from the host to a device. `dpitch` and `spitch` are the bytes from
/// one row to the next.
///
/// # Errors
/// [`CudaError::InvalidMemoryAllocation`] where a row has more bytes than can be counted, and what the driver says.
///
/// # Safety
/// All rows are readable at `src` and, on the device, writable at `dst`; nothing else uses those meanwhile.
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
    // SAFETY: by the contract.
    unsafe { copy_rectangle(&copy) }
}

/// Copies a rectangle of `height` rows of `width` elements from a device to the host. `dpitch` and `spitch` are the bytes from
/// one row to the next.
///
/// # Errors
/// [`CudaError::InvalidMemoryAllocation`] where a row has more bytes than can be counted, and what the driver says.
///
/// # Safety
/// All rows are writable at `dst` and, on the device, readable at `src`; nothing else uses the former meanwhile.
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
    // SAFETY: by the contract.
    unsafe { copy_rectangle(&copy) }
}

/// A copy of nowhere to nowhere, of this shape.
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
/// Both rectangles are there.
unsafe fn copy_rectangle(copy: &CUDA_MEMCPY2D) -> CudaResult<()> {
    if copy.WidthInBytes == 0 || copy.Height == 0 {
        return Ok(());
    }
    // SAFETY: by the contract.
    unsafe { sys::cuMemcpy2D(copy) }.to_result()
}

/// Copies from the memory of one context to that of another, also of another device.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// So many elements are readable at `src` in the one context and writable at `dst` in the other; nothing else uses the
/// latter meanwhile.
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
    // SAFETY: by the contract.
    unsafe { sys::cuMemcpyPeer(dst.as_raw(), to, src.as_raw(), from, bytes) }.to_result()
}

/// Queues [`memcpy_peer`] in a stream.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// As of [`memcpy_peer`], until the copy is done.
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
    // SAFETY: by the contract.
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

/// The bytes of memory that are free on the current device, and all of them.
///
/// # Errors
/// What the driver says.
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: places to write to.
    unsafe { sys::cuMemGetInfo(&mut free, &mut total) }.to_result()?;
    Ok((free, total))
}
