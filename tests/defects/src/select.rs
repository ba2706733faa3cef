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
