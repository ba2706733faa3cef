//! Whether offsets are in order.

use cuda_std::{prelude::*, warp};

use crate::segments::{
    offsets::offset,
    policy::{BLOCK, MOST_CUTS, MOST_EQUAL, MOST_TILE_LEN},
};

/// Writes the first and the last offset to `report[0]` and `report[1]`, and to `report[2]` how many offsets are left from the
/// first one on that is greater than the next: 0 if none is. Writes 1 to `report[3]` if the offsets are
/// [crowded](MOST_CUTS) anywhere.
///
/// Launch: a thread per offset, or more, in blocks of 256. Reads every offset up to four times.
///
/// # Safety
/// There is an offset. `report` has four elements, and the last two are 0.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn segments_check(offsets: Global<u32>, per_offset: u32, report: GlobalMut<u64>) {
    let per_offset = per_offset as usize;
    let len = offsets.len() / per_offset;
    let get = |i: usize| offset(offsets, per_offset, i) as u64;
    let i = thread::index_1d_wide();
    let mut crowded = false;
    if i < len {
        let offset = get(i);
        // Whether the offset so many places behind is less than `apart` elements behind.
        let is_near = |places: usize, apart: usize| {
            i + places < len && get(i + places).wrapping_sub(offset) < apart as u64
        };
        crowded = is_near(MOST_EQUAL, 1) || is_near(MOST_CUTS, MOST_TILE_LEN);
        if i == 0 {
            report.set(0, offset);
        }
        if i + 1 == len {
            report.set(1, offset);
        } else if offset > get(i + 1) {
            report.atomic_max(2, (len - i) as u64);
        }
    }
    if warp::ballot(warp::FULL_MASK, crowded) != 0 && warp::lane_id() == 0 {
        report.atomic_max(3, 1);
    }
}
