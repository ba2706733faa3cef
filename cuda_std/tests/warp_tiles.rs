//! Tiles of a warp on the CPU executor, with every check, for every number of items per lane.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block};
use cuda_std::{kernel::Kernel, prelude::*, unrolled};

/// This lane's items of the tile, or the other way.
#[inline(always)]
fn items<const ITEMS: usize>(values: Global<u32>, first: usize, step: usize) -> [u32; ITEMS] {
    let mut items = [0; ITEMS];
    unrolled!(k < ITEMS of 32 => { items[k] = values.get(first + k * step); });
    items
}

#[inline(always)]
fn put<const ITEMS: usize>(
    results: GlobalMut<u32>,
    first: usize,
    step: usize,
    items: [u32; ITEMS],
) {
    unrolled!(k < ITEMS of 32 => { results.set(first + k * step, items[k]); });
}

/// Five tiles of results: the values by way of blocked order, and from there by way of striped order; sorted by their high
/// bits, stable, and by all bits; and the ranks by the lowest three bits.
#[kernel(instances(
    i1: (1), i2: (2), i3: (3), i4: (4), i5: (5), i6: (6), i7: (7), i8: (8), i9: (9), i10: (10), i11: (11), i12: (12),
    i13: (13), i14: (14), i15: (15), i16: (16), i17: (17), i18: (18), i19: (19), i20: (20), i21: (21), i22: (22),
    i23: (23), i24: (24), i25: (25), i26: (26), i27: (27), i28: (28), i29: (29), i30: (30), i31: (31), i32: (32)
))]
pub unsafe fn tiles<const ITEMS: usize>(values: Global<u32>, results: GlobalMut<u32>) {
    let lane = warp::lane_id() as usize;
    let tile = |n: usize| n * 32 * ITEMS;
    let striped = items::<ITEMS>(values, lane, 32);
    let blocked = warp::striped_to_blocked(striped);
    put(results, tile(0) + lane * ITEMS, 1, blocked);
    put(
        results,
        tile(1) + lane,
        32,
        warp::blocked_to_striped(blocked),
    );
    let by_high_bits = warp::sort_items(blocked, |a, b| a >> 8 < b >> 8);
    put(results, tile(2) + lane * ITEMS, 1, by_high_bits);
    let by_all_bits = warp::sort_items_unstable(blocked, |a, b| a < b);
    put(results, tile(3) + lane * ITEMS, 1, by_all_bits);
    let ranked = warp::rank_digits::<ITEMS, 3>(striped.map(|value| value & 7));
    put(results, tile(4) + lane, 32, ranked.ranks);
}

/// Values without a pattern.
fn noise(count: usize, seed: u32) -> Vec<u32> {
    let mut state = 12345 + seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.rotate_left(11)
        })
        .collect()
}

fn check<K: Kernel>(items: usize) {
    let count = 32 * items;
    let two = |seed| noise(count, seed).into_iter().map(|value| value & 0x1ff);
    let kinds = [
        noise(count, 0),
        two(1).collect(),
        two(2).collect(),
        two(3).map(|value| value & 0xff).collect(),
        (0..count as u32).collect(),
        (0..count as u32).rev().map(|i| i << 5 | i & 31).collect(),
    ];
    for (kind, mut values) in kinds.into_iter().enumerate() {
        let order = ORDERS[kind % ORDERS.len()];
        let mut results = vec![0; 5 * count];
        Args::new()
            .view(&mut values)
            .view(&mut results)
            .launch_in::<K>(block(32), order)
            .unwrap();
        let what = format!("{items} items of kind {kind}, {order:?}");
        let tile = |n: usize| &results[n * count..][..count];
        assert_eq!(tile(0), values, "exchange to blocked order, {what}");
        assert_eq!(tile(1), values, "exchange to striped order, {what}");
        let mut expected = values.clone();
        expected.sort_by_key(|value| value >> 8);
        assert_eq!(tile(2), expected, "stable sort, {what}");
        expected.sort_unstable();
        assert_eq!(tile(3), expected, "sort, {what}");
        let mut sorted: Vec<usize> = (0..count).collect();
        sorted.sort_by_key(|i| values[*i] & 7);
        for (rank, item) in sorted.into_iter().enumerate() {
            assert_eq!(tile(4)[item], rank as u32, "rank of {item}, {what}");
        }
    }
}

#[test]
fn every_number_of_items() {
    macro_rules! check_all {
        ($($items:literal)*) => { $( check::<Tiles<$items>>($items); )* };
    }
    check_all!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    check_all!(17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}
