//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod naive;
mod padded;
mod tiled;

pub use naive::{TransposeNaive, transpose_naive};
pub use padded::{TransposePadded, transpose_padded};
pub use tiled::{TransposeTiled, transpose_tiled};

use cuda_std::thread;

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
