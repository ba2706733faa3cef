//! `copies`: products of fragments, with asynchronous copies of the next tiles.
//!
//! ```text
//! block (tile of C):
//!     sums = 0, in the registers of its warps
//!     start to copy the first two tiles of A and B to slots of a ring in shared memory             (cp.async)
//!     for each tile along k:
//!         wait for its copies; barrier
//!         start to copy the tiles two steps ahead to the slot of the step before
//!         for each 16 of k: load fragments (ldmatrix); sums += fragment of A * fragment of B      (mma)
//!     C = alpha * sums + beta * C, rounded once
//! ```
//!
//! In `fragments` a block waits for memory at each step, with its tensor cores idle. Here the copies run by themselves, two
//! steps ahead, while the block multiplies. They take no registers, as they go to shared memory directly. A ring of three slots
//! needs one barrier for each step instead of two: behind it everybody is done with the step before, whose slot is free.

use cuda_std::{async_copy, bf16, f16, prelude::*};

use super::write_fragments::{AT_ONCE, write_fragments};
use crate::gemm::{
    band::{Half, bands, multiply},
    output::Output,
    policy::{
        BEST_BLOCK, BEST_TILE, FRAGMENTS_GROUP, FRAGMENTS_STAGES, FRAGMENTS_STEP, FRAGMENTS_WARPS,
        LARGE,
    },
    problem::*,
};

const TILE: usize = BEST_TILE[LARGE];
const BLOCK: usize = BEST_BLOCK[LARGE];
const SLOTS: usize = FRAGMENTS_STAGES[LARGE] as usize;
/// The words of a ring in shared memory: also those through which the sums are written.
const WORDS: usize = SLOTS * TILE * FRAGMENTS_STEP / 4;
/// The elements of a chunk of 16 bytes.
const CHUNK: usize = 8;
/// The length of a tile along k.
const STEP: usize = FRAGMENTS_STEP / 2;
const _: () = assert!(SLOTS == 3 && WORDS >= BLOCK * AT_ONCE);

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f16` or `bf16` with sums in `f32`, by products of fragments, whose tiles
/// come by asynchronous copies. A warp computes 64 x 32 elements of C.
///
/// A matrix whose lines are aligned to 16 bytes is copied by chunks of 16 bytes, at its edge with zeros for elements outside;
/// others are loaded by elements, for which the block waits.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each. `A_ALONG_K` and `B_ALONG_K` say
/// whether elements that are adjacent along k are adjacent in memory.
///
/// Launch: one block of 256 threads per 128 x 128 tile of C, two of which are resident; static shared memory of 2 x 3 x 8 KiB.
/// Reads `m * n * k / 64` elements, and C unless `beta` is 0; writes `m * n`. The bits are those of
/// [`gemm_fragments`](crate::gemm::gemm_fragments).
///
/// # Safety
/// As for [`gemm_best`](crate::gemm::gemm_best).
///
/// Source: ours.
#[kernel(
    launch_bounds(BLOCK as u32, 2),
    instances(
        f16_nn: (f16, true, false),
        f16_nt: (f16, true, true),
        f16_tn: (f16, false, false),
        f16_tt: (f16, false, true),
        bf16_nn: (bf16, true, false),
        bf16_nt: (bf16, true, true),
        bf16_tn: (bf16, false, false),
        bf16_tt: (bf16, false, true),
    )
)]
pub unsafe fn gemm_copies<T: Half, const A_ALONG_K: bool, const B_ALONG_K: bool>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<T>,
    problem: Problem,
    alpha: f32,
    beta: f32,
    addend: GlobalMut<T>,
    bias: Global<T>,
    row_scales: Global<f32>,
    column_scales: Global<f32>,
) {
    let (words_a, words_b) = (shared![u32; WORDS], shared![u32; WORDS]);
    // SAFETY: static arrays are aligned to 16 bytes, and every pattern of bits is an element.
    let rings = unsafe { [words_a.cast::<T>(), words_b.cast::<T>()] };
    let (number, top, left) = tile_origin(&problem, FRAGMENTS_GROUP, TILE, TILE);
    let (a, b) = bands::<T, CHUNK, TILE, BLOCK, A_ALONG_K, B_ALONG_K>(
        problem.operands(number, a, b),
        &problem,
        [top, left],
        rings,
    );
    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread % 32);
    let [warps_down, _] = FRAGMENTS_WARPS[LARGE];
    let (down, across) = (warp % warps_down * 64, warp / warps_down * 32);
    let (rows_a, rows_b) = (a.rows::<true>(down, lane), b.rows::<false>(across, lane));

    let start = |slot: usize, k: usize| {
        if k < problem.k {
            a.copy::<true>(slot, k);
            b.copy::<true>(slot, k);
        }
        // A group for every step, also where there is none: so the waits count right.
        async_copy::commit_group();
    };
    start(0, 0);
    start(1, STEP);
    let mut sums = [[[0.0; 4]; 4]; 4];
    let (mut slot, mut k) = (0, 0);
    while k < problem.k {
        // All copies but those of the next step have come.
        async_copy::wait_group::<1>();
        thread::sync_threads();
        let free = if slot == 0 { SLOTS - 1 } else { slot - 1 };
        start(free, k + 2 * STEP);
        multiply(&mut sums, (a, rows_a), (b, rows_b), slot);
        slot = if slot + 1 == SLOTS { 0 } else { slot + 1 };
        k += STEP;
    }

    // Everybody is done with the ring.
    thread::sync_threads();
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
    // SAFETY: every pattern of bits is a number.
    let staging = unsafe { words_a.cast::<f32>() };
    let corner = [top + down, left + across];
    write_fragments(sums, corner, staging, &out, &problem);
}
