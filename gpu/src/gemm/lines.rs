//! `best` for `f32` by the precision `tf32`, and for elements of 8 bits, on compute capability 9.0.
//!
//! ```text
//! launch 1, for operands that tensor maps cannot bring as launch 2 needs them:
//!     for each group of 128 lines and each step of 128 bytes along k: write their tile, of f32 rounded to TF32
//! launch 2, as `gemm_best_wgmma`, with steps of 128 bytes along k. It computes D = X * Y, where X, Y and D are
//!     op(A), op(B) and C, or the transposes of op(B), op(A) and C:
//!         X is read from shared memory by the tensor cores, or by the threads to their registers
//! ```
//!
//! Tensor cores read operands of these types from shared memory by lines along k only. Tensor maps bring such lines of A as it
//! is and of a B that is transposed, and round those of `f32` on the way.
//!
//! Of lines of `f32` in the other direction threads take elements to registers, from where the tensor cores read one of the
//! operands, X. So the transposed product is computed where B has such lines. Where both operands have them, or rows do not
//! begin at multiples of 16 bytes, the first launch writes tiles, which costs 8 bytes of traffic for each element. Lines of
//! 8 bits in the other direction are written to tiles too, for 2 bytes of traffic.
//!
//! Tensor cores keep 13 bits of sums of `F8E4M3` and `F8E5M2`. So they only add the products of one step, and the threads add
//! those sums with rounding, as for [`planes`](super::planes): of 64 columns, while the tensor cores multiply the next 64. Then
//! a step reads X four times, so threads take it to registers too.

use core::marker::PhantomData;
use cuda_std::{
    F8E4M3, F8E5M2, bf16, f16,
    mbarrier::Mbarrier,
    mma::{self, Byte},
    prelude::*,
    shared::DynamicShared,
    tensor_map::{Swizzle, TensorMap},
    unrolled,
    warp::FULL_MASK,
    wgmma::{self, Factor, Sums, Tile},
};

use super::{
    output::{Output, write_halves},
    parts::write_part,
    planes::{self, Planes},
    policy::{
        LINE, PLANES_GROUP, SPLIT_BLOCK, WGMMA_BLOCK, WGMMA_HEIGHT, wgmma_bytes, wgmma_slots,
    },
    problem::*,
    staging::{Staging, WARPGROUP},
    wgmma::{CONSUMERS, FEW_REGISTERS, MANY_REGISTERS, MOST_SLOTS, Slot, Tiles, load},
};

/// An element type of products of warpgroups.
pub trait Multiplied: Element + Factor<Sum = <Self as Element>::Scale> {}
impl<T: Element + Factor<Sum = <T as Element>::Scale>> Multiplied for T {}

/// An element type whose tiles have lines along k.
pub trait OfLines: Multiplied {
    /// Returns what the tensor cores read of an element.
    fn read(self) -> Self;
}

impl OfLines for f32 {
    #[inline(always)]
    fn read(self) -> Self {
        wgmma::round_to_tf32(self)
    }
}

macro_rules! of_bytes {
    ($($ty:ident)*) => { $(
        impl OfLines for $ty {
            #[inline(always)]
            fn read(self) -> Self {
                self
            }
        }
    )* };
}
of_bytes! { i8 F8E4M3 F8E5M2 }

/// The one plane of the elements that the tensor cores read.
struct Read<T>(PhantomData<T>);

impl<T: OfLines, const CHUNK: usize> Planes<CHUNK> for Read<T> {
    type From = T;
    type Element = T;
    const COUNT: usize = 1;

    #[inline(always)]
    fn next(rest: &mut [T; CHUNK]) -> [T; CHUNK] {
        let mut read = [T::ZERO; CHUNK];
        unrolled!(j < CHUNK of 16 => { read[j] = rest[j].read(); });
        read
    }
}

/// Writes the tiles of op(A), op(B) or both, as the bits 0 and 1 of `tiled` say.
///
/// An operand's lines are the rows of op(A), or the columns of op(B), in groups of 128. For each group, for each step of 128
/// bytes along k, there is a tile of 128 such lines with the swizzle of 128 bytes. Elements of `f32` are rounded to TF32. Those
/// outside of the matrix are 0. `CHUNK` elements have 16 bytes.
///
/// Launch: a block of `SPLIT_BLOCK` threads for each group of all A and each step, then for those of all B, without those of an
/// operand that has no tiles; static shared memory of 16 KiB. Reads and writes the operands once.
///
/// # Safety
/// `a` and `b` hold every element that `problem` covers. `tiles_of_a` and `tiles_of_b` hold those of all groups, where there
/// are any, and overlap nothing else.
///
/// Source: ours.
#[kernel(
    launch_bounds(SPLIT_BLOCK),
    instances(f32: (f32, 4), i8: (i8, 16), e4m3: (F8E4M3, 16), e5m2: (F8E5M2, 16))
)]
pub unsafe fn gemm_best_tiles<T: OfLines, const CHUNK: usize>(
    a: Global<T>,
    b: Global<T>,
    tiles_of_a: GlobalMut<T>,
    tiles_of_b: GlobalMut<T>,
    problem: Problem,
    tiled: usize,
) {
    let tile = shared![u32; PLANES_GROUP * LINE / 4];
    // SAFETY: static arrays are aligned to 16 bytes, and every pattern of bits is an element.
    let tile = unsafe { tile.cast::<T>() };
    let are_wanted = [tiled & 1 != 0, tiled & 2 != 0];
    planes::write_tiles::<Read<T>, CHUNK, CHUNK>(
        [a, b],
        [tiles_of_a, tiles_of_b],
        are_wanted,
        &problem,
        tile,
    );
}

/// How the elements of a tile of X come to the tensor cores.
pub trait Source<T: Multiplied> {
    /// Whether threads read them.
    const BY_THREADS: bool;
    /// Whether memory has lines across k, of which a map brings squares.
    const ACROSS: bool;
    /// Starts to copy the tile of so many rows at `corner`: a row of X, a place along k, and the number of the matrix.
    fn load(to: Shared<T>, map: TensorMap, corner: [usize; 3], rows: usize, full: Mbarrier);
    /// Adds the product of the 64 rows of X of a warpgroup and of Y, whose tiles begin here. `own` is the thread's number in
    /// its warpgroup.
    fn add<S: Sums<Element = T::Scale>>(sums: &mut S, of_x: Shared<T>, own: usize, of_y: Shared<T>);
    /// Returns the rows that the thread has sums of.
    fn rows(own: usize) -> [usize; 2];
}

/// They are read from shared memory, of lines along k, or of 16 bits across.
#[derive(Debug, Clone, Copy)]
pub struct FromShared<const ALONG_K: bool = true>;

impl<T: Multiplied, const ALONG_K: bool> Source<T> for FromShared<ALONG_K> {
    const BY_THREADS: bool = false;
    const ACROSS: bool = !ALONG_K;

    #[inline(always)]
    #[track_caller]
    fn load(to: Shared<T>, map: TensorMap, corner: [usize; 3], rows: usize, full: Mbarrier) {
        load::<T, ALONG_K>(to, map, corner, rows, full);
    }

    #[inline(always)]
    #[track_caller]
    fn add<S: Sums<Element = T::Scale>>(sums: &mut S, of_x: Shared<T>, _: usize, of_y: Shared<T>) {
        let mut products = wgmma::begin(sums);
        products.add(
            Tile::<T, ALONG_K>::new(of_x, 0),
            Tile::<T, true>::new(of_y, 0),
        );
        products.commit().wait();
    }

    #[inline(always)]
    fn rows(own: usize) -> [usize; 2] {
        let (row, _) = wgmma::place(own, 0);
        [row, row + 8]
    }
}

/// Threads read them to registers, of lines of 8 bits along k, and add the sums of each step.
///
/// A thread has registers for 64 sums of a step beside those of 256 columns. If the tensor cores read X from shared memory,
/// they would read it for each part of the columns.
#[derive(Debug, Clone, Copy)]
pub struct BySteps;

impl<T: OfLines<Scale = f32> + Byte> Source<T> for BySteps {
    const BY_THREADS: bool = true;
    const ACROSS: bool = false;

    #[inline(always)]
    #[track_caller]
    fn load(to: Shared<T>, map: TensorMap, corner: [usize; 3], rows: usize, full: Mbarrier) {
        <FromShared as Source<T>>::load(to, map, corner, rows, full);
    }

    #[inline(always)]
    #[track_caller]
    fn add<S: Sums<Element = f32>>(sums: &mut S, of_x: Shared<T>, own: usize, of_y: Shared<T>) {
        // The row and the half of 32 bytes that this lane gives the address of.
        let (row, half) = (own / 32 * 16 + own % 16, own % 32 / 16);
        let first = Swizzle::Bytes128.place(row * LINE + half * 16);
        let mut words = [0; 16];
        unrolled!(step < 4 of 4 => {
            let loaded = mma::ldmatrix_x4(of_x, first ^ (step * 32));
            unrolled!(i < 4 of 4 => { words[4 * step + i] = loaded[i].bits(); });
        });
        wgmma::add_registers_rounded(sums, words, Tile::<T, true>::new(of_y, 0));
    }

    #[inline(always)]
    fn rows(own: usize) -> [usize; 2] {
        <FromShared as Source<T>>::rows(own)
    }
}

/// Threads read them to registers, of lines of `f32` across k.
#[derive(Debug, Clone, Copy)]
pub struct ByThreads;

/// The elements of a chunk of 16 bytes of `f32`, of a line across k, and of 32 such lines.
const CHUNK: usize = 4;
const ACROSS: usize = 32;
const SQUARE: usize = ACROSS * <f32 as Factor>::DEPTH;

impl Source<f32> for ByThreads {
    const BY_THREADS: bool = true;
    const ACROSS: bool = true;

    #[inline(always)]
    #[track_caller]
    fn load(
        to: Shared<f32>,
        map: TensorMap,
        [first, k, matrix]: [usize; 3],
        rows: usize,
        full: Mbarrier,
    ) {
        unrolled!(panel < { rows / ACROSS } of 4 => {
            let first = (first + panel * ACROSS) as i32;
            let corner = [first, k as i32, matrix as i32];
            to.load_tile(panel * SQUARE, map, corner, SQUARE, full);
        });
    }

    #[inline(always)]
    #[track_caller]
    fn add<S: Sums<Element = f32>>(sums: &mut S, of_x: Shared<f32>, own: usize, of_y: Shared<f32>) {
        let of_y = Tile::<f32, true>::new(of_y, 0);
        wgmma::add_registers(sums, registers(of_x, own).map(f32::to_bits), of_y);
    }

    /// The order of rows is free, as long as D has that of X. By this one the lanes of a warp read 8 chunks of each line
    /// together, all of different banks: in the order of [`wgmma::place`] two lanes would read each bank.
    #[inline(always)]
    fn rows(own: usize) -> [usize; 2] {
        let (warp, group) = (own / 32, own % 32 / 4);
        let first = warp / 2 * ACROSS + group / 4 * 16 + warp % 2 * 8 + group % 4;
        [first, first + CHUNK]
    }
}

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f32` by products of numbers of TF32, with sums in `f32`; of `i8` with
/// sums and C in `i32`; or of `F8E4M3` or `F8E5M2` with sums in `f32` and C of type `R`.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`; `count` of each. The kernel computes `D = X * Y`, of op(A), op(B) and
/// C, or if `TURNED` is true of the transposes of op(B), op(A) and C.
///
/// The bits 0 and 1 of `tiled` say whether the tiles of X and those of Y are what [`gemm_best_tiles`] writes. Otherwise `x` or
/// `y` is the map of the matrices: a stack, of one matrix if all products have the same. It rounds `f32` to TF32, and has the
/// swizzle of 128 bytes and tiles that are as wide. If `X` is [`ByThreads`], memory has lines of X across k, `x` is a map, and
/// its tiles have 32 rows. Other matrices have lines along k, and a tile's rows are those of the tile of D (for Y, its
/// columns).
///
/// Launch: blocks of 384 threads, each of which takes tiles of 128 x `2 * SUMS` elements of D, as many blocks apart as there
/// are; dynamic shared memory of [`wgmma_bytes`]. If `part` is below `k`, the sums of each `part` of k go to `sums_of_parts`
/// instead, as [`gemm_best_parts`](super::parts::gemm_best_parts) reads them: `part` is a multiple of what a line has. Reads
/// `m * n * k * (1 / 128 + 1 / (2 * SUMS))` elements, and C unless `beta` is 0; writes `m * n`. The sums are those of [`wgmma`]
/// for each 8 of k in order, or 32 of 8 bits: the same bits in every launch of every instance. With [`BySteps`] those of each
/// step of k begin at 0 and are added in order.
///
/// # Safety
/// The maps and the tiles are those of the operands, which `problem` describes; `k` is not 0. `c` holds every element that
/// `problem` covers, and overlaps nothing else. If C has a whole tile and rows that begin at multiples of 16 bytes, `map_of_c`
/// is the map of all C, with the swizzle of 128 bytes and tiles of 16 rows of 128 bytes. The views behind `problem` hold what
/// `beta` and the epilogue take of them; `addend` may be `c`. `sums_of_parts` has room for the sums of all parts, if there are
/// several.
///
/// Source: ours. That the transposed product has its first operand in registers is from CUTLASS's kernels for this
/// architecture.
#[kernel(
    launch_bounds(WGMMA_BLOCK, 1),
    dynamic_shared(wgmma_bytes(2 * SUMS)),
    instances(
        f32_256_nt: (f32, f32, FromShared, 128, false),
        f32_256_tn: (f32, f32, ByThreads, 128, false),
        f32_256_nn: (f32, f32, ByThreads, 128, true),
        f32_128_nt: (f32, f32, FromShared, 64, false),
        f32_128_tn: (f32, f32, ByThreads, 64, false),
        f32_128_nn: (f32, f32, ByThreads, 64, true),
        f32_64_nt: (f32, f32, FromShared, 32, false),
        f32_64_tn: (f32, f32, ByThreads, 32, false),
        f32_64_nn: (f32, f32, ByThreads, 32, true),
        i8_256_nt: (i8, i32, FromShared, 128, false),
        i8_128_nt: (i8, i32, FromShared, 64, false),
        i8_64_nt: (i8, i32, FromShared, 32, false),
        e4m3_256_nt: (F8E4M3, f32, BySteps, 128, false),
        e4m3_128_nt: (F8E4M3, f32, BySteps, 64, false),
        e4m3_64_nt: (F8E4M3, f32, BySteps, 32, false),
        e5m2_256_nt: (F8E5M2, f32, BySteps, 128, false),
        e5m2_128_nt: (F8E5M2, f32, BySteps, 64, false),
        e5m2_64_nt: (F8E5M2, f32, BySteps, 32, false),
        e4m3_bf16_256_nt: (F8E4M3, bf16, BySteps, 128, false),
        e4m3_bf16_128_nt: (F8E4M3, bf16, BySteps, 64, false),
        e4m3_bf16_64_nt: (F8E4M3, bf16, BySteps, 32, false),
        e4m3_f16_256_nt: (F8E4M3, f16, BySteps, 128, false),
        e4m3_f16_128_nt: (F8E4M3, f16, BySteps, 64, false),
        e4m3_f16_64_nt: (F8E4M3, f16, BySteps, 32, false),
    )
)]
pub unsafe fn gemm_best_lines<
    T: OfLines,
    R: Element<Scale = T::Scale>,
    X: Source<T>,
    const SUMS: usize,
    const TURNED: bool,
>(
    x: TensorMap,
    y: TensorMap,
    map_of_c: TensorMap,
    tiles_of_x: Global<T>,
    tiles_of_y: Global<T>,
    c: GlobalMut<R>,
    sums_of_parts: GlobalMut<T::Scale>,
    problem: Problem,
    part: usize,
    tiled: usize,
    alpha: T::Scale,
    beta: T::Scale,
    addend: GlobalMut<R>,
    bias: Global<R>,
    row_scales: Global<T::Scale>,
    column_scales: Global<T::Scale>,
) where
    [T::Scale; SUMS]: Sums<Element = T::Scale>,
{
    let (width, slots, depth) = const { (2 * SUMS, wgmma_slots(2 * SUMS), T::DEPTH) };
    // The elements of a slot, of its tile of X, and of a consumer's memory for sums.
    let (room, group) = const {
        (
            (WGMMA_HEIGHT + 2 * SUMS) * T::DEPTH,
            PLANES_GROUP * T::DEPTH,
        )
    };
    let of_sums = const { 64 * 64 * size_of::<T::Scale>() / size_of::<T>() };
    const { assert!(wgmma_slots(2 * SUMS) <= MOST_SLOTS && T::DEPTH * size_of::<T>() == LINE) };
    let barriers = shared![u64; 2 * MOST_SLOTS];
    // SAFETY: the only one in this kernel, and the launch gives this memory and what its start may be moved by.
    let mut memory = unsafe { DynamicShared::new() };
    let len = slots * room + CONSUMERS as usize * of_sums;
    let to_align = const { 1024 / size_of::<T>() };
    let memory = memory.carve::<T>(len + to_align).skip_to_multiple(1024);
    // Of threads that read shared memory each warp says that it is done, and of tensor cores one of a warpgroup's threads.
    let arrivals = if X::BY_THREADS {
        CONSUMERS * 4
    } else {
        CONSUMERS
    };
    Slot::init(barriers, slots, arrivals);

    let problem = &problem;
    let of_d = &match TURNED {
        true => Problem {
            m: problem.n,
            n: problem.m,
            next: [problem.next[1], problem.next[0], 0, 0],
            ..*problem
        },
        false => *problem,
    };
    let mut tiles = Tiles::<1>::of(of_d, part, [WGMMA_HEIGHT, width], depth);
    let mut slot = Slot::first(barriers, slots);
    let thread = thread::thread_idx_x();
    // The same for all lanes of a warp, which the compiler cannot know of a thread's index.
    let warpgroup = warp::shuffle(FULL_MASK, thread / WARPGROUP, 0);
    if warpgroup == 0 {
        thread::decrease_registers::<FEW_REGISTERS>();
        // SAFETY: the whole warp takes the branch.
        if thread < 32 && unsafe { warp::elect(FULL_MASK) } {
            let groups = [of_d.m, of_d.n].map(|lines| lines.div_ceil(PLANES_GROUP));
            let steps = of_d.k.div_ceil(depth);
            while let Some(tile) = tiles.next() {
                let [of_x_stack, of_y_stack] = tile.matrices(of_d);
                // The numbers of the first tiles of X and Y, and how far those of the second half of a wide Y are behind. It
                // may be outside of D: then any tile will do.
                let (group_of_x, group_of_y) = (tile.top / PLANES_GROUP, tile.left / PLANES_GROUP);
                let of_x = (of_x_stack * groups[0] + group_of_x) * steps;
                let of_y = (of_y_stack * groups[1] + group_of_y) * steps;
                let second = if group_of_y + 1 < groups[1] { steps } else { 0 };
                let within = tile.left % PLANES_GROUP * depth;
                let mut at = tile.k / depth;
                let end = at + tile.steps as usize;
                while at < end {
                    // The slots are empty at first: the phase before the first one counts as complete.
                    slot.empty().wait(slot.parity ^ 1);
                    let full = slot.full();
                    full.arrive_expect_tx((room * size_of::<T>()) as u32);
                    let to = memory.skip(slot.number as usize * room);
                    let (to_y, k) = (to.skip(group), at * depth);
                    if X::ACROSS || tiled & 1 == 0 {
                        X::load(to, x, [tile.top, k, of_x_stack], WGMMA_HEIGHT, full);
                    } else {
                        to.load_bulk(0, tiles_of_x, (of_x + at) * group, group, full);
                    }
                    if tiled & 2 == 0 {
                        load::<T, true>(to_y, y, [tile.left, k, of_y_stack], width, full);
                    } else {
                        let first = (of_y + at) * group + within;
                        let len = if width < PLANES_GROUP {
                            width * depth
                        } else {
                            group
                        };
                        to_y.load_bulk(0, tiles_of_y, first, len, full);
                        if width > PLANES_GROUP {
                            let second = (of_y + second + at) * group;
                            to_y.load_bulk(group, tiles_of_y, second, group, full);
                        }
                    }
                    slot = slot.next();
                    at += 1;
                }
            }
        }
        return;
    }

    thread::increase_registers::<MANY_REGISTERS>();
    let consumer = warpgroup - 1;
    let own = (thread % WARPGROUP) as usize;
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
            let at = slot.number as usize * room;
            let panel = memory.skip(at + consumer as usize * const { T::PANEL });
            X::add(&mut sums, panel, own, memory.skip(at + group));
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
        // Read again, so that nothing made of it takes registers in the loop.
        let own = (thread::thread_idx_x_again() % WARPGROUP) as usize;
        let first = slots * room + consumer as usize * of_sums;
        // Every tile has an even number of panels, so that each begins with the first one's memory.
        let mut staging = Staging::new(memory.skip(first), consumer, own);
        let (top, left) = (tile.top + consumer as usize * 64, tile.left);
        // The rows of D that this thread has sums of.
        let rows = X::rows(own);
        if part < of_d.k {
            let corner = [top, left];
            write_part::<T::Scale, SUMS, TURNED>(
                &sums,
                sums_of_parts,
                tile.number,
                problem,
                corner,
                rows,
            );
            continue;
        }
        let out = out.of_product(problem, tile.product);
        let is_aligned = out.is_aligned(problem, 16);
        let is_whole = top + 64 <= of_d.m && left + width <= of_d.n;
        let is_plain = is_whole && beta == T::Scale::ZERO && !problem.epilogue.is_some();
        let (_, column) = wgmma::place(own, 0);
        let value = |sum: T::Scale| R::rounded(alpha.times(sum));
        if is_plain && TURNED {
            // Four lanes write 16 bytes of a line of C together, and next to them right behind.
            let place = out.c.skip((left + column) * problem.ldc + top + rows[0]);
            unrolled!(panel < { SUMS / 32 } of 4 => {
                unrolled!(i < 32 of 32 => {
                    let line = 64 * panel + i / 4 * 8 + i % 2;
                    place.set(line * problem.ldc + i / 2 % 2 * 4, value(sums[32 * panel + i]));
                });
            });
            continue;
        }
        if is_plain && is_aligned && const { size_of::<R>() == 2 } {
            let place = out.c.skip(top * problem.ldc + left);
            write_halves(place, problem.ldc, rows, &sums, alpha, own);
            continue;
        }
        if is_plain && is_aligned && const { !X::ACROSS } {
            let corner = [left, top, tile.product];
            staging.copy_words::<R, SUMS>(map_of_c, corner, rows, &sums, alpha);
            continue;
        }
        if is_plain && is_aligned {
            // Four lanes write 32 bytes of a line together, which is what memory takes at once.
            let below = (rows[1] - rows[0]) * problem.ldc;
            let place = out.c.skip((top + rows[0]) * problem.ldc + left + column);
            unrolled!(panel < { SUMS / 32 } of 4 => {
                unrolled!(i < 16 of 16 => {
                    let at = 32 * panel + 2 * i;
                    let to = i % 2 * below + 64 * panel + i / 2 * 8;
                    place.set_chunk(to, [value(sums[at]), value(sums[at + 1])]);
                });
            });
            continue;
        }
        staging.wait_for_copies::<0>();
        staging.meet();
        unrolled!(panel < { SUMS / 32 } of 4 => {
            let mut part = [T::Scale::ZERO; 32];
            unrolled!(i < 8 => {
                unrolled!(j < 4 => { part[4 * i + j] = sums[32 * panel + 4 * i + j]; });
            });
            if TURNED {
                staging.put_turned(rows, part);
                let corner = [left + 64 * panel, top];
                let sum_at = |sum, _| sum;
                let turned = Staging::<T>::turned;
                staging.write_fours(turned, &out, problem, corner, is_aligned, sum_at);
            } else {
                staging.put_sums(rows, part);
                let corner = [top, left + 64 * panel];
                let four = Staging::<T>::four;
                let sum_at = |sum, _| sum;
                staging.write_fours(four, &out, problem, corner, is_aligned, sum_at);
            }
        });
    }
    // Copies read the memory of the block.
    Staging::new(memory, consumer, own).wait_for_copies::<0>();
}

/// Reads this thread's elements of a tile of X from squares of 32 x 32 elements with lines across k.
///
/// Element `i` is `i % 2` times 4 rows and `i / 2` times 4 of k further on than the first one. Rows 4 apart differ in one bit
/// of a chunk's number, and the swizzle changes another one for each 4 of k, so the places differ by constants.
#[inline(always)]
#[track_caller]
fn registers(tile: Shared<f32>, own: usize) -> [f32; 16] {
    let ([row, _], k) = (ByThreads::rows(own), wgmma::place_of_a(own, 0).1);
    let byte = k * 128 + row % ACROSS * size_of::<f32>();
    let first = row / ACROSS * SQUARE + Swizzle::Bytes128.place(byte) / size_of::<f32>();
    let mut elements = [0.0; 16];
    unrolled!(i < 16 of 16 => {
        let chunks = i % 2 + i / 2 % 2 * 4;
        elements[i] = tile.get((first ^ (chunks * CHUNK)) + i / 2 * 4 * ACROSS);
    });
    elements
}
