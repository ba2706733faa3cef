//! Mbarriers on the CPU executor.

use super::{
    super::{
        access::AccessKind,
        block::Releases,
        lane::Lane,
        shadow::{self, Access},
    },
    Place,
};
use crate::space::Space;

/// The bits of an initialized object. On hardware they have no documented meaning either.
const INITIALIZED: u64 = 0x6d62_6172_7269_6572;

/// Follows an access to an object: a plain write, or an atomic operation of the block.
fn follow(word: *mut u64, touched: AccessKind, at: Place) {
    if shadow::is_on() {
        let plain = touched == AccessKind::Write;
        let access = Access {
            space: Space::Shared,
            start: word.addr(),
            bytes: 8,
            touched,
            reads: !plain,
            writes: plain,
            at: at.0,
        };
        shadow::follow(word.addr(), access);
    }
}

fn atomic(lane: &Lane, writes: bool) -> AccessKind {
    AccessKind::Atomic {
        writes,
        // Lanes of the whole cluster arrive.
        block_scope: !lane.block().has_peers(),
        bytes: 8,
    }
}

/// # Safety
/// `word` must be to 8 bytes of shared memory.
pub unsafe fn init(word: *mut u64, count: u32, at: Place) {
    let lane = Lane::current();
    follow(word, AccessKind::Write, at);
    // SAFETY: by the contract.
    unsafe { word.write(INITIALIZED) };
    lane.block().mbarrier_init(lane, word.addr(), count, at.0);
}

/// # Safety
/// `word` must be to 8 bytes of shared memory.
pub unsafe fn invalidate(word: *mut u64, at: Place) {
    let lane = Lane::current();
    follow(word, AccessKind::Write, at);
    lane.block().mbarrier_invalidate(lane, word.addr(), at.0);
    // SAFETY: by the contract.
    unsafe { word.write(0) };
}

pub fn arrive_expect_tx(word: *mut u64, bytes: u32, at: Place) {
    let lane = Lane::current();
    follow(word, atomic(lane, true), at);
    let block = lane.block();
    block.mbarrier_arrive(lane, word.addr(), (bytes, Releases::All), at.0);
}

pub fn arrive(word: *mut u64, at: Place) {
    arrive_expect_tx(word, 0, at);
}

/// Arrives at the mbarrier in the same place of another block of the cluster.
pub fn arrive_at(word: *mut u64, rank: u32, at: Place) {
    arrive_at_with(word, rank, Releases::All, at);
}

pub fn arrive_at_after_reads(word: *mut u64, rank: u32, at: Place) {
    arrive_at_with(word, rank, Releases::Reads, at);
}

fn arrive_at_with(word: *mut u64, rank: u32, releases: Releases, at: Place) {
    let lane = Lane::current();
    let block = lane.block();
    let peer = block.peer(lane, rank, at.0);
    let word = block.address_in(peer, word);
    follow(word, atomic(lane, true), at);
    peer.mbarrier_arrive(lane, word.addr(), (0, releases), at.0);
}

fn wait_with(word: *mut u64, parity: u32, wide: bool, at: Place) {
    let lane = Lane::current();
    follow(word, atomic(lane, false), at);
    let block = lane.block();
    block.mbarrier_wait(lane, word.addr(), (parity, wide), at.0);
}

pub fn wait(word: *mut u64, parity: u32, at: Place) {
    wait_with(word, parity, false, at);
}

pub fn wait_cluster(word: *mut u64, parity: u32, at: Place) {
    wait_with(word, parity, true, at);
}

pub fn is_complete(word: *mut u64, parity: u32, at: Place) -> bool {
    let (lane, name) = (Lane::current(), "Mbarrier::is_complete");
    follow(word, atomic(lane, false), at);
    let block = lane.block();
    if !block.mbarrier_is_complete(lane, word.addr(), (parity, false), at.0) {
        block.take_turns(lane, name, at.0);
        return block.mbarrier_is_complete(lane, word.addr(), (parity, false), at.0);
    }
    true
}

/// Makes the lane's initializations known to bulk copies.
pub fn fence_init() {
    let lane = Lane::current();
    lane.block().mbarrier_fence(lane);
}
