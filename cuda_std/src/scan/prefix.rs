//! The prefixes of blocks that take one tile after the other.
//!
//! ```text
//! before = the total of the whole batches so far; a batch has 32 * windows tiles
//! begin(tile):   start to load the statuses of the next two batches, up to the tile
//! finish(tile):  repeat, for the one batch and then the other:
//!                    wait for its statuses; total = those before the tile
//!                    if the tile lies in this batch: return before combined with total
//!                    before = before combined with total
//!                then begin again
//! ```
//!
//! Batches begin at the same tiles for every block, whatever tiles it takes. So each prefix is combined in the same order in
//! every launch, and float sums have the same bits. The loads of the second batch do not wait for those of the first.

use super::{
    Scan,
    status::{Read, Statuses},
};

/// The prefix of a block's tiles, which goes on from its last one.
pub struct Prefix<A> {
    /// The number of whole batches that are added.
    batches: usize,
    /// Their prefix.
    before: A,
}

/// Two batches of statuses, whose loads overlap.
pub struct Trip {
    first: Read,
    second: Read,
}

impl<A: Copy> Prefix<A> {
    /// Makes the prefix of the first tile.
    #[inline(always)]
    pub fn new(before: A) -> Self {
        Self { batches: 0, before }
    }

    /// Starts to load the statuses of the tiles before `tile` that are not added yet.
    #[inline(always)]
    #[track_caller]
    pub fn begin<R: Scan<Acc = A>>(
        &self,
        windows: usize,
        statuses: Statuses<R>,
        tile: usize,
    ) -> Trip {
        let batch = 32 * windows;
        let from = self.batches * batch;
        let count = (tile - from).min(batch);
        let more = (tile - from - count).min(batch);
        Trip {
            first: statuses.begin(windows, from, count),
            second: statuses.begin(windows, from + batch, more),
        }
    }

    /// Waits for the statuses, and returns the prefix of `tile`.
    #[inline(always)]
    #[track_caller]
    pub fn finish<R: Scan<Acc = A>>(
        &mut self,
        windows: usize,
        mut trip: Trip,
        statuses: Statuses<R>,
        tile: usize,
    ) -> A {
        let batch = 32 * windows;
        loop {
            let from = self.batches * batch;
            let left = tile - from;
            statuses.finish(windows, &mut trip.first, from);
            let total = Statuses::<R>::sum(windows, &trip.first, left, None);
            let before = R::combine(self.before, total);
            if left < batch {
                return before;
            }
            self.before = before;
            self.batches += 1;
            let left = left - batch;
            statuses.finish(windows, &mut trip.second, from + batch);
            let total = Statuses::<R>::sum(windows, &trip.second, left, None);
            let before = R::combine(self.before, total);
            if left < batch {
                return before;
            }
            self.before = before;
            self.batches += 1;
            trip = self.begin(windows, statuses, tile);
        }
    }
}
