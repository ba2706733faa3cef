//! Devices: a CUDA device or the CPU, and what can be asked of it.

use std::{ffi::c_void, fmt, str::FromStr, sync::Arc, time::Duration};

use crate::{
    error::{Error, Result},
    executor::Executor,
    tuning::Tuning,
};

/// Which device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// A CUDA device, by the driver's ordinal.
    Cuda {
        /// The ordinal.
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

    /// `cpu`, or `cuda:` and an ordinal.
    fn from_str(text: &str) -> Result<Self> {
        let ordinal = text
            .strip_prefix("cuda:")
            .and_then(|digits| digits.parse().ok());
        match ordinal {
            Some(ordinal) => Ok(Self::Cuda { ordinal }),
            None if text == "cpu" => Ok(Self::Cpu),
            None => Err(Error::invalid(
                "device",
                "cpu, or cuda:0 and on",
                format!("`{text}`"),
            )),
        }
    }
}

/// What is known of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Which device.
    pub kind: DeviceKind,
    /// Its name.
    pub name: String,
    /// Its memory in bytes; for the CPU, what control groups and limits let the process have of it.
    pub memory_bytes: u64,
    /// Multiprocessors; for the CPU, worker threads.
    pub multiprocessors: u32,
    /// Compute capability, major and minor; none for the CPU.
    pub compute_capability: Option<(u32, u32)>,
    /// The CUDA version that the driver supports, major and minor; none for the CPU.
    pub driver_version: Option<(u32, u32)>,
    /// Shared memory that a block may have, in bytes.
    pub shared_bytes_per_block: usize,
    /// Second-level cache in bytes; 0 where it is not known.
    pub l2_bytes: u64,
}

/// A handle on a device, with a stream of its own: what is asked of it is done in that order.
///
/// A clone is the same handle and the same stream. Handles and everything made with them can be sent to
/// and shared between threads. On a CUDA device operations are asynchronous: they return when their
/// work is queued, and whatever reads a result waits for it. An error of the device itself may therefore
/// come with a later call.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) executor: Arc<Executor>,
    pub(crate) tuning: Tuning,
}

impl Device {
    /// The first CUDA device that works, else the CPU.
    ///
    /// # Errors
    /// [`Error::Driver`] or [`Error::NoDevice`] if there is a driver and it fails in any other way than by
    /// finding no device, or if the device fails: a broken GPU is not silently replaced.
    pub fn auto() -> Result<Self> {
        match Executor::first_supported()? {
            Some(ordinal) => Self::cuda(ordinal),
            None => Ok(Self::cpu()),
        }
    }

    /// CUDA device number `ordinal`.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no driver or no such device, or if it is older than compute
    /// capability 7.5.
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Ok(Self {
            executor: Arc::new(Executor::cuda(ordinal)?),
            tuning: Tuning::default(),
        })
    }

    /// The CPU executor, on all cores.
    pub fn cpu() -> Self {
        Self::cpu_with(CpuOptions::default())
    }

    /// The CPU executor with options.
    pub fn cpu_with(options: CpuOptions) -> Self {
        Self {
            executor: Arc::new(Executor::cpu(options)),
            tuning: Tuning::default(),
        }
    }

    /// All devices: the CUDA devices in the driver's order, and the CPU last. Without a driver that is the
    /// CPU alone.
    pub fn list() -> Vec<DeviceInfo> {
        Executor::list()
    }

    /// What is known of the device.
    pub fn info(&self) -> &DeviceInfo {
        self.executor.info()
    }

    /// Which device it is.
    pub fn kind(&self) -> DeviceKind {
        self.info().kind
    }

    /// Bytes of memory that are free now. For the CPU, the least of what the machine has, what the control groups of the
    /// process (version 1 and 2, with those above) and its own limits (`ulimit -v` and `-d`) leave it: more than that
    /// cannot be allocated.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver cannot tell.
    pub fn free_memory(&self) -> Result<u64> {
        self.executor.free_memory()
    }

    /// Another handle on the same device, with a stream of its own: work of the two may overlap.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver cannot make a stream.
    pub fn new_stream(&self) -> Result<Self> {
        Ok(Self {
            executor: Arc::new(self.executor.new_stream()?),
            tuning: self.tuning.clone(),
        })
    }

    /// Waits for everything queued by this handle.
    ///
    /// # Errors
    /// [`Error::Driver`] if any of it failed.
    pub fn synchronize(&self) -> Result<()> {
        self.executor.synchronize()
    }

    /// Runs `work` and tells how long the device took for what it queued on this handle: by events on a
    /// CUDA device, by the clock on the CPU.
    ///
    /// # Errors
    /// Those of `work`, and [`Error::Driver`].
    pub fn time<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
        let start = self.executor.mark()?;
        let value = work()?;
        let end = self.executor.mark()?;
        Ok((value, end.since(&start)?))
    }

    /// The driver's stream (a `CUstream`) in which this handle's work is queued, for other libraries' work
    /// that is to be in order with it; none on the CPU. It lives as long as a clone of the handle does, in
    /// the device's primary context.
    pub fn cuda_stream(&self) -> Option<*mut c_void> {
        self.executor.cuda_stream()
    }

    /// Whether both handles are on one device.
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

/// How the CPU executor runs kernels: what is asked for here, and for the rest what the environment asks
/// for (`WARPWRIGHT_CHECK`, `WARPWRIGHT_ORDER_SEED`, `WARPWRIGHT_STACK`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CpuOptions {
    /// The order in which the blocks of a launch start and the lanes of a block take turns.
    pub order: Option<cuda_std::cpu::Order>,
    /// What is checked; without a word from anybody, what costs next to nothing.
    pub checks: Option<cuda_std::cpu::Checks>,
    /// The bytes of a lane's stack; without a word from anybody, 256 KiB. A kernel with large local arrays or deep
    /// recursion may need more.
    pub stack_bytes: Option<usize>,
}

impl CpuOptions {
    /// The same options with another order of blocks and lanes.
    #[must_use]
    pub fn order(mut self, order: cuda_std::cpu::Order) -> Self {
        self.order = Some(order);
        self
    }

    /// The same options with other checks.
    #[must_use]
    pub fn checks(mut self, checks: cuda_std::cpu::Checks) -> Self {
        self.checks = Some(checks);
        self
    }

    /// The same options with so many bytes for a lane's stack.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = Some(bytes);
        self
    }
}
