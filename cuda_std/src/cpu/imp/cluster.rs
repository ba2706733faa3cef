//! Clusters on the CPU executor.

use super::{
    super::{lane::Lane, mutate},
    Place,
};

/// The rank of a block of the cluster.
pub type Peer = u32;

pub fn rank() -> u32 {
    Lane::current().block().rank
}

pub fn size() -> u32 {
    Lane::current().block().cluster().size()
}

pub fn arrive(at: Place) {
    let lane = Lane::current();
    lane.block().cluster_arrive(lane, at.0);
}

pub fn wait(at: Place) {
    let lane = Lane::current();
    lane.block().cluster_wait(lane, at.0);
}

pub fn sync(at: Place) {
    match mutate::barrier(at.0) {
        None => {
            arrive(at);
            wait(at);
        }
        Some(mutate::Change::ToWarp) => super::warp::meet(mutate::whole_warp(Lane::current()), at),
        Some(_) => {}
    }
}

/// Returns the address of the same memory in another block.
pub fn map<T>(ptr: *mut T, rank: u32, at: Place) -> (*mut T, Peer) {
    let lane = Lane::current();
    let block = lane.block();
    (block.address_in(block.peer(lane, rank, at.0), ptr), rank)
}

/// Checks that a block runs.
#[track_caller]
pub fn check_peer(rank: Peer) {
    let lane = Lane::current();
    lane.block().peer(lane, rank, Place::here().0);
}
