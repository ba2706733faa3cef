//! `registers`: 8 x 8 elements of C in the registers of each thread.
//!
//! ```text
//! block (tile of C):
//!     sums[8][8] = 0 in each thread's registers
//!     for each tile along k:
//!         load tiles of A and B into shared memory; barrier
//!         for each k of the tile: a[8], b[8] = shared memory at k; sums += outer product of a and b
//!         barrier
//!     C = alpha * sums + beta * C
//! ```
//!
//! In `tiled` a thread loads two elements from shared memory for each multiply-add, and these loads are the limit. Here it
//! loads 16 for 64 multiply-adds, an eighth as many. A tile of C is also larger, 128 x 128 instead of 32 x 32, so that a block
//! reads a quarter as much of A and B from global memory for each product.

use cuda_std::{F8E4M3, F8E5M2, bf16, f16, prelude::*, unrolled};

use crate::gemm::{
    output::Output,
    policy::{BEST_BLOCK, BEST_STEP, BEST_TILE, LARGE, PER_THREAD, RUNG_GROUP},
    problem::*,
};

const TILE: usize = BEST_TILE[LARGE];
const BLOCK: usize = BEST_BLOCK[LARGE];
/// The length of a tile of A or B along k.
const STEP: usize = BEST_STEP;
/// The threads across a tile, and down: the distance between the elements of a thread, so that neighboring lanes read
/// neighboring elements of shared memory.
const THREADS: usize = TILE / PER_THREAD;
/// The distance between rows of a tile in shared memory, each of which is at one k. With 4 elements of padding, lanes that
/// store elements along k have no bank conflicts.
const PITCH: usize = TILE + 4;
const _: () = assert!(THREADS * THREADS == BLOCK && PER_THREAD == 8);

/// Returns the number of blocks that must be resident at once, so that one multiplies while another waits. 64 sums of 64 bits
/// leave no registers for a second one, and those of elements of 8 bits a few too little.
const fn resident<T>() -> u32 {
    match size_of::<T>() {
        2 | 4 => 2,
        _ => 1,
    }
}

/// Computes `C = alpha * op(A) * op(B) + beta * C`, 8 x 8 elements of C per thread. A block loads 128 x 8 elements of op(A) and
/// 8 x 128 of op(B) into shared memory, adds their products, and continues along k.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each.
///
/// Launch: one block of 256 threads per 128 x 128 tile of C; static shared memory of 2 x 8 x 132 elements and 8 x 256 sums.
/// Reads `m * n * k / 64` elements, and C unless `beta` is 0; writes `m * n`. `m * n * k` fused multiply-adds, in the order of
/// k; the same bits on every device.
///
/// # Safety
/// `a`, `b` and `c` hold every element that `problem` covers; `c` overlaps no other view. The views behind it hold what `beta`
/// and the epilogue take of them; `addend` may be `c`.
///
/// Source: ours.
#[kernel(launch_bounds(BLOCK as u32, resident::<T>()), instances(f32, f64, f16, bf16, i8, e4m3: (F8E4M3), e5m2: (F8E5M2)))]
pub unsafe fn gemm_registers<T: Element>(
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
    let (tile_a, tile_b) = (shared![T; STEP * PITCH], shared![T; STEP * PITCH]);
    let staging = shared![T::Scale; BLOCK * PER_THREAD];
    let (number, top, left) = tile_origin(&problem, RUNG_GROUP, TILE, TILE);
    let (a, b) = problem.operands(number, a, b);
    let thread = thread::thread_idx_x() as usize;
    let (x, y) = (thread % THREADS, thread / THREADS);
    let (of_a, of_b) = (
        [problem.a.row, problem.a.column],
        [problem.b.column, problem.b.row],
    );
    let mut sums = [[T::Scale::ZERO; PER_THREAD]; PER_THREAD];
    let mut from = 0;
    while from < problem.k {
        load(tile_a, a, of_a, [top, problem.m], [from, problem.k]);
        load(tile_b, b, of_b, [left, problem.n], [from, problem.k]);
        thread::sync_threads();
        let count = (problem.k - from).min(STEP);
        let mut k = 0;
        while k < count {
            let (mut of_a, mut of_b) = ([T::Scale::ZERO; PER_THREAD], [T::Scale::ZERO; PER_THREAD]);
            unrolled!(i < PER_THREAD => {
                of_a[i] = tile_a.get(k * PITCH + y + i * THREADS).widen();
                of_b[i] = tile_b.get(k * PITCH + x + i * THREADS).widen();
            });
            unrolled!(i < PER_THREAD => {
                unrolled!(j < PER_THREAD => {
                    sums[i][j] = of_a[i].mul_add(of_b[j], sums[i][j]);
                });
            });
            k += 1;
        }
        thread::sync_threads();
        from += STEP;
    }
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
    unrolled!(i < PER_THREAD => {
        let place = |j: usize| [top + y + i * THREADS, left + x + j * THREADS];
        out.write_all(&problem, sums[i], place, staging, (thread, BLOCK));
    });
}

/// Loads a tile: the rows of op(A) (columns of op(B)) from `first` on at `k`, with zeros beyond `end` and `k_end`. `of_line`
/// and `of_k` are the distances between rows and along k. Neighboring lanes load elements that are adjacent in memory.
#[inline(always)]
#[track_caller]
fn load<T: Element>(
    tile: Shared<T>,
    from: Global<T>,
    [of_line, of_k]: [usize; 2],
    [first, end]: [usize; 2],
    [k, k_end]: [usize; 2],
) {
    let thread = thread::thread_idx_x() as usize;
    unrolled!(turn < { TILE * STEP / BLOCK } of 4 => {
        let i = turn * BLOCK + thread;
        let (line, along) = if of_k == 1 {
            (i / STEP, i % STEP)
        } else {
            (i % TILE, i / TILE)
        };
        let inside = first + line < end && k + along < k_end;
        let value = if inside {
            from.get((first + line) * of_line + (k + along) * of_k)
        } else {
            T::ZERO
        };
        tile.set(along * PITCH + line, value);
    });
}
