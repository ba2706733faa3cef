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
mod naive;
mod padded;
mod pieces;
pub mod policy;
mod tiled;

pub use best::{TransposeBest, transpose_best};
pub use naive::{TransposeNaive, transpose_naive};
pub use padded::{TransposePadded, transpose_padded};
pub use tiled::{TransposeTiled, transpose_tiled};

use crate::catalogue::declare_family;
use cuda_std::thread;

declare_family! {
    name: "transpose",
    summary: "transpose of a row-major matrix with elements of 1, 2, 4, 8 or 16 bytes",
    variants: [
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
        Best {
            name: "best",
            idea: "words of several elements, turned in registers, through padded tiles",
            kernels: ["transpose_best"],
        },
    ],
}

/// Returns the first column and row of this block's tile.
///
/// `tile_width` and `tile_height` are the sides of the tile, and `width` is that of the matrix.
#[inline(always)]
fn tile_origin(width: usize, tile_width: usize, tile_height: usize) -> (usize, usize) {
    let across = width.div_ceil(tile_width) as u32;
    let tile = thread::block_idx_x();
    (
        (tile % across) as usize * tile_width,
        (tile / across) as usize * tile_height,
    )
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::{policy::word_elements, *};
    use cuda_std::kernel::{Entry, EntryOf};

    /// A word that the kernels move, and its kernels: one per variant, in the catalogue's order.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Word: Copy + 'static {
        /// The kernels, one per variant.
        const KERNELS: [EntryOf<TransposeNaive<Self>>; FAMILY.variants.len()];
    }

    /// Returns the padding of a tile row of `padded` in elements: one bank, or one element if that is larger.
    const fn padding(size: usize) -> usize {
        if size < 4 { 4 / size } else { 1 }
    }

    macro_rules! words {
        ($($word:ty),*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Word for $word {
                const KERNELS: [EntryOf<TransposeNaive<Self>>; FAMILY.variants.len()] = [
                    Entry::of::<TransposeNaive<$word>>(),
                    Entry::of::<TransposeTiled<$word>>(),
                    Entry::of::<TransposePadded<$word, { 16 + padding(size_of::<$word>()) }>>(),
                    Entry::of::<TransposeBest<$word, { word_elements(size_of::<$word>()) }>>(),
                ];
            }
        )* };
    }
    words!(u8, u16, u32, u64, u128);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Word;
