//! Reduction of each column of a row-major matrix: along y, one result per column.
//!
//! | variant | idea |
//! | --- | --- |
//! | `column_per_thread` | one thread walks down one column |
//! | `four_columns_per_thread` | one load of four neighbouring columns, split into four sums |
//! | `best` | 16 bytes of columns per lane, rows split over warps and blocks, one launch |
//!
//! The reductions are sum, mean, minimum and maximum, for `u8 u16 i32 u32 f32 f64`; [`axis`](crate::axis) lists the types of
//! accumulators and results. Every element is read once: `height * width * size` bytes. The order in which elements are
//! combined depends on the variant, the shape, the alignment and the number of multiprocessors, and on nothing else: the same
//! input on the same card gives the same bits.
//!
//! `four_columns_per_thread` is the slower of the first two where memory latency is the limit: it has a fourth of the threads,
//! so a fourth of the loads are in flight, and each takes as long.

mod best;
mod fold;
#[cfg(feature = "ladder")]
mod ladder;
pub mod policy;

pub use best::{ColumnsBest, columns_best};
pub use fold::{ColumnsFold, columns_fold};
#[cfg(feature = "ladder")]
pub use ladder::*;

use crate::catalogue::declare_family;

declare_family! {
    name: "columns",
    summary: "sum, mean, min and max of each column of a matrix",
    ladder: [
        ColumnPerThread {
            name: "column_per_thread",
            idea: "one thread walks down one column, one element per load",
            kernels: ["columns_column_per_thread"],
        },
        FourColumnsPerThread {
            name: "four_columns_per_thread",
            idea: "one load of four neighbouring columns, split into four sums",
            kernels: ["columns_four_columns_per_thread"],
        },
    ],
    best: {
        idea: "16-byte loads, four rows in flight, rows split over warps and blocks, the last block finishes",
        kernels: ["columns_best", "columns_fold"],
    },
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use crate::{
        axis::{Along, Mean, Sum, with_axis_reductions},
        reduce::{Max, Min},
    };
    use cuda_std::kernel::{Entry, EntryOf};

    /// The kernels of one reduction.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Along + Sized {
        /// The kernel of `best`.
        const BEST: EntryOf<ColumnsBest<Self>>;
        /// The kernel of the last pass of `best`.
        const FOLD: EntryOf<ColumnsFold<Self>>;
        /// Returns the kernel of a variant below `best`.
        #[cfg(feature = "ladder")]
        fn rung(variant: Variant) -> Option<EntryOf<ColumnsColumnPerThread<Self>>>;
    }

    macro_rules! kernels {
        ($($suffix:ident: ($along:ty),)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $along {
                const BEST: EntryOf<ColumnsBest<Self>> = Entry::of::<ColumnsBest<$along>>();
                const FOLD: EntryOf<ColumnsFold<Self>> = Entry::of::<ColumnsFold<$along>>();
                #[cfg(feature = "ladder")]
                fn rung(variant: Variant) -> Option<EntryOf<ColumnsColumnPerThread<Self>>> {
                    match variant {
                        Variant::ColumnPerThread => Some(Entry::of::<ColumnsColumnPerThread<$along>>()),
                        Variant::FourColumnsPerThread => {
                            Some(Entry::of::<ColumnsFourColumnsPerThread<$along>>())
                        }
                        Variant::Best => None,
                    }
                }
            }
        )* };
    }
    with_axis_reductions!(kernels);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
