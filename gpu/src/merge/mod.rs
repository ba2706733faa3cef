//! Merges of sorted arrays, and the places of keys in one.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | a thread per key of the output searches which key it is |
//! | `path` | a thread searches where 8 keys of the output begin, and merges them from global memory |
//! | `best` | a block does so for a tile of the output, which it merges in shared memory |
//!
//! Keys are compared as the sorts compare them ([`Twist`](crate::sort::Twist)): floats in the order of `total_cmp`. Every
//! variant is stable: equal keys of the first array come first. So for sorted arrays all give the same result on every
//! device. Of arrays that are not sorted, `best` gives the keys in some order; the others may give some keys more than once,
//! and others not at all.
//!
//! A merge by `best` reads and writes every key once, and searches two places per tile. Its body is
//! [`merge_tiles`](cuda_std::merge::merge_tiles), which also merges by a user's comparison.
//!
//! Source: Green, McColl, Bader, "GPU merge path: a GPU merging algorithm", 2012.

mod best;
mod bounds;
#[cfg(feature = "ladder")]
mod ladder;
mod order;
pub mod policy;

pub use best::{MergeBest, MergeBestPairs, merge_best, merge_best_pairs};
pub use bounds::{MergeBestBounds, merge_best_bounds};
#[cfg(feature = "ladder")]
pub use ladder::*;

use crate::catalogue::declare_family;

declare_family! {
    name: "merge",
    summary: "stable merges of two sorted arrays of keys, also with values; the places of keys in a sorted array",
    ladder: [
        Naive {
            name: "naive",
            idea: "a thread per key of the output searches which key it is",
            kernels: ["merge_naive", "merge_naive_bounds"],
        },
        Path {
            name: "path",
            idea: "a thread searches where 8 keys of the output begin, and merges them from global memory",
            kernels: ["merge_path"],
        },
    ],
    best: {
        idea: "a block does so for a tile, which it merges in shared memory; searches begin there too",
        kernels: ["merge_best", "merge_best_pairs", "merge_best_bounds"],
    },
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use crate::sort::Bits;
    use cuda_std::kernel::{ByValue, Entry, EntryOf};

    /// The kernels for keys of these bits.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Bits + ByValue {
        /// Merges keys.
        const MERGE_KEYS: EntryOf<MergeBest<Self>>;
        /// Merges keys and values.
        const MERGE_PAIRS: EntryOf<MergeBestPairs<Self>>;
        /// Finds the places of keys.
        const MERGE_BOUNDS: EntryOf<MergeBestBounds<Self>>;
        /// Merges keys, by `naive`.
        #[cfg(feature = "ladder")]
        const MERGE_NAIVE: EntryOf<MergeNaive<Self>>;
        /// Finds the places of keys, by `naive`.
        #[cfg(feature = "ladder")]
        const MERGE_NAIVE_BOUNDS: EntryOf<MergeNaiveBounds<Self>>;
        /// Merges keys, by `path`.
        #[cfg(feature = "ladder")]
        const MERGE_PATH: EntryOf<MergePath<Self>>;
    }

    macro_rules! kernels {
        ($($ty:ident)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $ty {
                const MERGE_KEYS: EntryOf<MergeBest<Self>> = Entry::of::<MergeBest<$ty>>();
                const MERGE_PAIRS: EntryOf<MergeBestPairs<Self>> =
                    Entry::of::<MergeBestPairs<$ty>>();
                const MERGE_BOUNDS: EntryOf<MergeBestBounds<Self>> =
                    Entry::of::<MergeBestBounds<$ty>>();
                #[cfg(feature = "ladder")]
                const MERGE_NAIVE: EntryOf<MergeNaive<Self>> = Entry::of::<MergeNaive<$ty>>();
                #[cfg(feature = "ladder")]
                const MERGE_NAIVE_BOUNDS: EntryOf<MergeNaiveBounds<Self>> =
                    Entry::of::<MergeNaiveBounds<$ty>>();
                #[cfg(feature = "ladder")]
                const MERGE_PATH: EntryOf<MergePath<Self>> = Entry::of::<MergePath<$ty>>();
            }
        )* };
    }
    kernels!(u8 u16 u32 u64);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
