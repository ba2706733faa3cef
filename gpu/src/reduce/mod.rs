//! Reduction of a whole array to one value.
//!
//! | variant | idea |
//! | --- | --- |
//! | `interleaved_divergent` | the stride doubles, `thread % (2 * stride) == 0` works |
//! | `interleaved_strided` | the same without the modulo: neighbouring threads, strided shared index |
//! | `sequential` | the stride halves, neighbours add |
//! | `add_on_load` | two elements per thread, added while loading |
//! | `last_warp_unrolled` | the last 32 lanes need no barrier of the block |
//! | `fully_unrolled` | the block size is a constant, every step unrolled |
//! | `cascaded` | a grid-stride loop adds many elements per thread first |
//! | `warp_shuffle` | the tree in shared memory down to one warp, then shuffles |
//! | `coarsened` | accumulation in a register, then the tree |
//! | `folding` | the back half is added onto the front half, out of place |
//! | `folding_shared` | the same, with the inner folds in shared memory |
//! | `best` | 16-byte loads, several in flight, shuffles, one launch |
//!
//! A variant's first pass turns the input into partial results, one per block; `finish` reduces those. `best` does both in one
//! launch. The order in which elements are combined depends on the variant, the length and the number of multiprocessors, and
//! on nothing else: the same input on the same card gives the same bits. Every element is read once: `n * size` bytes (the
//! foldings read more).
//!
//! `interleaved_strided` is slower than `interleaved_divergent` on current cards: its strides put several lanes on one bank of
//! shared memory, which costs more than idle lanes.

mod best;
pub(crate) mod instances;
#[cfg(feature = "ladder")]
mod ladder;
mod mean;
mod narrow;
mod ops;
pub mod policy;

pub use best::{ReduceBest, reduce_best};
#[cfg(not(target_arch = "nvptx64"))]
pub use instances::Kernels;
#[cfg(feature = "ladder")]
pub use ladder::*;
pub use mean::{Dividend, Total, Widened};
pub use ops::{
    Accumulator, ArgMax, ArgMin, Element, Found, Key, Max, Mean, Min, Product, Reduction, Sum,
};

use crate::catalogue::declare_family;
use policy::Cut;
#[cfg(feature = "ladder")]
use policy::{FOLD_SPAN, RUNG_BLOCK, STRIDED};

declare_family! {
    name: "reduce",
    summary: "sum, product, min, max, argmin, argmax and mean of an array",
    cut: Cut,
    ladder: [
        InterleavedDivergent {
            name: "interleaved_divergent",
            idea: "stride doubles, thread % (2 * stride): lanes of every warp diverge",
            kernels: ["reduce_interleaved_divergent", "reduce_finish"],
            cut: Cut::PerBlock(RUNG_BLOCK),
        },
        InterleavedStrided {
            name: "interleaved_strided",
            idea: "no modulo, neighbouring threads: strided shared index, banks conflict",
            kernels: ["reduce_interleaved_strided", "reduce_finish"],
            cut: Cut::PerBlock(RUNG_BLOCK),
        },
        Sequential {
            name: "sequential",
            idea: "stride halves, neighbours add: no conflicts, half the threads idle from the start",
            kernels: ["reduce_sequential", "reduce_finish"],
            cut: Cut::PerBlock(RUNG_BLOCK),
        },
        AddOnLoad {
            name: "add_on_load",
            idea: "two elements per thread, added while loading",
            kernels: ["reduce_add_on_load", "reduce_finish"],
            cut: Cut::PerBlock(RUNG_BLOCK * 2),
        },
        LastWarpUnrolled {
            name: "last_warp_unrolled",
            idea: "the last 32 lanes synchronise their warp, not the block",
            kernels: ["reduce_last_warp_unrolled", "reduce_finish"],
            cut: Cut::PerBlock(RUNG_BLOCK * 2),
        },
        FullyUnrolled {
            name: "fully_unrolled",
            idea: "constant block size, every step unrolled",
            kernels: ["reduce_fully_unrolled", "reduce_finish"],
            cut: Cut::PerBlock(RUNG_BLOCK * 2),
        },
        Cascaded {
            name: "cascaded",
            idea: "a grid-stride loop adds many elements per thread before the unrolled tree",
            kernels: ["reduce_cascaded", "reduce_finish"],
            cut: STRIDED,
        },
        WarpShuffle {
            name: "warp_shuffle",
            idea: "shared-memory tree down to one warp, then shuffles",
            kernels: ["reduce_warp_shuffle", "reduce_finish"],
            cut: Cut::PerBlock(RUNG_BLOCK * 2),
        },
        Coarsened {
            name: "coarsened",
            idea: "grid-stride accumulation in a register, then the tree",
            kernels: ["reduce_coarsened", "reduce_finish"],
            cut: STRIDED,
        },
        Folding {
            name: "folding",
            idea: "two buffers in turn: the back half is added onto the front half until one is left",
            kernels: ["reduce_folding_first", "reduce_folding"],
            cut: Cut::Folding { by: 2 },
        },
        FoldingShared {
            name: "folding_shared",
            idea: "folding with the inner folds in shared memory",
            kernels: ["reduce_folding_shared_first", "reduce_folding_shared"],
            cut: Cut::Folding { by: FOLD_SPAN },
        },
    ],
    best: {
        idea: "16-byte loads, several in flight per thread, shuffles, the last block finishes",
        kernels: ["reduce_best"],
        cut: Cut::Best,
    },
}
