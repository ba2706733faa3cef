//! Scans: the prefix sums, products, minima and maxima of an array.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | log2(n) passes, the step doubles |
//! | `reduce_then_scan` | the tiles' totals, their prefixes, then the tiles: three passes |
//! | `look_back` | one pass with decoupled look-back |
//! | `best` | one pass, totals published ahead and added in fixed batches |
//!
//! An inclusive scan gives for each element what an initial value and the elements up to it combine to; an exclusive one leaves
//! the element itself out. The results have the type of the elements; [`ops`] lists the accumulators. A scan reads every
//! element once and writes every result once: `2 * n * size` bytes (`reduce_then_scan` reads twice, `naive` reads and writes
//! accumulators in every pass).
//!
//! Float sums and products depend on the order of combinations. That of `naive`, `reduce_then_scan` and `best` depends on the
//! variant, the operator, the type and the position of an element in the array, and on nothing else: the same input gives the
//! same bits in every run, for every alignment, on every device. That of `look_back` differs from run to run.
//!
//! Segments are scanned by `best` alone: those that offsets give, runs of equal keys, and the rows of a matrix. A launch writes
//! a bit for each element, which says whether a segment begins there, and the kernels for segments begin anew at those.
//!
//! Sums of a wider type than the elements are found by `best` alone too: `n * (size + size of a sum)` bytes. An element is
//! converted when it is added.
//!
//! For an array as for segments, `best` has two kernels, which give the same bits: with a block per tile for small inputs, and
//! with persistent blocks that copy tiles ahead for large ones. The latter needs asynchronous copies, compute capability 8.0.

mod best;
mod instances;
#[cfg(feature = "ladder")]
mod ladder;
pub mod ops;
/// Asynchronous copies make this kernel worth it, so the modules of earlier architectures do not have it.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod persistent;
pub mod policy;
mod segmented;
mod wide;

pub use best::{ScanBest, scan_best};
pub use cuda_std::scan::{Scan, Start};
#[cfg(not(target_arch = "nvptx64"))]
pub use instances::{Kernels, Keys, WideKernel};
#[cfg(feature = "ladder")]
pub use ladder::{
    look_back::{ScanLookBack, scan_look_back},
    naive::{
        ScanNaive, ScanNaiveFirst, ScanNaiveLast, scan_naive, scan_naive_first, scan_naive_last,
    },
    reduce_then_scan::{
        ScanPrefixes, ScanReduceThenScan, ScanTotals, scan_prefixes, scan_reduce_then_scan,
        scan_totals,
    },
};
pub use ops::{Element, Product, Sum, SumOfBytes};
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use persistent::{
    ScanBestPersistent, ScanSegmentedPersistent, scan_best_persistent, scan_segmented_persistent,
};
pub use segmented::*;
pub use wide::{ScanWide, Widen, scan_wide};

use crate::catalogue::declare_family;

declare_family! {
    name: "scan",
    summary: "inclusive and exclusive prefix sums, products, minima and maxima of an array",
    ladder: [
        Naive {
            name: "naive",
            idea: "log2(n) passes: every prefix takes in the one a step before it, and the step doubles",
            kernels: ["scan_naive_first", "scan_naive", "scan_naive_last"],
        },
        ReduceThenScan {
            name: "reduce_then_scan",
            idea: "three passes: the tiles' totals, the prefixes of the totals, the tiles from their prefixes",
            kernels: ["scan_totals", "scan_prefixes", "scan_reduce_then_scan"],
        },
        LookBack {
            name: "look_back",
            idea: "one pass: a block adds the totals of the tiles before it back to a published prefix",
            kernels: ["scan_look_back"],
        },
    ],
    best: {
        idea: "one pass: totals published ahead of their use, added in batches of a fixed size",
        kernels: [
            "scan_best",
            "scan_best_persistent",
            "scan_segmented",
            "scan_segmented_persistent",
            "scan_heads_of_offsets",
            "scan_heads_of_rows",
            "scan_heads_of_keys",
            "scan_wide",
        ],
    },
}
