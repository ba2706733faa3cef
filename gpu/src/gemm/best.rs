//! `best`: a block of C in registers, the tiles of A and B double-buffered in shared memory.
//!
//! ```text
//! block (tile of C):
//!     sums[8][8] = 0 in each thread's registers
//!     shared[0] = first tiles of A and B
//!     for each tile along k:
//!         registers = global loads of the next tiles                   (in flight during the products)
//!         for i in 0..STEP: a[8], b[8] = shared[buffer] at i; sums += outer product of a and b
//!         shared[other buffer] = registers; barrier; swap the buffers  (one barrier per tile)
//!     C = alpha * sums + beta * C
//! ```
//!
//! An outer product of 8 + 8 values makes 64 fused multiply-adds, so the loads from shared memory are a small part of the
//! instructions, and the multiply-adds are the limit. Each sum takes its products in the order of k, one fused multiply-add
//! each, so that every variant gives the same bits.

use cuda_std::{prelude::*, unrolled};

use super::{
    operand::*,
    output::{Output, scaled},
    policy::{BEST_BLOCK, BEST_ROWS, BEST_STEP, BEST_TILE, LARGE, PER_THREAD, Policy, SMALL},
    problem::*,
};
use crate::tuning::{Numbers, Tuned, numbers};

/// The number of warps of a block down its tile of C. In a large tile as many warps lie beside them.
const WARPS_DOWN: usize = 4;
/// The lanes of a warp, down and across its part of the tile.
const LANES: [usize; 2] = [4, 8];
/// The steps along k for which there are kernels.
const STEPS: [usize; 2] = [BEST_STEP, 2 * BEST_STEP];

/// Calls [`product_by`] with shared memory for tiles of a size and a step. It is a macro because the length of such an array
/// cannot be computed from generic arguments.
macro_rules! product_by {
    ($size:ident, $step:expr; $($argument:ident),*) => {{
        let tiles = [
            shared![T; const { tiles_len(BEST_TILE[$size], $step) }],
            shared![T; const { tiles_len(BEST_TILE[$size], $step) }],
        ];
        product_by::<
            T,
            { $step },
            CHUNK,
            { BEST_TILE[$size] },
            { BEST_BLOCK[$size] },
            { BEST_ROWS[$size] },
            { $size == SMALL },
            A_ALONG_K,
            B_ALONG_K,
        >($($argument,)* tiles);
    }};
}

/// Computes `C = alpha * op(A) * op(B) + beta * C` in `f32`. A thread computes 8 x 8 elements of C, which stay in registers.
/// While a block multiplies one tile of op(A) and op(B) in shared memory, the next tile is loaded through registers into the
/// other buffer. There is one barrier per tile, which covers 8 along k.
///
/// A thread's elements come in groups of 16 bytes, whose distance is the size of all lanes' groups together, so that the lanes
/// of a warp read adjacent 16-byte groups of shared memory at once. Neighboring lanes read the same group of B, and lanes two
/// apart the same group of A, so the two halves of a half-warp are served together.
///
/// There are no scales of rows and columns, and `addend` is C if `beta` is not 0: [`gemm_best_small`] has both.
///
/// A band of A or B that is whole and aligned to 16 bytes is loaded by chunks of 16 bytes. The remainder along k, a band at the
/// matrix's edge and a band that is not aligned are loaded by elements, with zeros for elements outside.
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each. `A_ALONG_K` and `B_ALONG_K` say
/// whether elements that are adjacent along k are adjacent in memory.
///
/// Launch: one block of 256 threads per 128 x 128 tile of C; static shared memory of 4 x 8 x 132 elements. Reads `m * n * k /
/// 64` elements, and C unless `beta` is 0; writes `m * n`. `m * n * k` fused multiply-adds, in the order of k; the same bits on
/// every device.
///
/// # Safety
/// `a`, `b` and `c` hold every element that `problem` covers; `c` overlaps no other view. The views behind it hold what `beta`
/// and the epilogue take of them; `addend` may be `c`. The strides along k are 1 where `A_ALONG_K` and `B_ALONG_K` are true;
/// otherwise the strides across k are 1.
#[kernel(
    launch_bounds(BEST_BLOCK[LARGE] as u32, numbers::<Policy, f32>(ROW).resident),
    instances(
        f32_nn: (true, false),
        f32_nt: (true, true),
        f32_tn: (false, false),
        f32_tt: (false, true),
    ),
    tuned(f32_nn as f32: 0..5, f32_nn as f32: 6, f32_nn as f32: 8)
)]
pub unsafe fn gemm_best<const A_ALONG_K: bool, const B_ALONG_K: bool, const ROW: usize>(
    a: Global<f32>,
    b: Global<f32>,
    c: GlobalMut<f32>,
    problem: Problem,
    alpha: f32,
    beta: f32,
    addend: GlobalMut<f32>,
    bias: Global<f32>,
    row_scales: Global<f32>,
    column_scales: Global<f32>,
) {
    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    product::<f32, Numbers<f32, ROW>, 4, A_ALONG_K, B_ALONG_K>(a, b, out, &problem);
}

/// [`gemm_best`] in `f64`.
///
/// # Safety
/// As for [`gemm_best`].
#[kernel(
    launch_bounds(BEST_BLOCK[LARGE] as u32, numbers::<Policy, f64>(ROW).resident),
    instances(
        f64_nn: (true, false),
        f64_nt: (true, true),
        f64_tn: (false, false),
        f64_tt: (false, true),
    ),
    tuned(f64_nn as f64: 1, f64_nn as f64: 5, f64_nn as f64: 7)
)]
pub unsafe fn gemm_best_double<const A_ALONG_K: bool, const B_ALONG_K: bool, const ROW: usize>(
    a: Global<f64>,
    b: Global<f64>,
    c: GlobalMut<f64>,
    problem: Problem,
    alpha: f64,
    beta: f64,
    addend: GlobalMut<f64>,
    bias: Global<f64>,
    row_scales: Global<f64>,
    column_scales: Global<f64>,
) {
    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    product::<f64, Numbers<f64, ROW>, 2, A_ALONG_K, B_ALONG_K>(a, b, out, &problem);
}

/// [`gemm_best`] for products of few tiles. A thread computes 4 x 8 elements, with a block of 128 threads per 64 x 64 tile of
/// C, so that four times as many multiprocessors take part. The static shared memory is 4 x 68 elements for each step of a tile
/// along k. Reads `m * n * k / 32` elements.
///
/// # Safety
/// As for [`gemm_best`].
#[kernel(
    launch_bounds(BEST_BLOCK[SMALL] as u32, numbers::<Policy, f32>(ROW).small_resident),
    instances(
        f32_nn: (true, false),
        f32_nt: (true, true),
        f32_tn: (false, false),
        f32_tt: (false, true),
    ),
    tuned(f32_nn as f32: 0..5, f32_nn as f32: 6, f32_nn as f32: 8)
)]
pub unsafe fn gemm_best_small<const A_ALONG_K: bool, const B_ALONG_K: bool, const ROW: usize>(
    a: Global<f32>,
    b: Global<f32>,
    c: GlobalMut<f32>,
    problem: Problem,
    alpha: f32,
    beta: f32,
    addend: GlobalMut<f32>,
    bias: Global<f32>,
    row_scales: Global<f32>,
    column_scales: Global<f32>,
) {
    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    let tile = thread::block_idx_x();
    product_of_small_tiles::<f32, Numbers<f32, ROW>, 4, A_ALONG_K, B_ALONG_K>(
        a, b, out, &problem, tile,
    );
}

/// [`gemm_best_small`] in `f64`.
///
/// # Safety
/// As for [`gemm_best`].
#[kernel(
    launch_bounds(BEST_BLOCK[SMALL] as u32, numbers::<Policy, f64>(ROW).small_resident),
    instances(
        f64_nn: (true, false),
        f64_nt: (true, true),
        f64_tn: (false, false),
        f64_tt: (false, true),
    ),
    tuned(f64_nn as f64: 1, f64_nn as f64: 5, f64_nn as f64: 7)
)]
pub unsafe fn gemm_best_small_double<
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
    const ROW: usize,
>(
    a: Global<f64>,
    b: Global<f64>,
    c: GlobalMut<f64>,
    problem: Problem,
    alpha: f64,
    beta: f64,
    addend: GlobalMut<f64>,
    bias: Global<f64>,
    row_scales: Global<f64>,
    column_scales: Global<f64>,
) {
    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    let tile = thread::block_idx_x();
    product_of_small_tiles::<f64, Numbers<f64, ROW>, 2, A_ALONG_K, B_ALONG_K>(
        a, b, out, &problem, tile,
    );
}

/// The body of [`gemm_best`], with the values of the policy row `N`: computes this block's tile of C.
#[inline(always)]
#[track_caller]
fn product<
    T: Scalar,
    N: Tuned<Policy>,
    const CHUNK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    out: Output<T>,
    problem: &Problem,
) {
    let tile = thread::block_idx_x();
    const { assert!(N::POLICY.step == STEPS[0] || N::POLICY.step == STEPS[1]) };
    let group = const { N::POLICY.group };
    if const { N::POLICY.step == STEPS[0] } {
        product_by!(LARGE, STEPS[0]; a, b, out, problem, tile, group);
    } else {
        product_by!(LARGE, STEPS[1]; a, b, out, problem, tile, group);
    }
}

/// The body of [`gemm_best_small`], with the values of the policy row `N`: computes tile number `tile` of C.
#[inline(always)]
#[track_caller]
pub(super) fn product_of_small_tiles<
    T: Scalar,
    N: Tuned<Policy>,
    const CHUNK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    out: Output<T>,
    problem: &Problem,
    tile: u32,
) {
    const { assert!(N::POLICY.small_step == STEPS[0] || N::POLICY.small_step == STEPS[1]) };
    let group = const { N::POLICY.group };
    if const { N::POLICY.small_step == STEPS[0] } {
        product_by!(SMALL, STEPS[0]; a, b, out, problem, tile, group);
    } else {
        product_by!(SMALL, STEPS[1]; a, b, out, problem, tile, group);
    }
}

/// Computes this block's tile of C. If `HAS_ALL` is false, there are no scales, and `beta` multiplies C: with such a choice
/// behind the loop of products, `ptxas` 13.0 gives that of large tiles other registers, which have bank conflicts.
#[inline(always)]
#[track_caller]
fn product_by<
    T: Scalar,
    const STEP: usize,
    const CHUNK: usize,
    const TILE: usize,
    const BLOCK: usize,
    const ROWS: usize,
    const HAS_ALL: bool,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    out: Output<T>,
    problem: &Problem,
    tile: u32,
    group: u32,
    [tiles_a, tiles_b]: [Shared<T>; 2],
) {
    let (number, top, left) = origin_of(problem, tile, group, TILE, TILE);
    let (a, b) = problem.operands(number, a, b);
    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread % 32);
    let (lane_row, lane_column) = (lane / 16 * 2 + lane % 2, lane / 2 % LANES[1]);
    let row = warp % WARPS_DOWN * LANES[0] * ROWS + lane_row * CHUNK;
    let column = warp / WARPS_DOWN * LANES[1] * PER_THREAD + lane_column * CHUNK;
    let (row_stride, column_stride) = (LANES[0] * CHUNK, LANES[1] * CHUNK);

    let a = Operand::<T, STEP, CHUNK, TILE, BLOCK, A_ALONG_K>::new(
        a,
        if A_ALONG_K {
            problem.a.row
        } else {
            problem.a.column
        },
        [top, problem.m],
        problem.k,
        tiles_a,
        [row, row_stride],
    );
    let b = Operand::<T, STEP, CHUNK, TILE, BLOCK, B_ALONG_K>::new(
        b,
        if B_ALONG_K {
            problem.b.column
        } else {
            problem.b.row
        },
        [left, problem.n],
        problem.k,
        tiles_b,
        [column, column_stride],
    );
    let mut sums = [[T::ZERO; PER_THREAD]; ROWS];
    let mut done = 0;
    if a.is_whole() && b.is_whole() {
        let tiles = problem.k / STEP;
        accumulate_whole(&mut sums, a, b, tiles as u32);
        done = tiles * STEP;
    }
    accumulate_rest(&mut sums, a, b, done, problem.k);

    // Only now: its address would take registers from the loop.
    let out = out.of_product(problem, number);
    if HAS_ALL {
        let row_of = |i: usize| top + row + i / CHUNK * row_stride + i % CHUNK;
        let column_of = |j: usize| left + column + j / CHUNK * column_stride + j % CHUNK;
        out.scale(problem, &mut sums, row_of, column_of);
    }
    let (addend, ld_addend) = if HAS_ALL {
        (out.addend, problem.ld_addend)
    } else {
        (out.c, problem.ldc)
    };
    let aligned = if HAS_ALL {
        out.is_aligned(problem, 16)
    } else {
        is_aligned(out.c.as_ptr().cast_const(), problem.ldc)
    };
    let whole = top + TILE <= problem.m && left + TILE <= problem.n;
    unrolled!(i < ROWS => {
        let row = top + row + i / CHUNK * row_stride + i % CHUNK;
        unrolled!(number < PER_THREAD / CHUNK => {
            let column = left + column + number * column_stride;
            let at = row * problem.ldc + column;
            let from = row * ld_addend + column;
            let mut values = [T::ZERO; CHUNK];
            if aligned && whole {
                if out.beta != T::ZERO {
                    values = addend.get_chunk(from);
                }
                unrolled!(j < CHUNK => {
                    let sum = sums[i][number * CHUNK + j];
                    values[j] = scaled(out.alpha, sum, out.beta, || values[j]);
                });
                out.c.set_chunk(at, values);
            } else {
                unrolled!(j < CHUNK => {
                    if row < problem.m && column + j < problem.n {
                        let sum = sums[i][number * CHUNK + j];
                        let old = || addend.get(from + j);
                        out.c.set(at + j, scaled(out.alpha, sum, out.beta, old));
                    }
                });
            }
        });
    });
    // The loop needs all registers of a thread. With its index in one of them, `ptxas` 13.0 gives the loop of products without
    // transposes 28 bank conflicts, and without it none. The other loops do not gain.
    let thread = if A_ALONG_K && !B_ALONG_K {
        thread::thread_idx_x_again() as usize
    } else {
        thread
    };
    out.finish_tile(problem, [top, left], [TILE; 2], (thread, BLOCK));
}

/// Adds the products of the first `tiles` tiles, which lie within the matrices and are aligned.
#[inline(always)]
#[track_caller]
fn accumulate_whole<
    T: Scalar,
    const STEP: usize,
    const CHUNK: usize,
    const TILE: usize,
    const BLOCK: usize,
    const ROWS: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    sums: &mut [[T; PER_THREAD]; ROWS],
    a: Operand<T, STEP, CHUNK, TILE, BLOCK, A_ALONG_K>,
    b: Operand<T, STEP, CHUNK, TILE, BLOCK, B_ALONG_K>,
    tiles: u32,
) {
    if tiles == 0 {
        return;
    }
    let (mut from_a, mut from_b) = (a.start(), b.start());
    a.store(0, a.load_whole(from_a));
    b.store(0, b.load_whole(from_b));
    thread::sync_threads();
    let mut buffer = 0;
    let mut left = tiles;
    while left > 0 {
        left -= 1;
        // After the last tile there is no next one: the last is loaded again and not used.
        if left > 0 {
            (from_a, from_b) = (from_a.skip(a.step()), from_b.skip(b.step()));
        }
        let next = (a.load_whole(from_a), b.load_whole(from_b));
        unrolled!(i < BEST_STEP => {
            multiply(sums, a.own(buffer, i), b.own(buffer, i));
        });
        if STEP > BEST_STEP {
            unrolled!(i < BEST_STEP => {
                let i = BEST_STEP + i;
                multiply(sums, a.own(buffer, i), b.own(buffer, i));
            });
        }
        buffer ^= 1;
        a.store(buffer, next.0);
        b.store(buffer, next.1);
        thread::sync_threads();
    }
}

/// Adds the products from `k` to `end`, for bands and tiles that may end early.
#[inline(always)]
#[track_caller]
fn accumulate_rest<
    T: Scalar,
    const STEP: usize,
    const CHUNK: usize,
    const TILE: usize,
    const BLOCK: usize,
    const ROWS: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    sums: &mut [[T; PER_THREAD]; ROWS],
    a: Operand<T, STEP, CHUNK, TILE, BLOCK, A_ALONG_K>,
    b: Operand<T, STEP, CHUNK, TILE, BLOCK, B_ALONG_K>,
    mut k: usize,
    end: usize,
) {
    if k == end {
        return;
    }
    a.store(0, a.load_part(k));
    b.store(0, b.load_part(k));
    thread::sync_threads();
    let mut buffer = 0;
    while k < end {
        let next = (a.load_part(k + STEP), b.load_part(k + STEP));
        let count = (end - k).min(STEP) as u32;
        let mut i = 0;
        while i < count {
            multiply(sums, a.own(buffer, i as usize), b.own(buffer, i as usize));
            i += 1;
        }
        buffer ^= 1;
        a.store(buffer, next.0);
        b.store(buffer, next.1);
        thread::sync_threads();
        k += STEP;
    }
}

/// Adds the products of a column of A's tile and a row of B's tile.
#[inline(always)]
fn multiply<T: Scalar, const ROWS: usize>(
    sums: &mut [[T; PER_THREAD]; ROWS],
    a: [T; ROWS],
    b: [T; PER_THREAD],
) {
    unrolled!(i < ROWS => {
        unrolled!(j < PER_THREAD => {
            sums[i][j] = a[i].mul_add(b[j], sums[i][j]);
        });
    });
}
