//! A CUDA driver that fails when it is told to: a shared library to open in the place of `libcuda.so.1`.
//!
//! It stands before the real driver, or does the work itself on host memory where it is given none
//! (`fake`: everything but running kernels). Every call is counted; the nth can be made to fail
//! (`control.rs`). It keeps a ledger of what was made and not yet given back.
//!
//! The functions are those that the library `warpwright` calls; it says of others that the driver lacks
//! them. The pointers are the callers' to answer for, as with any driver.

#![allow(non_snake_case)]

mod control;
mod fake;
mod real;

use control::{Kind, Role};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// A driver's handle, whatever of.
type Handle = *mut c_void;

/// What a driver function returns if it is not there.
const NOT_FOUND: u32 = 500;

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $role:expr, $handle:expr;)*) => { $(
        /// The driver function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> u32 {
            type Function = unsafe extern "C" fn($($ty),*) -> u32;
            let name = concat!(stringify!($name), "\0");
            // SAFETY: the real function has this signature; the arguments are the caller's to answer for.
            let perform = || unsafe {
                match real::function(name) {
                    Some(address) if address.is_null() => NOT_FOUND,
                    Some(address) => {
                        std::mem::transmute::<*mut c_void, Function>(address)($($argument),*)
                    }
                    None => fake::$name($($argument),*),
                }
            };
            // SAFETY: read where the call has written it, or an argument.
            #[allow(unused_unsafe)]
            control::call(stringify!($name), $role, perform, || unsafe { $handle })
        }
    )* };
}

functions! {
    fn cuInit(flags: c_uint) Role::Plain, 0;
    fn cuDriverGetVersion(version: *mut c_int) Role::Plain, 0;
    fn cuGetErrorName(error: u32, text: *mut *const c_char) Role::Text, 0;
    fn cuGetErrorString(error: u32, text: *mut *const c_char) Role::Text, 0;
    fn cuDeviceGetCount(count: *mut c_int) Role::Plain, 0;
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) Role::Plain, 0;
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) Role::Plain, 0;
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) Role::Plain, 0;
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) Role::Plain, 0;
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) Role::Plain, 0;
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int)
        Role::Makes(Kind::Context), device as u64;
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) Role::GivesBack(Kind::Context), device as u64;
    fn cuCtxGetCurrent(context: *mut Handle) Role::OfTheThread, 0;
    fn cuCtxSetCurrent(context: Handle) Role::OfTheThread, 0;

    fn cuStreamCreate(stream: *mut Handle, flags: c_uint) Role::Makes(Kind::Stream), *stream as u64;
    fn cuStreamDestroy_v2(stream: Handle) Role::GivesBack(Kind::Stream), stream as u64;
    fn cuStreamSynchronize(stream: Handle) Role::Plain, 0;
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) Role::Plain, 0;
    fn cuEventCreate(event: *mut Handle, flags: c_uint) Role::Makes(Kind::Event), *event as u64;
    fn cuEventDestroy_v2(event: Handle) Role::GivesBack(Kind::Event), event as u64;
    fn cuEventRecord(event: Handle, stream: Handle) Role::Plain, 0;
    fn cuEventSynchronize(event: Handle) Role::Plain, 0;
    fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) Role::Plain, 0;

    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: *mut c_void) Role::Plain, 0;
    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: *mut c_void) Role::Plain, 0;
    fn cuMemPoolTrimTo(pool: Handle, bytes_to_keep: usize) Role::Plain, 0;
    fn cuMemAllocAsync(pointer: *mut u64, bytes: usize, stream: Handle)
        Role::Makes(Kind::Memory), *pointer;
    fn cuMemFreeAsync(pointer: u64, stream: Handle) Role::GivesBack(Kind::Memory), pointer;
    fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) Role::Makes(Kind::Memory), *pointer;
    fn cuMemFree_v2(pointer: u64) Role::GivesBack(Kind::Memory), pointer;
    fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint)
        Role::Makes(Kind::Pinned), *pointer as u64;
    fn cuMemFreeHost(pointer: *mut c_void) Role::GivesBack(Kind::Pinned), pointer as u64;
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) Role::Plain, 0;
    fn cuPointerGetAttributes(
        count: c_uint,
        attributes: *mut c_int,
        values: *mut *mut c_void,
        pointer: u64,
    ) Role::Plain, 0;
    fn cuMemsetD8Async(to: u64, value: u8, bytes: usize, stream: Handle) Role::Plain, 0;
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Handle)
        Role::Plain, 0;
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Handle) Role::Plain, 0;
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) Role::Plain, 0;

    fn cuModuleLoadDataEx(
        module: *mut Handle,
        image: *const c_char,
        count: c_uint,
        options: *mut c_int,
        values: *mut *mut c_void,
    ) Role::Makes(Kind::Module), *module as u64;
    fn cuModuleUnload(module: Handle) Role::GivesBack(Kind::Module), module as u64;
    fn cuModuleGetGlobal_v2(
        address: *mut u64,
        bytes: *mut usize,
        module: Handle,
        name: *const c_char,
    ) Role::Plain, 0;
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char)
        Role::Plain, 0;
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle) Role::Plain, 0;
    fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) Role::Plain, 0;
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: Handle,
        block_size: c_int,
        dynamic_shared: usize,
    ) Role::Plain, 0;
    fn cuLaunchKernel(
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: Handle,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) Role::Plain, 0;
}
