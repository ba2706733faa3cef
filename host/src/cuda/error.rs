//! What the driver reports, as a plain value.

use super::{door, driver};
use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr;

/// The result of the executor's functions.
pub(crate) type Result<T> = std::result::Result<T, CudaError>;

/// An error that a CUDA driver function returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CudaError {
    /// The driver function, `"cuLaunchKernel"` for one.
    pub(crate) call: &'static str,
    /// The driver's code, a `CUresult`.
    pub(crate) code: u32,
    /// The code's name, `"CUDA_ERROR_OUT_OF_MEMORY"` for one.
    pub(crate) name: String,
    /// What happened: the driver's own text, then what is known beyond it (sizes asked for, the
    /// compiler's log, what to do). One line, but for a log.
    pub(crate) message: String,
}

/// What kind of thing went wrong, as far as callers act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CudaErrorKind {
    /// No driver library could be opened.
    NoDriver,
    /// There is a driver library, but no device, or not the one asked for, or it may not be used.
    NoDevice,
    /// Not enough device or pinned host memory.
    OutOfMemory,
    /// The driver could not compile or load a module.
    Module,
    /// A launch asked for more threads, registers or shared memory than there are.
    LaunchLimits,
    /// A kernel failed on the device (an address out of bounds, a trap, ...). The device's context
    /// is unusable for the rest of the process.
    DeviceFault,
    /// Anything else.
    Other,
}

impl CudaError {
    /// The error for `code`, which the driver function `call` returned; asks the driver for the
    /// texts.
    pub(crate) fn new(call: &'static str, code: u32) -> Self {
        let name = text(code, driver::cuGetErrorName)
            .or_else(|| fallback(code).map(|(name, _)| name.to_owned()))
            .unwrap_or_else(|| format!("CUDA error {code}"));
        let message = match reason_of_the_door(call, code) {
            Some(reason) => reason,
            None => text(code, driver::cuGetErrorString)
                .or_else(|| fallback(code).map(|(_, text)| text.to_owned()))
                .unwrap_or_else(|| "the driver gives no text for this error".to_owned()),
        };
        Self {
            call,
            code,
            name,
            message,
        }
    }

    /// The same with `more` put behind the message.
    pub(crate) fn with(mut self, more: impl fmt::Display) -> Self {
        self.message = format!("{}: {more}", self.message);
        self
    }

    /// What kind of error this is.
    pub(crate) fn kind(&self) -> CudaErrorKind {
        match self.code {
            door::NO_DRIVER if door::library().is_err() => CudaErrorKind::NoDriver,
            34 | 46 | 100..=102 | 802..=804 => CudaErrorKind::NoDevice,
            driver::OUT_OF_MEMORY => CudaErrorKind::OutOfMemory,
            200 | 209 | 218 | 220..=223 | 300..=303 => CudaErrorKind::Module,
            701 | 720 => CudaErrorKind::LaunchLimits,
            driver::INVALID_VALUE if self.call == "cuLaunchKernel" => CudaErrorKind::LaunchLimits,
            code if is_device_fault(code) => CudaErrorKind::DeviceFault,
            _ => CudaErrorKind::Other,
        }
    }

    /// Whether this says that the machine has no CUDA device, rather than one that cannot be used: there is
    /// no driver, a stub in its place (34), or no device that the process is shown (100).
    pub(crate) fn means_no_device(&self) -> bool {
        self.kind() == CudaErrorKind::NoDriver || matches!(self.code, 34 | 100)
    }
}

/// Whether the code says that a kernel failed, with which the context and all work in it end.
pub(crate) fn is_device_fault(code: u32) -> bool {
    matches!(code, 214 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721)
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} failed with {} ({}): {}",
            self.call, self.name, self.code, self.message
        )
    }
}

impl std::error::Error for CudaError {}

/// Why the call failed, where the reason is that the driver or the function is not there.
fn reason_of_the_door(call: &'static str, code: u32) -> Option<String> {
    match (code, door::library()) {
        (door::NO_DRIVER, Err(reason)) => {
            Some(format!("no NVIDIA driver could be opened ({reason})"))
        }
        (door::NO_FUNCTION, Ok(path)) if !door::has_function(call) => Some(format!(
            "the driver {path} lacks {call}: a newer driver is required"
        )),
        _ => None,
    }
}

/// Asks the driver for a text about `code`.
fn text(
    code: u32,
    function: unsafe extern "C" fn(u32, *mut *const c_char) -> u32,
) -> Option<String> {
    let mut text: *const c_char = ptr::null();
    // SAFETY: `function` is `cuGetErrorName` or `cuGetErrorString`: it takes any code and writes
    // one pointer.
    let result = unsafe { function(code, &mut text) };
    if result != 0 || text.is_null() {
        return None;
    }
    // SAFETY: on success the pointer is to a C string that lives as long as the driver, which is
    // never unloaded.
    Some(
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    )
}

/// Name and text of the codes that can come when there is no driver to ask.
fn fallback(code: u32) -> Option<(&'static str, &'static str)> {
    Some(match code {
        driver::INVALID_VALUE => ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
        driver::OUT_OF_MEMORY => ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
        3 => ("CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
        100 => ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
        101 => ("CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
        218 => ("CUDA_ERROR_INVALID_PTX", "the PTX could not be compiled"),
        500 => ("CUDA_ERROR_NOT_FOUND", "named symbol not found"),
        _ => return None,
    })
}
