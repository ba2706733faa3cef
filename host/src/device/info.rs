//! Which devices there are, their properties, and the options of the CPU executor.

use std::fmt;

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
