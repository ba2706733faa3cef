//! Defects planted in the selections of `gpu/src/select`: the odd elements of each block's part.

use cuda_std::{prelude::*, warp::FULL_MASK};

const BLOCK: usize = 256;

/// `best` without the barrier between the warps' counts and their sums.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn select_best_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let counts = shared![u32; BLOCK / 32];
    let i = thread::index_1d_wide();
    let (warp, lane) = (i % BLOCK / 32, i % 32);
    let value = if i < input.len() { input.get(i) } else { 0 };
    let selected = warp::ballot(FULL_MASK, value % 2 == 1);
    if lane == 0 {
        counts.set(warp, selected.count_ones());
    }
    if !DEFECT {
        thread::sync_threads();
    }
    let mut before = (selected & ((1 << lane) - 1)).count_ones();
    let mut other = 0;
    while other < warp {
        before = before.wrapping_add(counts.get(other)); // HERE: race, init
        other += 1;
    }
    if value % 2 == 1 {
        output.set(i / BLOCK * BLOCK + before as usize % BLOCK, value);
    }
}

/// `best_persistent` with the elements of a tile read behind the barrier, where other threads move theirs to the tile's front.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn select_persistent_read_late<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; BLOCK];
    let counts = shared![u32; BLOCK / 32];
    let i = thread::index_1d_wide();
    let (warp, lane) = (i % BLOCK / 32, i % 32);
    let value = if i < input.len() { input.get(i) } else { 0 };
    tile.set(i % BLOCK, value);
    let is_odd = value % 2 == 1;
    let selected = warp::ballot(FULL_MASK, is_odd);
    if lane == 0 {
        counts.set(warp, selected.count_ones());
    }
    let early = if DEFECT { 0 } else { tile.get(i % BLOCK) };
    thread::sync_threads();
    let mut before = (selected & ((1 << lane) - 1)).count_ones();
    let mut other = 0;
    while other < warp {
        before += counts.get(other);
        other += 1;
    }
    let element = if DEFECT { tile.get(i % BLOCK) } else { early }; // HERE: race
    if is_odd {
        tile.set(before as usize, element); // HERE: race
    }
    thread::sync_threads();
    output.set(i, tile.get(i % BLOCK));
}
