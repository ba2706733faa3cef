//! Whether offsets are in order.

use cuda_std::prelude::*;

use crate::segments::policy::BLOCK;

/// Writes the first and the last offset to `report[0]` and `report[1]`, and to `report[2]` how many offsets are left from the
/// first one on that is greater than the next: 0 if none is.
///
/// Launch: a thread per offset, or more, in blocks of 256. Reads every offset twice.
///
/// # Safety
/// There is an offset. `report` has three elements, and the last is 0.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn segments_check(offsets: Global<u32>, per_offset: u32, report: GlobalMut<u64>) {
    let per_offset = per_offset as usize;
    let len = offsets.len() / per_offset;
    let get = |i: usize| {
        if per_offset == 1 {
            return u64::from(offsets.get(i));
        }
        let [low, high] = offsets.get_chunk(2 * i);
        u64::from(high) << 32 | u64::from(low)
    };
    let i = thread::index_1d_wide();
    if i >= len {
        return;
    }
    let offset = get(i);
    if i == 0 {
        report.set(0, offset);
    }
    if i + 1 == len {
        report.set(1, offset);
    } else if offset > get(i + 1) {
        report.atomic_max(2, (len - i) as u64);
    }
}
