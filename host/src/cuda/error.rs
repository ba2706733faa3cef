//! What the driver reports, with the call that it was.

use cust::error::CudaError as DriverError;
use std::fmt;

/// The result of the executor's functions.
pub(crate) type Result<T> = std::result::Result<T, CudaError>;

/// An error of a call of the CUDA driver, in one line, but for a compiler's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CudaError {
    /// The driver function, `"cuLaunchKernel"` for one.
    pub(crate) call: &'static str,
    /// What it returned, or that it is not there.
    pub(crate) error: DriverError,
    /// What is known beyond that: sizes asked for, the compiler's log, what to do.
    more: String,
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
    /// That the driver function `call` ended with `error`.
    pub(crate) fn new(call: &'static str, error: DriverError) -> Self {
        Self {
            call,
            error,
            more: String::new(),
        }
    }

    /// The number of the error: the driver's `CUresult`, or `cust`'s own where there is no driver or no such function.
    pub(crate) fn code(&self) -> u32 {
        self.error.code()
    }

    /// The same with `more` put behind the message.
    pub(crate) fn with(mut self, more: impl fmt::Display) -> Self {
        self.more = format!("{}: {more}", self.more);
        self
    }

    /// What kind of error this is.
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

    /// Whether this says that the machine has no CUDA device, rather than one that cannot be used: there is
    /// no driver, a stub in its place, or no device that the process is shown.
    pub(crate) fn means_no_device(&self) -> bool {
        matches!(
            self.error,
            DriverError::NoDriver | DriverError::StubLibrary | DriverError::NoDevice
        )
    }
}

/// Whether the code says that a kernel failed, with which the context and all work in it end.
pub(crate) fn is_device_fault(code: u32) -> bool {
    matches!(code, 214 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721)
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.error {
            // There was nothing to call.
            DriverError::NoDriver | DriverError::MissingFunction { .. } => ":",
            _ => " failed with",
        };
        write!(f, "{}{verb} {}{}", self.call, self.error, self.more)
    }
}

impl std::error::Error for CudaError {}

/// Puts the name of the driver function behind an error of `cust`: for `map_err`.
pub(super) fn of(call: &'static str) -> impl Fn(DriverError) -> CudaError {
    move |error| CudaError::new(call, error)
}

/// Turns a driver function's result into an error that names the function.
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
