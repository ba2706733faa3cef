//! The state of a lane, and how code that runs in the lane finds it.

use core::{
    cell::{Cell, RefCell},
    panic::Location,
};
use std::panic::resume_unwind;

use corosensei::Yielder;

use super::BlockState;
use crate::cpu::copies::{Copies, Stores};

/// A lane of the block that runs on this thread.
pub(in crate::cpu) struct Lane {
    pub thread_idx: [u32; 3],
    pub linear: u32,
    /// The lane's link to the scheduler. Set while its coroutine lives.
    pub yielder: Cell<*const Yielder<(), ()>>,
    /// The result of the warp operation or barrier that the lane waits for.
    pub result: Cell<u64>,
    /// The lowest address of the lane's stack, and the address after its highest.
    pub stack: Cell<(usize, usize)>,
    /// The asynchronous copies that the lane has not waited for.
    pub copies: RefCell<Copies>,
    /// The bulk copies to global memory that the lane has not waited for.
    pub stores: RefCell<Stores>,
    /// The operation and the line at which the lane last gave way.
    pub gave_way: Cell<Option<(&'static str, &'static Location<'static>)>>,
    /// The address of the lane's last read-modify-write that changed nothing.
    pub looked_at: Cell<usize>,
    /// The phase of the cluster's barrier at which the lane has arrived, until it waits.
    pub arrived: Cell<Option<u32>>,
    /// The number of times that the lane was told to end.
    pub ends: Cell<u32>,
    /// The lane that launched this one's kernel, if a lane did.
    pub outer: *const Lane,
    pub block: *const BlockState,
}

/// The payload with which a lane is unwound when its block has failed.
pub(in crate::cpu) struct LaneEnds;

/// The number of times that a lane can catch the unwinding that must end it.
const MOST_ENDS: u32 = 1000;

thread_local! {
    static CURRENT: Cell<*const Lane> = const { Cell::new(core::ptr::null()) };
}

/// Returns the lane that runs on this thread, or null outside of kernels.
pub(in crate::cpu) fn current() -> *const Lane {
    CURRENT.get()
}

/// Returns how many launches the running code is nested in, each launched by a lane.
pub(in crate::cpu) fn depth() -> usize {
    let mut lane = Lane::try_current();
    let mut depth = 0;
    while let Some(inner) = lane {
        depth += 1;
        // SAFETY: the pointer is null, or to a lane that waits for the launch of this one.
        lane = unsafe { inner.outer.as_ref() };
    }
    depth
}

/// Returns the lane of this thread whose guard page an address is in. A signal handler may call this.
#[cfg(unix)]
pub(in crate::cpu) fn with_guard_at<'a>(address: usize) -> Option<&'a Lane> {
    let mut lane = CURRENT.get();
    // SAFETY: the pointer is null, or to a lane that lives while its launch runs.
    while let Some(found) = unsafe { lane.as_ref() } {
        let (lowest, _) = found.stack.get();
        // A page has at least 4096 bytes, and no frame of Rust reaches further beyond its stack.
        if (lowest..lowest + 4096).contains(&address) {
            return Some(found);
        }
        lane = found.outer;
    }
    None
}

/// Makes `lane` the one that runs on this thread. Returns the previous one.
pub(in crate::cpu) fn set_current(lane: *const Lane) -> *const Lane {
    CURRENT.replace(lane)
}

impl Lane {
    /// Returns the lane that runs on this thread.
    ///
    /// # Panics
    /// Outside of a launch, where device functions have no meaning.
    #[inline]
    pub fn current<'a>() -> &'a Lane {
        Self::try_current().expect("a device function of cuda_std was called outside of a kernel")
    }

    /// Returns the lane that runs on this thread, if any.
    #[inline]
    pub fn try_current<'a>() -> Option<&'a Lane> {
        // SAFETY: the pointer is null, or was set by the scheduler to a lane that lives until the launch has ended. Only
        // lanes that run in that launch see it.
        unsafe { CURRENT.get().as_ref() }
    }

    #[inline]
    pub fn block(&self) -> &BlockState {
        // SAFETY: a lane belongs to a block that outlives it.
        unsafe { &*self.block }
    }

    /// Returns the thread to the scheduler until it resumes this lane. Ends the lane if its block has failed meanwhile.
    // Inlined, because after a switch of stacks the processor mispredicts each return.
    #[inline(always)]
    pub fn suspend(&self) {
        self.switch();
        if self.block().is_ending() {
            self.end();
        }
    }

    #[inline(always)]
    fn switch(&self) {
        // SAFETY: the pointer is set before the lane's first instruction, and its target lives as long as the coroutine.
        unsafe { (*self.yielder.get()).suspend(()) };
    }

    /// Ends the lane: unwinds it, so that the values in its frames are dropped.
    ///
    /// Some lanes cannot be unwound, because the program aborts on panics, or because their own code keeps catching the
    /// unwinding. Such a lane waits forever, and the scheduler leaves its stack alone.
    #[cold]
    pub fn end(&self) -> ! {
        self.ends.set(self.ends.get().saturating_add(1));
        if cfg!(panic = "unwind") && self.ends.get() <= MOST_ENDS {
            resume_unwind(Box::new(LaneEnds));
        }
        loop {
            self.switch();
        }
    }
}
