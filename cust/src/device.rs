//! Devices and their attributes.

use std::ffi::c_int;
use std::ops::Range;

use crate::error::{CudaError, CudaResult, ToResult, written};
use crate::sys;

/// A CUDA device.
#[derive(Debug, Clone, Copy, Hash, Eq, PartialEq)]
pub struct Device {
    pub(crate) device: sys::CUdevice,
}

impl Device {
    /// Returns the number of devices.
    ///
    /// # Errors
    /// Returns [`CudaError::NoDriver`] if there is no driver, and the driver's error if [`init`](crate::init) was not
    /// called.
    pub fn num_devices() -> CudaResult<u32> {
        // SAFETY: the pointer is valid for a write.
        let count = written(|count| unsafe { sys::cuDeviceGetCount(count) })?;
        u32::try_from(count).map_err(|_| CudaError::UnexpectedValue)
    }

    /// Returns the device of this ordinal, counted from 0.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidDevice`] if there is no such device.
    pub fn get_device(ordinal: u32) -> CudaResult<Device> {
        let ordinal = c_int::try_from(ordinal).map_err(|_| CudaError::InvalidDevice)?;
        // SAFETY: the pointer is valid for a write.
        let device = written(|device| unsafe { sys::cuDeviceGet(device, ordinal) })?;
        Ok(Self { device })
    }

    /// Returns an iterator over all devices.
    ///
    /// # Errors
    /// Returns the errors of [`num_devices`](Self::num_devices).
    pub fn devices() -> CudaResult<Devices> {
        Ok(Devices {
            range: 0..Self::num_devices()?,
        })
    }

    /// Returns the size of the device's memory, in bytes.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn total_memory(self) -> CudaResult<usize> {
        // SAFETY: the pointer is valid for a write.
        written(|bytes| unsafe { sys::cuDeviceTotalMem(bytes, self.device) })
    }

    /// Returns the device's name.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn name(self) -> CudaResult<String> {
        let mut name = [0_u8; 256];
        // SAFETY: the buffer has `name.len()` bytes.
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, self.device) }
            .to_result()?;
        let length = name
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(name.len());
        Ok(String::from_utf8_lossy(&name[..length]).into_owned())
    }

    /// Returns the device's UUID, which is the same in every process.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn uuid(self) -> CudaResult<[u8; 16]> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuDeviceGetUuid(&mut uuid, self.device) }.to_result()?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// Returns an attribute of the device.
    ///
    /// # Errors
    /// Returns the driver's error, for instance if it does not know the attribute.
    pub fn get_attribute(self, attr: DeviceAttribute) -> CudaResult<i32> {
        // SAFETY: the pointer is valid for a write.
        written(|value| unsafe { sys::cuDeviceGetAttribute(value, attr as u32, self.device) })
    }

    /// Returns the driver's handle, the number of the device.
    pub fn as_raw(&self) -> sys::CUdevice {
        self.device
    }

    /// Returns whether a context of this device can access the memory of `peer`.
    /// [`CurrentContext::enable_peer_access`](crate::context::CurrentContext::enable_peer_access) enables the access.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn can_access_peer(self, peer: Device) -> CudaResult<bool> {
        // SAFETY: the pointer is valid for a write.
        let can =
            written(|can| unsafe { sys::cuDeviceCanAccessPeer(can, self.device, peer.device) });
        Ok(can? != 0)
    }

    /// Returns an attribute of the link from this device to `peer`.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn peer_attribute(self, peer: Device, attr: PeerAttribute) -> CudaResult<i32> {
        // SAFETY: the pointer is valid for a write.
        written(|value| unsafe {
            sys::cuDeviceGetP2PAttribute(value, attr as u32, self.device, peer.device)
        })
    }
}

/// An iterator over all devices.
#[derive(Debug, Clone)]
pub struct Devices {
    range: Range<u32>,
}

impl Iterator for Devices {
    type Item = CudaResult<Device>;

    fn next(&mut self) -> Option<Self::Item> {
        self.range.next().map(Device::get_device)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl ExactSizeIterator for Devices {}

/// An attribute of the link between two devices, the first of which accesses the second.
#[repr(u32)]
#[non_exhaustive]
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum PeerAttribute {
    /// The relative performance of the link among those of this machine. 0 is the fastest.
    PerformanceRank = 1,
    /// Whether the first device can access the second's memory.
    AccessSupported = 2,
    /// Whether the first device has atomic operations on the second's memory.
    NativeAtomicSupported = 3,
    /// Whether the first device can access CUDA arrays of the second.
    CudaArrayAccessSupported = 4,
}

/// An attribute of a device. The names are the driver's without the prefix `CU_DEVICE_ATTRIBUTE_`. An attribute that is a
/// property has the value 1 if the device has it, else 0.
#[repr(u32)]
#[non_exhaustive]
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum DeviceAttribute {
    /// The maximum number of threads in a block.
    MaxThreadsPerBlock = 1,
    /// The maximum x dimension of a block.
    MaxBlockDimX = 2,
    /// The maximum y dimension of a block.
    MaxBlockDimY = 3,
    /// The maximum z dimension of a block.
    MaxBlockDimZ = 4,
    /// The maximum x dimension of a grid.
    MaxGridDimX = 5,
    /// The maximum y dimension of a grid.
    MaxGridDimY = 6,
    /// The maximum z dimension of a grid.
    MaxGridDimZ = 7,
    /// The maximum shared memory of a block, in bytes, without opting in to more.
    MaxSharedMemoryPerBlock = 8,
    /// The memory for `__constant__` variables, in bytes.
    TotalConstantMemory = 9,
    /// The number of threads in a warp.
    WarpSize = 10,
    /// The maximum pitch of a copy, in bytes.
    MaxPitch = 11,
    /// The maximum number of 32-bit registers of a block.
    MaxRegistersPerBlock = 12,
    /// The peak clock frequency, in kilohertz.
    ClockRate = 13,
    /// The alignment of textures.
    TextureAlignment = 14,
    /// The number of multiprocessors.
    MultiprocessorCount = 16,
    /// Whether kernels have a time limit.
    KernelExecTimeout = 17,
    /// Whether the device shares memory with the host.
    Integrated = 18,
    /// Whether host memory can be mapped into the device's address space.
    CanMapHostMemory = 19,
    /// The compute mode, as the driver's number.
    ComputeMode = 20,
    /// The maximum width of a 1D texture.
    MaximumTexture1DWidth = 21,
    /// The maximum width of a 2D texture.
    MaximumTexture2DWidth = 22,
    /// The maximum height of a 2D texture.
    MaximumTexture2DHeight = 23,
    /// The maximum width of a 3D texture.
    MaximumTexture3DWidth = 24,
    /// The maximum height of a 3D texture.
    MaximumTexture3DHeight = 25,
    /// The maximum depth of a 3D texture.
    MaximumTexture3DDepth = 26,
    /// The maximum width of a layered 2D texture.
    MaximumTexture2DLayeredWidth = 27,
    /// The maximum height of a layered 2D texture.
    MaximumTexture2DLayeredHeight = 28,
    /// The maximum number of layers of a layered 2D texture.
    MaximumTexture2DLayeredLayers = 29,
    /// The alignment of surfaces.
    SurfaceAlignment = 30,
    /// Whether several kernels can run at once in a context.
    ConcurrentKernels = 31,
    /// Whether ECC is enabled.
    EccEnabled = 32,
    /// The PCI bus number.
    PciBusId = 33,
    /// The PCI device number.
    PciDeviceId = 34,
    /// Whether the device uses the TCC driver model.
    TccDriver = 35,
    /// The peak memory clock frequency, in kilohertz.
    MemoryClockRate = 36,
    /// The width of the global memory bus, in bits.
    GlobalMemoryBusWidth = 37,
    /// The size of the L2 cache, in bytes.
    L2CacheSize = 38,
    /// The maximum number of resident threads on a multiprocessor.
    MaxThreadsPerMultiprocessor = 39,
    /// The number of asynchronous copy engines.
    AsyncEngineCount = 40,
    /// Whether host and device share one address space.
    UnifiedAddressing = 41,
    /// The maximum width of a layered 1D texture.
    MaximumTexture1DLayeredWidth = 42,
    /// The maximum number of layers of a layered 1D texture.
    MaximumTexture1DLayeredLayers = 43,
    /// The maximum width of a 2D texture for gather operations.
    MaximumTexture2DGatherWidth = 45,
    /// The maximum height of a 2D texture for gather operations.
    MaximumTexture2DGatherHeight = 46,
    /// The alternate maximum width of a 3D texture.
    MaximumTexture3DWidthAlternate = 47,
    /// The alternate maximum height of a 3D texture.
    MaximumTexture3DHeightAlternate = 48,
    /// The alternate maximum depth of a 3D texture.
    MaximumTexture3DDepthAlternate = 49,
    /// The PCI domain number.
    PciDomainId = 50,
    /// The pitch alignment of textures in linear memory.
    TexturePitchAlignment = 51,
    /// The maximum width and height of a cubemap texture.
    MaximumTextureCubemapWidth = 52,
    /// The maximum width and height of a layered cubemap texture.
    MaximumTextureCubemapLayeredWidth = 53,
    /// The maximum number of layers of a layered cubemap texture.
    MaximumTextureCubemapLayeredLayers = 54,
    /// The maximum width of a 1D surface.
    MaximumSurface1DWidth = 55,
    /// The maximum width of a 2D surface.
    MaximumSurface2DWidth = 56,
    /// The maximum height of a 2D surface.
    MaximumSurface2DHeight = 57,
    /// The maximum width of a 3D surface.
    MaximumSurface3DWidth = 58,
    /// The maximum height of a 3D surface.
    MaximumSurface3DHeight = 59,
    /// The maximum depth of a 3D surface.
    MaximumSurface3DDepth = 60,
    /// The maximum width of a layered 1D surface.
    MaximumSurface1DLayeredWidth = 61,
    /// The maximum number of layers of a layered 1D surface.
    MaximumSurface1DLayeredLayers = 62,
    /// The maximum width of a layered 2D surface.
    MaximumSurface2DLayeredWidth = 63,
    /// The maximum height of a layered 2D surface.
    MaximumSurface2DLayeredHeight = 64,
    /// The maximum number of layers of a layered 2D surface.
    MaximumSurface2DLayeredLayers = 65,
    /// The maximum width of a cubemap surface.
    MaximumSurfacecubemapWidth = 66,
    /// The maximum width of a layered cubemap surface.
    MaximumSurfacecubemapLayeredWidth = 67,
    /// The maximum number of layers of a layered cubemap surface.
    MaximumSurfacecubemapLayeredLayers = 68,
    /// The maximum width of a 1D texture in linear memory.
    MaximumTexture1DLinearWidth = 69,
    /// The maximum width of a 2D texture in linear memory.
    MaximumTexture2DLinearWidth = 70,
    /// The maximum height of a 2D texture in linear memory.
    MaximumTexture2DLinearHeight = 71,
    /// The maximum pitch of a 2D texture in linear memory, in bytes.
    MaximumTexture2DLinearPitch = 72,
    /// The maximum width of a mipmapped 2D texture.
    MaximumTexture2DMipmappedWidth = 73,
    /// The maximum height of a mipmapped 2D texture.
    MaximumTexture2DMipmappedHeight = 74,
    /// The major version of the compute capability.
    ComputeCapabilityMajor = 75,
    /// The minor version of the compute capability.
    ComputeCapabilityMinor = 76,
    /// The maximum width of a mipmapped 1D texture.
    MaximumTexture1DMipmappedWidth = 77,
    /// Whether streams can have priorities.
    StreamPrioritiesSupported = 78,
    /// Whether the L1 cache can cache global memory.
    GlobalL1CacheSupported = 79,
    /// Whether the L1 cache can cache local memory.
    LocalL1CacheSupported = 80,
    /// The maximum shared memory of a multiprocessor, in bytes.
    MaxSharedMemoryPerMultiprocessor = 81,
    /// The maximum number of 32-bit registers of a multiprocessor.
    MaxRegistersPerMultiprocessor = 82,
    /// Whether the device can allocate managed memory.
    ManagedMemory = 83,
    /// Whether the device is on a board with several GPUs.
    MultiGpuBoard = 84,
    /// A number that is the same for all devices of one board.
    MultiGpuBoardGroupId = 85,
    /// Whether the link between device and host has native atomic operations.
    HostNativeAtomicSupported = 86,
    /// The ratio of the throughput of `f32` operations to that of `f64` operations.
    SingleToDoublePrecisionPerfRatio = 87,
    /// Whether the device can access pageable host memory without registration.
    PageableMemoryAccess = 88,
    /// Whether device and host can access managed memory at the same time.
    ConcurrentManagedAccess = 89,
    /// Whether kernels can be preempted.
    ComputePreemptionSupported = 90,
    /// Whether the device can access registered host memory at the host's address.
    CanUseHostPointerForRegisteredMem = 91,
    /// Whether the first version of the stream memory operations is supported.
    CanUseStreamMemOpsV1 = 92,
    /// Whether 64-bit operations are among the first version of the stream memory operations.
    CanUse64BitStreamMemOpsV1 = 93,
    /// Whether the first version of the stream memory operations can wait for a NOR.
    CanUseStreamWaitValueNorV1 = 94,
    /// Whether cooperative launches are supported.
    CooperativeLaunch = 95,
    /// Whether cooperative launches on several devices are supported.
    CooperativeMultiDeviceLaunch = 96,
    /// The maximum shared memory of a block, in bytes, that a kernel can opt in to.
    MaxSharedMemoryPerBlockOptin = 97,
    /// Whether outstanding remote writes can be flushed.
    CanFlushRemoteWrites = 98,
    /// Whether host memory can be registered.
    HostRegisterSupported = 99,
    /// Whether the device accesses pageable memory through the host's page tables.
    PageableMemoryAccessUsesHostPageTables = 100,
    /// Whether the host can access managed memory on the device without migration.
    DirectManagedMemAccessFromHost = 101,
    /// Whether the virtual memory management functions are supported.
    VirtualMemoryManagementSupported = 102,
    /// Whether memory can be exported as a POSIX file descriptor.
    HandleTypePosixFileDescriptorSupported = 103,
    /// Whether memory can be exported as a Win32 NT handle.
    HandleTypeWin32HandleSupported = 104,
    /// Whether memory can be exported as a Win32 KMT handle.
    HandleTypeWin32KmtHandleSupported = 105,
    /// The maximum number of resident blocks on a multiprocessor.
    MaxBlocksPerMultiprocessor = 106,
    /// Whether memory can be compressed.
    GenericCompressionSupported = 107,
    /// The maximum size of the part of the L2 cache for persisting accesses, in bytes.
    MaxPersistingL2CacheSize = 108,
    /// The maximum size of an access policy window, in bytes.
    MaxAccessPolicyWindowSize = 109,
    /// Whether GPUDirect RDMA works with the virtual memory management functions.
    GpuDirectRdmaWithCudaVmmSupported = 110,
    /// The shared memory of a block that the driver reserves, in bytes.
    ReservedSharedMemoryPerBlock = 111,
    /// Whether sparse CUDA arrays are supported.
    SparseCudaArraySupported = 112,
    /// Whether host memory can be registered as read-only.
    ReadOnlyHostRegisterSupported = 113,
    /// Whether external timeline semaphores are supported.
    TimelineSemaphoreInteropSupported = 114,
    /// Whether memory pools and stream-ordered allocation are supported.
    MemoryPoolsSupported = 115,
    /// Whether GPUDirect RDMA is supported.
    GpuDirectRdmaSupported = 116,
    /// The supported ways to flush GPUDirect RDMA writes, as bits.
    GpuDirectRdmaFlushWritesOptions = 117,
    /// The ordering of GPUDirect RDMA writes, as the driver's number.
    GpuDirectRdmaWritesOrdering = 118,
    /// The handle types of memory pools that can be shared between processes, as bits.
    MempoolSupportedHandleTypes = 119,
    /// Whether launches with clusters are supported.
    ClusterLaunch = 120,
    /// Whether CUDA arrays with deferred mapping are supported.
    DeferredMappingCudaArraySupported = 121,
    /// Whether 64-bit stream memory operations are supported.
    CanUse64BitStreamMemOps = 122,
    /// Whether stream memory operations can wait for a NOR.
    CanUseStreamWaitValueNor = 123,
    /// Whether memory can be shared as a dma-buf.
    DmaBufSupported = 124,
    /// Whether events can be shared between processes.
    IpcEventSupported = 125,
    /// The number of memory synchronization domains.
    MemSyncDomainCount = 126,
    /// Whether kernels can access tensors by tensor maps.
    TensorMapAccessSupported = 127,
    /// Whether memory can be exported as a fabric handle.
    HandleTypeFabricSupported = 128,
    /// Whether function pointers are unified.
    UnifiedFunctionPointers = 129,
    /// The NUMA configuration, as the driver's number.
    NumaConfig = 130,
    /// The NUMA node of the device's memory.
    NumaId = 131,
    /// Whether multicast between devices is supported.
    MulticastSupported = 132,
    /// Whether the contexts on the device share it by the Multi-Process Service.
    MpsEnabled = 133,
    /// The NUMA node of the host that is closest to the device.
    HostNumaId = 134,
    /// Whether compute in graphics is supported with Direct3D 12.
    D3D12CigSupported = 135,
}
