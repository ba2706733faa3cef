//! The memory that the weights are read from.

use cuda_std::{Global, Shared, constant::ConstantReader, thread};

use crate::convolution::{
    policy::{BEST_BLOCK, MOST_CONSTANTS},
    sample::Weight,
};

/// A source of weights, in chunks from the aligned address at or before the mask's first weight.
pub trait Mask<W, const CHUNK: usize>: Copy {
    /// Returns where the first chunk starts.
    fn start(self) -> usize;

    /// Returns the chunk that starts at `at`. Elements that are not weights of the mask have unspecified values.
    fn chunk(self, at: usize) -> [W; CHUNK];
}

/// The mask in constant memory.
#[derive(Clone, Copy)]
pub struct InConstants<W: Weight> {
    pub table: ConstantReader<'static, W, MOST_CONSTANTS>,
    /// Where the copy for this row's skip starts.
    pub start: usize,
}

impl<W: Weight, const CHUNK: usize> Mask<W, CHUNK> for InConstants<W> {
    #[inline(always)]
    fn start(self) -> usize {
        self.start
    }

    #[inline(always)]
    fn chunk(self, at: usize) -> [W; CHUNK] {
        self.table.get_wide(at).to_array()
    }
}

/// The mask in global memory. A pass's part of it is in shared memory.
#[derive(Clone, Copy)]
pub struct InShared<W> {
    pub mask: Global<W>,
    pub part: Shared<W>,
    pub skipped: usize,
}

impl<W: Weight> InShared<W> {
    /// Copies `count` elements to shared memory, from `first` on, counted from the aligned address.
    #[inline(always)]
    pub fn stage(self, first: usize, count: u32) {
        let mut i = thread::thread_idx_x();
        while i < count {
            // An element before the first weight wraps to far past the end.
            let j = (first + i as usize).wrapping_sub(self.skipped);
            let inside = j < self.mask.len();
            let weight = if inside { self.mask.get(j) } else { W::ZERO };
            self.part.set(i as usize, weight);
            i += BEST_BLOCK as u32;
        }
    }
}

impl<W: Weight, const CHUNK: usize> Mask<W, CHUNK> for InShared<W> {
    #[inline(always)]
    fn start(self) -> usize {
        0
    }

    #[inline(always)]
    fn chunk(self, at: usize) -> [W; CHUNK] {
        self.part.get_wide(at).to_array()
    }
}
