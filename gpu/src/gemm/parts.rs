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

use cuda_std::{bf16, f16, prelude::*, unrolled, wgmma};

use super::{
    output::Output,
    policy::{PARTS_BLOCK, PARTS_CHUNK, parts_pitch},
    problem::*,
};

/// Writes a thread's sums of a tile for a part of k, of those of all products the one with this `number`.
///
/// The sums are those of a tile of C that begins at `corner`, in these `rows` of the tile, by turns. If `TURNED` is true, they
/// are those of a tile of the transpose of C.
#[inline(always)]
#[track_caller]
pub(super) fn write_part<S: Scalar, const SUMS: usize, const TURNED: bool>(
    sums: &[S; SUMS],
    to: GlobalMut<S>,
    number: usize,
    problem: &Problem,
    [top, left]: [usize; 2],
    rows: [usize; 2],
) {
    let pitch = parts_pitch(problem.n);
    let to = to.skip(number * problem.m * pitch);
    let (_, column) = wgmma::place(thread::thread_idx_x() as usize, 0);
    let (top, left) = (top + rows[0], left + column);
    let second = rows[1] - rows[0];
    if TURNED {
        unrolled!(panel < { SUMS / 32 } of 4 => {
            unrolled!(i < 32 of 32 => {
                let line = left + 64 * panel + i / 4 * 8 + i % 2;
                let column = top + i / 2 % 2 * second;
                if line < problem.m && column < pitch {
                    to.set(line * pitch + column, sums[32 * panel + i]);
                }
            });
        });
        return;
    }
    let (rows, columns) = (problem.m.saturating_sub(top), pitch.saturating_sub(left));
    let first = top * pitch + left;
    unrolled!(panel < { SUMS / 32 } of 4 => {
        unrolled!(i < 16 of 16 => {
            let (down, across) = (i % 2 * second, 64 * panel + i / 2 * 8);
            if down < rows && across < columns {
                let at = 32 * panel + 2 * i;
                to.set_chunk(first + down * pitch + across, [sums[at], sums[at + 1]]);
            }
        });
    });
}

/// The parts that are read together.
const TOGETHER: usize = 8;

/// Computes `C = alpha * S + beta * C`, where S is the sum of `k.div_ceil(part)` matrices of `m` rows of [`parts_pitch`]
/// elements, of which the first `n` count. They are added in order, in the type of the factors: the same bits in every launch.
///
/// There are as many such sums as products, one after the other.
///
/// Launch: one block of `PARTS_BLOCK` threads per `PARTS_BLOCK * PARTS_CHUNK` elements of such matrices, one for each product.
/// Reads all sums, and C unless `beta` is 0; writes `m * n` elements for each product.
///
/// # Safety
/// The threads are counted in 32 bits. `sums` holds the sums of all parts. `c` holds every element that `problem` covers, and
/// overlaps nothing else. The views behind it hold what `beta` and the epilogue take of them; `addend` may be `c`.
///
/// Source: ours.
#[kernel(launch_bounds(PARTS_BLOCK), instances(f16: (f16), bf16: (bf16), f32: (f32), i32: (i32)))]
pub unsafe fn gemm_best_parts<T: Element>(
    sums: Global<T::Scale>,
    c: GlobalMut<T>,
    problem: Problem,
    part: usize,
    alpha: T::Scale,
    beta: T::Scale,
    addend: GlobalMut<T>,
    bias: Global<T>,
    row_scales: Global<T::Scale>,
    column_scales: Global<T::Scale>,
) {
    // Counted in 32 bits, in which a division takes few registers.
    let across = (parts_pitch(problem.n) / PARTS_CHUNK) as u32;
    let chunks = problem.m as u32 * across;
    let chunk = thread::index_1d();
    if chunk >= chunks * problem.count as u32 {
        return;
    }
    let (product, chunk) = ((chunk / chunks) as usize, chunk % chunks);
    let (row, column) = (
        (chunk / across) as usize,
        (chunk % across) as usize * PARTS_CHUNK,
    );
    let (first, all) = (chunk as usize * PARTS_CHUNK, chunks as usize * PARTS_CHUNK);
    let parts = problem.k.div_ceil(part);
    let sums = sums.skip(product * parts * all);
    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    let out = out.of_product(&problem, product);
    let part = |number| sums.get_chunk(number * all + first);
    add_parts(part, parts, out, &problem, [row, column]);
}

/// Writes the elements of C of a chunk at (row, column): those that C has. `part` returns a part's sums of the chunk.
#[inline(always)]
#[track_caller]
pub(super) fn add_parts<T: Element>(
    part: impl Fn(usize) -> [T::Scale; PARTS_CHUNK],
    parts: usize,
    out: Output<T>,
    problem: &Problem,
    [row, column]: [usize; 2],
) {
    let mut total = part(0);
    let mut number = 1;
    while number + TOGETHER <= parts {
        let mut read = [[T::Scale::ZERO; PARTS_CHUNK]; TOGETHER];
        unrolled!(i < TOGETHER => { read[i] = part(number + i); });
        unrolled!(i < TOGETHER => { total = added(total, read[i]); });
        number += TOGETHER;
    }
    while number < parts {
        total = added(total, part(number));
        number += 1;
    }
    unrolled!(i < PARTS_CHUNK => {
        if column + i < problem.n {
            out.write(problem, [row, column + i], total[i]);
        }
    });
}

#[inline(always)]
fn added<S: Scalar>(mut a: [S; PARTS_CHUNK], b: [S; PARTS_CHUNK]) -> [S; PARTS_CHUNK] {
    unrolled!(i < PARTS_CHUNK => { a[i] = a[i].plus(b[i]); });
    a
}
