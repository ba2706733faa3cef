//! How rungs write C from sums in registers.

use cuda_std::{prelude::*, unrolled};

use crate::gemm::problem::*;

/// The sums that a thread writes at once.
pub(super) const AT_ONCE: usize = 8;

/// Writes the elements of C that belong to these sums and are inside. `place` returns the row and the column of one.
///
/// Registers have no computed index, so that a loop over sums is a copy of its body for each. So the thread puts them to its
/// own places of shared memory, and what is done with an element is compiled once for all. `staging` has [`AT_ONCE`] elements
/// for each thread of the block.
#[inline(always)]
#[track_caller]
pub(super) fn write<T: Element<Result = T>>(
    sums: [T::Scale; AT_ONCE],
    place: impl Fn(usize) -> [usize; 2],
    staging: Shared<T::Scale>,
    (c, bias): (GlobalMut<T>, Global<T>),
    problem: &Problem,
    [alpha, beta]: [T::Scale; 2],
) {
    let (own, threads) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    unrolled!(i < AT_ONCE => { staging.set(i * threads + own, sums[i]); });
    let mut i = 0;
    while i < AT_ONCE {
        let [row, column] = place(i);
        if row < problem.m && column < problem.n {
            let (sum, at) = (staging.get(i * threads + own), row * problem.ldc + column);
            let value = scaled(alpha, sum, beta, || c.get(at));
            c.set(at, T::rounded(problem.epilogue.apply(value, bias, column)));
        }
        i += 1;
    }
}
