//! Heads and tails of the runs of equal neighbors in a warp's tile.

use super::{FULL_MASK, Shuffle, lane_id, shuffle_down, shuffle_up};
use crate::{block::is_tile, tile};

/// Returns for each of this lane's items, in blocked order, whether a run begins there: whether it is not the `same` as the
/// item before it.
///
/// `same` gets two neighbors, the one before first. `before` is the item before the tile, of which lane 0 takes note alone;
/// without one the tile's first item is a head. All 32 lanes must call this. One shuffle per word of `T`, no shared memory.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Writes the number of runs in each warp's tile of 32 * 4 values.
/// #[kernel]
/// pub unsafe fn count_runs(values: Global<u32>, counts: GlobalMut<u32>) {
///     let tile = thread::index_1d_wide() / 32;
///     if tile < counts.len() {
///         let items = warp::load_blocked::<_, 4>(values, tile * 128);
///         let heads = warp::run_heads(items, None, |a, b| a == b);
///         let count = heads.iter().map(|head| u32::from(*head)).sum();
///         let count = warp::redux_add::<u32>(warp::FULL_MASK, count);
///         if warp::lane_id() == 0 {
///             counts.set(tile, count);
///         }
///     }
/// }
/// ```
#[inline(always)]
#[track_caller]
pub fn run_heads<T: Shuffle, const ITEMS: usize>(
    items: [T; ITEMS],
    before: Option<T>,
    same: impl Fn(T, T) -> bool,
) -> [bool; ITEMS] {
    const { assert!(is_tile(32, ITEMS)) };
    let below = shuffle_up(FULL_MASK, items[ITEMS - 1], 1);
    let neighbor = match lane_id() {
        0 => before,
        _ => Some(below),
    };
    tile::run_heads(items, neighbor, same)
}

/// Returns for each of this lane's items, in blocked order, whether a run ends there: whether it is not the `same` as the item
/// after it.
///
/// `after` is the item after the tile, of which lane 31 takes note alone; without one the tile's last item is a tail. As
/// [`run_heads`].
#[inline(always)]
#[track_caller]
pub fn run_tails<T: Shuffle, const ITEMS: usize>(
    items: [T; ITEMS],
    after: Option<T>,
    same: impl Fn(T, T) -> bool,
) -> [bool; ITEMS] {
    const { assert!(is_tile(32, ITEMS)) };
    let above = shuffle_down(FULL_MASK, items[0], 1);
    let neighbor = match lane_id() {
        31 => after,
        _ => Some(above),
    };
    tile::run_tails(items, neighbor, same)
}
