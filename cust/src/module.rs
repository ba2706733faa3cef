//! Modules: code for a device, with its kernels and global variables.

use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::path::Path;
use std::ptr;

use crate::error::{CudaError, CudaResult, DropResult, ToResult};
use crate::function::Function;
use crate::image::Image;
use crate::memory::{CopyDestination, DeviceCopy, DevicePointer, memcpy_dtoh, memcpy_htod};
use crate::sys::{self, CUjit_option, CUjit_target};

/// Code that was loaded into a context.
#[derive(Debug)]
pub struct Module {
    inner: sys::CUmodule,
}

// SAFETY: a module may be used by any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// How much the driver's compiler does.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptLevel {
    /// As little as possible.
    O0 = 0,
    /// A little.
    O1 = 1,
    /// More.
    O2 = 2,
    /// Still more.
    O3 = 3,
    /// All, as without the option.
    O4 = 4,
}

/// What is taken where an image has no machine code for the device.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitFallback {
    /// PTX, compiled by the driver.
    PreferPtx = 0,
    /// Machine code of another architecture that the device can run.
    PreferCompatibleBinary = 1,
}

/// The compute capability that the driver's compiler compiles for.
pub type JitTarget = CUjit_target;

macro_rules! targets {
    ($($number:literal: $name:ident, $raw:ident;)*) => {
        #[allow(non_upper_case_globals)]
        impl CUjit_target {
            $(
                #[doc = concat!("Ten times the compute capability: ", stringify!($number), ".")]
                pub const $name: Self = Self($number);
                #[doc = concat!("The same as `", stringify!($name), "`, by the driver's name.")]
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

/// What the driver's compiler is told.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleJitOption {
    /// The most registers of a thread.
    MaxRegisters(u32),
    /// How much it does.
    OptLevel(OptLevel),
    /// To compile for the current context's device.
    DetermineTargetFromContext,
    /// What to compile for.
    Target(CUjit_target),
    /// What is taken where there is no machine code for the device.
    Fallback(JitFallback),
    /// Whether there is information for a debugger.
    GenerateDebugInfo(bool),
    /// Whether there is information about source lines.
    GenerateLineInfo(bool),
}

impl ModuleJitOption {
    /// The options as the driver takes them: numbers, and values that stand in the place of pointers.
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

/// What the driver's compiler writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JitLog {
    /// Remarks.
    pub info: String,
    /// What is wrong.
    pub error: String,
}

/// Room for each text of a [`JitLog`]; the driver cuts off what is longer.
const LOG_BYTES: usize = 16 * 1024;

impl Module {
    /// Loads a file of PTX, machine code, or a fat binary.
    ///
    /// # Errors
    /// [`CudaError::FileNotFound`] and [`CudaError::OperatingSystemError`] where the file cannot be read,
    /// [`CudaError::InvalidImage`] where it was cut off, and what the driver says.
    pub fn from_file<P: AsRef<Path>>(path: P) -> CudaResult<Module> {
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CudaError::FileNotFound,
            _ => CudaError::OperatingSystemError,
        })?;
        Self::load(&Image::new(&bytes)?, &[])
    }

    /// Loads a fat binary, or what else the driver can load: machine code or PTX.
    ///
    /// # Errors
    /// [`CudaError::InvalidImage`] where it was cut off, and what the driver says.
    pub fn from_fatbin<T: AsRef<[u8]>>(
        bytes: T,
        options: &[ModuleJitOption],
    ) -> CudaResult<Module> {
        Self::load(&Image::new(bytes.as_ref())?, options)
    }

    /// Loads machine code.
    ///
    /// # Errors
    /// [`CudaError::InvalidImage`] where it is none or was cut off, and what the driver says.
    pub fn from_cubin<T: AsRef<[u8]>>(bytes: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        Self::load(&Image::cubin(bytes.as_ref())?, options)
    }

    /// Loads PTX from a C string.
    ///
    /// # Errors
    /// What the driver says, for instance [`CudaError::InvalidPtx`].
    pub fn from_ptx_cstr(cstr: &CStr, options: &[ModuleJitOption]) -> CudaResult<Module> {
        Self::load(&Image::new(cstr.to_bytes())?, options)
    }

    /// Loads PTX.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where there is a NUL in the text, and what the driver says, for instance
    /// [`CudaError::InvalidPtx`].
    pub fn from_ptx<T: AsRef<str>>(string: T, options: &[ModuleJitOption]) -> CudaResult<Module> {
        Self::load(&Image::text(string.as_ref())?, options)
    }

    /// Loads PTX, and gives what the driver's compiler writes about it, whatever comes of it.
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
        // SAFETY: the buffers are writable for as many bytes as is said, and outlive the call.
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

    /// Loads PTX.
    ///
    /// # Errors
    /// As of [`from_ptx`](Self::from_ptx).
    #[deprecated(since = "0.1.0", note = "use from_ptx, with no options")]
    #[allow(clippy::should_implement_trait)]
    pub fn from_str<T: AsRef<str>>(string: T) -> CudaResult<Module> {
        Self::from_ptx(string, &[])
    }

    /// Loads PTX from a C string.
    ///
    /// # Errors
    /// As of [`from_ptx_cstr`](Self::from_ptx_cstr).
    #[deprecated(since = "0.1.0", note = "use from_ptx_cstr, with no options")]
    pub fn load_from_string(image: &CStr) -> CudaResult<Module> {
        Self::from_ptx_cstr(image, &[])
    }

    fn load(image: &Image, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let (mut names, mut values) = ModuleJitOption::into_raw(options);
        // SAFETY: none of these values is a pointer.
        unsafe { Self::load_raw(image, &mut names, &mut values) }
    }

    /// # Safety
    /// The values are what their options say: where one is a buffer, it is writable.
    unsafe fn load_raw(
        image: &Image,
        names: &mut [CUjit_option],
        values: &mut [*mut c_void],
    ) -> CudaResult<Module> {
        let mut inner = ptr::null_mut();
        // SAFETY: a place to write to, a whole image, as many names as values; the rest is the contract.
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

    /// A global variable of the module.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where the variable is not as large as a `T`, and what the driver says, for instance
    /// that there is none of this name.
    pub fn get_global<'a, T: DeviceCopy>(&'a self, name: &CStr) -> CudaResult<Symbol<'a, T>> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: places to write to, a C string; the module is there.
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

    /// A kernel of the module.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where there is a NUL in the name, and what the driver says, for instance that there is
    /// none of this name.
    pub fn get_function<T: AsRef<str>>(&self, name: T) -> CudaResult<Function<'_>> {
        let name = CString::new(name.as_ref()).map_err(|_| CudaError::InvalidValue)?;
        let mut function = ptr::null_mut();
        // SAFETY: a place to write to, a C string; the module is there.
        let code = unsafe { sys::cuModuleGetFunction(&mut function, self.inner, name.as_ptr()) };
        code.to_result()?;
        Ok(Function::new(function, self))
    }

    /// The driver's handle.
    pub fn as_inner(&self) -> sys::CUmodule {
        self.inner
    }

    /// Unloads the module, as dropping it does, and says what came of it.
    ///
    /// # Errors
    /// What the driver says, and the module.
    pub fn drop(module: Module) -> DropResult<Module> {
        // SAFETY: this value's own, unloaded here and not once more.
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
        // SAFETY: this value's own. There is nobody to tell of an error.
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
    /// The variable's address on the device.
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
        // SAFETY: the variable is as large as a `T`.
        unsafe {
            memcpy_htod(
                self.ptr.as_raw(),
                ptr::from_ref(val).cast(),
                mem::size_of::<T>(),
            )
        }
    }

    fn copy_to(&self, val: &mut T) -> CudaResult<()> {
        // SAFETY: the variable is as large as a `T`.
        unsafe {
            memcpy_dtoh(
                ptr::from_mut(val).cast(),
                self.ptr.as_raw(),
                mem::size_of::<T>(),
            )
        }
    }
}
