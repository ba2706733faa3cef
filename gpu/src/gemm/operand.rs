//! The path of an operand of `best`: from global memory through registers to shared memory, and from there to the registers
//! that the products use.
//!
//! ```text
//! load:   each thread loads its chunks of the next tile, 16 bytes each, into registers
//! store:  a chunk across the band goes to the row of its k as it is
//!         a chunk along k is spread: element i goes to the row of k + i       (the tile is transposed on the way)
//! own:    each thread reads the chunks that it multiplies from the row of one k
//! ```
//!
//! In shared memory a row is one k, whichever way the lines of the matrix lie. So the loop over the products is the same for
//! every layout, and its loads have 16 bytes.

use cuda_std::{prelude::*, unrolled};

use super::problem::Scalar;

/// Returns the distance between rows of a tile in shared memory. It is larger than the tile's width, so that lanes of a warp
/// that store chunks along k use different banks. A row's start stays a multiple of 16 bytes.
const fn pitch(tile: usize) -> usize {
    tile + 4
}
/// Returns the elements that an operand's two tiles take, each of `tile` rows or columns and `step` along k.
pub(super) const fn tiles_len(tile: usize, step: usize) -> usize {
    2 * step * pitch(tile)
}
/// The maximum number of chunks of a tile per thread: as many as [`unrolled!`] unrolls. Chunks that a tile does not have are
/// never touched, and take no registers.
const MOST_STAGED: usize = 8;

/// Returns whether the rows of a matrix begin at multiples of 16 bytes.
#[inline(always)]
pub(super) fn is_aligned<T>(first: *const T, ld: usize) -> bool {
    (first.addr() | (ld * size_of::<T>())).is_multiple_of(16)
}

/// A thread's part of a tile in registers: chunks of 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct Staged<T, const CHUNK: usize>([[T; CHUNK]; MOST_STAGED]);

/// One of the two operands for a block of `BLOCK` threads: a band of `TILE` rows of op(A), or columns of op(B), along k. In
/// shared memory k is the row, so that the elements that a thread multiplies at one k are contiguous.
///
/// `ALONG_K` gives the layout in global memory: whether adjacent elements have adjacent k, or belong to adjacent rows of the
/// band (of A; columns of B).
#[derive(Clone, Copy)]
pub(super) struct Operand<
    T,
    const STEP: usize,
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
    tiles: Shared<T>,
    /// The first element that this thread multiplies, within the band.
    own: usize,
    /// The distance between the chunks that this thread multiplies.
    own_stride: usize,
}

impl<
    T: Scalar,
    const STEP: usize,
    const CHUNK: usize,
    const TILE: usize,
    const BLOCK: usize,
    const ALONG_K: bool,
> Operand<T, STEP, CHUNK, TILE, BLOCK, ALONG_K>
{
    /// The distance between rows of a tile.
    const PITCH: usize = pitch(TILE);
    /// The elements that a tile takes in shared memory.
    const ROOM: usize = STEP * Self::PITCH;
    /// The chunks of a tile per thread.
    const STAGED: usize = TILE * STEP / CHUNK / BLOCK;

    /// Makes the operand whose band begins at `first`. Its elements from `end` on are outside of the matrix.
    ///
    /// `own` and `own_stride` place the chunks that this thread multiplies.
    #[inline(always)]
    pub fn new(
        view: Global<T>,
        ld: usize,
        [first, end]: [usize; 2],
        k: usize,
        tiles: Shared<T>,
        [own, own_stride]: [usize; 2],
    ) -> Self {
        const {
            assert!(CHUNK * size_of::<T>() == 16);
            assert!(Self::STAGED * CHUNK * BLOCK == TILE * STEP);
            assert!(Self::STAGED <= MOST_STAGED);
            assert!((BLOCK / 2).is_multiple_of(TILE));
            assert!(BLOCK.is_multiple_of(TILE / CHUNK));
        }
        Self {
            view,
            ld,
            first,
            end,
            k,
            tiles,
            own,
            own_stride,
        }
    }

    /// Returns whether the band is whole and its 16-byte chunks are aligned.
    #[inline(always)]
    pub fn is_whole(self) -> bool {
        is_aligned(self.view.as_ptr(), self.ld) && self.first + TILE <= self.end
    }

    /// Returns the position of this thread's chunk `number` in a tile: across the band, and along k.
    #[inline(always)]
    fn place(number: usize) -> (usize, usize) {
        let thread = thread::thread_idx_x() as usize;
        if ALONG_K {
            // Two lanes take 32 bytes of one row of A.
            let row = thread / 2;
            let group = row / TILE + number * (BLOCK / 2 / TILE);
            (row % TILE, (group * 2 + thread % 2) * CHUNK)
        } else {
            let across = TILE / CHUNK;
            (
                thread % across * CHUNK,
                thread / across + number * (BLOCK / across),
            )
        }
    }

    /// Returns the distance between a thread's chunks of a tile.
    #[inline(always)]
    fn between(self) -> usize {
        if ALONG_K {
            BLOCK / 2 / TILE * 2 * CHUNK
        } else {
            BLOCK / (TILE / CHUNK) * self.ld
        }
    }

    /// Returns the position of element (`across`, `along`) of the band.
    #[inline(always)]
    fn at(self, across: usize, along: usize) -> usize {
        if ALONG_K {
            (self.first + across) * self.ld + along
        } else {
            along * self.ld + self.first + across
        }
    }

    /// Returns a view that starts at this thread's first chunk of the first tile, for [`load_whole`](Self::load_whole).
    #[inline(always)]
    #[track_caller]
    pub fn start(self) -> Global<T> {
        let (across, along) = Self::place(0);
        self.view.skip(self.at(across, along))
    }

    /// Returns the distance between tiles.
    #[inline(always)]
    pub fn step(self) -> usize {
        if ALONG_K { STEP } else { STEP * self.ld }
    }

    /// Loads this thread's part of the tile at `start`, which must lie within the matrix and be aligned.
    #[inline(always)]
    #[track_caller]
    pub fn load_whole(self, start: Global<T>) -> Staged<T, CHUNK> {
        let mut staged = [[T::ZERO; CHUNK]; MOST_STAGED];
        unrolled!(number < Self::STAGED => {
            staged[number] = start.get_chunk(number * self.between());
        });
        Staged(staged)
    }

    /// Loads this thread's part of the tile at `k`, element by element, with zeros for elements outside of the matrix.
    #[inline(always)]
    #[track_caller]
    pub fn load_part(self, k: usize) -> Staged<T, CHUNK> {
        let mut staged = [[T::ZERO; CHUNK]; MOST_STAGED];
        unrolled!(number < Self::STAGED => {
            let (across, along) = Self::place(number);
            let at = self.at(across, k + along);
            unrolled!(i < CHUNK => {
                let (across, along) = if ALONG_K {
                    (self.first + across, k + along + i)
                } else {
                    (self.first + across + i, k + along)
                };
                if across < self.end && along < self.k {
                    staged[number][i] = self.view.get(at + i);
                }
            });
        });
        Staged(staged)
    }

    /// Stores a thread's part of a tile to buffer 0 or 1.
    #[inline(always)]
    #[track_caller]
    pub fn store(self, buffer: usize, Staged(staged): Staged<T, CHUNK>) {
        unrolled!(number < Self::STAGED => {
            let (across, along) = Self::place(number);
            let at = buffer * Self::ROOM + along * Self::PITCH + across;
            if ALONG_K {
                unrolled!(i < CHUNK => {
                    self.tiles.set(at + i * Self::PITCH, staged[number][i]);
                });
            } else {
                self.tiles.set_chunk(at, staged[number]);
            }
        });
    }

    /// Returns the elements that this thread multiplies at `k` within the tile in a buffer.
    #[inline(always)]
    #[track_caller]
    pub fn own<const OWN: usize>(self, buffer: usize, k: usize) -> [T; OWN] {
        let mut values = [T::ZERO; OWN];
        let first = buffer * Self::ROOM + k * Self::PITCH + self.own;
        unrolled!(number < OWN / CHUNK => {
            let chunk: [T; CHUNK] = self.tiles.get_chunk(first + number * self.own_stride);
            unrolled!(i < CHUNK => { values[number * CHUNK + i] = chunk[i]; });
        });
        values
    }
}
