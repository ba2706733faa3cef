//! The number of cuts before each tile.

use cuda_std::prelude::*;

use crate::segments::{Cuts, policy::BLOCK};

/// Writes to `starts[t]` how many cuts lie before element `first + t * tile_len`. An offset is 1 or 2 words, the low bits
/// first.
///
/// Launch: a thread per element of `starts`, or more, in blocks of 256. Each searches the offsets by halves.
///
/// # Safety
/// The offsets do not fall.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn segments_starts(
    offsets: Global<u32>,
    per_offset: u32,
    first: usize,
    tile_len: u32,
    starts: GlobalMut<u64>,
) {
    let tile = thread::index_1d_wide();
    if tile < starts.len() {
        let position = first + tile * tile_len as usize;
        let before = Cuts::new(offsets, per_offset).before_by_thread(position);
        starts.set(tile, before as u64);
    }
}
