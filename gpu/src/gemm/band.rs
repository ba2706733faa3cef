//! The operands of products of fragments: bands of op(A) and op(B), of which tiles lie in shared memory.
//!
//! ```text
//! copy, each thread, for each of its chunks of 16 bytes of the tile:
//!     to = the chunk's line, and in it its number XOR some bits of the line's number
//!     8-bit elements with lines across k: load 16 elements along k one by one, and store them
//!     else a whole, aligned tile: start to copy the 16 bytes to `to`                        (cp.async)
//!     else start to copy the bytes that are inside, and zeros for the others                (not aligned: load, and store)
//! multiply, each warp, for each 32 bytes of k:
//!     load 8 matrices of B                                                                  (2 x ldmatrix)
//!     for each 16 rows of A: load 4 matrices of A; 4 products of fragments                  (ldmatrix, mma)
//! ```
//!
//! The XOR puts the 8 rows of a matrix of `ldmatrix`, and the chunks that 8 lanes copy, into different banks. `ldmatrix`
//! transposes matrices of 16-bit elements whose lines are across k. It cannot transpose those of 8 bits, which is why threads
//! gather their chunks.

use cuda_std::{
    F8E4M3, F8E5M2, bf16, f16,
    mma::{self, Pair, Quad},
    prelude::*,
    unrolled,
};

use super::{
    operand::is_aligned,
    policy::FRAGMENTS_STEP,
    problem::{Element, Problem},
};

/// The bytes of a chunk.
pub(super) const CHUNK_BYTES: usize = 16;

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

/// One of the two operands for a block of `BLOCK` threads: a band of `TILE` rows of op(A), or columns of op(B), along k, of
/// which [`FRAGMENTS_STEP`] bytes are in a slot of the ring. Memory has lines along k if `ALONG_K` is true, and across the band
/// otherwise. So has a slot, except that its lines of 8 bits always lie along k.
#[derive(Clone, Copy)]
pub(super) struct Band<
    T,
    const CHUNK: usize,
    const TILE: usize,
    const BLOCK: usize,
    const ALONG_K: bool,
> {
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
    pub fn new(
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

    /// Starts to copy the tile at `k` to a slot, or if `ASYNC` is false loads and stores it.
    #[inline(always)]
    #[track_caller]
    pub fn copy<const ASYNC: bool>(self, slot: usize, k: usize) {
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
                if ASYNC {
                    to.copy_async_chunk::<CHUNK>(lines * Self::LINE, from, lines * self.ld);
                } else {
                    let chunk: [T; CHUNK] = from.get_chunk(lines * self.ld);
                    to.set_chunk(lines * Self::LINE, chunk);
                }
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
            if ASYNC && self.is_aligned {
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
    pub fn rows<const IS_A: bool>(self, part: usize, lane: usize) -> Rows {
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
    pub fn load(self, slot: usize, rows: Rows, across: usize, step: usize) -> [T::Register; 4] {
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
pub(super) struct Rows {
    /// The start of its line.
    lines: usize,
    /// The place in the line.
    within: usize,
}

/// Returns the bands of A and B for the tile of C that begins at `top` and `left`.
#[inline(always)]
#[allow(clippy::type_complexity)]
pub(super) fn bands<
    T: Fragments,
    const CHUNK: usize,
    const TILE: usize,
    const BLOCK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    (a, b): (Global<T>, Global<T>),
    problem: &Problem,
    [top, left]: [usize; 2],
    [ring_a, ring_b]: [Shared<T>; 2],
) -> (
    Band<T, CHUNK, TILE, BLOCK, A_ALONG_K>,
    Band<T, CHUNK, TILE, BLOCK, B_ALONG_K>,
) {
    let Problem { m, n, k, .. } = *problem;
    let ld = if A_ALONG_K {
        problem.a.row
    } else {
        problem.a.column
    };
    let a = Band::new(a, ld, [top, m], k, ring_a);
    let ld = if B_ALONG_K {
        problem.b.column
    } else {
        problem.b.row
    };
    (a, Band::new(b, ld, [left, n], k, ring_b))
}

/// Adds the products of the tiles of A and B in a slot to the sums of a warp, `ROWS` x `COLUMNS` fragments of 16 x 8 elements.
#[inline(always)]
#[track_caller]
pub(super) fn multiply<
    T: Fragments,
    const CHUNK: usize,
    const TILE: usize,
    const BLOCK: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
    const ROWS: usize,
    const COLUMNS: usize,
>(
    sums: &mut [[[T::Scale; 4]; COLUMNS]; ROWS],
    (a, rows_a): (Band<T, CHUNK, TILE, BLOCK, A_ALONG_K>, Rows),
    (b, rows_b): (Band<T, CHUNK, TILE, BLOCK, B_ALONG_K>, Rows),
    slot: usize,
) {
    const { assert!(ROWS <= 4 && ROWS.is_power_of_two() && COLUMNS == 4) };
    unrolled!(step < { FRAGMENTS_STEP / 32 } of 4 => {
        let of_b = [
            b.load(slot, rows_b, 0, step),
            b.load(slot, rows_b, 1, step),
        ];
        unrolled!(row < ROWS of 4 => {
            let of_a = a.load(slot, rows_a, row, step);
            unrolled!(column < COLUMNS of 4 => {
                let [b0, b1, b2, b3] = of_b[column / 2];
                #[allow(clippy::manual_is_multiple_of)]
                let of_b = if column % 2 == 0 { [b0, b1] } else { [b2, b3] };
                sums[row][column] = T::product(of_a, of_b, sums[row][column]);
            });
        });
    });
}
