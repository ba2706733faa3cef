//! How rungs write C from fragments of sums.

use cuda_std::{prelude::*, unrolled};

use crate::gemm::{output::Output, problem::*};

/// The sums that a thread writes at once.
pub(super) const AT_ONCE: usize = 8;

/// Writes the elements of C of a warp's 4 x 4 fragments of 16 x 8 elements, the first of which is at `corner`.
#[inline(always)]
#[track_caller]
pub(super) fn write_fragments<T: Element<Result = T>>(
    sums: [[[T::Scale; 4]; 4]; 4],
    [top, left]: [usize; 2],
    staging: Shared<T::Scale>,
    out: &Output<T>,
    problem: &Problem,
) {
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let own = (thread as usize, threads as usize);
    let lane = own.0 % 32;
    let (row, column) = (top + lane / 4, left + lane % 4 * 2);
    // A lane has two elements of a row of a fragment, and two 8 rows below.
    unrolled!(i < 8 => {
        let mut of_a_row = [T::Scale::ZERO; AT_ONCE];
        unrolled!(j < AT_ONCE => { of_a_row[j] = sums[i / 2][j / 2][i % 2 * 2 + j % 2]; });
        let place = |j: usize| [row + 8 * i, column + j / 2 * 8 + j % 2];
        out.write_all(problem, of_a_row, place, staging, own);
    });
}
