//! The metrics that are asked of Nsight Compute, by their names for compute capability 9.0.

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name, as `ncu --query-metrics` and the guide of Nsight Compute have it.
    pub name: &'static str,
    /// A short heading.
    pub heading: &'static str,
    /// What it is one of.
    pub kind: Kind,
}

/// What a metric is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of nothing: it stands alone.
    Alone,
    /// The pipes that instructions are executed in, each as a part of what it can take, in per cent.
    Pipe,
    /// The reasons for which warps wait: how many warps do, on average, per instruction issued.
    Stall,
}

/// How long the kernel ran.
pub const TIME: &str = "gpu__time_duration.sum";
/// Bytes that came from memory.
pub const DRAM_READ: &str = "dram__bytes_read.sum";
/// Bytes that went to memory.
pub const DRAM_WRITE: &str = "dram__bytes_write.sum";
/// The memory's part of its own peak.
pub const DRAM_SHARE: &str = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
/// Sectors of 32 bytes that were written in the second-level cache.
pub const L2_WRITE: &str = "lts__t_sectors_op_write.sum";
/// The part of all slots for warps that had one.
pub const WARPS: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
/// The part of all cycles in which a scheduler issued.
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

/// All that are asked for. Of the reasons to wait, those that no kernel here can have are left out: textures, sleep.
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
