//! Memory of other APIs, such as Vulkan, by file descriptors.

use std::ptr;

use crate::error::{CudaResult, ToResult};
use crate::memory::{DeviceCopy, DevicePointer};
use crate::sys::{self, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, CUDA_EXTERNAL_MEMORY_HANDLE_DESC};

/// Memory of another API.
#[derive(Debug)]
#[repr(transparent)]
pub struct ExternalMemory(sys::CUexternalMemory);

impl ExternalMemory {
    /// Takes memory over by its file descriptor.
    ///
    /// # Errors
    /// What the driver says; the descriptor is then still the caller's.
    ///
    /// # Safety
    /// The descriptor is of memory with so many bytes, made to be shared. Where this succeeds it is the driver's.
    pub unsafe fn import(fd: i32, size: usize) -> CudaResult<ExternalMemory> {
        let nothing = sys::CUexternalMemoryWin32 {
            handle: ptr::null_mut(),
            name: ptr::null(),
        };
        // All bytes first, then the descriptor's.
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
        // SAFETY: a place to write to, a description to read; the rest is the contract.
        unsafe { sys::cuImportExternalMemory(&mut memory, &description) }.to_result()?;
        Ok(Self(memory))
    }

    /// Gives this memory back and takes other memory over in its place.
    ///
    /// # Errors
    /// What the driver says; the memory then stays what it is.
    ///
    /// # Safety
    /// As of [`import`](Self::import), and nothing uses the memory that is given back.
    pub unsafe fn reimport(&mut self, fd: i32, size: usize) -> CudaResult<()> {
        // SAFETY: by the contract.
        *self = unsafe { Self::import(fd, size) }?;
        Ok(())
    }

    /// The address of a part of the memory on the device, good for as long as this value is there.
    ///
    /// # Errors
    /// What the driver says.
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
        // SAFETY: a place to write to, a description to read; the memory is there.
        unsafe { sys::cuExternalMemoryGetMappedBuffer(&mut address, self.0, &description) }
            .to_result()?;
        Ok(DevicePointer::from_raw(address))
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        // SAFETY: this value's own. There is nobody to tell of an error.
        let _ = unsafe { sys::cuDestroyExternalMemory(self.0) };
    }
}
