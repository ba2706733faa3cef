//! `naive`: one thread per element of C.

use cuda_std::{F8E4M3, F8E5M2, bf16, f16, prelude::*};

use crate::gemm::{
    output::Output,
    policy::{NAIVE_ROWS, RUNG_GROUP, RUNG_TILE},
    problem::*,
};

/// Computes `C = alpha * op(A) * op(B) + beta * C`, one thread per element of C. A thread reads a row of op(A) and a column of
/// op(B) from global memory, and shares only the caches with the others.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each.
///
/// Launch: one block of 32 x 8 threads per 8 x 32 tile of C; no shared memory. Reads `2 * m * n * k` elements, and C unless
/// `beta` is 0; writes `m * n`. `m * n * k` fused multiply-adds, in the order of k; the same bits on every device.
///
/// # Safety
/// `a`, `b` and `c` hold every element that `problem` covers; `c` overlaps no other view. The views behind it hold what `beta`
/// and the epilogue take of them; `addend` may be `c`.
#[kernel(launch_bounds((RUNG_TILE * NAIVE_ROWS) as u32), instances(f32, f64, f16, bf16, i8, e4m3: (F8E4M3), e5m2: (F8E5M2)))]
pub unsafe fn gemm_naive<T: Element>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<T::Result>,
    problem: Problem,
    alpha: T::Scale,
    beta: T::Scale,
    addend: GlobalMut<T::Result>,
    bias: Global<T::Result>,
    row_scales: Global<T::Scale>,
    column_scales: Global<T::Scale>,
) {
    let (number, top, left) = tile_origin(&problem, RUNG_GROUP, NAIVE_ROWS, RUNG_TILE);
    let (a, b) = problem.operands(number, a, b);
    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    let out = out.of_product(&problem, number);
    let row = top + thread::thread_idx_y() as usize;
    let column = left + thread::thread_idx_x() as usize;
    if row < problem.m && column < problem.n {
        let mut sum = T::Scale::ZERO;
        let mut k = 0;
        while k < problem.k {
            let (x, y) = (a.get(problem.a.at(row, k)), b.get(problem.b.at(k, column)));
            sum = x.widen().mul_add(y.widen(), sum);
            k += 1;
        }
        out.write(&problem, [row, column], sum);
    }
}
