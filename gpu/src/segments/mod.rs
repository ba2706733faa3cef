//! Reductions of segments: neighboring elements of an array that belong together, by offsets or by equal keys.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | a thread per segment |
//! | `warp_per_segment` | a warp per segment, its lanes side by side |
//! | `best` | equal work for every thread: tiles of elements, with a scan that begins anew where a segment does |
//!
//! Segments are given by [`Offsets`]: segment `s` has the elements from `offsets[s]` up to `offsets[s + 1]`, and may have none.
//! Runs of equal keys are segments too; their number stays on the device, and the same kernels reduce them. The results are
//! those of the family [`reduce`](crate::reduce) (sums of integers in 64 bits), and [`ops`] says what a segment without
//! elements gives.
//!
//! The order in which floats are added depends on the variant, the type and the offsets, and on nothing else: the same input
//! gives the same bits in every run, for every alignment, on every device. Every element and every offset is read once (by
//! `best` every offset twice, side by side), and every result written once.

mod best;
#[cfg(feature = "ladder")]
mod ladder;
mod offsets;
pub mod ops;
pub mod policy;

pub use best::*;
#[cfg(feature = "ladder")]
pub use ladder::{
    naive::{SegmentsNaive, segments_naive},
    warp_per_segment::{SegmentsWarpPerSegment, segments_warp_per_segment},
};
pub(crate) use offsets::offset;
pub use offsets::{Cuts, Offsets};
pub use ops::Segmented;

use crate::catalogue::declare_family;

declare_family! {
    name: "segments",
    summary: "sum, product, min and max of segments of an array, given by offsets or by runs of equal keys",
    ladder: [
        Naive {
            name: "naive",
            idea: "a thread per segment: the longest segment takes as long as it is",
            kernels: [
                "segments_naive",
                "segments_runs",
                "segments_lengths",
                "segments_check",
                "segments_means",
            ],
        },
        WarpPerSegment {
            name: "warp_per_segment",
            idea: "a warp per segment: its lanes read side by side, and idle where segments are short",
            kernels: [
                "segments_warp_per_segment",
                "segments_runs",
                "segments_lengths",
                "segments_check",
                "segments_means",
            ],
        },
    ],
    best: {
        idea: "tiles of elements, scanned anew from each segment's first, so that every thread has as much work",
        kernels: [
            "segments_starts",
            "segments_best",
            "segments_join",
            "segments_spread",
            "segments_runs",
            "segments_lengths",
            "segments_check",
            "segments_means",
        ],
    },
}

pub(crate) use crate::reduce::instances::with_operators;
pub(crate) use best::with_keys;

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use crate::reduce::{Max, Min, Product, Sum};
    use cuda_std::{
        Plain, bf16, f16,
        kernel::{Entry, EntryOf},
    };

    /// The kernels of one reduction of segments.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Segmented + Sized {
        /// The kernel of `naive`.
        #[cfg(feature = "ladder")]
        const NAIVE: EntryOf<SegmentsNaive<Self>>;
        /// The kernel of `warp_per_segment`.
        #[cfg(feature = "ladder")]
        const WARP_PER_SEGMENT: EntryOf<SegmentsWarpPerSegment<Self>>;
        /// The kernel of `best` that reduces tiles.
        const BEST: EntryOf<SegmentsBest<Self>>;
        /// The kernel of `best` that reduces the segments that lie in several tiles.
        const JOIN: EntryOf<SegmentsJoin<Self>>;
    }

    macro_rules! kernels {
        ($($suffix:ident: ($reduction:ty),)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $reduction {
                #[cfg(feature = "ladder")]
                const NAIVE: EntryOf<SegmentsNaive<Self>> = Entry::of::<SegmentsNaive<$reduction>>();
                #[cfg(feature = "ladder")]
                const WARP_PER_SEGMENT: EntryOf<SegmentsWarpPerSegment<Self>> =
                    Entry::of::<SegmentsWarpPerSegment<$reduction>>();
                const BEST: EntryOf<SegmentsBest<Self>> = Entry::of::<SegmentsBest<$reduction>>();
                const JOIN: EntryOf<SegmentsJoin<Self>> = Entry::of::<SegmentsJoin<$reduction>>();
            }
        )* };
    }
    with_operators!(kernels);

    /// A number as wide as a type of elements.
    ///
    /// # Safety
    /// As for [`Kernels`].
    pub unsafe trait Width: Plain {
        /// The kernel that writes the first key of each run.
        const RUNS: EntryOf<SegmentsRuns<Self>>;
        /// The kernel that spreads results among those of segments without elements.
        const SPREAD: EntryOf<SegmentsSpread<Self>>;
    }

    macro_rules! widths {
        ($($type:ident)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Width for $type {
                const RUNS: EntryOf<SegmentsRuns<Self>> = Entry::of::<SegmentsRuns<$type>>();
                const SPREAD: EntryOf<SegmentsSpread<Self>> = Entry::of::<SegmentsSpread<$type>>();
            }
        )* };
    }
    widths!(u8 u16 u32 u64);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::{Kernels, Width};
