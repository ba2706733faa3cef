//! Finds the last of several blocks.

use core::sync::atomic::Ordering;

use crate::{GlobalMut, atomic::Scope, shared, thread};

/// The body of both functions, whose threads meet by `meet`.
macro_rules! take {
    ($tickets:ident, $i:ident, $members:ident, $meet:expr) => {{
        let last = shared![u32; 1];
        // Thread 0 releases what the other threads wrote before this barrier.
        $meet;
        if thread::thread_idx_x() == 0 {
            let came = $tickets.atomic_add_with($i, 1, Ordering::AcqRel, Scope::Device) + 1;
            if came == $members {
                // No order with the other blocks' tickets is needed, but the store must be atomic like those.
                $tickets.atomic_store($i, 0, Ordering::Relaxed, Scope::Device);
            }
            last.set(0, u32::from(came == $members));
        }
        $meet;
        last.get(0) == 1
    }};
}

/// Takes one of the `members` tickets of element `i` for this block, and returns whether it was the last one. The block with
/// the last ticket sees everything that the other blocks wrote before they took theirs. It sets the element back to 0.
///
/// Every thread of a one-dimensional block must call it. Two barriers allow repeated calls.
#[inline(always)]
#[track_caller]
pub fn is_last(tickets: GlobalMut<u32>, i: usize, members: u32) -> bool {
    take!(tickets, i, members, thread::sync_threads())
}

/// [`is_last`] for the first `threads` threads of a block, which meet at a [barrier of their own](thread::sync_threads_named).
#[inline(always)]
#[track_caller]
pub fn is_last_named(
    tickets: GlobalMut<u32>,
    i: usize,
    members: u32,
    barrier: u32,
    threads: u32,
) -> bool {
    take!(
        tickets,
        i,
        members,
        thread::sync_threads_named(barrier, threads)
    )
}
