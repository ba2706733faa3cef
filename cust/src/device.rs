//! Devices and their attributes.

use std::ffi::c_int;
use std::ops::Range;

use crate::error::{CudaError, CudaResult, ToResult, written};
use crate::memory::MemoryPool;
use crate::sys;

/// A device.
#[derive(Debug, Clone, Copy, Hash, Eq, PartialEq)]
pub struct Device {
    pub(crate) device: sys::CUdevice,
}

impl Device {
    /// How many devices there are.
    ///
    /// # Errors
    /// That there is no driver, or that it was not started.
    pub fn num_devices() -> CudaResult<u32> {
        // SAFETY: a place to write to.
        let count = written(|count| unsafe { sys::cuDeviceGetCount(count) })?;
        u32::try_from(count).map_err(|_| CudaError::UnexpectedValue)
    }

    /// The device of this ordinal, from 0.
    ///
    /// # Errors
    /// [`CudaError::InvalidDevice`] where there is none.
    pub fn get_device(ordinal: u32) -> CudaResult<Device> {
        let ordinal = c_int::try_from(ordinal).map_err(|_| CudaError::InvalidDevice)?;
        // SAFETY: a place to write to.
        let device = written(|device| unsafe { sys::cuDeviceGet(device, ordinal) })?;
        Ok(Self { device })
    }

    /// All devices.
    ///
    /// # Errors
    /// As of [`num_devices`](Self::num_devices).
    pub fn devices() -> CudaResult<Devices> {
        Ok(Devices {
            range: 0..Self::num_devices()?,
        })
    }

    /// The bytes of the device's memory.
    ///
    /// # Errors
    /// What the driver says.
    pub fn total_memory(self) -> CudaResult<usize> {
        // SAFETY: a place to write to.
        written(|bytes| unsafe { sys::cuDeviceTotalMem(bytes, self.device) })
    }

    /// The device's name.
    ///
    /// # Errors
    /// What the driver says.
    pub fn name(self) -> CudaResult<String> {
        let mut name = [0_u8; 256];
        // SAFETY: so many bytes are writable.
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, self.device) }
            .to_result()?;
        let length = name
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(name.len());
        Ok(String::from_utf8_lossy(&name[..length]).into_owned())
    }

    /// The device's identity, which stays the same in every process.
    ///
    /// # Errors
    /// What the driver says.
    pub fn uuid(self) -> CudaResult<[u8; 16]> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: a place to write to.
        unsafe { sys::cuDeviceGetUuid(&mut uuid, self.device) }.to_result()?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// An attribute of the device.
    ///
    /// # Errors
    /// What the driver says, for instance that it does not know the attribute.
    pub fn get_attribute(self, attr: DeviceAttribute) -> CudaResult<i32> {
        // SAFETY: a place to write to.
        written(|value| unsafe { sys::cuDeviceGetAttribute(value, attr as u32, self.device) })
    }

    /// The driver's number of the device.
    pub fn as_raw(&self) -> sys::CUdevice {
        self.device
    }

    /// Whether a context of this device can be given access to memory of `peer`:
    /// [`CurrentContext::enable_peer_access`](crate::context::CurrentContext::enable_peer_access).
    ///
    /// # Errors
    /// What the driver says.
    pub fn can_access_peer(self, peer: Device) -> CudaResult<bool> {
        // SAFETY: a place to write to.
        let can =
            written(|can| unsafe { sys::cuDeviceCanAccessPeer(can, self.device, peer.device) });
        Ok(can? != 0)
    }

    /// An attribute of the way from this device to `peer`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn peer_attribute(self, peer: Device, attr: PeerAttribute) -> CudaResult<i32> {
        // SAFETY: a place to write to.
        written(|value| unsafe {
            sys::cuDeviceGetP2PAttribute(value, attr as u32, self.device, peer.device)
        })
    }

    /// Makes `pool` the one that stream-ordered allocations on this device come from.
    ///
    /// # Errors
    /// What the driver says, for instance that the pool is of another device.
    pub fn set_memory_pool(self, pool: &MemoryPool) -> CudaResult<()> {
        // SAFETY: the pool is there.
        unsafe { sys::cuDeviceSetMemPool(self.device, pool.as_raw()) }.to_result()
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

/// What can be asked about the way between two devices.
#[repr(u32)]
#[non_exhaustive]
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum PeerAttribute {
    /// How fast the way is, beside the other ways of this machine; 0 is the fastest.
    PerformanceRank = 1,
    /// Whether the first can access the second's memory.
    AccessSupported = 2,
    /// Whether the first can do atomic operations on the second's memory.
    NativeAtomicSupported = 3,
    /// Whether the first can access arrays of the second.
    CudaArrayAccessSupported = 4,
}

/// What can be asked about a device. The names are the driver's, without its prefix.
#[repr(u32)]
#[non_exhaustive]
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub enum DeviceAttribute {
    /// Max threads per block.
    MaxThreadsPerBlock = 1,
    /// Max block dim x.
    MaxBlockDimX = 2,
    /// Max block dim y.
    MaxBlockDimY = 3,
    /// Max block dim z.
    MaxBlockDimZ = 4,
    /// Max grid dim x.
    MaxGridDimX = 5,
    /// Max grid dim y.
    MaxGridDimY = 6,
    /// Max grid dim z.
    MaxGridDimZ = 7,
    /// Max shared memory per block.
    MaxSharedMemoryPerBlock = 8,
    /// Total constant memory.
    TotalConstantMemory = 9,
    /// Warp size.
    WarpSize = 10,
    /// Max pitch.
    MaxPitch = 11,
    /// Max registers per block.
    MaxRegistersPerBlock = 12,
    /// Clock rate.
    ClockRate = 13,
    /// Texture alignment.
    TextureAlignment = 14,
    /// Multiprocessor count.
    MultiprocessorCount = 16,
    /// Kernel exec timeout.
    KernelExecTimeout = 17,
    /// Integrated.
    Integrated = 18,
    /// Can map host memory.
    CanMapHostMemory = 19,
    /// Compute mode.
    ComputeMode = 20,
    /// Maximum texture1 d width.
    MaximumTexture1DWidth = 21,
    /// Maximum texture2 d width.
    MaximumTexture2DWidth = 22,
    /// Maximum texture2 d height.
    MaximumTexture2DHeight = 23,
    /// Maximum texture3 d width.
    MaximumTexture3DWidth = 24,
    /// Maximum texture3 d height.
    MaximumTexture3DHeight = 25,
    /// Maximum texture3 d depth.
    MaximumTexture3DDepth = 26,
    /// Maximum texture2 d layered width.
    MaximumTexture2DLayeredWidth = 27,
    /// Maximum texture2 d layered height.
    MaximumTexture2DLayeredHeight = 28,
    /// Maximum texture2 d layered layers.
    MaximumTexture2DLayeredLayers = 29,
    /// Surface alignment.
    SurfaceAlignment = 30,
    /// Concurrent kernels.
    ConcurrentKernels = 31,
    /// Ecc enabled.
    EccEnabled = 32,
    /// Pci bus id.
    PciBusId = 33,
    /// Pci device id.
    PciDeviceId = 34,
    /// Tcc driver.
    TccDriver = 35,
    /// Memory clock rate.
    MemoryClockRate = 36,
    /// Global memory bus width.
    GlobalMemoryBusWidth = 37,
    /// L2 cache size.
    L2CacheSize = 38,
    /// Max threads per multiprocessor.
    MaxThreadsPerMultiprocessor = 39,
    /// Async engine count.
    AsyncEngineCount = 40,
    /// Unified addressing.
    UnifiedAddressing = 41,
    /// Maximum texture1 d layered width.
    MaximumTexture1DLayeredWidth = 42,
    /// Maximum texture1 d layered layers.
    MaximumTexture1DLayeredLayers = 43,
    /// Maximum texture2 d gather width.
    MaximumTexture2DGatherWidth = 45,
    /// Maximum texture2 d gather height.
    MaximumTexture2DGatherHeight = 46,
    /// Maximum texture3 d width alternate.
    MaximumTexture3DWidthAlternate = 47,
    /// Maximum texture3 d height alternate.
    MaximumTexture3DHeightAlternate = 48,
    /// Maximum texture3 d depth alternate.
    MaximumTexture3DDepthAlternate = 49,
    /// Pci domain id.
    PciDomainId = 50,
    /// Texture pitch alignment.
    TexturePitchAlignment = 51,
    /// Maximum texture cubemap width.
    MaximumTextureCubemapWidth = 52,
    /// Maximum texture cubemap layered width.
    MaximumTextureCubemapLayeredWidth = 53,
    /// Maximum texture cubemap layered layers.
    MaximumTextureCubemapLayeredLayers = 54,
    /// Maximum surface1 d width.
    MaximumSurface1DWidth = 55,
    /// Maximum surface2 d width.
    MaximumSurface2DWidth = 56,
    /// Maximum surface2 d height.
    MaximumSurface2DHeight = 57,
    /// Maximum surface3 d width.
    MaximumSurface3DWidth = 58,
    /// Maximum surface3 d height.
    MaximumSurface3DHeight = 59,
    /// Maximum surface3 d depth.
    MaximumSurface3DDepth = 60,
    /// Maximum surface1 d layered width.
    MaximumSurface1DLayeredWidth = 61,
    /// Maximum surface1 d layered layers.
    MaximumSurface1DLayeredLayers = 62,
    /// Maximum surface2 d layered width.
    MaximumSurface2DLayeredWidth = 63,
    /// Maximum surface2 d layered height.
    MaximumSurface2DLayeredHeight = 64,
    /// Maximum surface2 d layered layers.
    MaximumSurface2DLayeredLayers = 65,
    /// Maximum surfacecubemap width.
    MaximumSurfacecubemapWidth = 66,
    /// Maximum surfacecubemap layered width.
    MaximumSurfacecubemapLayeredWidth = 67,
    /// Maximum surfacecubemap layered layers.
    MaximumSurfacecubemapLayeredLayers = 68,
    /// Maximum texture1 d linear width.
    MaximumTexture1DLinearWidth = 69,
    /// Maximum texture2 d linear width.
    MaximumTexture2DLinearWidth = 70,
    /// Maximum texture2 d linear height.
    MaximumTexture2DLinearHeight = 71,
    /// Maximum texture2 d linear pitch.
    MaximumTexture2DLinearPitch = 72,
    /// Maximum texture2 d mipmapped width.
    MaximumTexture2DMipmappedWidth = 73,
    /// Maximum texture2 d mipmapped height.
    MaximumTexture2DMipmappedHeight = 74,
    /// Compute capability major.
    ComputeCapabilityMajor = 75,
    /// Compute capability minor.
    ComputeCapabilityMinor = 76,
    /// Maximum texture1 d mipmapped width.
    MaximumTexture1DMipmappedWidth = 77,
    /// Stream priorities supported.
    StreamPrioritiesSupported = 78,
    /// Global l1 cache supported.
    GlobalL1CacheSupported = 79,
    /// Local l1 cache supported.
    LocalL1CacheSupported = 80,
    /// Max shared memory per multiprocessor.
    MaxSharedMemoryPerMultiprocessor = 81,
    /// Max registers per multiprocessor.
    MaxRegistersPerMultiprocessor = 82,
    /// Managed memory.
    ManagedMemory = 83,
    /// Multi gpu board.
    MultiGpuBoard = 84,
    /// Multi gpu board group id.
    MultiGpuBoardGroupId = 85,
    /// Host native atomic supported.
    HostNativeAtomicSupported = 86,
    /// Single to double precision perf ratio.
    SingleToDoublePrecisionPerfRatio = 87,
    /// Pageable memory access.
    PageableMemoryAccess = 88,
    /// Concurrent managed access.
    ConcurrentManagedAccess = 89,
    /// Compute preemption supported.
    ComputePreemptionSupported = 90,
    /// Can use host pointer for registered mem.
    CanUseHostPointerForRegisteredMem = 91,
    /// Can use stream mem ops v1.
    CanUseStreamMemOpsV1 = 92,
    /// Can use64 bit stream mem ops v1.
    CanUse64BitStreamMemOpsV1 = 93,
    /// Can use stream wait value nor v1.
    CanUseStreamWaitValueNorV1 = 94,
    /// Cooperative launch.
    CooperativeLaunch = 95,
    /// Cooperative multi device launch.
    CooperativeMultiDeviceLaunch = 96,
    /// Max shared memory per block optin.
    MaxSharedMemoryPerBlockOptin = 97,
    /// Can flush remote writes.
    CanFlushRemoteWrites = 98,
    /// Host register supported.
    HostRegisterSupported = 99,
    /// Pageable memory access uses host page tables.
    PageableMemoryAccessUsesHostPageTables = 100,
    /// Direct managed mem access from host.
    DirectManagedMemAccessFromHost = 101,
    /// Virtual memory management supported.
    VirtualMemoryManagementSupported = 102,
    /// Handle type posix file descriptor supported.
    HandleTypePosixFileDescriptorSupported = 103,
    /// Handle type win32 handle supported.
    HandleTypeWin32HandleSupported = 104,
    /// Handle type win32 kmt handle supported.
    HandleTypeWin32KmtHandleSupported = 105,
    /// Max blocks per multiprocessor.
    MaxBlocksPerMultiprocessor = 106,
    /// Generic compression supported.
    GenericCompressionSupported = 107,
    /// Max persisting l2 cache size.
    MaxPersistingL2CacheSize = 108,
    /// Max access policy window size.
    MaxAccessPolicyWindowSize = 109,
    /// Gpu direct rdma with cuda vmm supported.
    GpuDirectRdmaWithCudaVmmSupported = 110,
    /// Reserved shared memory per block.
    ReservedSharedMemoryPerBlock = 111,
    /// Sparse cuda array supported.
    SparseCudaArraySupported = 112,
    /// Read only host register supported.
    ReadOnlyHostRegisterSupported = 113,
    /// Timeline semaphore interop supported.
    TimelineSemaphoreInteropSupported = 114,
    /// Memory pools supported.
    MemoryPoolsSupported = 115,
    /// Gpu direct rdma supported.
    GpuDirectRdmaSupported = 116,
    /// Gpu direct rdma flush writes options.
    GpuDirectRdmaFlushWritesOptions = 117,
    /// Gpu direct rdma writes ordering.
    GpuDirectRdmaWritesOrdering = 118,
    /// Mempool supported handle types.
    MempoolSupportedHandleTypes = 119,
    /// Cluster launch.
    ClusterLaunch = 120,
    /// Deferred mapping cuda array supported.
    DeferredMappingCudaArraySupported = 121,
    /// Can use64 bit stream mem ops.
    CanUse64BitStreamMemOps = 122,
    /// Can use stream wait value nor.
    CanUseStreamWaitValueNor = 123,
    /// Dma buf supported.
    DmaBufSupported = 124,
    /// Ipc event supported.
    IpcEventSupported = 125,
    /// Mem sync domain count.
    MemSyncDomainCount = 126,
    /// Tensor map access supported.
    TensorMapAccessSupported = 127,
    /// Handle type fabric supported.
    HandleTypeFabricSupported = 128,
    /// Unified function pointers.
    UnifiedFunctionPointers = 129,
    /// Numa config.
    NumaConfig = 130,
    /// Numa id.
    NumaId = 131,
    /// Multicast supported.
    MulticastSupported = 132,
    /// Mps enabled.
    MpsEnabled = 133,
    /// Host numa id.
    HostNumaId = 134,
    /// D3 d12 cig supported.
    D3D12CigSupported = 135,
}
