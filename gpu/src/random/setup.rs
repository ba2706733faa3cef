//! Makes the states of XORWOW, from which the kernels of every variant continue.

use cuda_std::{prelude::*, random::Xorwow};

use super::{
    policy::{BLOCK, SEQUENCES},
    source::store,
};

/// Makes the states of sequence `first_sequence` and those after it, as they are after the stream's first `quads` quads.
///
/// Launch: blocks of 256 threads along x, one thread per sequence; no shared memory. Writes 24 bytes per sequence;
/// about 160 steps of the generator for each bit that is set in a sequence's number and in its offset. Exact.
///
/// # Safety
/// `states` has 6 words for each of the 65536 sequences, and the grid has a thread for each.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn random_setup(states: GlobalMut<u32>, seed: u64, first_sequence: u64, quads: u64) {
    let sequence = thread::index_1d_wide();
    if sequence >= SEQUENCES {
        return;
    }
    let (rounds, begun) = (quads / SEQUENCES as u64, quads % SEQUENCES as u64);
    let used = rounds + u64::from((sequence as u64) < begun);
    let number = first_sequence.wrapping_add(sequence as u64);
    store(states, sequence, &Xorwow::new(seed, number, 4 * used));
}
