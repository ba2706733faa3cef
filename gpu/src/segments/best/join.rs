//! The segments that end in a tile first, and may begin in one before.

use cuda_std::{bf16, block, f16, prelude::*, scan::Open};

use super::NONE;
use crate::{
    reduce::{Max, Min, Product, Sum},
    segments::{Offsets, Segmented, policy::*, with_segments},
};

/// What is known of the tiles.
pub struct Tiles<R: Segmented> {
    /// The steps of all tiles.
    pub steps: usize,
    /// The combination of a tile's elements up to its first end.
    pub firsts: GlobalMut<R::Acc>,
    /// The combination of a tile's elements behind its last end; of all, if it has no end.
    pub rests: GlobalMut<R::Acc>,
    /// The segment that ends first in a tile, or [`NONE`].
    pub ends: GlobalMut<u64>,
}

impl<R: Segmented> Clone for Tiles<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Segmented> Copy for Tiles<R> {}

impl<R: Segmented> Tiles<R> {
    const NOTHING: Open<R::Acc> = Open {
        acc: R::IDENTITY,
        ended: 0,
    };

    /// Returns what a tile leaves open: nothing, for one behind the last.
    #[inline(always)]
    #[track_caller]
    fn open(self, tile: usize) -> Open<R::Acc> {
        if tile * const { tile_steps(size_of::<R::In>()) } < self.steps {
            Open::new(self.rests.get(tile), self.ends.get(tile) != NONE)
        } else {
            Self::NOTHING
        }
    }

    /// Returns what the tiles before `end` leave open. All threads of the block call it.
    #[inline(always)]
    #[track_caller]
    fn open_before(self, mut end: usize, memory: Shared<Open<R::Acc>>) -> Open<R::Acc> {
        let tid = thread::thread_idx_x() as usize;
        let mut open = Self::NOTHING;
        while end > 0 && open.ended == 0 {
            // A whole number of tiles fits: `end` is a multiple of a block's tiles.
            let begin = end.saturating_sub(BLOCK * BACK);
            let mut own = Self::NOTHING;
            let mut j = 0;
            while j < BACK {
                let tile = begin + tid * BACK + j;
                if tile < end {
                    own = own.then(self.open(tile), R::combine);
                }
                j += 1;
            }
            let all = block::reduce::<_, BLOCK>(own, memory, |a: Open<_>, b| a.then(b, R::combine));
            thread::sync_threads();
            open = all.then(open, R::combine);
            end = begin;
        }
        open
    }
}

/// Writes the result of the first segment that ends in each of 256 tiles from `first` on, a multiple of 256.
#[inline(always)]
#[track_caller]
pub fn join<R: Segmented>(tiles: Tiles<R>, first: usize, output: GlobalMut<R::Out>) {
    let memory = shared![Open<R::Acc>; block::scan_len(BLOCK)];
    let tile = first + thread::thread_idx_x() as usize;
    let own = tiles.open(tile);
    let before = if first > 0 && thread::sync_threads_or(own.ended) != 0 {
        tiles.open_before(first, memory)
    } else {
        Tiles::<R>::NOTHING
    };
    let (open, _) = block::exclusive_scan::<_, BLOCK>(own, before, memory, |a: Open<_>, b| {
        a.then(b, R::combine)
    });
    if own.ended != 0 {
        let all = R::combine(open.acc, tiles.firsts.get(tile));
        output.set(tiles.ends.get(tile) as usize, R::finish(all));
    }
}

/// Writes to `output` the reduction of the segment that ends first in each tile. For `count` see [`Offsets::new`]; `elements`
/// is the number of elements of the input.
///
/// Launch: a thread for each tile that there may be, in blocks of 256; static shared memory of 8 partial results. Reads what
/// [`segments_best`](super::segments_best) wrote once, and where a segment has tiles of several blocks, once more.
///
/// Determinism: the order depends on the offsets alone.
///
/// # Safety
/// `firsts`, `rests` and `ends` are what `segments_best` wrote for the same offsets.
#[kernel(launch_bounds(BLOCK as u32), instances = with_segments)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn segments_join<R: Segmented>(
    offsets: Global<u32>,
    per_offset: u32,
    count: Global<u64>,
    elements: usize,
    firsts: GlobalMut<R::Acc>,
    rests: GlobalMut<R::Acc>,
    ends: GlobalMut<u64>,
    output: GlobalMut<R::Out>,
) {
    let offsets = Offsets::new(offsets, per_offset, count, elements);
    let tiles = Tiles::<R> {
        steps: offsets.steps(),
        firsts,
        rests,
        ends,
    };
    join(tiles, thread::block_idx_x() as usize * BLOCK, output);
}
