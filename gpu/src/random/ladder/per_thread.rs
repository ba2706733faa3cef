//! `per_thread`: a generator per thread, one element stored at a time.

use cuda_std::{prelude::*, random::Philox4x32};

use crate::random::{
    distribution::*,
    policy::BLOCK,
    source::{Part, by_number, by_sequence},
    with_distributions,
};

/// Writes elements `first` to `first + output.len() - 1` of the stream of Philox4x32-10. A thread has its own generator. It
/// advances the generator to its next quad, draws four words, and stores their elements one after the other.
///
/// Launch: any number of blocks of 256 threads along x; no shared memory. Writes every element once, 4 or 8 bytes per store;
/// the stores of neighboring lanes are 16 bytes apart. The same bits on every device.
///
/// The elements are counted from quad `base`, because one past the stream's last element may be 2^64.
///
/// # Safety
/// The stream has that many quads, and `first + output.len()` elements are fewer than 2^64 words.
#[kernel(launch_bounds(BLOCK as u32), instances = with_distributions)]
pub unsafe fn random_per_thread_philox<D: Distribution>(
    output: GlobalMut<D::Out>,
    distribution: D,
    seed: u64,
    sequence: u64,
    base: u64,
    first: u64,
) {
    let part = Part::<D>::new(output, first);
    by_number(part, distribution, false, |quad| {
        let mut generator = Philox4x32::new(seed, sequence, 4 * (base + quad));
        let a = generator.next_word();
        let b = generator.next_word();
        let c = generator.next_word();
        let d = generator.next_word();
        [a, b, c, d]
    });
}

/// Writes elements `first` to `first + output.len() - 1` of the stream of XORWOW, from the states in memory, and updates the
/// states. A thread has one sequence, and stores one element after the other.
///
/// Launch: blocks of 256 threads along x, one thread for each of the 65536 sequences; no shared memory. Writes every
/// element once, 4 or 8 bytes per store, and reads and writes the states of the sequences that it uses. The
/// same bits on every device. The elements may be counted from any quad of the first sequence.
///
/// # Safety
/// `states` come from `random_setup`, or from a kernel of this family after it, at the quad that has element `first`. The grid
/// has a thread for each sequence. `first + output.len()` elements are fewer than 2^64 words.
#[kernel(launch_bounds(BLOCK as u32), instances = with_distributions)]
pub unsafe fn random_per_thread_xorwow<D: Distribution>(
    output: GlobalMut<D::Out>,
    distribution: D,
    states: GlobalMut<u32>,
    first: u64,
) {
    let part = Part::<D>::new(output, first);
    by_sequence(part, distribution, states, false);
}
