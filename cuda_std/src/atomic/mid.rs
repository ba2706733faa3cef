//! Memory fences with an ordering and a scope, and Rust-CUDA's functions with an ordering parameter and the scope in the
//! name.

use core::sync::atomic::Ordering;

use super::{Atomic, Rmw, Scope, how};
use crate::imp;

/// Orders this lane's memory accesses before the fence with those after it, as seen by the lanes of the device. `Relaxed`
/// does nothing. `SeqCst` fences also agree on one order among themselves. The other orderings are all the same fence
/// (`fence.acq_rel`).
#[inline(always)]
#[track_caller]
pub fn device_thread_fence(ordering: Ordering) {
    imp::atomic::fence(ordering, Scope::Device);
}

/// A fence like [`device_thread_fence`], as seen by the lanes of the block.
#[inline(always)]
#[track_caller]
pub fn block_thread_fence(ordering: Ordering) {
    imp::atomic::fence(ordering, Scope::Block);
}

/// A fence like [`device_thread_fence`], as seen by all devices and the host.
#[inline(always)]
#[track_caller]
pub fn system_thread_fence(ordering: Ordering) {
    imp::atomic::fence(ordering, Scope::System);
}

warpwright_cuda_std_macros::__atomic_mid!();
