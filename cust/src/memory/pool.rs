//! Memory pools for stream-ordered allocation.

use std::ffi::c_void;
use std::mem;
use std::ptr;

use super::malloc::bytes_of;
use super::{DeviceCopy, DevicePointer};
use crate::device::Device;
use crate::error::{CudaResult, DropResult, ToResult};
use crate::stream::Stream;
use crate::sys::{self, CUmemAccessDesc, CUmemLocation, CUmemPool_attribute, CUmemoryPool};

/// A memory pool of a device, which stream-ordered allocations come from and return to.
#[derive(Debug)]
pub struct MemoryPool {
    inner: CUmemoryPool,
    /// False for a pool that this value only refers to.
    owned: bool,
}

// SAFETY: any thread may use a pool.
unsafe impl Send for MemoryPool {}
// SAFETY: as above.
unsafe impl Sync for MemoryPool {}

impl MemoryPool {
    /// Creates a pool of at most `max_bytes` bytes on a device. 0 means no limit.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(device: Device, max_bytes: usize) -> CudaResult<Self> {
        let properties = sys::CUmemPoolProps {
            allocType: sys::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: 0,
            location: on(device),
            win32SecurityAttributes: ptr::null_mut(),
            maxSize: max_bytes,
            usage: 0,
            reserved: [0; 54],
        };
        let mut inner = ptr::null_mut();
        // SAFETY: one pointer is valid for a write, the other for a read.
        unsafe { sys::cuMemPoolCreate(&mut inner, &properties) }.to_result()?;
        Ok(Self { inner, owned: true })
    }

    /// Returns the device's default pool.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn default_of(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuDeviceGetDefaultMemPool(&mut inner, device.as_raw()) }.to_result()?;
        Ok(Self {
            inner,
            owned: false,
        })
    }

    /// Returns the device's current pool without taking ownership.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The pool must live for as long as the returned value is used.
    pub unsafe fn current_of(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuDeviceGetMemPool(&mut inner, device.as_raw()) }.to_result()?;
        Ok(Self {
            inner,
            owned: false,
        })
    }

    /// Allocates memory for `count` elements from the pool, in stream order. Free it with
    /// [`cuda_free_async`](super::cuda_free_async) or [`cuda_free`](super::cuda_free).
    ///
    /// # Errors
    /// Returns the errors of [`cuda_malloc_async`](super::cuda_malloc_async).
    ///
    /// # Safety
    /// The conditions of [`cuda_malloc_async`](super::cuda_malloc_async) must hold.
    pub unsafe fn malloc_async<T: DeviceCopy>(
        &self,
        stream: &Stream,
        count: usize,
    ) -> CudaResult<DevicePointer<T>> {
        let bytes = bytes_of::<T>(count)?;
        let mut address = 0;
        // SAFETY: the pointer is valid for a write; pool and stream are valid.
        let code = unsafe {
            sys::cuMemAllocFromPoolAsync(&mut address, bytes, self.inner, stream.as_inner())
        };
        code.to_result()?;
        Ok(DevicePointer::from_raw(address))
    }

    /// Releases unused memory to the device until the pool holds `bytes_to_keep` bytes.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn trim_to(&self, bytes_to_keep: usize) -> CudaResult<()> {
        // SAFETY: the pool is valid.
        unsafe { sys::cuMemPoolTrimTo(self.inner, bytes_to_keep) }.to_result()
    }

    /// Returns the release threshold: the bytes that the pool keeps at a synchronization.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn release_threshold(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    }

    /// Sets the release threshold: the bytes that the pool keeps at a synchronization.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn set_release_threshold(&self, bytes: u64) -> CudaResult<()> {
        let mut bytes = bytes;
        let value = ptr::from_mut(&mut bytes).cast::<c_void>();
        // SAFETY: the pool is valid; this attribute is of 64 bits.
        let code = unsafe {
            sys::cuMemPoolSetAttribute(self.inner, sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value)
        };
        code.to_result()
    }

    /// Returns the bytes that the pool currently reserves on the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn reserved_bytes(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    }

    /// Returns the high-water mark of the reserved bytes.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn most_reserved_bytes(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
    }

    /// Returns the bytes that are currently allocated from the pool.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn used_bytes(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    }

    /// Returns the high-water mark of the allocated bytes.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn most_used_bytes(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    }

    fn get(&self, attribute: CUmemPool_attribute) -> CudaResult<u64> {
        let mut value = 0_u64;
        let place = ptr::from_mut(&mut value).cast::<c_void>();
        // SAFETY: the pool is valid; the attributes asked for are of 64 bits.
        unsafe { sys::cuMemPoolGetAttribute(self.inner, attribute, place) }.to_result()?;
        Ok(value)
    }

    /// Allows or denies another device access to the pool's memory.
    ///
    /// A pool starts out with access for its own device alone, whatever access the contexts have: see
    /// [`CurrentContext::enable_peer_access`](crate::context::CurrentContext::enable_peer_access).
    ///
    /// # Errors
    /// Returns the driver's error, for instance if the two devices have no peer access.
    pub fn set_access(&self, device: Device, allowed: bool) -> CudaResult<()> {
        let flags = if allowed {
            sys::CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        } else {
            sys::CU_MEM_ACCESS_FLAGS_PROT_NONE
        };
        let access = CUmemAccessDesc {
            location: on(device),
            flags,
        };
        // SAFETY: the pool is valid, and the array has one element.
        unsafe { sys::cuMemPoolSetAccess(self.inner, &access, 1) }.to_result()
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUmemoryPool {
        self.inner
    }

    /// Destroys the pool and returns the driver's error, which a drop ignores. Allocations stay valid until they are freed.
    ///
    /// # Errors
    /// Returns the driver's error and the pool.
    pub fn drop(pool: MemoryPool) -> DropResult<MemoryPool> {
        match pool.destroy() {
            Ok(()) => {
                mem::forget(pool);
                Ok(())
            }
            Err(error) => Err((error, pool)),
        }
    }

    fn destroy(&self) -> CudaResult<()> {
        if !self.owned {
            return Ok(());
        }
        // SAFETY: this value owns the resource, and this is called once, at its end.
        unsafe { sys::cuMemPoolDestroy(self.inner) }.to_result()
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        // A destructor cannot return an error.
        let _ = self.destroy();
    }
}

impl Device {
    /// Makes `pool` the pool of stream-ordered allocations on this device.
    ///
    /// # Errors
    /// Returns the driver's error, for instance if the pool belongs to another device.
    pub fn set_memory_pool(self, pool: &MemoryPool) -> CudaResult<()> {
        // SAFETY: the pool is valid.
        unsafe { sys::cuDeviceSetMemPool(self.as_raw(), pool.inner) }.to_result()
    }
}

fn on(device: Device) -> CUmemLocation {
    CUmemLocation {
        r#type: sys::CU_MEM_LOCATION_TYPE_DEVICE,
        id: device.as_raw(),
    }
}
