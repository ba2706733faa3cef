//! `fragments`: products of fragments on tensor cores.
//!
//! ```text
//! block (tile of C):
//!     sums = 0, in the registers of its warps
//!     for each tile along k:
//!         load tiles of A and B into shared memory; barrier
//!         for each 16 of k: load fragments (ldmatrix); sums += fragment of A * fragment of B      (mma)
//!         barrier
//!     C = alpha * sums + beta * C, rounded once
//! ```
//!
//! In `registers` an instruction of a warp makes 32 multiply-adds. Here one makes 16 x 8 x 16, on the tensor cores, and a load
//! (`ldmatrix`) brings four matrices of 8 x 8 elements. So the multiply-adds are no limit any more. But the block loads tiles,
//! waits for memory, and only then multiplies: it does one or the other.

use cuda_std::{bf16, f16, prelude::*};

use super::write_fragments::{AT_ONCE, write_fragments};
use crate::gemm::{
    band::{Half, bands, multiply},
    output::Output,
    policy::{BEST_BLOCK, BEST_TILE, FRAGMENTS_GROUP, FRAGMENTS_STEP, FRAGMENTS_WARPS, LARGE},
    problem::*,
};

const TILE: usize = BEST_TILE[LARGE];
const BLOCK: usize = BEST_BLOCK[LARGE];
/// The words of a tile in shared memory: also those through which the sums are written.
const WORDS: usize = TILE * FRAGMENTS_STEP / 4;
/// The elements of a chunk of 16 bytes.
const CHUNK: usize = 8;
/// The length of a tile along k.
const STEP: usize = FRAGMENTS_STEP / 2;
const _: () = assert!(WORDS >= BLOCK * AT_ONCE);

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f16` or `bf16` with sums in `f32`, by products of fragments. A warp
/// computes 64 x 32 elements of C.
///
/// A matrix whose lines are aligned to 16 bytes is loaded by chunks of 16 bytes, except at its edge; others are loaded by
/// elements.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each. `A_ALONG_K` and `B_ALONG_K` say
/// whether elements that are adjacent along k are adjacent in memory.
///
/// Launch: one block of 256 threads per 128 x 128 tile of C, two of which are resident; static shared memory of 2 x 8 KiB.
/// Reads `m * n * k / 64` elements, and C unless `beta` is 0; writes `m * n`. The sums are those of [`cuda_std::mma`] for each
/// 16 of k in order: the bits of [`gemm_best_fragments`](crate::gemm::gemm_best_fragments) on the same device.
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
pub unsafe fn gemm_fragments<T: Half, const A_ALONG_K: bool, const B_ALONG_K: bool>(
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
    let tiles = unsafe { [words_a.cast::<T>(), words_b.cast::<T>()] };
    let (number, top, left) = tile_origin(&problem, FRAGMENTS_GROUP, TILE, TILE);
    let (a, b) = bands::<T, CHUNK, TILE, BLOCK, A_ALONG_K, B_ALONG_K>(
        problem.operands(number, a, b),
        &problem,
        [top, left],
        tiles,
    );
    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread % 32);
    let [warps_down, _] = FRAGMENTS_WARPS[LARGE];
    let (down, across) = (warp % warps_down * 64, warp / warps_down * 32);
    let (rows_a, rows_b) = (a.rows::<true>(down, lane), b.rows::<false>(across, lane));

    let mut sums = [[[0.0; 4]; 4]; 4];
    let mut k = 0;
    while k < problem.k {
        a.copy::<false>(0, k);
        b.copy::<false>(0, k);
        thread::sync_threads();
        multiply(&mut sums, (a, rows_a), (b, rows_b), 0);
        thread::sync_threads();
        k += STEP;
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
    // SAFETY: every pattern of bits is a number.
    let staging = unsafe { words_a.cast::<f32>() };
    let corner = [top + down, left + across];
    write_fragments(sums, corner, staging, &out, &problem);
}
