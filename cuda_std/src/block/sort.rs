//! Radix sorts of a tile.
//!
//! ```text
//! put the keys into shared memory, in blocked order
//! for each digit of BITS bits, the lowest first:
//!     barrier; each warp reads neighbors in each step
//!     rank the keys by the digit; put each key at its rank
//! barrier; read the keys in blocked or striped order
//! ```
//!
//! Keys go from thread to thread in shared memory alone, and one barrier separates the writes of a pass from the reads of the
//! next. The ranks' own barriers separate its reads from its writes. Ranks are stable for keys in the order of the warps, which
//! is why a warp reads neighbors and not each thread its own.

use core::ops::Range;

use super::{exchange::place, index, is_tile, rank_digits};
use crate::{Plain, Shared, thread, unrolled};

/// Returns this thread's keys of the sorted tile in blocked order, from all threads' keys in blocked order.
///
/// A key is compared as the number that it converts to, by `bits` of it, from the lowest one on: `0..32` are all bits of a
/// `u32`. Bits that the key does not have count as 0. Keys that are the same in these bits keep their order, so keys of more
/// parts can be sorted part by part, the last part first. For keys of other types and for a descending order, change the bits
/// before and after: a float's sign decides whether all its bits are inverted or the sign alone, a descending order inverts all
/// bits. In a part of a tile let the items behind it be the greatest key: they stay behind.
///
/// `BITS` is the number of bits of a digit, at most 8. There is a pass for each: 4 is a fair choice, and more of them are fewer
/// passes with more shared memory. `THREADS` must be at least the number of digits, `1 << BITS`. `bits` must be the same in all
/// threads.
///
/// Shared memory: [`exchange_len`](super::exchange_len) keys, and [`rank_len`](super::rank_len) words. One barrier, and five
/// per pass. Exact: the same on every device. Method: ranks by [`rank_digits`], lowest digit first (Merrill and Grimshaw, "High
/// performance and scalable radix sorting", 2011).
///
/// ```
/// use cuda_std::{block, prelude::*};
///
/// /// Sorts each tile of 128 * 8 keys, the last one with what is left.
/// #[kernel(launch_bounds(128))]
/// pub unsafe fn sort_tiles(keys: GlobalMut<u32>) {
///     let memory = shared![u32; block::exchange_len::<8>(128)];
///     let counters = shared![u32; block::rank_len(128, 4)];
///     let elements = thread::block_idx_x() as usize * 1024..keys.len();
///     let tile = block::load_blocked_part::<_, 128, 8>(keys, elements.clone(), u32::MAX, memory);
///     thread::sync_threads();
///     let tile = block::sort_to_striped::<_, 128, 8, 4>(tile, 0..32, memory, counters);
///     block::store_striped_part::<_, 128, 8>(keys, elements, tile);
/// }
/// ```
#[inline(always)]
#[track_caller]
pub fn sort<K, const THREADS: usize, const ITEMS: usize, const BITS: u32>(
    keys: [K; ITEMS],
    bits: Range<u32>,
    memory: Shared<K>,
    counters: Shared<u32>,
) -> [K; ITEMS]
where
    K: Plain + Into<u64>,
{
    Sort::new(bits, memory, counters, false)
        .run::<u8, THREADS, ITEMS, BITS>(keys, [0; ITEMS], None)
        .0
}

/// Returns this thread's keys of the sorted tile in striped order. As [`sort`].
#[inline(always)]
#[track_caller]
pub fn sort_to_striped<K, const THREADS: usize, const ITEMS: usize, const BITS: u32>(
    keys: [K; ITEMS],
    bits: Range<u32>,
    memory: Shared<K>,
    counters: Shared<u32>,
) -> [K; ITEMS]
where
    K: Plain + Into<u64>,
{
    Sort::new(bits, memory, counters, true)
        .run::<u8, THREADS, ITEMS, BITS>(keys, [0; ITEMS], None)
        .0
}

/// Returns this thread's keys of the sorted tile in blocked order, and the values that go with them.
///
/// As [`sort`]. Shared memory: also [`exchange_len`](super::exchange_len) values in `values_memory`. A value moves once per
/// pass, so sort positions in place of large ones.
#[inline(always)]
#[track_caller]
pub fn sort_pairs<K, V: Plain, const THREADS: usize, const ITEMS: usize, const BITS: u32>(
    keys: [K; ITEMS],
    values: [V; ITEMS],
    bits: Range<u32>,
    memory: Shared<K>,
    values_memory: Shared<V>,
    counters: Shared<u32>,
) -> ([K; ITEMS], [V; ITEMS])
where
    K: Plain + Into<u64>,
{
    Sort::new(bits, memory, counters, false).run::<V, THREADS, ITEMS, BITS>(
        keys,
        values,
        Some(values_memory),
    )
}

/// Returns this thread's keys of the sorted tile in striped order, and the values that go with them. As [`sort_pairs`].
#[inline(always)]
#[track_caller]
pub fn sort_pairs_to_striped<
    K,
    V: Plain,
    const THREADS: usize,
    const ITEMS: usize,
    const BITS: u32,
>(
    keys: [K; ITEMS],
    values: [V; ITEMS],
    bits: Range<u32>,
    memory: Shared<K>,
    values_memory: Shared<V>,
    counters: Shared<u32>,
) -> ([K; ITEMS], [V; ITEMS])
where
    K: Plain + Into<u64>,
{
    Sort::new(bits, memory, counters, true).run::<V, THREADS, ITEMS, BITS>(
        keys,
        values,
        Some(values_memory),
    )
}

/// The arguments of a sort beside the items.
struct Sort<K> {
    bits: Range<u32>,
    memory: Shared<K>,
    counters: Shared<u32>,
    /// Whether the result is in striped order.
    striped: bool,
}

impl<K: Plain + Into<u64>> Sort<K> {
    #[inline(always)]
    fn new(bits: Range<u32>, memory: Shared<K>, counters: Shared<u32>, striped: bool) -> Self {
        Self {
            bits,
            memory,
            counters,
            striped,
        }
    }

    /// Sorts the keys, and the values if there is memory for them.
    #[inline(always)]
    #[track_caller]
    fn run<V: Plain, const THREADS: usize, const ITEMS: usize, const BITS: u32>(
        self,
        mut keys: [K; ITEMS],
        mut values: [V; ITEMS],
        values_memory: Option<Shared<V>>,
    ) -> ([K; ITEMS], [V; ITEMS]) {
        const { assert!(is_tile(THREADS, ITEMS) && BITS <= 8) };
        let tile = Tile {
            keys: self.memory,
            values: values_memory,
        };
        let thread = index();
        let by_warp = thread / 32 * (32 * ITEMS) + thread % 32;
        let end = self.bits.end.min(const { 8 * size_of::<K>() as u32 });
        let mut shift = self.bits.start;
        unrolled!(k < ITEMS of 32 => {
            tile.set::<ITEMS>(thread * ITEMS + k, keys[k], values[k]);
        });
        // The tile is in the order of the digits so far.
        loop {
            thread::sync_threads();
            if shift >= end {
                break;
            }
            let mask = (1 << (end - shift).min(BITS)) - 1;
            let mut digits = [0; ITEMS];
            unrolled!(k < ITEMS of 32 => {
                tile.get::<ITEMS>(by_warp + k * 32, &mut keys[k], &mut values[k]);
                digits[k] = digit(keys[k], shift) & mask;
            });
            // Its barriers come between the loads above and the stores below.
            let ranked = rank_digits::<THREADS, ITEMS, BITS>(digits, self.counters);
            unrolled!(k < ITEMS of 32 => {
                tile.set::<ITEMS>(ranked.ranks[k] as usize, keys[k], values[k]);
            });
            shift += BITS;
        }
        unrolled!(k < ITEMS of 32 => {
            let item = match self.striped {
                true => k * THREADS + thread,
                false => thread * ITEMS + k,
            };
            tile.get::<ITEMS>(item, &mut keys[k], &mut values[k]);
        });
        (keys, values)
    }
}

/// The shared memory of a tile of keys, and of values if there are some.
#[derive(Clone, Copy)]
struct Tile<K, V> {
    keys: Shared<K>,
    values: Option<Shared<V>>,
}

impl<K: Plain, V: Plain> Tile<K, V> {
    #[inline(always)]
    #[track_caller]
    fn set<const ITEMS: usize>(self, item: usize, key: K, value: V) {
        let at = place::<ITEMS>(item);
        self.keys.set(at, key);
        if let Some(values) = self.values {
            values.set(at, value);
        }
    }

    #[inline(always)]
    #[track_caller]
    fn get<const ITEMS: usize>(self, item: usize, key: &mut K, value: &mut V) {
        let at = place::<ITEMS>(item);
        *key = self.keys.get(at);
        if let Some(values) = self.values {
            *value = values.get(at);
        }
    }
}

/// Returns the 32 bits of a key from bit `shift` on.
#[inline(always)]
fn digit<K: Plain + Into<u64>>(key: K, shift: u32) -> u32 {
    let bits: u64 = key.into();
    if const { size_of::<K>() <= 4 } {
        bits as u32 >> shift
    } else {
        (bits >> shift) as u32
    }
}
