//! `best` for `f16` and `bf16` on compute capability 9.0: products of warpgroups, whose operands tensor maps bring.
//!
//! ```text
//! block, for each of its tiles of C:
//!     one thread of warpgroup 0, for each tile along k:
//!         wait until the slot of the ring is empty
//!         start to copy tiles of A and B to it; they arrive at `full`                         (tensor maps)
//!     warpgroups 1 and 2, each for the upper or lower half of the tile of C:
//!         sums = 0, in registers
//!         for each tile along k:
//!             wait until the slot is full; sums += tile of A * tile of B                      (wgmma)
//!             arrive at `empty`
//!         C = alpha * sums + beta * C, then the epilogue, rounded once unless C is of `f32`, through shared memory
//! ```
//!
//! The products read both operands from shared memory, so the threads only start them, and the tensor cores are the limit. The
//! copies run ahead by as many tiles as the ring has slots, also into the next tile of C while this one is written. A block
//! stays on its multiprocessor and takes one tile of C after another. The thread that copies needs few registers: its
//! warpgroup leaves the others those of the sums.
//!
//! A matrix's edge needs no other path. Copies fill what is outside with zeros, whose products change no sum.
//!
//! Where C has few tiles and k is long, k is divided into parts. Then the tiles are those of each part, the sums of a part go
//! to a matrix of its own, and [`gemm_best_parts`](super::gemm_best_parts) adds them.

use core::mem::transmute_copy;
use cuda_std::{
    bf16, f16,
    mbarrier::{self, Mbarrier},
    mma::{self, Pair},
    prelude::*,
    shared::DynamicShared,
    tensor_map::TensorMap,
    unrolled,
    warp::FULL_MASK,
    wgmma::{self, DEPTH, Factor, PANEL, Sums, Tile},
};

use super::{
    band::Half,
    output::{Output, write_halves},
    parts::write_part,
    policy::{
        WGMMA_BLOCK, WGMMA_GROUP, WGMMA_HEIGHT, WGMMA_STATIC_BYTES, WGMMA_STEP, wgmma_bytes,
        wgmma_slots,
    },
    problem::*,
    staging::{CHUNK, Staging, WARPGROUP},
};

// The host divides k by the steps of the kernel.
const _: () = assert!(WGMMA_STEP == DEPTH);
/// The most slots of a ring.
pub(super) const MOST_SLOTS: usize = WGMMA_STATIC_BYTES / 16;
/// The warpgroups that multiply.
pub(super) const CONSUMERS: u32 = (WGMMA_HEIGHT / 64) as u32;
/// The registers of a thread of the warpgroup that copies, and of the others: together those of a multiprocessor.
pub(super) const FEW_REGISTERS: u32 = 40;
pub(super) const MANY_REGISTERS: u32 = 232;

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f16` or `bf16` with sums in `f32` and C of type `R`, by products of
/// warpgroups.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`; `count` of each. `A_ALONG_K` and `B_ALONG_K` say whether elements
/// that are adjacent along k are adjacent in memory. `a` and `b` are the maps of all A and B as they lie in memory, each a
/// stack, of one matrix if all products have the same. They have the swizzle of 128 bytes and tiles of 64 columns; a tile's
/// rows are those of the tile of C (for B, its columns) if memory has lines along k, and 64 otherwise.
///
/// If `part` is less than `k`, the kernel computes the sums of `k.div_ceil(part)` parts of k instead: `part` products for each
/// sum, of the last part fewer. They go to `sums_of_parts`, as so many matrices of `m` rows of
/// [`parts_pitch`](super::policy::parts_pitch) elements, which are `n` or up to 3 more, those of a product after those of the
/// product before. Then it does not access C.
///
/// Launch: blocks of 384 threads, each of which takes tiles of 128 x `2 * SUMS` elements of C, as many blocks apart as there
/// are; dynamic shared memory of [`wgmma_bytes`]. Reads `m * n * k * (1 / 128 + 1 / (2 * SUMS))` elements, and C unless `beta`
/// is 0; writes `m * n`, or those of each part.
/// The sums are those of [`wgmma`] for each 16 of a part in order: the same bits in every launch, and in one part those of
/// [`gemm_best_fragments`](super::gemm_best_fragments) on the same device.
///
/// # Safety
/// `a` and `b` are maps of matrices of the problem's sizes. `c` holds every element that `problem` covers. If C has a whole
/// tile and its rows begin at multiples of 16 bytes, `map_of_c` is the map of all C, with the swizzle of 128 bytes and tiles of
/// 16 rows of 128 bytes. `part` is `k`, or less and a multiple of 64; then `sums_of_parts` has room for the sums of all parts.
/// `c` and `sums_of_parts` overlap nothing else. The views behind `part` hold what `beta` and the epilogue take of them;
/// `addend` may be `c`.
///
/// Source: ours. The division of work between warpgroups is that of CUTLASS's kernels for this architecture.
#[kernel(
    launch_bounds(WGMMA_BLOCK, 1),
    dynamic_shared(wgmma_bytes(2 * SUMS)),
    instances(
        f16_256_nn: (f16, f16, 128, true, false),
        f16_256_nt: (f16, f16, 128, true, true),
        f16_256_tn: (f16, f16, 128, false, false),
        f16_256_tt: (f16, f16, 128, false, true),
        f16_128_nn: (f16, f16, 64, true, false),
        f16_128_nt: (f16, f16, 64, true, true),
        f16_128_tn: (f16, f16, 64, false, false),
        f16_128_tt: (f16, f16, 64, false, true),
        f16_64_nn: (f16, f16, 32, true, false),
        f16_64_nt: (f16, f16, 32, true, true),
        f16_64_tn: (f16, f16, 32, false, false),
        f16_64_tt: (f16, f16, 32, false, true),
        bf16_256_nn: (bf16, bf16, 128, true, false),
        bf16_256_nt: (bf16, bf16, 128, true, true),
        bf16_256_tn: (bf16, bf16, 128, false, false),
        bf16_256_tt: (bf16, bf16, 128, false, true),
        bf16_128_nn: (bf16, bf16, 64, true, false),
        bf16_128_nt: (bf16, bf16, 64, true, true),
        bf16_128_tn: (bf16, bf16, 64, false, false),
        bf16_128_tt: (bf16, bf16, 64, false, true),
        bf16_64_nn: (bf16, bf16, 32, true, false),
        bf16_64_nt: (bf16, bf16, 32, true, true),
        bf16_64_tn: (bf16, bf16, 32, false, false),
        bf16_64_tt: (bf16, bf16, 32, false, true),
        f16_f32_256_nn: (f16, f32, 128, true, false),
        f16_f32_256_nt: (f16, f32, 128, true, true),
        f16_f32_256_tn: (f16, f32, 128, false, false),
        f16_f32_256_tt: (f16, f32, 128, false, true),
        f16_f32_128_nn: (f16, f32, 64, true, false),
        f16_f32_128_nt: (f16, f32, 64, true, true),
        f16_f32_128_tn: (f16, f32, 64, false, false),
        f16_f32_128_tt: (f16, f32, 64, false, true),
        f16_f32_64_nn: (f16, f32, 32, true, false),
        f16_f32_64_nt: (f16, f32, 32, true, true),
        f16_f32_64_tn: (f16, f32, 32, false, false),
        f16_f32_64_tt: (f16, f32, 32, false, true),
        bf16_f32_256_nn: (bf16, f32, 128, true, false),
        bf16_f32_256_nt: (bf16, f32, 128, true, true),
        bf16_f32_256_tn: (bf16, f32, 128, false, false),
        bf16_f32_256_tt: (bf16, f32, 128, false, true),
        bf16_f32_128_nn: (bf16, f32, 64, true, false),
        bf16_f32_128_nt: (bf16, f32, 64, true, true),
        bf16_f32_128_tn: (bf16, f32, 64, false, false),
        bf16_f32_128_tt: (bf16, f32, 64, false, true),
        bf16_f32_64_nn: (bf16, f32, 32, true, false),
        bf16_f32_64_nt: (bf16, f32, 32, true, true),
        bf16_f32_64_tn: (bf16, f32, 32, false, false),
        bf16_f32_64_tt: (bf16, f32, 32, false, true),
    )
)]
pub unsafe fn gemm_best_wgmma<
    T: Half + Factor<Sum = f32>,
    R: Element<Scale = f32>,
    const SUMS: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: TensorMap,
    b: TensorMap,
    map_of_c: TensorMap,
    c: GlobalMut<R>,
    sums_of_parts: GlobalMut<f32>,
    problem: Problem,
    part: usize,
    alpha: f32,
    beta: f32,
    addend: GlobalMut<R>,
    bias: Global<R>,
    row_scales: Global<f32>,
    column_scales: Global<f32>,
) where
    [f32; SUMS]: Sums<Element = f32>,
{
    let (width, slots) = const { (2 * SUMS, wgmma_slots(2 * SUMS)) };
    // The elements of a slot, and those of A.
    let (room, of_a) = const { ((WGMMA_HEIGHT + 2 * SUMS) * DEPTH, WGMMA_HEIGHT * DEPTH) };
    const { assert!(wgmma_slots(2 * SUMS) <= MOST_SLOTS) };
    let barriers = shared![u64; 2 * MOST_SLOTS];
    // SAFETY: the only one in this kernel, and the launch gives this memory and what its start may be moved by.
    let mut memory = unsafe { DynamicShared::new() };
    let len = slots * room + 2 * CONSUMERS as usize * PANEL;
    let memory = memory.carve::<T>(len + 512).skip_to_multiple(1024);

    Slot::init(barriers, slots, CONSUMERS);

    let problem = &problem;
    let mut tiles = Tiles::<1>::of(problem, part, [WGMMA_HEIGHT, width], DEPTH);
    let mut slot = Slot::first(barriers, slots);
    let thread = thread::thread_idx_x();
    // The same for all lanes of a warp, which the compiler cannot know of a thread's index.
    let warpgroup = warp::shuffle(FULL_MASK, thread / WARPGROUP, 0);
    if warpgroup == 0 {
        thread::decrease_registers::<FEW_REGISTERS>();
        // SAFETY: the whole warp takes the branch.
        if thread < 32 && unsafe { warp::elect(FULL_MASK) } {
            while let Some(tile) = tiles.next() {
                let mut step = 0;
                while step < tile.steps {
                    // The slots are empty at first: the phase before the first one counts as complete.
                    slot.empty().wait(slot.parity ^ 1);
                    slot.full().arrive_expect_tx((room * size_of::<T>()) as u32);
                    let k = tile.k + step as usize * DEPTH;
                    let [of_a_stack, of_b_stack] = tile.matrices(problem);
                    let to = memory.skip(slot.number as usize * room);
                    let corner = [tile.top, k, of_a_stack];
                    load::<T, A_ALONG_K>(to, a, corner, WGMMA_HEIGHT, slot.full());
                    let corner = [tile.left, k, of_b_stack];
                    load::<T, B_ALONG_K>(to.skip(of_a), b, corner, width, slot.full());
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
    let first = slots * room + 2 * consumer as usize * PANEL;
    let mut staging = Staging::new(memory.skip(first), consumer, own);
    let out = Output {
        c,
        addend,
        bias,
        row_scales,
        column_scales,
        alpha,
        beta,
    };
    let is_aligned = out.is_aligned(problem, 16);
    while let Some(tile) = tiles.next() {
        let mut sums = <[f32; SUMS]>::ZERO;
        let mut step = 0;
        while step < tile.steps {
            slot.full().wait(slot.parity);
            let at = slot.number as usize * room;
            let mut products = wgmma::begin(&mut sums);
            products.add(
                Tile::<T, A_ALONG_K>::new(memory, at + consumer as usize * PANEL),
                Tile::<T, B_ALONG_K>::new(memory, at + of_a),
            );
            products.commit().wait();
            if own == 0 {
                slot.empty().arrive();
            }
            slot = slot.next();
            step += 1;
        }
        let (top, left) = (tile.top + consumer as usize * 64, tile.left);
        if part < problem.k {
            let (corner, rows, to) = ([top, left], staging.rows(), sums_of_parts);
            write_part::<f32, SUMS, false>(&sums, to, tile.number, problem, corner, rows);
            continue;
        }
        let out = out.of_product(problem, tile.product);
        let is_whole = top + 64 <= problem.m && left + width <= problem.n;
        // A loop without what is seldom needed, as the instructions of a tile are read from memory once for each.
        if is_whole && is_aligned && beta == 0.0 && !problem.epilogue.is_some() {
            if const { size_of::<R>() == 4 } {
                let corner = [left, top, tile.product];
                staging.copy_words::<R, SUMS>(map_of_c, corner, staging.rows(), &sums, alpha);
                continue;
            }
            // Large tiles go through shared memory: lanes then write whole lines of the cache.
            if const { SUMS < 128 } {
                let (place, ldc) = (out.c.skip(top * problem.ldc + left), problem.ldc);
                write_halves(place, ldc, staging.rows(), &sums, alpha, own);
                continue;
            }
            let lane = own % 32;
            let (line, chunk) = (lane % 16, lane / 16);
            let first = line * 64 + (chunk ^ (line % 8)) * CHUNK;
            unrolled!(panel < { SUMS / 32 } of 4 => {
                let corner = [left + 64 * panel, top, tile.product];
                staging.copy(map_of_c, corner, |lines: Shared<T>| {
                    unrolled!(i < 4 => {
                        let mut pairs = [Pair::<T>::new([T::ZERO; 2]); 4];
                        unrolled!(j < 4 => {
                            let at = 32 * panel + 8 * i + 2 * j;
                            let pair = R::rounded_two([alpha * sums[at], alpha * sums[at + 1]]);
                            // SAFETY: these elements have 16 bits, and any bits are elements of A.
                            pairs[j] = Pair::new(unsafe { transmute_copy::<[R; 2], [T; 2]>(&pair) });
                        });
                        mma::stmatrix_x4(lines, first ^ (2 * i * CHUNK), pairs);
                    });
                });
            });
            continue;
        }
        staging.wait_for_copies::<0>();
        staging.meet();
        unrolled!(panel < { SUMS / 32 } of 4 => {
            let mut part = [0.0; 32];
            unrolled!(i < 8 => {
                unrolled!(j < 4 => { part[4 * i + j] = sums[32 * panel + 4 * i + j]; });
            });
            let corner = [top, left + 64 * panel];
            if const { size_of::<R>() == 4 } {
                staging.put_sums(staging.rows(), part);
                let four = Staging::<T>::four;
                staging.write_fours(four, &out, problem, corner, is_aligned, |sum, _| sum);
            } else {
                let bias = out.bias_of(problem, corner[1] + staging.chunk().1);
                staging.put_sums(staging.rows(), part);
                staging.write(&out, &bias, problem, corner, is_aligned);
            }
        });
    }
    // Copies read the memory of the block.
    staging.wait_for_copies::<0>();
}

/// The place in a ring of some slots, and the parity of its phase.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    barriers: Shared<u64>,
    slots: u32,
    pub number: u32,
    pub parity: u32,
}

impl Slot {
    /// Initializes the mbarriers of all slots, and waits until the block's threads see them. A slot is empty after so many
    /// arrivals.
    #[inline(always)]
    #[track_caller]
    pub fn init(barriers: Shared<u64>, slots: usize, arrivals: u32) {
        if thread::thread_idx_x() == 0 {
            let mut slot = Self::first(barriers, slots);
            while slot.parity == 0 {
                slot.full().init(1);
                slot.empty().init(arrivals);
                slot = slot.next();
            }
            mbarrier::fence_init();
        }
        thread::sync_threads();
    }

    #[inline(always)]
    pub fn first(barriers: Shared<u64>, slots: usize) -> Self {
        Self {
            barriers,
            slots: slots as u32,
            number: 0,
            parity: 0,
        }
    }

    /// Completes when the slot's tiles have come.
    #[inline(always)]
    pub fn full(self) -> Mbarrier {
        Mbarrier::new(self.barriers, self.number as usize)
    }

    /// Completes when all consumers are done with the slot's tiles.
    #[inline(always)]
    pub fn empty(self) -> Mbarrier {
        Mbarrier::new(self.barriers, self.slots as usize + self.number as usize)
    }

    #[inline(always)]
    pub fn next(mut self) -> Self {
        self.number += 1;
        if self.number == self.slots {
            (self.number, self.parity) = (0, self.parity ^ 1);
        }
        self
    }
}

/// The tiles of a cluster of blocks, one after another: those of C for the first part of k, then for the next, then those of
/// the next product.
pub(super) struct Tiles<'a, const BLOCKS: u32 = 1> {
    problem: &'a Problem,
    part: usize,
    height: usize,
    width: usize,
    /// The length of a step along k.
    depth: usize,
    /// The tiles of C, and the parts of k.
    of_c: u32,
    parts: u32,
    next: u32,
    end: u32,
}

/// A tile of C for a part of k.
#[derive(Clone, Copy)]
pub(super) struct OfPart {
    pub product: usize,
    pub top: usize,
    pub left: usize,
    /// The number of the part, of those of all products, and its steps along k, from `k` on.
    pub number: usize,
    pub k: usize,
    pub steps: u32,
}

impl OfPart {
    /// Returns the numbers of the product's A and B in their stacks.
    #[inline(always)]
    pub fn matrices(&self, problem: &Problem) -> [usize; 2] {
        let [next_a, next_b, ..] = problem.next;
        [
            if next_a > 0 { self.product } else { 0 },
            if next_b > 0 { self.product } else { 0 },
        ]
    }
}

impl<'a, const BLOCKS: u32> Tiles<'a, BLOCKS> {
    #[inline(always)]
    pub fn of(problem: &'a Problem, part: usize, tile: [usize; 2], depth: usize) -> Self {
        let [height, width] = tile;
        let of_c = tiles_of_c(problem, height, width);
        let parts = if part < problem.k {
            problem.k.div_ceil(part) as u32
        } else {
            1
        };
        Self {
            problem,
            part,
            height,
            width,
            depth,
            of_c,
            parts,
            next: thread::block_idx_x() / BLOCKS,
            end: of_c * parts * problem.count as u32,
        }
    }

    #[inline(always)]
    pub fn next(&mut self) -> Option<OfPart> {
        if self.next >= self.end {
            return None;
        }
        let (number, tile) = divided(self.next, self.of_c);
        let (product, part) = divided(number, self.parts);
        let (product, part) = (product as usize, part as usize);
        self.next += thread::grid_dim_x() / BLOCKS;
        let (top, left) = tile_at(self.problem, tile, WGMMA_GROUP, self.height, self.width);
        let k = part * self.part;
        let steps = self.part.min(self.problem.k - k).div_ceil(self.depth) as u32;
        Some(OfPart {
            product,
            top,
            left,
            number: number as usize,
            k,
            steps,
        })
    }
}

/// Divides with a rest. Most often there are one product and one part, and the quotient is 0: the first copies should not wait
/// for divisions, each of which takes dozens of instructions.
#[inline(always)]
fn divided(number: u32, by: u32) -> (u32, u32) {
    if number < by {
        (0, number)
    } else {
        (number / by, number % by)
    }
}

/// Starts to copy the tile of an operand of some rows of op(A) (columns of op(B)) from `first` on, at `k`, of a product.
#[inline(always)]
#[track_caller]
pub(super) fn load<T: Factor, const ALONG_K: bool>(
    to: Shared<T>,
    map: TensorMap,
    [first, k, product]: [usize; 3],
    rows: usize,
    full: Mbarrier,
) {
    if ALONG_K {
        let corner = [k as i32, first as i32, product as i32];
        to.load_tile(0, map, corner, rows * T::DEPTH, full);
    } else {
        unrolled!(panel < { rows / 64 } of 4 => {
            let corner = [(first + panel * 64) as i32, k as i32, product as i32];
            to.load_tile(panel * T::PANEL, map, corner, T::PANEL, full);
        });
    }
}
