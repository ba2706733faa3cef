//! `reduce_then_scan`: the totals of all tiles, then the prefixes of the totals, then every tile from its prefix.

use cuda_std::{
    bf16, f16,
    prelude::*,
    scan::{Scan, Start, pieces::*},
    unrolled,
};

use crate::{
    reduce::{Max, Min},
    scan::{
        instances::with_scans,
        ops::*,
        policy::{RUNG_BLOCK, RUNG_CHUNKS, RUNG_RESIDENT},
    },
};

/// The first pass: writes the total of each tile.
///
/// Launch: a block of 256 threads for each tile of 8 KiB; static shared memory of 32 accumulators, and dynamic shared memory
/// of a tile if an array does not start at a multiple of 16 bytes. Reads every element once.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `totals` has an element for each block. `output` is not accessed: its address decides whether the tile goes through shared
/// memory.
#[kernel(launch_bounds(RUNG_BLOCK as u32, RUNG_RESIDENT), instances = with_scans)]
pub unsafe fn scan_totals<R: Scan>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    totals: GlobalMut<R::Acc>,
) {
    let shared = shared![R::Acc; 32];
    let tid = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let chunks = Tile::<R, RUNG_CHUNKS>::of(input, output, RUNG_BLOCK, block).load();
    let mut sums = [R::IDENTITY; RUNG_CHUNKS];
    unrolled!(r < RUNG_CHUNKS => { sums[r] = R::total(chunks[r]); });
    let total = R::rows_total(RUNG_CHUNKS, sums);
    if tid.is_multiple_of(32) {
        shared.set(tid / 32, total);
    }
    thread::sync_threads();
    if tid < 32 {
        let total = total_of_first::<R>(shared, 0, RUNG_BLOCK / 32);
        if tid == 0 {
            totals.set(block, total);
        }
    }
}

/// The second pass: replaces each total by the prefix before it. One block goes over the totals, [`RUNG_BLOCK`] at a time.
///
/// Launch: one block of 256 threads; static shared memory of 32 accumulators. Reads and writes every total once.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// Nothing else accesses `totals`.
#[kernel(launch_bounds(RUNG_BLOCK as u32, RUNG_RESIDENT), instances = with_scans)]
pub unsafe fn scan_prefixes<R: Scan>(totals: GlobalMut<R::Acc>, start: Start) {
    let shared = shared![R::Acc; 32];
    let tid = thread::thread_idx_x() as usize;
    let warps = RUNG_BLOCK / 32;
    let mut before = start.initial(R::IDENTITY);
    let mut from = 0;
    while from < totals.len() {
        let i = from + tid;
        let own = if i < totals.len() {
            totals.get(i)
        } else {
            R::IDENTITY
        };
        // A row with one total in each chunk.
        let row = [own];
        let prefix = chunk_prefixes::<R, 1>(R::IDENTITY, row)[0];
        let total = R::rows_total(1, row);
        if tid.is_multiple_of(32) {
            shared.set(tid / 32, total);
        }
        thread::sync_threads();
        let warp = total_of_first::<R>(shared, 0, tid / 32);
        if i < totals.len() {
            totals.set(i, R::combine(before, R::combine(warp, prefix)));
        }
        before = R::combine(before, total_of_first::<R>(shared, 0, warps));
        thread::sync_threads();
        from += RUNG_BLOCK;
    }
}

/// The third pass: scans each tile from its prefix.
///
/// Launch: a block of 256 threads for each tile of 8 KiB; static shared memory of 33 accumulators, and dynamic shared memory
/// of a tile if an array does not start at a multiple of 16 bytes. Reads and writes every element once.
///
/// Determinism: the same input gives the same bits.
///
/// # Safety
/// `output` has as many elements as `input`, and is either the same array or does not overlap it. `prefixes` has an element for
/// each block.
#[kernel(launch_bounds(RUNG_BLOCK as u32, RUNG_RESIDENT), instances = with_scans)]
pub unsafe fn scan_reduce_then_scan<R: Scan>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    prefixes: Global<R::Acc>,
    start: Start,
) {
    let block = thread::block_idx_x() as usize;
    let tile = Tile::<R, RUNG_CHUNKS>::of(input, output, RUNG_BLOCK, block);
    let mut chunks = tile.load();
    scan_tile::<R, RUNG_CHUNKS>(&mut chunks, &Whole::new(start), |_| prefixes.get(block));
    tile.store(chunks);
}
