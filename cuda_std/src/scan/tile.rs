//! A block's tile: how it is loaded, scanned and written.
//!
//! ```text
//! load:       the thread's chunk of 16 bytes of each row, into registers      (not aligned: through shared memory)
//! scan_tile:  totals[warp] = the total of the warp's rows
//!             barrier
//!             warp 0: before = prefix(the tile's total)                       (it may wait for other blocks)
//!             every warp: at[row] = what comes before the lane's chunk in the tile: warps, rows, lanes
//!             barrier
//!             each chunk: its elements scanned one after the other, beginning with before combined with at[row]
//! store:      as load
//! ```
//!
//! The elements stay in registers while the block waits, so memory is read once. While warp 0 waits for the prefix, the other
//! warps do everything but the last step.
//!
//! A warp takes neighbouring elements of the tile in `ROWS` rows, and a lane one chunk of 16 bytes of each row. So the
//! order of operations within a tile depends on the number of threads alone, not on addresses.

use crate::{
    Global, GlobalMut, Shared, shared,
    shared::DynamicShared,
    thread, unrolled,
    warp::{self, FULL_MASK},
};

use super::{Chunk, Scan, Start, chunk_len, element, with_element};

/// What the threads of a tile do with their chunks.
pub trait Rows<R: Scan> {
    /// Returns the prefix before the first element of all.
    fn initial(&self) -> R::Acc;

    /// Returns the total of the thread's chunk of a row.
    fn total(&self, row: usize, chunk: Chunk) -> R::Acc;

    /// Returns the results of the thread's chunk of a row, whose first element comes after `before`.
    fn scan(&self, row: usize, chunk: Chunk, before: R::Acc) -> Chunk;
}

/// The elements of all tiles belong together.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    start: Start,
    exclusive: bool,
}

impl Whole {
    /// Makes what a launch with these parameters does.
    #[inline(always)]
    pub fn new(start: Start) -> Self {
        let exclusive = start.is_exclusive();
        Self { start, exclusive }
    }
}

impl<R: Scan> Rows<R> for Whole {
    #[inline(always)]
    fn initial(&self) -> R::Acc {
        self.start.initial(R::IDENTITY)
    }

    #[inline(always)]
    fn total(&self, _: usize, chunk: Chunk) -> R::Acc {
        R::total(chunk)
    }

    #[inline(always)]
    fn scan(&self, _: usize, chunk: Chunk, before: R::Acc) -> Chunk {
        R::scan(chunk, before, self.exclusive)
    }
}

/// A thread's chunks of a tile, one of each row.
pub type Chunks<const ROWS: usize> = [Chunk; ROWS];

/// Returns the number of elements of a tile of `threads` threads with `rows` chunks each.
#[inline(always)]
pub const fn tile_len<T>(threads: usize, rows: usize) -> usize {
    threads * rows * chunk_len::<T>()
}

/// Returns the place of the thread's first chunk in a tile, in chunks. The chunk of the next row is 32 further on.
#[inline(always)]
pub fn first_chunk(rows: usize) -> usize {
    let tid = thread::thread_idx_x() as usize;
    tid / 32 * (32 * rows) + tid % 32
}

/// Returns whether both arrays start at a multiple of 16 bytes.
#[inline(always)]
pub fn is_aligned<T: Copy>(input: Global<T>, output: GlobalMut<T>) -> bool {
    (input.as_ptr().addr() | output.as_ptr().addr()).is_multiple_of(16)
}

/// The elements of a tile.
pub struct Tile<R: Scan, const ROWS: usize> {
    /// All elements.
    pub input: Global<R::In>,
    /// The places of all results.
    pub output: GlobalMut<R::In>,
    /// The position of the first element.
    pub first: usize,
    /// The number of elements of a whole tile.
    pub len: usize,
    /// Whether both arrays start at a multiple of 16 bytes.
    pub aligned: bool,
    /// Whether the results are written once and not read again soon.
    pub streaming: bool,
}

impl<R: Scan, const ROWS: usize> Clone for Tile<R, ROWS> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Scan, const ROWS: usize> Copy for Tile<R, ROWS> {}

impl<R: Scan, const ROWS: usize> Tile<R, ROWS> {
    const LEN: usize = chunk_len::<R::In>();
    /// The bits of an element.
    const BITS: u32 = 8 * size_of::<R::In>() as u32;

    /// Returns tile number `tile` of a block of `threads` threads.
    #[inline(always)]
    pub fn of(input: Global<R::In>, output: GlobalMut<R::In>, threads: usize, tile: usize) -> Self {
        let len = tile_len::<R::In>(threads, ROWS);
        Self {
            input,
            output,
            first: tile * len,
            len,
            aligned: is_aligned(input, output),
            streaming: true,
        }
    }

    /// Returns whether the array has all elements of the tile.
    #[inline(always)]
    fn is_whole(self) -> bool {
        self.first + self.len <= self.input.len()
    }

    /// Returns the position of the first element of the thread's chunk of row 0.
    #[inline(always)]
    pub(super) fn mine(self) -> usize {
        self.first + first_chunk(ROWS) * Self::LEN
    }

    /// Loads the thread's chunks, with zeros past the end of the array. Arrays that are not aligned go through dynamic shared
    /// memory of the size of a tile; the whole block must call this.
    #[inline(always)]
    #[track_caller]
    pub fn load(self) -> Chunks<ROWS> {
        let mut chunks = [[0; 4]; ROWS];
        if !self.aligned {
            let stage = self.stage();
            let tid = thread::thread_idx_x() as usize;
            let mut i = tid;
            while i < self.len {
                let at = self.first + i;
                let value = if at < self.input.len() {
                    self.input.get_streaming(at)
                } else {
                    element([0; 4], 0)
                };
                stage.set(i, value);
                i += thread::block_dim_x() as usize;
            }
            thread::sync_threads();
            // SAFETY: the stage starts at a multiple of 16 bytes.
            let words = unsafe { stage.cast::<u32>() };
            unrolled!(r < ROWS => {
                chunks[r] = words.get_chunk(4 * (first_chunk(ROWS) + r * 32));
            });
            return chunks;
        }
        // SAFETY: the array starts at a multiple of 16 bytes.
        let words = unsafe { self.input.cast::<u32>() };
        let at = |r: usize| self.mine() + r * 32 * Self::LEN;
        let word = |r: usize| at(r) / Self::LEN * 4;
        if self.is_whole() {
            unrolled!(r < ROWS => { chunks[r] = words.get_chunk_streaming(word(r)); });
            return chunks;
        }
        let end = self.input.len();
        // The row of the chunk that the array ends in.
        let mut last = ROWS;
        unrolled!(r < ROWS => {
            if at(r) + Self::LEN <= end {
                chunks[r] = words.get_chunk_streaming(word(r));
            } else if at(r) < end {
                last = r;
            }
        });
        if last < ROWS {
            // From the last element on, each one before the others.
            let mut chunk = 0_u128;
            let mut i = end - at(last);
            while i > 0 {
                i -= 1;
                let value = with_element([0; 4], 0, self.input.get_streaming(at(last) + i));
                chunk = chunk.unbounded_shl(Self::BITS) | from_chunk(value);
            }
            let chunk = to_chunk(chunk);
            unrolled!(r < ROWS => { if r == last { chunks[r] = chunk; } });
        }
        chunks
    }

    /// Writes the thread's chunks, as far as the array has elements for them. The counterpart of [`load`](Self::load).
    #[inline(always)]
    #[track_caller]
    pub fn store(self, chunks: Chunks<ROWS>) {
        if !self.aligned {
            let stage = self.stage();
            // SAFETY: as in `load`.
            let words = unsafe { stage.cast::<u32>() };
            unrolled!(r < ROWS => { words.set_chunk(4 * (first_chunk(ROWS) + r * 32), chunks[r]); });
            thread::sync_threads();
            let mut i = thread::thread_idx_x() as usize;
            while i < self.len && self.first + i < self.output.len() {
                self.output.set_streaming(self.first + i, stage.get(i));
                i += thread::block_dim_x() as usize;
            }
            return;
        }
        // SAFETY: the array starts at a multiple of 16 bytes.
        let words = unsafe { self.output.cast::<u32>() };
        let at = |r: usize| self.mine() + r * 32 * Self::LEN;
        let set = |r: usize, chunk: Chunk| {
            let word = at(r) / Self::LEN * 4;
            if self.streaming {
                words.set_chunk_streaming(word, chunk);
            } else {
                words.set_chunk(word, chunk);
            }
        };
        if self.is_whole() {
            unrolled!(r < ROWS => { set(r, chunks[r]); });
            return;
        }
        let end = self.output.len();
        let (mut last, mut chunk) = (ROWS, [0; 4]);
        unrolled!(r < ROWS => {
            if at(r) + Self::LEN <= end {
                set(r, chunks[r]);
            } else if at(r) < end {
                (last, chunk) = (r, chunks[r]);
            }
        });
        if last < ROWS {
            let mut left = from_chunk(chunk);
            let mut i = at(last);
            while i < end {
                self.output.set(i, element(to_chunk(left), 0));
                left = left.unbounded_shr(Self::BITS);
                i += 1;
            }
        }
    }

    /// Returns the dynamic shared memory, as a tile.
    #[inline(always)]
    #[track_caller]
    fn stage(self) -> Shared<R::In> {
        // SAFETY: the launch of arrays that are not aligned gives a tile, and nothing else uses it.
        unsafe { DynamicShared::new() }.carve(self.len)
    }
}

/// Returns a chunk as one number.
#[inline(always)]
fn from_chunk(chunk: Chunk) -> u128 {
    let [a, b, c, d] = chunk.map(u128::from);
    a | b << 32 | c << 64 | d << 96
}

/// Returns the chunk that a number is.
#[inline(always)]
fn to_chunk(bits: u128) -> Chunk {
    [bits, bits >> 32, bits >> 64, bits >> 96].map(|word| word as u32)
}

/// Returns the prefix of each of the thread's chunks, relative to the tile: `before` is that of the warp, and `totals` has the
/// totals of the thread's chunks.
#[inline(always)]
#[track_caller]
pub fn chunk_prefixes<R: Scan, const ROWS: usize>(
    before: R::Acc,
    totals: [R::Acc; ROWS],
) -> [R::Acc; ROWS] {
    prefixes::<R, ROWS, false>(before, totals)
}

/// See [`chunk_prefixes`]. If `SCANNED`, the values are not totals but their inclusive scan over the lanes of each row.
#[inline(always)]
#[track_caller]
fn prefixes<R: Scan, const ROWS: usize, const SCANNED: bool>(
    before: R::Acc,
    values: [R::Acc; ROWS],
) -> [R::Acc; ROWS] {
    let lane = warp::lane_id();
    let mut row = before;
    let mut at = [R::IDENTITY; ROWS];
    unrolled!(r < ROWS => {
        let value = if SCANNED { values[r] } else { R::lanes_scan(values[r]) };
        let below = warp::shuffle_up(FULL_MASK, value, 1);
        at[r] = if lane == 0 { row } else { R::combine(row, below) };
        if r + 1 < ROWS {
            row = R::combine(row, warp::shuffle(FULL_MASK, value, 31));
        }
    });
    // The last row's total has no reader.
    let _ = row;
    at
}

/// Returns the total of the first `count` values in shared memory, at most 32, from element `from` on; in every lane of a warp.
#[inline(always)]
#[track_caller]
pub fn total_of_first<R: Scan>(values: Shared<R::Acc>, from: usize, count: usize) -> R::Acc {
    let lane = warp::lane_id() as usize;
    R::lanes_total(if lane < count {
        values.get(from + lane)
    } else {
        R::IDENTITY
    })
}

/// Scans a tile in registers. `prefix` returns the prefix of the tile for the tile's total; warp 0 alone calls it. The whole
/// block must call this.
#[inline(always)]
#[track_caller]
pub fn scan_tile<R: Scan, const ROWS: usize>(
    chunks: &mut Chunks<ROWS>,
    rows: &impl Rows<R>,
    prefix: impl FnOnce(R::Acc) -> R::Acc,
) {
    let totals = shared![R::Acc; 33];
    let zero = shared![u32; 2];
    let tid = thread::thread_idx_x() as usize;
    let (lane, warp) = (tid % 32, tid / 32);
    if tid == 0 {
        zero.set(1, 0);
    }
    let mut sums = [R::IDENTITY; ROWS];
    unrolled!(r < ROWS => { sums[r] = rows.total(r, chunks[r]); });
    // A total in the lanes' order takes as many steps as a scan, which is needed later.
    let all = if R::CHEAP_TOTALS {
        R::rows_total(ROWS, sums)
    } else {
        let mut all = R::IDENTITY;
        unrolled!(r < ROWS => {
            sums[r] = R::lanes_scan(sums[r]);
            let total = warp::shuffle(FULL_MASK, sums[r], 31);
            all = if r == 0 { total } else { R::combine(all, total) };
        });
        all
    };
    if lane == 0 {
        totals.set(warp, all);
    }
    thread::sync_threads();
    if warp == 0 {
        let warps = thread::block_dim_x() as usize / 32;
        let before = prefix(total_of_first::<R>(totals, 0, warps));
        if lane == 0 {
            totals.set(32, before);
        }
    }
    let before = total_of_first::<R>(totals, 0, warp);
    let at = if R::CHEAP_TOTALS {
        chunk_prefixes::<R, ROWS>(before, sums)
    } else {
        prefixes::<R, ROWS, true>(before, sums)
    };
    thread::sync_threads();
    let before = totals.get(32);
    // The compiler does not know that this is 0. It would keep the elements apart in registers from the totals on, more than
    // there are, if the chunk here were the same.
    let zero = if chunk_len::<R::In>() > 4 {
        zero.get(1)
    } else {
        0
    };
    unrolled!(r < ROWS => {
        chunks[r] = chunks[r].map(|word| word ^ zero);
        chunks[r] = rows.scan(r, chunks[r], R::combine(before, at[r]));
    });
}
