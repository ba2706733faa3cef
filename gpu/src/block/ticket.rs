//! Which of several blocks comes last.

use core::sync::atomic::Ordering;

use cuda_std::{GlobalMut, atomic::Scope, shared, thread};

/// Takes one of the `members` tickets of element `i` for this block, and says whether it was the last one. What the
/// blocks wrote before they took theirs, the last one sees; the element is 0 again after it.
///
/// Every thread of a one-dimensional block calls it. Two barriers, so that it may be called again.
#[inline(always)]
#[track_caller]
pub fn is_last(tickets: GlobalMut<u32>, i: usize, members: u32) -> bool {
    let last = shared![u32; 1];
    // What the other threads wrote is thread 0's to release after this.
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let came = tickets.atomic_add_with(i, 1, Ordering::AcqRel, Scope::Device) + 1;
        if came == members {
            // Not ordered behind the other blocks' tickets, so as atomic as those.
            tickets.atomic_store(i, 0, Ordering::Relaxed, Scope::Device);
        }
        last.set(0, u32::from(came == members));
    }
    thread::sync_threads();
    last.get(0) == 1
}
