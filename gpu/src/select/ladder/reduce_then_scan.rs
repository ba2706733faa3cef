//! `reduce_then_scan`: a block counts and writes 4096 neighboring elements, its threads side by side.

use cuda_std::{
    bf16, block, f16,
    map::{First, Passed, Second},
    prelude::*,
    select::{Arguments, Arrays, Neighbors, Predicate, is_selected},
};

use super::Places;
use crate::select::{
    instances::with_predicates,
    policy::{RUNG_BLOCK, RUNG_TILE},
    predicates::*,
};

/// Writes to `counts[b]` how many of the 4096 elements from `4096 * b` on are selected, for every block `b`.
///
/// Launch: a block of 256 threads per element of `counts`; 32 bytes of static shared memory. Reads every element once.
///
/// # Safety
/// `second` is as long as `items` if the predicate takes two arrays. `counts` has an element for each 4096 items, rounded up.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_predicates)]
pub unsafe fn select_tile_count<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    counts: GlobalMut<u64>,
) {
    let memory = shared![u32; block::scan_len(RUNG_BLOCK)];
    let b = thread::block_idx_x() as usize;
    let end = items.len().min((b + 1) * RUNG_TILE);
    let mut count = 0;
    let mut i = b * RUNG_TILE + thread::thread_idx_x() as usize;
    while i < end {
        count += u32::from(is_selected::<F, A>(predicate, items, second, i));
        i += RUNG_BLOCK;
    }
    let count = block::reduce::<_, RUNG_BLOCK>(count, memory, |a, b| a + b);
    if thread::thread_idx_x() == 0 {
        counts.set(b, u64::from(count));
    }
}

/// Writes the selected elements of each 4096 behind the `before[b]` ones that come before them. In the mode
/// [`PARTITION`](cuda_std::select::PARTITION) the others follow behind all `total[0]` selected elements.
///
/// Launch: as [`select_tile_count`]. 16 rounds of a scan over the block, each with two barriers. Reads every element once, and
/// writes each selected one.
///
/// # Safety
/// As for [`select_tile_count`]; `before` are the exclusive sums of its counts and `total` is their sum. `output` has room for
/// the selected elements, or in the mode `PARTITION` for all, and does not overlap the inputs.
#[kernel(launch_bounds(RUNG_BLOCK as u32), instances = with_predicates)]
pub unsafe fn select_tile_scatter<F: Predicate, A: Arguments<F>>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    mode: u32,
    before: Global<u64>,
    output: GlobalMut<First<F>>,
    total: Global<u64>,
) {
    let memory = shared![u32; block::scan_len(RUNG_BLOCK)];
    let b = thread::block_idx_x() as usize;
    let mut places = Places {
        selected: before.get(b) as usize,
        total: total.get(0) as usize,
        mode,
    };
    let mut first = b * RUNG_TILE;
    let end = items.len().min(first + RUNG_TILE);
    while first < end {
        let i = first + thread::thread_idx_x() as usize;
        let selected = i < end && is_selected::<F, A>(predicate, items, second, i);
        let add = |a: u32, b: u32| a + b;
        let (rank, all) =
            block::exclusive_scan::<_, RUNG_BLOCK>(u32::from(selected), 0, memory, add);
        if i < end {
            places.write(output, i, items.get(i), selected, rank as usize);
        }
        places.selected += all as usize;
        thread::sync_threads();
        first += RUNG_BLOCK;
    }
}
