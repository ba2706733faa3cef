//! Rust-CUDA's functions of one instruction each. The name contains the operation, the ordering, the type and the scope.
//!
//! They are the operations of [`atomic`](super) on any address. `volatile` means relaxed. The functions `inc` and `dec`
//! wrap around at the ends of their type: the instructions of these names count to a limit and take an operand that these
//! functions do not have. The CPU executor checks these functions like the operations of views.

use core::sync::atomic::Ordering;

use super::{Atomic, Rmw, Scope, how, mid};

warpwright_cuda_std_macros::__atomic_intrinsics!();

macro_rules! fences {
    ($($name:ident: $fence:ident, $order:ident;)*) => { $(
        #[doc = concat!("Calls [`", stringify!($fence), "`](mid::", stringify!($fence), ") with `", stringify!($order), "`.")]
        ///
        /// # Safety
        /// There are no conditions: the function is `unsafe` as in Rust-CUDA.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name() {
            mid::$fence(Ordering::$order);
        }
    )* };
}

fences! {
    membar_block: block_thread_fence, SeqCst;
    membar_device: device_thread_fence, SeqCst;
    membar_system: system_thread_fence, SeqCst;
    fence_sc_block: block_thread_fence, SeqCst;
    fence_sc_device: device_thread_fence, SeqCst;
    fence_sc_system: system_thread_fence, SeqCst;
    fence_acqrel_block: block_thread_fence, AcqRel;
    fence_acqrel_device: device_thread_fence, AcqRel;
    fence_acqrel_system: system_thread_fence, AcqRel;
}
