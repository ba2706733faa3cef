//! The shared memory between the sums of a warpgroup's threads and C.
//!
//! ```text
//! a panel that is all in C (`copy`), each warp for itself:
//!     wait until the warp's copy before the last one has read its panel      (there are two panels, used in turn)
//!     put the warp's 16 lines of elements into the panel, swizzled; fence; sync_warp
//!     one lane starts to copy the lines to C                                 (a tensor map)
//!
//! any other panel (`put_sums`, or `put_turned` for a transpose, then `write` or `write_fours`), the warpgroup together:
//!     put the sums into the panel; barrier of the warpgroup
//!     for every 16th line: read 8 sums of the line, make elements of them, write 16 bytes of C   (or every 8th line, 4 sums)
//!     barrier of the warpgroup                                               (the next panel has the same memory)
//! ```
//!
//! A thread's sums are pairs of neighbors in lines that are 8 apart. Written from registers, a warp's store would touch 8 lines
//! of C, each with 16 bytes of 16-bit elements. By way of the panel C gets lines of 128 bytes. With a tensor map the threads do
//! not even write them, and the copy goes on while they multiply the next tile. Without the fence the copy may not see the
//! lines, and without the wait it may copy those of a later panel.

use cuda_std::{
    bulk,
    prelude::*,
    tensor_map::TensorMap,
    unrolled,
    warp::FULL_MASK,
    wgmma::{self, Factor},
};

use super::{output::Output, problem::*};

/// The threads of a warpgroup.
pub(super) const WARPGROUP: u32 = 128;
/// The elements of 16 bits of a chunk of 16 bytes.
pub(super) const CHUNK: usize = 8;
/// The elements that a thread writes together by [`write_fours`](Staging::write_fours).
const FOUR: usize = 4;

/// The shared memory through which a consumer writes C: two panels of 64 lines of 128 bytes, used in turn, which tensor maps
/// copy to C; or one panel of 64 x 64 sums in 32 bits, of which threads that are next to each other write 16 bytes each of the
/// same line.
///
/// Panels are swizzled as tensor maps with 128 bytes want them, so that lanes that put elements of 8 lines there have no bank
/// conflicts: chunk `i` of a line is at `i ^ line % 8`. A thread's lines are multiples of 8 apart, so its places differ by
/// constants.
pub(super) struct Staging<T> {
    memory: Shared<T>,
    turn: usize,
    barrier: u32,
    /// The thread's number in its warpgroup.
    pub own: usize,
}

impl<T: Factor> Staging<T> {
    #[inline(always)]
    pub fn new(memory: Shared<T>, consumer: u32, own: usize) -> Self {
        Self {
            memory,
            turn: 0,
            barrier: 1 + consumer,
            own,
        }
    }

    /// Returns the memory for sums.
    #[inline(always)]
    #[track_caller]
    pub fn sums<S: Scalar>(&self) -> Shared<S> {
        // SAFETY: it is aligned to 1024 bytes.
        unsafe { self.memory.cast() }
    }

    /// Returns the place of the 4 sums from a column on. The even fours of a line are in its first 128 bytes, and the odd ones
    /// behind them, so that 4 lines of a chunk's two fours have no bank conflicts, nor have 8 chunks of a line.
    #[inline(always)]
    pub fn four(line: usize, column: usize) -> usize {
        let (chunk, odd) = (column / CHUNK, column / 4 % 2);
        line * 64 + odd * 32 + (chunk ^ (line % 8) ^ (odd * 4)) * 4
    }

    #[inline(always)]
    #[track_caller]
    pub fn meet(&self) {
        thread::sync_threads_named(self.barrier, WARPGROUP);
    }

    /// Waits until all copies of this warp but so many have read the memory. Then the lanes must meet.
    #[inline(always)]
    #[track_caller]
    pub fn wait_for_copies<const BUT: u32>(&self) {
        if self.own.is_multiple_of(32) {
            bulk::wait_group_read::<BUT>();
        }
    }

    /// Starts to copy a panel of 64 lines of 128 bytes, which is all in C. `corner` is its first column and row, and the number
    /// of the product. `put` puts the 16 lines of this warp, with the swizzle of 128 bytes, to the memory that it is given.
    ///
    /// Two panels are used in turn. Every warp has copies of its own, so that no warp waits for another one.
    #[inline(always)]
    #[track_caller]
    pub fn copy<R: Plain>(
        &mut self,
        c: TensorMap,
        [column, row, product]: [usize; 3],
        put: impl FnOnce(Shared<R>),
    ) {
        // The copy before the last one had this memory.
        self.wait_for_copies::<1>();
        // SAFETY: all lanes of the warp get here together, here and below.
        unsafe { warp::sync_warp(FULL_MASK) };
        let (warp, len) = (self.own / 32, const { 16 * 128 / size_of::<R>() });
        // SAFETY: it is aligned to 1024 bytes, and any bits are elements of C.
        let lines = unsafe { self.memory.cast::<R>() }.skip((self.turn * 4 + warp) * len);
        put(lines);
        bulk::fence_proxy_async();
        // SAFETY: see above.
        unsafe { warp::sync_warp(FULL_MASK) };
        if self.own.is_multiple_of(32) {
            let corner = [column as i32, (row + 16 * warp) as i32, product as i32];
            c.store_tile(corner, lines, 0, len);
            bulk::commit_group();
        }
        self.turn ^= 1;
    }

    /// Starts to copy the panels of this thread's sums times `alpha`, as elements of 32 bits: a tile of 64 lines, which is all
    /// in C. `corner` is as for [`copy`](Self::copy), and `rows` are those of the sums.
    #[inline(always)]
    #[track_caller]
    pub fn copy_words<R: Element, const SUMS: usize>(
        &mut self,
        c: TensorMap,
        [left, top, product]: [usize; 3],
        rows: [usize; 2],
        sums: &[R::Scale; SUMS],
        alpha: R::Scale,
    ) {
        let (_, column) = wgmma::place(self.own, 0);
        let value = |sum: R::Scale| R::rounded(alpha.times(sum));
        // Tensor maps take whole lines of panels of 32 columns.
        let place = rows.map(|row| {
            let line = row % 16;
            line * 32 + (column ^ (line % 8 * 4))
        });
        unrolled!(panel < { SUMS / 16 } => {
            let corner = [left + 32 * panel, top, product];
            self.copy(c, corner, |lines: Shared<R>| {
                unrolled!(i < 8 => {
                    let at = 16 * panel + 2 * i;
                    let to = place[i % 2] ^ (i / 2 * 8);
                    lines.set_chunk(to, [value(sums[at]), value(sums[at + 1])]);
                });
            });
        });
    }

    /// Returns the rows of this thread's sums.
    #[inline(always)]
    pub fn rows(&self) -> [usize; 2] {
        let (row, _) = wgmma::place(self.own, 0);
        [row, row + 8]
    }

    /// Puts this thread's sums of a panel, in these rows, here, and waits for those of the others.
    #[inline(always)]
    #[track_caller]
    pub fn put_sums<S: Scalar>(&self, rows: [usize; 2], sums: [S; 32]) {
        let (_, column) = wgmma::place(self.own, 0);
        let to = self.sums();
        unrolled!(i < 16 of 16 => {
            let at = Self::four(rows[i % 2], column + i / 2 * 8) + column % 4;
            to.set_chunk(at, [sums[2 * i], sums[2 * i + 1]]);
        });
        self.meet();
    }

    /// Returns the place of the 4 sums of D from a row on, in a column, which is a line of C. The lanes of a warp put sums of 8
    /// rows and of 4 lines, which are 2 apart, and have no bank conflicts.
    #[inline(always)]
    pub fn turned(line: usize, row: usize) -> usize {
        line * 64 + (row ^ (line / 2 % 4 * 4))
    }

    /// Puts this thread's sums of a panel of D, which is the transpose of C, here as those of C, and waits for those of the
    /// others.
    #[inline(always)]
    #[track_caller]
    pub fn put_turned<S: Scalar>(&self, rows: [usize; 2], sums: [S; 32]) {
        let (_, column) = wgmma::place(self.own, 0);
        let to = self.sums();
        unrolled!(i < 32 of 32 => {
            let line = column + i / 4 * 8 + i % 2;
            to.set(Self::turned(line, rows[i / 2 % 2]), sums[i]);
        });
        self.meet();
    }

    /// Writes a panel of 64 x 64 elements of C, whose sums are here, and waits for the others. `four` returns the place of
    /// four sums of a line from a column on, `is_aligned` says whether fours of C and of the addend are, and `sum_at` returns
    /// what takes the place of a sum for a row and a column. The loop is not unrolled, so that its instructions are few.
    #[inline(always)]
    #[track_caller]
    pub fn write_fours<R: Element>(
        &self,
        four: impl Fn(usize, usize) -> usize,
        out: &Output<R>,
        problem: &Problem,
        [top, left]: [usize; 2],
        is_aligned: bool,
        sum_at: impl Fn(R::Scale, [usize; 2]) -> R::Scale,
    ) {
        let column = self.own % (64 / FOUR) * FOUR;
        let inside = problem.n.saturating_sub(left + column).min(FOUR);
        let end = problem.m.saturating_sub(top).min(64);
        let mut line = self.own / (64 / FOUR);
        while line < end && inside > 0 {
            let (row, first) = (top + line, left + column);
            let at = row * problem.ldc + first;
            let sums: [R::Scale; FOUR] = self.sums().get_chunk(four(line, column));
            let mut values = [R::ZERO; FOUR];
            unrolled!(j < FOUR => {
                if j < inside {
                    let place = [row, first + j];
                    values[j] = out.element(problem, place, sum_at(sums[j], place));
                }
            });
            if is_aligned && inside == FOUR {
                out.c.set_chunk(at, values);
            } else {
                unrolled!(j < FOUR => {
                    if j < inside {
                        out.c.set(at + j, values[j]);
                    }
                });
            }
            line += WARPGROUP as usize / (64 / FOUR);
        }
        self.meet();
    }

    /// Returns the line and the column of this thread's first chunk. The others are 16 lines apart.
    #[inline(always)]
    pub fn chunk(&self) -> (usize, usize) {
        (self.own / 8, self.own % 8 * CHUNK)
    }

    /// Returns the place in C of this thread's first chunk of the panel at `corner`.
    #[inline(always)]
    fn first(&self, problem: &Problem, [top, left]: [usize; 2]) -> usize {
        let (line, column) = self.chunk();
        (top + line) * problem.ldc + left + column
    }

    /// Writes a panel of C of elements of 16 bits, whose sums are here, and waits for the others. `bias` is that of this
    /// thread's columns, and `is_aligned` says whether chunks of C and of the addend are. The loop is not unrolled, so that its
    /// instructions are few.
    #[inline(always)]
    #[track_caller]
    pub fn write<R: Element<Scale = f32>>(
        &self,
        out: &Output<R>,
        bias: &[f32; CHUNK],
        problem: &Problem,
        corner: [usize; 2],
        is_aligned: bool,
    ) {
        let (line, column) = self.chunk();
        let inside = problem.n.saturating_sub(corner[1] + column).min(CHUNK);
        let first = self.first(problem, corner);
        let end = problem.m.saturating_sub(corner[0]).min(64);
        let scales = out.scales_of(problem, corner[1] + column);
        let mut line = line;
        let mut place = first;
        while line < end && inside > 0 {
            let mut values = [0.0; CHUNK];
            unrolled!(odd < 2 of 4 => {
                let four: [f32; 4] = self.sums().get_chunk(Self::four(line, column + 4 * odd));
                unrolled!(j < 4 => { values[4 * odd + j] = four[j]; });
            });
            let is_chunk = is_aligned && inside == CHUNK;
            let (row, first) = (corner[0] + line, corner[1] + column);
            let mut chunk = out.old(problem, [row, first], is_chunk);
            out.elements(problem, row, [&scales, bias], chunk, &mut values);
            unrolled!(j < 4 => {
                let pair = [values[2 * j], values[2 * j + 1]];
                [chunk[2 * j], chunk[2 * j + 1]] = R::rounded_two(pair);
            });
            if is_chunk {
                out.c.set_chunk(place, chunk);
            } else {
                unrolled!(j < CHUNK => {
                    if j < inside {
                        out.c.set(place + j, chunk[j]);
                    }
                });
            }
            line += 16;
            place += 16 * problem.ldc;
        }
        self.meet();
    }
}
