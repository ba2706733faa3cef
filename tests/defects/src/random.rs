//! Defects planted in the random numbers (`gpu/src/random`): words of XORWOW from states in memory, and of
//! Philox by their number.

use cuda_std::{
    prelude::*,
    random::{Philox4x32, Xorwow},
};

const SEED: u64 = 7;
/// Words of a state of XORWOW.
const STATE_WORDS: usize = 6;
/// Elements that four words make.
const QUAD: usize = 4;

/// The state of a sequence: word `w` is element `w * sequences + sequence`.
#[inline(always)]
#[track_caller]
fn load(states: GlobalMut<u32>, sequence: usize, sequences: usize) -> Xorwow {
    let mut state = [0; STATE_WORDS];
    for word in 0..STATE_WORDS {
        state[word] = states.get(word * sequences + sequence);
    }
    Xorwow::from_state(state)
}

/// See [`load`].
#[inline(always)]
#[track_caller]
fn store(states: GlobalMut<u32>, sequence: usize, sequences: usize, generator: &Xorwow) {
    let state = generator.state();
    for word in 0..STATE_WORDS {
        states.set(word * sequences + sequence, state[word]);
    }
}

/// `per_thread` of XORWOW where two lanes go on from the state of one sequence.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn random_shared_state<const DEFECT: bool>(
    _input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    n: usize,
) {
    let i = thread::index_1d_wide();
    if i >= n {
        return;
    }
    let sequence = if DEFECT { i / 2 } else { i };
    let mut generator = load(scratch, sequence, n); // HERE: race
    output.set(i, generator.next_word());
    store(scratch, sequence, n, &generator); // HERE: race
}

/// `setup` that leaves out the last sequence, and `per_thread`, which goes on from its state.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn random_state_not_set_up<const DEFECT: bool>(
    _input: Global<u32>,
    output: GlobalMut<u32>,
    scratch: GlobalMut<u32>,
    n: usize,
) {
    let sequence = thread::index_1d_wide();
    if sequence < n - DEFECT as usize {
        store(scratch, sequence, n, &Xorwow::new(SEED, sequence as u64, 0));
    }
    if sequence < n {
        let mut generator = load(scratch, sequence, n); // HERE: init
        output.set(sequence, generator.next_word());
        store(scratch, sequence, n, &generator);
    }
}

/// `per_thread` of Philox for the elements from `n` on, whose first two threads both write the quad that
/// neither begins nor ends in the part.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn random_quad_twice<const DEFECT: bool>(
    _input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    n: usize,
) {
    let make = |quad: usize| {
        let mut generator = Philox4x32::new(SEED, 0, (QUAD * quad) as u64);
        let a = generator.next_word();
        let b = generator.next_word();
        let c = generator.next_word();
        let d = generator.next_word();
        [a, b, c, d]
    };
    let (first, end) = (n.div_ceil(QUAD), (n + output.len()) / QUAD);
    let (first_quad, end_quad) = (n / QUAD, (n + output.len()).div_ceil(QUAD));
    let thread = thread::index_1d_wide();
    let mut quad = first + thread;
    while quad < end {
        let elements = make(quad);
        for k in 0..QUAD {
            output.set(quad * QUAD + k - n, elements[k]);
        }
        quad += thread::grid_stride();
    }
    let head = thread == 0 && first_quad < first;
    // Where one quad is both, it is the head's.
    let tail = thread == 1 && (DEFECT || first <= end) && end < end_quad;
    if head || tail {
        let quad = if head { first_quad } else { end };
        let elements = make(quad);
        for k in 0..QUAD {
            let at = (quad * QUAD + k).wrapping_sub(n);
            if at < output.len() {
                output.set(at, elements[k]); // HERE: race
            }
        }
    }
}
