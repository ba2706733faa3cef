//! The library's errors: one line each, with the operation, what was required and what was given.

use crate::device::DeviceKind;

/// What went wrong.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that the operation cannot take.
    #[error("{operation}: {required} required, {given} given")]
    Invalid {
        /// The operation.
        operation: &'static str,
        /// What it requires.
        required: String,
        /// What it was given.
        given: String,
    },
    /// A variant that the family does not have.
    #[error("{family}: no variant is called `{given}`; there are {known}")]
    UnknownVariant {
        /// The family.
        family: &'static str,
        /// The name given.
        given: String,
        /// The names there are.
        known: String,
    },
    /// A variant that was asked for and cannot do this problem.
    #[error("{family}: the variant `{variant}` cannot do this: {reason}")]
    NotEligible {
        /// The family.
        family: &'static str,
        /// The variant.
        variant: &'static str,
        /// Why it cannot.
        reason: String,
    },
    /// Two things that live on different devices.
    #[error("{operation}: all arguments must be on one device, given {first} and {second}")]
    DeviceMismatch {
        /// The operation.
        operation: &'static str,
        /// Where one is.
        first: DeviceKind,
        /// Where the other is.
        second: DeviceKind,
    },
    /// There is no such device, or it cannot be used.
    #[error("device {device}: {reason}")]
    NoDevice {
        /// The device asked for.
        device: DeviceKind,
        /// Why not.
        reason: String,
    },
    /// Memory that could not be had.
    #[error("{operation}: {requested} bytes of memory on {device} required, {available}")]
    OutOfMemory {
        /// The operation.
        operation: &'static str,
        /// The device.
        device: DeviceKind,
        /// The bytes asked for.
        requested: u64,
        /// What there is, in words.
        available: String,
    },
    /// A kernel that the CPU executor stopped, or would not launch.
    #[error("{0}")]
    Launch(#[from] cuda_std::cpu::LaunchError),
    /// A variable of the environment that has no meaning.
    #[error("{operation}: {what}")]
    Environment {
        /// The operation.
        operation: &'static str,
        /// The variable, what it takes and what it is.
        what: String,
    },
    /// A kernel that is in no module.
    #[error("{operation}: the module has no kernel `{kernel}`{hint}")]
    UnknownKernel {
        /// The operation.
        operation: &'static str,
        /// The kernel.
        kernel: String,
        /// What to look at.
        hint: &'static str,
    },
    /// The CUDA driver reported an error.
    #[error("{operation} on {device}: {message}")]
    Driver {
        /// The operation.
        operation: &'static str,
        /// The device.
        device: DeviceKind,
        /// The driver's code; from 100200 on, that the driver lacks a function.
        code: u32,
        /// The call, the code's name and the driver's words.
        message: String,
    },
}

/// A result with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether the device's context is lost: no work goes on there.
    pub(crate) fn is_device_fault(&self) -> bool {
        matches!(self, Self::Driver { code, .. } if crate::cuda_backend::is_device_fault(*code))
    }

    pub(crate) fn invalid(
        operation: &'static str,
        required: impl Into<String>,
        given: impl Into<String>,
    ) -> Self {
        Self::Invalid {
            operation,
            required: required.into(),
            given: given.into(),
        }
    }
}
