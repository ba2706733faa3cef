//! The rungs below `best`: three launches that count, add up the counts, and write.

mod naive;
mod reduce_then_scan;
mod scan;

pub use naive::{SelectNaiveCount, SelectNaiveScatter, select_naive_count, select_naive_scatter};
pub use reduce_then_scan::{
    SelectTileCount, SelectTileScatter, select_tile_count, select_tile_scatter,
};
pub use scan::{SelectScan, select_scan};

use cuda_std::{GlobalMut, select::PARTITION};

/// The places of the elements that a thread or a block writes.
#[derive(Clone, Copy)]
struct Places {
    /// The selected elements before the next element.
    selected: usize,
    /// The number of all selected elements.
    total: usize,
    mode: u32,
}

impl Places {
    /// Writes element `i`, of which `rank` selected ones lie between the next element and it.
    #[inline(always)]
    #[track_caller]
    fn write<T: Copy>(self, output: GlobalMut<T>, i: usize, item: T, selected: bool, rank: usize) {
        let before = self.selected + rank;
        if selected {
            output.set(before, item);
        } else if self.mode == PARTITION {
            output.set(self.total + i - before, item);
        }
    }
}
