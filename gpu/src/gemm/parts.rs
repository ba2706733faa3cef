//! The sums of a product whose `k` was divided into parts, added to elements of C.
//!
//! ```text
//! thread, for 4 elements of a row of C:
//!     sum = those of the first part
//!     for each further part: sum += those of the part
//!     C = alpha * sum + beta * C, rounded once
//! ```
//!
//! A part's sums are read once, by chunks of 16 bytes that are adjacent for adjacent threads, and so are those of several parts
//! at a time. The second-level cache has most of them still.

use cuda_std::{bf16, f16, prelude::*, unrolled};

use super::{
    policy::{PARTS_BLOCK, PARTS_CHUNK, parts_pitch},
    problem::*,
    tensor_half::Half,
};

/// The parts that are read together.
const TOGETHER: usize = 8;

/// Computes `C = alpha * S + beta * C`, where S is the sum of `k.div_ceil(part)` matrices of `m` rows of
/// [`parts_pitch`] elements, of which the first `n` count. They are added in order, in `f32`: the same bits in every launch.
///
/// Launch: one block of `PARTS_BLOCK` threads per `PARTS_BLOCK * PARTS_CHUNK` elements of such a matrix. Reads all sums, and C
/// unless `beta` is 0; writes `m * n` elements.
///
/// # Safety
/// `sums` holds the sums of all parts. `c` holds every element that `problem` covers, and overlaps nothing else.
///
/// Source: ours.
#[kernel(launch_bounds(PARTS_BLOCK), instances(f16: (f16), bf16: (bf16)))]
pub unsafe fn gemm_best_parts<T: Half>(
    sums: Global<f32>,
    c: GlobalMut<T>,
    problem: Problem,
    part: usize,
    alpha: f32,
    beta: f32,
) {
    let pitch = parts_pitch(problem.n);
    let all = problem.m * pitch;
    let first = thread::index_1d() as usize * PARTS_CHUNK;
    if first >= all {
        return;
    }
    let parts = problem.k.div_ceil(part);
    let mut total: [f32; PARTS_CHUNK] = sums.get_chunk(first);
    let mut number = 1;
    while number + TOGETHER <= parts {
        let mut read = [[0.0; PARTS_CHUNK]; TOGETHER];
        unrolled!(i < TOGETHER => {
            read[i] = sums.get_chunk((number + i) * all + first);
        });
        unrolled!(i < TOGETHER => { total = added(total, read[i]); });
        number += TOGETHER;
    }
    while number < parts {
        total = added(total, sums.get_chunk(number * all + first));
        number += 1;
    }
    let (row, column) = (first / pitch, first % pitch);
    let at = row * problem.ldc + column;
    unrolled!(i < PARTS_CHUNK => {
        if column + i < problem.n {
            let old = || c.get(at + i);
            c.set(at + i, finished(alpha, total[i], beta, old));
        }
    });
}

#[inline(always)]
fn added(mut a: [f32; PARTS_CHUNK], b: [f32; PARTS_CHUNK]) -> [f32; PARTS_CHUNK] {
    unrolled!(i < PARTS_CHUNK => { a[i] += b[i]; });
    a
}
