//! How rungs write C from the sums of a warpgroup.

use cuda_std::{unrolled, wgmma::Factor};

use crate::gemm::{band::Half, output::Output, problem::*, staging::Staging};

/// Writes the elements of C of a warpgroup's sums that are inside, in panels of 64 x 64 elements, the first of which is at
/// `top` and `left`.
#[inline(always)]
#[track_caller]
pub(super) fn write_panels<T: Half + Factor<Sum = f32>, const SUMS: usize>(
    sums: &[f32; SUMS],
    [top, left]: [usize; 2],
    staging: &Staging<T>,
    out: &Output<T>,
    problem: &Problem,
) {
    let is_aligned = out.is_aligned(problem, 16);
    staging.meet();
    unrolled!(panel < { SUMS / 32 } of 4 => {
        let mut part = [0.0; 32];
        unrolled!(i < 8 => {
            unrolled!(j < 4 => { part[4 * i + j] = sums[32 * panel + 4 * i + j]; });
        });
        let corner = [top, left + 64 * panel];
        let bias = out.bias_of(problem, corner[1] + staging.chunk().1);
        staging.put_sums(staging.rows(), part);
        staging.write(out, &bias, problem, corner, is_aligned);
    });
}
