//! Asynchronous copies from global to shared memory: a lane starts them, does something else, and waits for
//! them by groups. The data goes through no register.
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
//! What holds of them (PTX ISA, "Asynchronous Operations" under "Program Order", `cp.async`,
//! `cp.async.commit_group`, `cp.async.wait_group`):
//! - A copy comes after what its lane did before it. It has no order with what the lane does then, nor with
//!   other copies, until the lane has waited for it.
//! - Until then nobody may read or write its destination, nor write its source.
//! - A lane waits for its own copies. What it has waited for is visible to that lane; others see it behind a
//!   [`sync_threads`](crate::thread::sync_threads) (or a [`sync_warp`](crate::warp::sync_warp)) that comes
//!   after the wait.
//!
//! The instructions are there from compute capability 8.0 on (`target_feature = "sm_80"`, which the builder's
//! architecture sets). Compiled for an earlier one, a copy is a load and a store in its place, and the rest
//! nothing: every kernel that keeps the rules above means the same.
//!
//! On the CPU executor a copy is done as late as can be, when its lane waits for it; in a pseudo-random order
//! of lanes ([`Order::Seeded`](crate::cpu::Order::Seeded)) some are done at once or when they are committed. The
//! check `race` reports what breaks the second and the third rule, and `sync` a lane that returns without
//! having waited for a copy.

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

/// What can be copied from: a [`Global`] or a [`GlobalMut`].
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

/// Refuses what no instruction copies.
const fn check_size<T, const N: usize>() {
    assert!(
        matches!(size_of::<[T; N]>(), 4 | 8 | 16),
        "an asynchronous copy moves 4, 8 or 16 bytes"
    );
}

/// Asynchronous copies into shared memory: see the [module](self).
impl<T: Copy> Shared<T> {
    /// Starts to copy element `j` of `from` to element `i`. An element has 4, 8 or 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub fn copy_async(self, i: usize, from: impl Source<T>, j: usize) {
        self.copy_async_chunk::<1>(i, from, j);
    }

    /// Starts to copy the `N` elements of `from` from `j` on to those from `i` on. They have 4, 8 or 16 bytes,
    /// and both addresses are multiples of that; 16 bytes pass by the first-level cache (`.cg`).
    #[inline(always)]
    #[track_caller]
    pub fn copy_async_chunk<const N: usize>(self, i: usize, from: impl Source<T>, j: usize) {
        const { check_size::<T, N>() };
        let (source, len) = from.parts();
        self.check_current();
        imp::check_bounds(self.as_ptr(), self.len(), i, N, true);
        imp::check_bounds(source, len, j, N, false);
        // SAFETY: within the views, which the constructors' callers vouched for.
        unsafe { imp::async_copy::start::<T, N>(self.as_ptr(), i, source, j, Place::here()) }
    }

    /// [`copy_async_chunk`](Self::copy_async_chunk) of the first `count` elements, and zeros for the rest: the
    /// edge of what there is. Elements behind the first `count` are not read and need not be there; the
    /// addresses are aligned all the same. `count` is `N` at most.
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
        // SAFETY: as for `copy_async_chunk`; any bits are elements, so zeros are.
        unsafe {
            imp::async_copy::start_part::<T, N>(self.as_ptr(), i, source, j, count, Place::here());
        }
    }
}

/// Makes a group of the copies that this lane has started since the last one (of none: an empty group, which
/// counts too).
#[inline(always)]
#[track_caller]
pub fn commit_group() {
    imp::async_copy::commit_group();
}

/// Waits until at most the `PENDING` groups that this lane committed last are under way: all before them are
/// done. Copies that are in no group yet are not waited for.
#[inline(always)]
#[track_caller]
pub fn wait_group<const PENDING: u32>() {
    imp::async_copy::wait_group::<PENDING>();
}

/// Waits until every copy that this lane has started is done, whether in a group or not.
#[inline(always)]
#[track_caller]
pub fn wait_all() {
    imp::async_copy::wait_all();
}
