//! `best` for a matrix times a few vectors, on tensor cores of compute capability 9.0.
//!
//! ```text
//! block, for each tile of 64 x 16 or 64 x 64 elements of D = X * Y:
//!     one thread of the last warp, for each step of 128 bytes along k:
//!         wait until the slot of the ring is empty
//!         start to copy the tiles of X and Y to it; they arrive at `full`                     (tensor maps)
//!     a warpgroup:
//!         sums = 0, in registers
//!         for each step along k: wait until the slot is full; sums += tile of X * tile of Y   (wgmma)
//!         C = alpha * sums + beta * C, then the epilogue, rounded once, through shared memory
//!         or, for a part of k: write the sums; the last block of a tile adds those of all parts, in order
//! ```
//!
//! X is op(A), or the transpose of op(B) if C has few rows; then D is the transpose of C. The time is that of reading X from
//! memory. So its tiles have few rows, for all multiprocessors to read, and nearly all of shared memory is a ring for X. The
//! larger tiles of [`gemm_best_wgmma`](super::gemm_best_wgmma) would have places for vectors that are not there.

use cuda_std::{
    F8E4M3, F8E5M2, bf16, block, bulk, f16,
    prelude::*,
    shared::DynamicShared,
    tensor_map::TensorMap,
    unrolled,
    warp::FULL_MASK,
    wgmma::{self, Sums},
};

use super::{
    lines::{BySteps, ByThreads, FromShared, Multiplied, Source},
    output::Output,
    parts::add_parts,
    policy::{
        LINE, PARTS_CHUNK, SKINNY_BLOCK, SKINNY_HEIGHT, SKINNY_MOST_SLOTS, SKINNY_PITCH,
        parts_pitch, skinny_bytes, skinny_slots,
    },
    problem::*,
    staging::WARPGROUP,
    wgmma::{Slot, Tiles, load},
};

/// The elements of X are read from shared memory, of lines of 16 bits across k.
pub type AcrossShared = FromShared<false>;

/// Computes `C = alpha * op(A) * op(B) + beta * C`, where op(B) has few columns, or op(A) few rows.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`; `count` of each. The kernel computes `D = X * Y`, of op(A), op(B) and
/// C, or if `turned` is not 0 of the transposes of op(B), op(A) and C. `x` and `y` are the maps of the matrices: a stack, of
/// one matrix if all products have the same. They have the swizzle of 128 bytes, tiles that are as wide, and round `f32` to
/// TF32.
/// Memory has lines of Y along k; its tiles have `rows` rows, at most `2 * SUMS`, and fewer only if Y has no more. Memory has
/// lines of X across k if `X` is [`AcrossShared`], with tiles of 64 rows, or [`ByThreads`], with tiles of 32 rows; otherwise it
/// has lines along k, and tiles of 64 rows.
///
/// If `part` is less than `k`, the sums of each `part` of k go to `sums_of_parts` first, laid out as for
/// [`gemm_best_wgmma`](super::gemm_best_wgmma): `part` is a multiple of what a line has. The block that is the last one with a
/// tile of D adds them, in order, as [`gemm_best_parts`](super::gemm_best_parts) does. `tickets` has an element for each
/// tile of all D, which are 0; the kernel leaves them so.
///
/// Launch: blocks of `SKINNY_BLOCK` threads, each of which takes tiles of 64 x `2 * SUMS` elements of D, as many blocks
/// apart as there are; dynamic shared memory of [`skinny_bytes`]. Reads X once for each `2 * SUMS` columns of D, Y once for
/// each 64 rows, and C unless `beta` is 0; writes C. The sums are those of [`gemm_best_wgmma`](super::gemm_best_wgmma) or
/// [`gemm_best_lines`](super::gemm_best_lines) for parts of this length, to the bit.
///
/// # Safety
/// The maps are those of the operands, which `problem` describes; `k` is not 0. `c` holds every element that `problem` covers,
/// and overlaps nothing else. The views behind it hold what `beta` and the epilogue take of them; `addend` may be `c`.
/// `sums_of_parts` has room for the sums of all parts, if there are several, and `tickets` has its elements; nothing else uses
/// them.
///
/// Source: ours.
#[kernel(
    launch_bounds(SKINNY_BLOCK, 1),
    dynamic_shared(skinny_bytes(2 * SUMS)),
    instances(
        f16_16_along: (f16, f16, FromShared, 8),
        f16_64_along: (f16, f16, FromShared, 32),
        f16_16_across: (f16, f16, AcrossShared, 8),
        f16_64_across: (f16, f16, AcrossShared, 32),
        bf16_16_along: (bf16, bf16, FromShared, 8),
        bf16_64_along: (bf16, bf16, FromShared, 32),
        bf16_16_across: (bf16, bf16, AcrossShared, 8),
        bf16_64_across: (bf16, bf16, AcrossShared, 32),
        f16_f32_16_along: (f16, f32, FromShared, 8),
        f16_f32_64_along: (f16, f32, FromShared, 32),
        f16_f32_16_across: (f16, f32, AcrossShared, 8),
        f16_f32_64_across: (f16, f32, AcrossShared, 32),
        bf16_f32_16_along: (bf16, f32, FromShared, 8),
        bf16_f32_64_along: (bf16, f32, FromShared, 32),
        bf16_f32_16_across: (bf16, f32, AcrossShared, 8),
        bf16_f32_64_across: (bf16, f32, AcrossShared, 32),
        f32_16_along: (f32, f32, FromShared, 8),
        f32_64_along: (f32, f32, FromShared, 32),
        f32_16_across: (f32, f32, ByThreads, 8),
        f32_64_across: (f32, f32, ByThreads, 32),
        i8_16_along: (i8, i32, FromShared, 8),
        i8_64_along: (i8, i32, FromShared, 32),
        e4m3_16_along: (F8E4M3, f32, BySteps, 8),
        e4m3_64_along: (F8E4M3, f32, BySteps, 32),
        e5m2_16_along: (F8E5M2, f32, BySteps, 8),
        e5m2_64_along: (F8E5M2, f32, BySteps, 32),
        e4m3_bf16_16_along: (F8E4M3, bf16, BySteps, 8),
        e4m3_bf16_64_along: (F8E4M3, bf16, BySteps, 32),
        e4m3_f16_16_along: (F8E4M3, f16, BySteps, 8),
        e4m3_f16_64_along: (F8E4M3, f16, BySteps, 32),
    )
)]
pub unsafe fn gemm_best_skinny<
    T: Multiplied,
    R: Element<Scale = T::Scale>,
    X: Source<T>,
    const SUMS: usize,
>(
    x: TensorMap,
    y: TensorMap,
    c: GlobalMut<R>,
    sums_of_parts: GlobalMut<T::Scale>,
    tickets: GlobalMut<u32>,
    problem: Problem,
    part: usize,
    turned: usize,
    rows: usize,
    alpha: T::Scale,
    beta: T::Scale,
    addend: GlobalMut<R>,
    bias: Global<R>,
    row_scales: Global<T::Scale>,
    column_scales: Global<T::Scale>,
) where
    [T::Scale; SUMS]: Sums<Element = T::Scale>,
{
    let (height, width, slots, depth) =
        const { (SKINNY_HEIGHT, 2 * SUMS, skinny_slots(2 * SUMS), T::DEPTH) };
    // The elements of a slot, and those of X.
    let (room, of_x) = const {
        (
            (SKINNY_HEIGHT + 2 * SUMS) * T::DEPTH,
            SKINNY_HEIGHT * T::DEPTH,
        )
    };
    const { assert!(T::DEPTH * size_of::<T>() == LINE) };
    let barriers = shared![u64; 2 * SKINNY_MOST_SLOTS];
    // SAFETY: the only one in this kernel, and the launch gives this memory and what its start may be moved by.
    let mut memory = unsafe { DynamicShared::new() };
    let memory = memory.carve::<T>(const { skinny_bytes(2 * SUMS) / size_of::<T>() });
    let memory = memory.skip_to_multiple(1024);
    // SAFETY: the ring has a multiple of 1024 bytes.
    let staged = unsafe { memory.skip(slots * room).cast::<T::Scale>() };
    // Of threads that read shared memory each warp says that it is done, and of tensor cores one of the threads.
    Slot::init(barriers, slots, if X::BY_THREADS { 4 } else { 1 });

    let problem = &problem;
    let is_turned = turned != 0;
    let of_d = &match is_turned {
        true => Problem {
            m: problem.n,
            n: problem.m,
            next: [problem.next[1], problem.next[0], 0, 0],
            ..*problem
        },
        false => *problem,
    };
    let mut tiles = Tiles::<1>::of(of_d, part, [height, width], depth);
    let mut slot = Slot::first(barriers, slots);
    let own = thread::thread_idx_x() as usize;
    // The same for all lanes of a warp, which the compiler cannot know of a thread's index.
    if warp::shuffle(FULL_MASK, own as u32 / WARPGROUP, 0) > 0 {
        // SAFETY: the whole warp takes the branch.
        if unsafe { warp::elect(FULL_MASK) } {
            while let Some(tile) = tiles.next() {
                let [of_x_stack, of_y_stack] = tile.matrices(of_d);
                let mut step = 0;
                while step < tile.steps {
                    // The slots are empty at first: the phase before the first one counts as complete.
                    slot.empty().wait(slot.parity ^ 1);
                    let full = slot.full();
                    full.arrive_expect_tx(((of_x + rows * depth) * size_of::<T>()) as u32);
                    let k = tile.k + step as usize * depth;
                    let to = memory.skip(slot.number as usize * room);
                    X::load(to, x, [tile.top, k, of_x_stack], height, full);
                    // To have rows filled with zeros takes the copy longer than to fill them with elements.
                    let corner = [tile.left, k, of_y_stack];
                    load::<T, true>(to.skip(of_x), y, corner, rows, full);
                    slot = slot.next();
                    step += 1;
                }
            }
        }
        return;
    }

    if rows < width {
        // The products read rows of Y that no copy brings.
        // SAFETY: the ring is aligned, and every pattern of bits is an element.
        let words = unsafe { memory.cast::<u32>() };
        let (room, of_x) = const {
            (
                (SKINNY_HEIGHT + 2 * SUMS) * (LINE / 4),
                SKINNY_HEIGHT * (LINE / 4),
            )
        };
        let mut number = 0;
        while number < slots {
            let mut i = rows * (LINE / 4) + own * 4;
            while i < width * (LINE / 4) {
                words.set_chunk(number * room + of_x + i, [0_u32; 4]);
                i += WARPGROUP as usize * 4;
            }
            number += 1;
        }
        bulk::fence_proxy_async();
        thread::sync_threads_named(1, WARPGROUP);
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
    while let Some(tile) = tiles.next() {
        let mut sums = <[T::Scale; SUMS]>::ZERO;
        let mut step = 0;
        while step < tile.steps {
            slot.full().wait(slot.parity);
            let at = memory.skip(slot.number as usize * room);
            X::add(&mut sums, at, own, at.skip(of_x));
            if X::BY_THREADS {
                // SAFETY: all lanes of the warp take the same steps.
                unsafe { warp::sync_warp(FULL_MASK) };
                if own.is_multiple_of(32) {
                    slot.empty().arrive();
                }
            } else if own == 0 {
                slot.empty().arrive();
            }
            slot = slot.next();
            step += 1;
        }
        // Everybody is done with the sums of the tile before.
        thread::sync_threads_named(1, WARPGROUP);
        let (rows, (_, column)) = (X::rows(own), wgmma::place(own, 0));
        unrolled!(i < SUMS of 32 => {
            let column = column + i / 4 * 8 + i % 2;
            staged.set(column * SKINNY_PITCH + rows[i / 2 % 2], sums[i]);
        });
        thread::sync_threads_named(1, WARPGROUP);

        // In the order of C's lines, of which a tile has some from this place on.
        let (line, first, of_lines) = if is_turned {
            (tile.left, tile.top, width)
        } else {
            (tile.top, tile.left, height)
        };
        let lines = of_lines.min(problem.m - line);
        // Divisions by constants.
        let in_a_line = |i: usize, of_each: usize| match is_turned {
            true => (i / (height / of_each), i % (height / of_each) * of_each),
            false => (i / (width / of_each), i % (width / of_each) * of_each),
        };
        let out = out.of_product(problem, tile.product);
        let pitch = parts_pitch(problem.n);
        let is_part = part < problem.k;
        let end = if is_part { pitch } else { problem.n };
        let mut i = own;
        while i < height * width {
            let (down, across) = in_a_line(i, 1);
            let [row, column] = if is_turned {
                [across, down]
            } else {
                [down, across]
            };
            let sum = staged.get(column * SKINNY_PITCH + row);
            let is_inside = down < lines && first + across < end;
            let (down, across) = (line + down, first + across);
            if is_inside && is_part {
                let at = (tile.number * problem.m + down) * pitch + across;
                sums_of_parts.set(at, sum);
            } else if is_inside {
                out.write(problem, [down, across], sum);
            }
            i += WARPGROUP as usize;
        }
        if !is_part {
            continue;
        }
        let parts = problem.k.div_ceil(part);
        let number = tile.top / height * of_d.n.div_ceil(width) + tile.left / width;
        let ticket = tile.product * tiles_of_c(of_d, height, width) as usize + number;
        if !block::is_last_named(tickets, ticket, parts as u32, 1, WARPGROUP) {
            continue;
        }
        let of_product = sums_of_parts.skip(tile.product * parts * problem.m * pitch);
        let mut i = own;
        while i < height * width / PARTS_CHUNK {
            let (down, across) = in_a_line(i, PARTS_CHUNK);
            let (row, column) = (line + down, first + across);
            if down < lines && column < problem.n {
                let at = row * pitch + column;
                let part = |number| of_product.get_chunk(number * problem.m * pitch + at);
                add_parts(part, parts, out, problem, [row, column]);
            }
            i += WARPGROUP as usize;
        }
    }
}
