//! Device memory, pinned host memory, and the copies between them.
//!
//! Device memory is named by plain addresses here; the types that callers see keep them in bounds.
//! Work on memory is put into a stream and runs in that stream's order. A length of zero is never
//! passed to the driver.

use super::context::CudaContext;
use super::error::{CudaError, CudaErrorKind, Result, driver};
use super::kept::Kept;
use super::stream::CudaStream;
use cust::error::CudaError as DriverError;
use cust::memory::{DevicePointer, cuda_free, cuda_free_async, cuda_free_locked};
use cust::sys::CUdeviceptr;
use std::ffi::{c_uint, c_void};
use std::fmt;
use std::num::NonZero;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The alignment in bytes of every device address that is allocated; the driver promises 256.
pub(crate) const DEVICE_ALIGN: usize = 256;

/// Stands for the address of no bytes: aligned, not null, never used.
const NO_ADDRESS: NonZero<usize> = NonZero::new(DEVICE_ALIGN).unwrap();

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
const POINTER_MEMORY_TYPE: c_uint = 2;

/// `CU_MEMHOSTALLOC_PORTABLE`: pinned for every device.
const HOST_PORTABLE: u32 = 1;

/// A piece of device memory, freed in the order of the stream that it was allocated on.
///
/// Where another stream uses it, that stream must wait for the allocating one first, and the
/// allocating one for it before this is dropped: [`CudaStream::wait_for`].
pub(crate) struct CudaMemory {
    pointer: CUdeviceptr,
    bytes: usize,
    pooled: bool,
    stream: Arc<CudaStream>,
}

impl CudaMemory {
    /// Allocates `bytes` bytes, uninitialised and aligned to [`DEVICE_ALIGN`], for use in `stream`
    /// from this point of it on. No bytes are no allocation, with an address that is aligned and
    /// not null.
    ///
    /// Memory freed before is reused. If there is not enough, what the pool keeps is given back and
    /// the allocation tried once more.
    ///
    /// # Errors
    /// `CudaErrorKind::OutOfMemory`; what else the driver returns.
    pub(crate) fn allocate(stream: &Arc<CudaStream>, bytes: usize) -> Result<CudaMemory> {
        let context = stream.context();
        let pooled = context.has_pool();
        let mut memory = CudaMemory {
            pointer: NO_ADDRESS.get() as CUdeviceptr,
            bytes: 0,
            pooled,
            stream: stream.clone(),
        };
        if bytes == 0 {
            return Ok(memory);
        }
        context.make_current()?;
        let mut attempt = allocate_once(stream, bytes, pooled);
        if pooled && matches!(&attempt, Err(e) if e.kind() == CudaErrorKind::OutOfMemory) {
            // Memory whose freeing is still queued cannot be given back before that has run.
            stream.synchronize()?;
            context.trim_pool()?;
            attempt = allocate_once(stream, bytes, pooled);
        }
        memory.pointer = attempt?;
        memory.bytes = bytes;
        Ok(memory)
    }

    /// The device address of the first byte.
    pub(crate) fn pointer(&self) -> u64 {
        self.pointer
    }

    /// The size in bytes, as asked for.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn allocate_once(stream: &CudaStream, bytes: usize, pooled: bool) -> Result<CUdeviceptr> {
    let mut pointer: CUdeviceptr = 0;
    // SAFETY: the functions write one address; the context is current and the stream alive.
    unsafe {
        if pooled {
            driver!(cuMemAllocAsync(&mut pointer, bytes, stream.raw()))?;
        } else {
            driver!(cuMemAlloc(&mut pointer, bytes))?;
        }
    }
    Ok(pointer)
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        // SAFETY: the address came from the matching allocation and nobody has it any more. In the
        // pool's case the freeing is queued behind the work that uses it; `cuMemFree` itself waits
        // for the device.
        let free = |pointer: DevicePointer<u8>| unsafe {
            if self.pooled {
                cuda_free_async(self.stream.stream(), pointer)
            } else {
                cuda_free(pointer)
            }
            .map_err(|error| (error, pointer))
        };
        let pointer = DevicePointer::from_raw(self.pointer);
        self.stream.context().give_back(pointer, free);
    }
}

impl fmt::Debug for CudaMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaMemory({:#x}, {} bytes)", self.pointer, self.bytes)
    }
}

/// Host memory that the device copies from and to by itself, so that such copies are fast and run
/// beside the calling thread's work. Starts out as zeros.
pub(crate) struct PinnedMemory {
    pointer: NonNull<u8>,
    bytes: usize,
    /// What is given back; none where there are no bytes.
    _kept: Option<Kept<NonNull<u8>>>,
}

// SAFETY: owned memory, which any thread may use and free.
unsafe impl Send for PinnedMemory {}
// SAFETY: shared access only reads.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Allocates `bytes` bytes of zeros, aligned to at least 64. No bytes are no allocation, with
    /// an address that is aligned to 256 and not null.
    ///
    /// # Errors
    /// `CudaErrorKind::OutOfMemory`; what else the driver returns.
    pub(crate) fn allocate(context: &Arc<CudaContext>, bytes: usize) -> Result<PinnedMemory> {
        if bytes == 0 {
            return Ok(PinnedMemory {
                pointer: NonNull::without_provenance(NO_ADDRESS),
                bytes,
                _kept: None,
            });
        }
        context.make_current()?;
        let mut raw: *mut c_void = ptr::null_mut();
        // SAFETY: the function writes one pointer.
        unsafe { driver!(cuMemHostAlloc(&mut raw, bytes, HOST_PORTABLE)) }?;
        let pointer = NonNull::new(raw.cast::<u8>())
            .ok_or_else(|| CudaError::new("cuMemHostAlloc", DriverError::OutOfMemory))?;
        // SAFETY: `bytes` bytes were just allocated there. The driver does not promise zeros.
        unsafe { pointer.write_bytes(0, bytes) };
        // SAFETY: the pointer came from `cuMemHostAlloc`, and no copy that uses it is under way: the
        // copying functions demand that of their callers.
        let kept = Kept::new(context, pointer, |pointer| unsafe {
            cuda_free_locked(pointer.as_ptr()).map_err(|error| (error, pointer))
        });
        Ok(PinnedMemory {
            pointer,
            bytes,
            _kept: Some(kept),
        })
    }

    /// The address of the first byte.
    pub(crate) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    /// The size in bytes, as asked for.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl fmt::Debug for PinnedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedMemory({:p}, {} bytes)", self.pointer, self.bytes)
    }
}

impl CudaContext {
    /// Whether the driver knows the host memory at `address`, pinned by whomever: it reads such memory when a
    /// copy runs, and not when the copy is queued.
    ///
    /// # Errors
    /// What the driver returns.
    pub(crate) fn is_pinned(&self, address: *const u8) -> Result<bool> {
        self.make_current()?;
        let mut memory_type: c_uint = 0;
        let mut attribute = POINTER_MEMORY_TYPE;
        let mut value = (&raw mut memory_type).cast::<c_void>();
        // SAFETY: one attribute, whose value is an unsigned int; any address may be asked about. Memory that
        // the driver does not know leaves nought, and is no error as it is for `cuPointerGetAttribute`.
        unsafe {
            driver!(cuPointerGetAttributes(
                1,
                &mut attribute,
                &mut value,
                address.addr() as CUdeviceptr
            ))
        }?;
        Ok(memory_type != 0)
    }
}

impl CudaStream {
    /// Queues setting `bytes` bytes from the device address `to` on to `value`.
    ///
    /// # Errors
    /// What the driver returns.
    ///
    /// # Safety
    /// The bytes lie in one allocation of this device, usable at this point of the stream until
    /// they are set, and no work in another stream uses them meanwhile.
    pub(crate) unsafe fn memset(&self, to: u64, value: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().make_current()?;
        // SAFETY: the caller's promise.
        unsafe { driver!(cuMemsetD8Async(to, value, bytes, self.raw())) }
    }

    /// Queues a copy of `bytes` bytes from the host to the device address `to`. From memory that is
    /// not pinned the driver copies before this returns.
    ///
    /// # Errors
    /// What the driver returns.
    ///
    /// # Safety
    /// As [`CudaStream::memset`] for the bytes at `to`; those at `from` are readable and, if
    /// pinned, stay there unchanged until the copy is done.
    pub(crate) unsafe fn copy_to_device(
        &self,
        to: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().make_current()?;
        // SAFETY: the caller's promise.
        unsafe { driver!(cuMemcpyHtoDAsync(to, from.cast(), bytes, self.raw())) }
    }

    /// Queues a copy of `bytes` bytes from the device address `from` to the host. The bytes are
    /// there once the stream was synchronised.
    ///
    /// # Errors
    /// What the driver returns.
    ///
    /// # Safety
    /// As [`CudaStream::memset`] for the bytes at `from`; those at `to` are writable and nobody
    /// else uses them until the copy is done.
    pub(crate) unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().make_current()?;
        // SAFETY: the caller's promise.
        unsafe { driver!(cuMemcpyDtoHAsync(to.cast(), from, bytes, self.raw())) }
    }

    /// Queues a copy of `bytes` bytes from the device address `from` to the device address `to`.
    ///
    /// # Errors
    /// What the driver returns.
    ///
    /// # Safety
    /// As [`CudaStream::memset`] for both; they do not overlap.
    pub(crate) unsafe fn copy_on_device(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().make_current()?;
        // SAFETY: the caller's promise.
        unsafe { driver!(cuMemcpyDtoDAsync(to, from, bytes, self.raw())) }
    }
}
