//! `best` for elements of 16 and 8 bits: products of fragments on the tensor cores, with sums in `f32` or `i32`.
//!
//! ```text
//! block (tile of C):
//!     sums = 0, in the registers of its warps
//!     start to copy the first tiles of A and B to the slots of a ring in shared memory         (cp.async)
//!     for each tile along k:
//!         wait for the tile; barrier; start a copy to the slot of the tile before
//!         for each 32 bytes of k: load fragments (ldmatrix); sums += fragment of A * fragment of B   (mma)
//!     C = alpha * sums + beta * C, rounded once
//! ```
//!
//! A warp of a large tile has 64 x 32 elements of C: for each 32 bytes of k it loads 6 times 4 matrices of 8 rows of 16 bytes
//! for 16 products of fragments. Two blocks are resident, except of `i8`, so that one multiplies while the other waits.
//!
//! Elements that are adjacent in global memory are adjacent in shared memory, by chunks of 16 bytes. The place of a chunk in
//! its line is its number XOR some bits of the line's number, so that the 8 rows of a matrix of `ldmatrix`, and the chunks that
//! 8 lanes copy, lie in different banks. `ldmatrix` transposes matrices of 16-bit elements whose lines are across k. It cannot
//! transpose those of 8 bits, of which threads therefore gather chunks along k. Numbers of 8 bits become
//! `f16` in registers.
//!
//! Before compute capability 8.0 there are no such instructions for `f16` and `bf16`: there a product of fragments is made of
//! shuffles and fused multiply-adds, and a copy is a load and a store. So the kernel is the same, but slower.

use cuda_std::{
    F8E4M3, F8E5M2, async_copy, bf16, f16,
    mma::{self, Pair, Quad},
    prelude::*,
    unrolled,
};

use super::{
    operand::is_aligned,
    output::{Output, scaled},
    policy::{
        BEST_BLOCK, BEST_TILE, FRAGMENTS_GROUP, FRAGMENTS_STAGES, FRAGMENTS_STEP, FRAGMENTS_WARPS,
        LARGE, SMALL,
    },
    problem::*,
};

/// The bytes of a chunk.
const CHUNK_BYTES: usize = 16;

/// Returns the number of blocks of large tiles that must be resident at once, for elements of which so many have 16 bytes.
///
/// Before compute capability 8.0 a multiprocessor has shared memory for one. Two of `i8` leave a thread too few registers:
/// `ptxas` 13.0 then spills half of the sums in the loop.
const fn resident(chunk: usize) -> u32 {
    let has_room = cfg!(any(not(target_arch = "nvptx64"), target_feature = "sm_80"));
    match has_room && chunk < CHUNK_BYTES {
        true => 2,
        false => 1,
    }
}

/// An element type whose fragments tensor cores multiply.
pub trait Fragments: Element + mma::Packed {
    /// Adds the product of two fragments to one of C.
    fn product(
        a: [Self::Register; 4],
        b: [Self::Register; 2],
        c: [Self::Scale; 4],
    ) -> [Self::Scale; 4];
    /// Loads four matrices with lines across k, each transposed. There are none of 8 bits.
    fn load_transposed(ring: Shared<Self>, at: usize) -> [Self::Register; 4];
}

/// An element type of 16 bits.
pub trait Half: Fragments + Element<Scale = f32, Result = Self> + mma::Half {}

macro_rules! fragments {
    ($($ty:ident: $register:ty, $scale:ident, $product:ident, $load:ident;)*) => { $(
        impl Fragments for $ty {
            #[inline(always)]
            #[track_caller]
            fn product(a: [$register; 4], b: [$register; 2], c: [$scale; 4]) -> [$scale; 4] {
                mma::$product(a, b, c)
            }

            #[inline(always)]
            #[track_caller]
            fn load_transposed(ring: Shared<Self>, at: usize) -> [$register; 4] {
                mma::$load(ring, at)
            }
        }
    )* };
}
fragments! {
    f16: Pair<f16>, f32, m16n8k16_f16, ldmatrix_x4_trans;
    bf16: Pair<bf16>, f32, m16n8k16_bf16, ldmatrix_x4_trans;
    i8: Quad<i8>, i32, m16n8k32_i8, ldmatrix_x4;
    F8E4M3: Quad<F8E4M3>, f32, m16n8k32_e4m3, ldmatrix_x4;
    F8E5M2: Quad<F8E5M2>, f32, m16n8k32_e5m2, ldmatrix_x4;
}
impl Half for f16 {}
impl Half for bf16 {}

/// Calls [`product_by`] for tiles of a size.
macro_rules! product {
    ($size:ident: $($argument:ident),*) => {{
        const WORDS: usize =
            FRAGMENTS_STAGES[$size] as usize * BEST_TILE[$size] * FRAGMENTS_STEP / 4;
        let (ring_a, ring_b) = (shared![u32; WORDS], shared![u32; WORDS]);
        // SAFETY: static arrays are aligned to 16 bytes, and every pattern of bits is an element.
        let rings = unsafe { [ring_a.cast::<T>(), ring_b.cast::<T>()] };
        product_by::<
            T,
            CHUNK,
            { FRAGMENTS_STAGES[$size] },
            { BEST_TILE[$size] },
            { FRAGMENTS_WARPS[$size][0] },
            { BEST_TILE[$size] / FRAGMENTS_WARPS[$size][0] / 16 },
            { BEST_TILE[$size] / FRAGMENTS_WARPS[$size][1] / 8 },
            { BEST_BLOCK[$size] },
            A_ALONG_K,
            B_ALONG_K,
        >($($argument,)* rings);
    }};
}

/// Computes `C = alpha * op(A) * op(B) + beta * C` of `f16` or `bf16` with sums in `f32`, or of `i8` with sums and C in `i32`,
/// by products of fragments. A warp computes 64 x 32 elements of C.
///
/// A tile of a matrix whose lines are aligned to 16 bytes is copied by chunks of 16 bytes, at the matrix's edge with zeros for
/// elements outside. Tiles of other matrices, and those of 8 bits that have lines across k, are loaded by elements.
///
/// Shapes: op(A) `m` x `k`, op(B) `k` x `n`, C `m` x `n`, as `problem` says; `count` of each. `A_ALONG_K` and `B_ALONG_K` say
/// whether elements that are adjacent along k are adjacent in memory. `CHUNK` elements have 16 bytes.
///
/// Launch: one block of 256 threads per 128 x 128 tile of C; static shared memory of 2 x 3 x 8 KiB. Reads `m * n * k / 64`
/// elements, and C unless `beta` is 0; writes `m * n`. The sums are those of [`mma`] for each 16 of k in order, or 32 of `i8`:
/// the same bits in every launch on devices of the same generation, and those of `i8` on every device.
///
/// # Safety
/// As for [`gemm_best`](super::gemm_best).
///
/// Source: ours.
#[kernel(
    launch_bounds(BEST_BLOCK[LARGE] as u32, resident(CHUNK)),
    instances(
        f16_nn: (f16, 8, true, false),
        f16_nt: (f16, 8, true, true),
        f16_tn: (f16, 8, false, false),
        f16_tt: (f16, 8, false, true),
        bf16_nn: (bf16, 8, true, false),
        bf16_nt: (bf16, 8, true, true),
        bf16_tn: (bf16, 8, false, false),
        bf16_tt: (bf16, 8, false, true),
        i8_nn: (i8, 16, true, false),
        i8_nt: (i8, 16, true, true),
        i8_tn: (i8, 16, false, false),
        i8_tt: (i8, 16, false, true),
    )
)]
pub unsafe fn gemm_best_fragments<
    T: Fragments,
    const CHUNK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<T::Result>,
    addend: GlobalMut<T::Result>,
    bias: Global<T::Result>,
    row_scales: Global<T::Scale>,
    column_scales: Global<T::Scale>,
    problem: Problem,
    alpha: T::Scale,
    beta: T::Scale,
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

/// [`gemm_best_fragments`] for products of few tiles: a block of 128 threads per 64 x 64 tile of C, of which a warp computes
/// 32 x 32 elements. The static shared memory is 2 x 3 x 4 KiB. Reads `m * n * k / 32` elements. Elements of 8 bits may be
/// numbers too, with sums and C in `f32`.
///
/// # Safety
/// As for [`gemm_best`](super::gemm_best).
#[kernel(
    launch_bounds(BEST_BLOCK[SMALL] as u32, 4),
    instances(
        f16_nn: (f16, 8, true, false),
        f16_nt: (f16, 8, true, true),
        f16_tn: (f16, 8, false, false),
        f16_tt: (f16, 8, false, true),
        bf16_nn: (bf16, 8, true, false),
        bf16_nt: (bf16, 8, true, true),
        bf16_tn: (bf16, 8, false, false),
        bf16_tt: (bf16, 8, false, true),
        i8_nn: (i8, 16, true, false),
        i8_nt: (i8, 16, true, true),
        i8_tn: (i8, 16, false, false),
        i8_tt: (i8, 16, false, true),
        e4m3_nn: (F8E4M3, 16, true, false),
        e4m3_nt: (F8E4M3, 16, true, true),
        e4m3_tn: (F8E4M3, 16, false, false),
        e4m3_tt: (F8E4M3, 16, false, true),
        e5m2_nn: (F8E5M2, 16, true, false),
        e5m2_nt: (F8E5M2, 16, true, true),
        e5m2_tn: (F8E5M2, 16, false, false),
        e5m2_tt: (F8E5M2, 16, false, true),
    )
)]
pub unsafe fn gemm_best_fragments_small<
    T: Fragments,
    const CHUNK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<T::Result>,
    addend: GlobalMut<T::Result>,
    bias: Global<T::Result>,
    row_scales: Global<T::Scale>,
    column_scales: Global<T::Scale>,
    problem: Problem,
    alpha: T::Scale,
    beta: T::Scale,
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
/// which [`FRAGMENTS_STEP`] bytes are in a slot of the ring. Memory has lines along k if `ALONG_K` is true, and across the band
/// otherwise. So has a slot, except that its lines of 8 bits always lie along k.
#[derive(Clone, Copy)]
struct Band<T, const CHUNK: usize, const TILE: usize, const BLOCK: usize, const ALONG_K: bool> {
    view: Global<T>,
    /// The leading dimension.
    ld: usize,
    /// The band's first row (of A; column of B), and the number of rows of the whole matrix.
    first: usize,
    end: usize,
    /// The length along k.
    k: usize,
    ring: Shared<T>,
    /// Whether chunks of 16 bytes are aligned.
    is_aligned: bool,
}

impl<T: Fragments, const CHUNK: usize, const TILE: usize, const BLOCK: usize, const ALONG_K: bool>
    Band<T, CHUNK, TILE, BLOCK, ALONG_K>
{
    /// The length along k of a slot.
    const STEP: usize = FRAGMENTS_STEP / size_of::<T>();
    /// Whether lines of a slot lie along k.
    const IS_ALONG: bool = ALONG_K || size_of::<T>() == 1;
    /// The elements of a line of a slot.
    const LINE: usize = if Self::IS_ALONG { Self::STEP } else { TILE };
    /// The elements of a slot.
    const ROOM: usize = TILE * Self::STEP;
    /// The chunks of a line.
    const PER_LINE: usize = Self::LINE / CHUNK;
    /// The lines that the block copies at once.
    const LINES: usize = BLOCK / Self::PER_LINE;
    /// The chunks of a tile per thread.
    const CHUNKS: usize = Self::ROOM / CHUNK / BLOCK;

    #[inline(always)]
    fn new(
        view: Global<T>,
        ld: usize,
        [first, end]: [usize; 2],
        k: usize,
        ring: Shared<T>,
    ) -> Self {
        const {
            assert!(CHUNK * size_of::<T>() == CHUNK_BYTES);
            assert!(Self::CHUNKS * CHUNK * BLOCK == Self::ROOM && Self::CHUNKS <= 4);
            assert!(Self::PER_LINE == 4 || Self::PER_LINE.is_multiple_of(8));
            // Lines that are so far apart have the same bits of `swizzle`.
            assert!(Self::LINES.is_multiple_of(8));
        }
        let is_aligned = is_aligned(view.as_ptr(), ld);
        Self {
            view,
            ld,
            first,
            end,
            k,
            ring,
            is_aligned,
        }
    }

    /// Returns what the numbers of a line's chunks are changed by, with XOR. Two lines of 4 chunks together use all banks.
    #[inline(always)]
    fn swizzle(line: usize) -> usize {
        if Self::PER_LINE == 4 {
            line / 2 % 4
        } else {
            line % 8
        }
    }

    /// Starts to copy the tile at `k` to a slot.
    #[inline(always)]
    #[track_caller]
    fn copy(self, slot: usize, k: usize) {
        if const { Self::IS_ALONG && !ALONG_K } {
            self.gather(slot, k);
            return;
        }
        let thread = thread::thread_idx_x() as usize;
        let (line, chunk) = (thread / Self::PER_LINE, thread % Self::PER_LINE);
        let within = (chunk ^ Self::swizzle(line)) * CHUNK;
        let to = slot * Self::ROOM + line * Self::LINE + within;
        let (across, along) = if ALONG_K {
            (line, chunk * CHUNK)
        } else {
            (chunk * CHUNK, line)
        };
        let (across, along) = (self.first + across, k + along);
        let from = if ALONG_K {
            across * self.ld + along
        } else {
            along * self.ld + across
        };
        let is_whole = self.first + TILE <= self.end && k + Self::STEP <= self.k;
        if self.is_aligned && is_whole {
            let (to, from) = (self.ring.skip(to), self.view.skip(from));
            unrolled!(number < { Self::CHUNKS } of 4 => {
                let lines = number * Self::LINES;
                to.copy_async_chunk::<CHUNK>(lines * Self::LINE, from, lines * self.ld);
            });
            return;
        }
        // A loop that is not unrolled leaves the registers to the sums.
        let mut lines = 0;
        while lines < const { Self::CHUNKS * Self::LINES } {
            // The chunk's elements that are inside.
            let count = if ALONG_K {
                let inside = across + lines < self.end;
                if inside {
                    self.k.saturating_sub(along)
                } else {
                    0
                }
            } else {
                let inside = along + lines < self.k;
                if inside {
                    self.end.saturating_sub(across)
                } else {
                    0
                }
            };
            let count = count.min(CHUNK);
            let from = if count > 0 { from + lines * self.ld } else { 0 };
            let to = to + lines * Self::LINE;
            if self.is_aligned {
                self.ring
                    .copy_async_chunk_or_zeros::<CHUNK>(to, self.view, from, count);
            } else {
                let mut values = [T::ZERO; CHUNK];
                unrolled!(i < CHUNK of 16 => {
                    if i < count {
                        values[i] = self.view.get(from + i);
                    }
                });
                self.ring.set_chunk(to, values);
            }
            lines += Self::LINES;
        }
    }

    /// Loads the tile at `k`, of which memory has lines across k, to a slot with lines along k. Adjacent threads read adjacent
    /// elements.
    #[inline(always)]
    #[track_caller]
    fn gather(self, slot: usize, k: usize) {
        let thread = thread::thread_idx_x() as usize;
        let (line, mut chunk) = (thread % TILE, thread / TILE);
        let is_inside = self.first + line < self.end;
        while chunk < const { Self::STEP / CHUNK } {
            let first = k + chunk * CHUNK;
            let count = if is_inside {
                self.k.saturating_sub(first)
            } else {
                0
            };
            let within = (chunk ^ Self::swizzle(line)) * CHUNK;
            let to = slot * Self::ROOM + line * Self::LINE + within;
            let mut values = [T::ZERO; CHUNK];
            unrolled!(i < CHUNK of 16 => {
                if i < count {
                    values[i] = self.view.get((first + i) * self.ld + self.first + line);
                }
            });
            self.ring.set_chunk(to, values);
            chunk += BLOCK / TILE;
        }
    }

    /// Returns the rows of fragments' matrices that the lane gives, for a warp whose part of the band begins at `part`. Of the
    /// four matrices of a load those of A come down first, and those of B along k.
    #[inline(always)]
    fn rows<const IS_A: bool>(self, part: usize, lane: usize) -> Rows {
        let (row, first, second) = (lane % 8, lane / 8 % 2, lane / 16);
        let (across, along) = if IS_A {
            (first, second)
        } else {
            (second, first)
        };
        let (line, chunk) = if Self::IS_ALONG {
            (part + across * 8 + row, along)
        } else {
            (along * 8 + row, part / CHUNK + across)
        };
        Rows {
            lines: line * Self::LINE,
            // The line differs from `row` by a multiple of 8.
            within: (chunk ^ Self::swizzle(row)) * CHUNK,
        }
    }

    /// Loads four matrices: those that are 16 times `across` further across the band, and 32 bytes times `step` along k.
    #[inline(always)]
    #[track_caller]
    fn load(self, slot: usize, rows: Rows, across: usize, step: usize) -> [T::Register; 4] {
        let (lines, chunks) = if Self::IS_ALONG {
            (across, step)
        } else {
            (step, across)
        };
        // The part begins at a multiple of twice as many chunks as it has: so XOR adds the chunks' number.
        let at = rows.lines + lines * (16 * Self::LINE) + (rows.within ^ (chunks * 2 * CHUNK));
        let at = slot * Self::ROOM + at;
        if Self::IS_ALONG {
            mma::ldmatrix_x4(self.ring, at)
        } else {
            T::load_transposed(self.ring, at)
        }
    }
}

/// The place of a lane's row of the first matrices of a slot.
#[derive(Clone, Copy)]
struct Rows {
    /// The start of its line.
    lines: usize,
    /// The place in the line.
    within: usize,
}

/// Waits until at most `STAGES - 2` groups of copies are under way.
#[inline(always)]
#[track_caller]
fn wait_for_a_tile<const STAGES: u32>() {
    match STAGES {
        2 => async_copy::wait_group::<0>(),
        3 => async_copy::wait_group::<1>(),
        _ => async_copy::wait_group::<2>(),
    }
}

/// The body of the kernels: computes this block's tile of C. A warp has `ROWS` x `COLUMNS` fragments of 16 x 8 elements of it.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments)]
fn product_by<
    T: Fragments,
    const CHUNK: usize,
    const STAGES: u32,
    const TILE: usize,
    const WARPS_DOWN: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const BLOCK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: Global<T>,
    b: Global<T>,
    out: Output<T::Result>,
    problem: Problem,
    [ring_a, ring_b]: [Shared<T>; 2],
) {
    const {
        assert!(2 <= STAGES && STAGES <= 4);
        assert!(ROWS <= 4 && ROWS.is_power_of_two() && COLUMNS == 4);
    }
    let (number, top, left) = tile_origin(&problem, FRAGMENTS_GROUP, TILE, TILE);
    let (a, b) = problem.operands(number, a, b);
    let out = out.of_product(&problem, number);
    let k = problem.k;
    let ld = if A_ALONG_K {
        problem.a.row
    } else {
        problem.a.column
    };
    let a = Band::<T, CHUNK, TILE, BLOCK, A_ALONG_K>::new(a, ld, [top, problem.m], k, ring_a);
    let ld = if B_ALONG_K {
        problem.b.column
    } else {
        problem.b.row
    };
    let b = Band::<T, CHUNK, TILE, BLOCK, B_ALONG_K>::new(b, ld, [left, problem.n], k, ring_b);

    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread % 32);
    let down = warp % WARPS_DOWN * (ROWS * 16);
    let across = warp / WARPS_DOWN * (COLUMNS * 8);
    let (rows_a, rows_b) = (a.rows::<true>(down, lane), b.rows::<false>(across, lane));

    // The last tile may end early: it has zeros behind its end.
    let of_step = const { FRAGMENTS_STEP / size_of::<T>() };
    let tiles = k.div_ceil(of_step) as u32;
    let start = |slot: u32, tile: u32| {
        if tile < tiles {
            a.copy(slot as usize, tile as usize * of_step);
            b.copy(slot as usize, tile as usize * of_step);
        }
        // A group for every tile, also where there is none: so the waits count right.
        async_copy::commit_group();
    };

    let mut sums = [[[T::Scale::ZERO; 4]; COLUMNS]; ROWS];
    let mut slot = 0;
    while slot < STAGES - 1 {
        start(slot, slot);
        slot += 1;
    }
    let (mut slot, mut free, mut tile) = (0, STAGES - 1, 0);
    while tile < tiles {
        wait_for_a_tile::<STAGES>();
        // The tile is there, and everybody is done with the one before, whose slot is free.
        thread::sync_threads();
        start(free, tile + STAGES - 1);
        unrolled!(step < { FRAGMENTS_STEP / 32 } of 4 => {
            let of_b = [
                b.load(slot as usize, rows_b, 0, step),
                b.load(slot as usize, rows_b, 1, step),
            ];
            unrolled!(row < ROWS of 4 => {
                let of_a = a.load(slot as usize, rows_a, row, step);
                unrolled!(column < COLUMNS of 4 => {
                    let [b0, b1, b2, b3] = of_b[column / 2];
                    #[allow(clippy::manual_is_multiple_of)]
                    let of_b = if column % 2 == 0 { [b0, b1] } else { [b2, b3] };
                    sums[row][column] = T::product(of_a, of_b, sums[row][column]);
                });
            });
        });
        free = slot;
        slot = if slot + 1 == STAGES { 0 } else { slot + 1 };
        tile += 1;
    }

    let aligned = out.is_aligned(&problem, const { 2 * size_of::<T::Result>() });
    let whole = top + TILE <= problem.m && left + TILE <= problem.n;
    let (first_row, first_column) = (top + down + lane / 4, left + across + lane % 4 * 2);
    // The elements of a fragment are two pairs, 8 rows apart. Every step is a loop of its own, so that they are decided once.
    out.scale_fragments(&problem, [first_row, first_column], &mut sums);
    unrolled!(i < { 2 * ROWS } => {
        unrolled!(number < COLUMNS of 4 => {
            let (row, column) = (first_row + i * 8, first_column + number * 8);
            let old = out.old::<2>(&problem, [row, column], aligned && whole);
            unrolled!(j < 2 of 4 => {
                let sum = &mut sums[i / 2][number][i % 2 * 2 + j];
                *sum = scaled(out.alpha, *sum, out.beta, || old[j]);
            });
        });
    });
    unrolled!(row < ROWS of 4 => {
        out.finish_fragments(&problem, first_column, &mut sums[row]);
    });
    unrolled!(i < { 2 * ROWS } => {
        unrolled!(number < COLUMNS of 4 => {
            let (row, column) = (first_row + i * 8, first_column + number * 8);
            let at = row * problem.ldc + column;
            let mut values = [T::Result::ZERO; 2];
            unrolled!(j < 2 of 4 => {
                values[j] = T::Result::rounded(sums[i / 2][number][i % 2 * 2 + j]);
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
}
