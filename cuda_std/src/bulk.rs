//! Bulk copies between global and shared memory: one lane starts a copy of any size, and hardware of its own carries it out
//! (`cp.async.bulk`).
//!
//! A copy to shared memory ([`Shared::load_bulk`]) completes on an [mbarrier](crate::mbarrier), whose module has an example. A
//! copy to global memory ([`GlobalMut::store_bulk`]) belongs to a group of its lane:
//!
//! ```
//! use cuda_std::{bulk, prelude::*};
//!
//! /// The squares of the numbers from 0 on. All threads fill a tile, and one has it copied.
//! #[kernel(launch_bounds(64))]
//! pub unsafe fn squares(output: GlobalMut<u32>) {
//!     let tile = shared![u32; 64];
//!     let tid = thread::thread_idx_x();
//!     let first = 64 * thread::block_idx_x();
//!     tile.set(tid as usize, (first + tid) * (first + tid));
//!     // The copy sees what each thread has written.
//!     bulk::fence_proxy_async();
//!     thread::sync_threads();
//!     if tid == 0 {
//!         output.store_bulk(first as usize, tile, 0, 64);
//!         bulk::commit_group();
//!         // The tile must last until it was read.
//!         bulk::wait_group_read::<0>();
//!     }
//! }
//! ```
//!
//! Both addresses and the number of bytes must be multiples of 16.
//!
//! The rules (PTX ISA, "Asynchronous Operations", "Proxies", `cp.async.bulk`):
//! - A copy is ordered after what its lane did before. Until it was waited for, no lane may access its destination or write its
//!   source.
//! - A lane that has waited for the mbarrier's phase sees the bytes of a copy to shared memory.
//! - A lane waits for its own groups of copies to global memory. [`wait_group_read`] waits until their sources have been read,
//!   which it must before it returns from the kernel. [`wait_group`] waits until they are written.
//! - Copies access memory by another path, the *asynchronous proxy*. It sees what lanes have written to shared memory only if
//!   [`fence_proxy_async`] follows the write, by the lane that wrote, before the barrier or the mbarrier that orders the copy
//!   behind it. A read needs no fence.
//!
//! The instructions need compute capability 9.0 and PTX 8.0: build a module for `sm_90a`, or for `sm_90` with that PTX version.
//! For earlier architectures this module does not exist.
//!
//! The CPU executor carries copies to shared memory out as late as possible, when all lanes wait, and copies to global memory
//! when they are waited for. Under a pseudo-random order some move at once or in between, and in any order. The check `race`
//! reports violations of these rules, and the check `sync` copies that nobody waits for.

use crate::{
    async_copy::Source,
    imp,
    imp::Place,
    mbarrier::Mbarrier,
    view::{GlobalMut, Shared},
};

/// Bulk copies into shared memory. See the module [`bulk`](crate::bulk).
impl<T: Copy> Shared<T> {
    /// Starts a copy of elements `j..j + count` of `from` to elements `i..i + count`. When it is done, its bytes count as
    /// brought to the current phase of `mbarrier`, which must [expect](Mbarrier::arrive_expect_tx) them.
    #[inline(always)]
    #[track_caller]
    pub fn load_bulk(
        self,
        i: usize,
        from: impl Source<T>,
        j: usize,
        count: usize,
        mbarrier: Mbarrier,
    ) {
        let (source, len) = from.parts();
        self.check_current();
        imp::bulk::check(self.as_ptr(), self.len(), i, count, true);
        imp::bulk::check(source, len, j, count, false);
        let word = mbarrier.word();
        // SAFETY: the elements are within the views, whose callers of `from_raw_parts` vouched for them.
        unsafe {
            imp::bulk::load(self.as_ptr(), i, (source, j), count, word, Place::here());
        }
    }
}

/// Bulk copies into the shared memory of several blocks. See the module [`cluster`](crate::cluster).
impl<T: Copy> Shared<T> {
    /// Like [`load_bulk`](Self::load_bulk), for several blocks of the [cluster](crate::cluster): the elements come to the same
    /// place of each block whose rank is a bit of `ranks`, and their bytes to the mbarrier in the same place of that block,
    /// whose phase must expect them.
    #[inline(always)]
    #[track_caller]
    pub fn load_bulk_to(
        self,
        ranks: u16,
        i: usize,
        from: impl Source<T>,
        j: usize,
        count: usize,
        mbarrier: Mbarrier,
    ) {
        let (source, len) = from.parts();
        self.check_current();
        imp::bulk::check(self.as_ptr(), self.len(), i, count, true);
        imp::bulk::check(source, len, j, count, false);
        let word = mbarrier.word();
        // SAFETY: the elements are within the views, whose callers of `from_raw_parts` vouched for them.
        unsafe {
            let to = (self.as_ptr(), i, ranks);
            imp::bulk::load_to(to, (source, j), count, word, Place::here());
        }
    }
}

/// Bulk copies into global memory. See the module [`bulk`](crate::bulk).
impl<T: Copy> GlobalMut<T> {
    /// Starts a copy of elements `i..i + count` of `from` to elements `j..j + count`. It belongs to the lane's next group.
    #[inline(always)]
    #[track_caller]
    pub fn store_bulk(self, j: usize, from: Shared<T>, i: usize, count: usize) {
        from.check_current();
        imp::bulk::check(from.as_ptr(), from.len(), i, count, false);
        imp::bulk::check(self.as_ptr(), self.len(), j, count, true);
        // SAFETY: the elements are within the views, whose callers of `from_raw_parts` vouched for them.
        unsafe {
            imp::bulk::store((self.as_ptr(), j), from.as_ptr(), i, count, Place::here());
        }
    }
}

/// Commits the bulk copies to global memory that this lane started since the last group as a new group.
#[inline(always)]
#[track_caller]
pub fn commit_group() {
    imp::bulk::commit_group();
}

/// Waits until the copies of all but the last `PENDING` groups of this lane have read their sources.
#[inline(always)]
#[track_caller]
pub fn wait_group_read<const PENDING: u32>() {
    imp::bulk::wait_group_read::<PENDING>();
}

/// Waits until the copies of all but the last `PENDING` groups of this lane are done. Then the lane sees what they have
/// written.
#[inline(always)]
#[track_caller]
pub fn wait_group<const PENDING: u32>() {
    imp::bulk::wait_group::<PENDING>();
}

/// Makes the lane's earlier accesses to shared memory visible to the asynchronous proxy (`fence.proxy.async.shared::cta`). The
/// mbarriers that the lane has initialized become known too.
#[inline(always)]
#[track_caller]
pub fn fence_proxy_async() {
    imp::bulk::fence_proxy_async();
}
