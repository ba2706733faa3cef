//! The state of a lane, and how the code that runs in it finds it.

use core::{
    cell::{Cell, RefCell},
    panic::Location,
};
use std::panic::resume_unwind;

use corosensei::Yielder;

use super::{block::BlockState, copies::Copies};

/// One lane of the block that runs on this thread.
pub(super) struct Lane {
    pub thread_idx: [u32; 3],
    pub linear: u32,
    /// The lane's way back to the scheduler; set while its coroutine lives.
    pub yielder: Cell<*const Yielder<(), ()>>,
    /// What the warp operation or barrier that the lane waits for gives it.
    pub result: Cell<u64>,
    /// The lowest address of the lane's stack, and the one behind its highest.
    pub stack: Cell<(usize, usize)>,
    /// The asynchronous copies that it has not waited for.
    pub copies: RefCell<Copies>,
    /// By what and where it gave way last, so that others could run.
    pub gave_way: Cell<Option<(&'static str, &'static Location<'static>)>>,
    /// Where its last read-modify-write was that changed nothing.
    pub looked_at: Cell<usize>,
    /// Times that it was told to end.
    pub ends: Cell<u32>,
    /// The lane that has launched this one's kernel, if a lane has.
    pub outer: *const Lane,
    pub block: *const BlockState,
}

/// What a lane is unwound with when its block has failed.
pub(super) struct LaneEnds;

/// Times that a lane may catch the unwinding that is to end it.
const MOST_ENDS: u32 = 1000;

thread_local! {
    static CURRENT: Cell<*const Lane> = const { Cell::new(core::ptr::null()) };
}

/// The lane that runs on this thread; null outside of kernels.
pub(super) fn current() -> *const Lane {
    CURRENT.get()
}

/// How many launches the code that runs is nested in, one by a lane of the other.
pub(super) fn depth() -> usize {
    let mut lane = Lane::try_current();
    let mut depth = 0;
    while let Some(inner) = lane {
        depth += 1;
        // SAFETY: null, or a lane that waits for the launch of this one.
        lane = unsafe { inner.outer.as_ref() };
    }
    depth
}

/// The lane on this thread below whose stack an address is: in the page that cannot be touched. A handler of
/// signals may call it.
#[cfg(unix)]
pub(super) fn with_guard_at<'a>(address: usize) -> Option<&'a Lane> {
    let mut lane = CURRENT.get();
    // SAFETY: null, or a lane that lives while its launch runs.
    while let Some(found) = unsafe { lane.as_ref() } {
        let (lowest, _) = found.stack.get();
        // A page has 4096 bytes at least, and no frame of Rust reaches further beyond its stack.
        if (lowest..lowest + 4096).contains(&address) {
            return Some(found);
        }
        lane = found.outer;
    }
    None
}

/// Makes `lane` the one that runs on this thread, and gives back the one that was.
pub(super) fn set_current(lane: *const Lane) -> *const Lane {
    CURRENT.replace(lane)
}

impl Lane {
    /// The lane that runs on this thread.
    ///
    /// # Panics
    /// Outside of a launch: device functions have no meaning there.
    #[inline]
    pub fn current<'a>() -> &'a Lane {
        Self::try_current().expect("a device function of cuda_std was called outside of a kernel")
    }

    /// The lane that runs on this thread, if one does.
    #[inline]
    pub fn try_current<'a>() -> Option<&'a Lane> {
        // SAFETY: null, or set by the scheduler to a lane that lives until the launch has ended, and only
        // lanes that run in that launch see it.
        unsafe { CURRENT.get().as_ref() }
    }

    #[inline]
    pub fn block(&self) -> &BlockState {
        // SAFETY: a lane belongs to a block that outlives it.
        unsafe { &*self.block }
    }

    /// Gives the thread back to the scheduler until it resumes this lane; ends the lane if its block has
    /// failed meanwhile.
    pub fn suspend(&self) {
        self.switch();
        if self.block().is_ending() {
            self.end();
        }
    }

    fn switch(&self) {
        // SAFETY: set before the lane's first instruction, and it lives as long as the coroutine.
        unsafe { (*self.yielder.get()).suspend(()) };
    }

    /// Ends the lane: unwinds it, so that what is in its frames is dropped. A lane that cannot be unwound,
    /// because the program aborts on panics or its own code catches the unwinding without an end, waits for
    /// ever, and the scheduler lets its stack be.
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
