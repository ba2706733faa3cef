//! The blocks of a cluster: their barrier, and their shared memory.
//!
//! They run on one thread in turns. A lane that the cluster's barrier releases is ready, and its block runs when its turn
//! comes.

use super::*;
use crate::cpu::shadow::Node;

/// The name of the operation by which lanes wait.
const WAIT: &str = "cluster::wait";

/// What the blocks of a cluster share.
#[derive(Default)]
pub(in crate::cpu) struct Cluster {
    /// The blocks' states by their ranks. They live as long as the thread's blocks.
    blocks: RefCell<Vec<*const BlockState>>,
    /// The lanes that have not returned, and those of them that have arrived at the barrier.
    live: Cell<u32>,
    arrived: Cell<u32>,
    /// The number of times that the barrier is complete.
    phase: Cell<u32>,
    /// What lanes have released by arriving, and what the last phase has released.
    releases: Cell<Node>,
    released: Cell<Node>,
    /// The lanes that wait, each with the rank of its block and its line.
    waiting: RefCell<Vec<(u32, u32, &'static Location<'static>)>>,
}

/// How far the lanes of a block have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Stage {
    NotStarted,
    Runs,
    Returned,
}

impl Cluster {
    /// Adds a block, whose rank is the number of those before it.
    ///
    /// # Safety
    /// The state must outlive the cluster, at the same address.
    pub unsafe fn add(&self, block: *const BlockState) {
        self.blocks.borrow_mut().push(block);
    }

    /// Resets everything for the start of a cluster of so many lanes.
    pub fn start(&self, lanes: u32) {
        self.live.set(lanes);
        self.arrived.set(0);
        self.releases.set(0);
        self.released.set(0);
        self.waiting.borrow_mut().clear();
    }

    pub fn size(&self) -> u32 {
        self.blocks.borrow().len() as u32
    }

    /// Returns the block with this rank.
    fn block(&self, rank: u32) -> Option<&BlockState> {
        let block = self.blocks.borrow().get(rank as usize).copied();
        // SAFETY: it outlives the cluster, by `add`'s contract.
        block.map(|block| unsafe { &*block })
    }

    fn all(&self) -> impl Iterator<Item = &BlockState> {
        (0..self.size()).filter_map(|rank| self.block(rank))
    }

    /// Completes the barrier if all lanes that have not returned are there.
    fn advances(&self) {
        if self.arrived.get() == 0 || self.arrived.get() < self.live.get() {
            return;
        }
        self.arrived.set(0);
        self.phase.set(self.phase.get().wrapping_add(1));
        self.released.set(self.releases.take());
        for (rank, lane, _) in self.waiting.take() {
            if let Some(block) = self.block(rank) {
                block.released.borrow_mut().push(lane);
            }
        }
        for block in self.all() {
            block.enqueue_released();
            block.goes_on();
        }
    }
}

impl BlockState {
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns whether other blocks can do what the lanes wait for, without a word that changes.
    pub fn has_peers(&self) -> bool {
        self.cluster.size() > 1
    }

    /// Arrives at the cluster's barrier.
    pub fn cluster_arrive(&self, lane: &Lane, at: &'static Location<'static>) {
        if !self.may_wait(lane) {
            return;
        }
        let cluster = self.cluster();
        if lane.arrived.get().is_some() {
            let what = "the lane arrives at the cluster's barrier again without having waited";
            let what = what.to_owned();
            self.fail(lane, FaultKind::Argument { what, at });
        }
        lane.arrived.set(Some(cluster.phase.get()));
        let key = (&raw const *cluster).addr();
        let before = cluster.releases.get();
        let releases = shadow::with(|tracker| tracker.arrive(lane.linear, key, before));
        cluster.releases.set(releases.unwrap_or(0));
        cluster.arrived.set(cluster.arrived.get() + 1);
        self.changed();
        cluster.advances();
    }

    /// Waits until all lanes of the cluster have arrived at its barrier.
    pub fn cluster_wait(&self, lane: &Lane, at: &'static Location<'static>) {
        if !self.may_wait(lane) {
            return;
        }
        let cluster = self.cluster();
        let Some(phase) = lane.arrived.take() else {
            let what = "the lane waits at the cluster's barrier without having arrived".to_owned();
            self.fail(lane, FaultKind::Argument { what, at });
        };
        if phase == cluster.phase.get() {
            let mut waiting = cluster.waiting.borrow_mut();
            waiting.push((self.rank, lane.linear, at));
            drop(waiting);
            lane.suspend();
        }
        let released = cluster.released.get();
        shadow::with(|tracker| tracker.acquire_phase(lane.linear, released));
    }

    /// Notes that a lane of the cluster has returned: nobody waits for it.
    pub(super) fn cluster_returned(&self, lane: &Lane) {
        let cluster = self.cluster();
        if lane.arrived.take() == Some(cluster.phase.get()) {
            cluster.arrived.set(cluster.arrived.get() - 1);
        }
        cluster.live.set(cluster.live.get() - 1);
        cluster.advances();
    }

    /// Returns the lanes of this block that wait at the cluster's barrier.
    pub(super) fn at_cluster_barrier(
        &self,
    ) -> Vec<(u32, &'static str, &'static Location<'static>)> {
        let waiting = self.cluster.waiting.borrow();
        let own = waiting.iter().filter(|(rank, ..)| *rank == self.rank);
        own.map(|(_, lane, at)| (*lane, WAIT, *at)).collect()
    }

    fn stage(&self) -> Stage {
        match (
            self.runs.get(),
            self.warps.borrow().iter().any(|warp| warp.live != 0),
        ) {
            (false, _) => Stage::NotStarted,
            (true, true) => Stage::Runs,
            (true, false) => Stage::Returned,
        }
    }

    /// Returns the block of this rank. Ends the launch if it does not run.
    pub fn peer(&self, lane: &Lane, rank: u32, at: &'static Location<'static>) -> &BlockState {
        let found = self.cluster().block(rank);
        let Some(peer) = found else {
            let blocks = self.cluster().size();
            let what = format!("a rank below the cluster's {blocks} blocks required, given {rank}");
            self.fail(lane, FaultKind::Argument { what, at })
        };
        let wrong = match peer.stage() {
            // A lane that is unwound waits for nobody.
            _ if rank == self.rank || std::thread::panicking() => return peer,
            Stage::Runs => return peer,
            Stage::NotStarted => "of which nothing says that it has started",
            Stage::Returned => "whose lanes have returned",
        };
        let what = format!("shared memory of the cluster's block of rank {rank}, {wrong}");
        self.fail(lane, FaultKind::OtherBlock { what, at })
    }

    /// Returns the address in a peer's shared memory of what is at `ptr` in this block's.
    pub fn address_in<T>(&self, peer: &BlockState, ptr: *mut T) -> *mut T {
        if core::ptr::eq(self, peer) {
            return ptr;
        }
        let offset_in = |memory: &[Line]| {
            let range = memory.as_ptr_range();
            range
                .contains(&ptr.cast_const().cast())
                .then(|| ptr.addr() - range.start.addr())
        };
        let statics = self.statics.borrow();
        for array in statics.iter() {
            let Some(offset) = offset_in(&array.memory) else {
                continue;
            };
            let mut others = peer.statics.borrow_mut();
            let same = |other: &StaticArray| {
                (other.site, other.type_name) == (array.site, array.type_name)
            };
            let index = match others.iter().position(same) {
                Some(index) => index,
                None => {
                    others.push(StaticArray::like(array));
                    others.len() - 1
                }
            };
            return others[index]
                .memory
                .as_mut_ptr()
                .wrapping_byte_add(offset)
                .cast();
        }
        drop(statics);
        let offset = offset_in(&self.dynamic.borrow()).unwrap_or_default();
        let start = peer.dynamic.borrow_mut().as_mut_ptr();
        start.wrapping_byte_add(offset).cast()
    }

    /// Returns the blocks whose ranks are bits of `ranks`, each with the addresses there of what is at `places` in this
    /// block's memory. Ends the launch if one of them does not run.
    pub fn peers<const N: usize>(
        &self,
        lane: &Lane,
        ranks: u16,
        places: [*mut u64; N],
        at: &'static Location<'static>,
    ) -> impl Iterator<Item = (&BlockState, [*mut u64; N])> {
        let ranks = (0..16).filter(move |rank| ranks >> rank & 1 != 0);
        ranks.map(move |rank| {
            let peer = self.peer(lane, rank, at);
            (peer, places.map(|place| self.address_in(peer, place)))
        })
    }

    /// Returns the block of the cluster whose shared memory has an address.
    pub(super) fn owner_of(&self, ptr: *const u8) -> Option<&BlockState> {
        match self.has(ptr) {
            true => Some(self),
            false if self.has_peers() => self.cluster.all().find(|block| block.has(ptr)),
            false => None,
        }
    }
}
