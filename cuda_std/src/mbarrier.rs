//! Mbarriers: barriers in shared memory that count arrivals of lanes and bytes of copies (`mbarrier`).
//!
//! An mbarrier goes through phases. A phase is complete when as many lanes have arrived as [`init`](Mbarrier::init) said, and
//! all bytes have come that [`arrive_expect_tx`](Mbarrier::arrive_expect_tx) announced; then the next phase begins. Phases have
//! the parities 0, 1, 0 and so on, and a lane [waits](Mbarrier::wait) for the phase of a parity. Arriving and waiting are
//! separate, and any lanes may do either: so a producer and its consumers have one mbarrier for "filled" and one for "empty".
//!
//! ```
//! use cuda_std::{bulk, mbarrier::{self, Mbarrier}, prelude::*};
//!
//! /// Doubles tiles of 256 elements. One thread has each next tile copied while all of them work on one.
//! #[kernel(launch_bounds(64))]
//! pub unsafe fn doubled(input: Global<f32>, output: GlobalMut<f32>, tiles: usize) {
//!     let buffers = shared![f32; 2 * 256];
//!     let objects = shared![u64; 2];
//!     let filled = [Mbarrier::new(objects, 0), Mbarrier::new(objects, 1)];
//!     let tid = thread::thread_idx_x() as usize;
//!     let start = |tile: usize| {
//!         if tid == 0 && tile < tiles {
//!             filled[tile % 2].arrive_expect_tx(256 * 4);
//!             buffers.load_bulk(tile % 2 * 256, input, tile * 256, 256, filled[tile % 2]);
//!         }
//!     };
//!     if tid == 0 {
//!         filled[0].init(1);
//!         filled[1].init(1);
//!         mbarrier::fence_init();
//!     }
//!     thread::sync_threads();
//!     start(0);
//!     let mut tile = 0;
//!     while tile < tiles {
//!         start(tile + 1);
//!         filled[tile % 2].wait((tile / 2 % 2) as u32);
//!         let mut k = 0;
//!         while k < 4 {
//!             let i = 64 * k + tid;
//!             output.set(tile * 256 + i, 2.0 * buffers.get(tile % 2 * 256 + i));
//!             k += 1;
//!         }
//!         // Everybody is done with the buffer before the next copy goes there.
//!         thread::sync_threads();
//!         tile += 1;
//!     }
//! }
//! ```
//!
//! The rules (PTX ISA, "mbarrier"):
//! - Arriving releases: what a lane did before it is visible to a lane that has waited for the phase. Waiting acquires. The
//!   bytes of a [bulk copy](crate::bulk) that completes on the mbarrier are visible to such a lane too.
//! - Other lanes may use an mbarrier behind a barrier after its initialization. Bulk copies may if the lane that initialized it
//!   has executed [`fence_init`].
//! - A phase takes exactly as many arrivals as `init` said, and exactly the bytes that it expects.
//! - A lane waits for the current phase or the one before it. It cannot tell phases of the same parity apart.
//!
//! The instructions need compute capability 9.0 and PTX 8.0: build a module for `sm_90a`, or for `sm_90` with that PTX version.
//! For earlier architectures this module does not exist.
//!
//! The CPU executor reports a wrong number of arrivals or bytes, and a wait for a phase that nobody can complete, as soon as
//! all lanes wait.

use crate::{imp, imp::Place, view::Shared};

/// An mbarrier: 8 bytes of shared memory. See the [module](self).
#[derive(Clone, Copy)]
pub struct Mbarrier {
    object: Shared<u64>,
    i: usize,
}

impl Mbarrier {
    /// Returns the mbarrier at element `i` of `objects`. All lanes do, and one of them [initializes](Self::init) it.
    #[inline(always)]
    pub fn new(objects: Shared<u64>, i: usize) -> Self {
        Self { object: objects, i }
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn word(self) -> *mut u64 {
        self.object.atomic_ptr(self.i)
    }

    /// Initializes the mbarrier for phases of `count` arrivals, 1 to 2^20 - 1. The first phase has parity 0.
    #[inline(always)]
    #[track_caller]
    pub fn init(self, count: u32) {
        // SAFETY: the view has this element, and the kernel gives it to the mbarrier.
        unsafe { imp::mbarrier::init(self.word(), count, Place::here()) }
    }

    /// Ends the use of the memory as an mbarrier, so that it can be used otherwise or initialized again. No lane may wait
    /// there.
    #[inline(always)]
    #[track_caller]
    pub fn invalidate(self) {
        // SAFETY: the view has this element, which is an mbarrier.
        unsafe { imp::mbarrier::invalidate(self.word(), Place::here()) }
    }

    /// Arrives: counts one arrival in the current phase, and releases what the lane did before.
    #[inline(always)]
    #[track_caller]
    pub fn arrive(self) {
        imp::mbarrier::arrive(self.word(), Place::here());
    }

    /// [Arrives](Self::arrive) at the mbarrier in the same place of the block with this rank in the [cluster](crate::cluster).
    /// It releases to lanes there that [`wait_cluster`](Self::wait_cluster).
    #[inline(always)]
    #[track_caller]
    pub fn arrive_at(self, rank: u32) {
        imp::mbarrier::arrive_at(self.word(), rank, Place::here());
    }

    /// Like [`arrive_at`](Self::arrive_at), for a lane that is done with reading what copies of the other block will replace: a
    /// lane that [waits](Self::wait) there may start copies to what this lane has read. Nothing else is released, so this costs
    /// no fence of the device.
    #[inline(always)]
    #[track_caller]
    pub fn arrive_at_after_reads(self, rank: u32) {
        imp::mbarrier::arrive_at_after_reads(self.word(), rank, Place::here());
    }

    /// Adds `bytes` to the bytes of copies that the current phase expects, and [arrives](Self::arrive).
    #[inline(always)]
    #[track_caller]
    pub fn arrive_expect_tx(self, bytes: u32) {
        imp::mbarrier::arrive_expect_tx(self.word(), bytes, Place::here());
    }

    /// Waits until the phase of this parity, 0 or 1, is complete, and acquires what was released there. It returns at once if
    /// the current phase has the other parity. The lane sleeps between its looks.
    #[inline(always)]
    #[track_caller]
    pub fn wait(self, parity: u32) {
        imp::mbarrier::wait(self.word(), parity, Place::here());
    }

    /// [Waits](Self::wait) and acquires also what lanes of other blocks of the cluster have released there.
    #[inline(always)]
    #[track_caller]
    pub fn wait_cluster(self, parity: u32) {
        imp::mbarrier::wait_cluster(self.word(), parity, Place::here());
    }

    /// Returns whether the phase of this parity is complete. If it is, this acquires as [`wait`](Self::wait) does.
    #[inline(always)]
    #[track_caller]
    pub fn is_complete(self, parity: u32) -> bool {
        imp::mbarrier::is_complete(self.word(), parity, Place::here())
    }
}

/// Makes the mbarriers that this lane has initialized known to bulk copies (`fence.mbarrier_init`). Other lanes see the
/// initialization behind a barrier, such as [`sync_threads`](crate::thread::sync_threads), that follows the fence.
#[inline(always)]
#[track_caller]
pub fn fence_init() {
    imp::mbarrier::fence_init();
}
