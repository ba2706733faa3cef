//! Loads and stores of a tile's items in global memory.

use core::ops::Range;

use super::{blocked_to_striped, index, is_tile, striped_to_blocked};
use crate::{
    GlobalMut, Plain, Shared,
    tile::{self, TileSource, is_one_access},
};

/// Returns this thread's items of the tile that begins at element `first`, in striped order. All elements of the tile must be
/// within the view.
///
/// A warp reads 32 neighbors at a time. No shared memory, no barrier.
#[inline(always)]
#[track_caller]
pub fn load_striped<T: Copy, const THREADS: usize, const ITEMS: usize>(
    input: impl TileSource<T>,
    first: usize,
) -> [T; ITEMS] {
    const { assert!(is_tile(THREADS, ITEMS)) };
    tile::load_striped::<T, THREADS, ITEMS>(input, first, index())
}

/// Returns this thread's items of the tile that begins with `elements`, in striped order. Items behind the last of `elements`
/// are `fill`; if there are more than a tile has, the rest is not read. `elements` must be the same in all threads, and within
/// the view.
///
/// As [`load_striped`]: for a whole tile there is one comparison more.
#[inline(always)]
#[track_caller]
pub fn load_striped_part<T: Copy, const THREADS: usize, const ITEMS: usize>(
    input: impl TileSource<T>,
    elements: Range<usize>,
    fill: T,
) -> [T; ITEMS] {
    const { assert!(is_tile(THREADS, ITEMS)) };
    tile::load_striped_part::<T, THREADS, ITEMS>(input, elements, fill, index())
}

/// Returns this thread's items of the tile that begins at element `first`, in blocked order. All elements of the tile must be
/// within the view.
///
/// If a thread's items are 2, 4, 8 or 16 bytes in all and the tile begins at a multiple of that size, each thread reads them
/// with one load. Otherwise the block reads them in striped order and exchanges them. Either way a warp reads neighbors.
///
/// Shared memory: [`exchange_len`](super::exchange_len) elements. At most one barrier.
#[inline(always)]
#[track_caller]
pub fn load_blocked<T: Plain, const THREADS: usize, const ITEMS: usize>(
    input: impl TileSource<T>,
    first: usize,
    memory: Shared<T>,
) -> [T; ITEMS] {
    const { assert!(is_tile(THREADS, ITEMS)) };
    if is_one_access::<T, ITEMS>(input.address(), first) {
        return input.chunk(first + index() * ITEMS);
    }
    let items = load_striped::<T, THREADS, ITEMS>(input, first);
    striped_to_blocked::<T, THREADS, ITEMS>(items, memory)
}

/// Returns this thread's items of the tile that begins with `elements`, in blocked order. Items behind the last of `elements`
/// are `fill`; if there are more than a tile has, the rest is not read. `elements` must be the same in all threads, and within
/// the view. As [`load_blocked`]; a part of a tile is always exchanged.
///
/// ```
/// use cuda_std::{block, prelude::*};
///
/// /// Writes the sum of each block's tile of 128 * 4 values.
/// #[kernel(launch_bounds(128))]
/// pub unsafe fn tile_sums(values: Global<u32>, sums: GlobalMut<u32>) {
///     let memory = shared![u32; block::exchange_len::<4>(128)];
///     let totals = shared![u32; block::scan_len(128)];
///     let tile = thread::block_idx_x() as usize;
///     let elements = tile * 512..values.len();
///     let items = block::load_blocked_part::<_, 128, 4>(values, elements, 0, memory);
///     let sum = block::reduce::<_, 128>(items.iter().sum(), totals, |a, b| a + b);
///     if thread::thread_idx_x() == 0 {
///         sums.set(tile, sum);
///     }
/// }
/// ```
#[inline(always)]
#[track_caller]
pub fn load_blocked_part<T: Plain, const THREADS: usize, const ITEMS: usize>(
    input: impl TileSource<T>,
    elements: Range<usize>,
    fill: T,
    memory: Shared<T>,
) -> [T; ITEMS] {
    const { assert!(is_tile(THREADS, ITEMS)) };
    let first = elements.start;
    if elements.len() >= THREADS * ITEMS && is_one_access::<T, ITEMS>(input.address(), first) {
        return input.chunk(first + index() * ITEMS);
    }
    let items = load_striped_part::<T, THREADS, ITEMS>(input, elements, fill);
    striped_to_blocked::<T, THREADS, ITEMS>(items, memory)
}

/// Writes the items of the tile that begins at element `first`, from all threads' items in striped order. All elements of the
/// tile must be within the view. As [`load_striped`].
#[inline(always)]
#[track_caller]
pub fn store_striped<T: Copy, const THREADS: usize, const ITEMS: usize>(
    output: GlobalMut<T>,
    first: usize,
    items: [T; ITEMS],
) {
    const { assert!(is_tile(THREADS, ITEMS)) };
    tile::store_striped::<T, THREADS, ITEMS>(output, first, items, index());
}

/// Writes the items of the tile that begins with `elements`, from all threads' items in striped order. Items behind the last of
/// `elements` are not written; nor is anything behind the tile. As [`load_striped_part`].
#[inline(always)]
#[track_caller]
pub fn store_striped_part<T: Copy, const THREADS: usize, const ITEMS: usize>(
    output: GlobalMut<T>,
    elements: Range<usize>,
    items: [T; ITEMS],
) {
    const { assert!(is_tile(THREADS, ITEMS)) };
    tile::store_striped_part::<T, THREADS, ITEMS>(output, elements, items, index());
}

/// Writes the items of the tile that begins at element `first`, from all threads' items in blocked order. All elements of the
/// tile must be within the view. As [`load_blocked`], with its shared memory and barrier.
#[inline(always)]
#[track_caller]
pub fn store_blocked<T: Plain, const THREADS: usize, const ITEMS: usize>(
    output: GlobalMut<T>,
    first: usize,
    items: [T; ITEMS],
    memory: Shared<T>,
) {
    const { assert!(is_tile(THREADS, ITEMS)) };
    if is_one_access::<T, ITEMS>(output.address(), first) {
        return output.set_chunk(first + index() * ITEMS, items);
    }
    let items = blocked_to_striped::<T, THREADS, ITEMS>(items, memory);
    store_striped::<T, THREADS, ITEMS>(output, first, items);
}

/// Writes the items of the tile that begins with `elements`, from all threads' items in blocked order. Items behind the last of
/// `elements` are not written; nor is anything behind the tile. As [`load_blocked_part`].
#[inline(always)]
#[track_caller]
pub fn store_blocked_part<T: Plain, const THREADS: usize, const ITEMS: usize>(
    output: GlobalMut<T>,
    elements: Range<usize>,
    items: [T; ITEMS],
    memory: Shared<T>,
) {
    const { assert!(is_tile(THREADS, ITEMS)) };
    let first = elements.start;
    if elements.len() >= THREADS * ITEMS && is_one_access::<T, ITEMS>(output.address(), first) {
        return output.set_chunk(first + index() * ITEMS, items);
    }
    let items = blocked_to_striped::<T, THREADS, ITEMS>(items, memory);
    store_striped_part::<T, THREADS, ITEMS>(output, elements, items);
}
