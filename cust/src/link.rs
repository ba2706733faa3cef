//! The driver's linker.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use crate::error::{CudaError, CudaResult, ToResult};
use crate::image::Image;
use crate::sys::{self, CUjitInputType};

/// Makes one image of machine code of several of PTX, machine code and fat binaries.
#[derive(Debug)]
pub struct Linker {
    raw: sys::CUlinkState,
}

// SAFETY: a linker may be used by any thread, by one at a time.
unsafe impl Send for Linker {}
// SAFETY: nothing can be done with a shared reference.
unsafe impl Sync for Linker {}

impl Linker {
    /// A linker for the current context's device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new() -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: a place to write to; there are no options.
        unsafe { sys::cuLinkCreate(0, ptr::null_mut(), ptr::null_mut(), &mut raw) }.to_result()?;
        Ok(Self { raw })
    }

    /// Adds PTX, which is compiled.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where there is a NUL in the text, and what the driver says.
    pub fn add_ptx(&mut self, ptx: impl AsRef<str>) -> CudaResult<()> {
        let text = ptx.as_ref();
        // The NUL is counted.
        self.add(&Image::text(text)?, text.len() + 1, sys::CU_JIT_INPUT_PTX)
    }

    /// Adds machine code.
    ///
    /// # Errors
    /// [`CudaError::InvalidImage`] where it is none or was cut off, and what the driver says.
    pub fn add_cubin(&mut self, cubin: impl AsRef<[u8]>) -> CudaResult<()> {
        let bytes = cubin.as_ref();
        self.add(&Image::cubin(bytes)?, bytes.len(), sys::CU_JIT_INPUT_CUBIN)
    }

    /// Adds a fat binary.
    ///
    /// # Errors
    /// [`CudaError::InvalidImage`] where it was cut off, and what the driver says.
    pub fn add_fatbin(&mut self, fatbin: impl AsRef<[u8]>) -> CudaResult<()> {
        let bytes = fatbin.as_ref();
        self.add(
            &Image::new(bytes)?,
            bytes.len(),
            sys::CU_JIT_INPUT_FATBINARY,
        )
    }

    fn add(&mut self, image: &Image, bytes: usize, kind: CUjitInputType) -> CudaResult<()> {
        // SAFETY: so many bytes are readable, and the driver keeps no pointer; the name is a C string; there are no
        // options.
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

    /// Links, and gives the machine code, for [`Module::from_cubin`](crate::module::Module::from_cubin).
    ///
    /// # Errors
    /// What the driver says, for instance that a name is defined nowhere.
    pub fn complete(self) -> CudaResult<Vec<u8>> {
        let mut cubin: *mut c_void = ptr::null_mut();
        let mut bytes = 0;
        // SAFETY: places to write to; the linker is there.
        unsafe { sys::cuLinkComplete(self.raw, &mut cubin, &mut bytes) }.to_result()?;
        if cubin.is_null() {
            return Err(CudaError::UnexpectedValue);
        }
        // SAFETY: the driver keeps so many bytes there until the linker is destroyed, at the end of this function.
        Ok(unsafe { slice::from_raw_parts(cubin.cast::<u8>(), bytes) }.to_vec())
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: this value's own. There is nobody to tell of an error.
        let _ = unsafe { sys::cuLinkDestroy(self.raw) };
    }
}
