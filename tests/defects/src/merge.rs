//! Defects planted in the merges of `gpu/src/merge`: a block finds the place of each element of its tile's halves.

use cuda_std::prelude::*;

const BLOCK: usize = 256;
const HALF: usize = BLOCK / 2;

/// `best` without the barrier between filling the tile and the searches in it.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn merge_best_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let tile = shared![u32; BLOCK];
    let i = thread::index_1d_wide();
    let t = i % BLOCK;
    let value = if i < input.len() { input.get(i) } else { 0 };
    tile.set(t, value);
    if !DEFECT {
        thread::sync_threads();
    }
    let (mut low, mut high) = (0, HALF);
    let other = if t < HALF { HALF } else { 0 };
    while low < high {
        let middle = (low + high) / 2;
        let found = tile.get(other + middle); // HERE: race, init
        if found < value || t >= HALF && found == value {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    output.set(i, (t % HALF + low) as u32);
}
