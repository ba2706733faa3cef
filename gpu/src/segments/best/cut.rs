//! The number of ends before each tile.

use cuda_std::prelude::*;

use crate::segments::{Offsets, policy::BLOCK};

/// Writes to `starts[t]` how many ends of segments lie before step `t * tile_steps` of the list of elements and ends. For
/// `count` see [`Offsets::new`]; `elements` is the number of elements of the input.
///
/// Launch: a warp per element of `starts`, or more, in blocks of 256 threads. No shared memory. Reads up to 32 offsets for each
/// five bits of the number of segments.
///
/// # Safety
/// The offsets do not fall, and none is above `elements`.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn segments_cut(
    offsets: Global<u32>,
    per_offset: u32,
    count: Global<u64>,
    elements: usize,
    tile_steps: u32,
    starts: GlobalMut<u64>,
) {
    let offsets = Offsets::new(offsets, per_offset, count, elements);
    let tile = thread::index_1d_wide() / 32;
    if tile < starts.len() {
        let steps = (tile * tile_steps as usize).min(offsets.steps());
        let start = offsets.ends_before(steps) as u64;
        if thread::thread_idx_x().is_multiple_of(32) {
            starts.set(tile, start);
        }
    }
}
