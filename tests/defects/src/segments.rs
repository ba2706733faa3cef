//! Defects planted in the reductions of `gpu/src/segments`: the tile that threads copy together and step through apart.

use cuda_std::prelude::*;

const BLOCK: usize = 256;

/// `best` without the barrier between the copy of a tile to shared memory and the steps through it.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn segments_best_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let elements = shared![u32; BLOCK];
    let i = thread::index_1d_wide();
    elements.set(i % BLOCK, if i < input.len() { input.get(i) } else { 0 });
    if !DEFECT {
        thread::sync_threads();
    }
    let mut sum = 0_u32;
    let mut step = 0;
    while step < 3 {
        sum = sum.wrapping_add(elements.get((3 * i + step) % BLOCK)); // HERE: race, init
        step += 1;
    }
    output.set(i, sum);
}
