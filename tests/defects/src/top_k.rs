//! Defects planted in the top-k of `gpu/src/top_k`: what the thread that finds a threshold tells the others.

use cuda_std::prelude::*;

const BLOCK: usize = 256;

/// `best` without the barrier between the thread that finds the threshold and those that compare with it.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn top_k_best_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let threshold = shared![u32; 1];
    let i = thread::index_1d_wide();
    let value = if i < input.len() { input.get(i) } else { 0 };
    if i % BLOCK == BLOCK / 2 {
        threshold.set(0, value);
    }
    if !DEFECT {
        thread::sync_threads();
    }
    let is_above = value > threshold.get(0); // HERE: race, init
    output.set(i, u32::from(is_above));
}
