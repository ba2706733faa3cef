//! A CUDA driver that fails when it is told to: a shared library to open in the place of `libcuda.so.1`.
//!
//! It stands before the real driver, or does the work itself on host memory where it is given none
//! (`fake`: everything but running kernels). Every call is counted; the nth can be made to fail
//! (`control.rs`). It keeps a ledger of what was made and not yet given back.
//!
//! The functions are those that the library `warpwright` and the crate `cust` call; it says of others that
//! the driver lacks them. The pointers are the callers' to answer for, as with any driver.

#![allow(non_snake_case)]

mod control;
mod fake;
mod lookup;
mod real;

use control::{Kind, Role};
use fake::{Callback, KernelNode, LaunchConfig};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// A driver's handle, whatever of.
type Handle = *mut c_void;

/// What a driver function returns if it is not there.
const NOT_FOUND: u32 = 500;

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $role:expr, $handle:expr;)*) => { $(
        /// The driver function of this name.
        #[allow(clippy::too_many_arguments)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> u32 {
            type Function = unsafe extern "C" fn($($ty),*) -> u32;
            let name = concat!(stringify!($name), "\0");
            // SAFETY: the real function has this signature; the arguments are the caller's to answer for.
            let perform = || unsafe {
                match real::function(name) {
                    Some(address) if address.is_null() => NOT_FOUND,
                    Some(address) => {
                        if control::is_listing() {
                            let arguments = [$(real::Argument::from($argument)),*];
                            control::detail(&real::shown(stringify!($name), &arguments));
                        }
                        std::mem::transmute::<*mut c_void, Function>(address)($($argument),*)
                    }
                    None => fake::$name($($argument),*),
                }
            };
            // SAFETY: read where the call has written it, or an argument.
            #[allow(unused_unsafe)]
            control::call(stringify!($name), $role, perform, || unsafe { $handle })
        }
    )*

        /// The address of the function that is exported under this name; null if there is none.
        pub(crate) fn exported(name: &str) -> *mut c_void {
            match name {
                $( stringify!($name) => $name as *const () as *mut c_void, )*
                _ => std::ptr::null_mut(),
            }
        }
    };
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

    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) Role::Plain, 0;
    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) Role::Plain, 0;
    fn cuDeviceGetP2PAttribute(value: *mut c_int, attribute: c_int, from: c_int, to: c_int)
        Role::Plain, 0;
    fn cuDeviceGetMemPool(pool: *mut Handle, device: c_int) Role::Plain, 0;
    fn cuDeviceSetMemPool(device: c_int, pool: Handle) Role::Plain, 0;
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) Role::Plain, 0;
    fn cuDevicePrimaryCtxReset_v2(device: c_int) Role::Plain, 0;
    fn cuCtxCreate_v2(context: *mut Handle, flags: c_uint, device: c_int)
        Role::Makes(Kind::Context), *context as u64;
    fn cuCtxDestroy_v2(context: Handle) Role::GivesBack(Kind::Context), context as u64;
    fn cuCtxPushCurrent_v2(context: Handle) Role::OfTheThread, 0;
    fn cuCtxPopCurrent_v2(context: *mut Handle) Role::OfTheThread, 0;
    fn cuCtxGetDevice(device: *mut c_int) Role::Plain, 0;
    fn cuCtxGetFlags(flags: *mut c_uint) Role::Plain, 0;
    fn cuCtxGetApiVersion(context: Handle, version: *mut c_uint) Role::Plain, 0;
    fn cuCtxSynchronize() Role::Plain, 0;
    fn cuCtxSetLimit(limit: c_uint, value: usize) Role::Plain, 0;
    fn cuCtxGetLimit(value: *mut usize, limit: c_uint) Role::Plain, 0;
    fn cuCtxGetCacheConfig(config: *mut c_uint) Role::Plain, 0;
    fn cuCtxSetCacheConfig(config: c_uint) Role::Plain, 0;
    fn cuCtxGetSharedMemConfig(config: *mut c_uint) Role::Plain, 0;
    fn cuCtxSetSharedMemConfig(config: c_uint) Role::Plain, 0;
    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) Role::Plain, 0;
    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) Role::Plain, 0;
    fn cuCtxDisablePeerAccess(peer: Handle) Role::Plain, 0;

    fn cuStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int)
        Role::Makes(Kind::Stream), *stream as u64;
    fn cuStreamGetPriority(stream: Handle, priority: *mut c_int) Role::Plain, 0;
    fn cuStreamGetFlags(stream: Handle, flags: *mut c_uint) Role::Plain, 0;
    fn cuStreamGetCtx(stream: Handle, context: *mut Handle) Role::Plain, 0;
    fn cuStreamAddCallback(stream: Handle, callback: Callback, data: *mut c_void, flags: c_uint)
        Role::Plain, 0;
    fn cuStreamQuery(stream: Handle) Role::Plain, 0;
    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) Role::Plain, 0;
    fn cuStreamEndCapture(stream: Handle, graph: *mut Handle)
        Role::Makes(Kind::Graph), *graph as u64;
    fn cuStreamIsCapturing(stream: Handle, status: *mut c_uint) Role::Plain, 0;
    fn cuEventQuery(event: Handle) Role::Plain, 0;

    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) Role::Plain, 0;
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) Role::Plain, 0;
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) Role::Plain, 0;
    fn cuMemcpy2D_v2(copy: *const [usize; 16]) Role::Plain, 0;
    fn cuMemcpyPeer(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize)
        Role::Plain, 0;
    fn cuMemcpyPeerAsync(
        to: u64,
        to_context: Handle,
        from: u64,
        from_context: Handle,
        bytes: usize,
        stream: Handle,
    ) Role::Plain, 0;
    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) Role::Plain, 0;
    fn cuMemsetD16_v2(to: u64, value: u16, count: usize) Role::Plain, 0;
    fn cuMemsetD32_v2(to: u64, value: u32, count: usize) Role::Plain, 0;
    fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Handle) Role::Plain, 0;
    fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) Role::Plain, 0;
    fn cuMemAllocPitch_v2(
        address: *mut u64,
        pitch: *mut usize,
        width: usize,
        height: usize,
        element: c_uint,
    ) Role::Makes(Kind::Memory), *address;
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint)
        Role::Makes(Kind::Memory), *address;
    fn cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: Handle)
        Role::Plain, 0;
    fn cuMemAdvise(address: u64, bytes: usize, advice: c_uint, device: c_int) Role::Plain, 0;
    fn cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: Handle, stream: Handle)
        Role::Makes(Kind::Memory), *address;
    fn cuMemPoolCreate(pool: *mut Handle, properties: *const [u32; 22])
        Role::Makes(Kind::Pool), *pool as u64;
    fn cuMemPoolDestroy(pool: Handle) Role::GivesBack(Kind::Pool), pool as u64;
    fn cuMemPoolSetAccess(pool: Handle, access: *const [u32; 3], count: usize) Role::Plain, 0;

    fn cuLinkCreate_v2(
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
        linker: *mut Handle,
    ) Role::Makes(Kind::Linker), *linker as u64;
    fn cuLinkAddData_v2(
        linker: Handle,
        kind: c_uint,
        data: *mut c_void,
        bytes: usize,
        name: *const c_char,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    ) Role::Plain, 0;
    fn cuLinkComplete(linker: Handle, cubin: *mut *mut c_void, bytes: *mut usize) Role::Plain, 0;
    fn cuLinkDestroy(linker: Handle) Role::GivesBack(Kind::Linker), linker as u64;
    fn cuImportExternalMemory(memory: *mut Handle, description: *const [u64; 13])
        Role::Makes(Kind::External), *memory as u64;
    fn cuExternalMemoryGetMappedBuffer(
        address: *mut u64,
        memory: Handle,
        description: *const [u64; 11],
    ) Role::Plain, 0;
    fn cuDestroyExternalMemory(memory: Handle) Role::GivesBack(Kind::External), memory as u64;

    fn cuFuncSetCacheConfig(function: Handle, config: c_uint) Role::Plain, 0;
    fn cuFuncSetSharedMemConfig(function: Handle, config: c_uint) Role::Plain, 0;
    fn cuOccupancyMaxPotentialBlockSize(
        blocks: *mut c_int,
        threads: *mut c_int,
        function: Handle,
        shared_of_block: *mut c_void,
        dynamic_shared: usize,
        limit: c_int,
    ) Role::Plain, 0;
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize,
        function: Handle,
        blocks: c_int,
        threads: c_int,
    ) Role::Plain, 0;
    fn cuOccupancyMaxPotentialClusterSize(
        size: *mut c_int,
        function: Handle,
        config: *const LaunchConfig,
    ) Role::Plain, 0;
    fn cuOccupancyMaxActiveClusters(
        clusters: *mut c_int,
        function: Handle,
        config: *const LaunchConfig,
    ) Role::Plain, 0;
    fn cuLaunchKernelEx(
        config: *const LaunchConfig,
        function: Handle,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) Role::Plain, 0;

    fn cuGraphCreate(graph: *mut Handle, flags: c_uint) Role::Makes(Kind::Graph), *graph as u64;
    fn cuGraphDestroy(graph: Handle) Role::GivesBack(Kind::Graph), graph as u64;
    fn cuGraphAddKernelNode(
        node: *mut Handle,
        graph: Handle,
        dependencies: *const Handle,
        count: usize,
        params: *const KernelNode,
    ) Role::Plain, 0;
    fn cuGraphAddEmptyNode(
        node: *mut Handle,
        graph: Handle,
        dependencies: *const Handle,
        count: usize,
    ) Role::Plain, 0;
    fn cuGraphKernelNodeGetParams(node: Handle, params: *mut KernelNode) Role::Plain, 0;
    fn cuGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: *const KernelNode)
        Role::Plain, 0;
    fn cuGraphNodeGetType(node: Handle, kind: *mut c_uint) Role::Plain, 0;
    fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) Role::Plain, 0;
    fn cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize)
        Role::Plain, 0;
    fn cuGraphInstantiateWithFlags(exec: *mut Handle, graph: Handle, flags: u64)
        Role::Makes(Kind::GraphExec), *exec as u64;
    fn cuGraphExecUpdate(exec: Handle, graph: Handle, node: *mut Handle, result: *mut c_uint)
        Role::Plain, 0;
    fn cuGraphLaunch(exec: Handle, stream: Handle) Role::Plain, 0;
    fn cuGraphExecDestroy(exec: Handle) Role::GivesBack(Kind::GraphExec), exec as u64;
    fn cuGraphDebugDotPrint(graph: Handle, path: *const c_char, flags: c_uint) Role::Plain, 0;

    fn cuTensorMapEncodeTiled(
        map: *mut [u64; 16],
        data_type: c_uint,
        rank: c_uint,
        address: *mut c_void,
        sizes: *const u64,
        strides: *const u64,
        box_sizes: *const c_uint,
        element_strides: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) Role::Plain, 0;
    fn cuTensorMapEncodeIm2col(
        map: *mut [u64; 16],
        data_type: c_uint,
        rank: c_uint,
        address: *mut c_void,
        sizes: *const u64,
        strides: *const u64,
        lower_corner: *const c_int,
        upper_corner: *const c_int,
        channels: c_uint,
        pixels: c_uint,
        element_strides: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) Role::Plain, 0;
    fn cuTensorMapReplaceAddress(map: *mut [u64; 16], address: *mut c_void) Role::Plain, 0;
}
