//! Pools of memory for stream-ordered allocations.

use std::ffi::c_void;
use std::mem;
use std::ptr;

use super::malloc::bytes_of;
use super::{DeviceCopy, DevicePointer};
use crate::device::Device;
use crate::error::{CudaResult, DropResult, ToResult};
use crate::stream::Stream;
use crate::sys::{self, CUmemAccessDesc, CUmemLocation, CUmemPool_attribute, CUmemoryPool};

/// A pool that stream-ordered allocations of a device come from and go back to.
#[derive(Debug)]
pub struct MemoryPool {
    inner: CUmemoryPool,
    /// Not where it is the device's own.
    owned: bool,
}

// SAFETY: a pool may be used by any thread.
unsafe impl Send for MemoryPool {}
// SAFETY: as above.
unsafe impl Sync for MemoryPool {}

impl MemoryPool {
    /// A new pool of a device, with no more than `max_bytes`; 0 is no limit.
    ///
    /// # Errors
    /// What the driver says.
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
        // SAFETY: a place to write to, properties to read.
        unsafe { sys::cuMemPoolCreate(&mut inner, &properties) }.to_result()?;
        Ok(Self { inner, owned: true })
    }

    /// The pool that a device comes with.
    ///
    /// # Errors
    /// What the driver says.
    pub fn default_of(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: a place to write to.
        unsafe { sys::cuDeviceGetDefaultMemPool(&mut inner, device.as_raw()) }.to_result()?;
        Ok(Self {
            inner,
            owned: false,
        })
    }

    /// The pool that allocations on a device come from now. It has to be kept by whoever made it.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The pool is there for as long as what is returned is used.
    pub unsafe fn current_of(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: a place to write to.
        unsafe { sys::cuDeviceGetMemPool(&mut inner, device.as_raw()) }.to_result()?;
        Ok(Self {
            inner,
            owned: false,
        })
    }

    /// Allocates room for `count` elements in the order of a stream. It is freed by
    /// [`cuda_free_async`](super::cuda_free_async) or [`cuda_free`](super::cuda_free).
    ///
    /// # Errors
    /// As of [`cuda_malloc_async`](super::cuda_malloc_async).
    ///
    /// # Safety
    /// As of [`cuda_malloc_async`](super::cuda_malloc_async).
    pub unsafe fn malloc_async<T: DeviceCopy>(
        &self,
        stream: &Stream,
        count: usize,
    ) -> CudaResult<DevicePointer<T>> {
        let bytes = bytes_of::<T>(count)?;
        let mut address = 0;
        // SAFETY: a place to write to; pool and stream are there.
        let code = unsafe {
            sys::cuMemAllocFromPoolAsync(&mut address, bytes, self.inner, stream.as_inner())
        };
        code.to_result()?;
        Ok(DevicePointer::from_raw(address))
    }

    /// Gives memory back to the device, down to so many bytes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn trim_to(&self, bytes_to_keep: usize) -> CudaResult<()> {
        // SAFETY: the pool is there.
        unsafe { sys::cuMemPoolTrimTo(self.inner, bytes_to_keep) }.to_result()
    }

    /// The bytes that the pool keeps when somebody synchronizes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn release_threshold(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    }

    /// Sets the bytes that the pool keeps when somebody synchronizes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_release_threshold(&self, bytes: u64) -> CudaResult<()> {
        let mut bytes = bytes;
        let value = ptr::from_mut(&mut bytes).cast::<c_void>();
        // SAFETY: the pool is there; this attribute is of 64 bits.
        let code = unsafe {
            sys::cuMemPoolSetAttribute(self.inner, sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value)
        };
        code.to_result()
    }

    /// The bytes that the pool has of the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn reserved_bytes(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    }

    /// The most bytes that the pool had of the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn most_reserved_bytes(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
    }

    /// The bytes that are allocated.
    ///
    /// # Errors
    /// What the driver says.
    pub fn used_bytes(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    }

    /// The most bytes that were allocated.
    ///
    /// # Errors
    /// What the driver says.
    pub fn most_used_bytes(&self) -> CudaResult<u64> {
        self.get(sys::CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    }

    fn get(&self, attribute: CUmemPool_attribute) -> CudaResult<u64> {
        let mut value = 0_u64;
        let place = ptr::from_mut(&mut value).cast::<c_void>();
        // SAFETY: the pool is there; the attributes asked for are of 64 bits.
        unsafe { sys::cuMemPoolGetAttribute(self.inner, attribute, place) }.to_result()?;
        Ok(value)
    }

    /// Lets another device access what comes from the pool, or no longer.
    ///
    /// # Errors
    /// What the driver says, for instance that the two devices cannot.
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
        // SAFETY: the pool is there; one description.
        unsafe { sys::cuMemPoolSetAccess(self.inner, &access, 1) }.to_result()
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> CUmemoryPool {
        self.inner
    }

    /// Destroys the pool, as dropping it does, and says what came of it. What was allocated stays until it is freed.
    ///
    /// # Errors
    /// What the driver says, and the pool.
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
        // SAFETY: this value's own; called once, at its end.
        unsafe { sys::cuMemPoolDestroy(self.inner) }.to_result()
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        // There is nobody to tell of an error.
        let _ = self.destroy();
    }
}

fn on(device: Device) -> CUmemLocation {
    CUmemLocation {
        r#type: sys::CU_MEM_LOCATION_TYPE_DEVICE,
        id: device.as_raw(),
    }
}
