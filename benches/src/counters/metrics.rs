//! The metrics requested from Nsight Compute, by their names for compute capability 9.0.

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The metric's name in `ncu --query-metrics` and in the guide of Nsight Compute.
    pub name: &'static str,
    /// A short heading.
    pub heading: &'static str,
    /// The group that the metric belongs to.
    pub kind: Kind,
}

/// A group of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No group.
    Alone,
    /// The pipes that execute instructions; each value is a percentage of the pipe's capacity, or of the cycles for tensor
    /// cores.
    Pipe,
    /// The reasons why warps wait; each value is the average number of waiting warps per issued instruction.
    Stall,
}

/// The run time of the kernel.
pub const TIME: &str = "gpu__time_duration.sum";
/// The bytes read from memory.
pub const DRAM_READ: &str = "dram__bytes_read.sum";
/// The bytes written to memory.
pub const DRAM_WRITE: &str = "dram__bytes_write.sum";
/// The memory's throughput as a percentage of its peak.
pub const DRAM_SHARE: &str = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
/// The 32-byte sectors written in the second-level cache.
pub const L2_WRITE: &str = "lts__t_sectors_op_write.sum";
/// The percentage of warp slots in use.
pub const WARPS: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
/// The percentage of cycles in which a scheduler issued an instruction.
pub const ISSUE: &str = "smsp__issue_active.avg.pct_of_peak_sustained_active";

const fn alone(name: &'static str, heading: &'static str) -> Metric {
    Metric {
        name,
        heading,
        kind: Kind::Alone,
    }
}

macro_rules! pipe {
    ($name:literal, $heading:literal) => {
        Metric {
            name: concat!(
                "sm__inst_executed_pipe_",
                $name,
                ".avg.pct_of_peak_sustained_active"
            ),
            heading: $heading,
            kind: Kind::Pipe,
        }
    };
}

macro_rules! stall {
    ($name:literal, $heading:literal) => {
        Metric {
            name: concat!(
                "smsp__average_warps_issue_stalled_",
                $name,
                "_per_issue_active.ratio"
            ),
            heading: $heading,
            kind: Kind::Stall,
        }
    };
}

/// All requested metrics. Stall reasons that no kernel here can have (textures, sleep) are left out.
pub const METRICS: &[Metric] = &[
    alone(TIME, "time"),
    alone(DRAM_READ, "read from memory"),
    alone(DRAM_WRITE, "written to memory"),
    alone(DRAM_SHARE, "memory"),
    alone("lts__t_sectors_op_read.sum", "sectors read in L2"),
    alone(L2_WRITE, "sectors written in L2"),
    alone(WARPS, "warps active"),
    alone(ISSUE, "issue active"),
    alone("smsp__inst_executed.sum", "instructions"),
    alone(
        "l1tex__data_bank_conflicts_pipe_lsu.sum",
        "shared-memory bank conflicts",
    ),
    pipe!("alu", "ALU"),
    pipe!("fma", "FMA"),
    pipe!("fp64", "FP64"),
    pipe!("xu", "XU"),
    pipe!("lsu", "LSU"),
    Metric {
        name: "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        heading: "tensor cores",
        kind: Kind::Pipe,
    },
    stall!("long_scoreboard", "long scoreboard"),
    stall!("short_scoreboard", "short scoreboard"),
    stall!("barrier", "barrier"),
    stall!("membar", "membar"),
    stall!("lg_throttle", "LG throttle"),
    stall!("mio_throttle", "MIO throttle"),
    stall!("math_pipe_throttle", "math pipe throttle"),
    stall!("not_selected", "not selected"),
    stall!("wait", "wait"),
    stall!("no_instruction", "no instruction"),
    stall!("dispatch_stall", "dispatch stall"),
    stall!("branch_resolving", "branch resolving"),
    stall!("drain", "drain"),
    stall!("imc_miss", "IMC miss"),
    alone("launch__registers_per_thread", "registers per thread"),
    alone(
        "launch__occupancy_limit_registers",
        "blocks that registers allow",
    ),
    alone(
        "launch__waves_per_multiprocessor",
        "waves per multiprocessor",
    ),
];
