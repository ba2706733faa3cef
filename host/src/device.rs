//! Devices: a CUDA device or the CPU, and their properties.

use std::{ffi::c_void, fmt, str::FromStr, sync::Arc, time::Duration};

use crate::{
    error::{Error, InvalidKind, Result},
    executor::Executor,
    tuning::Tuning,
};

/// Identifies a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A CUDA device.
    Cuda {
        /// The driver's number of the device.
        ordinal: usize,
    },
    /// The CPU executor.
    Cpu,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cuda { ordinal } => write!(f, "cuda:{ordinal}"),
            Self::Cpu => f.write_str("cpu"),
        }
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

/// The properties of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Which device it is.
    pub kind: DeviceKind,
    /// The device's name.
    pub name: String,
    /// The device's memory in bytes. For the CPU: the memory that control groups and limits allow the process.
    pub memory_bytes: u64,
    /// The number of multiprocessors. For the CPU: the number of worker threads.
    pub multiprocessors: u32,
    /// The compute capability, major and minor. `None` for the CPU.
    pub compute_capability: Option<(u32, u32)>,
    /// The CUDA version that the driver supports, major and minor. `None` for the CPU.
    pub driver_version: Option<(u32, u32)>,
    /// The most shared memory that a block can have, in bytes.
    pub shared_bytes_per_block: usize,
    /// The size of the L2 cache in bytes, or 0 if it is unknown.
    pub l2_bytes: u64,
}

/// A handle to a device, with a stream of its own: the handle's work runs in the order of the calls.
///
/// A clone shares the handle's stream. Handles and everything made with them can be sent to other threads and shared
/// between threads. Operations on a CUDA device are asynchronous: a call returns when its work is queued, and a call that
/// reads a result waits for it. An error of the device itself may therefore be returned by a later call.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) executor: Arc<Executor>,
    pub(crate) tuning: Tuning,
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
        Ok(Self {
            executor: Arc::new(self.executor.new_stream()?),
            tuning: self.tuning.clone(),
        })
    }

    /// Waits until all work queued by this handle is done.
    ///
    /// # Errors
    /// [`Error::Driver`] if any of the work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.executor.synchronize()
    }

    /// Runs `work` and measures the device time of what it queued on this handle.
    ///
    /// The time is measured by events on a CUDA device, and by the clock on the CPU.
    ///
    /// # Errors
    /// The errors of `work`, and [`Error::Driver`].
    pub fn time<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
        let start = self.executor.mark()?;
        let value = work()?;
        let end = self.executor.mark()?;
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

/// Options of the CPU executor.
///
/// An option that is not set is taken from the environment (`WARPWRIGHT_CHECK`, `WARPWRIGHT_ORDER_SEED`,
/// `WARPWRIGHT_STACK`), else the default applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CpuOptions {
    /// The order in which the blocks of a launch start, and in which the lanes of a block take turns.
    pub order: Option<cuda_std::cpu::Order>,
    /// The checks of a launch. The default is [`Checks::SYNC`](cuda_std::cpu::Checks::SYNC), which costs next to nothing.
    pub checks: Option<cuda_std::cpu::Checks>,
    /// The size of a lane's stack in bytes. The default is 256 KiB. A kernel with large local arrays or deep recursion may
    /// need more.
    pub stack_bytes: Option<usize>,
}

impl CpuOptions {
    /// Sets the order of blocks and lanes.
    #[must_use]
    pub fn order(mut self, order: cuda_std::cpu::Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Sets the checks.
    #[must_use]
    pub fn checks(mut self, checks: cuda_std::cpu::Checks) -> Self {
        self.checks = Some(checks);
        self
    }

    /// Sets the size of a lane's stack in bytes.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = Some(bytes);
        self
    }
}
