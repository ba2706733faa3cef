//! Clusters: blocks that run at the same time on neighbouring multiprocessors, wait for each other, and access each other's
//! shared memory (distributed shared memory).
//!
//! The kernel says how many blocks a cluster has (`#[kernel(cluster(2))]`), at most 8, and the grid is a multiple of that. A
//! block's number in its cluster is its [`rank`]. Neighbours along x are in one cluster first, then along y and z.
//!
//! ```
//! use cuda_std::{cluster, prelude::*};
//!
//! /// Exchanges the halves of each 128 elements: each block passes its 64 to the other block of its cluster.
//! #[kernel(launch_bounds(64), cluster(2))]
//! pub unsafe fn exchange(input: Global<u32>, output: GlobalMut<u32>) {
//!     let inbox = shared![u32; 64];
//!     let tid = thread::thread_idx_x() as usize;
//!     let i = 64 * thread::block_idx_x() as usize + tid;
//!     // The other block runs before its memory is accessed,
//!     cluster::sync();
//!     inbox.of_block(cluster::rank() ^ 1).set(tid, input.get(i));
//!     // and it has not returned before the access is done. The barrier orders the accesses too.
//!     cluster::sync();
//!     output.set(i, inbox.get(tid));
//! }
//! ```
//!
//! The rules (CUDA C++ Programming Guide, "Distributed Shared Memory"; PTX ISA, `barrier.cluster`, `mapa`, `mbarrier`):
//! - A block accesses another block's shared memory behind a [`sync`] that the other block has taken part in, and no block
//!   returns before the others are done with its memory: a last [`sync`] sees to that.
//! - [`sync`] waits for all lanes of the cluster that have not returned, and orders what they did before it. [`arrive`] and
//!   [`wait`] are its halves.
//! - A lane may [arrive](crate::mbarrier::Mbarrier::arrive_at) at an mbarrier of another block, but waits only at those of its
//!   own, by [`wait_cluster`](crate::mbarrier::Mbarrier::wait_cluster) if lanes of other blocks arrive there.
//!   [`arrive_at_after_reads`](crate::mbarrier::Mbarrier::arrive_at_after_reads) says only that copies may overwrite what the
//!   lane has read, and costs less.
//! - One copy can bring a tile to several blocks ([`Shared::load_tile_to`](crate::Shared::load_tile_to)).
//!
//! The instructions need compute capability 9.0: build a module for `sm_90` or `sm_90a`. For earlier architectures this module
//! does not exist.
//!
//! The CPU executor runs the blocks of a cluster on one thread in turns. It reports an access to the memory of a block that has
//! not started or has returned, and lanes that wait at the cluster's barrier for lanes that never come. The check `race`
//! follows accesses across the blocks.

use crate::{
    imp::{self, Place},
    view::{ClusterShared, Shared},
};

/// Returns the block's number in its cluster.
#[inline(always)]
pub fn rank() -> u32 {
    imp::cluster::rank()
}

/// Returns the number of blocks of the cluster. 1 if the kernel has no clusters.
#[inline(always)]
pub fn size() -> u32 {
    imp::cluster::size()
}

/// Waits until all lanes of the cluster that have not returned are here. What they did before is visible to all of them
/// afterwards.
#[inline(always)]
#[track_caller]
pub fn sync() {
    imp::cluster::sync(Place::here());
}

/// Arrives at the cluster's barrier: the first half of [`sync`]. The lane must [`wait`] before it arrives again.
#[inline(always)]
#[track_caller]
pub fn arrive() {
    imp::cluster::arrive(Place::here());
}

/// Waits until all lanes of the cluster have arrived: the second half of [`sync`].
#[inline(always)]
#[track_caller]
pub fn wait() {
    imp::cluster::wait(Place::here());
}

/// Shared memory of other blocks. See the module [`cluster`](crate::cluster).
impl<T: Copy> Shared<T> {
    /// Returns the view of the same array in the shared memory of the block with this rank in the cluster, which may be the
    /// lane's own.
    #[inline(always)]
    #[track_caller]
    pub fn of_block(self, rank: u32) -> ClusterShared<T> {
        self.check_current();
        let (ptr, peer) = imp::cluster::map(self.as_ptr(), rank, Place::here());
        // SAFETY: the array is there in every block of the cluster.
        unsafe { ClusterShared::from_raw_parts(ptr, self.len(), peer) }
    }
}
