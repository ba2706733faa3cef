//! The library's errors. Each is one line that names the operation, what was required and what was given.

use crate::{device::DeviceKind, named::named};

/// What is wrong with an invalid argument: the kind of an [`Error::Invalid`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidKind {
    /// An array does not have the length that the operation, a shape or another argument asks for.
    Length,
    /// There are more elements than the operation, a table or an address can take.
    TooLarge,
    /// A matrix or an output does not have the rows and columns that the operation asks for, or its rows are apart.
    Shape,
    /// A range, a position or a number of elements does not lie within what there is.
    Range,
    /// A value is not one that the operation is defined for.
    Value,
    /// The elements are of a size in bytes that the operation does not take.
    ElementSize,
    /// The kernel cannot be launched with so many blocks, threads or bytes of shared memory.
    Launch,
    /// The text is not PTX, or its kernel is not the one that the program launches.
    Module,
    /// Nothing has the name.
    Name,
    /// Memory of somebody else is not the device's, or not aligned, or a stream of somebody else is not the device's.
    Foreign,
    /// The work cannot be captured into a graph.
    Capture,
    /// The result was asked for before its work was queued, or queueing the work failed.
    NotQueued,
}

named! {
    InvalidKind, "kind of an invalid argument":
    Length = "length",
    TooLarge = "too large",
    Shape = "shape",
    Range = "range",
    Value = "value",
    ElementSize = "element size",
    Launch = "launch",
    Module = "module",
    Name = "name",
    Foreign = "foreign",
    Capture = "capture",
    NotQueued = "not queued",
}

/// An error of the library.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is invalid for the operation.
    #[error("{operation}: {required} required, {given} given")]
    Invalid {
        /// What is wrong with it.
        kind: InvalidKind,
        /// The operation.
        operation: &'static str,
        /// The requirement.
        required: String,
        /// The given value.
        given: String,
    },
    /// The family has no variant of that name.
    #[error("{family}: no variant is called `{given}`; there are {known}")]
    UnknownVariant {
        /// The family.
        family: &'static str,
        /// The given name.
        given: String,
        /// The names of the family's variants.
        known: String,
    },
    /// The requested variant cannot solve this problem.
    #[error("{family}: the variant `{variant}` cannot do this: {reason}")]
    NotEligible {
        /// The family.
        family: &'static str,
        /// The variant.
        variant: &'static str,
        /// The reason.
        reason: String,
    },
    /// Two values are on different devices.
    #[error("{operation}: all arguments must be on one device, given {first} and {second}")]
    DeviceMismatch {
        /// The operation.
        operation: &'static str,
        /// The device of one value.
        first: DeviceKind,
        /// The device of the other value.
        second: DeviceKind,
    },
    /// The device does not exist, or cannot be used.
    #[error("device {device}: {reason}")]
    NoDevice {
        /// The requested device.
        device: DeviceKind,
        /// The reason.
        reason: String,
    },
    /// Memory could not be allocated.
    #[error("{operation}: {requested} bytes of memory on {device} required, {}", free_bytes(*free))]
    OutOfMemory {
        /// The operation.
        operation: &'static str,
        /// The device.
        device: DeviceKind,
        /// The requested size in bytes.
        requested: u64,
        /// The size of the memory that is free, in bytes. `None` if the system or the driver does not say.
        free: Option<u64>,
    },
    /// The CPU executor stopped a kernel, or refused to launch it.
    #[error("{0}")]
    Launch(#[from] cuda_std::cpu::LaunchError),
    /// The check `init` of the CPU executor: the host would read memory that neither a kernel nor a copy has written.
    #[error("{operation}: {bytes} written bytes required, byte {first} of them was never written")]
    Unwritten {
        /// The operation.
        operation: &'static str,
        /// The position of the first byte that was not written, from the start of the copy.
        first: usize,
        /// The size of the copy in bytes.
        bytes: usize,
    },
    /// An environment variable has an invalid value.
    #[error("{operation}: {what}")]
    Environment {
        /// The operation.
        operation: &'static str,
        /// The variable, its valid values and its value.
        what: String,
    },
    /// The module does not contain the kernel.
    #[error("{operation}: the module has no kernel `{kernel}`{hint}")]
    UnknownKernel {
        /// The operation.
        operation: &'static str,
        /// The kernel.
        kernel: String,
        /// A hint on what to check.
        hint: &'static str,
    },
    /// The CUDA driver reported an error.
    #[error("{operation} on {device}: {message}")]
    Driver {
        /// The operation.
        operation: &'static str,
        /// The device.
        device: DeviceKind,
        /// The driver's code. Codes from 100200 on mean that the driver lacks a function.
        code: u32,
        /// The driver call, the code's name and the driver's message.
        message: String,
    },
}

fn free_bytes(free: Option<u64>) -> String {
    match free {
        Some(free) => format!("{free} are free"),
        None => "how many are free is unknown".to_owned(),
    }
}

/// A result whose error is the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns whether the device's context is lost: no further work can run there.
    pub(crate) fn is_device_fault(&self) -> bool {
        matches!(self, Self::Driver { code, .. } if crate::cuda_backend::is_device_fault(*code))
    }

    pub(crate) fn invalid(
        kind: InvalidKind,
        operation: &'static str,
        required: impl Into<String>,
        given: impl Into<String>,
    ) -> Self {
        Self::Invalid {
            kind,
            operation,
            required: required.into(),
            given: given.into(),
        }
    }
}
