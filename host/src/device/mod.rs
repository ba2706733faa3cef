//! Handles to devices: a CUDA device or the CPU.

mod info;
mod tuning;

use std::{ffi::c_void, str::FromStr, sync::Arc, time::Duration};

use crate::{
    error::{Error, InvalidKind, Result},
    executor::{Executor, capture},
};
use tuning::Tuning;

pub use info::{CpuOptions, DeviceInfo, DeviceKind};
#[cfg(feature = "tuning")]
#[doc(hidden)]
pub use tuning::Candidate;

/// A handle to a device, with a stream of its own: the handle's work runs in the order of the calls.
///
/// A clone shares the handle's stream. Handles and everything made with them can be sent to other threads and shared
/// between threads. Operations on a CUDA device are asynchronous: a call returns when its work is queued, and a call that
/// reads a result waits for it. An error of the device itself may therefore be returned by a later call.
///
/// The host waits in these calls alone: `synchronize`, of a handle and of an event, and `time`; what copies to the host
/// (`to_vec`, `download`), or from a CUDA device to the CPU (`to_device`, `copy_from`), or returns numbers (`sum`, `histogram`,
/// `count`, `finish`) or arrays of a length that the device finds (`select`, `run_lengths`); `segments`, which checks offsets;
/// an upload from memory that is pinned; access to pinned memory with a copy under way, and its drop; an allocation that has to
/// release memory first; and the drop of a vector whose owner is somebody else's. The driver itself waits when memory is freed
/// on a device without memory pools, and may wait in an upload from memory that is not pinned.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) executor: Arc<Executor>,
    tuning: Tuning,
}

impl Device {
    /// Opens the first CUDA device that works, or else the CPU executor.
    ///
    /// # Errors
    /// [`Error::Driver`] or [`Error::NoDevice`] if the driver fails in any way other than by finding no device, or if the
    /// device fails. A broken GPU is never silently replaced by the CPU.
    pub fn auto() -> Result<Self> {
        match Executor::first_supported()? {
            Some(ordinal) => Self::cuda(ordinal),
            None => Ok(Self::cpu()),
        }
    }

    /// Opens the CUDA device number `ordinal`.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no driver or no such device, or if its compute capability is below 7.5.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Ok(Self {
            executor: Arc::new(Executor::cuda(ordinal)?),
            tuning: Tuning::default(),
        })
    }

    /// Makes a CPU executor on all cores, with default options.
    pub fn cpu() -> Self {
        Self::cpu_with(CpuOptions::default())
    }

    /// Makes a CPU executor with `options`.
    pub fn cpu_with(options: CpuOptions) -> Self {
        Self {
            executor: Arc::new(Executor::cpu(options)),
            tuning: Tuning::default(),
        }
    }

    /// Lists all devices: the CUDA devices in the driver's order, then the CPU. Without a driver the list has only the CPU.
    pub fn list() -> Vec<DeviceInfo> {
        Executor::list()
    }

    /// Returns the device's properties.
    pub fn info(&self) -> &DeviceInfo {
        self.executor.info()
    }

    /// Returns which device this is.
    pub fn kind(&self) -> DeviceKind {
        self.info().kind
    }

    /// Returns the bytes of memory that are free now.
    ///
    /// For the CPU this is the least of the machine's free memory, what the control groups of the process (version 1 and 2,
    /// with those above) leave it, and what its own limits (`ulimit -v` and `-d`) leave it. More than that cannot be
    /// allocated.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver cannot report it.
    pub fn free_memory(&self) -> Result<u64> {
        self.executor.free_memory()
    }

    /// Makes another handle to the same device, with its own stream. Work of the two handles may overlap.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver cannot create a stream.
    pub fn new_stream(&self) -> Result<Self> {
        Ok(self.with_executor(self.executor.new_stream()?))
    }

    /// Returns a handle with the same options and another executor.
    pub(crate) fn with_executor(&self, executor: Executor) -> Self {
        Self {
            executor: Arc::new(executor),
            tuning: self.tuning.clone(),
        }
    }

    /// Waits until all work queued by this handle is done.
    ///
    /// # Errors
    /// [`Error::Driver`] if any of the work failed; [`Error::Invalid`] while this thread captures.
    pub fn synchronize(&self) -> Result<()> {
        capture::refuse("synchronize")?;
        self.executor.synchronize()
    }

    /// Runs `work` and measures the device time of what it queued on this handle.
    ///
    /// The time is measured by events on a CUDA device, and by the clock on the CPU. Waits until the work is done.
    ///
    /// # Errors
    /// The errors of `work`, and [`Error::Driver`].
    pub fn time<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
        let start = self.executor.mark("time", true)?;
        let value = work()?;
        let end = self.executor.mark("time", true)?;
        Ok((value, end.since(&start)?))
    }

    /// Returns the driver's stream (a `CUstream`) of this handle, or `None` on the CPU.
    ///
    /// Other libraries can queue work on it, which is then ordered with this handle's work. The stream belongs to the
    /// device's primary context, and lives as long as any clone of the handle.
    pub fn cuda_stream(&self) -> Option<*mut c_void> {
        self.executor.cuda_stream()
    }

    /// Returns whether both handles are on the same device.
    pub(crate) fn same_device(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }

    pub(crate) fn require_same(&self, operation: &'static str, other: &Self) -> Result<()> {
        if self.same_device(other) {
            return Ok(());
        }
        Err(Error::DeviceMismatch {
            operation,
            first: self.kind(),
            second: other.kind(),
        })
    }
}

impl FromStr for DeviceKind {
    type Err = Error;

    /// Parses `cpu`, or `cuda:` and an ordinal.
    fn from_str(text: &str) -> Result<Self> {
        let ordinal = text
            .strip_prefix("cuda:")
            .and_then(|digits| digits.parse().ok());
        match ordinal {
            Some(ordinal) => Ok(Self::Cuda { ordinal }),
            None if text == "cpu" => Ok(Self::Cpu),
            None => Err(Error::invalid(
                InvalidKind::Name,
                "device",
                "cpu, or cuda:0 and on",
                format!("`{text}`"),
            )),
        }
    }
}
