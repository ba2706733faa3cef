//! Errors of the driver, with the call that failed.

use cust::error::CudaError as DriverError;
use std::fmt;

/// The result of the executor's functions.
pub(crate) type Result<T> = std::result::Result<T, CudaError>;

/// An error of a call to the CUDA driver. Its message is one line, unless it has a compiler's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CudaError {
    /// The driver function, such as `"cuLaunchKernel"`.
    pub(crate) call: &'static str,
    /// The driver's error, or that the function is missing.
    pub(crate) error: DriverError,
    /// Details: requested sizes, the compiler's log, what to do.
    more: String,
}

/// The kinds of errors that callers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CudaErrorKind {
    /// No driver library could be opened.
    NoDriver,
    /// There is a driver library, but no device, no such device, or no permission to use it.
    NoDevice,
    /// There is not enough device memory or pinned host memory.
    OutOfMemory,
    /// The driver could not compile or load a module.
    Module,
    /// A launch needs more threads, registers or shared memory than are available.
    LaunchLimits,
    /// A kernel failed on the device (an address out of bounds, a trap, ...). The device's context is unusable for the rest
    /// of the process.
    DeviceFault,
    /// All other errors.
    Other,
}

impl CudaError {
    /// Makes the error that the driver function `call` failed with `error`.
    pub(crate) fn new(call: &'static str, error: DriverError) -> Self {
        Self {
            call,
            error,
            more: String::new(),
        }
    }

    /// Returns the error's number: the driver's `CUresult`, or `cust`'s own number if there is no driver or no such
    /// function.
    pub(crate) fn code(&self) -> u32 {
        self.error.code()
    }

    /// Returns the same error with `more` after the message.
    pub(crate) fn with(mut self, more: impl fmt::Display) -> Self {
        self.more = format!("{}: {more}", self.more);
        self
    }

    /// Returns the kind of the error.
    pub(crate) fn kind(&self) -> CudaErrorKind {
        match self.error {
            DriverError::NoDriver => return CudaErrorKind::NoDriver,
            DriverError::OutOfMemory => return CudaErrorKind::OutOfMemory,
            DriverError::InvalidValue if self.call == "cuLaunchKernel" => {
                return CudaErrorKind::LaunchLimits;
            }
            _ => {}
        }
        match self.code() {
            34 | 46 | 100..=102 | 802..=804 => CudaErrorKind::NoDevice,
            200 | 209 | 218 | 220..=223 | 300..=303 => CudaErrorKind::Module,
            701 | 720 => CudaErrorKind::LaunchLimits,
            code if is_device_fault(code) => CudaErrorKind::DeviceFault,
            _ => CudaErrorKind::Other,
        }
    }

    /// Returns whether the error means that the machine has no CUDA device, rather than one that cannot be used: there is
    /// no driver, or a stub in its place, or no device that is visible to the process.
    pub(crate) fn means_no_device(&self) -> bool {
        matches!(
            self.error,
            DriverError::NoDriver | DriverError::StubLibrary | DriverError::NoDevice
        )
    }
}

/// Returns whether the code says that a kernel failed, which ends the context and all work in it.
pub(crate) fn is_device_fault(code: u32) -> bool {
    matches!(code, 214 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721)
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.error {
            // No call was made.
            DriverError::NoDriver | DriverError::MissingFunction { .. } => ":",
            _ => " failed with",
        };
        write!(f, "{}{verb} {}{}", self.call, self.error, self.more)
    }
}

impl std::error::Error for CudaError {}

/// Adds the name of the driver function to an error of `cust`: for `map_err`.
pub(super) fn of(call: &'static str) -> impl Fn(DriverError) -> CudaError {
    move |error| CudaError::new(call, error)
}

/// Converts a driver function's result to an error that names the function.
#[inline]
pub(super) fn check(call: &'static str, code: cust::sys::CUresult) -> Result<()> {
    if code == cust::sys::CUDA_SUCCESS {
        Ok(())
    } else {
        Err(CudaError::new(call, DriverError::from_code(code)))
    }
}

/// Calls a function of `cust::sys`, inside `unsafe`, and checks its result: `driver!(cuMemAlloc(&mut address, bytes))?`.
macro_rules! driver {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::cuda::error::check(stringify!($name), cust::sys::$name($($argument),*))
    };
}
pub(super) use driver;
