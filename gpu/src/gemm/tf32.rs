//! `best` for `f32` by the precision `tf32`, on compute capability 9.0.
//!
//! ```text
//! launch 1, for operands that tensor maps cannot bring:
//!     for each group of 128 lines and each step of 32 along k: write their tile, rounded to TF32
//! launch 2: as `gemm_best_wgmma`, with steps of 32 along k
//! ```
//!
//! Tensor cores read both operands of `f32` by lines along k only. Tensor maps bring such lines of rows of A and of columns of
//! B, and round them on the way. Where memory has lines in the other direction, or lines that do not begin at multiples of 16
//! bytes, the first launch writes the tiles as the second one needs them, which costs 8 bytes of traffic for each element.

use cuda_std::{
    prelude::*,
    shared::DynamicShared,
    tensor_map::TensorMap,
    unrolled,
    warp::FULL_MASK,
    wgmma::{self, Factor, Sums, Tile},
};

use super::{
    operand::is_aligned,
    planes::{self, Planes},
    policy::{
        PLANES_GROUP, SPLIT_BLOCK, TF32_STEP, WGMMA_BLOCK, WGMMA_HEIGHT, wgmma_bytes, wgmma_slots,
    },
    problem::*,
    wgmma::{
        CONSUMERS, FEW_REGISTERS, MANY_REGISTERS, MOST_SLOTS, Slot, Staging, Tiles, WARPGROUP, load,
    },
};

/// The length along k of a step.
const DEPTH: usize = <f32 as Factor>::DEPTH;
const _: () = assert!(DEPTH == TF32_STEP);
/// The elements of 64 lines of a tile, and those of a group.
const PANEL: usize = <f32 as Factor>::PANEL;
const GROUP: usize = PLANES_GROUP * DEPTH;
/// The elements of a chunk of 16 bytes.
const CHUNK: usize = 4;

/// One plane of numbers of TF32.
struct Rounded;

impl Planes<CHUNK> for Rounded {
    type Element = f32;
    const COUNT: usize = 1;

    #[inline(always)]
    fn next(rest: &mut [f32; CHUNK]) -> [f32; CHUNK] {
        let mut rounded = [0.0; CHUNK];
        unrolled!(j < CHUNK => { rounded[j] = wgmma::round_to_tf32(rest[j]); });
        rounded
    }
}

/// Writes the tiles of op(A), op(B) or both, as the bits 0 and 1 of `tiled` say.
///
/// An operand's lines are the rows of op(A), or the columns of op(B), in groups of 128. For each group, for each step of 32
/// along k, there is a tile of 128 lines of 32 elements with the swizzle of 128 bytes. Elements are rounded to TF32. Those
/// outside of the matrix are 0.
///
/// Launch: a block of `SPLIT_BLOCK` threads for each group of all A and each step, then for those of all B, without those of an
/// operand that has no tiles; static shared memory of 16 KiB. Reads and writes the operands once.
///
/// # Safety
/// `a` and `b` hold every element that `problem` covers. `tiles_of_a` and `tiles_of_b` hold those of all groups, where there
/// are any, and overlap nothing else.
///
/// Source: ours.
#[kernel(launch_bounds(SPLIT_BLOCK))]
pub unsafe fn gemm_best_tiles(
    a: Global<f32>,
    b: Global<f32>,
    tiles_of_a: GlobalMut<f32>,
    tiles_of_b: GlobalMut<f32>,
    problem: Problem,
    tiled: usize,
) {
    let tile = shared![f32; GROUP];
    let are_wanted = [tiled & 1 != 0, tiled & 2 != 0];
    planes::write_tiles::<Rounded, CHUNK>(
        [a, b],
        [tiles_of_a, tiles_of_b],
        are_wanted,
        &problem,
        tile,
    );
}

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f32` by products of numbers of TF32, with sums in `f32`.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`; `count` of each. The bits 0 and 1 of `tiled` say whether the tiles of
/// A and those of B are what [`gemm_best_tiles`] writes. Otherwise `a` or `b` is the map of the matrices, which have lines
/// along k: a stack, of one matrix if all products have the same. It rounds to TF32, and has the swizzle of 128 bytes and tiles
/// of 32 columns; a tile's rows are those of the tile of C (for B, its columns).
///
/// Launch: blocks of 384 threads, each of which takes tiles of 128 x `2 * SUMS` elements of C, as many blocks apart as there
/// are; dynamic shared memory of [`wgmma_bytes`]. Reads `m * n * k * (1 / 128 + 1 / (2 * SUMS))` elements, and C unless `beta`
/// is 0; writes `m * n`. The sums are those of [`wgmma`] for each 8 of k in order: the same bits in every launch.
///
/// # Safety
/// The maps and the tiles are those of the operands, which `problem` describes; `k` is not 0. `c` holds every element that
/// `problem` covers, and overlaps nothing else. `bias` holds a row of C if the epilogue has one.
///
/// Source: ours.
#[kernel(
    launch_bounds(WGMMA_BLOCK, 1),
    dynamic_shared(wgmma_bytes(2 * SUMS)),
    instances(f32_256: (128), f32_128: (64), f32_64: (32))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn gemm_best_tf32<const SUMS: usize>(
    a: TensorMap,
    b: TensorMap,
    tiles_of_a: Global<f32>,
    tiles_of_b: Global<f32>,
    c: GlobalMut<f32>,
    bias: Global<f32>,
    problem: Problem,
    tiled: usize,
    alpha: f32,
    beta: f32,
) where
    [f32; SUMS]: Sums,
{
    let (width, slots) = const { (2 * SUMS, wgmma_slots(2 * SUMS)) };
    // The elements of a slot.
    let room = const { (WGMMA_HEIGHT + 2 * SUMS) * DEPTH };
    const { assert!(wgmma_slots(2 * SUMS) <= MOST_SLOTS) };
    let barriers = shared![u64; 2 * MOST_SLOTS];
    // SAFETY: the only one in this kernel, and the launch gives this memory and what its start may be moved by.
    let mut memory = unsafe { DynamicShared::new() };
    let len = slots * room + CONSUMERS as usize * 64 * 64;
    let memory = memory.carve::<f32>(len + 256).skip_to_multiple(1024);
    Slot::init(barriers, slots);

    let problem = &problem;
    let mut tiles = Tiles::of(problem, problem.k, width, DEPTH);
    let mut slot = Slot::first(barriers, slots);
    let thread = thread::thread_idx_x();
    // The same for all lanes of a warp, which the compiler cannot know of a thread's index.
    let warpgroup = warp::shuffle(FULL_MASK, thread / WARPGROUP, 0);
    if warpgroup == 0 {
        thread::decrease_registers::<FEW_REGISTERS>();
        if thread == 0 {
            let groups = [problem.m, problem.n].map(|lines| lines.div_ceil(PLANES_GROUP));
            let steps = problem.k.div_ceil(DEPTH);
            while let Some(tile) = tiles.next() {
                let [of_a_stack, of_b_stack] = tile.matrices(problem);
                // Where the tiles of A and B begin, and those of the second half of a wide B. It may be outside of C: then any
                // tile will do.
                let group_of_b = tile.left / PLANES_GROUP;
                let last = (group_of_b + 1).min(groups[1] - 1);
                let of_a = of_a_stack * groups[0] + tile.top / PLANES_GROUP;
                let of_b = [group_of_b, last].map(|group| of_b_stack * groups[1] + group);
                let within = tile.left % PLANES_GROUP * DEPTH;
                let mut step = 0;
                while step < tile.steps {
                    let at = step as usize;
                    // The slots are empty at first: the phase before the first one counts as complete.
                    slot.empty().wait(slot.parity ^ 1);
                    let full = slot.full();
                    full.arrive_expect_tx((room * size_of::<f32>()) as u32);
                    let to = memory.skip(slot.number as usize * room);
                    let (to_b, k) = (to.skip(GROUP), at * DEPTH);
                    if tiled & 1 == 0 {
                        load::<f32, true>(to, a, [tile.top, k, of_a_stack], WGMMA_HEIGHT, full);
                    } else {
                        to.load_bulk(0, tiles_of_a, (of_a * steps + at) * GROUP, GROUP, full);
                    }
                    if tiled & 2 == 0 {
                        load::<f32, true>(to_b, b, [tile.left, k, of_b_stack], width, full);
                    } else {
                        let first = (of_b[0] * steps + at) * GROUP + within;
                        let len = if width < PLANES_GROUP {
                            width * DEPTH
                        } else {
                            GROUP
                        };
                        to_b.load_bulk(0, tiles_of_b, first, len, full);
                        if width > PLANES_GROUP {
                            let second = (of_b[1] * steps + at) * GROUP;
                            to_b.load_bulk(GROUP, tiles_of_b, second, GROUP, full);
                        }
                    }
                    slot = slot.next();
                    step += 1;
                }
            }
        }
        return;
    }

    thread::increase_registers::<MANY_REGISTERS>();
    let consumer = warpgroup - 1;
    let own = (thread % WARPGROUP) as usize;
    let first = slots * room + consumer as usize * 64 * 64;
    let staging = Staging::new(memory.skip(first), consumer, own);
    let is_aligned = is_aligned(c.as_ptr().cast_const(), problem.ldc);
    while let Some(tile) = tiles.next() {
        let mut sums = <[f32; SUMS]>::ZERO;
        let mut step = 0;
        while step < tile.steps {
            slot.full().wait(slot.parity);
            let at = slot.number as usize * room;
            let mut products = wgmma::begin(&mut sums);
            products.add(
                Tile::<f32, true>::new(memory, at + consumer as usize * PANEL),
                Tile::<f32, true>::new(memory, at + GROUP),
            );
            products.commit().wait();
            if own == 0 {
                slot.empty().arrive();
            }
            slot = slot.next();
            step += 1;
        }
        let (top, left) = (tile.top + consumer as usize * 64, tile.left);
        let c = problem.result(tile.product, c);
        let is_whole = top + 64 <= problem.m && left + width <= problem.n;
        // Four lanes write 32 bytes of a line together, which is what memory takes at once.
        if is_whole && is_aligned && beta == 0.0 && !problem.epilogue.is_some() {
            let (row, column) = wgmma::place(own, 0);
            let place = c.skip((top + row) * problem.ldc + left + column);
            unrolled!(panel < { SUMS / 32 } of 4 => {
                unrolled!(i < 16 of 16 => {
                    let at = 32 * panel + 2 * i;
                    let to = i % 2 * 8 * problem.ldc + 64 * panel + i / 2 * 8;
                    place.set_chunk(to, [alpha * sums[at], alpha * sums[at + 1]]);
                });
            });
            continue;
        }
        staging.meet();
        unrolled!(panel < { SUMS / 32 } of 4 => {
            let mut part = [0.0; 32];
            unrolled!(i < 8 => {
                unrolled!(j < 4 => { part[4 * i + j] = sums[32 * panel + 4 * i + j]; });
            });
            staging.put_sums(part);
            let corner = [top, left + 64 * panel];
            let factors = [alpha, beta];
            planes::write(&staging, c, bias, problem, corner, is_aligned, factors, |sum, _| sum);
        });
    }
}
