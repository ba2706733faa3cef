//! How an element of C is made of its sum: the last steps of a product.

use cuda_std::{prelude::*, unrolled};

use super::problem::{Element, Epilogue, Problem, Scalar};

/// Returns 0 for a number below 0. NaN stays.
#[inline(always)]
fn relu<T: Scalar>(value: T) -> T {
    if value < T::ZERO { T::ZERO } else { value }
}

/// Returns an element of C from its sum, and from its old value unless `beta` is 0. Its epilogue may follow.
#[inline(always)]
pub(super) fn scaled<T: Element>(
    alpha: T::Scale,
    sum: T::Scale,
    beta: T::Scale,
    old: impl FnOnce() -> T,
) -> T::Scale {
    if beta == T::Scale::ZERO {
        alpha.times(sum)
    } else {
        alpha.mul_add(sum, beta.times(old().widen()))
    }
}

/// Writes a thread's sums times `alpha`, as elements of 16 bits, to two lines of the tile of C that begins at `to`. The sums
/// are those of a warpgroup's products, and `own` is the thread's number in it.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
#[inline(always)]
#[track_caller]
pub(super) fn write_halves<R: Element, const SUMS: usize>(
    to: GlobalMut<R>,
    ldc: usize,
    [line, lower]: [usize; 2],
    sums: &[R::Scale; SUMS],
    alpha: R::Scale,
    own: usize,
) {
    let (to, below) = (to.skip(line * ldc), (lower - line) * ldc);
    unrolled!(panel < { SUMS / 32 } of 4 => {
        unrolled!(i < 8 of 16 => {
            let at = 32 * panel + i / 2 * 8 + i % 2 * 2;
            let pairs = [[sums[at], sums[at + 1]], [sums[at + 4], sums[at + 5]]];
            let pairs = pairs.map(|pair| pair.map(|sum| alpha.times(sum)));
            write_fours(to.skip(i % 2 * below + 64 * panel + i / 2 * 16), pairs, own);
        });
    });
}

/// Writes 16 adjacent elements of 16 bits of a line of C, which begin at `to`. Four lanes have two pairs each: one of the first
/// 8 elements, and one of the others at the same place.
///
/// Lanes that are adjacent exchange a pair each, so that every lane has four adjacent elements, and the four write 32 bytes
/// together, which is what memory takes at once.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
#[inline(always)]
#[track_caller]
fn write_fours<R: Element>(to: GlobalMut<R>, pairs: [[R::Scale; 2]; 2], own: usize) {
    // SAFETY: a pair of such elements has the bits of a word.
    let [first, second] = pairs
        .map(|pair| unsafe { core::mem::transmute_copy::<[R; 2], u32>(&R::rounded_two(pair)) });
    let is_odd = own % 2 == 1;
    let sent = if is_odd { first } else { second };
    // All lanes of the warp write.
    let got = warp::shuffle_xor(warp::FULL_MASK, sent, 1);
    let words = if is_odd { [got, second] } else { [first, got] };
    // SAFETY: any bits are such elements.
    let four = unsafe { core::mem::transmute_copy::<[u32; 2], [R; 4]>(&words) };
    to.set_chunk(own % 2 * 8 + own / 2 % 2 * 4, four);
}

/// C, and what its elements are made of besides their sums.
#[derive(Clone, Copy)]
pub(super) struct Output<T: Element> {
    /// C itself.
    pub c: GlobalMut<T>,
    /// The matrix that `beta` multiplies, unless it is 0: C, or another one.
    pub addend: GlobalMut<T>,
    /// An element for each column, if the epilogue adds a bias.
    pub bias: Global<T>,
    /// A factor for each row of all C, if the epilogue has them.
    pub row_scales: Global<T::Scale>,
    /// A factor for each column, if the epilogue has them.
    pub column_scales: Global<T::Scale>,
    /// The factors of the product and of the addend.
    pub alpha: T::Scale,
    pub beta: T::Scale,
}

impl<T: Element> Output<T> {
    /// Returns that of a product. This is that of the first one.
    #[inline(always)]
    #[track_caller]
    pub fn of_product(mut self, problem: &Problem, number: usize) -> Self {
        let [.., to_c, to_addend] = problem.next;
        self.c = self.c.skip(number * to_c);
        self.addend = self.addend.skip(number * to_addend);
        if problem.epilogue.has(Epilogue::ROW_SCALES) {
            self.row_scales = self.row_scales.skip(number * problem.m);
        }
        self
    }

    /// Returns whether rows of C, and of the addend if it is read, begin at multiples of `bytes`.
    #[inline(always)]
    pub fn is_aligned(&self, problem: &Problem, bytes: usize) -> bool {
        let of =
            |first: *mut T, ld: usize| (first.addr() | (ld * size_of::<T>())).is_multiple_of(bytes);
        of(self.c.as_ptr(), problem.ldc)
            && (self.beta == T::Scale::ZERO || of(self.addend.as_ptr(), problem.ld_addend))
    }

    /// Returns the addend's elements of a row from a column on: zeros outside of C, and if `beta` is 0. `is_chunk` says that
    /// all are in C, and aligned to their bytes.
    #[inline(always)]
    #[track_caller]
    pub fn old<const N: usize>(
        &self,
        problem: &Problem,
        [row, column]: [usize; 2],
        is_chunk: bool,
    ) -> [T; N] {
        let mut old = [T::ZERO; N];
        if self.beta != T::Scale::ZERO {
            let at = row * problem.ld_addend + column;
            if is_chunk {
                old = self.addend.get_chunk(at);
            } else {
                unrolled!(j < N => {
                    if row < problem.m && column + j < problem.n {
                        old[j] = self.addend.get(at + j);
                    }
                });
            }
        }
        old
    }

    /// Loads the bias of adjacent columns from one on, if there is one.
    #[inline(always)]
    #[track_caller]
    pub fn bias_of<const N: usize>(&self, problem: &Problem, first: usize) -> [T::Scale; N] {
        let mut bias = [T::Scale::ZERO; N];
        if problem.epilogue.has(Epilogue::BIAS) {
            unrolled!(i < N => {
                if first + i < problem.n {
                    bias[i] = self.bias.get(first + i).widen();
                }
            });
        }
        bias
    }

    /// Loads the scales of adjacent columns from one on, if there are any.
    #[inline(always)]
    #[track_caller]
    pub fn scales_of<const N: usize>(&self, problem: &Problem, first: usize) -> [T::Scale; N] {
        let mut scales = [T::Scale::ZERO; N];
        if problem.epilogue.has(Epilogue::COLUMN_SCALES) {
            unrolled!(i < N => {
                if first + i < problem.n {
                    scales[i] = self.column_scales.get(first + i);
                }
            });
        }
        scales
    }

    /// Makes adjacent elements of a row of C of their sums, `old` elements, and the scales and the bias of their columns. They
    /// are not rounded yet.
    #[inline(always)]
    #[track_caller]
    pub fn elements<const N: usize>(
        &self,
        problem: &Problem,
        row: usize,
        [scales, bias]: [&[T::Scale; N]; 2],
        old: [T; N],
        values: &mut [T::Scale; N],
    ) {
        let epilogue = problem.epilogue;
        if epilogue.has(Epilogue::ROW_SCALES) {
            let scale = self.row_scales.get(row);
            unrolled!(i < N => { values[i] = values[i].times(scale); });
        }
        if epilogue.has(Epilogue::COLUMN_SCALES) {
            unrolled!(i < N => { values[i] = values[i].times(scales[i]); });
        }
        unrolled!(i < N => {
            values[i] = scaled(self.alpha, values[i], self.beta, || old[i]);
        });
        if epilogue.has(Epilogue::BIAS) {
            unrolled!(i < N => { values[i] = values[i].plus(bias[i]); });
        }
        if epilogue.has(Epilogue::RELU) {
            unrolled!(i < N => { values[i] = relu(values[i]); });
        }
        if epilogue.has(Epilogue::GELU) {
            unrolled!(i < N => { values[i] = T::gelu(values[i]); });
        }
    }

    /// Returns the element of C at a row and a column, which is in C, of its sum.
    #[inline(always)]
    #[track_caller]
    pub fn element(&self, problem: &Problem, [row, column]: [usize; 2], sum: T::Scale) -> T {
        let mut values = [sum];
        let old = self.old(problem, [row, column], false);
        let (scales, bias) = (
            self.scales_of(problem, column),
            self.bias_of(problem, column),
        );
        self.elements(problem, row, [&scales, &bias], old, &mut values);
        T::rounded(values[0])
    }

    /// Writes the element of C at a row and a column, which is in C.
    #[inline(always)]
    #[track_caller]
    pub fn write(&self, problem: &Problem, [row, column]: [usize; 2], sum: T::Scale) {
        let element = self.element(problem, [row, column], sum);
        self.c.set(row * problem.ldc + column, element);
    }

    /// Writes the elements of C that belong to these sums and are inside. `place` returns the row and the column of one.
    ///
    /// Registers have no computed index, so that a loop over sums is a copy of its body for each. So the thread puts them to
    /// its own places of shared memory, and what is done with an element is compiled once for all. `staging` has `N` elements
    /// for each thread of the block, of which this is number `thread` of `threads`.
    #[cfg(feature = "ladder")]
    #[inline(always)]
    #[track_caller]
    pub fn write_all<const N: usize>(
        &self,
        problem: &Problem,
        sums: [T::Scale; N],
        place: impl Fn(usize) -> [usize; 2],
        staging: Shared<T::Scale>,
        (thread, threads): (usize, usize),
    ) {
        unrolled!(i < N => { staging.set(i * threads + thread, sums[i]); });
        let mut i = 0;
        while i < N {
            let [row, column] = place(i);
            if row < problem.m && column < problem.n {
                self.write(problem, [row, column], staging.get(i * threads + thread));
            }
            i += 1;
        }
    }

    /// Multiplies the sums of a thread's rows and columns by their scales, if there are any. `row` and `column` return those
    /// of a sum.
    #[inline(always)]
    #[track_caller]
    pub fn scale<const ROWS: usize, const COLUMNS: usize>(
        &self,
        problem: &Problem,
        sums: &mut [[T::Scale; COLUMNS]; ROWS],
        row: impl Fn(usize) -> usize,
        column: impl Fn(usize) -> usize,
    ) {
        let epilogue = problem.epilogue;
        if epilogue.has(Epilogue::ROW_SCALES) {
            unrolled!(i < ROWS => {
                let row = row(i);
                if row < problem.m {
                    let scale = self.row_scales.get(row);
                    unrolled!(j < COLUMNS => { sums[i][j] = sums[i][j].times(scale); });
                }
            });
        }
        if epilogue.has(Epilogue::COLUMN_SCALES) {
            unrolled!(j < COLUMNS => {
                let column = column(j);
                if column < problem.n {
                    let scale = self.column_scales.get(column);
                    unrolled!(i < ROWS => { sums[i][j] = sums[i][j].times(scale); });
                }
            });
        }
    }

    /// Multiplies a thread's sums by the scales of their rows and columns, if there are any. They are those of fragments of
    /// 16 x 8 elements that lie below and beside each other: of each, two of a row and two of the 8th row below. `first` is the
    /// row and the column of the first one.
    #[inline(always)]
    #[track_caller]
    pub fn scale_fragments<const ROWS: usize, const COLUMNS: usize>(
        &self,
        problem: &Problem,
        [row, column]: [usize; 2],
        sums: &mut [[[T::Scale; 4]; COLUMNS]; ROWS],
    ) {
        let epilogue = problem.epilogue;
        if epilogue.has(Epilogue::ROW_SCALES) {
            unrolled!(i < { 2 * ROWS } => {
                let row = row + i * 8;
                if row < problem.m {
                    let scale = self.row_scales.get(row);
                    unrolled!(number < COLUMNS of 4 => {
                        unrolled!(j < 2 of 4 => {
                            let sum = &mut sums[i / 2][number][i % 2 * 2 + j];
                            *sum = sum.times(scale);
                        });
                    });
                }
            });
        }
        if epilogue.has(Epilogue::COLUMN_SCALES) {
            unrolled!(number < COLUMNS of 4 => {
                unrolled!(j < 2 of 4 => {
                    let column = column + number * 8 + j;
                    if column < problem.n {
                        let scale = self.column_scales.get(column);
                        unrolled!(i < { 2 * ROWS } => {
                            let sum = &mut sums[i / 2][number][i % 2 * 2 + j];
                            *sum = sum.times(scale);
                        });
                    }
                });
            });
        }
    }

    /// Does what follows the factors with a thread's elements of fragments that lie beside each other, from a column on: see
    /// [`scale_fragments`](Self::scale_fragments). Every step is a loop of its own, so that they are decided once.
    #[inline(always)]
    #[track_caller]
    pub fn finish_fragments<const COLUMNS: usize>(
        &self,
        problem: &Problem,
        first: usize,
        values: &mut [[T::Scale; 4]; COLUMNS],
    ) {
        let epilogue = problem.epilogue;
        if epilogue.has(Epilogue::BIAS) {
            unrolled!(i < COLUMNS => {
                unrolled!(j < 2 of 4 => {
                    let column = first + 8 * i + j;
                    if column < problem.n {
                        let of_column = self.bias.get(column).widen();
                        values[i][j] = values[i][j].plus(of_column);
                        values[i][j + 2] = values[i][j + 2].plus(of_column);
                    }
                });
            });
        }
        if epilogue.has(Epilogue::RELU) {
            unrolled!(i < COLUMNS => {
                unrolled!(j < 4 => { values[i][j] = relu(values[i][j]); });
            });
        }
        if epilogue.has(Epilogue::GELU) {
            unrolled!(i < COLUMNS => {
                unrolled!(j < 4 => { values[i][j] = T::gelu(values[i][j]); });
            });
        }
    }

    /// Does what follows the factors with a tile of C, which the block has written without it. Elements of C are those of sums,
    /// so nothing was rounded twice. `thread` is this one's number of `threads`.
    #[inline(always)]
    #[track_caller]
    pub fn finish_tile(
        &self,
        problem: &Problem,
        [top, left]: [usize; 2],
        [height, width]: [usize; 2],
        (thread, threads): (usize, usize),
    ) where
        T: Scalar,
    {
        let epilogue = problem.epilogue;
        if !epilogue.has(Epilogue::AFTER_FACTORS) {
            return;
        }
        thread::sync_threads();
        let mut i = thread;
        while i < height * width {
            let (row, column) = (top + i / width, left + i % width);
            if row < problem.m && column < problem.n {
                let at = row * problem.ldc + column;
                let mut value = self.c.get(at);
                if epilogue.has(Epilogue::BIAS) {
                    value = value.plus(self.bias.get(column));
                }
                if epilogue.has(Epilogue::RELU) {
                    value = relu(value);
                }
                if epilogue.has(Epilogue::GELU) {
                    value = T::gelu(value);
                }
                self.c.set(at, value);
            }
            i += threads;
        }
    }
}
