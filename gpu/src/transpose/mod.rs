//! Transpose of a row-major matrix: `output[x][y] = input[y][x]`.
//!
//! | variant | idea |
//! | --- | --- |
//! | `naive` | one thread per element |
//! | `tiled` | 16 x 16 tiles through shared memory |
//! | `padded` | tiles whose rows are one bank longer |
//! | `best` | words of several elements, turned in registers, through padded tiles |
//!
//! A kernel moves words of 1, 2, 4, 8 or 16 bytes, whatever their type. Every element is read once and written once:
//! `2 * width * height * size` bytes. Nothing is computed, so the result is exact and the same for every variant.
//!
//! Blocks form a one-dimensional grid over tiles, x fastest, so that neither side of the matrix is limited to the 65535 blocks
//! that a grid has along y.

mod best;
#[cfg(feature = "ladder")]
mod ladder;
mod pieces;
pub mod policy;

pub use best::{TransposeBest, transpose_best};
#[cfg(feature = "ladder")]
pub use ladder::*;

use crate::catalogue::declare_family;

declare_family! {
    name: "transpose",
    summary: "transpose of a row-major matrix with elements of 1, 2, 4, 8 or 16 bytes",
    ladder: [
        Naive {
            name: "naive",
            idea: "one thread per element: reads coalesce, writes do not",
            kernels: ["transpose_naive"],
        },
        Tiled {
            name: "tiled",
            idea: "16 x 16 tiles in shared memory: both sides coalesce, banks conflict",
            kernels: ["transpose_tiled"],
        },
        Padded {
            name: "padded",
            idea: "tile rows one bank longer: no bank conflicts",
            kernels: ["transpose_padded"],
        },
    ],
    best: {
        idea: "words of several elements, turned in registers, through padded tiles",
        kernels: ["transpose_best"],
    },
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::{policy::word_elements, *};
    use cuda_std::kernel::{Entry, EntryOf};

    /// A word that the kernels move, and its kernels.
    ///
    /// # Safety
    /// The function must return kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Word: Copy + 'static {
        /// Returns the kernel of a variant.
        fn kernel(variant: Variant) -> EntryOf<TransposeBest<Self, 1>>;
    }

    #[cfg(feature = "ladder")]
    /// Returns the padding of a tile row of `padded` in elements: one bank, or one element if that is larger.
    const fn padding(size: usize) -> usize {
        if size < 4 { 4 / size } else { 1 }
    }

    macro_rules! words {
        ($($word:ty),*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Word for $word {
                fn kernel(variant: Variant) -> EntryOf<TransposeBest<Self, 1>> {
                    match variant {
                        #[cfg(feature = "ladder")]
                        Variant::Naive => Entry::of::<TransposeNaive<$word>>(),
                        #[cfg(feature = "ladder")]
                        Variant::Tiled => Entry::of::<TransposeTiled<$word>>(),
                        #[cfg(feature = "ladder")]
                        Variant::Padded => {
                            Entry::of::<TransposePadded<$word, { 16 + padding(size_of::<$word>()) }>>()
                        }
                        Variant::Best => {
                            Entry::of::<TransposeBest<$word, { word_elements(size_of::<$word>()) }>>()
                        }
                    }
                }
            }
        )* };
    }
    words!(u8, u16, u32, u64, u128);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Word;
