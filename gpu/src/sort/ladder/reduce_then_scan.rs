//! `reduce_then_scan`: three launches per digit of 8 bits, as radix sorts were made before tiles could wait for each other.
//!
//! ```text
//! for each digit, lowest first:
//!     launch 1: each block counts the digits of its tile: counts[digit][tile]
//!     launch 2: each block makes a row of counts sums over the tiles before, and a total
//!     launch 3: each block adds up the totals, finds the place of each key of its tile by ballots, and writes it there
//! ```
//!
//! A pass reads the keys twice and writes them once, and neighbors in the output are written by one block at different times.
//!
//! Source: Merrill, Grimshaw, "Revisiting sorting for GPGPU stream architectures", 2010.

use cuda_std::{block, prelude::*, shared::DynamicShared, unrolled};

use crate::sort::{
    best::{items::Values, keys::Starts},
    bits::{Bits, Column, DIGITS, Pass, Twists},
    policy::{RUNG_BLOCK, RUNG_ITEMS, RUNG_SCATTER_BYTES, RUNG_TILE},
    tile::Block,
};

/// Counts the digits of each tile: `counts[d * tiles + tile]`.
///
/// Launch: a block of 256 threads per tile of 4096 keys; static shared memory of 256 counters. Reads every key once. Exact.
///
/// # Safety
/// `counts` has 256 elements per tile, and nothing else uses it.
#[kernel(
    launch_bounds(RUNG_BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn sort_reduce_then_scan_count<U: Bits>(
    input: Global<U>,
    counts: GlobalMut<u64>,
    pass: Pass,
    twists: Twists<U>,
) {
    let counters = shared![u32; DIGITS];
    let (tile, tid) = (
        thread::block_idx_x() as usize,
        thread::thread_idx_x() as usize,
    );
    let tiles = thread::grid_dim_x() as usize;
    counters.set(tid, 0);
    thread::sync_threads();
    let mut i = tile * RUNG_TILE + tid;
    let end = input.len().min((tile + 1) * RUNG_TILE);
    while i < end {
        let digit = input
            .get(i)
            .twist(twists.input)
            .digit(pass.shift, pass.mask);
        counters.atomic_add(digit as usize, 1);
        i += RUNG_BLOCK;
    }
    thread::sync_threads();
    counts.set(tid * tiles + tile, counters.get(tid).into());
}

/// Makes each count of a digit the number of its keys in earlier tiles, and writes the digit's total.
///
/// Launch: 256 blocks of 256 threads, one per digit; static shared memory of 9 sums. Reads and writes every count once. Exact.
///
/// # Safety
/// `counts` has 256 rows of equal length and `totals` 256 elements, and nothing else uses them.
#[kernel(launch_bounds(RUNG_BLOCK as u32))]
pub unsafe fn sort_reduce_then_scan_places(counts: GlobalMut<u64>, totals: GlobalMut<u64>) {
    let sums = shared![u64; block::scan_len(RUNG_BLOCK)];
    let (digit, tid) = (
        thread::block_idx_x() as usize,
        thread::thread_idx_x() as usize,
    );
    let tiles = counts.len() / DIGITS;
    let mut before = 0;
    let mut from = 0;
    while from < tiles {
        let tile = from + tid;
        let count = if tile < tiles {
            counts.get(digit * tiles + tile)
        } else {
            0
        };
        let (exclusive, all) =
            block::exclusive_scan::<u64, RUNG_BLOCK>(count, before, sums, |a, b| a + b);
        if tile < tiles {
            counts.set(digit * tiles + tile, exclusive);
        }
        before = all;
        from += RUNG_BLOCK;
        // The sums are read before they are written again.
        thread::sync_threads();
    }
    if tid == 0 {
        totals.set(digit, before);
    }
}

/// Writes each key and value of each tile to its place.
///
/// Launch: a block of 256 threads per tile of 4096 keys; dynamic shared memory of `policy::RUNG_SCATTER_BYTES`. Reads and
/// writes every key and value once. Exact.
///
/// # Safety
/// `counts` and `totals` are those that the two launches before made. Otherwise as for
/// [`sort_best_items`](crate::sort::sort_best_items).
#[kernel(
    launch_bounds(RUNG_BLOCK as u32),
    dynamic_shared(RUNG_SCATTER_BYTES),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn sort_reduce_then_scan_scatter<U: Bits>(
    input: Global<U>,
    output: GlobalMut<U>,
    values_in: Global<u8>,
    values_out: GlobalMut<u8>,
    counts: Global<u64>,
    totals: Global<u64>,
    pass: Pass,
    twists: Twists<U>,
    column: Column,
) {
    let (tile, tiles) = (
        thread::block_idx_x() as usize,
        thread::grid_dim_x() as usize,
    );
    // SAFETY: the launch gives as much.
    let mut memory = unsafe { DynamicShared::new() };
    let block = Block::new(&mut memory, RUNG_BLOCK / 32);
    let starts = Starts::new(&mut memory);
    let sums = memory.carve::<u64>(block::scan_len(RUNG_BLOCK));
    let total = totals.get(block.tid);
    let (begin, _) = block::exclusive_scan::<u64, RUNG_BLOCK>(total, 0, sums, |a, b| a + b);
    let from = tile * RUNG_TILE;
    let left = (input.len() - from).min(RUNG_TILE);
    let at = |i: usize| block.warp * (32 * RUNG_ITEMS) + i * 32 + block.lane;
    let mut keys = [U::ZERO; RUNG_ITEMS];
    block.clear();
    unrolled!(i < RUNG_ITEMS of 32 => {
        if at(i) < left {
            keys[i] = input.get(from + at(i)).twist(twists.input);
            block.counts.atomic_add(block.slot(keys[i].digit(pass.shift, pass.mask)), 1);
        }
    });
    let places = block.places(RUNG_BLOCK / 32, left as u32, |_| ());
    let start = begin + counts.get(block.tid * tiles + tile);
    starts.set(block.tid, start.wrapping_sub(places.first.into()));
    thread::sync_threads();
    let values = Values {
        input: values_in,
        output: values_out,
        column,
    };
    unrolled!(i < RUNG_ITEMS of 32 => {
        let digit = keys[i].digit(pass.shift, pass.mask);
        let place = block.place_by_ballots(digit, at(i) < left);
        if at(i) < left {
            let to = starts.wide(digit, place);
            if !output.is_empty() {
                output.set(to, keys[i].untwist(twists.output));
            }
            values.copy(from + at(i), to);
        }
    });
}
