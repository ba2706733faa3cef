//! Sorts of a warp's items by a comparison, in registers.
//!
//! ```text
//! each lane sorts its items
//! for runs of 1, 2, 4, 8, 16 sorted lanes:
//!     compare each item with the one as far from the end of the neighboring run: the lower run keeps the first of both
//!     compare lanes at a distance of half a run, then of a quarter, …, slot by slot
//!     each lane sorts its items
//! ```
//!
//! Comparisons of slots of two lanes take a shuffle, those within a lane take none (Batcher, "Sorting networks and their
//! applications", 1968). All of them leave the first of two items at the lower place, so the network of any number of items is
//! that of the next power of two, without the comparisons with places that do not exist.

use super::{FULL_MASK, Shuffle, lane_id, shuffle_xor};
use crate::{block::is_tile, unrolled};

/// Returns the value at this lane's place when the values of all 32 lanes are sorted, by `before`: whether its first argument
/// comes before its second.
///
/// As [`sort_items_unstable`] with one item: 15 shuffles per word of `T`.
#[inline(always)]
#[track_caller]
pub fn sort<T: Shuffle>(value: T, before: impl Fn(T, T) -> bool) -> T {
    sort_items_unstable([value], before)[0]
}

/// Returns this lane's items of the sorted tile in blocked order, from all lanes' items in blocked order. `before` says whether
/// its first argument comes before its second; items neither of which comes before the other keep their order.
///
/// `ITEMS` is 1 to 32. All 32 lanes must call this. An item may be a pair of a key and a value, or of a key and a position in
/// place of a large value. In a part of a tile let the items behind it be such that nothing comes after them: they stay behind.
/// Whatever `before` is, lanes only exchange items.
///
/// This is [`sort_items_unstable`] of items with their places: `15 * ITEMS` shuffles per word of `T`, and as many for the
/// places. No shared memory, no barrier. Exact: the same on every device.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Sorts each warp's tile of 32 * 3 keys, and the values with them; the last tile with what is left.
/// #[kernel]
/// pub unsafe fn sort_tiles(keys: GlobalMut<f32>, values: GlobalMut<u32>) {
///     let tile = thread::index_1d_wide() / 32 * 96;
///     if tile < keys.len() {
///         let elements = tile..keys.len();
///         let tile_keys = warp::load_blocked_part::<_, 3>(keys, elements.clone(), f32::INFINITY);
///         let tile_values = warp::load_blocked_part::<_, 3>(values, elements.clone(), 0);
///         let pairs = [0, 1, 2].map(|k| (tile_keys[k], tile_values[k]));
///         let pairs = warp::sort_items(pairs, |a, b| a.0 < b.0);
///         warp::store_blocked_part(keys, elements.clone(), pairs.map(|(key, _)| key));
///         warp::store_blocked_part(values, elements, pairs.map(|(_, value)| value));
///     }
/// }
/// ```
#[inline(always)]
#[track_caller]
pub fn sort_items<T: Shuffle, const ITEMS: usize>(
    items: [T; ITEMS],
    before: impl Fn(T, T) -> bool,
) -> [T; ITEMS] {
    Sort::<T, ITEMS, true>::new(items).run(before)
}

/// Returns this lane's items of the sorted tile in blocked order. As [`sort_items`], but items neither of which comes before
/// the other may change places.
///
/// `15 * ITEMS` shuffles per word of `T`.
#[inline(always)]
#[track_caller]
pub fn sort_items_unstable<T: Shuffle, const ITEMS: usize>(
    items: [T; ITEMS],
    before: impl Fn(T, T) -> bool,
) -> [T; ITEMS] {
    Sort::<T, ITEMS, false>::new(items).run(before)
}

/// A lane's items, and with `STABLE` the places in the tile that they had before.
// Two arrays, because an array of pairs whose items have padding would not stay in registers.
struct Sort<T, const ITEMS: usize, const STABLE: bool> {
    items: [T; ITEMS],
    places: [u32; ITEMS],
}

impl<T: Shuffle, const ITEMS: usize, const STABLE: bool> Sort<T, ITEMS, STABLE> {
    #[inline(always)]
    fn new(items: [T; ITEMS]) -> Self {
        const { assert!(is_tile(32, ITEMS)) };
        let first = lane_id() * ITEMS as u32;
        let mut places = [first; ITEMS];
        unrolled!(k < ITEMS of 32 => { places[k] = first + k as u32; });
        Self { items, places }
    }

    #[inline(always)]
    #[track_caller]
    fn run(mut self, before: impl Fn(T, T) -> bool) -> [T; ITEMS] {
        let lane = lane_id();
        self.sort_lane(&before);
        let mut sorted = 1;
        while sorted < 32 {
            // With the items of the higher run in reverse, each pair of the two runs has one item for each of them.
            let others = self.of_lane(2 * sorted - 1, true);
            self.keep(others, lane & sorted != 0, &before);
            let mut distance = sorted / 2;
            while distance > 0 {
                let others = self.of_lane(distance, false);
                self.keep(others, lane & distance != 0, &before);
                distance /= 2;
            }
            // Now the lanes are in order, and the items of each rise and fall once at most, as a circle.
            if const { ITEMS.is_power_of_two() } {
                self.merge_lane(&before);
            } else {
                self.sort_lane(&before);
            }
            sorted *= 2;
        }
        self.items
    }

    /// Returns what the lane has whose index is this one's with the bits of `mask` flipped, the last item first if `reversed`.
    #[inline(always)]
    #[track_caller]
    fn of_lane(&self, mask: u32, reversed: bool) -> Self {
        let (mut items, mut places) = (self.items, self.places);
        unrolled!(k < ITEMS of 32 => {
            let from = if reversed { ITEMS - 1 - k } else { k };
            items[k] = shuffle_xor(FULL_MASK, self.items[from], mask);
            if STABLE {
                places[k] = shuffle_xor(FULL_MASK, self.places[from], mask);
            }
        });
        Self { items, places }
    }

    /// Keeps the item that comes first of each of this lane's and the other lane's, or with `upper` the other one.
    #[inline(always)]
    fn keep(&mut self, others: Self, upper: bool, before: &impl Fn(T, T) -> bool) {
        unrolled!(k < ITEMS of 32 => {
            let own = (self.items[k], self.places[k]);
            let other = (others.items[k], others.places[k]);
            // The two lanes compare the same pair in the same order, so that both take the other's item or none does.
            let (low, high) = if upper { (other, own) } else { (own, other) };
            if Self::change_places(low, high, before) {
                (self.items[k], self.places[k]) = other;
            }
        });
    }

    /// Returns whether the item at the lower of two places must go to the higher one.
    #[inline(always)]
    fn change_places(low: (T, u32), high: (T, u32), before: &impl Fn(T, T) -> bool) -> bool {
        // The one that was behind the other comes first only if it is before that.
        if STABLE && high.1 < low.1 {
            !before(low.0, high.0)
        } else {
            before(high.0, low.0)
        }
    }

    /// Puts a lane's items in order.
    #[inline(always)]
    fn sort_lane(&mut self, before: &impl Fn(T, T) -> bool) {
        macro_rules! merges {
            ($($sorted:literal: $($mask:literal)*;)*) => { $(
                // From runs of `sorted` items to those of twice the length.
                if const { ITEMS > $sorted } {
                    $( self.order::<$mask>(before); )*
                }
            )* };
        }
        merges! {
            1: 1;
            2: 3 1;
            4: 7 2 1;
            8: 15 4 2 1;
            16: 31 8 4 2 1;
        }
    }

    /// Puts a lane's items in order, as many as a power of two, which rise and fall once at most, as a circle.
    #[inline(always)]
    fn merge_lane(&mut self, before: &impl Fn(T, T) -> bool) {
        macro_rules! halves {
            ($($half:literal)*) => { $(
                if const { ITEMS > $half } {
                    self.order::<$half>(before);
                }
            )* };
        }
        halves!(16 8 4 2 1);
    }

    /// Puts each two items in order whose slots differ in all bits of `MASK`, and in no others.
    #[inline(always)]
    fn order<const MASK: usize>(&mut self, before: &impl Fn(T, T) -> bool) {
        let highest = const { 1 << MASK.ilog2() };
        let pairs = const { ITEMS.next_power_of_two() / 2 };
        unrolled!(pair < pairs of 16 => {
            let low = pair / highest * (2 * highest) + pair % highest;
            let high = low ^ MASK;
            if high < ITEMS {
                let first = (self.items[low], self.places[low]);
                let second = (self.items[high], self.places[high]);
                if Self::change_places(first, second, before) {
                    (self.items[low], self.places[low]) = second;
                    (self.items[high], self.places[high]) = first;
                }
            }
        });
    }
}
