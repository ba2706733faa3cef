//! Types and constants of the driver.

use std::ffi::{c_char, c_int, c_uint, c_ushort, c_void};

/// The result of a function: 0, or an error code.
pub type CUresult = c_uint;
/// The number of a device.
pub type CUdevice = c_int;
/// An address in a device's memory.
pub type CUdeviceptr = u64;

macro_rules! handles {
    ($($handle:ident -> $object:ident, $what:literal;)*) => { $(
        #[doc = concat!("The opaque object that a ", stringify!($handle), " points to.")]
        #[repr(C)]
        #[derive(Debug)]
        pub struct $object {
            _private: [u8; 0],
        }
        #[doc = concat!("The handle of ", $what, ".")]
        pub type $handle = *mut $object;
    )* };
}

handles! {
    CUcontext -> CUctx_st, "a context";
    CUmodule -> CUmod_st, "a module";
    CUfunction -> CUfunc_st, "a kernel";
    CUstream -> CUstream_st, "a stream";
    CUevent -> CUevent_st, "an event";
    CUlinkState -> CUlinkState_st, "a linker";
    CUmemoryPool -> CUmemPoolHandle_st, "a memory pool";
    CUgraph -> CUgraph_st, "a graph";
    CUgraphNode -> CUgraphNode_st, "a node of a graph";
    CUgraphExec -> CUgraphExec_st, "a graph that can be launched";
    CUexternalMemory -> CUextMemory_st, "memory of another API";
    CUarray -> CUarray_st, "an array";
}

macro_rules! numbers {
    ($($name:ident, $what:literal;)*) => { $(
        #[doc = concat!("The number of ", $what, ".")]
        pub type $name = c_uint;
    )* };
}

numbers! {
    CUdevice_attribute, "an attribute of a device";
    CUdevice_P2PAttribute, "an attribute of a pair of devices";
    CUfunction_attribute, "an attribute of a kernel";
    CUfunc_cache, "a preference between L1 cache and shared memory";
    CUsharedconfig, "a size of the banks of shared memory";
    CUlimit, "a limit of a context";
    CUjit_option, "an option of the driver's compiler";
    CUjitInputType, "a kind of input of a linker";
    CUmemorytype, "a kind of memory";
    CUmem_advise, "an advice about unified memory";
    CUmemPool_attribute, "an attribute of a memory pool";
    CUstreamCaptureMode, "a mode of a capture";
    CUstreamCaptureStatus, "the state of a capture";
    CUgraphNodeType, "a kind of node";
    CUgraphExecUpdateResult, "what came of an update of a graph";
    CUlaunchAttributeID, "an attribute of a launch";
    CUtensorMapDataType, "a type of a tensor's elements";
    CUtensorMapInterleave, "an interleaving of a tensor";
    CUtensorMapSwizzle, "a swizzle of a tensor's box in shared memory";
    CUtensorMapL2promotion, "a granularity of a tensor's reads through the L2 cache";
    CUtensorMapFloatOOBfill, "what a tensor's elements outside are";
}

/// A compute capability that the driver's compiler targets: ten times the major version plus the minor version.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CUjit_target(pub c_uint);

/// A function that a stream calls on the host.
pub type CUstreamCallback =
    unsafe extern "system" fn(stream: CUstream, status: CUresult, data: *mut c_void);
/// A function that returns the shared memory, in bytes, of a block of `block_size` threads.
pub type CUoccupancyB2DSize = unsafe extern "system" fn(block_size: c_int) -> usize;

/// The UUID of a device.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CUuuid {
    /// The bytes of the UUID.
    pub bytes: [c_char; 16],
}

/// The parameters of a two-dimensional copy.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

/// The location of memory.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CUmemLocation {
    /// The type of location, for instance [`CU_MEM_LOCATION_TYPE_DEVICE`].
    pub r#type: c_uint,
    /// The number of the device.
    pub id: c_int,
}

/// The properties of a new memory pool.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CUmemPoolProps {
    pub allocType: c_uint,
    pub handleTypes: c_uint,
    pub location: CUmemLocation,
    pub win32SecurityAttributes: *mut c_void,
    pub maxSize: usize,
    pub usage: c_ushort,
    pub reserved: [u8; 54],
}

/// The access of a location to a memory pool.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CUmemAccessDesc {
    /// The location that accesses the pool.
    pub location: CUmemLocation,
    /// The kind of access.
    pub flags: c_uint,
}

/// The parameters of a kernel node.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    pub func: CUfunction,
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// An attribute of a launch: its number and a value of 64 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CUlaunchAttribute {
    /// The number of the attribute.
    pub id: CUlaunchAttributeID,
    /// Padding up to the value.
    pub pad: [c_uint; 1],
    /// The value: as many 32-bit integers as the attribute has, then zeros.
    pub value: CUlaunchAttributeValue,
}

/// The value of an attribute of a launch.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy)]
pub struct CUlaunchAttributeValue(pub [c_uint; 16]);

/// The configuration of a launch with attributes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CUlaunchConfig {
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub hStream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: c_uint,
}

/// A tensor map: the description of a tensor for the Tensor Memory Accelerator.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CUtensorMap {
    /// Opaque words that the device reads.
    pub opaque: [u64; 16],
}

/// The description of memory to import from another API.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
    pub r#type: c_uint,
    pub handle: CUexternalMemoryHandle,
    pub size: u64,
    pub flags: c_uint,
    pub reserved: [c_uint; 16],
}

/// A handle of another API's memory: a file descriptor or a Windows handle.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub union CUexternalMemoryHandle {
    pub fd: c_int,
    pub win32: CUexternalMemoryWin32,
}

/// A Windows handle, or a name.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CUexternalMemoryWin32 {
    pub handle: *mut c_void,
    pub name: *const c_void,
}

/// The part of imported memory to map.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
    pub offset: u64,
    pub size: u64,
    pub flags: c_uint,
    pub reserved: [c_uint; 16],
}

macro_rules! constants {
    ($($ty:ty: $($name:ident = $value:expr,)*;)*) => { $( $(
        #[doc = concat!("The driver's constant `", stringify!($name), "`.")]
        pub const $name: $ty = $value;
    )* )* };
}

constants! {
    CUresult: CUDA_SUCCESS = 0,;
    CUdevice: CU_DEVICE_CPU = -1,;
    c_uint:
        CU_MEM_LOCATION_TYPE_DEVICE = 1,
        CU_MEM_ALLOCATION_TYPE_PINNED = 1,
        CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
        CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
        CU_MEM_ATTACH_GLOBAL = 1,
        CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1,
        CU_MEMORYTYPE_HOST = 1,
        CU_MEMORYTYPE_DEVICE = 2,;
    CUjit_option:
        CU_JIT_MAX_REGISTERS = 0,
        CU_JIT_INFO_LOG_BUFFER = 3,
        CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
        CU_JIT_ERROR_LOG_BUFFER = 5,
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
        CU_JIT_OPTIMIZATION_LEVEL = 7,
        CU_JIT_TARGET_FROM_CUCONTEXT = 8,
        CU_JIT_TARGET = 9,
        CU_JIT_FALLBACK_STRATEGY = 10,
        CU_JIT_GENERATE_DEBUG_INFO = 11,
        CU_JIT_GENERATE_LINE_INFO = 13,;
    CUjitInputType:
        CU_JIT_INPUT_CUBIN = 0,
        CU_JIT_INPUT_PTX = 1,
        CU_JIT_INPUT_FATBINARY = 2,;
    CUmem_advise:
        CU_MEM_ADVISE_SET_READ_MOSTLY = 1,
        CU_MEM_ADVISE_UNSET_READ_MOSTLY = 2,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3,
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4,;
    CUmemPool_attribute:
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
        CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
        CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,;
    CUlaunchAttributeID:
        CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
        CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,;
}
