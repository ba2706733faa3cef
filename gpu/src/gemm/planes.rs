//! `best` for `f32` on tensor cores, if the caller asks for it: each element is the sum of three of `bf16`.
//!
//! ```text
//! gemm_best_split: plane 0 of x = bf16(x), plane 1 = bf16(x - plane 0), plane 2 = bf16(x - plane 0 - plane 1)
//!
//! gemm_best_planes, block, for each of its tiles of C:
//!     one thread of warpgroup 0, for each step of 64 along k, for planes 2, 0 and 1:
//!         wait until the slot of the ring is empty; start to copy the plane's tiles of A and B       (bulk copies)
//!     warpgroups 1 and 2, each for the upper or lower half of the tile of C:
//!         sums = 0, in registers
//!         for each step:
//!             small = a2 * b0 + a0 * b2                    (wgmma; then the slot of plane 2 is free)
//!             small += a1 * b1 + a1 * b0 + a0 * b1         (wgmma)
//!             large = a0 * b0                              (wgmma)
//!             sums += small + large
//!         C = alpha * sums + beta * C, then the epilogue, through shared memory
//! ```
//!
//! A plane has 8 significant bits, so that three have the 24 of `f32`. The products of planes that are left out are at most
//! 2^-23 of the whole one. The tensor cores truncate sums, so they only add the products of one step, and the rest is rounded
//! to nearest. The products of the first planes have 16 bits: sums of 64 of them seldom lose any, if the small products are
//! added apart. While one warpgroup adds its sums, the other one multiplies.
//!
//! The split writes tiles as the products read them: 128 lines of 64 elements along k, with the swizzle of 128 bytes. So the
//! copies need no tensor maps, and the products are the same for all transposes.
//!
//! An infinity, NaN, or a number that is an infinity in `bf16`, makes NaN of all its products here. Such a sum is computed
//! again from A and B as [`gemm_best`](super::gemm_best) does, and has its value.

use cuda_std::{
    GpuFloat, bf16, bulk,
    mma::Pair,
    prelude::*,
    shared::DynamicShared,
    tensor_map::Swizzle,
    unrolled,
    warp::FULL_MASK,
    wgmma::{self, DEPTH, Factor, PANEL, Sums, Tile},
};

use super::{
    operand::is_aligned,
    output::Output,
    policy::{
        PLANES, PLANES_GROUP, SPLIT_BLOCK, WGMMA_BLOCK, WGMMA_HEIGHT, wgmma_bytes, wgmma_slots,
    },
    problem::*,
    staging::{Staging, WARPGROUP},
    wgmma::{CONSUMERS, FEW_REGISTERS, MANY_REGISTERS, MOST_SLOTS, Slot, Tiles},
};

/// The elements of a chunk of 16 bytes of a plane.
const CHUNK: usize = 8;
/// The elements of a plane's tile for a group of lines.
const GROUP: usize = PLANES_GROUP * DEPTH;
const _: () = assert!(PLANES_GROUP == WGMMA_HEIGHT);

/// Writes the planes of op(A) and op(B).
///
/// An operand's lines are the rows of op(A), or the columns of op(B), in groups of 128. For each group, for each step of 64
/// along k, there are the tiles of its three planes, of 128 lines of 64 elements with the swizzle of 128 bytes. Elements
/// outside of the matrix are 0.
///
/// Launch: a block of `SPLIT_BLOCK` threads for each group of all A and each step, then for those of all B; static shared
/// memory of 48 KiB. Reads A and B once, and writes 6 bytes for each of their elements.
///
/// # Safety
/// `a` and `b` hold every element that `problem` covers. `planes_of_a` and `planes_of_b` hold those of all groups, and overlap
/// nothing else.
///
/// Source: ours. That three numbers of `bf16` make one of `f32` is from G. Henry, P. Tang, A. Heinecke, "Leveraging the
/// bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", 2019.
#[kernel(launch_bounds(SPLIT_BLOCK))]
pub unsafe fn gemm_best_split(
    a: Global<f32>,
    b: Global<f32>,
    planes_of_a: GlobalMut<bf16>,
    planes_of_b: GlobalMut<bf16>,
    problem: Problem,
) {
    let tile = shared![bf16; PLANES * GROUP];
    write_tiles::<ThreeOfBf16, CHUNK, 4>(
        [a, b],
        [planes_of_a, planes_of_b],
        [true; 2],
        &problem,
        tile,
    );
}

/// What tiles have of each element. A chunk of 16 bytes of a tile has `CHUNK` elements.
pub(super) trait Planes<const CHUNK: usize> {
    /// The type of the matrix's elements.
    type From: Element;
    /// The type of a tile's elements.
    type Element: Factor;
    /// The number of planes.
    const COUNT: usize;
    /// Returns the elements of the next plane, and leaves those of the planes after it.
    fn next(rest: &mut [Self::From; CHUNK]) -> [Self::Element; CHUNK];
}

/// The planes of `bf16`: what rounding left is rounded again, twice.
struct ThreeOfBf16;

impl Planes<CHUNK> for ThreeOfBf16 {
    type From = f32;
    type Element = bf16;
    const COUNT: usize = PLANES;

    #[inline(always)]
    fn next(rest: &mut [f32; CHUNK]) -> [bf16; CHUNK] {
        let mut rounded = [bf16::ZERO; CHUNK];
        unrolled!(j < 4 => {
            let pair = Pair::<bf16>::rounded([rest[2 * j], rest[2 * j + 1]]).values();
            unrolled!(side < 2 => {
                rounded[2 * j + side] = pair[side];
                rest[2 * j + side] -= pair[side].widen();
            });
        });
        rounded
    }
}

/// Writes the tiles of this block's group of lines and step along k, of those operands that `are_wanted`, A before B. `tile`
/// has room for the tiles of all planes. `READ` elements of the matrix have 16 bytes.
#[inline(always)]
#[track_caller]
pub(super) fn write_tiles<P: Planes<CHUNK>, const CHUNK: usize, const READ: usize>(
    from: [Global<P::From>; 2],
    to: [GlobalMut<P::Element>; 2],
    are_wanted: [bool; 2],
    problem: &Problem,
    tile: Shared<P::Element>,
) {
    let (depth, of_group) = const { (P::Element::DEPTH, PLANES_GROUP * P::Element::DEPTH) };
    let steps = problem.k.div_ceil(depth) as u32;
    let (mut group, step) = (
        thread::block_idx_x() / steps,
        (thread::block_idx_x() % steps) as usize,
    );
    let of_a = problem.m.div_ceil(PLANES_GROUP) as u32;
    let of_all_a = match (are_wanted[0], problem.next[0] > 0) {
        (false, _) => 0,
        (true, false) => of_a,
        (true, true) => of_a * problem.count as u32,
    };
    let is_a = group < of_all_a;
    let (from, to, next) = if is_a {
        (from[0], to[0], problem.next[0])
    } else {
        group -= of_all_a;
        (from[1], to[1], problem.next[1])
    };
    let (lines, strides) = if is_a {
        (problem.m, [problem.a.row, problem.a.column])
    } else {
        (problem.n, [problem.b.column, problem.b.row])
    };
    let of_one = lines.div_ceil(PLANES_GROUP) as u32;
    let first = (group % of_one) as usize * PLANES_GROUP;
    split::<P, CHUNK, READ>(
        from.skip((group / of_one) as usize * next),
        to.skip((group as usize * steps as usize + step) * P::COUNT * of_group),
        strides,
        [first, lines],
        [step * depth, problem.k],
        tile,
    );
}

/// Writes the tiles of a group of lines, from line `first` of `lines` on, for the step that begins at `k` of `end`. `line` and
/// `along` are the distances between lines and along k, one of which is 1.
#[inline(always)]
#[track_caller]
// Nothing is left to be divided after the last plane.
#[allow(unused_assignments)]
fn split<P: Planes<CHUNK>, const CHUNK: usize, const READ: usize>(
    from: Global<P::From>,
    to: GlobalMut<P::Element>,
    [line_stride, along]: [usize; 2],
    [first, lines]: [usize; 2],
    [k, end]: [usize; 2],
    tile: Shared<P::Element>,
) {
    // Lines have 8 chunks for every type.
    const CHUNKS: usize = 8;
    const TIMES: usize = PLANES_GROUP * CHUNKS / SPLIT_BLOCK as usize;
    let of_group = const { PLANES_GROUP * P::Element::DEPTH };
    let thread = thread::thread_idx_x() as usize;
    let is_whole = along == 1 && is_aligned(from.as_ptr(), line_stride);
    let mut i = 0;
    while i < TIMES {
        // Adjacent threads read adjacent elements.
        let (line, chunk) = if along == 1 {
            (
                thread / CHUNKS + i * (SPLIT_BLOCK as usize / CHUNKS),
                thread % CHUNKS,
            )
        } else {
            (thread % PLANES_GROUP, thread / PLANES_GROUP * TIMES + i)
        };
        let mut rest = [P::From::ZERO; CHUNK];
        let start = k + chunk * CHUNK;
        if first + line < lines {
            let at = (first + line) * line_stride + start * along;
            if is_whole && start + CHUNK <= end {
                unrolled!(part < { CHUNK / READ } of 4 => {
                    let read: [P::From; READ] = from.get_chunk(at + READ * part);
                    unrolled!(j < READ of 16 => { rest[READ * part + j] = read[j]; });
                });
            } else {
                unrolled!(j < CHUNK of 16 => {
                    if start + j < end {
                        rest[j] = from.get(at + j * along);
                    }
                });
            }
        }
        let place = Swizzle::Bytes128.place(line * 128 + chunk * 16) / size_of::<P::Element>();
        unrolled!(plane < { P::COUNT } of 4 => {
            tile.set_chunk(plane * of_group + place, P::next(&mut rest));
        });
        i += 1;
    }
    // The threads' chunks are far apart where lines are not along k. A bulk copy writes whole lines.
    bulk::fence_proxy_async();
    thread::sync_threads();
    if thread == 0 {
        to.store_bulk(0, tile, 0, P::COUNT * of_group);
        bulk::commit_group();
        bulk::wait_group_read::<0>();
    }
}

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f32` from the planes of A and B, by products of warpgroups.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`; `count` of each. The planes are those that [`gemm_best_split`]
/// writes.
///
/// Launch: blocks of 384 threads, each of which takes tiles of 128 x `2 * SUMS` elements of C, as many blocks apart as there
/// are; dynamic shared memory of [`wgmma_bytes`]. Reads `m * n * k * 3 * (1 / 128 + 1 / (2 * SUMS))` elements of planes, and C
/// unless `beta` is 0; writes `m * n`. The same bits in every launch.
///
/// # Safety
/// The planes are those of the operands, which `problem` describes; `k` is not 0. `c` holds every element that `problem`
/// covers, and overlaps nothing else. The views behind it hold what `beta` and the epilogue take of them; `addend` may be `c`.
///
/// Source: ours. To add the sums of the tensor cores with another rounding is from H. Ootomo, R. Yokota, "Recovering single
/// precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", 2022.
#[kernel(
    launch_bounds(WGMMA_BLOCK, 1),
    dynamic_shared(wgmma_bytes(2 * SUMS)),
    instances(f32_128: (64), f32_64: (32))
)]
pub unsafe fn gemm_best_planes<const SUMS: usize>(
    planes_of_a: Global<bf16>,
    planes_of_b: Global<bf16>,
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
) where
    [f32; SUMS]: Sums<Element = f32>,
{
    let (width, slots) = const { (2 * SUMS, wgmma_slots(2 * SUMS)) };
    // The elements of a slot, and those of B.
    let (room, of_b) = const { (GROUP + 2 * SUMS * DEPTH, 2 * SUMS * DEPTH) };
    const { assert!(wgmma_slots(2 * SUMS) <= MOST_SLOTS) };
    let barriers = shared![u64; 2 * MOST_SLOTS];
    // SAFETY: the only one in this kernel, and the launch gives this memory and what its start may be moved by.
    let mut memory = unsafe { DynamicShared::new() };
    let len = slots * room + 2 * CONSUMERS as usize * PANEL;
    let memory = memory.carve::<bf16>(len + 512).skip_to_multiple(1024);
    Slot::init(barriers, slots, CONSUMERS);

    let problem = &problem;
    let mut tiles = Tiles::<1>::of(problem, problem.k, [WGMMA_HEIGHT, width], DEPTH);
    let mut slot = Slot::first(barriers, slots);
    let thread = thread::thread_idx_x();
    // The same for all lanes of a warp, which the compiler cannot know of a thread's index.
    let warpgroup = warp::shuffle(FULL_MASK, thread / WARPGROUP, 0);
    if warpgroup == 0 {
        thread::decrease_registers::<FEW_REGISTERS>();
        // SAFETY: the whole warp takes the branch.
        if thread < 32 && unsafe { warp::elect(FULL_MASK) } {
            let groups = [problem.m, problem.n].map(|lines| lines.div_ceil(PLANES_GROUP));
            let steps = problem.k.div_ceil(DEPTH);
            while let Some(tile) = tiles.next() {
                let [of_a_stack, of_b_stack] = tile.matrices(problem);
                let group_of_a = of_a_stack * groups[0] + tile.top / PLANES_GROUP;
                let group_of_b = of_b_stack * groups[1] + tile.left / PLANES_GROUP;
                let mut from_a = group_of_a * steps * PLANES * GROUP;
                let mut from_b =
                    group_of_b * steps * PLANES * GROUP + tile.left % PLANES_GROUP * DEPTH;
                let mut step = 0;
                while step < tile.steps {
                    unrolled!(turn < PLANES => {
                        let plane = (turn + 2) % PLANES * GROUP;
                        // The slots are empty at first: the phase before the first one counts as complete.
                        slot.empty().wait(slot.parity ^ 1);
                        slot.full().arrive_expect_tx((room * size_of::<bf16>()) as u32);
                        let to = slot.number as usize * room;
                        let full = slot.full();
                        memory.load_bulk(to, planes_of_a, from_a + plane, GROUP, full);
                        memory.load_bulk(to + GROUP, planes_of_b, from_b + plane, of_b, full);
                        slot = slot.next();
                    });
                    from_a += PLANES * GROUP;
                    from_b += PLANES * GROUP;
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
    let staging = Staging::new(memory.skip(first), consumer, own);
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
    let of_a = |slot: Slot| {
        Tile::<bf16, true>::new(
            memory,
            slot.number as usize * room + consumer as usize * PANEL,
        )
    };
    let of_b = |slot: Slot| Tile::<bf16, true>::new(memory, slot.number as usize * room + GROUP);
    while let Some(tile) = tiles.next() {
        let mut sums = <[f32; SUMS]>::ZERO;
        let mut step = 0;
        while step < tile.steps {
            let plane_2 = slot;
            let plane_0 = plane_2.next();
            let plane_1 = plane_0.next();
            slot = plane_1.next();
            let mut small = <[f32; SUMS]>::ZERO;
            plane_2.full().wait(plane_2.parity);
            plane_0.full().wait(plane_0.parity);
            let mut products = wgmma::begin(&mut small);
            products.add(of_a(plane_2), of_b(plane_0));
            products.add(of_a(plane_0), of_b(plane_2));
            products.commit().wait();
            if own == 0 {
                plane_2.empty().arrive();
            }
            plane_1.full().wait(plane_1.parity);
            let mut products = wgmma::begin(&mut small);
            products.add(of_a(plane_1), of_b(plane_1));
            products.add(of_a(plane_1), of_b(plane_0));
            products.add(of_a(plane_0), of_b(plane_1));
            products.commit().wait();
            if own == 0 {
                plane_1.empty().arrive();
            }
            let mut large = <[f32; SUMS]>::ZERO;
            let mut products = wgmma::begin(&mut large);
            products.add(of_a(plane_0), of_b(plane_0));
            products.commit().wait();
            if own == 0 {
                plane_0.empty().arrive();
            }
            unrolled!(panel < { SUMS / 32 } of 4 => {
                unrolled!(i < 8 => {
                    unrolled!(j < 4 => {
                        let at = 32 * panel + 4 * i + j;
                        sums[at] += small[at] + large[at];
                    });
                });
            });
            step += 1;
        }
        let (top, left) = (tile.top + consumer as usize * 64, tile.left);
        let (a, b) = problem.operands(tile.product, a, b);
        let out = out.of_product(problem, tile.product);
        staging.meet();
        unrolled!(panel < { SUMS / 32 } of 4 => {
            let mut part = [0.0; 32];
            unrolled!(i < 8 => {
                unrolled!(j < 4 => { part[4 * i + j] = sums[32 * panel + 4 * i + j]; });
            });
            staging.put_sums(staging.rows(), part);
            let corner = [top, left + 64 * panel];
            let sum_at = |sum: f32, place: [usize; 2]| {
                if sum.is_finite() { sum } else { exact(a, b, problem, place) }
            };
            let four = Staging::<bf16>::four;
            staging.write_fours(four, &out, problem, corner, is_aligned, sum_at);
        });
    }
}

/// Returns the sum for an element of C by fused multiply-adds in the order of k.
#[inline(always)]
#[track_caller]
fn exact(a: Global<f32>, b: Global<f32>, problem: &Problem, [row, column]: [usize; 2]) -> f32 {
    let mut sum = 0.0_f32;
    let (mut at_a, mut at_b) = (problem.a.at(row, 0), problem.b.at(0, column));
    let mut k = 0;
    while k < problem.k {
        sum = GpuFloat::mul_add(a.get(at_a), b.get(at_b), sum);
        at_a += problem.a.column;
        at_b += problem.b.row;
        k += 1;
    }
    sum
}
