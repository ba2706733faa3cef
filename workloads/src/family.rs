//! What a family declares.

use crate::{Scale, Workload};

/// The workloads of one family.
pub struct Family {
    /// The family's name in the catalogue.
    pub name: &'static str,
    /// Returns the workloads that the variants are checked with.
    pub checks: fn(Scale) -> Vec<Workload>,
    /// Returns the workloads that the variants are timed with, of about the given number of elements each.
    pub timings: fn(usize) -> Vec<Workload>,
    /// The default number of elements for timings, as powers of two: on the CPU executor, and on a GPU.
    pub sizes: [u32; 2],
    /// Returns an operation on the given number of values, which is a square. A new process does the one on 64 values first
    /// when its cold start is timed. The one on a single value shows what the library costs beside the calls of the driver.
    pub few: fn(usize) -> Workload,
    /// Returns one operation of each kind, of some thousand elements, that every variant supports. If the order of additions
    /// shows in the last bits of an answer, it shows in these answers.
    pub operations: fn() -> Vec<Workload>,
    /// Whether the documentation promises the same bits from every variant on every device, but for problems that
    /// [vary](Workload::varies).
    pub same_everywhere: bool,
}
