//! The driver's linker.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use crate::error::{CudaError, CudaResult, ToResult};
use crate::image::Image;
use crate::sys::{self, CUjitInputType};

/// A linker, which makes one image of machine code from PTX, machine code and fat binaries.
#[derive(Debug)]
pub struct Linker {
    raw: sys::CUlinkState,
}

// SAFETY: any thread may use a linker, one thread at a time.
unsafe impl Send for Linker {}
// SAFETY: a shared reference allows no operation.
unsafe impl Sync for Linker {}

impl Linker {
    /// Creates a linker for the current context's device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new() -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is valid for a write; there are no options.
        unsafe { sys::cuLinkCreate(0, ptr::null_mut(), ptr::null_mut(), &mut raw) }.to_result()?;
        Ok(Self { raw })
    }

    /// Adds PTX, which is compiled.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the text contains a NUL, or the driver's error.
    pub fn add_ptx(&mut self, ptx: impl AsRef<str>) -> CudaResult<()> {
        let text = ptx.as_ref();
        // The size includes the NUL.
        self.add(&Image::text(text)?, text.len() + 1, sys::CU_JIT_INPUT_PTX)
    }

    /// Adds machine code.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidImage`] if the bytes are no machine code or are truncated, or the driver's error.
    pub fn add_cubin(&mut self, cubin: impl AsRef<[u8]>) -> CudaResult<()> {
        let bytes = cubin.as_ref();
        self.add(&Image::cubin(bytes)?, bytes.len(), sys::CU_JIT_INPUT_CUBIN)
    }

    /// Adds a fat binary.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidImage`] if the fat binary is truncated, or the driver's error.
    pub fn add_fatbin(&mut self, fatbin: impl AsRef<[u8]>) -> CudaResult<()> {
        let bytes = fatbin.as_ref();
        self.add(
            &Image::new(bytes)?,
            bytes.len(),
            sys::CU_JIT_INPUT_FATBINARY,
        )
    }

    fn add(&mut self, image: &Image, bytes: usize, kind: CUjitInputType) -> CudaResult<()> {
        // SAFETY: the image is valid for reads of `bytes` bytes, and the driver keeps no pointer; the name is a C string;
        // there are no options.
        unsafe {
            sys::cuLinkAddData(
                self.raw,
                kind,
                image.as_ptr().cast_mut().cast(),
                bytes,
                c"unnamed".as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        }
        .to_result()
    }

    /// Links, and returns the machine code, for [`Module::from_cubin`](crate::module::Module::from_cubin).
    ///
    /// # Errors
    /// Returns the driver's error, for instance if a symbol is not defined.
    pub fn complete(self) -> CudaResult<Vec<u8>> {
        let mut cubin: *mut c_void = ptr::null_mut();
        let mut bytes = 0;
        // SAFETY: the pointers are valid for writes; the linker is valid.
        unsafe { sys::cuLinkComplete(self.raw, &mut cubin, &mut bytes) }.to_result()?;
        if cubin.is_null() {
            return Err(CudaError::UnexpectedValue);
        }
        // SAFETY: the driver keeps `bytes` bytes there until the linker is destroyed, at the end of this function.
        Ok(unsafe { slice::from_raw_parts(cubin.cast::<u8>(), bytes) }.to_vec())
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle. A destructor cannot return an error.
        let _ = unsafe { sys::cuLinkDestroy(self.raw) };
    }
}
