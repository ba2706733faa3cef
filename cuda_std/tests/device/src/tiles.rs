//! Tiles of blocks: loads and stores, sorts and runs of `block`.
//!
//! Each kernel writes what its threads hold, thread by thread, so that the order shows.

use cuda_std::{
    Plain,
    block::{self, Runs},
    prelude::*,
    shared::DynamicShared,
    unrolled,
};

/// The threads of the blocks of [`tile_loads`] and [`tile_stores`].
pub const TILE_THREADS: usize = 96;

/// Writes a thread's items behind those of the threads before it, from tile `tile` on.
#[inline(always)]
fn dump<T: Plain, const THREADS: usize, const ITEMS: usize>(
    output: GlobalMut<T>,
    tile: usize,
    items: [T; ITEMS],
) {
    dump_at(
        output,
        tile * THREADS + thread::thread_idx_x() as usize,
        items,
    );
}

/// Writes a lane's items behind those of `lane` lanes.
#[inline(always)]
pub(crate) fn dump_at<T: Plain, const ITEMS: usize>(
    output: GlobalMut<T>,
    lane: usize,
    items: [T; ITEMS],
) {
    let first = lane * ITEMS;
    unrolled!(k < ITEMS of 32 => { output.set(first + k, items[k]); });
}

/// Reads what [`dump`] writes.
#[inline(always)]
fn held<T: Plain, const THREADS: usize, const ITEMS: usize>(
    input: Global<T>,
    tile: usize,
) -> [T; ITEMS] {
    held_at(input, tile * THREADS + thread::thread_idx_x() as usize)
}

/// Reads what [`dump_at`] writes.
#[inline(always)]
pub(crate) fn held_at<T: Plain, const ITEMS: usize>(input: Global<T>, lane: usize) -> [T; ITEMS] {
    let first = lane * ITEMS;
    let mut items = [input.get(first); ITEMS];
    unrolled!(k < ITEMS of 32 => { items[k] = input.get(first + k); });
    items
}

/// Loads a tile per block, from element `first` on: in striped and in blocked order, tiles one behind the other. `whole`: by
/// the functions for whole tiles; otherwise elements from `end` on are `fill`.
#[kernel(instances(
    w1: (u32, 1), w4: (u32, 4), w6: (u32, 6), b7: (u8, 7), b16: (u8, 16), l2: (u64, 2), h32: (u16, 32), q1: (u128, 1)
))]
pub unsafe fn tile_loads<T: Plain, const ITEMS: usize>(
    values: Global<T>,
    results: GlobalMut<T>,
    first: u32,
    end: u32,
    fill: T,
    whole: u32,
) {
    // SAFETY: the only one in this kernel.
    let memory = unsafe { DynamicShared::new() }.carve(block::exchange_len::<ITEMS>(TILE_THREADS));
    let tile = thread::block_idx_x() as usize;
    let from = first as usize + tile * TILE_THREADS * ITEMS;
    let (striped, blocked) = if whole != 0 {
        (
            block::load_striped::<T, TILE_THREADS, ITEMS>(values, from),
            block::load_blocked::<T, TILE_THREADS, ITEMS>(values, from, memory),
        )
    } else {
        let part = from..end as usize;
        (
            block::load_striped_part::<T, TILE_THREADS, ITEMS>(values, part.clone(), fill),
            block::load_blocked_part::<T, TILE_THREADS, ITEMS>(values, part, fill, memory),
        )
    };
    dump::<T, TILE_THREADS, ITEMS>(results, 2 * tile, striped);
    dump::<T, TILE_THREADS, ITEMS>(results, 2 * tile + 1, blocked);
}

/// Stores the tiles that threads hold, from element `first` on: in striped order to `striped`, in blocked order to `blocked`.
/// `whole` as in [`tile_loads`].
#[kernel(instances(
    w1: (u32, 1), w4: (u32, 4), w6: (u32, 6), b7: (u8, 7), b16: (u8, 16), l2: (u64, 2), h32: (u16, 32), q1: (u128, 1)
))]
pub unsafe fn tile_stores<T: Plain, const ITEMS: usize>(
    values: Global<T>,
    striped: GlobalMut<T>,
    blocked: GlobalMut<T>,
    first: u32,
    end: u32,
    whole: u32,
) {
    // SAFETY: the only one in this kernel.
    let memory = unsafe { DynamicShared::new() }.carve(block::exchange_len::<ITEMS>(TILE_THREADS));
    let tile = thread::block_idx_x() as usize;
    let items = held::<T, TILE_THREADS, ITEMS>(values, tile);
    let from = first as usize + tile * TILE_THREADS * ITEMS;
    if whole != 0 {
        block::store_striped::<T, TILE_THREADS, ITEMS>(striped, from, items);
        block::store_blocked::<T, TILE_THREADS, ITEMS>(blocked, from, items, memory);
    } else {
        let part = from..end as usize;
        block::store_striped_part::<T, TILE_THREADS, ITEMS>(striped, part.clone(), items);
        block::store_blocked_part::<T, TILE_THREADS, ITEMS>(blocked, part, items, memory);
    }
}

/// Sorts a tile per block by bits `low..high`. Keys: those of [`block::sort`], [`block::sort_to_striped`],
/// [`block::sort_pairs`] and [`block::sort_pairs_to_striped`], tiles one behind the other. Values: those of the latter two; a
/// value is its key's number.
#[kernel(instances(b1: (u8, 32, 7, 3), b2: (u16, 256, 2, 8), b4: (u32, 96, 5, 4), b8: (u64, 64, 4, 5)))]
pub unsafe fn tile_sorts<
    K: Plain + Into<u64>,
    const THREADS: usize,
    const ITEMS: usize,
    const BITS: u32,
>(
    keys: GlobalMut<K>,
    sorted: GlobalMut<K>,
    sorted_values: GlobalMut<u32>,
    low: u32,
    high: u32,
) {
    // SAFETY: the only one in this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    let keys_memory = memory.carve::<K>(block::exchange_len::<ITEMS>(THREADS));
    let values_memory = memory.carve::<u32>(block::exchange_len::<ITEMS>(THREADS));
    let counters = memory.carve::<u32>(block::rank_len(THREADS, BITS));
    let tile = thread::block_idx_x() as usize;
    let from = tile * THREADS * ITEMS;
    let keys = block::load_blocked::<K, THREADS, ITEMS>(keys, from, keys_memory);
    thread::sync_threads();
    let first = from as u32 + thread::thread_idx_x() * ITEMS as u32;
    let mut values = [0; ITEMS];
    unrolled!(k < ITEMS of 32 => { values[k] = first + k as u32; });

    let alone = block::sort::<K, THREADS, ITEMS, BITS>(keys, low..high, keys_memory, counters);
    dump::<K, THREADS, ITEMS>(sorted, 4 * tile, alone);
    thread::sync_threads();
    let alone =
        block::sort_to_striped::<K, THREADS, ITEMS, BITS>(keys, low..high, keys_memory, counters);
    dump::<K, THREADS, ITEMS>(sorted, 4 * tile + 1, alone);
    thread::sync_threads();
    let (with, order) = block::sort_pairs::<K, u32, THREADS, ITEMS, BITS>(
        keys,
        values,
        low..high,
        keys_memory,
        values_memory,
        counters,
    );
    dump::<K, THREADS, ITEMS>(sorted, 4 * tile + 2, with);
    dump::<u32, THREADS, ITEMS>(sorted_values, 2 * tile, order);
    thread::sync_threads();
    let (with, order) = block::sort_pairs_to_striped::<K, u32, THREADS, ITEMS, BITS>(
        keys,
        values,
        low..high,
        keys_memory,
        values_memory,
        counters,
    );
    dump::<K, THREADS, ITEMS>(sorted, 4 * tile + 3, with);
    dump::<u32, THREADS, ITEMS>(sorted_values, 2 * tile + 1, order);
}

/// For each element of each block's tile: 1 for a head of a run, 2 for a tail. The neighbors of a tile are those in `values`,
/// or with `alone` nothing.
#[kernel(instances(b1: (u8, 1), w5: (u32, 5), l8: (u64, 8)))]
pub unsafe fn tile_marks<T: Plain + PartialEq, const ITEMS: usize>(
    values: Global<T>,
    marks: GlobalMut<u8>,
    alone: u32,
) {
    let memory = shared![T; 64];
    let tile = thread::block_idx_x() as usize;
    let (from, to) = (tile * 64 * ITEMS, (tile + 1) * 64 * ITEMS);
    let items = held::<T, 64, ITEMS>(values, tile);
    let before = (alone == 0 && from > 0).then(|| values.get(from - 1));
    let after = (alone == 0 && to < values.len()).then(|| values.get(to));
    let heads = block::run_heads::<T, 64, ITEMS>(items, before, memory, |a, b| a == b);
    thread::sync_threads();
    let tails = block::run_tails::<T, 64, ITEMS>(items, after, memory, |a, b| a == b);
    let mut both = [0; ITEMS];
    unrolled!(k < ITEMS of 32 => { both[k] = u8::from(heads[k]) + 2 * u8::from(tails[k]); });
    dump::<u8, 64, ITEMS>(marks, tile, both);
}

/// Writes the runs of the first `len` values, a tile of one block, to `runs`: their number, then value, start and length of
/// each. Then the values again from the runs, each with its number in its run, to `values_again`: whole windows, behind the
/// end `FILL`.
#[kernel(instances(i1: (32, 1), i5: (96, 5), i32: (64, 32)))]
pub unsafe fn tile_runs<const THREADS: usize, const ITEMS: usize>(
    values: Global<u32>,
    runs: GlobalMut<u32>,
    values_again: GlobalMut<u32>,
    len: u32,
) {
    // SAFETY: the only one in this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    let run_values = memory.carve::<u32>(THREADS * ITEMS);
    let words = memory.carve::<u32>(block::runs_len::<ITEMS>(THREADS));
    let items = held::<u32, THREADS, ITEMS>(values, 0);
    let found = Runs::encode::<THREADS, ITEMS>(items, len, run_values, words, |a, b| a == b);
    put_runs(found, runs);
    expand::<THREADS>(found, values_again);
}

/// The value of items behind the last run.
pub const FILL: u32 = u32::MAX;

/// Makes runs of values and lengths, a pair each, and writes what [`tile_runs`] writes.
#[kernel(instances(i1: (32, 1), i5: (96, 5), i32: (64, 32)))]
pub unsafe fn tile_expansions<const THREADS: usize, const ITEMS: usize>(
    pairs: Global<u32>,
    runs: GlobalMut<u32>,
    expanded: GlobalMut<u32>,
) {
    // SAFETY: the only one in this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    let run_values = memory.carve::<u32>(THREADS * ITEMS);
    let words = memory.carve::<u32>(block::runs_len::<ITEMS>(THREADS));
    let first = thread::thread_idx_x() as usize * ITEMS;
    let (mut values, mut lengths) = ([0; ITEMS], [0; ITEMS]);
    unrolled!(k < ITEMS of 32 => {
        [values[k], lengths[k]] = pairs.get_chunk(2 * (first + k));
    });
    let made = Runs::from_lengths::<THREADS, ITEMS>(values, lengths, run_values, words);
    put_runs(made, runs);
    expand::<THREADS>(made, expanded);
}

#[inline(always)]
fn put_runs(found: Runs<u32>, runs: GlobalMut<u32>) {
    let mut run = thread::thread_idx_x();
    if run == 0 {
        runs.set(0, found.count());
    }
    while run < found.count() {
        let at = 1 + 3 * run as usize;
        runs.set(at, found.value(run));
        runs.set(at + 1, found.start(run));
        runs.set(at + 2, found.length(run));
        run += thread::block_dim_x();
    }
}

/// Writes all items of runs, three per thread at a time, and behind them their numbers.
#[inline(always)]
fn expand<const THREADS: usize>(runs: Runs<u32>, output: GlobalMut<u32>) {
    let (mut from, mut window) = (0, 0);
    while from < runs.items() {
        let (items, numbers) = runs.decode::<THREADS, 3>(from, FILL);
        dump::<u32, THREADS, 3>(output, 2 * window, items);
        dump::<u32, THREADS, 3>(output, 2 * window + 1, numbers);
        from += 3 * THREADS as u32;
        window += 1;
    }
}
