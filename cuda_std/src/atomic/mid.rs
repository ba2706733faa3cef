//! Memory fences with an ordering and a scope, and Rust-CUDA's functions that take an ordering and have the scope in their
//! name.

use core::sync::atomic::Ordering;

use super::{Atomic, Rmw, Scope, how};
use crate::imp;

/// Orders this lane's accesses to memory before the fence with those after it, as the lanes of the
/// device see them. `Relaxed` does nothing; `SeqCst` also agrees with the other fences of its kind on one
/// order; the other orderings are the same here (`fence.acq_rel`).
#[inline(always)]
#[track_caller]
pub fn device_thread_fence(ordering: Ordering) {
    imp::atomic::fence(ordering, Scope::Device);
}

/// [`device_thread_fence`] as the lanes of the block see it.
#[inline(always)]
#[track_caller]
pub fn block_thread_fence(ordering: Ordering) {
    imp::atomic::fence(ordering, Scope::Block);
}

/// [`device_thread_fence`] as the host and other devices see it too.
#[inline(always)]
#[track_caller]
pub fn system_thread_fence(ordering: Ordering) {
    imp::atomic::fence(ordering, Scope::System);
}

warpwright_cuda_std_macros::__atomic_mid!();
