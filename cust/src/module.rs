//! Modules: device code with its kernels and global variables.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::path::Path;
use std::ptr;

use crate::error::{CudaError, CudaResult, DropResult, ToResult};
use crate::image::Image;
use crate::memory::{CopyDestination, DeviceCopy, DevicePointer, memcpy_dtoh, memcpy_htod};
use crate::sys::{self, CUjit_option, CUjit_target};

/// Device code that is loaded into a context.
#[derive(Debug)]
pub struct Module {
    inner: sys::CUmodule,
}

// SAFETY: any thread may use a module.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// The optimization level of the driver's compiler.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptLevel {
    /// The least optimization.
    O0 = 0,
    /// The second lowest level.
    O1 = 1,
    /// The middle level.
    O2 = 2,
    /// The second highest level.
    O3 = 3,
    /// The highest level, and the default.
    O4 = 4,
}

/// The code to use when an image has no machine code for exactly this device.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitFallback {
    /// PTX, compiled by the driver.
    PreferPtx = 0,
    /// Machine code of another architecture that the device can run.
    PreferCompatibleBinary = 1,
}

/// The compute capability that the driver's compiler targets.
pub type JitTarget = CUjit_target;

macro_rules! targets {
    ($($number:literal: $name:ident, $raw:ident;)*) => {
        #[allow(non_upper_case_globals)]
        impl CUjit_target {
            $(
                #[doc = concat!("Compute capability times ten: ", stringify!($number), ".")]
                pub const $name: Self = Self($number);
                #[doc = concat!("The driver's name of `", stringify!($name), "`.")]
                pub const $raw: Self = Self($number);
            )*
        }
    };
}

targets! {
    30: Compute30, CU_TARGET_COMPUTE_30;
    32: Compute32, CU_TARGET_COMPUTE_32;
    35: Compute35, CU_TARGET_COMPUTE_35;
    37: Compute37, CU_TARGET_COMPUTE_37;
    50: Compute50, CU_TARGET_COMPUTE_50;
    52: Compute52, CU_TARGET_COMPUTE_52;
    53: Compute53, CU_TARGET_COMPUTE_53;
    60: Compute60, CU_TARGET_COMPUTE_60;
    61: Compute61, CU_TARGET_COMPUTE_61;
    62: Compute62, CU_TARGET_COMPUTE_62;
    70: Compute70, CU_TARGET_COMPUTE_70;
    72: Compute72, CU_TARGET_COMPUTE_72;
    75: Compute75, CU_TARGET_COMPUTE_75;
    80: Compute80, CU_TARGET_COMPUTE_80;
    86: Compute86, CU_TARGET_COMPUTE_86;
    87: Compute87, CU_TARGET_COMPUTE_87;
    89: Compute89, CU_TARGET_COMPUTE_89;
    90: Compute90, CU_TARGET_COMPUTE_90;
    100: Compute100, CU_TARGET_COMPUTE_100;
    103: Compute103, CU_TARGET_COMPUTE_103;
    120: Compute120, CU_TARGET_COMPUTE_120;
}

/// An option of the driver's compiler.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleJitOption {
    /// The maximum number of registers of a thread.
    MaxRegisters(u32),
    /// The optimization level.
    OptLevel(OptLevel),
    /// Target the current context's device.
    DetermineTargetFromContext,
    /// The compute capability to target.
    Target(CUjit_target),
    /// The code to use when there is no machine code for exactly this device.
    Fallback(JitFallback),
    /// Whether to generate debug information.
    GenerateDebugInfo(bool),
    /// Whether to generate line number information.
    GenerateLineInfo(bool),
}

impl ModuleJitOption {
    /// Converts options to the driver's form: option numbers, and values that are passed as pointers.
    pub fn into_raw(opts: &[Self]) -> (Vec<CUjit_option>, Vec<*mut c_void>) {
        let pair = |option: &Self| match *option {
            Self::MaxRegisters(count) => (sys::CU_JIT_MAX_REGISTERS, count),
            Self::OptLevel(level) => (sys::CU_JIT_OPTIMIZATION_LEVEL, level as u32),
            Self::DetermineTargetFromContext => (sys::CU_JIT_TARGET_FROM_CUCONTEXT, 0),
            Self::Target(target) => (sys::CU_JIT_TARGET, target.0),
            Self::Fallback(fallback) => (sys::CU_JIT_FALLBACK_STRATEGY, fallback as u32),
            Self::GenerateDebugInfo(whether) => (sys::CU_JIT_GENERATE_DEBUG_INFO, whether.into()),
            Self::GenerateLineInfo(whether) => (sys::CU_JIT_GENERATE_LINE_INFO, whether.into()),
        };
        opts.iter()
            .map(pair)
            .map(|(option, value)| (option, raw_value(value)))
            .unzip()
    }
}

fn raw_value(value: u32) -> *mut c_void {
    ptr::without_provenance_mut(value as usize)
}

/// The messages of the driver's compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JitLog {
    /// The information log.
    pub info: String,
    /// The error log.
    pub error: String,
}

/// The buffer size of each log of a [`JitLog`]. The driver truncates a longer log.
const LOG_BYTES: usize = 16 * 1024;

impl Module {
    /// Loads a module from a file of PTX, machine code, or a fat binary.
    ///
    /// # Errors
    /// Returns [`CudaError::FileNotFound`] or [`CudaError::OperatingSystemError`] if the file cannot be read,
    /// [`CudaError::InvalidImage`] if the image is truncated, or the driver's error.
    pub fn from_file<P: AsRef<Path>>(path: P) -> CudaResult<Module> {
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CudaError::FileNotFound,
            _ => CudaError::OperatingSystemError,
        })?;
        Self::load(&Image::new(&bytes)?, &[])
    }

    /// Loads a module from a fat binary. Machine code and PTX are accepted too.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidImage`] if the image is truncated, or the driver's error.
    pub fn from_fatbin<T: AsRef<[u8]>>(
        bytes: T,
        options: &[ModuleJitOption],
    ) -> CudaResult<Module> {
        Self::load(&Image::new(bytes.as_ref())?, options)
    }

    /// Loads a module from machine code (a cubin).
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidImage`] if the bytes are no machine code or are truncated, or the driver's error.
    pub fn from_cubin<T: AsRef<[u8]>>(bytes: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        Self::load(&Image::cubin(bytes.as_ref())?, options)
    }

    /// Loads a module from PTX in a C string.
    ///
    /// # Errors
    /// Returns the driver's error, for instance [`CudaError::InvalidPtx`].
    pub fn from_ptx_cstr(cstr: &CStr, options: &[ModuleJitOption]) -> CudaResult<Module> {
        Self::load(&Image::new(cstr.to_bytes())?, options)
    }

    /// Loads a module from PTX.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the text contains a NUL, or the driver's error, for instance
    /// [`CudaError::InvalidPtx`].
    pub fn from_ptx<T: AsRef<str>>(string: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        Self::load(&Image::text(string.as_ref())?, options)
    }

    /// Loads a module from PTX and returns the result with the messages of the driver's compiler.
    pub fn from_ptx_with_log<T: AsRef<str>>(
        string: T,
        options: &[ModuleJitOption],
    ) -> (CudaResult<Module>, JitLog) {
        let image = match Image::text(string.as_ref()) {
            Ok(image) => image,
            Err(error) => return (Err(error), JitLog::default()),
        };
        let (mut info, mut error) = (vec![0_u8; LOG_BYTES], vec![0_u8; LOG_BYTES]);
        let (mut names, mut values) = ModuleJitOption::into_raw(options);
        names.extend([
            sys::CU_JIT_INFO_LOG_BUFFER,
            sys::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            sys::CU_JIT_ERROR_LOG_BUFFER,
            sys::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ]);
        // The last byte of each stays 0.
        let size = raw_value(LOG_BYTES as u32 - 1);
        values.extend([
            info.as_mut_ptr().cast(),
            size,
            error.as_mut_ptr().cast(),
            size,
        ]);
        // SAFETY: the buffers are valid for writes of the stated sizes and outlive the call.
        let module = unsafe { Self::load_raw(&image, &mut names, &mut values) };
        let text = |bytes: &[u8]| {
            let length = bytes
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..length])
                .trim_end()
                .to_owned()
        };
        (
            module,
            JitLog {
                info: text(&info),
                error: text(&error),
            },
        )
    }

    /// Loads a module from PTX.
    ///
    /// # Errors
    /// Returns the errors of [`from_ptx`](Self::from_ptx).
    #[deprecated(since = "0.1.0", note = "use from_ptx, with no options")]
    #[allow(clippy::should_implement_trait)]
    pub fn from_str<T: AsRef<str>>(string: T) -> CudaResult<Module> {
        Self::from_ptx(string, &[])
    }

    /// Loads a module from PTX in a C string.
    ///
    /// # Errors
    /// Returns the errors of [`from_ptx_cstr`](Self::from_ptx_cstr).
    #[deprecated(since = "0.1.0", note = "use from_ptx_cstr, with no options")]
    pub fn load_from_string(image: &CStr) -> CudaResult<Module> {
        Self::from_ptx_cstr(image, &[])
    }

    fn load(image: &Image, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let (mut names, mut values) = ModuleJitOption::into_raw(options);
        // SAFETY: the values are numbers, not pointers.
        unsafe { Self::load_raw(image, &mut names, &mut values) }
    }

    /// # Safety
    /// Each value must be what its option requires, and buffers must be valid for writes.
    unsafe fn load_raw(
        image: &Image,
        names: &mut [CUjit_option],
        values: &mut [*mut c_void],
    ) -> CudaResult<Module> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is valid for a write, the image is complete, and there are as many names as values; the
        // caller guarantees the rest.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &mut inner,
                image.as_ptr().cast(),
                names.len() as u32,
                names.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        code.to_result()?;
        Ok(Self { inner })
    }

    /// Returns a global variable of the module.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the variable does not have the size of a `T`, or the driver's error, for
    /// instance if the module has no variable of this name.
    pub fn get_global<'a, T: DeviceCopy>(&'a self, name: &CStr) -> CudaResult<Symbol<'a, T>> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the pointers are valid for writes; the name is a C string; the module is valid.
        let code =
            unsafe { sys::cuModuleGetGlobal(&mut address, &mut bytes, self.inner, name.as_ptr()) };
        code.to_result()?;
        if bytes != mem::size_of::<T>() {
            return Err(CudaError::InvalidValue);
        }
        Ok(Symbol {
            ptr: DevicePointer::from_raw(address),
            module: PhantomData,
        })
    }

    /// Returns the driver's handle.
    pub fn as_inner(&self) -> sys::CUmodule {
        self.inner
    }

    /// Unloads the module and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the module.
    pub fn drop(module: Module) -> DropResult<Module> {
        // SAFETY: this value owns the handle, and is forgotten once the module is unloaded.
        match unsafe { sys::cuModuleUnload(module.inner) }.to_result() {
            Ok(()) => {
                mem::forget(module);
                Ok(())
            }
            Err(error) => Err((error, module)),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle. A destructor cannot return an error.
        let _ = unsafe { sys::cuModuleUnload(self.inner) };
    }
}

/// A global variable of a module.
#[derive(Debug)]
pub struct Symbol<'a, T: DeviceCopy> {
    ptr: DevicePointer<T>,
    module: PhantomData<&'a Module>,
}

impl<T: DeviceCopy> Symbol<'_, T> {
    /// Returns the device pointer to the variable.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.ptr
    }
}

impl<T: DeviceCopy> crate::private::Sealed for Symbol<'_, T> {}

impl<T: DeviceCopy> fmt::Pointer for Symbol<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.ptr, f)
    }
}

impl<T: DeviceCopy> CopyDestination<T> for Symbol<'_, T> {
    fn copy_from(&mut self, val: &T) -> CudaResult<()> {
        // SAFETY: the variable has the size of a `T`.
        unsafe {
            memcpy_htod(
                self.ptr.as_raw(),
                ptr::from_ref(val).cast(),
                mem::size_of::<T>(),
            )
        }
    }

    fn copy_to(&self, val: &mut T) -> CudaResult<()> {
        // SAFETY: the variable has the size of a `T`.
        unsafe {
            memcpy_dtoh(
                ptr::from_mut(val).cast(),
                self.ptr.as_raw(),
                mem::size_of::<T>(),
            )
        }
    }
}
