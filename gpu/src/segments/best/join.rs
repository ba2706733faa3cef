//! The segments that end in a tile first, and may begin in one before.
//!
//! ```text
//! block of 256 tiles, thread = tile:
//!     own = what the tile leaves open behind its last cut, and whether it has a cut
//!     before = nothing; if any tile of the block has a cut: going back from the block's first tile,
//!         until one with a cut is met: before = (what the 2048 tiles before leave open) then before
//!     open = what the tiles before this one leave open: an exclusive scan of `own` over the block, behind `before`
//!     if a segment ends at the tile's first cut: write open combined with the tile's elements up to that cut
//! ```
//!
//! A block looks back by itself and waits for no other one. Mostly one step is enough; only a segment of millions of elements
//! takes more. What a step combines depends on the tiles' numbers alone, so the bits are the same on every device.

use cuda_std::{Plain, bf16, block, f16, prelude::*, warp::Shuffle};

use crate::{
    reduce::{Max, Min, Product, Sum},
    segments::{Segmented, policy::*, with_operators},
};

/// What stands for no segment: the tile has no cut.
const NONE: u64 = u64::MAX;
/// What stands for the elements before the first segment: they end in the tile, and have no result.
const NOBODY: u64 = u64::MAX - 1;

/// The combination of neighboring elements behind their last cut, and the number of their cuts.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Part<A> {
    pub acc: A,
    pub cuts: u32,
}

// SAFETY: the type has plain fields.
unsafe impl<A: Plain> Plain for Part<A> {}

impl<A: Shuffle> Shuffle for Part<A> {
    const WORDS: usize = A::WORDS + 1;

    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self {
            acc: self.acc.map_words(each),
            cuts: self.cuts.map_words(each),
        }
    }
}

impl<A: Copy> Part<A> {
    /// Returns the part that this one and the one behind it make.
    #[inline(always)]
    pub fn then<R: Segmented<Acc = A>>(self, next: Self) -> Self {
        let acc = if next.cuts != 0 {
            next.acc
        } else {
            R::combine(self.acc, next.acc)
        };
        Self {
            acc,
            cuts: self.cuts + next.cuts,
        }
    }
}

/// Returns the part that has no elements.
#[inline(always)]
pub fn nothing<R: Segmented>() -> Part<R::Acc> {
    Part {
        acc: R::IDENTITY,
        cuts: 0,
    }
}

/// What is known of the tiles.
pub struct Tiles<R: Segmented> {
    /// The combination of a tile's elements up to its first cut.
    pub firsts: GlobalMut<R::Acc>,
    /// The combination of a tile's elements behind its last cut; of all, if it has none.
    pub rests: GlobalMut<R::Acc>,
    /// The segment that ends at the first cut of a tile, [`NOBODY`] or [`NONE`].
    pub ends: GlobalMut<u64>,
}

impl<R: Segmented> Clone for Tiles<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Segmented> Copy for Tiles<R> {}

impl<R: Segmented> Tiles<R> {
    /// Notes what tile `tile` leaves open, and the segment that ends at its first cut, if it has a cut and a segment ends
    /// there.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, tile: usize, open: Part<R::Acc>, end: Option<usize>) {
        self.rests.set(tile, open.acc);
        let end = end.map_or(NOBODY, |end| end as u64);
        self.ends.set(tile, if open.cuts > 0 { end } else { NONE });
    }

    /// Returns what a tile leaves open: nothing, for one behind the last.
    #[inline(always)]
    #[track_caller]
    fn open(self, tile: usize) -> Part<R::Acc> {
        if tile >= self.ends.len() {
            return nothing::<R>();
        }
        Part {
            acc: self.rests.get(tile),
            cuts: (self.ends.get(tile) != NONE).into(),
        }
    }

    /// Returns what the tiles before `end` leave open. All threads of the block call it.
    #[inline(always)]
    #[track_caller]
    fn open_before(self, mut end: usize, memory: Shared<Part<R::Acc>>) -> Part<R::Acc> {
        let tid = thread::thread_idx_x() as usize;
        let mut open = nothing::<R>();
        while end > 0 && open.cuts == 0 {
            // A whole number of tiles fits: `end` is a multiple of a block's tiles.
            let begin = end.saturating_sub(BLOCK * BACK);
            let mut own = nothing::<R>();
            let mut j = 0;
            while j < BACK {
                let tile = begin + tid * BACK + j;
                if tile < end {
                    own = own.then::<R>(self.open(tile));
                }
                j += 1;
            }
            let all = block::reduce::<_, BLOCK>(own, memory, Part::then::<R>);
            thread::sync_threads();
            open = all.then::<R>(open);
            end = begin;
        }
        open
    }
}

/// Writes the result of the segment that ends at the first cut of each of 256 tiles from `first` on, a multiple of 256.
#[inline(always)]
#[track_caller]
pub fn join<R: Segmented>(tiles: Tiles<R>, first: usize, output: GlobalMut<R::Out>) {
    let memory = shared![Part<R::Acc>; block::scan_len(BLOCK)];
    let tile = first + thread::thread_idx_x() as usize;
    let own = tiles.open(tile);
    let before = if first > 0 && thread::sync_threads_or(own.cuts) != 0 {
        tiles.open_before(first, memory)
    } else {
        nothing::<R>()
    };
    let (open, _) = block::exclusive_scan::<_, BLOCK>(own, before, memory, Part::then::<R>);
    if own.cuts != 0 {
        let end = tiles.ends.get(tile);
        if end != NOBODY {
            let all = R::combine(open.acc, tiles.firsts.get(tile));
            output.set(end as usize, R::finish(all));
        }
    }
}

/// Writes to `output` the reduction of the segment that ends first in each tile.
///
/// Launch: a thread for each tile, in blocks of 256; static shared memory of 8 partial results. Reads what
/// [`segments_best`](super::segments_best) wrote once, and where a segment has tiles of several blocks, once more.
///
/// Determinism: the order depends on the offsets alone.
///
/// # Safety
/// `firsts`, `rests` and `ends` are what `segments_best` wrote.
#[kernel(launch_bounds(BLOCK as u32), instances = with_operators)]
pub unsafe fn segments_join<R: Segmented>(
    firsts: GlobalMut<R::Acc>,
    rests: GlobalMut<R::Acc>,
    ends: GlobalMut<u64>,
    output: GlobalMut<R::Out>,
) {
    let tiles = Tiles::<R> {
        firsts,
        rests,
        ends,
    };
    join(tiles, thread::block_idx_x() as usize * BLOCK, output);
}
