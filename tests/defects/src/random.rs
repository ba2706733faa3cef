//! Defects planted in the random numbers (`gpu/src/random`): a state per thread, kept between calls.

use cuda_std::prelude::*;

/// The next state of a generator: a step of xorshift (Marsaglia, 2003).
#[inline(always)]
fn step(mut state: u32) -> u32 {
    state ^= state << 13;
    state ^= state >> 17;
    state ^ (state << 5)
}

/// A generator whose state two lanes share.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn random_shared_state<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let i = thread::index_1d_wide();
    if i < input.len() {
        let own = if DEFECT { i / 2 } else { i };
        let state = step(scratch.get(own)); // HERE: race
        scratch.set(own, state); // HERE: race
        output.set(i, state);
    }
}

/// A generator that goes on from a state that was never set up.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn random_state_not_set_up<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    _n: usize,
) {
    let i = thread::index_1d_wide();
    if i < input.len() {
        if !DEFECT {
            scratch.set(i, input.get(i) | 1);
        }
        let state = step(scratch.get(i)); // HERE: init
        scratch.set(i, state);
        output.set(i, state);
    }
}

/// A generator whose blocks' parts of the output overlap.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn random_overlapping_parts<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let block = thread::block_dim_x() as usize;
    let part = if DEFECT { block - 1 } else { block };
    let i = thread::block_idx_x() as usize * part + thread::thread_idx_x() as usize;
    if i < input.len() {
        output.set(i, step(input.get(i) | 1)); // HERE: race
    }
}
