//! Where a block takes its elements from.
//!
//! ```text
//! each_above, for each load of 16 bytes of the thread's share, several in flight:
//!     best = the greatest rank in it
//!     if best is above the threshold, or equal to it and the load does not begin behind the threshold's position:
//!         for each element of the load, read again: if its rank is not below the threshold: found(element)
//! ```
//!
//! Hardly any load has such an element. So a load costs its ranks and a comparison, and no registers hold its elements for the
//! rare case.

use cuda_std::prelude::*;

use super::{
    Order,
    policy::{ABOVE_UNROLL, BLOCK},
};
use crate::{block::Share, sort::Bits};

/// Elements, each with a rank and a position. The positions differ.
pub trait Ranked<U: Bits>: Copy {
    /// Whether the ranks are likely to begin with the same bits.
    const ARE_CLOSE: bool = false;

    /// Returns the number of elements.
    fn len(self) -> usize;

    /// Returns the rank of element `i`.
    fn rank(self, i: usize) -> U;

    /// Returns the position of element `i`.
    fn position(self, i: usize) -> u32;

    /// Returns a position that none is above.
    fn last(self) -> u32;
}

/// The worst element that counts: elements count whose rank is greater, or whose rank is the same and whose position is not
/// above.
#[derive(Clone, Copy)]
pub struct Threshold<U> {
    /// The rank.
    pub rank: U,
    /// The position.
    pub position: u32,
}

impl<U: Bits> Threshold<U> {
    /// Returns whether an element counts.
    #[inline(always)]
    pub fn counts(self, rank: U, position: impl FnOnce() -> u32) -> bool {
        rank > self.rank || (rank == self.rank && position() <= self.position)
    }
}

/// Elements that the threads of a block share.
pub trait Source<U: Bits>: Ranked<U> {
    /// Calls `found` with number and rank of each element of this thread's share that may count by the threshold, and perhaps
    /// with others.
    fn each_above(self, threshold: Threshold<U>, found: impl Fn(usize, U));
}

/// Neighboring elements of an array.
#[derive(Clone, Copy)]
pub struct Elements<U> {
    /// The array.
    pub input: Global<U>,
    /// How ranks are made.
    pub order: Order<U>,
    /// The first of the elements.
    pub first: usize,
    /// The number of elements.
    pub len: usize,
    /// The position of the first element.
    pub at: u32,
}

impl<U: Bits> Ranked<U> for Elements<U> {
    #[inline(always)]
    fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    #[track_caller]
    fn rank(self, i: usize) -> U {
        self.order.rank(self.input.get(self.first + i))
    }

    #[inline(always)]
    fn position(self, i: usize) -> u32 {
        self.at + i as u32
    }

    #[inline(always)]
    fn last(self) -> u32 {
        self.at + (self.len as u32).saturating_sub(1)
    }
}

impl<U: Bits> Source<U> for Elements<U> {
    #[inline(always)]
    #[track_caller]
    fn each_above(self, threshold: Threshold<U>, found: impl Fn(usize, U)) {
        let Self {
            input,
            order,
            first,
            len,
            at,
        } = self;
        let share = Share {
            input,
            first,
            len,
            thread: thread::thread_idx_x() as usize,
            threads: BLOCK,
        };
        let position = |i: usize| at + (i - first) as u32;
        each_above(share, order, threshold, position, |i, rank| {
            found(i - first, rank);
        });
    }
}

/// Entries: ranks and positions that other blocks found.
#[derive(Clone, Copy)]
pub struct Entries<U> {
    /// The ranks.
    pub ranks: Global<U>,
    /// The positions.
    pub positions: Global<u32>,
    /// The number of entries.
    pub len: usize,
    /// A position that none is above.
    pub last: u32,
}

impl<U: Bits> Ranked<U> for Entries<U> {
    const ARE_CLOSE: bool = true;

    #[inline(always)]
    fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    #[track_caller]
    fn rank(self, i: usize) -> U {
        self.ranks.get(i)
    }

    #[inline(always)]
    #[track_caller]
    fn position(self, i: usize) -> u32 {
        self.positions.get(i)
    }

    #[inline(always)]
    fn last(self) -> u32 {
        self.last
    }
}

impl<U: Bits> Source<U> for Entries<U> {
    #[inline(always)]
    #[track_caller]
    fn each_above(self, threshold: Threshold<U>, found: impl Fn(usize, U)) {
        let share = Share {
            input: self.ranks,
            first: 0,
            len: self.len,
            thread: thread::thread_idx_x() as usize,
            threads: BLOCK,
        };
        // The entries have no order of positions.
        each_above(share, Order::NONE, threshold, |_| 0, found);
    }
}

/// Every `step`-th group of 32 elements. With 1, all of them.
#[derive(Clone, Copy)]
pub struct Part<S> {
    /// The elements.
    pub source: S,
    /// The distance of the groups.
    pub step: usize,
    /// The number of elements of the part.
    pub len: usize,
}

impl<S> Part<S> {
    #[inline(always)]
    fn index(&self, i: usize) -> usize {
        i / 32 * 32 * self.step + i % 32
    }
}

impl<U: Bits, S: Ranked<U>> Ranked<U> for Part<S> {
    const ARE_CLOSE: bool = S::ARE_CLOSE;

    #[inline(always)]
    fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    #[track_caller]
    fn rank(self, i: usize) -> U {
        self.source.rank(self.index(i))
    }

    #[inline(always)]
    #[track_caller]
    fn position(self, i: usize) -> u32 {
        self.source.position(self.index(i))
    }

    #[inline(always)]
    fn last(self) -> u32 {
        self.source.last()
    }
}

/// Calls `found` with index and rank of each element of a thread's share that may count by the threshold, and perhaps with
/// others. `position` returns an element's position, or a lower one; it must not fall from element to element.
#[inline(always)]
#[track_caller]
pub fn each_above<U: Bits>(
    share: Share<U>,
    order: Order<U>,
    threshold: Threshold<U>,
    position: impl Fn(usize) -> u32,
    found: impl Fn(usize, U),
) {
    share.for_each_wide::<ABOVE_UNROLL>(
        |first, wide| {
            let best = wide.fold(U::ZERO, |best, bits, _| best.max(order.rank(bits)));
            let is_above = best > threshold.rank;
            is_above || (best == threshold.rank && position(first) <= threshold.position)
        },
        |first, count| {
            for i in first..first + count {
                let rank = order.rank(share.input.get(i));
                if rank >= threshold.rank {
                    found(i, rank);
                }
            }
        },
    );
}
