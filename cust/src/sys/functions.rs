//! The driver's functions. Each has the CUDA version that declared the form used here, which `cuGetProcAddress` requires,
//! and the name under which a driver exports that form.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::types::*;
use crate::driver::{Address, Symbol};

macro_rules! functions {
    ($([$version:literal] fn $name:ident = $export:literal ($($argument:ident: $ty:ty),* $(,)?);)*) => {
        /// The index of each function in [`SYMBOLS`].
        #[allow(clippy::enum_variant_names)]
        enum Index { $( $name, )* }

        /// All functions, in declaration order.
        pub(crate) static SYMBOLS: &[Symbol] = &[ $(
            Symbol::new(concat!(stringify!($name), "\0"), concat!($export, "\0"), $version),
        )* ];

        $(
            #[doc = concat!("The driver's `", stringify!($name), "`, as of CUDA ", stringify!($version), ".")]
            ///
            /// # Safety
            /// The conditions in NVIDIA's documentation of the function must hold.
            #[allow(clippy::too_many_arguments)]
            #[inline]
            pub unsafe fn $name($($argument: $ty),*) -> CUresult {
                type Function = unsafe extern "system" fn($($ty),*) -> CUresult;
                static ADDRESS: Address = Address::new(Index::$name as usize);
                match ADDRESS.get() {
                    // SAFETY: the driver has a function of this name and signature; the caller guarantees that the
                    // arguments are valid.
                    Ok(address) => unsafe {
                        std::mem::transmute::<*mut c_void, Function>(address)($($argument),*)
                    },
                    Err(code) => code,
                }
            }
        )*
    };
}

functions! {
    [6000] fn cuGetErrorName = "cuGetErrorName" (error: CUresult, text: *mut *const c_char);
    [6000] fn cuGetErrorString = "cuGetErrorString" (error: CUresult, text: *mut *const c_char);
    [2000] fn cuInit = "cuInit" (flags: c_uint);
    [2020] fn cuDriverGetVersion = "cuDriverGetVersion" (version: *mut c_int);

    [2000] fn cuDeviceGet = "cuDeviceGet" (device: *mut CUdevice, ordinal: c_int);
    [2000] fn cuDeviceGetCount = "cuDeviceGetCount" (count: *mut c_int);
    [2000] fn cuDeviceGetName = "cuDeviceGetName" (name: *mut c_char, length: c_int, device: CUdevice);
    [11040] fn cuDeviceGetUuid = "cuDeviceGetUuid_v2" (uuid: *mut CUuuid, device: CUdevice);
    [3020] fn cuDeviceTotalMem = "cuDeviceTotalMem_v2" (bytes: *mut usize, device: CUdevice);
    [2000] fn cuDeviceGetAttribute = "cuDeviceGetAttribute"
        (value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    [4000] fn cuDeviceCanAccessPeer = "cuDeviceCanAccessPeer"
        (can: *mut c_int, device: CUdevice, peer: CUdevice);
    [8000] fn cuDeviceGetP2PAttribute = "cuDeviceGetP2PAttribute"
        (value: *mut c_int, attribute: CUdevice_P2PAttribute, source: CUdevice, destination: CUdevice);
    [11020] fn cuDeviceGetDefaultMemPool = "cuDeviceGetDefaultMemPool"
        (pool: *mut CUmemoryPool, device: CUdevice);
    [11020] fn cuDeviceGetMemPool = "cuDeviceGetMemPool" (pool: *mut CUmemoryPool, device: CUdevice);
    [11020] fn cuDeviceSetMemPool = "cuDeviceSetMemPool" (device: CUdevice, pool: CUmemoryPool);

    [7000] fn cuDevicePrimaryCtxRetain = "cuDevicePrimaryCtxRetain"
        (context: *mut CUcontext, device: CUdevice);
    [11000] fn cuDevicePrimaryCtxRelease = "cuDevicePrimaryCtxRelease_v2" (device: CUdevice);
    [11000] fn cuDevicePrimaryCtxReset = "cuDevicePrimaryCtxReset_v2" (device: CUdevice);
    [11000] fn cuDevicePrimaryCtxSetFlags = "cuDevicePrimaryCtxSetFlags_v2"
        (device: CUdevice, flags: c_uint);

    [3020] fn cuCtxCreate = "cuCtxCreate_v2" (context: *mut CUcontext, flags: c_uint, device: CUdevice);
    [4000] fn cuCtxDestroy = "cuCtxDestroy_v2" (context: CUcontext);
    [4000] fn cuCtxPushCurrent = "cuCtxPushCurrent_v2" (context: CUcontext);
    [4000] fn cuCtxPopCurrent = "cuCtxPopCurrent_v2" (context: *mut CUcontext);
    [4000] fn cuCtxSetCurrent = "cuCtxSetCurrent" (context: CUcontext);
    [4000] fn cuCtxGetCurrent = "cuCtxGetCurrent" (context: *mut CUcontext);
    [2000] fn cuCtxGetDevice = "cuCtxGetDevice" (device: *mut CUdevice);
    [7000] fn cuCtxGetFlags = "cuCtxGetFlags" (flags: *mut c_uint);
    [3020] fn cuCtxGetApiVersion = "cuCtxGetApiVersion" (context: CUcontext, version: *mut c_uint);
    [2000] fn cuCtxSynchronize = "cuCtxSynchronize" ();
    [3010] fn cuCtxSetLimit = "cuCtxSetLimit" (limit: CUlimit, value: usize);
    [3010] fn cuCtxGetLimit = "cuCtxGetLimit" (value: *mut usize, limit: CUlimit);
    [3020] fn cuCtxGetCacheConfig = "cuCtxGetCacheConfig" (config: *mut CUfunc_cache);
    [3020] fn cuCtxSetCacheConfig = "cuCtxSetCacheConfig" (config: CUfunc_cache);
    [4020] fn cuCtxGetSharedMemConfig = "cuCtxGetSharedMemConfig" (config: *mut CUsharedconfig);
    [4020] fn cuCtxSetSharedMemConfig = "cuCtxSetSharedMemConfig" (config: CUsharedconfig);
    [5050] fn cuCtxGetStreamPriorityRange = "cuCtxGetStreamPriorityRange"
        (least: *mut c_int, greatest: *mut c_int);
    [4000] fn cuCtxEnablePeerAccess = "cuCtxEnablePeerAccess" (peer: CUcontext, flags: c_uint);
    [4000] fn cuCtxDisablePeerAccess = "cuCtxDisablePeerAccess" (peer: CUcontext);

    [2010] fn cuModuleLoadDataEx = "cuModuleLoadDataEx"
        (module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut CUjit_option,
         values: *mut *mut c_void);
    [2000] fn cuModuleUnload = "cuModuleUnload" (module: CUmodule);
    [2000] fn cuModuleGetFunction = "cuModuleGetFunction"
        (function: *mut CUfunction, module: CUmodule, name: *const c_char);
    [3020] fn cuModuleGetGlobal = "cuModuleGetGlobal_v2"
        (address: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char);
    [6050] fn cuLinkCreate = "cuLinkCreate_v2"
        (count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void, state: *mut CUlinkState);
    [6050] fn cuLinkAddData = "cuLinkAddData_v2"
        (state: CUlinkState, kind: CUjitInputType, data: *mut c_void, bytes: usize, name: *const c_char,
         count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void);
    [5050] fn cuLinkComplete = "cuLinkComplete"
        (state: CUlinkState, cubin: *mut *mut c_void, bytes: *mut usize);
    [5050] fn cuLinkDestroy = "cuLinkDestroy" (state: CUlinkState);

    [3020] fn cuMemGetInfo = "cuMemGetInfo_v2" (free: *mut usize, total: *mut usize);
    [3020] fn cuMemAlloc = "cuMemAlloc_v2" (address: *mut CUdeviceptr, bytes: usize);
    [3020] fn cuMemAllocPitch = "cuMemAllocPitch_v2"
        (address: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element: c_uint);
    [3020] fn cuMemFree = "cuMemFree_v2" (address: CUdeviceptr);
    [2020] fn cuMemHostAlloc = "cuMemHostAlloc" (pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    [2000] fn cuMemFreeHost = "cuMemFreeHost" (pointer: *mut c_void);
    [6000] fn cuMemAllocManaged = "cuMemAllocManaged"
        (address: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    [8000] fn cuMemPrefetchAsync = "cuMemPrefetchAsync"
        (address: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream);
    [8000] fn cuMemAdvise = "cuMemAdvise"
        (address: CUdeviceptr, bytes: usize, advice: CUmem_advise, device: CUdevice);
    [7000] fn cuPointerGetAttributes = "cuPointerGetAttributes"
        (count: c_uint, attributes: *mut c_uint, values: *mut *mut c_void, pointer: CUdeviceptr);
    [3020] fn cuMemcpyHtoD = "cuMemcpyHtoD_v2" (to: CUdeviceptr, from: *const c_void, bytes: usize);
    [3020] fn cuMemcpyDtoH = "cuMemcpyDtoH_v2" (to: *mut c_void, from: CUdeviceptr, bytes: usize);
    [3020] fn cuMemcpyDtoD = "cuMemcpyDtoD_v2" (to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
    [3020] fn cuMemcpyHtoDAsync = "cuMemcpyHtoDAsync_v2"
        (to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    [3020] fn cuMemcpyDtoHAsync = "cuMemcpyDtoHAsync_v2"
        (to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    [3020] fn cuMemcpyDtoDAsync = "cuMemcpyDtoDAsync_v2"
        (to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    [4000] fn cuMemcpyPeer = "cuMemcpyPeer"
        (to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize);
    [4000] fn cuMemcpyPeerAsync = "cuMemcpyPeerAsync"
        (to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
         stream: CUstream);
    [3020] fn cuMemcpy2D = "cuMemcpy2D_v2" (copy: *const CUDA_MEMCPY2D);
    [3020] fn cuMemsetD8 = "cuMemsetD8_v2" (to: CUdeviceptr, value: u8, count: usize);
    [3020] fn cuMemsetD16 = "cuMemsetD16_v2" (to: CUdeviceptr, value: u16, count: usize);
    [3020] fn cuMemsetD32 = "cuMemsetD32_v2" (to: CUdeviceptr, value: c_uint, count: usize);
    [3020] fn cuMemsetD8Async = "cuMemsetD8Async"
        (to: CUdeviceptr, value: u8, count: usize, stream: CUstream);
    [3020] fn cuMemsetD16Async = "cuMemsetD16Async"
        (to: CUdeviceptr, value: u16, count: usize, stream: CUstream);
    [3020] fn cuMemsetD32Async = "cuMemsetD32Async"
        (to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);

    [11020] fn cuMemAllocAsync = "cuMemAllocAsync"
        (address: *mut CUdeviceptr, bytes: usize, stream: CUstream);
    [11020] fn cuMemFreeAsync = "cuMemFreeAsync" (address: CUdeviceptr, stream: CUstream);
    [11020] fn cuMemAllocFromPoolAsync = "cuMemAllocFromPoolAsync"
        (address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    [11020] fn cuMemPoolCreate = "cuMemPoolCreate"
        (pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
    [11020] fn cuMemPoolDestroy = "cuMemPoolDestroy" (pool: CUmemoryPool);
    [11020] fn cuMemPoolTrimTo = "cuMemPoolTrimTo" (pool: CUmemoryPool, keep: usize);
    [11020] fn cuMemPoolGetAttribute = "cuMemPoolGetAttribute"
        (pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    [11020] fn cuMemPoolSetAttribute = "cuMemPoolSetAttribute"
        (pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    [11020] fn cuMemPoolSetAccess = "cuMemPoolSetAccess"
        (pool: CUmemoryPool, access: *const CUmemAccessDesc, count: usize);

    [2000] fn cuStreamCreate = "cuStreamCreate" (stream: *mut CUstream, flags: c_uint);
    [5050] fn cuStreamCreateWithPriority = "cuStreamCreateWithPriority"
        (stream: *mut CUstream, flags: c_uint, priority: c_int);
    [4000] fn cuStreamDestroy = "cuStreamDestroy_v2" (stream: CUstream);
    [5050] fn cuStreamGetPriority = "cuStreamGetPriority" (stream: CUstream, priority: *mut c_int);
    [5050] fn cuStreamGetFlags = "cuStreamGetFlags" (stream: CUstream, flags: *mut c_uint);
    [9020] fn cuStreamGetCtx = "cuStreamGetCtx" (stream: CUstream, context: *mut CUcontext);
    [3020] fn cuStreamWaitEvent = "cuStreamWaitEvent" (stream: CUstream, event: CUevent, flags: c_uint);
    [5000] fn cuStreamAddCallback = "cuStreamAddCallback"
        (stream: CUstream, callback: CUstreamCallback, data: *mut c_void, flags: c_uint);
    [2000] fn cuStreamSynchronize = "cuStreamSynchronize" (stream: CUstream);
    [2000] fn cuStreamQuery = "cuStreamQuery" (stream: CUstream);
    [10010] fn cuStreamBeginCapture = "cuStreamBeginCapture_v2"
        (stream: CUstream, mode: CUstreamCaptureMode);
    [10000] fn cuStreamEndCapture = "cuStreamEndCapture" (stream: CUstream, graph: *mut CUgraph);
    [10000] fn cuStreamIsCapturing = "cuStreamIsCapturing"
        (stream: CUstream, status: *mut CUstreamCaptureStatus);

    [2000] fn cuEventCreate = "cuEventCreate" (event: *mut CUevent, flags: c_uint);
    [4000] fn cuEventDestroy = "cuEventDestroy_v2" (event: CUevent);
    [2000] fn cuEventRecord = "cuEventRecord" (event: CUevent, stream: CUstream);
    [2000] fn cuEventQuery = "cuEventQuery" (event: CUevent);
    [2000] fn cuEventSynchronize = "cuEventSynchronize" (event: CUevent);
    [2000] fn cuEventElapsedTime = "cuEventElapsedTime"
        (milliseconds: *mut f32, start: CUevent, end: CUevent);

    [10000] fn cuImportExternalMemory = "cuImportExternalMemory"
        (memory: *mut CUexternalMemory, description: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC);
    [10000] fn cuExternalMemoryGetMappedBuffer = "cuExternalMemoryGetMappedBuffer"
        (address: *mut CUdeviceptr, memory: CUexternalMemory,
         description: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC);
    [10000] fn cuDestroyExternalMemory = "cuDestroyExternalMemory" (memory: CUexternalMemory);

    [2020] fn cuFuncGetAttribute = "cuFuncGetAttribute"
        (value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    [9000] fn cuFuncSetAttribute = "cuFuncSetAttribute"
        (function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    [3000] fn cuFuncSetCacheConfig = "cuFuncSetCacheConfig" (function: CUfunction, config: CUfunc_cache);
    [4020] fn cuFuncSetSharedMemConfig = "cuFuncSetSharedMemConfig"
        (function: CUfunction, config: CUsharedconfig);
    [6050] fn cuOccupancyMaxActiveBlocksPerMultiprocessor = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        (blocks: *mut c_int, function: CUfunction, block_size: c_int, dynamic_shared: usize);
    [6050] fn cuOccupancyMaxPotentialBlockSize = "cuOccupancyMaxPotentialBlockSize"
        (grid_size: *mut c_int, block_size: *mut c_int, function: CUfunction,
         shared_of_block: Option<CUoccupancyB2DSize>, dynamic_shared: usize, limit: c_int);
    [10020] fn cuOccupancyAvailableDynamicSMemPerBlock = "cuOccupancyAvailableDynamicSMemPerBlock"
        (dynamic_shared: *mut usize, function: CUfunction, blocks: c_int, block_size: c_int);
    [11070] fn cuOccupancyMaxPotentialClusterSize = "cuOccupancyMaxPotentialClusterSize"
        (size: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);
    [11070] fn cuOccupancyMaxActiveClusters = "cuOccupancyMaxActiveClusters"
        (clusters: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);
    [4000] fn cuLaunchKernel = "cuLaunchKernel"
        (function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
         block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: CUstream,
         parameters: *mut *mut c_void, extra: *mut *mut c_void);
    [11060] fn cuLaunchKernelEx = "cuLaunchKernelEx"
        (config: *const CUlaunchConfig, function: CUfunction, parameters: *mut *mut c_void,
         extra: *mut *mut c_void);

    [10000] fn cuGraphCreate = "cuGraphCreate" (graph: *mut CUgraph, flags: c_uint);
    [10000] fn cuGraphDestroy = "cuGraphDestroy" (graph: CUgraph);
    [10000] fn cuGraphAddKernelNode = "cuGraphAddKernelNode"
        (node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
         parameters: *const CUDA_KERNEL_NODE_PARAMS);
    [10000] fn cuGraphAddEmptyNode = "cuGraphAddEmptyNode"
        (node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode, count: usize);
    [10000] fn cuGraphKernelNodeGetParams = "cuGraphKernelNodeGetParams"
        (node: CUgraphNode, parameters: *mut CUDA_KERNEL_NODE_PARAMS);
    [10010] fn cuGraphExecKernelNodeSetParams = "cuGraphExecKernelNodeSetParams"
        (exec: CUgraphExec, node: CUgraphNode, parameters: *const CUDA_KERNEL_NODE_PARAMS);
    [10000] fn cuGraphNodeGetType = "cuGraphNodeGetType" (node: CUgraphNode, kind: *mut CUgraphNodeType);
    [10000] fn cuGraphGetNodes = "cuGraphGetNodes"
        (graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize);
    [10000] fn cuGraphGetEdges = "cuGraphGetEdges"
        (graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, count: *mut usize);
    [11040] fn cuGraphInstantiateWithFlags = "cuGraphInstantiateWithFlags"
        (exec: *mut CUgraphExec, graph: CUgraph, flags: u64);
    [10020] fn cuGraphExecUpdate = "cuGraphExecUpdate"
        (exec: CUgraphExec, graph: CUgraph, node: *mut CUgraphNode, result: *mut CUgraphExecUpdateResult);
    [10000] fn cuGraphLaunch = "cuGraphLaunch" (exec: CUgraphExec, stream: CUstream);
    [10000] fn cuGraphExecDestroy = "cuGraphExecDestroy" (exec: CUgraphExec);
    [11030] fn cuGraphDebugDotPrint = "cuGraphDebugDotPrint"
        (graph: CUgraph, path: *const c_char, flags: c_uint);

    [12000] fn cuTensorMapEncodeTiled = "cuTensorMapEncodeTiled"
        (map: *mut CUtensorMap, data_type: CUtensorMapDataType, rank: c_uint, address: *mut c_void,
         sizes: *const u64, strides: *const u64, box_sizes: *const c_uint, element_strides: *const c_uint,
         interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle,
         promotion: CUtensorMapL2promotion, fill: CUtensorMapFloatOOBfill);
    [12000] fn cuTensorMapEncodeIm2col = "cuTensorMapEncodeIm2col"
        (map: *mut CUtensorMap, data_type: CUtensorMapDataType, rank: c_uint, address: *mut c_void,
         sizes: *const u64, strides: *const u64, lower_corner: *const c_int, upper_corner: *const c_int,
         channels_per_pixel: c_uint, pixels_per_column: c_uint, element_strides: *const c_uint,
         interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle,
         promotion: CUtensorMapL2promotion, fill: CUtensorMapFloatOOBfill);
    [12000] fn cuTensorMapReplaceAddress = "cuTensorMapReplaceAddress"
        (map: *mut CUtensorMap, address: *mut c_void);
}
