//! Tiles of warps: loads and stores, exchanges, sorts, runs and ranks of `warp`.
//!
//! Each kernel writes what its lanes hold, lane by lane, so that the order shows. A warp has a tile; warps are counted over the
//! whole launch.

use cuda_std::{Plain, prelude::*, unrolled, warp::Shuffle};

use crate::tiles::{dump_at, held_at};

/// Returns this lane's warp, and its index in there.
#[inline(always)]
fn place() -> (usize, usize) {
    let i = thread::index_1d_wide();
    (i / 32, i % 32)
}

/// Loads a tile per warp, from element `first` on: in striped and in blocked order, tiles one behind the other. `whole`: by the
/// functions for whole tiles; otherwise elements from `end` on are `fill`.
#[kernel(instances(
    h1: (u16, 1), b3: (u8, 3), w4: (u32, 4), w6: (u32, 6), l3: (u64, 3), b16: (u8, 16), h32: (u16, 32), q1: (u128, 1),
    q4: (u128, 4)
))]
pub unsafe fn warp_tile_loads<T: Plain + Shuffle, const ITEMS: usize>(
    values: Global<T>,
    results: GlobalMut<T>,
    first: u32,
    end: u32,
    fill: T,
    whole: u32,
) {
    let (tile, lane) = place();
    let from = first as usize + tile * 32 * ITEMS;
    let (striped, blocked) = if whole != 0 {
        (
            warp::load_striped::<T, ITEMS>(values, from),
            warp::load_blocked::<T, ITEMS>(values, from),
        )
    } else {
        let part = from..end as usize;
        (
            warp::load_striped_part::<T, ITEMS>(values, part.clone(), fill),
            warp::load_blocked_part::<T, ITEMS>(values, part, fill),
        )
    };
    dump_at(results, 2 * tile * 32 + lane, striped);
    dump_at(results, (2 * tile + 1) * 32 + lane, blocked);
}

/// Stores the tiles that lanes hold, from element `first` on: in striped order to `striped`, in blocked order to `blocked`.
/// `whole` as in [`warp_tile_loads`].
#[kernel(instances(
    h1: (u16, 1), b3: (u8, 3), w4: (u32, 4), w6: (u32, 6), l3: (u64, 3), b16: (u8, 16), h32: (u16, 32), q1: (u128, 1),
    q4: (u128, 4)
))]
pub unsafe fn warp_tile_stores<T: Plain + Shuffle, const ITEMS: usize>(
    values: Global<T>,
    striped: GlobalMut<T>,
    blocked: GlobalMut<T>,
    first: u32,
    end: u32,
    whole: u32,
) {
    let (tile, lane) = place();
    let items: [T; ITEMS] = held_at(values, tile * 32 + lane);
    let from = first as usize + tile * 32 * ITEMS;
    if whole != 0 {
        warp::store_striped(striped, from, items);
        warp::store_blocked(blocked, from, items);
    } else {
        let part = from..end as usize;
        warp::store_striped_part(striped, part.clone(), items);
        warp::store_blocked_part(blocked, part, items);
    }
}

/// Two tiles for each tile that lanes hold: from striped to blocked order, and from blocked to striped order.
#[kernel(instances(
    w1: (u32, 1), w2: (u32, 2), w3: (u32, 3), b4: (u8, 4), h5: (u16, 5), w7: (u32, 7), l8: (u64, 8), q3: (u128, 3),
    w12: (u32, 12), w20: (u32, 20), w24: (u32, 24), w31: (u32, 31), w32: (u32, 32)
))]
pub unsafe fn warp_exchanges<T: Plain + Shuffle, const ITEMS: usize>(
    values: Global<T>,
    results: GlobalMut<T>,
) {
    let (tile, lane) = place();
    let items: [T; ITEMS] = held_at(values, tile * 32 + lane);
    dump_at(
        results,
        2 * tile * 32 + lane,
        warp::striped_to_blocked(items),
    );
    dump_at(
        results,
        (2 * tile + 1) * 32 + lane,
        warp::blocked_to_striped(items),
    );
}

/// Sorts the tile that a warp holds. Keys: descending and stable, then ascending, tiles one behind the other. `order`: the
/// numbers of the keys of the stable sort.
#[kernel(instances(
    w1: (u32, 1), b3: (u8, 3), w4: (u32, 4), h6: (u16, 6), l5: (u64, 5), q2: (u128, 2), w8: (u32, 8), w32: (u32, 32)
))]
pub unsafe fn warp_tile_sorts<K: Plain + Shuffle + PartialOrd, const ITEMS: usize>(
    keys: Global<K>,
    sorted: GlobalMut<K>,
    order: GlobalMut<u32>,
) {
    let (tile, lane) = place();
    let keys: [K; ITEMS] = held_at(keys, tile * 32 + lane);
    let first = (tile * 32 + lane) * ITEMS;
    let mut pairs = [(keys[0], 0); ITEMS];
    unrolled!(k < ITEMS of 32 => { pairs[k] = (keys[k], (first + k) as u32); });
    let pairs = warp::sort_items(pairs, |a: (K, u32), b: (K, u32)| a.0 > b.0);
    let (mut stable, mut numbers) = (keys, [0; ITEMS]);
    unrolled!(k < ITEMS of 32 => { (stable[k], numbers[k]) = pairs[k]; });
    dump_at(sorted, 2 * tile * 32 + lane, stable);
    dump_at(order, tile * 32 + lane, numbers);
    let ascending = warp::sort_items_unstable(keys, |a, b| a < b);
    dump_at(sorted, (2 * tile + 1) * 32 + lane, ascending);
}

/// For each element of each warp's tile: 1 for a head of a run, 2 for a tail. The neighbors of a tile are those in `values`, or
/// with `alone` nothing.
#[kernel(instances(b1: (u8, 1), w3: (u32, 3), l4: (u64, 4)))]
pub unsafe fn warp_tile_marks<T: Plain + Shuffle + PartialEq, const ITEMS: usize>(
    values: Global<T>,
    marks: GlobalMut<u8>,
    alone: u32,
) {
    let (tile, lane) = place();
    let (from, to) = (tile * 32 * ITEMS, (tile + 1) * 32 * ITEMS);
    let items: [T; ITEMS] = held_at(values, tile * 32 + lane);
    let before = (alone == 0 && from > 0).then(|| values.get(from - 1));
    let after = (alone == 0 && to < values.len()).then(|| values.get(to));
    let heads = warp::run_heads(items, before, |a, b| a == b);
    let tails = warp::run_tails(items, after, |a, b| a == b);
    let mut both = [0; ITEMS];
    unrolled!(k < ITEMS of 32 => { both[k] = u8::from(heads[k]) + 2 * u8::from(tails[k]); });
    dump_at(marks, tile * 32 + lane, both);
}

/// Ranks the values of each warp's tile, in striped order, by their lowest `BITS` bits. `counts`: for each lane how many have
/// lower digits, and how many have its own index.
#[kernel(instances(i1: (1, 1), i3: (3, 5), i4: (4, 4), i32: (32, 2)))]
pub unsafe fn warp_ranks<const ITEMS: usize, const BITS: u32>(
    values: Global<u32>,
    ranks: GlobalMut<u32>,
    counts: GlobalMut<u32>,
) {
    let (tile, lane) = place();
    let mut digits = warp::load_striped::<u32, ITEMS>(values, tile * 32 * ITEMS);
    unrolled!(k < ITEMS of 32 => { digits[k] &= (1 << BITS) - 1; });
    let ranked = warp::rank_digits::<ITEMS, BITS>(digits);
    warp::store_striped(ranks, tile * 32 * ITEMS, ranked.ranks);
    dump_at(counts, tile * 32 + lane, [ranked.before, ranked.count]);
}

/// Two results for a lane: the warp's values sorted, ascending; and its pairs of value and lane, descending by the value's
/// lowest 3 bits, as `value << 5 | lane`.
#[kernel]
pub unsafe fn warp_sorts(values: Global<u32>, results: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    let value = values.get(i);
    results.set(2 * i, warp::sort(value, |a, b| a < b));
    let pair = (value, warp::lane_id());
    let (value, lane) = warp::sort(pair, |a: (u32, u32), b: (u32, u32)| {
        (b.0 & 7, a.1) < (a.0 & 7, b.1)
    });
    results.set(2 * i + 1, value << 5 | lane);
}
