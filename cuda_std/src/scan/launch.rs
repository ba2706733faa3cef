//! Launches with a block per tile.

use crate::{Global, GlobalMut, thread};

use super::{STATUS_STRIDE, Scan, pieces::*};

/// The most batches whose totals every block adds by itself. With more, a block publishes the prefix behind each batch, and the
/// blocks of the next batch wait for it. Those waits follow one another: while the first blocks of a launch run, which wait for
/// all of them, it is quicker to read the totals again.
pub const MOST_BATCHES: usize = 8;

/// What the blocks of a launch share, each of which has one tile.
#[derive(Clone, Copy)]
pub struct Launch {
    /// The threads of a block.
    pub threads: usize,
    /// The windows of 32 tiles in a batch, from 1 to 8.
    pub windows: usize,
    /// The counter of tickets; this and the next two are those of [`Workspace`](super::Workspace).
    pub control: GlobalMut<u64>,
    /// The totals of the tiles.
    pub statuses: GlobalMut<u64>,
    /// The prefixes behind the batches.
    pub batches: GlobalMut<u64>,
}

impl Launch {
    /// Takes a tile for this block, and returns its ticket, whose lower 32 bits are the tile's number. The whole block must
    /// call this.
    #[inline(always)]
    #[track_caller]
    pub fn ticket(self) -> u64 {
        take_ticket(self.control, thread::grid_dim_x() as usize)
    }

    /// Publishes the tile's `total`, and returns `initial` combined with all tiles before that of `ticket`. All lanes of one
    /// warp call this.
    #[inline(always)]
    #[track_caller]
    pub fn before<R: Scan>(self, ticket: u64, initial: R::Acc, total: R::Acc) -> R::Acc {
        let Self {
            windows,
            statuses,
            batches,
            ..
        } = self;
        if thread::grid_dim_x() == 1 {
            return initial;
        }
        let batch = 32 * windows;
        let number = ticket as u32 as usize;
        let statuses = Statuses::<R>::new(statuses, STATUS_STRIDE, tag_of(ticket));
        let batches = Statuses::<R>::new(batches, STATUS_STRIDE, tag_of(ticket));
        let first = thread::thread_idx_x() == 0;
        if first {
            statuses.publish(number, 0, total);
        }
        if thread::grid_dim_x() as usize <= MOST_BATCHES * batch {
            // The totals are combined in the same order as below.
            let mut prefix = Prefix::new(initial);
            let trip = prefix.begin::<R>(windows, statuses, number);
            return prefix.finish::<R>(windows, trip, statuses, number);
        }
        let (from, count) = (number / batch * batch, number % batch);
        let mut read = statuses.begin(windows, from, count);
        statuses.finish(windows, &mut read, from);
        let part = Statuses::<R>::sum(windows, &read, count, None);
        let is_last = count + 1 == batch;
        let whole = if is_last {
            Statuses::<R>::sum(windows, &read, count, Some(total))
        } else {
            R::IDENTITY
        };
        let before = if number < batch {
            initial
        } else {
            batches.get(number / batch - 1).1
        };
        if is_last && first {
            batches.publish(number / batch, 0, R::combine(before, whole));
        }
        R::combine(before, part)
    }

    /// Scans the tile of this block. `rows` makes what scans a tile.
    #[inline(always)]
    #[track_caller]
    pub(super) fn scan<R: Scan, W: Rows<R>, const ROWS: usize>(
        self,
        input: Global<R::In>,
        output: GlobalMut<R::In>,
        rows: impl FnOnce(Tile<R, ROWS>) -> W,
    ) {
        let ticket = self.ticket();
        let number = ticket as u32 as usize;
        let tile = Tile::<R, ROWS>::of(input, output, self.threads, number);
        let mut chunks = tile.load();
        let rows = rows(tile);
        scan_tile::<R, ROWS>(&mut chunks, &rows, |own| {
            self.before::<R>(ticket, rows.initial(), own)
        });
        tile.store(chunks);
    }
}
