//! Whether offsets are in order.

use cuda_std::{prelude::*, warp};

use crate::segments::{offsets::offset, policy::BLOCK};

/// Writes the first and the last offset to `report[0]` and `report[1]`, and to `report[2]` how many offsets are left from the
/// first one on that is greater than the next: 0 if none is. Adds the number of those that equal the next to `report[3]`.
///
/// Launch: a thread per offset, or more, in blocks of 256. Reads every offset twice.
///
/// # Safety
/// There is an offset. `report` has four elements, and the last two are 0.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn segments_check(offsets: Global<u32>, per_offset: u32, report: GlobalMut<u64>) {
    let per_offset = per_offset as usize;
    let len = offsets.len() / per_offset;
    let get = |i: usize| offset(offsets, per_offset, i) as u64;
    let i = thread::index_1d_wide();
    let mut is_empty = false;
    if i < len {
        let offset = get(i);
        if i == 0 {
            report.set(0, offset);
        }
        if i + 1 == len {
            report.set(1, offset);
        } else {
            let next = get(i + 1);
            is_empty = offset == next;
            if offset > next {
                report.atomic_max(2, (len - i) as u64);
            }
        }
    }
    let empty = warp::ballot(warp::FULL_MASK, is_empty);
    if empty != 0 && warp::lane_id() == 0 {
        report.atomic_add(3, empty.count_ones().into());
    }
}
