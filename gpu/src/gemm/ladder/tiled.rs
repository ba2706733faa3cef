//! `tiled`: square tiles of A and B in shared memory.

use cuda_std::{F8E4M3, F8E5M2, bf16, f16, prelude::*};

use crate::gemm::{
    output::Output,
    policy::{RUNG_GROUP, RUNG_TILE},
    problem::*,
};

/// The length of a tile's row with padding, so that an operand that is read along its columns has no bank conflicts.
const PITCH: usize = RUNG_TILE + 1;

/// Computes `C = alpha * op(A) * op(B) + beta * C`, one thread per element of C. A block loads a 32 x 32 tile of op(A) and one
/// of op(B) into shared memory, adds their products, and continues along k.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each.
///
/// Launch: one block of 32 x 32 threads per tile of C; static shared memory of 2 x 32 x 33 elements. Reads `2 * m * n * k / 32`
/// elements, and C unless `beta` is 0; writes `m * n`. `m * n * k` fused multiply-adds, in the order of k; the same bits on
/// every device.
///
/// # Safety
/// `a`, `b` and `c` hold every element that `problem` covers; `c` overlaps no other view. The views behind it hold what `beta`
/// and the epilogue take of them; `addend` may be `c`.
#[kernel(launch_bounds((RUNG_TILE * RUNG_TILE) as u32), instances(f32, f64, f16, bf16, i8, e4m3: (F8E4M3), e5m2: (F8E5M2)))]
pub unsafe fn gemm_tiled<T: Element>(
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
    let tile_a = shared![T; RUNG_TILE * PITCH];
    let tile_b = shared![T; RUNG_TILE * PITCH];
    let (number, top, left) = tile_origin(&problem, RUNG_GROUP, RUNG_TILE, RUNG_TILE);
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
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let mut sum = T::Scale::ZERO;
    let mut from = 0;
    while from < problem.k {
        load(tile_a, a, problem.a, [top, from], [problem.m, problem.k]);
        load(tile_b, b, problem.b, [from, left], [problem.k, problem.n]);
        thread::sync_threads();
        let count = (problem.k - from).min(RUNG_TILE);
        let mut k = 0;
        while k < count {
            let (x, y) = (tile_a.get(y * PITCH + k), tile_b.get(k * PITCH + x));
            sum = x.widen().mul_add(y.widen(), sum);
            k += 1;
        }
        thread::sync_threads();
        from += RUNG_TILE;
    }
    let (row, column) = (top + y, left + x);
    if row < problem.m && column < problem.n {
        out.write(&problem, [row, column], sum);
    }
}

/// Loads the tile at `origin` of an operand of `size` rows and columns. Neighboring lanes load elements that are adjacent in
/// memory.
#[inline(always)]
#[track_caller]
fn load<T: Element>(
    tile: Shared<T>,
    from: Global<T>,
    strides: Strides,
    origin: [usize; 2],
    size: [usize; 2],
) {
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (row, column) = if strides.column == 1 { (y, x) } else { (x, y) };
    // Elements outside of the operand are needed too: lanes without an element of C add them like the others.
    let inside = origin[0] + row < size[0] && origin[1] + column < size[1];
    let value = if inside {
        from.get(strides.at(origin[0] + row, origin[1] + column))
    } else {
        T::ZERO
    };
    tile.set(row * PITCH + column, value);
}
