//! Selection: the elements that a predicate names, in order and without gaps.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | three launches; a thread counts and writes 1024 neighboring elements |
//! | `reduce_then_scan` | three launches; a block counts and writes 4096 elements, its threads side by side |
//! | `best` | one pass: decoupled look-back; of large inputs, counts published ahead of their use |
//!
//! A predicate is a type, [`MapFn`](cuda_std::map::MapFn) with the result `bool`, and every kernel is generic over it.
//! [`predicates`] has the library's own: a comparison with constants, a flag in a second array, and a difference from the
//! element before (unique elements). A user's crate makes kernels of its own predicates with [`cuda_std::select_kernel!`].
//! Counts are exact and the order is the input's, so every variant gives the same result on every device. `best` reads every
//! element once and writes every selected element once; the others read twice.

mod best;
mod instances;
#[cfg(feature = "ladder")]
mod ladder;
/// Asynchronous copies make this kernel worth it, so the modules of earlier architectures do not have it.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod persistent;
pub mod policy;
pub mod predicates;

pub use best::{SelectBest, select_best};
#[cfg(not(target_arch = "nvptx64"))]
pub use instances::LibraryPredicate;
#[cfg(all(feature = "ladder", not(target_arch = "nvptx64")))]
pub use instances::{Rung, all as kernels};
#[cfg(feature = "ladder")]
pub use ladder::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use persistent::{SelectBestPersistent, select_best_persistent};

use crate::catalogue::declare_family;

declare_family! {
    name: "select",
    summary: "the elements that a predicate, a flag or a difference from the one before selects, in order",
    ladder: [
        Naive {
            name: "naive",
            idea: "three launches: a thread counts and writes 1024 neighboring elements",
            kernels: ["select_naive_count", "select_scan", "select_naive_scatter"],
        },
        ReduceThenScan {
            name: "reduce_then_scan",
            idea: "three launches: a block counts and writes 4096 elements, its threads side by side",
            kernels: ["select_tile_count", "select_scan", "select_tile_scatter"],
        },
    ],
    best: {
        idea: "one pass: decoupled look-back; of large inputs, counts published ahead of their use",
        kernels: ["select_best", "select_best_persistent"],
    },
}
