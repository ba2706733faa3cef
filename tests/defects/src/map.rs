//! Defects planted in the elementwise map (`gpu/src/map`).

use cuda_std::prelude::*;

/// `rolled` whose stride is the block instead of the grid: blocks do each other's work.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn map_rolled_block_stride<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let stride = if DEFECT {
        thread::block_dim_x() as usize
    } else {
        thread::grid_stride()
    };
    let mut i = thread::index_1d_wide();
    while i < input.len() {
        output.set(i, input.get(i).wrapping_mul(3)); // HERE: race
        i += stride;
    }
}

/// `direct` without a look at the length.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn map_direct_unguarded<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let i = thread::index_1d_wide();
    if DEFECT || i < input.len() {
        output.set(i, input.get(i).wrapping_mul(3)); // HERE: mem
    }
}

/// `best` whose last lanes move four elements where fewer are left.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn map_best_ragged_tail<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let first = 4 * thread::index_1d_wide();
    if first + 4 <= input.len() || (DEFECT && first < input.len()) {
        let [a, b, c, d] = input.get_chunk::<4>(first); // HERE: mem
        output.set_chunk(first, [a, b, c, d].map(|value| value.wrapping_mul(3)));
    }
}
