//! The exchange of a tile's items between the lanes of a warp, by shuffles.
//!
//! ```text
//! M items per lane; c = gcd(M, 32); item 32 k + s of the tile is in slot k of lane s in striped order,
//! and item M t + j in slot j of lane t in blocked order
//! in round r = 0 … M - 1 lane t gets its slot j = (r + t / (32 / c)) mod M, from lane (M t + j) mod 32
//! ```
//!
//! In a round the lanes that are read from are all different, so each of them has one item to give. Which one depends on
//! `r - s` mod `M` alone: so a lane first renames its registers, then rotates them by `s`, gives register `r` in round `r`, and
//! the lane that gets them rotates them by `t / (32 / c)`. The way back has the same steps in reverse (Catanzaro, Keller and
//! Garland, "A decomposition for in-place matrix transposition", 2014).

use super::{FULL_MASK, Shuffle, lane_id, shuffle};
use crate::{block::is_tile, unrolled};

/// Returns this lane's items of a tile in blocked order, from all lanes' items in striped order.
///
/// All 32 lanes must call this. Per word of `T`: `ITEMS` shuffles, and for each item up to 10 selects between two registers,
/// 2 for two items, 4 for four, and half as many for an odd `ITEMS`. No shared memory, no barrier.
#[inline(always)]
#[track_caller]
pub fn striped_to_blocked<T: Shuffle, const ITEMS: usize>(items: [T; ITEMS]) -> [T; ITEMS] {
    const { assert!(is_tile(32, ITEMS)) };
    if const { ITEMS == 1 } {
        return items;
    }
    let lane = lane_id();
    let mut renamed = items;
    unrolled!(k < ITEMS of 32 => { renamed[k] = items[given::<ITEMS>(k)]; });
    let mut items = rotate::<T, ITEMS, false>(renamed, lane % ITEMS as u32, ITEMS);
    let turns = lane / const { 32 / common_divisor(ITEMS) as u32 };
    unrolled!(r < ITEMS of 32 => {
        let slot = wrapped::<ITEMS>(r as u32 + turns);
        items[r] = shuffle(FULL_MASK, items[r], lane * ITEMS as u32 + slot);
    });
    rotate::<T, ITEMS, false>(items, turns, const { common_divisor(ITEMS) })
}

/// Returns this lane's items of a tile in striped order, from all lanes' items in blocked order. As [`striped_to_blocked`].
#[inline(always)]
#[track_caller]
pub fn blocked_to_striped<T: Shuffle, const ITEMS: usize>(items: [T; ITEMS]) -> [T; ITEMS] {
    const { assert!(is_tile(32, ITEMS)) };
    if const { ITEMS == 1 } {
        return items;
    }
    let lane = lane_id();
    let limit = const { common_divisor(ITEMS) };
    let common = limit as u32;
    let group = 32 / common;
    let inverse = const { inverse(ITEMS / common_divisor(ITEMS), 32 / common_divisor(ITEMS)) };
    let mut items = rotate::<T, ITEMS, true>(items, lane / group, limit);
    unrolled!(r < ITEMS of 32 => {
        // The lane is `turns * group` and another `place`. A multiple of 32 keeps the differences positive.
        let turns = (lane + 32 - r as u32) % common;
        let slot = wrapped::<ITEMS>(r as u32 + turns);
        let place = (lane + 32 - slot) / common * inverse as u32 % group;
        items[r] = shuffle(FULL_MASK, items[r], turns * group + place);
    });
    let renamed = rotate::<T, ITEMS, true>(items, lane % ITEMS as u32, ITEMS);
    unrolled!(k < ITEMS of 32 => { items[given::<ITEMS>(k)] = renamed[k]; });
    items
}

/// Returns the slot in striped order of the item that lane `s` gives in round `(u + s) mod ITEMS`.
#[inline(always)]
const fn given<const ITEMS: usize>(u: usize) -> usize {
    let common = const { common_divisor(ITEMS) };
    let inverse = const { inverse(32 / common_divisor(ITEMS), ITEMS / common_divisor(ITEMS)) };
    let period = ITEMS / common;
    let turns = (32 - u) % common;
    turns * period + u.div_ceil(common) * inverse % period
}

/// Returns `slot` mod `ITEMS`, for a slot below `2 * ITEMS`.
#[inline(always)]
fn wrapped<const ITEMS: usize>(slot: u32) -> u32 {
    let items = ITEMS as u32;
    if slot < items { slot } else { slot - items }
}

/// Returns the greatest common divisor of `items` and 32.
const fn common_divisor(items: usize) -> usize {
    1 << if items < 32 {
        items.trailing_zeros()
    } else {
        5
    }
}

/// Returns the number below `modulus` whose product with `number` is 1 mod `modulus`. The two have no common divisor.
const fn inverse(number: usize, modulus: usize) -> usize {
    let mut inverse = 0;
    while number * inverse % modulus != 1 % modulus {
        inverse += 1;
    }
    inverse
}

/// Returns the items rotated by `by` slots, which is below `limit`: to lower slots with `DOWN`, or else to higher ones. `limit`
/// is at most `ITEMS`.
///
/// A step for each bit of `by`, so that every index is a constant.
#[inline(always)]
fn rotate<T: Copy, const ITEMS: usize, const DOWN: bool>(
    mut items: [T; ITEMS],
    by: u32,
    limit: usize,
) -> [T; ITEMS] {
    macro_rules! steps {
        ($($step:literal)*) => { $(
            if $step < limit {
                let from = if DOWN { $step } else { ITEMS - $step };
                let old = items;
                unrolled!(k < ITEMS of 32 => {
                    items[k] = if by & $step != 0 { old[(k + from) % ITEMS] } else { old[k] };
                });
            }
        )* };
    }
    steps!(1 2 4 8 16);
    items
}
