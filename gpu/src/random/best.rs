//! `best`: four words and one wide store at a time.

use cuda_std::{prelude::*, random::Philox4x32};

use super::{
    distribution::*,
    policy::Policy,
    source::{Part, by_number, by_sequence},
    with_distributions,
};
use crate::tuning::numbers;

/// Writes elements `first` to `first + output.len() - 1` of the stream of Philox4x32-10. A thread makes each block from its
/// number alone, and stores its elements with one 16-byte store: the stores of a warp are 512 contiguous bytes. Elements of a
/// quad that is not aligned for that, or is at an end, are stored one by one.
///
/// Launch: any number of blocks of [`Policy::block`] threads along x; no shared memory except for the Poisson table, if it
/// fits. Writes every element once. The same bits on every device.
///
/// # Safety
/// `first + output.len()` elements are fewer than 2^64 words. The numbers of all quads that have elements in the output share
/// their upper word, and `keys` are [`run_keys`](Philox4x32::run_keys) of it and of the sequence. The elements may be counted
/// from the first of these quads.
#[kernel(
    launch_bounds(
        numbers::<Policy, D::Out>(ROW).block as u32,
        numbers::<Policy, D::Out>(ROW).resident
    ),
    instances = with_distributions,
    tuned(uniform_f32 as uniform: 0..10, normal_f32 as normal: 0..10)
)]
pub unsafe fn random_best_philox<D: Distribution, const ROW: usize>(
    output: GlobalMut<D::Out>,
    distribution: D,
    keys: [[u32; 2]; Philox4x32::ROUNDS],
    first: u64,
) {
    let part = Part::<D>::new(output, first);
    by_number(part, distribution, part.aligned(), |quad| {
        Philox4x32::block_of(quad as u32, keys)
    });
}

/// Writes elements `first` to `first + output.len() - 1` of the stream of XORWOW, from the states in memory, and updates the
/// states. A thread has one sequence, and stores the elements of each four words as `random_best_philox` does.
///
/// Launch: blocks of [`Policy::block`] threads along x, one thread for each of the 65536 sequences; no shared memory. Writes
/// every element once, and reads and writes the states of the sequences that it uses. The same bits on every device.
///
/// # Safety
/// As for `random_per_thread_xorwow`.
#[kernel(
    launch_bounds(
        numbers::<Policy, D::Out>(ROW).block as u32,
        numbers::<Policy, D::Out>(ROW).resident
    ),
    instances = with_distributions,
    tuned(uniform_f32 as uniform: 0..10, normal_f32 as normal: 0..10)
)]
pub unsafe fn random_best_xorwow<D: Distribution, const ROW: usize>(
    output: GlobalMut<D::Out>,
    distribution: D,
    states: GlobalMut<u32>,
    first: u64,
) {
    let part = Part::<D>::new(output, first);
    by_sequence(part, distribution, states, part.aligned());
}
