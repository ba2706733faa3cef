//! `best`'s way of an operand: from global memory through registers into shared memory, and from there
//! into the registers that the products are taken from.

use cuda_std::prelude::*;

use super::problem::Real;
use crate::unrolled::unrolled;

/// From a row of a tile in shared memory to the next: longer than the tile is wide, so that the lanes of a
/// warp that store chunks which lie along k meet no bank twice; a row's start stays a multiple of 16 bytes.
const fn pitch(tile: usize) -> usize {
    tile + 4
}
/// Room for an operand's two tiles of so many rows or columns that go so far along k.
pub(super) const fn tiles_len(tile: usize, step: usize) -> usize {
    2 * step * pitch(tile)
}
/// Most chunks of a tile per thread: as many as [`unrolled!`] writes out. Those that a tile has not are never touched, and take
/// no registers.
const MOST_STAGED: usize = 8;

/// Whether the rows of a matrix begin at multiples of 16 bytes.
#[inline(always)]
pub(super) fn is_aligned<T>(first: *const T, ld: usize) -> bool {
    (first.addr() | (ld * size_of::<T>())).is_multiple_of(16)
}

/// A thread's share of a tile on its way: chunks of 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct Staged<T, const CHUNK: usize>([[T; CHUNK]; MOST_STAGED]);

/// One of the two operands, as a block sees it: a band of `TILE` rows of op(A), or columns of
/// op(B), that goes along k, for a block of `BLOCK` threads. In shared memory it lies with k as the row, so that what a thread
/// multiplies at one k is contiguous.
///
/// `ALONG_K` says which way it lies in global memory: with elements of neighboring k as neighbors, or
/// with elements of the band's neighboring rows (of A; columns of B) as neighbors.
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
    /// Leading dimension.
    ld: usize,
    /// The band's first row (of A; column of B) and how many there are in the whole matrix.
    first: usize,
    end: usize,
    /// The length along k.
    k: usize,
    tiles: Shared<T>,
    /// The first element that this thread multiplies, within the band.
    own: usize,
    /// From a chunk of elements that this thread multiplies to the next.
    own_stride: usize,
}

impl<
    T: Real,
    const STEP: usize,
    const CHUNK: usize,
    const TILE: usize,
    const BLOCK: usize,
    const ALONG_K: bool,
> Operand<T, STEP, CHUNK, TILE, BLOCK, ALONG_K>
{
    /// From a row of a tile to the next.
    const PITCH: usize = pitch(TILE);
    /// Room for a tile.
    const ROOM: usize = STEP * Self::PITCH;
    /// Chunks of a tile per thread.
    const STAGED: usize = TILE * STEP / CHUNK / BLOCK;

    /// The operand whose band begins at `first` and has elements before `end` only.
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

    /// Whether the band is whole and its 16-byte chunks are aligned.
    #[inline(always)]
    pub fn is_whole(self) -> bool {
        is_aligned(self.view.as_ptr(), self.ld) && self.first + TILE <= self.end
    }

    /// Where in a tile this thread's chunk number `number` lies: across the band, and along k.
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

    /// From a thread's chunk to its next in the same tile.
    #[inline(always)]
    fn between(self) -> usize {
        if ALONG_K {
            BLOCK / 2 / TILE * 2 * CHUNK
        } else {
            BLOCK / (TILE / CHUNK) * self.ld
        }
    }

    /// Where element (`across`, `along`) of the band lies.
    #[inline(always)]
    fn at(self, across: usize, along: usize) -> usize {
        if ALONG_K {
            (self.first + across) * self.ld + along
        } else {
            along * self.ld + self.first + across
        }
    }

    /// This thread's first chunk of the first tile, and what follows: what
    /// [`load_whole`](Self::load_whole) takes.
    #[inline(always)]
    #[track_caller]
    pub fn start(self) -> Global<T> {
        let (across, along) = Self::place(0);
        self.view.skip(self.at(across, along))
    }

    /// From a tile to the next.
    #[inline(always)]
    pub fn step(self) -> usize {
        if ALONG_K { STEP } else { STEP * self.ld }
    }

    /// Loads this thread's share of the tile at `start`, which lies within the matrix and is aligned.
    #[inline(always)]
    #[track_caller]
    pub fn load_whole(self, start: Global<T>) -> Staged<T, CHUNK> {
        let mut staged = [[T::ZERO; CHUNK]; MOST_STAGED];
        unrolled!(number < Self::STAGED => {
            staged[number] = start.get_chunk(number * self.between());
        });
        Staged(staged)
    }

    /// Loads this thread's share of the tile at `k`, element by element, with zeros for what is outside
    /// the matrix.
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

    /// Puts a thread's share of a tile into buffer 0 or 1.
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

    /// The elements that this thread multiplies at `k` within the tile in a buffer.
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
