//! `best` for `f64` from compute capability 9.0 on: products of fragments on the tensor cores.
//!
//! ```text
//! block (tile of C):
//!     sums = 0, in the registers of its warps
//!     start to copy the first tiles of A and B to the slots of a ring in shared memory         (cp.async)
//!     for each tile along k:
//!         for each step of a few k:
//!             load the fragments of the next step from shared memory                           (during the products)
//!             sums += fragment of A * fragment of B                                            (mma)
//!         before its last step's products: wait for the next tile; barrier
//!         after them: start a copy to the slot that is free
//!     C = alpha * sums + beta * C
//! ```
//!
//! A product of fragments adds in the order of k with one rounding for each product and addition ([`cuda_std::mma`]), so the
//! bits are those of every other variant. A warp of a large tile has 64 x 32 elements of C: for each k it loads 96 elements for
//! 2048 multiply-adds, and the tensor cores are the limit. At a tile's barrier the last fragments are in registers, and the
//! tensor cores have work while the warps meet: theirs, and that of another block, as two are resident.
//!
//! The last tile along k may end early. The products behind its end are `0 * -0`, which leaves every sum as it is, -0 too.

use cuda_std::{async_copy, mma, prelude::*, shared::DynamicShared, unrolled};

use super::{
    operand::is_aligned,
    output::{Output, scaled},
    policy::{
        LARGE, Policy, SMALL, TENSOR_BLOCK, TENSOR_TILE, TENSOR_WARPS, tensor_pitch, tensor_room,
    },
    problem::*,
};
use crate::tuning::{Numbers, Tuned, numbers};

/// The most fragments of a warp, down and across.
const MOST_FRAGMENTS: usize = 4;
/// The most slots of a ring.
const MOST_STAGES: u32 = 6;

/// Calls [`product_by`] for tiles of a size, with the numbers of the row `ROW`.
macro_rules! product {
    ($size:ident, $arguments:tt, $($step:literal x $stages:literal by $depth:literal),*) => {
        match const {
            let numbers = <Numbers<f64, ROW> as Tuned<Policy>>::POLICY;
            (numbers.tensor_step, numbers.tensor_stages, numbers.tensor_depth)
        } {
            $(($step, $stages, $depth) => product_by::<
                $step,
                $stages,
                $depth,
                { TENSOR_TILE[$size][0] },
                { TENSOR_TILE[$size][1] },
                { TENSOR_WARPS[$size][0] },
                { TENSOR_TILE[$size][0] / TENSOR_WARPS[$size][0] / 16 },
                { TENSOR_TILE[$size][1] / TENSOR_WARPS[$size][1] / 8 },
                { TENSOR_BLOCK[$size] },
                A_ALONG_K,
                B_ALONG_K,
            > $arguments,)*
            _ => unreachable!(),
        }
    };
    ($size:ident: $($argument:ident),*) => {{
        let group = const { <Numbers<f64, ROW> as Tuned<Policy>>::POLICY.group };
        product!(
            $size,
            ($($argument,)* group),
            16 x 3 by 4, 16 x 3 by 8, 16 x 4 by 4, 32 x 2 by 4, 32 x 2 by 8, 32 x 3 by 4
        )
    }};
}

/// Computes `C = alpha * op(A) * op(B) + beta * C` in `f64`, by products of fragments. A warp computes 64 x 32 elements of C.
///
/// Elements that are adjacent in global memory are adjacent in shared memory. Lines are 4 elements apart beyond their length,
/// so that the 16 lanes of a half-warp, which load 4 x 4 elements of a fragment, use all banks once.
///
/// A tile of a matrix whose lines are aligned to 16 bytes is copied by chunks of 16 bytes where it is whole, and other tiles by
/// elements, with zeros for elements outside.
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each. `A_ALONG_K` and `B_ALONG_K` say
/// whether elements that are adjacent along k are adjacent in memory.
///
/// Launch: one block of 128 threads per 128 x 64 tile of C; dynamic shared memory of [`Policy::tensor_bytes`]. Reads
/// `m * n * k * 3 / 128` elements, and C unless `beta` is 0; writes `m * n`. `m * n * k` fused multiply-adds, in the order of
/// k; the same bits on every device, but for those of a NaN.
///
/// # Safety
/// As for [`gemm_best`](super::gemm_best).
///
/// Source: ours.
#[kernel(
    launch_bounds(TENSOR_BLOCK[LARGE] as u32, 2),
    dynamic_shared(numbers::<Policy, f64>(ROW).tensor_bytes(LARGE)),
    instances(
        f64_nn: (true, false),
        f64_nt: (true, true),
        f64_tn: (false, false),
        f64_tt: (false, true),
    ),
    tuned(f64_nn as f64: 1, f64_nn as f64: 5, f64_nn as f64: 7, f64_nn as f64: 9..14)
)]
pub unsafe fn gemm_best_tensor<const A_ALONG_K: bool, const B_ALONG_K: bool, const ROW: usize>(
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
    product!(LARGE: a, b, out, problem);
}

/// [`gemm_best_tensor`] with a block of 128 threads per 64 x 64 tile of C, of which a warp computes 32 x 32 elements, for
/// products of few tiles. Reads `m * n * k / 32` elements.
///
/// # Safety
/// As for [`gemm_best`](super::gemm_best).
#[kernel(
    launch_bounds(TENSOR_BLOCK[SMALL] as u32, 2),
    dynamic_shared(numbers::<Policy, f64>(ROW).tensor_bytes(SMALL)),
    instances(
        f64_nn: (true, false),
        f64_nt: (true, true),
        f64_tn: (false, false),
        f64_tt: (false, true),
    ),
    tuned(f64_nn as f64: 1, f64_nn as f64: 5, f64_nn as f64: 7, f64_nn as f64: 9..14)
)]
pub unsafe fn gemm_best_tensor_small<
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
    product!(SMALL: a, b, out, problem);
}

/// One of the two operands for a block of `BLOCK` threads: a band of `TILE` rows of op(A), or columns of op(B), along k, of
/// which `STEP` are in a slot of the ring. Memory has lines along k if `ALONG_K` is true, and across the band otherwise.
#[derive(Clone, Copy)]
struct Band<const STEP: usize, const TILE: usize, const BLOCK: usize, const ALONG_K: bool> {
    view: Global<f64>,
    /// The leading dimension.
    ld: usize,
    /// The band's first row (of A; column of B), and the number of rows of the whole matrix.
    first: usize,
    end: usize,
    /// The length along k.
    k: usize,
    /// The ring.
    tiles: Shared<f64>,
    /// Whether the band is whole and its chunks of 16 bytes are aligned.
    is_whole: bool,
}

impl<const STEP: usize, const TILE: usize, const BLOCK: usize, const ALONG_K: bool>
    Band<STEP, TILE, BLOCK, ALONG_K>
{
    /// The elements of a line of a tile.
    const LINE: usize = if ALONG_K { STEP } else { TILE };
    /// The distance between lines in shared memory.
    const PITCH: usize = tensor_pitch(Self::LINE);
    /// The elements of a slot.
    const ROOM: usize = tensor_room(TILE, STEP);
    /// The chunks of 16 bytes of a line.
    const PER_LINE: usize = Self::LINE / 2;
    /// The chunks of a tile per thread.
    const CHUNKS: usize = TILE * STEP / 2 / BLOCK;
    /// The distances in a slot between elements that are adjacent across the band, and along k.
    const ACROSS: usize = if ALONG_K { Self::PITCH } else { 1 };
    const ALONG: usize = if ALONG_K { 1 } else { Self::PITCH };

    #[inline(always)]
    fn new(
        view: Global<f64>,
        ld: usize,
        [first, end]: [usize; 2],
        k: usize,
        tiles: Shared<f64>,
    ) -> Self {
        const {
            assert!(Self::CHUNKS * 2 * BLOCK == TILE * STEP && Self::CHUNKS <= 16);
            assert!(BLOCK.is_multiple_of(Self::LINE));
            // 4 x 4 elements of a fragment lie in different banks.
            assert!(Self::PITCH % 16 == 4 || Self::PITCH % 16 == 12);
        }
        let is_whole = is_aligned(view.as_ptr(), ld) && first + TILE <= end;
        Self {
            view,
            ld,
            first,
            end,
            k,
            tiles,
            is_whole,
        }
    }

    /// Returns the position in memory of the element at (`line`, `within`) of the tile at `k`.
    #[inline(always)]
    fn at(self, k: usize, line: usize, within: usize) -> usize {
        if ALONG_K {
            (self.first + line) * self.ld + k + within
        } else {
            (k + line) * self.ld + self.first + within
        }
    }

    /// Starts to copy the tile at `k` to a slot.
    #[inline(always)]
    #[track_caller]
    fn copy(self, slot: usize, k: usize) {
        let thread = thread::thread_idx_x() as usize;
        let to = slot * Self::ROOM;
        if self.is_whole && k + STEP <= self.k {
            let (line, within) = (thread / Self::PER_LINE, thread % Self::PER_LINE * 2);
            let lines = const { BLOCK / Self::PER_LINE };
            let to = self.tiles.skip(to + line * Self::PITCH + within);
            let from = self.view.skip(self.at(k, line, within));
            unrolled!(number < { Self::CHUNKS } of 16 => {
                to.copy_async_chunk::<2>(number * lines * Self::PITCH, from, number * lines * self.ld);
            });
        } else {
            let (mut line, within) = (thread / Self::LINE, thread % Self::LINE);
            let lines = const { BLOCK / Self::LINE };
            while line < const { TILE * STEP / Self::LINE } {
                let (across, along) = if ALONG_K {
                    (line, within)
                } else {
                    (within, line)
                };
                let inside = self.first + across < self.end && k + along < self.k;
                let from = if inside { self.at(k, line, within) } else { 0 };
                let to = to + line * Self::PITCH + within;
                let count = usize::from(inside);
                self.tiles
                    .copy_async_chunk_or_zeros::<1>(to, self.view, from, count);
                line += lines;
            }
        }
    }

    /// Returns the slot's elements from that on with which a lane's fragments begin: the lane is in group `group` of the part
    /// of the band that begins at `part`, and is number `within` of the group.
    #[inline(always)]
    #[track_caller]
    fn own(self, slot: usize, part: usize, group: usize, within: usize) -> Shared<f64> {
        let first = (part + group) * Self::ACROSS + within * Self::ALONG;
        self.tiles.skip(slot * Self::ROOM + first)
    }
}

/// The fragments of a step of a warp: for each, up to 8 elements of A and 4 of B, of which a product takes those that it needs.
#[derive(Clone, Copy)]
struct Fragments {
    a: [[f64; 8]; MOST_FRAGMENTS],
    b: [[f64; 4]; MOST_FRAGMENTS],
}

impl Fragments {
    /// Loads the fragments of `DEPTH` along k, from `k` on, of a lane's elements of a slot. `across` and `along` are the
    /// distances between elements of A and of B.
    #[inline(always)]
    #[track_caller]
    fn load<const DEPTH: usize, const ROWS: usize, const COLUMNS: usize>(
        [a, b]: [Shared<f64>; 2],
        [across, along]: [[usize; 2]; 2],
        k: usize,
    ) -> Self {
        let mut all = Self {
            a: [[0.0; 8]; MOST_FRAGMENTS],
            b: [[0.0; 4]; MOST_FRAGMENTS],
        };
        unrolled!(column < COLUMNS of 4 => {
            unrolled!(i < { DEPTH / 4 } of 4 => {
                all.b[column][i] = b.get(column * 8 * across[1] + (k + 4 * i) * along[1]);
            });
        });
        unrolled!(row < ROWS of 4 => {
            unrolled!(i < { DEPTH / 2 } => {
                let down = row * 16 + i % 2 * 8;
                all.a[row][i] = a.get(down * across[0] + (k + i / 2 * 4) * along[0]);
            });
        });
        all
    }
}

/// The sums of a warp: a fragment of 16 x 8 elements of C for each row and column.
type Sums<const ROWS: usize, const COLUMNS: usize> = [[[f64; 4]; COLUMNS]; ROWS];

/// Adds the products of `DEPTH` along k.
#[inline(always)]
#[track_caller]
fn multiply<const DEPTH: usize, const ROWS: usize, const COLUMNS: usize>(
    sums: &mut Sums<ROWS, COLUMNS>,
    Fragments { a, b }: Fragments,
) {
    unrolled!(row < ROWS of 4 => {
        unrolled!(column < COLUMNS of 4 => {
            let ([a0, a1, a2, a3, ..], [b0, b1, ..]) = (a[row], b[column]);
            let sum = sums[row][column];
            sums[row][column] = match DEPTH {
                4 => mma::m16n8k4_f64([a0, a1], [b0], sum),
                8 => mma::m16n8k8_f64([a0, a1, a2, a3], [b0, b1], sum),
                _ => mma::m16n8k16_f64(a[row], b[column], sum),
            };
        });
    });
}

/// Waits until at most `pending` groups of copies are under way.
#[inline(always)]
#[track_caller]
fn wait_for(pending: u32) {
    match pending {
        0 => async_copy::wait_group::<0>(),
        1 => async_copy::wait_group::<1>(),
        2 => async_copy::wait_group::<2>(),
        3 => async_copy::wait_group::<3>(),
        4 => async_copy::wait_group::<4>(),
        _ => async_copy::wait_group::<5>(),
    }
}

/// The body of the kernels: computes this block's tile of C. A warp has `ROWS` x `COLUMNS` fragments of it.
#[inline(always)]
#[track_caller]
fn product_by<
    const STEP: usize,
    const STAGES: u32,
    const DEPTH: usize,
    const HEIGHT: usize,
    const WIDTH: usize,
    const WARPS_DOWN: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const BLOCK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<f64>,
    b: Global<f64>,
    out: Output<f64>,
    problem: Problem,
    group: u32,
) {
    const {
        assert!(2 <= STAGES && STAGES <= MOST_STAGES);
        assert!(ROWS <= MOST_FRAGMENTS && COLUMNS <= MOST_FRAGMENTS);
    }
    let (number, top, left) = tile_origin(&problem, group, HEIGHT, WIDTH);
    let (a, b) = problem.operands(number, a, b);
    let out = out.of_product(&problem, number);
    let k = problem.k;
    // SAFETY: the launch gives as much, and nothing else uses it.
    let mut memory = unsafe { DynamicShared::new() };
    let tiles_a = memory.carve(STAGES as usize * tensor_room(HEIGHT, STEP));
    let tiles_b = memory.carve(STAGES as usize * tensor_room(WIDTH, STEP));
    let (strides_a, strides_b) = (problem.a, problem.b);
    let ld = if A_ALONG_K {
        strides_a.row
    } else {
        strides_a.column
    };
    let a = Band::<STEP, HEIGHT, BLOCK, A_ALONG_K>::new(a, ld, [top, problem.m], k, tiles_a);
    let ld = if B_ALONG_K {
        strides_b.column
    } else {
        strides_b.row
    };
    let b = Band::<STEP, WIDTH, BLOCK, B_ALONG_K>::new(b, ld, [left, problem.n], k, tiles_b);

    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread % 32);
    let (lane_group, within) = (lane / 4, lane % 4);
    let down = warp % WARPS_DOWN * (ROWS * 16);
    let across = warp / WARPS_DOWN * (COLUMNS * 8);

    // There are as many tiles as `tiles`, of which the last may end early.
    let (tiles, whole) = (k.div_ceil(STEP) as u32, (k / STEP) as u32);
    let start = |slot: u32, tile: u32| {
        if tile < tiles {
            a.copy(slot as usize, tile as usize * STEP);
            b.copy(slot as usize, tile as usize * STEP);
        }
        // A group for every tile, also where there is none: so the waits count right.
        async_copy::commit_group();
    };
    let own = |slot: u32| {
        let slot = slot as usize;
        [
            a.own(slot, down, lane_group, within),
            b.own(slot, across, lane_group, within),
        ]
    };
    let distances = const {
        [
            [
                Band::<STEP, HEIGHT, BLOCK, A_ALONG_K>::ACROSS,
                Band::<STEP, WIDTH, BLOCK, B_ALONG_K>::ACROSS,
            ],
            [
                Band::<STEP, HEIGHT, BLOCK, A_ALONG_K>::ALONG,
                Band::<STEP, WIDTH, BLOCK, B_ALONG_K>::ALONG,
            ],
        ]
    };

    let following = |slot: u32| if slot + 1 == STAGES { 0 } else { slot + 1 };

    let mut sums: Sums<ROWS, COLUMNS> = [[[0.0; 4]; COLUMNS]; ROWS];
    let mut slot = 0;
    while slot < STAGES {
        start(slot, slot);
        slot += 1;
    }
    wait_for(STAGES - 1);
    thread::sync_threads();
    let mut slot = 0;
    if whole > 0 {
        let mut fragments = Fragments::load::<DEPTH, ROWS, COLUMNS>(own(slot), distances, 0);
        let mut tile = 1;
        while tile < whole {
            let (this, tile_in_slot) = (slot, own(slot));
            unrolled!(step < { STEP / DEPTH } => {
                let next = if step + 1 < STEP / DEPTH {
                    let k = (step + 1) * DEPTH;
                    Fragments::load::<DEPTH, ROWS, COLUMNS>(tile_in_slot, distances, k)
                } else {
                    wait_for(STAGES - 2);
                    // The next tile is there, and everybody has all of this one in registers.
                    thread::sync_threads();
                    slot = following(slot);
                    Fragments::load::<DEPTH, ROWS, COLUMNS>(own(slot), distances, 0)
                };
                multiply::<DEPTH, ROWS, COLUMNS>(&mut sums, fragments);
                fragments = next;
            });
            start(this, tile - 1 + STAGES);
            tile += 1;
        }
        let tile_in_slot = own(slot);
        unrolled!(step < { STEP / DEPTH } => {
            let these = fragments;
            #[allow(unused_assignments)] // by the last step
            if step + 1 < STEP / DEPTH {
                let k = (step + 1) * DEPTH;
                fragments = Fragments::load::<DEPTH, ROWS, COLUMNS>(tile_in_slot, distances, k);
            }
            multiply::<DEPTH, ROWS, COLUMNS>(&mut sums, these);
        });
        if whole < tiles {
            wait_for(STAGES - 2);
            thread::sync_threads();
            slot = following(slot);
        }
    }
    // What is left of k in the last tile, 4 at a time.
    let mut at = whole as usize * STEP;
    let mut tile_in_slot = own(slot);
    while at < k {
        let mut fragments = Fragments::load::<4, ROWS, COLUMNS>(tile_in_slot, distances, 0);
        if at + within >= k {
            // A has zeros there: -0 is added, which changes no sum.
            fragments.b = [[-0.0; 4]; MOST_FRAGMENTS];
        }
        multiply::<4, ROWS, COLUMNS>(&mut sums, fragments);
        let [of_a, of_b] = tile_in_slot;
        let [_, [along_a, along_b]] = distances;
        at += 4;
        if at < k {
            tile_in_slot = [of_a.skip(4 * along_a), of_b.skip(4 * along_b)];
        }
    }

    let aligned = out.is_aligned(&problem, 16);
    let whole = top + HEIGHT <= problem.m && left + WIDTH <= problem.n;
    let (first_row, first_column) = (top + down + lane_group, left + across + within * 2);
    out.scale_fragments(&problem, [first_row, first_column], &mut sums);
    unrolled!(row_of_two < { 2 * ROWS } => {
        let row = first_row + row_of_two * 8;
        unrolled!(number < COLUMNS of 4 => {
            let column = first_column + number * 8;
            let at = row * problem.ldc + column;
            let [s0, s1, s2, s3] = sums[row_of_two / 2][number];
            #[allow(clippy::manual_is_multiple_of)]
            let pair = if row_of_two % 2 == 0 { [s0, s1] } else { [s2, s3] };
            let mut values = out.old::<2>(&problem, [row, column], aligned && whole);
            unrolled!(j < 2 of 4 => {
                values[j] = scaled(out.alpha, pair[j], out.beta, || values[j]);
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
    out.finish_tile(&problem, [top, left], [HEIGHT, WIDTH], (thread, BLOCK));
}
