//! Loads and stores of a warp's items in global memory.

use core::ops::Range;

use super::{Shuffle, blocked_to_striped, lane_id, striped_to_blocked};
use crate::{
    GlobalMut,
    block::is_tile,
    tile::{self, TileSource, is_one_access},
};

/// Returns this lane's index.
#[inline(always)]
fn lane() -> usize {
    lane_id() as usize
}

/// Returns this lane's items of the tile that begins at element `first`, in striped order. All elements of the tile must be
/// within the view.
///
/// The warp reads 32 neighbors at a time. All 32 lanes must call this, with the same `first`. No shared memory, no shuffle.
#[inline(always)]
#[track_caller]
pub fn load_striped<T: Copy, const ITEMS: usize>(
    input: impl TileSource<T>,
    first: usize,
) -> [T; ITEMS] {
    const { assert!(is_tile(32, ITEMS)) };
    tile::load_striped::<T, 32, ITEMS>(input, first, lane())
}

/// Returns this lane's items of the tile that begins with `elements`, in striped order. Items behind the last of `elements` are
/// `fill`; if there are more than a tile has, the rest is not read. `elements` must be the same in all lanes, and within the
/// view.
///
/// As [`load_striped`]: for a whole tile there is one comparison more.
#[inline(always)]
#[track_caller]
pub fn load_striped_part<T: Copy, const ITEMS: usize>(
    input: impl TileSource<T>,
    elements: Range<usize>,
    fill: T,
) -> [T; ITEMS] {
    const { assert!(is_tile(32, ITEMS)) };
    tile::load_striped_part::<T, 32, ITEMS>(input, elements, fill, lane())
}

/// Returns this lane's items of the tile that begins at element `first`, in blocked order. All elements of the tile must be
/// within the view.
///
/// If a lane's items are 2, 4, 8 or 16 bytes in all and the tile begins at a multiple of that size, each lane reads them with
/// one load. Otherwise the warp reads them in striped order and exchanges them by [`striped_to_blocked`]. Either way it reads
/// neighbors. All 32 lanes must call this, with the same `first`. No shared memory.
#[inline(always)]
#[track_caller]
pub fn load_blocked<T: Shuffle, const ITEMS: usize>(
    input: impl TileSource<T>,
    first: usize,
) -> [T; ITEMS] {
    const { assert!(is_tile(32, ITEMS)) };
    if is_one_access::<T, ITEMS>(input.address(), first) {
        return input.chunk(first + lane() * ITEMS);
    }
    striped_to_blocked(load_striped::<T, ITEMS>(input, first))
}

/// Returns this lane's items of the tile that begins with `elements`, in blocked order. Items behind the last of `elements` are
/// `fill`; if there are more than a tile has, the rest is not read. `elements` must be the same in all lanes, and within the
/// view. As [`load_blocked`]; a part of a tile is always exchanged.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Writes the sum of each warp's tile of 32 * 4 values.
/// #[kernel]
/// pub unsafe fn tile_sums(values: Global<u32>, sums: GlobalMut<u32>) {
///     let tile = thread::index_1d_wide() / 32;
///     if tile < sums.len() {
///         let items = warp::load_blocked_part::<_, 4>(values, tile * 128..values.len(), 0);
///         let sum = warp::reduce(items.iter().sum::<u32>(), |a, b| a + b);
///         if warp::lane_id() == 0 {
///             sums.set(tile, sum);
///         }
///     }
/// }
/// ```
#[inline(always)]
#[track_caller]
pub fn load_blocked_part<T: Shuffle, const ITEMS: usize>(
    input: impl TileSource<T>,
    elements: Range<usize>,
    fill: T,
) -> [T; ITEMS] {
    const { assert!(is_tile(32, ITEMS)) };
    let first = elements.start;
    if elements.len() >= 32 * ITEMS && is_one_access::<T, ITEMS>(input.address(), first) {
        return input.chunk(first + lane() * ITEMS);
    }
    striped_to_blocked(load_striped_part::<T, ITEMS>(input, elements, fill))
}

/// Writes the items of the tile that begins at element `first`, from all lanes' items in striped order. All elements of the
/// tile must be within the view. As [`load_striped`].
#[inline(always)]
#[track_caller]
pub fn store_striped<T: Copy, const ITEMS: usize>(
    output: GlobalMut<T>,
    first: usize,
    items: [T; ITEMS],
) {
    const { assert!(is_tile(32, ITEMS)) };
    tile::store_striped::<T, 32, ITEMS>(output, first, items, lane());
}

/// Writes the items of the tile that begins with `elements`, from all lanes' items in striped order. Items behind the last of
/// `elements` are not written; nor is anything behind the tile. As [`load_striped_part`].
#[inline(always)]
#[track_caller]
pub fn store_striped_part<T: Copy, const ITEMS: usize>(
    output: GlobalMut<T>,
    elements: Range<usize>,
    items: [T; ITEMS],
) {
    const { assert!(is_tile(32, ITEMS)) };
    tile::store_striped_part::<T, 32, ITEMS>(output, elements, items, lane());
}

/// Writes the items of the tile that begins at element `first`, from all lanes' items in blocked order. All elements of the
/// tile must be within the view. As [`load_blocked`].
#[inline(always)]
#[track_caller]
pub fn store_blocked<T: Shuffle, const ITEMS: usize>(
    output: GlobalMut<T>,
    first: usize,
    items: [T; ITEMS],
) {
    const { assert!(is_tile(32, ITEMS)) };
    if is_one_access::<T, ITEMS>(output.address(), first) {
        return output.set_chunk(first + lane() * ITEMS, items);
    }
    store_striped(output, first, blocked_to_striped(items));
}

/// Writes the items of the tile that begins with `elements`, from all lanes' items in blocked order. Items behind the last of
/// `elements` are not written; nor is anything behind the tile. As [`load_blocked_part`].
#[inline(always)]
#[track_caller]
pub fn store_blocked_part<T: Shuffle, const ITEMS: usize>(
    output: GlobalMut<T>,
    elements: Range<usize>,
    items: [T; ITEMS],
) {
    const { assert!(is_tile(32, ITEMS)) };
    let first = elements.start;
    if elements.len() >= 32 * ITEMS && is_one_access::<T, ITEMS>(output.address(), first) {
        return output.set_chunk(first + lane() * ITEMS, items);
    }
    store_striped_part(output, elements, blocked_to_striped(items));
}
