//! The state of a lane, and how the code that runs in it finds it.

use core::cell::{Cell, RefCell};

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
    pub block: *const BlockState,
}

thread_local! {
    static CURRENT: Cell<*const Lane> = const { Cell::new(core::ptr::null()) };
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

    /// Gives the thread back to the scheduler until it resumes this lane.
    pub fn suspend(&self) {
        // SAFETY: set before the lane's first instruction, and it lives as long as the coroutine.
        unsafe { (*self.yielder.get()).suspend(()) };
    }
}
