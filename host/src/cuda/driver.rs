//! The driver functions that the executor calls itself, declared with their results as plain
//! numbers.
//!
//! `cust_raw` gives the results the type of a Rust enum that knows the codes of CUDA 11. A newer
//! driver returns others too (46 for a device in exclusive use, 226 for a contained fault, ...),
//! and such a value in that enum would be undefined behaviour. So wherever the driver may report
//! what happened on the device, or the state of the machine, the functions declared here are
//! called. Handles keep `cust`'s types.

use super::error::{CudaError, Result};
use cust::sys::{CUcontext, CUdeviceptr, CUevent, CUfunction, CUmemoryPool, CUmodule, CUstream};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// `CU_STREAM_NON_BLOCKING`.
pub(super) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DEFAULT`.
pub(super) const EVENT_DEFAULT: c_uint = 0;
/// `CU_EVENT_DISABLE_TIMING`.
pub(super) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CUDA_ERROR_INVALID_VALUE`.
pub(super) const INVALID_VALUE: u32 = 1;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) const OUT_OF_MEMORY: u32 = 2;

// SAFETY: the signatures are those of `cuda.h` (CUDA 12), where `CUresult` is an enum that C passes
// as an unsigned int; the trampolines of `super::door` define the symbols.
unsafe extern "C" {
    pub(super) fn cuGetErrorName(error: u32, text: *mut *const c_char) -> u32;
    pub(super) fn cuGetErrorString(error: u32, text: *mut *const c_char) -> u32;
    pub(super) fn cuInit(flags: c_uint) -> u32;
    pub(super) fn cuDriverGetVersion(version: *mut c_int) -> u32;
    pub(super) fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> u32;
    pub(super) fn cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: c_int) -> u32;
    pub(super) fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: c_int) -> u32;
    pub(super) fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> u32;
    pub(super) fn cuCtxGetCurrent(context: *mut CUcontext) -> u32;
    pub(super) fn cuCtxSetCurrent(context: CUcontext) -> u32;

    pub(super) fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> u32;
    pub(super) fn cuStreamDestroy_v2(stream: CUstream) -> u32;
    pub(super) fn cuStreamSynchronize(stream: CUstream) -> u32;
    pub(super) fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> u32;
    pub(super) fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> u32;
    pub(super) fn cuEventDestroy_v2(event: CUevent) -> u32;
    pub(super) fn cuEventRecord(event: CUevent, stream: CUstream) -> u32;
    pub(super) fn cuEventSynchronize(event: CUevent) -> u32;
    pub(super) fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) -> u32;

    pub(super) fn cuMemPoolGetAttribute(
        pool: CUmemoryPool,
        attribute: c_int,
        value: *mut c_void,
    ) -> u32;
    pub(super) fn cuMemPoolSetAttribute(
        pool: CUmemoryPool,
        attribute: c_int,
        value: *mut c_void,
    ) -> u32;
    pub(super) fn cuMemPoolTrimTo(pool: CUmemoryPool, bytes_to_keep: usize) -> u32;
    pub(super) fn cuMemAllocAsync(pointer: *mut CUdeviceptr, bytes: usize, stream: CUstream)
    -> u32;
    pub(super) fn cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream) -> u32;
    pub(super) fn cuMemAlloc_v2(pointer: *mut CUdeviceptr, bytes: usize) -> u32;
    pub(super) fn cuMemFree_v2(pointer: CUdeviceptr) -> u32;
    pub(super) fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> u32;
    pub(super) fn cuMemFreeHost(pointer: *mut c_void) -> u32;
    pub(super) fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32;
    pub(super) fn cuPointerGetAttributes(
        count: c_uint,
        attributes: *mut c_int,
        values: *mut *mut c_void,
        pointer: CUdeviceptr,
    ) -> u32;
    pub(super) fn cuMemsetD8Async(
        to: CUdeviceptr,
        value: u8,
        bytes: usize,
        stream: CUstream,
    ) -> u32;
    pub(super) fn cuMemcpyHtoDAsync_v2(
        to: CUdeviceptr,
        from: *const c_void,
        bytes: usize,
        stream: CUstream,
    ) -> u32;
    pub(super) fn cuMemcpyDtoHAsync_v2(
        to: *mut c_void,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> u32;
    pub(super) fn cuMemcpyDtoDAsync_v2(
        to: CUdeviceptr,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> u32;

    pub(super) fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut c_int,
        values: *mut *mut c_void,
    ) -> u32;
    pub(super) fn cuModuleUnload(module: CUmodule) -> u32;
    pub(super) fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    ) -> u32;
    pub(super) fn cuModuleGetFunction(
        function: *mut CUfunction,
        module: CUmodule,
        name: *const c_char,
    ) -> u32;
    pub(super) fn cuFuncGetAttribute(
        value: *mut c_int,
        attribute: c_int,
        function: CUfunction,
    ) -> u32;
    pub(super) fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) -> u32;
    pub(super) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        block_size: c_int,
        dynamic_shared: usize,
    ) -> u32;
    pub(super) fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> u32;
}

/// Turns a driver function's result into an error that names the function.
pub(super) fn check(call: &'static str, code: u32) -> Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(CudaError::new(call, code))
    }
}

/// Calls a driver function declared above, inside `unsafe`, and checks its result:
/// `driver!(cuStreamSynchronize(stream))?`.
macro_rules! driver {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::cuda::driver::check(stringify!($name), $crate::cuda::driver::$name($($argument),*))
    };
}
pub(super) use driver;
