//! Top-k: the greatest or the smallest elements of an array or of each row of a matrix, with their positions.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | all elements are sorted |
//! | `two_level` | blocks find the best of their parts, one block finds the best of those |
//! | `best` | a sample gives a threshold, and one read collects what lies above |
//!
//! The result is the same by every variant on every device: the best element first, equal ones in the order of their positions.
//! Integers and floats are compared as the sorts compare them, and -0 is less than +0; but NaNs are equal and better than all
//! numbers, whether the greatest or the smallest elements are wanted.
//!
//! Segments are sorted whole, by the sorts of segments, and the first of each are taken.
//!
//! The element at one position of the sorted order, of an array or of each row, is found by counting digits: a read of all
//! elements per byte of an element.
//!
//! An element's [rank](Order) is an unsigned integer of its size; greater ranks are better. The floor is one read: `n * size`
//! bytes.

mod best;
mod find;
mod kth;
mod naive;
mod order;
pub mod policy;
mod source;
mod two_level;

pub use best::*;
pub use kth::*;
pub use naive::*;
pub use order::Order;
pub use two_level::*;

use crate::catalogue::declare_family;

declare_family! {
    name: "top_k",
    summary: "the k greatest or smallest elements and their positions, of an array, of each row, of segments; the k-th element, of each row too",
    ladder: [
        Naive {
            name: "naive",
            idea: "everything is sorted, and the first are taken",
            kernels: ["top_k_ranks", "top_k_gather"],
        },
        TwoLevel {
            name: "two_level",
            idea: "a block per part counts digits until few elements are left; one block does the same with all parts' best",
            kernels: ["top_k_chunks", "top_k_merge", "top_k_ranks", "top_k_gather"],
        },
    ],
    best: {
        idea: "a sample gives a threshold; one read collects the few elements above; one block sorts the best of those",
        kernels: [
            "top_k_rows",
            "top_k_sample",
            "top_k_filter",
            "top_k_chunks",
            "top_k_merge",
            "top_k_ranks",
            "top_k_gather",
            "top_k_kth",
            "top_k_kth_rows",
        ],
    },
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use crate::sort;
    use cuda_std::kernel::{Entry, EntryOf};

    /// The kernels for elements of these bits.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: sort::Kernels {
        /// Finds the best of each row.
        const ROWS: EntryOf<TopKRows<Self>>;
        /// Finds a threshold.
        const SAMPLE: EntryOf<TopKSample<Self>>;
        /// Collects what lies above.
        const FILTER: EntryOf<TopKFilter<Self>>;
        /// Finds the best of each part.
        const CHUNKS: EntryOf<TopKChunks<Self>>;
        /// Finds the best of the list.
        const MERGE: EntryOf<TopKMerge<Self>>;
        /// Writes all ranks.
        const RANKS: EntryOf<TopKRanks<Self>>;
        /// Takes the first of sorted inputs.
        const GATHER: EntryOf<TopKGather<Self>>;
        /// Finds a digit of the element at one position.
        const KTH: EntryOf<TopKKth<Self>>;
        /// Finds the element at one position of each row.
        const KTH_ROWS: EntryOf<TopKKthRows<Self>>;
    }

    macro_rules! kernels {
        ($($ty:ident)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $ty {
                const ROWS: EntryOf<TopKRows<Self>> = Entry::of::<TopKRows<$ty>>();
                const SAMPLE: EntryOf<TopKSample<Self>> = Entry::of::<TopKSample<$ty>>();
                const FILTER: EntryOf<TopKFilter<Self>> = Entry::of::<TopKFilter<$ty>>();
                const CHUNKS: EntryOf<TopKChunks<Self>> = Entry::of::<TopKChunks<$ty>>();
                const MERGE: EntryOf<TopKMerge<Self>> = Entry::of::<TopKMerge<$ty>>();
                const RANKS: EntryOf<TopKRanks<Self>> = Entry::of::<TopKRanks<$ty>>();
                const GATHER: EntryOf<TopKGather<Self>> = Entry::of::<TopKGather<$ty>>();
                const KTH: EntryOf<TopKKth<Self>> = Entry::of::<TopKKth<$ty>>();
                const KTH_ROWS: EntryOf<TopKKthRows<Self>> = Entry::of::<TopKKthRows<$ty>>();
            }
        )* };
    }
    kernels! { u8 u16 u32 u64 }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
