//! `best` for large inputs: as many blocks as are resident, each with a ring of tiles in shared memory.

use cuda_std::{
    bf16, f16,
    map::{First, Passed, Second},
    prelude::*,
    select::{Arguments, Arrays, Neighbors, Predicate, select_persistent},
};

use super::{instances::with_predicates, policy::Policy, predicates::*};
use crate::tuning::numbers;

/// Writes the selected elements in order, in one launch: see [`select_persistent`] for the arguments and how it works.
///
/// Launch: any number of blocks of [`Ring::threads`](super::policy::Ring::threads) threads, as many as are resident; dynamic
/// shared memory of [`Ring::bytes`](super::policy::Ring::bytes). Reads every element once and writes every selected element
/// once; reads the status of every tile once in every block. Exact, so the result is that of
/// [`select_best`](super::select_best).
///
/// # Safety
/// The contract of [`select_persistent`] must hold.
#[kernel(
    launch_bounds(
        numbers::<Policy, First<F>>(ROW).ring.threads as u32,
        numbers::<Policy, First<F>>(ROW).ring.resident
    ),
    dynamic_shared(numbers::<Policy, First<F>>(ROW).ring.bytes()),
    instances = with_predicates,
    tuned(compare_u8 as u8: 0..12, compare_f32 as f32: 0..12)
)]
pub unsafe fn select_best_persistent<F: Predicate, A: Arguments<F>, const ROW: usize>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    output: GlobalMut<First<F>>,
    count: GlobalMut<u64>,
) {
    macro_rules! rings {
        ($($threads:literal x $rounds:literal x $slots:literal),*) => {
            match const {
                let ring = numbers::<Policy, First<F>>(ROW).ring;
                (ring.threads, ring.rounds, ring.slots)
            } {
                $(($threads, $rounds, $slots) => {
                    select_persistent::<F, A, $threads, $rounds, $slots>(
                        predicate, items, second, control, statuses, output, count,
                    );
                })*
                _ => unreachable!(),
            }
        };
    }
    rings!(
        256 x 4 x 4, 256 x 4 x 3, 256 x 8 x 3, 512 x 4 x 3, 512 x 4 x 4, 128 x 8 x 4, 256 x 2 x 4, 512 x 2 x 4, 256 x 3 x 4
    );
}
