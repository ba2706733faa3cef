//! Device memory, pinned host memory, and copies between them.
//!
//! This file uses plain addresses for device memory; the types that callers see keep accesses in bounds. Work on memory is
//! queued in a stream and runs in the stream's order. A length of 0 is never passed to the driver.

use super::context::CudaContext;
use super::error::{CudaError, CudaErrorKind, Result, driver};
use super::kept::Kept;
use super::stream::CudaStream;
use cust::error::CudaError as DriverError;
use cust::memory::{DevicePointer, cuda_free, cuda_free_async, cuda_free_locked};
use cust::sys::{CUcontext, CUdeviceptr};
use std::ffi::{c_int, c_uint, c_void};
use std::fmt;
use std::num::NonZero;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The alignment of every allocated device address in bytes. The driver guarantees 256.
pub(crate) const DEVICE_ALIGN: usize = 256;

/// The address of an allocation of 0 bytes: aligned, not null, never used.
const NO_ADDRESS: NonZero<usize> = NonZero::new(DEVICE_ALIGN).unwrap();

/// `CU_POINTER_ATTRIBUTE_CONTEXT`.
const POINTER_CONTEXT: c_uint = 1;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
const POINTER_MEMORY_TYPE: c_uint = 2;
/// `CU_POINTER_ATTRIBUTE_IS_MANAGED`.
const POINTER_IS_MANAGED: c_uint = 8;
/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
const POINTER_DEVICE_ORDINAL: c_uint = 9;
/// `CU_POINTER_ATTRIBUTE_RANGE_START_ADDR`.
const POINTER_RANGE_START: c_uint = 11;
/// `CU_POINTER_ATTRIBUTE_RANGE_SIZE`.
const POINTER_RANGE_SIZE: c_uint = 12;

/// `CU_MEMORYTYPE_HOST`.
const HOST_MEMORY: c_uint = 1;

/// `CU_MEMHOSTALLOC_PORTABLE`: pinned for every device.
const HOST_PORTABLE: u32 = 1;

/// Device memory, freed in the order of the stream that it was allocated on.
///
/// If another stream uses the memory, that stream must wait for the allocating one first, and the allocating stream must
/// wait for it before the memory is dropped: [`CudaStream::wait_for`].
pub(crate) struct CudaMemory {
    pointer: CUdeviceptr,
    bytes: usize,
    pooled: bool,
    stream: Arc<CudaStream>,
}

impl CudaMemory {
    /// Allocates `bytes` bytes, uninitialized and aligned to [`DEVICE_ALIGN`], for use in `stream` from this point on. With
    /// 0 bytes nothing is allocated, and the address is aligned and not null.
    ///
    /// Freed memory is reused. If there is not enough memory, the pool's unused memory is released and the allocation is
    /// tried once more.
    ///
    /// # Errors
    /// `CudaErrorKind::OutOfMemory`, and other errors of the driver.
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
            // Memory whose freeing is still queued can be released only after that has run.
            stream.synchronize()?;
            context.trim_pool()?;
            attempt = allocate_once(stream, bytes, pooled);
        }
        memory.pointer = attempt?;
        memory.bytes = bytes;
        Ok(memory)
    }

    /// Returns the device address of the first byte.
    pub(crate) fn pointer(&self) -> u64 {
        self.pointer
    }

    /// Returns whether the memory is of the device's pool.
    #[cfg(feature = "candle-cuda")]
    pub(crate) fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Returns the device address of the first byte, and leaves it to the caller to free the memory.
    #[cfg(feature = "candle-cuda")]
    pub(crate) fn into_raw(mut self) -> u64 {
        self.bytes = 0;
        self.pointer
    }

    /// Returns the requested size in bytes.
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
        // SAFETY: the address came from the matching allocation, and nothing else has it any more. With a pool the freeing
        // is queued after the work that uses the memory; `cuMemFree` itself waits for the device.
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

/// Pinned host memory: copies between it and the device are fast and asynchronous. It starts out as zeros.
pub(crate) struct PinnedMemory {
    pointer: NonNull<u8>,
    bytes: usize,
    /// The allocation. `None` if there are no bytes.
    _kept: Option<Kept<NonNull<u8>>>,
}

// SAFETY: owned memory, which any thread may use and free.
unsafe impl Send for PinnedMemory {}
// SAFETY: shared access only reads.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Allocates `bytes` bytes of zeros, aligned to at least 64. With 0 bytes nothing is allocated, and the address is
    /// aligned to 256 and not null.
    ///
    /// # Errors
    /// `CudaErrorKind::OutOfMemory`, and other errors of the driver.
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
        // SAFETY: `bytes` bytes were just allocated there. The driver does not guarantee zeros.
        unsafe { pointer.write_bytes(0, bytes) };
        // SAFETY: the pointer came from `cuMemHostAlloc`, and no copy that uses it is under way: the copy functions require
        // that of their callers.
        let kept = Kept::new(context, pointer, |pointer| unsafe {
            cuda_free_locked(pointer.as_ptr()).map_err(|error| (error, pointer))
        });
        Ok(PinnedMemory {
            pointer,
            bytes,
            _kept: Some(kept),
        })
    }

    /// Returns the address of the first byte.
    pub(crate) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    /// Returns the requested size in bytes.
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

/// What the driver says of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It knows of no memory there. Most host memory is such.
    Nothing,
    /// Host memory that is pinned.
    Host,
    /// Memory of this device, or of another one.
    Device {
        ordinal: usize,
        /// Whether it belongs to a context that is not the device's primary one.
        other_context: bool,
        /// Whether it is managed memory, which the host and all devices can use.
        managed: bool,
        /// The bytes from the address to the end of its allocation, if the driver says so.
        left: Option<u64>,
    },
}

impl CudaContext {
    /// Asks the driver what memory is at `address`.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn look_up(&self, address: u64) -> Result<Found> {
        self.make_current()?;
        let (mut kind, mut managed, mut ordinal): (c_uint, c_uint, c_int) = (0, 0, 0);
        let mut context: CUcontext = ptr::null_mut();
        let (mut start, mut bytes) = (0_u64, 0_usize);
        let mut attributes = [
            POINTER_MEMORY_TYPE,
            POINTER_CONTEXT,
            POINTER_IS_MANAGED,
            POINTER_DEVICE_ORDINAL,
            POINTER_RANGE_START,
            POINTER_RANGE_SIZE,
        ];
        let mut values: [*mut c_void; 6] = [
            (&raw mut kind).cast(),
            (&raw mut context).cast(),
            (&raw mut managed).cast(),
            (&raw mut ordinal).cast(),
            (&raw mut start).cast(),
            (&raw mut bytes).cast(),
        ];
        // SAFETY: the call writes that many attributes, each to a variable of its type. It accepts every address.
        unsafe {
            driver!(cuPointerGetAttributes(
                attributes.len() as c_uint,
                attributes.as_mut_ptr(),
                values.as_mut_ptr(),
                address
            ))
        }?;
        let managed = managed != 0;
        Ok(match kind {
            0 if !managed => Found::Nothing,
            HOST_MEMORY if !managed => Found::Host,
            _ => Found::Device {
                ordinal: usize::try_from(ordinal).unwrap_or_default(),
                other_context: !(managed || context.is_null() || self.is(context)),
                managed,
                left: (bytes > 0)
                    .then(|| start.saturating_add(bytes as u64).saturating_sub(address)),
            },
        })
    }

    /// Returns whether the host memory at `address` is pinned, by this library or any other code. The driver reads such
    /// memory when a copy runs, not when the copy is queued.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn is_pinned(&self, address: *const u8) -> Result<bool> {
        self.make_current()?;
        let mut memory_type: c_uint = 0;
        let mut attribute = POINTER_MEMORY_TYPE;
        let mut value = (&raw mut memory_type).cast::<c_void>();
        // SAFETY: the call writes one attribute, whose value is an unsigned int. It accepts every address. For memory that
        // the driver does not know it leaves 0, and does not fail as `cuPointerGetAttribute` does.
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
    /// Queues a fill: sets `bytes` bytes from the device address `to` on to `value`.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Safety
    /// The bytes must lie in one allocation of this device that is usable at this point of the stream until they are set.
    /// No work in another stream may use them meanwhile.
    pub(crate) unsafe fn memset(&self, to: u64, value: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().make_current()?;
        // SAFETY: by the contract.
        unsafe { driver!(cuMemsetD8Async(to, value, bytes, self.raw())) }
    }

    /// Queues a copy of `bytes` bytes from the host to the device address `to`. The driver reads memory that is not pinned
    /// before this returns.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Safety
    /// As for [`CudaStream::memset`] for the bytes at `to`. The bytes at `from` must be readable. If they are pinned, they
    /// must stay unchanged until the copy is done.
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
        // SAFETY: by the contract.
        unsafe { driver!(cuMemcpyHtoDAsync(to, from.cast(), bytes, self.raw())) }
    }

    /// Queues a copy of `bytes` bytes from the device address `from` to the host. The copy is done once the stream is
    /// synchronized.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Safety
    /// As for [`CudaStream::memset`] for the bytes at `from`. The bytes at `to` must be writable, and nothing else may use
    /// them until the copy is done.
    pub(crate) unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().make_current()?;
        // SAFETY: by the contract.
        unsafe { driver!(cuMemcpyDtoHAsync(to.cast(), from, bytes, self.raw())) }
    }

    /// Queues a copy of `bytes` bytes from the device address `from` to the device address `to`.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Safety
    /// As for [`CudaStream::memset`] for both ranges. They must not overlap.
    pub(crate) unsafe fn copy_on_device(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().make_current()?;
        // SAFETY: by the contract.
        unsafe { driver!(cuMemcpyDtoDAsync(to, from, bytes, self.raw())) }
    }

    /// Queues a copy of `bytes` bytes from the address `from` of this stream's device to the address `to` of another device,
    /// whose context is `peer`. The driver makes the copy directly if the devices have access to each other's memory
    /// ([`CudaContext::connect`]), and otherwise through memory of the host. This function names both contexts, because a
    /// copy that involves a pool's memory must not depend on the current one.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Safety
    /// As for [`CudaStream::memset`] for both ranges, the one at `to` in an allocation of `peer`'s device.
    pub(crate) unsafe fn copy_to_peer(
        &self,
        (to, peer): (u64, &CudaContext),
        from: u64,
        bytes: usize,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().make_current()?;
        let own = self.context().raw();
        // SAFETY: by the contract.
        unsafe {
            driver!(cuMemcpyPeerAsync(
                to,
                peer.raw(),
                from,
                own,
                bytes,
                self.raw()
            ))
        }
    }
}
