//! Defects planted in the radix sorts of `gpu/src/sort`: the digits of each block's keys.

use cuda_std::prelude::*;

const DIGITS: usize = 256;

/// `best` without the barrier between clearing the counts of the digits and counting.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn sort_best_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let counts = shared![u32; DIGITS];
    let i = thread::index_1d_wide();
    counts.set(i % DIGITS, 0);
    if !DEFECT {
        thread::sync_threads();
    }
    if i < input.len() {
        counts.atomic_add(input.get(i) as usize * 37 % DIGITS, 1); // HERE: race, init
    }
    thread::sync_threads();
    output.set(i, counts.get(i % DIGITS));
}
