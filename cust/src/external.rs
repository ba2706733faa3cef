//! Memory of other APIs, such as Vulkan, imported by file descriptors.

use std::ptr;

use crate::error::{CudaResult, ToResult};
use crate::memory::{DeviceCopy, DevicePointer};
use crate::sys::{self, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, CUDA_EXTERNAL_MEMORY_HANDLE_DESC};

/// Imported memory of another API.
#[derive(Debug)]
#[repr(transparent)]
pub struct ExternalMemory(sys::CUexternalMemory);

impl ExternalMemory {
    /// Imports memory by its file descriptor.
    ///
    /// # Errors
    /// Returns the driver's error. The caller then still owns the descriptor.
    ///
    /// # Safety
    /// The descriptor must be that of shareable memory of `size` bytes. If the import succeeds, the driver owns the
    /// descriptor.
    pub unsafe fn import(fd: i32, size: usize) -> CudaResult<ExternalMemory> {
        let nothing = sys::CUexternalMemoryWin32 {
            handle: ptr::null_mut(),
            name: ptr::null(),
        };
        // The Windows variant initializes every byte of the union, then the descriptor overwrites its own.
        let mut handle = sys::CUexternalMemoryHandle { win32: nothing };
        handle.fd = fd;
        let description = CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
            r#type: sys::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
            handle,
            size: size as u64,
            flags: 0,
            reserved: [0; 16],
        };
        let mut memory = ptr::null_mut();
        // SAFETY: one pointer is valid for a write, the other for a read; the caller guarantees the rest.
        unsafe { sys::cuImportExternalMemory(&mut memory, &description) }.to_result()?;
        Ok(Self(memory))
    }

    /// Imports other memory and releases the current memory.
    ///
    /// # Errors
    /// Returns the driver's error. This value then keeps its memory.
    ///
    /// # Safety
    /// The conditions of [`import`](Self::import) must hold, and nothing may use the memory that is released.
    pub unsafe fn reimport(&mut self, fd: i32, size: usize) -> CudaResult<()> {
        // SAFETY: the caller upholds the contract.
        *self = unsafe { Self::import(fd, size) }?;
        Ok(())
    }

    /// Maps a part of the memory and returns its device address, which is valid for as long as this value lives.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn mapped_buffer<T: DeviceCopy>(
        &self,
        size_in_bytes: usize,
        offset_in_bytes: usize,
    ) -> CudaResult<DevicePointer<T>> {
        let description = CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
            offset: offset_in_bytes as u64,
            size: size_in_bytes as u64,
            flags: 0,
            reserved: [0; 16],
        };
        let mut address = 0;
        // SAFETY: one pointer is valid for a write, the other for a read; the memory is valid.
        unsafe { sys::cuExternalMemoryGetMappedBuffer(&mut address, self.0, &description) }
            .to_result()?;
        Ok(DevicePointer::from_raw(address))
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle. A destructor cannot return an error.
        let _ = unsafe { sys::cuDestroyExternalMemory(self.0) };
    }
}
