//! Rings of tiles: parts of an array that are in shared memory, or on their way there.
//!
//! A block that takes one tile after the other copies later ones asynchronously while it works on the first. Each tile has a
//! slot of the ring. A lane copies the chunks that it reads later, so that it needs to wait only for its own copies.

use crate::{
    Global, Plain, Shared, async_copy, scan::pieces::first_chunk, shared::DynamicShared, unrolled,
    view::Wide,
};

/// A ring of tiles of elements of 1 to 16 bytes. A tile has `ROWS` chunks of 16 bytes for each thread of the block. The chunks
/// of a warp follow one another: those of its lanes, row by row.
#[derive(Clone, Copy)]
pub struct Ring<T, const ROWS: usize> {
    words: Shared<u32>,
    input: Global<T>,
    input_words: Global<u32>,
    threads: usize,
}

impl<T: Plain, const ROWS: usize> Ring<T, ROWS> {
    /// Takes `slots` tiles of dynamic shared memory, at the start of `memory`, for tiles of `input` and a block of `threads`
    /// threads.
    ///
    /// # Safety
    /// The input starts at a multiple of 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn new(
        input: Global<T>,
        threads: usize,
        slots: usize,
        memory: &mut DynamicShared,
    ) -> Self {
        Self {
            words: memory.carve(slots * threads * ROWS * 4),
            input,
            // SAFETY: the input starts at a multiple of 16 bytes.
            input_words: unsafe { input.cast() },
            threads,
        }
    }

    /// Returns the number of elements of a tile.
    #[inline(always)]
    pub fn tile_len(self) -> usize {
        self.threads * ROWS * (16 / size_of::<T>())
    }

    /// Returns the first word of this thread's chunk in a row of a tile, whose own first word is number `tile`.
    #[inline(always)]
    fn word(self, tile: usize, row: usize) -> usize {
        tile + 4 * (first_chunk(ROWS) + row * 32)
    }

    fn tile_words(self) -> usize {
        self.threads * ROWS * 4
    }

    /// Starts to copy tile `tile` to a slot, as one group of copies. Chunks past the end of the array get zeros. A tile past
    /// the end is an empty group.
    #[inline(always)]
    #[track_caller]
    pub fn copy(self, slot: usize, tile: usize) {
        let to = slot * self.tile_words();
        let from = tile * self.tile_words();
        if (tile + 1) * self.tile_len() <= self.input.len() {
            unrolled!(r < ROWS => {
                let (to, from) = (self.word(to, r), self.word(from, r));
                self.words.copy_async_chunk::<4>(to, self.input_words, from);
            });
        } else if tile * self.tile_len() < self.input.len() {
            // One tile of a launch: the loops need not be unrolled.
            let mut r = 0;
            while r < ROWS {
                let mut k = 0;
                while k < 4 {
                    self.copy_word(self.word(to, r) + k, self.word(from, r) + k);
                    k += 1;
                }
                r += 1;
            }
        }
        async_copy::commit_group();
    }

    /// Starts to copy a word, or sets it to zeros past the end. Elements that do not fill the last word are set.
    #[inline(always)]
    #[track_caller]
    fn copy_word(self, to: usize, from: usize) {
        let end = self.input_words.len();
        if const { size_of::<T>() < 4 } && from == end {
            let per_word = 4 / size_of::<T>();
            // SAFETY: the ring starts at a multiple of 16 bytes.
            let elements = unsafe { self.words.cast::<T>() };
            self.words.set(to, 0);
            let mut i = from * per_word;
            while i < self.input.len() {
                elements.set(to * per_word + i % per_word, self.input.get(i));
                i += 1;
            }
        } else {
            let (from, count) = if from < end { (from, 1) } else { (0, 0) };
            (self.words).copy_async_chunk_or_zeros::<1>(to, self.input_words, from, count);
        }
    }

    /// Returns this thread's chunk in a row of a slot.
    #[inline(always)]
    #[track_caller]
    pub fn chunk(self, slot: usize, row: usize) -> [u32; 4] {
        let tile = slot * self.tile_words();
        self.words.get_chunk(self.word(tile, row))
    }

    /// Returns the elements of this thread's chunk in a row of a slot.
    #[inline(always)]
    #[track_caller]
    pub fn elements(self, slot: usize, row: usize) -> Wide<T> {
        Wide::from_chunk(self.chunk(slot, row))
    }

    /// Returns the first element of this thread's chunk in a row of tile `tile`, as a position in the array.
    #[inline(always)]
    pub fn position(self, tile: usize, row: usize) -> usize {
        tile * self.tile_len() + self.word(0, row) * 4 / size_of::<T>()
    }

    /// Returns the elements of a slot and those behind them.
    #[inline(always)]
    #[track_caller]
    pub fn slot(self, slot: usize) -> Shared<T> {
        // SAFETY: the ring starts at a multiple of 16 bytes, and so does each slot.
        let elements = unsafe { self.words.cast::<T>() };
        elements.skip(slot * self.tile_len())
    }
}
