//! Defects planted in an exchange between the two blocks of a cluster.

use cuda_std::{
    cluster,
    mbarrier::{self, Mbarrier},
    prelude::*,
};

use crate::NOTHING;

// What is wrong with the exchange.
wrong! { in_cluster_exchange:
    /// A block accesses the memory of one that need not have started.
    NOT_STARTED = 1, // AT: cluster_exchange for mem
    /// The arrival says only that copies may overwrite what the lane has read.
    ARRIVED_AFTER_READS = 2, // AT: cluster_exchange for race
    /// The wait orders what the own block has done, and not the other one.
    WAIT_FOR_OWN_BLOCK = 3, // AT: cluster_exchange for race
    /// A barrier of the block stands where one of the cluster is needed.
    BARRIER_OF_BLOCK = 4, // AT: cluster_exchange for race, init, mem
    /// A lane goes to another barrier than the others.
    OTHER_BARRIER = 5, // AT: cluster_exchange for sync
    /// A block accesses the memory of one that may have returned.
    RETURNED = 6, // AT: cluster_exchange for mem
}

/// Each block writes its elements to the other one's memory, and reads them back from there, times 3.
#[kernel(launch_bounds(64), cluster(2), instances = in_cluster_exchange)]
pub unsafe fn cluster_exchange<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let (inbox, tile) = (shared![u32; 64], shared![u32; 64]);
    let full = Mbarrier::new(shared![u64; 1], 0);
    let t = thread::thread_idx_x() as usize;
    let i = 64 * thread::block_idx_x() as usize + t;
    let other = cluster::rank() ^ 1;
    if t == 0 {
        full.init(64);
        mbarrier::fence_init();
    }
    if WRONG != NOT_STARTED {
        cluster::sync();
    }
    inbox.of_block(other).set(t, input.get(i)); // HERE: race, mem
    if WRONG == ARRIVED_AFTER_READS {
        full.arrive_at_after_reads(other);
    } else {
        full.arrive_at(other);
    }
    if WRONG == WAIT_FOR_OWN_BLOCK {
        full.wait(0);
    } else {
        full.wait_cluster(0);
    }
    tile.set(63 - t, inbox.get(63 - t).wrapping_mul(3)); // HERE: race
    if WRONG == BARRIER_OF_BLOCK || WRONG == OTHER_BARRIER && t == 7 {
        thread::sync_threads(); // HERE: sync
    } else {
        cluster::sync(); // HERE: sync
    }
    output.set(i, tile.of_block(other).get(t)); // HERE: race, init, mem
    if WRONG != RETURNED {
        cluster::sync();
    }
}
