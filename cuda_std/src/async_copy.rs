//! Asynchronous copies from global to shared memory. A lane starts copies, does other work, and waits for the copies in
//! groups. The data bypasses the registers.
//!
//! ```
//! use cuda_std::{async_copy, prelude::*};
//!
//! /// Doubles tiles of 256 elements; while one is worked on the next is on its way.
//! #[kernel(launch_bounds(64))]
//! pub unsafe fn doubled(input: Global<f32>, output: GlobalMut<f32>, tiles: usize) {
//!     let buffers = shared![f32; 2 * 256];
//!     let tid = thread::thread_idx_x() as usize;
//!     let start = |tile: usize| {
//!         if tile < tiles {
//!             buffers.copy_async_chunk::<4>(tile % 2 * 256 + 4 * tid, input, tile * 256 + 4 * tid);
//!         }
//!         // A group for every tile, also where there is none: so the waits count right.
//!         async_copy::commit_group();
//!     };
//!     start(0);
//!     let mut tile = 0;
//!     while tile < tiles {
//!         start(tile + 1);
//!         // All but the latest group: this tile's own copies are done,
//!         async_copy::wait_group::<1>();
//!         // and those of the other lanes.
//!         thread::sync_threads();
//!         let i = 64 * (tid % 4) + tid / 4;
//!         let mut k = 0;
//!         while k < 4 {
//!             output.set(tile * 256 + i + 16 * k, 2.0 * buffers.get(tile % 2 * 256 + i + 16 * k));
//!             k += 1;
//!         }
//!         // Everybody is done with the buffer before the next copies go there.
//!         thread::sync_threads();
//!         tile += 1;
//!     }
//! }
//! ```
//!
//! The rules (PTX ISA, "Asynchronous Operations" under "Program Order", `cp.async`, `cp.async.commit_group`,
//! `cp.async.wait_group`):
//! - A copy is ordered after its lane's earlier accesses. It is not ordered with the lane's later accesses, nor with other
//!   copies, until the lane has waited for it.
//! - Until then no lane may read or write its destination, or write its source.
//! - A lane waits only for its own copies. A completed copy is visible to that lane. Other lanes see it after a
//!   [`sync_threads`](crate::thread::sync_threads) (or a [`sync_warp`](crate::warp::sync_warp)) that follows the wait.
//!
//! The instructions exist from compute capability 8.0 on (`target_feature = "sm_80"`, which the builder's architecture
//! sets). For an earlier target a copy is a load and a store, and the other functions do nothing. A kernel that follows the
//! rules gives the same results on both.
//!
//! The CPU executor performs a copy as late as possible, when its lane waits for it. Under a pseudo-random order of lanes
//! ([`Order::Seeded`](crate::cpu::Order::Seeded)) some copies are performed at once or when they are committed. The check
//! `race` reports violations of the second and third rule. The check `sync` reports a lane that returns without having
//! waited for a copy.

use crate::{
    Plain, imp,
    imp::Place,
    view::{Global, GlobalMut, Shared},
};

mod sealed {
    pub trait Source<T>: Copy {
        fn parts(self) -> (*const T, usize);
    }
}

/// The source of an asynchronous copy: a [`Global`] or a [`GlobalMut`].
pub trait Source<T>: sealed::Source<T> {}

macro_rules! source {
    ($($view:ident),*) => { $(
        impl<T: Copy> sealed::Source<T> for $view<T> {
            #[inline(always)]
            fn parts(self) -> (*const T, usize) {
                (self.as_ptr() as *const T, self.len())
            }
        }

        impl<T: Copy> Source<T> for $view<T> {}
    )* };
}
source!(Global, GlobalMut);

/// Rejects sizes that no instruction copies, at compile time.
const fn check_size<T, const N: usize>() {
    assert!(
        matches!(size_of::<[T; N]>(), 4 | 8 | 16),
        "an asynchronous copy moves 4, 8 or 16 bytes"
    );
}

/// Asynchronous copies into shared memory. See the [module](self).
impl<T: Copy> Shared<T> {
    /// Starts a copy of element `j` of `from` to element `i`. An element has 4, 8 or 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub fn copy_async(self, i: usize, from: impl Source<T>, j: usize) {
        self.copy_async_chunk::<1>(i, from, j);
    }

    /// Starts a copy of elements `j..j + N` of `from` to elements `i..i + N`. The `N` elements have 4, 8 or 16 bytes in
    /// all, and both addresses must be multiples of that size. Copies of 16 bytes bypass the L1 cache (`.cg`).
    #[inline(always)]
    #[track_caller]
    pub fn copy_async_chunk<const N: usize>(self, i: usize, from: impl Source<T>, j: usize) {
        const { check_size::<T, N>() };
        let (source, len) = from.parts();
        self.check_current();
        imp::check_bounds(self.as_ptr(), self.len(), i, N, true);
        imp::check_bounds(source, len, j, N, false);
        // SAFETY: the elements are within the views, whose callers of `from_raw_parts` vouched for them.
        unsafe { imp::async_copy::start::<T, N>(self.as_ptr(), i, source, j, Place::here()) }
    }

    /// Starts a [`copy_async_chunk`](Self::copy_async_chunk) of the first `count` elements and fills the rest with zeros,
    /// for the edge of an array. Elements beyond the first `count` are not read and need not exist, but the addresses must
    /// still be aligned. `count` is at most `N`.
    #[inline(always)]
    #[track_caller]
    pub fn copy_async_chunk_or_zeros<const N: usize>(
        self,
        i: usize,
        from: impl Source<T>,
        j: usize,
        count: usize,
    ) where
        T: Plain,
    {
        const { check_size::<T, N>() };
        let (source, len) = from.parts();
        self.check_current();
        imp::check_bounds(self.as_ptr(), self.len(), i, N, true);
        imp::async_copy::check_part::<T, N>(source, len, j, count);
        // SAFETY: as for `copy_async_chunk`; `T` is `Plain`, so zeros are elements.
        unsafe {
            imp::async_copy::start_part::<T, N>(self.as_ptr(), i, source, j, count, Place::here());
        }
    }
}

/// Commits the copies that this lane started since the last group as a new group. A group without copies is empty but
/// counts.
#[inline(always)]
#[track_caller]
pub fn commit_group() {
    imp::async_copy::commit_group();
}

/// Waits until at most the last `PENDING` groups that this lane committed are pending, so that all earlier groups are
/// complete. It does not wait for copies that are in no group yet.
#[inline(always)]
#[track_caller]
pub fn wait_group<const PENDING: u32>() {
    imp::async_copy::wait_group::<PENDING>();
}

/// Waits for all copies that this lane started, whether in a group or not.
#[inline(always)]
#[track_caller]
pub fn wait_all() {
    imp::async_copy::wait_all();
}
