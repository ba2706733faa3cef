//! The happens-before relation: which lanes have synchronized with which, and when.
//!
//! ```text
//! barrier:                 event += 1; block = event
//! sync_warp, all lanes:    event += 1; warps[warp] = event
//! sync_warp, some lanes:   event += 1; the lanes share what they know: known[lane][each of them] = event
//! named barrier:           event += 1; the warps share what they know: met[warp][each of them] = event
//! fence:                   acquire what the lane has read; event += 1; the fence has what the lane knows now
//! store or update:         the variable has a new release, of the lane's fence; behind an update, those before it too
//! load or update:          the variable's release is pending, for the lane's next fence
//! the access of lane a at a clock is before what lane l does now:
//!     in the same block, if a == l, or the clock is below block, warps[of both], known[l][a] or met[warp of l][warp of a]
//!     in any block, if l has acquired a release that reaches lane a at that clock
//! ```
//!
//! A lane's clock is the number of its latest event. What is known is stored in layers, the common ones cheap: a number of the
//! block, one of each warp, and numbers for pairs of lanes or warps only where a kernel needs them.
//!
//! Shuffles and votes order no memory (CUDA C++ Programming Guide, on each of these functions), so they do not appear here.
//! Fences are cumulative through barriers: a lane's fence covers what other lanes of its block released or acquired before
//! a barrier between the two.

mod phases;

use std::collections::HashMap;

use super::releases::{Node, Release, Releases};
use crate::atomic::Scope;

/// The first of the numbers that stand for what is no lane: above those of all lanes. Bulk copies make their accesses at the
/// clocks of their mbarrier, whose number this plus the mbarrier's index is. A lane is ordered after such an access only if it
/// has acquired the mbarrier's phase.
pub(super) const COPIERS: u32 = 1024;
/// The copier whose accesses no phase orders: those of bulk copies to global memory, until their lane has waited for them.
pub(super) const NO_PHASE: u32 = 2047;
/// The first of the copiers that stand for the warpgroups, whose products read shared memory. Their groups are the phases.
pub(super) const WARPGROUPS: u32 = NO_PHASE - 8;
/// The number of mbarriers of a block that copies can complete on.
pub(in crate::cpu) const MOST_MBARRIERS: usize = (WARPGROUPS - COPIERS) as usize;

/// Returns the clock of copies that complete phase `phase` of an mbarrier. It is above all clocks of lanes. The low bits are
/// the lane that starts the copy.
pub(super) fn clock_of_phase(phase: u32, lane: u32) -> u32 {
    const LAST: u32 = u32::MAX >> 11;
    1 << 31 | phase.min(LAST) << 10 | lane
}

/// A lane's latest fence.
#[derive(Clone, Default)]
struct Fence {
    /// The event of the fence. 0 if there is none yet.
    event: u32,
    wide: bool,
    warp: u32,
    block: u32,
    known: Option<Box<[u32; 32]>>,
    met: Option<Box<[u32]>>,
    acquired: Node,
}

/// What has been released to the device through an atomic variable.
#[derive(Clone, Copy, Default)]
struct Variable {
    device: Node,
    /// The number of times that a store has begun a new release sequence. Until the next store, later releases include
    /// earlier ones.
    stores: u32,
}

/// What a lane has read from the variable that it read last.
#[derive(Clone, Copy, Default)]
struct Latest {
    address: usize,
    stores: u32,
    nodes: [Node; 2],
}

/// The kind of an atomic operation's access to its variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Touch {
    Load,
    Store,
    Update,
}

/// The synchronization of one block.
#[derive(Default)]
struct BlockClocks {
    /// The number of the block. The first block of a launch has a number that no earlier block of the thread had.
    run: u32,
    event: u32,
    block: u32,
    warps: Vec<u32>,
    lanes: Vec<u32>,
    /// For each lane, what it knows of the lanes of its warp from `sync_warp`s in which not all of them took part.
    known: Vec<[u32; 32]>,
    known_differs: bool,
    /// What each warp knows of each other warp from named barriers. Empty until the block uses one.
    met: Vec<Box<[u32]>>,
    /// Whether this block has used fences or atomic variables.
    fenced: bool,
    fences: Vec<Fence>,
    acquired: Vec<Node>,
    /// What lanes have acquired for the copies that they start, beside `acquired`. Empty if there is nothing.
    for_copies: Vec<Node>,
    /// Releases that a lane has read, and that its next fence acquires.
    pending: Vec<[Node; 2]>,
    /// The same for one variable, so that reading it repeatedly adds nothing.
    latest: Vec<Latest>,
    /// Releases of other lanes' fences before a barrier.
    handed_on: Vec<Node>,
    /// What has been released only to the block through an atomic variable, by its address, with the variable's `stores` at
    /// that time: a later store begins anew.
    local: HashMap<usize, (Node, u32)>,
    /// For each lane, its latest proxy fence. Empty until the block uses one.
    proxy_fences: Vec<Fence>,
}

/// The synchronization of one launch.
#[derive(Default)]
pub(super) struct Clocks {
    /// The running block, and the other blocks that have started, by their slots.
    here: BlockClocks,
    others: Vec<BlockClocks>,
    slot: usize,
    /// Whether the launch has switched from one block to another before the end of the first.
    interleaved: bool,
    releases: Releases,
    variables: HashMap<usize, Variable>,
    /// Whether anything has been released to other blocks.
    orders_blocks: bool,
}

/// Moves the data of slot `to` into `here`, which held the data of slot `from`.
pub(super) fn exchange<T: Default>(here: &mut T, others: &mut Vec<T>, from: usize, to: usize) {
    let slots = others.len().max(from.max(to) + 1);
    others.resize_with(slots, T::default);
    core::mem::swap(here, &mut others[from]);
    core::mem::swap(here, &mut others[to]);
}

fn is_wide(scope: Scope) -> bool {
    scope != Scope::Block
}

impl BlockClocks {
    fn start(&mut self, run: u32, lanes: usize) {
        self.run = run;
        (self.event, self.block) = (0, 0);
        self.warps.clear();
        self.warps.resize(lanes.div_ceil(32), 0);
        self.lanes.clear();
        self.lanes.resize(lanes, 0);
        self.local.clear();
        self.met.clear();
        self.proxy_fences.clear();
        self.for_copies.clear();
        if self.known_differs || self.known.len() != lanes {
            self.known.clear();
            self.known.resize(lanes, [0; 32]);
            self.known_differs = false;
        }
        if self.fenced || self.acquired.len() != lanes {
            self.fences.clear();
            self.fences.resize(lanes, Fence::default());
            self.acquired.clear();
            self.acquired.resize(lanes, 0);
            self.pending.clear();
            self.pending.resize(lanes, [0; 2]);
            self.latest.clear();
            self.latest.resize(lanes, Latest::default());
            self.handed_on.clear();
            self.handed_on.resize(lanes, 0);
            self.fenced = false;
        }
    }
}

impl Clocks {
    /// Forgets the previous launch.
    pub fn start_launch(&mut self) {
        self.releases.clear();
        self.variables.clear();
        self.orders_blocks = false;
        self.interleaved = false;
    }

    /// Starts block `run` in the current slot.
    pub fn start_block(&mut self, run: u32, lanes: usize) {
        self.here.start(run, lanes);
    }

    /// Switches to the block of another slot. Returns its number.
    pub fn switch_to(&mut self, slot: usize) -> u32 {
        if slot != self.slot {
            self.interleaved = true;
            exchange(&mut self.here, &mut self.others, self.slot, slot);
            self.slot = slot;
        }
        self.here.run
    }

    /// Returns whether a block may have continued after accesses of others that came later than its first ones.
    #[inline]
    pub fn interleaves(&self) -> bool {
        self.interleaved
    }

    /// Returns a lane's clock.
    #[inline]
    pub fn clock(&self, lane: u32) -> u32 {
        self.here.lanes[lane as usize]
            .max(self.here.warps[lane as usize / 32])
            .max(self.here.block)
    }

    /// Returns whether an access of this block at this clock is before everything that follows in the block.
    #[inline]
    pub fn before_barrier(&self, clock: u32) -> bool {
        clock < self.here.block
    }

    /// Returns whether the access of block `run` by lane `other` at `clock` is before what `lane` does now, without regard
    /// to atomic variables.
    #[inline]
    pub fn ordered_in_block(&self, lane: u32, (run, other, clock): (u32, u32, u32)) -> bool {
        if run == self.here.run {
            if other == lane || clock < self.here.block {
                return true;
            }
            if other / 32 == lane / 32
                && (clock < self.here.warps[lane as usize / 32]
                    || (self.here.known_differs
                        && clock < self.here.known[lane as usize][other as usize % 32]))
            {
                return true;
            }
            let met = self.here.met.get(lane as usize / 32);
            let met = met.and_then(|met| met.get(other as usize / 32));
            if met.is_some_and(|met| clock < *met) {
                return true;
            }
        }
        false
    }

    /// Returns whether `lane` has acquired the access of a block by a lane at a clock. `variable` is the address of the
    /// element if the access was an atomic operation.
    #[inline]
    pub fn has_acquired(
        &mut self,
        lane: u32,
        access: (u32, u32, u32),
        variable: impl FnOnce() -> Option<usize>,
    ) -> bool {
        let node = match self.here.fenced {
            true => self.here.acquired[lane as usize],
            false => 0,
        };
        node != 0 && self.releases.reach(node, access, variable())
    }

    /// Returns whether anything of the launch can be ordered with another block.
    #[inline]
    pub fn orders_blocks(&self) -> bool {
        self.orders_blocks
    }

    /// Notes that all lanes of the block have met at the barrier.
    pub fn barrier(&mut self) {
        self.here.event += 1;
        if self.here.fenced {
            let all: Vec<u32> = (0..self.here.lanes.len() as u32).collect();
            self.share(&all);
        }
        self.here.block = self.here.event;
    }

    /// Notes that the lanes of `mask` have met in a `sync_warp`. The warp begins with lane `first`.
    pub fn sync_warp(&mut self, first: u32, mask: u32) {
        self.here.event += 1;
        let lanes: Vec<u32> = super::super::order::lanes_of(first, mask).collect();
        if self.here.fenced {
            self.share(&lanes);
        }
        let in_warp = (self.here.lanes.len() as u32 - first).min(32);
        if lanes.len() as u32 == in_warp {
            self.here.warps[first as usize / 32] = self.here.event;
            return;
        }
        self.here.known_differs = true;
        let mut known = [0; 32];
        for lane in &lanes {
            for (all, one) in known.iter_mut().zip(&self.here.known[*lane as usize]) {
                *all = (*all).max(*one);
            }
        }
        for lane in &lanes {
            known[*lane as usize % 32] = self.here.event;
        }
        for lane in &lanes {
            self.here.known[*lane as usize] = known;
            self.here.lanes[*lane as usize] = self.here.event;
        }
    }

    /// Notes that all lanes of some warps have met at a named barrier.
    pub fn named_barrier(&mut self, warps: &[u32]) {
        self.here.event += 1;
        let (event, count, lanes) = (
            self.here.event,
            self.here.warps.len(),
            self.here.lanes.len(),
        );
        if self.here.fenced {
            let of = |warp: &u32| warp * 32..(warp * 32 + 32).min(lanes as u32);
            let lanes: Vec<u32> = warps.iter().flat_map(of).collect();
            self.share(&lanes);
        }
        if self.here.met.is_empty() {
            self.here.met.resize(count, vec![0; count].into());
        }
        let mut met: Box<[u32]> = vec![0; count].into();
        for warp in warps {
            for (all, one) in met.iter_mut().zip(&self.here.met[*warp as usize]) {
                *all = (*all).max(*one);
            }
        }
        for warp in warps {
            met[*warp as usize] = event;
            self.here.warps[*warp as usize] = event;
        }
        for warp in warps {
            self.here.met[*warp as usize] = met.clone();
        }
    }

    /// Shares what lanes that meet know, beside the order of their own accesses.
    #[cold]
    fn share(&mut self, lanes: &[u32]) {
        let (mut acquired, mut handed_on, mut pending) = (0, 0, [0; 2]);
        let mut events = Vec::new();
        for lane in lanes {
            let i = *lane as usize;
            acquired = self.releases.join(acquired, self.here.acquired[i]);
            handed_on = self.releases.join(handed_on, self.here.handed_on[i]);
            let [device, local] = self.pending_of(*lane);
            pending = [
                self.releases.join(pending[0], device),
                self.releases.join(pending[1], local),
            ];
            // The barrier after an earlier fence has already handed it on.
            let fence = &self.here.fences[i];
            if fence.wide && fence.event > self.here.block {
                events.push((*lane, fence.event));
                let before = fence.acquired;
                handed_on = self.releases.join(handed_on, before);
            }
        }
        if !events.is_empty() {
            // A fence since the last barrier also covers what was before that barrier.
            let block = self.here.block;
            let node = self.releases.add(Release {
                run: self.here.run,
                lane: events[0].0,
                block,
                events: events.into(),
                ..Release::default()
            });
            handed_on = self.releases.join(handed_on, node);
        }
        for lane in lanes {
            let i = *lane as usize;
            self.here.acquired[i] = acquired;
            self.here.handed_on[i] = handed_on;
            self.here.pending[i] = pending;
        }
    }

    /// Notes a fence of a lane.
    pub fn fence(&mut self, lane: u32, scope: Scope) {
        self.here.fenced = true;
        let i = lane as usize;
        self.acquire(lane, scope);
        self.here.fences[i] = self.event_of(lane, is_wide(scope));
    }

    /// Makes an event of a lane: a fence of what the lane knows now.
    fn event_of(&mut self, lane: u32, wide: bool) -> Fence {
        let i = lane as usize;
        self.here.event += 1;
        self.here.lanes[i] = self.here.event;
        Fence {
            event: self.here.event,
            wide,
            warp: self.here.warps[i / 32],
            block: self.here.block,
            known: self
                .here
                .known_differs
                .then(|| Box::new(self.here.known[i])),
            met: self.here.met.get(i / 32).cloned(),
            acquired: self.here.acquired[i],
        }
    }

    /// Notes a proxy fence of a lane.
    pub fn proxy_fence(&mut self, lane: u32) {
        let lanes = self.here.lanes.len();
        self.here.proxy_fences.resize(lanes, Fence::default());
        self.here.proxy_fences[lane as usize] = self.event_of(lane, false);
    }

    /// Returns whether a lane has executed a proxy fence that comes after the access of lane `other` of this block at `clock`.
    pub fn is_proxy_fenced(&mut self, other: u32, clock: u32) -> bool {
        let run = self.here.run;
        let i = other as usize;
        // The writer's own fence is the common case.
        let own = self.here.proxy_fences.get(i);
        own.is_some_and(|fence| clock < fence.event)
            || self
                .here
                .proxy_fences
                .iter()
                .enumerate()
                .any(|(lane, fence)| {
                    fence.event > 0
                        && (clock < fence.block
                            || (lane / 32 == i / 32
                                && (clock < fence.warp
                                    || fence
                                        .known
                                        .as_ref()
                                        .is_some_and(|known| clock < known[i % 32])))
                            || fence.met.as_ref().is_some_and(|met| clock < met[i / 32])
                            || (fence.acquired != 0
                                && self
                                    .releases
                                    .reach(fence.acquired, (run, other, clock), None)))
                })
    }

    fn acquire(&mut self, lane: u32, scope: Scope) {
        let i = lane as usize;
        let [device, local] = self.pending_of(lane);
        self.here.acquired[i] = self.releases.join(self.here.acquired[i], local);
        self.here.pending[i] = [device, 0];
        if is_wide(scope) {
            self.here.acquired[i] = self.releases.join(self.here.acquired[i], device);
            self.here.pending[i] = [0; 2];
        }
    }

    /// Moves everything that a lane's next fence acquires to `pending`, and returns it.
    fn pending_of(&mut self, lane: u32) -> [Node; 2] {
        let i = lane as usize;
        let [device, local] = std::mem::take(&mut self.here.latest[i]).nodes;
        self.here.pending[i] = [
            self.releases.join(self.here.pending[i][0], device),
            self.releases.join(self.here.pending[i][1], local),
        ];
        self.here.pending[i]
    }

    /// Notes an atomic operation of a lane on the variable at `address`.
    pub fn atomic(
        &mut self,
        lane: u32,
        address: usize,
        touch: Touch,
        order: core::sync::atomic::Ordering,
        scope: Scope,
    ) {
        use core::sync::atomic::Ordering::{AcqRel, Acquire, Release as Rel, SeqCst};
        let (acquires, releases) = (
            matches!(order, Acquire | AcqRel | SeqCst) && touch != Touch::Store,
            matches!(order, Rel | AcqRel | SeqCst) && touch != Touch::Load,
        );
        if !self.here.fenced && self.variables.is_empty() && !releases {
            return;
        }
        if releases {
            self.fence(lane, scope);
        }
        let i = lane as usize;
        let mut variable = self.variables.get(&address).copied().unwrap_or_default();
        let local = self.here.local.get(&address);
        let local = local.filter(|(_, stores)| *stores == variable.stores);
        let mut local = local.map_or(0, |(node, _)| *node);
        if touch != Touch::Store && (variable.device != 0 || local != 0) {
            self.here.fenced = true;
            let latest = self.here.latest[i];
            let again = (latest.address, latest.stores) == (address, variable.stores);
            if !again {
                self.pending_of(lane);
            }
            self.here.latest[i] = Latest {
                address,
                stores: variable.stores,
                nodes: match is_wide(scope) {
                    true => [variable.device, local],
                    false => [if again { latest.nodes[0] } else { 0 }, local],
                },
            };
            if acquires {
                self.acquire(lane, scope);
            }
        }
        match touch {
            Touch::Load => return,
            Touch::Store => {
                (variable.device, local) = (0, 0);
                variable.stores += 1;
            }
            Touch::Update => {}
        }
        if self.here.fenced {
            let fence = self.here.fences[i].clone();
            if fence.event > 0 || self.here.handed_on[i] != 0 {
                local = self.release(lane, &fence, address, local);
                self.here.local.insert(address, (local, variable.stores));
                if is_wide(scope) && (fence.event == 0 || fence.wide) {
                    variable.device = self.release(lane, &fence, address, variable.device);
                } else if is_wide(scope) {
                    variable.device = self.releases.join(variable.device, self.here.handed_on[i]);
                }
            }
        }
        self.orders_blocks |= variable.device != 0;
        self.variables.insert(address, variable);
    }

    /// Returns the release of `lane`'s `fence` through the variable at this address, after what was released there before.
    fn release(&mut self, lane: u32, fence: &Fence, variable: usize, before: Node) -> Node {
        let own = self.clock(lane) + 1;
        let latest = self.releases.get(before);
        if (latest.run, latest.lane, latest.event, latest.own)
            == (self.here.run, lane, fence.event, own)
        {
            return before;
        }
        let handed_on = self.here.handed_on[lane as usize];
        let before = self.releases.join(before, handed_on);
        self.releases.add(Release {
            run: self.here.run,
            lane,
            event: fence.event,
            warp: fence.warp,
            block: fence.block,
            known: fence.known.clone(),
            met: fence.met.clone(),
            events: Box::default(),
            variable,
            own,
            parents: [before, fence.acquired],
        })
    }
}
