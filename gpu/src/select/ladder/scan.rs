//! The sums of the rungs' counts.

use cuda_std::{block, prelude::*};

use crate::select::policy::SCAN_BLOCK;

/// Replaces each count by the sum of the counts before it, and writes the sum of all to `total[0]`.
///
/// Launch: one block of 1024 threads; 256 bytes of static shared memory. A step for each 1024 counts, with two barriers.
///
/// # Safety
/// `total` has one element. Nothing else accesses the two while the kernel runs.
#[kernel(launch_bounds(SCAN_BLOCK as u32))]
pub unsafe fn select_scan(counts: GlobalMut<u64>, total: GlobalMut<u64>) {
    let memory = shared![u64; block::scan_len(SCAN_BLOCK)];
    let t = thread::thread_idx_x() as usize;
    let mut sum = 0;
    let mut first = 0;
    while first < counts.len() {
        let i = first + t;
        let count = if i < counts.len() { counts.get(i) } else { 0 };
        let (before, up_to) =
            block::exclusive_scan::<_, SCAN_BLOCK>(count, sum, memory, |a, b| a + b);
        if i < counts.len() {
            counts.set(i, before);
        }
        sum = up_to;
        thread::sync_threads();
        first += SCAN_BLOCK;
    }
    if t == 0 {
        total.set(0, sum);
    }
}
