//! Reduction of each row of a row-major matrix: along x, one result per row.
//!
//! | variant | idea |
//! | --- | --- |
//! | `chunk_atomic` | one thread adds 128 neighbouring elements, then one atomic addition |
//! | `block_per_row` | 512 threads stride along one row, then a tree in shared memory |
//! | `best` | a part of a warp, a warp or several blocks per row, 16-byte loads, shuffles, one launch |
//!
//! The reductions are sum, mean, minimum and maximum, for `u8 u16 i32 u32 f32 f64`; [`axis`](crate::axis) lists the types of
//! accumulators and results. Every element is read once: `height * width * size` bytes. `chunk_atomic` combines the chunks of a
//! row in the order in which they arrive: its float sums and means may differ in the last bits from run to run. The order of
//! the other variants depends on the shape, the alignment and the number of multiprocessors, and on nothing else: the same
//! input on the same card gives the same bits.

mod best;
#[cfg(feature = "ladder")]
mod ladder;
mod load;
pub mod policy;

pub use best::{RowsBest, RowsBestLong, rows_best, rows_best_long};
#[cfg(feature = "ladder")]
pub use ladder::*;

use crate::catalogue::declare_family;

declare_family! {
    name: "rows",
    summary: "sum, mean, min and max of each row of a matrix",
    ladder: [
        ChunkAtomic {
            name: "chunk_atomic",
            idea: "one thread adds 128 neighbouring elements, then one atomic addition per chunk",
            kernels: ["rows_chunk_atomic", "rows_chunk_atomic_finish"],
        },
        BlockPerRow {
            name: "block_per_row",
            idea: "512 threads stride along one row, then a tree in shared memory",
            kernels: ["rows_block_per_row"],
        },
    ],
    best: {
        idea: "16-byte loads, four in flight, shuffles; short rows share a warp, long ones have several blocks",
        kernels: ["rows_best", "rows_best_long"],
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
        /// The kernel of `chunk_atomic`.
        #[cfg(feature = "ladder")]
        const CHUNK_ATOMIC: EntryOf<RowsChunkAtomic<Self>>;
        /// The kernel of the last pass of `chunk_atomic`.
        #[cfg(feature = "ladder")]
        const CHUNK_ATOMIC_FINISH: EntryOf<RowsChunkAtomicFinish<Self>>;
        /// The kernel of `block_per_row`.
        #[cfg(feature = "ladder")]
        const BLOCK_PER_ROW: EntryOf<RowsBlockPerRow<Self>>;
        /// The kernel of `best`.
        const BEST: EntryOf<RowsBest<Self>>;
        /// The kernel of `best` if blocks share rows.
        const LONG: EntryOf<RowsBestLong<Self>>;
    }

    macro_rules! kernels {
        ($($suffix:ident: ($along:ty),)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $along {
                #[cfg(feature = "ladder")]
                const CHUNK_ATOMIC: EntryOf<RowsChunkAtomic<Self>> = Entry::of::<RowsChunkAtomic<$along>>();
                #[cfg(feature = "ladder")]
                const CHUNK_ATOMIC_FINISH: EntryOf<RowsChunkAtomicFinish<Self>> = Entry::of::<RowsChunkAtomicFinish<$along>>();
                #[cfg(feature = "ladder")]
                const BLOCK_PER_ROW: EntryOf<RowsBlockPerRow<Self>> = Entry::of::<RowsBlockPerRow<$along>>();
                const BEST: EntryOf<RowsBest<Self>> = Entry::of::<RowsBest<$along>>();
                const LONG: EntryOf<RowsBestLong<Self>> = Entry::of::<RowsBestLong<$along>>();
            }
        )* };
    }
    with_axis_reductions!(kernels);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
