//! `best` for elements of 16 and 8 bits: products of fragments on the tensor cores, with sums in `f32` or `i32`.
//!
//! ```text
//! block (tile of C):
//!     sums = 0, in the registers of its warps
//!     start to copy the first tiles of A and B to the slots of a ring in shared memory         (cp.async)
//!     for each tile along k:
//!         wait for the tile; barrier; start a copy to the slot of the tile before
//!         for each 32 bytes of k: load fragments (ldmatrix); sums += fragment of A * fragment of B   (mma)
//!     C = alpha * sums + beta * C, rounded once to the type of C
//! ```
//!
//! A warp of a large tile has 64 x 32 elements of C: for each 32 bytes of k it loads 6 times 4 matrices of 8 rows of 16 bytes
//! for 16 products of fragments. Two blocks are resident, except of `i8`, so that one multiplies while the other waits.
//!
//! `band.rs` has the layout of the tiles in shared memory. Numbers of 8 bits become `f16` in registers.
//!
//! Before compute capability 8.0 there are no such instructions for `f16` and `bf16`: there a product of fragments is made of
//! shuffles and fused multiply-adds, and a copy is a load and a store. So the kernel is the same, but slower.

use cuda_std::{F8E4M3, F8E5M2, async_copy, bf16, f16, prelude::*, unrolled};

use super::{
    band::{CHUNK_BYTES, Fragments, bands, multiply},
    output::{Output, scaled},
    policy::{
        BEST_BLOCK, BEST_TILE, FRAGMENTS_GROUP, FRAGMENTS_STAGES, FRAGMENTS_STEP, FRAGMENTS_WARPS,
        LARGE, SMALL,
    },
    problem::*,
};

/// Returns the number of blocks of large tiles that must be resident at once, for elements of which so many have 16 bytes.
///
/// Before compute capability 8.0 a multiprocessor has shared memory for one. Two of `i8` leave a thread too few registers:
/// `ptxas` 13.0 then spills half of the sums in the loop.
const fn resident(chunk: usize) -> u32 {
    let has_room = cfg!(any(not(target_arch = "nvptx64"), target_feature = "sm_80"));
    match has_room && chunk < CHUNK_BYTES {
        true => 2,
        false => 1,
    }
}

/// Calls [`product_by`] for tiles of a size, with the number of the block's tile of C.
macro_rules! product {
    ($size:ident: $($argument:ident),*) => {{
        const WORDS: usize =
            FRAGMENTS_STAGES[$size] as usize * BEST_TILE[$size] * FRAGMENTS_STEP / 4;
        let (ring_a, ring_b) = (shared![u32; WORDS], shared![u32; WORDS]);
        // SAFETY: static arrays are aligned to 16 bytes, and every pattern of bits is an element.
        let rings = unsafe { [ring_a.cast::<T>(), ring_b.cast::<T>()] };
        product_by::<
            T,
            R,
            CHUNK,
            { FRAGMENTS_STAGES[$size] },
            { BEST_TILE[$size] },
            { FRAGMENTS_WARPS[$size][0] },
            { BEST_TILE[$size] / FRAGMENTS_WARPS[$size][0] / 16 },
            { BEST_TILE[$size] / FRAGMENTS_WARPS[$size][1] / 8 },
            { BEST_BLOCK[$size] },
            A_ALONG_K,
            B_ALONG_K,
        >($($argument,)* rings);
    }};
}

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f16` or `bf16` with sums in `f32` and C of type `R`, or of `i8` with
/// sums and C in `i32`, by products of fragments. A warp computes 64 x 32 elements of C.
///
/// A tile of a matrix whose lines are aligned to 16 bytes is copied by chunks of 16 bytes, at the matrix's edge with zeros for
/// elements outside. Tiles of other matrices, and those of 8 bits that have lines across k, are loaded by elements.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each. `A_ALONG_K` and `B_ALONG_K` say
/// whether elements that are adjacent along k are adjacent in memory. `CHUNK` elements have 16 bytes.
///
/// Launch: one block of 256 threads per 128 x 128 tile of C; static shared memory of 2 x 3 x 8 KiB. Reads `m * n * k / 64`
/// elements, and C unless `beta` is 0; writes `m * n`. The sums are those of [`mma`](cuda_std::mma) for each 16 of k in order,
/// or 32 of `i8`: the same bits in every launch on devices of the same generation, and those of `i8` on every device.
///
/// # Safety
/// As for [`gemm_best`](super::gemm_best).
///
/// Source: ours.
#[kernel(
    launch_bounds(BEST_BLOCK[LARGE] as u32, resident(CHUNK)),
    instances(
        f16_nn: (f16, f16, 8, true, false),
        f16_nt: (f16, f16, 8, true, true),
        f16_tn: (f16, f16, 8, false, false),
        f16_tt: (f16, f16, 8, false, true),
        bf16_nn: (bf16, bf16, 8, true, false),
        bf16_nt: (bf16, bf16, 8, true, true),
        bf16_tn: (bf16, bf16, 8, false, false),
        bf16_tt: (bf16, bf16, 8, false, true),
        f16_f32_nn: (f16, f32, 8, true, false),
        f16_f32_nt: (f16, f32, 8, true, true),
        f16_f32_tn: (f16, f32, 8, false, false),
        f16_f32_tt: (f16, f32, 8, false, true),
        bf16_f32_nn: (bf16, f32, 8, true, false),
        bf16_f32_nt: (bf16, f32, 8, true, true),
        bf16_f32_tn: (bf16, f32, 8, false, false),
        bf16_f32_tt: (bf16, f32, 8, false, true),
        i8_nn: (i8, i32, 16, true, false),
        i8_nt: (i8, i32, 16, true, true),
        i8_tn: (i8, i32, 16, false, false),
        i8_tt: (i8, i32, 16, false, true),
    )
)]
pub unsafe fn gemm_best_fragments<
    T: Fragments,
    R: Element<Scale = T::Scale>,
    const CHUNK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<R>,
    problem: Problem,
    alpha: T::Scale,
    beta: T::Scale,
    addend: GlobalMut<R>,
    bias: Global<R>,
    row_scales: Global<T::Scale>,
    column_scales: Global<T::Scale>,
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
    product!(LARGE: a, b, out, problem, tile);
}

/// [`gemm_best_fragments`] for products of few tiles: a block of 128 threads per 64 x 64 tile of C, of which a warp computes
/// 32 x 32 elements. The static shared memory is 2 x 3 x 4 KiB. Reads `m * n * k / 32` elements. Elements of 8 bits may be
/// numbers too, with sums in `f32`.
///
/// # Safety
/// As for [`gemm_best`](super::gemm_best).
#[kernel(
    launch_bounds(BEST_BLOCK[SMALL] as u32, 4),
    instances(
        f16_nn: (f16, f16, 8, true, false),
        f16_nt: (f16, f16, 8, true, true),
        f16_tn: (f16, f16, 8, false, false),
        f16_tt: (f16, f16, 8, false, true),
        bf16_nn: (bf16, bf16, 8, true, false),
        bf16_nt: (bf16, bf16, 8, true, true),
        bf16_tn: (bf16, bf16, 8, false, false),
        bf16_tt: (bf16, bf16, 8, false, true),
        f16_f32_nn: (f16, f32, 8, true, false),
        f16_f32_nt: (f16, f32, 8, true, true),
        f16_f32_tn: (f16, f32, 8, false, false),
        f16_f32_tt: (f16, f32, 8, false, true),
        bf16_f32_nn: (bf16, f32, 8, true, false),
        bf16_f32_nt: (bf16, f32, 8, true, true),
        bf16_f32_tn: (bf16, f32, 8, false, false),
        bf16_f32_tt: (bf16, f32, 8, false, true),
        i8_nn: (i8, i32, 16, true, false),
        i8_nt: (i8, i32, 16, true, true),
        i8_tn: (i8, i32, 16, false, false),
        i8_tt: (i8, i32, 16, false, true),
        e4m3_nn: (F8E4M3, f32, 16, true, false),
        e4m3_nt: (F8E4M3, f32, 16, true, true),
        e4m3_tn: (F8E4M3, f32, 16, false, false),
        e4m3_tt: (F8E4M3, f32, 16, false, true),
        e5m2_nn: (F8E5M2, f32, 16, true, false),
        e5m2_nt: (F8E5M2, f32, 16, true, true),
        e5m2_tn: (F8E5M2, f32, 16, false, false),
        e5m2_tt: (F8E5M2, f32, 16, false, true),
        e4m3_bf16_nn: (F8E4M3, bf16, 16, true, false),
        e4m3_bf16_nt: (F8E4M3, bf16, 16, true, true),
        e4m3_bf16_tn: (F8E4M3, bf16, 16, false, false),
        e4m3_bf16_tt: (F8E4M3, bf16, 16, false, true),
        e4m3_f16_nn: (F8E4M3, f16, 16, true, false),
        e4m3_f16_nt: (F8E4M3, f16, 16, true, true),
        e4m3_f16_tn: (F8E4M3, f16, 16, false, false),
        e4m3_f16_tt: (F8E4M3, f16, 16, false, true),
    )
)]
pub unsafe fn gemm_best_fragments_small<
    T: Fragments,
    R: Element<Scale = T::Scale>,
    const CHUNK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<R>,
    problem: Problem,
    alpha: T::Scale,
    beta: T::Scale,
    addend: GlobalMut<R>,
    bias: Global<R>,
    row_scales: Global<T::Scale>,
    column_scales: Global<T::Scale>,
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
    product_of_small_tiles::<T, R, CHUNK, A_ALONG_K, B_ALONG_K>(a, b, out, problem, tile);
}

/// The body of [`gemm_best_fragments_small`]: computes tile number `tile` of C.
#[inline(always)]
#[track_caller]
pub(super) fn product_of_small_tiles<
    T: Fragments,
    R: Element<Scale = T::Scale>,
    const CHUNK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    out: Output<R>,
    problem: Problem,
    tile: u32,
) {
    product!(SMALL: a, b, out, problem, tile);
}

/// Waits until at most `STAGES - 2` groups of copies are under way.
#[inline(always)]
#[track_caller]
fn wait_for_a_tile<const STAGES: u32>() {
    match STAGES {
        2 => async_copy::wait_group::<0>(),
        3 => async_copy::wait_group::<1>(),
        _ => async_copy::wait_group::<2>(),
    }
}

/// The body of the kernels: computes this block's tile of C. A warp has `ROWS` x `COLUMNS` fragments of 16 x 8 elements of it.
#[inline(always)]
#[track_caller]
fn product_by<
    T: Fragments,
    R: Element<Scale = T::Scale>,
    const CHUNK: usize,
    const STAGES: u32,
    const TILE: usize,
    const WARPS_DOWN: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const BLOCK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    out: Output<R>,
    problem: Problem,
    tile: u32,
    rings: [Shared<T>; 2],
) {
    const { assert!(2 <= STAGES && STAGES <= 4) };
    let (number, top, left) = origin_of(&problem, tile, FRAGMENTS_GROUP, TILE, TILE);
    let (a, b) = problem.operands(number, a, b);
    let out = out.of_product(&problem, number);
    let k = problem.k;
    let (a, b) =
        bands::<T, CHUNK, TILE, BLOCK, A_ALONG_K, B_ALONG_K>((a, b), &problem, [top, left], rings);

    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread % 32);
    let down = warp % WARPS_DOWN * (ROWS * 16);
    let across = warp / WARPS_DOWN * (COLUMNS * 8);
    let (rows_a, rows_b) = (a.rows::<true>(down, lane), b.rows::<false>(across, lane));

    // The last tile may end early: it has zeros behind its end.
    let of_step = const { FRAGMENTS_STEP / size_of::<T>() };
    let tiles = k.div_ceil(of_step) as u32;
    let start = |slot: u32, tile: u32| {
        if tile < tiles {
            a.copy::<true>(slot as usize, tile as usize * of_step);
            b.copy::<true>(slot as usize, tile as usize * of_step);
        }
        // A group for every tile, also where there is none: so the waits count right.
        async_copy::commit_group();
    };

    let mut sums = [[[T::Scale::ZERO; 4]; COLUMNS]; ROWS];
    let mut slot = 0;
    while slot < STAGES - 1 {
        start(slot, slot);
        slot += 1;
    }
    let (mut slot, mut free, mut tile) = (0, STAGES - 1, 0);
    while tile < tiles {
        wait_for_a_tile::<STAGES>();
        // The tile is there, and everybody is done with the one before, whose slot is free.
        thread::sync_threads();
        start(free, tile + STAGES - 1);
        multiply(&mut sums, (a, rows_a), (b, rows_b), slot as usize);
        free = slot;
        slot = if slot + 1 == STAGES { 0 } else { slot + 1 };
        tile += 1;
    }

    let aligned = out.is_aligned(&problem, const { 2 * size_of::<R>() });
    let whole = top + TILE <= problem.m && left + TILE <= problem.n;
    let (first_row, first_column) = (top + down + lane / 4, left + across + lane % 4 * 2);
    // The elements of a fragment are two pairs, 8 rows apart. Every step is a loop of its own, so that they are decided once.
    out.scale_fragments(&problem, [first_row, first_column], &mut sums);
    unrolled!(i < { 2 * ROWS } => {
        unrolled!(number < COLUMNS of 4 => {
            let (row, column) = (first_row + i * 8, first_column + number * 8);
            let old = out.old::<2>(&problem, [row, column], aligned && whole);
            unrolled!(j < 2 of 4 => {
                let sum = &mut sums[i / 2][number][i % 2 * 2 + j];
                *sum = scaled(out.alpha, *sum, out.beta, || old[j]);
            });
        });
    });
    unrolled!(row < ROWS of 4 => {
        out.finish_fragments(&problem, first_column, &mut sums[row]);
    });
    unrolled!(i < { 2 * ROWS } => {
        unrolled!(number < COLUMNS of 4 => {
            let (row, column) = (first_row + i * 8, first_column + number * 8);
            let at = row * problem.ldc + column;
            let mut values = [R::ZERO; 2];
            unrolled!(j < 2 of 4 => {
                values[j] = R::rounded(sums[i / 2][number][i % 2 * 2 + j]);
            });
            if aligned && whole {
                out.c.set_chunk(at, values);
            } else {
                unrolled!(j < 2 of 4 => {
                    if row < problem.m && column + j < problem.n {
                        out.c.set(at + j, values[j]);
                    }
                });
            }
        });
    });
}
