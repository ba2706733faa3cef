//! The segments of keys that are sorted by segment.

use cuda_std::prelude::*;

use crate::{segments::offset, sort::policy::MARKS_BLOCK};

/// Adds 1 to `marks[offset - first]` for each offset, of those that have an element of `marks`. An offset is 1 or 2 words, the
/// low bits first. The sum of all marks up to an element's is then the number of its segment, counted from 1 on.
///
/// Launch: a thread per offset, or more, in blocks of 256. Reads every offset once.
///
/// # Safety
/// No offset is below `first`.
#[kernel(launch_bounds(MARKS_BLOCK as u32))]
pub unsafe fn sort_best_marks(
    offsets: Global<u32>,
    per_offset: u32,
    first: usize,
    marks: GlobalMut<u32>,
) {
    let per_offset = per_offset as usize;
    let i = thread::index_1d_wide();
    if i < offsets.len() / per_offset {
        let at = offset(offsets, per_offset, i) - first;
        if at < marks.len() {
            marks.atomic_add(at, 1);
        }
    }
}
