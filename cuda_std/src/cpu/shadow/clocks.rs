//! What happens before what: who has synchronised with whom since when.
//!
//! Every synchronisation of a block (a barrier, `sync_warp`, a fence) is an event with a number, and a lane's
//! clock is the number of its latest. An access carries the clock of its lane; lane `l` is ordered after it
//! if `l` knows of a later event of that lane. What lanes know comes in layers, the common ones cheap:
//! a barrier is known to the whole block, a `sync_warp` of the full warp to the warp, one of a part of it
//! lane by lane; and what a lane has acquired through an atomic variable is a graph of releases.
//!
//! Shuffles and votes order no memory (CUDA C++ Programming Guide, on each of these functions), so they do
//! not appear here. Fences are cumulative through barriers: a lane's fence covers what other lanes of its
//! block released or acquired before a barrier between the two.

use std::collections::HashMap;

use super::releases::{Node, Release, Releases};
use crate::atomic::Scope;

/// A lane's latest fence.
#[derive(Clone, Default)]
struct Fence {
    /// The event; 0: none yet.
    event: u32,
    wide: bool,
    warp: u32,
    block: u32,
    known: Option<Box<[u32; 32]>>,
    acquired: Node,
}

/// What has been released through an atomic variable: to the device, and to the block `run`.
#[derive(Clone, Copy, Default)]
struct Variable {
    device: Node,
    local: Node,
    run: u32,
    /// Times that a store has begun anew; until the next, what comes later includes what was before.
    stores: u32,
}

/// What a lane has read from the variable that it read last.
#[derive(Clone, Copy, Default)]
struct Latest {
    address: usize,
    stores: u32,
    nodes: [Node; 2],
}

/// How an atomic operation touches its variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Touch {
    Load,
    Store,
    Update,
}

/// The synchronisation of one launch.
#[derive(Default)]
pub(super) struct Clocks {
    /// The block that runs: the first of a launch has a number that no earlier one of the thread had.
    run: u32,
    event: u32,
    block: u32,
    warps: Vec<u32>,
    lanes: Vec<u32>,
    /// By lane, what it knows of the lanes of its warp from `sync_warp`s that not all of them took part in.
    known: Vec<[u32; 32]>,
    known_differs: bool,
    /// Whether fences or atomic variables have had any part in this block.
    fenced: bool,
    fences: Vec<Fence>,
    acquired: Vec<Node>,
    /// Releases that a lane has read, and that its next fence acquires.
    pending: Vec<[Node; 2]>,
    /// The same of one variable, so that reading it again and again adds nothing.
    latest: Vec<Latest>,
    /// Releases of other lanes' fences before a barrier.
    handed_on: Vec<Node>,
    releases: Releases,
    variables: HashMap<usize, Variable>,
    /// Whether something has been released to other blocks.
    orders_blocks: bool,
}

fn is_wide(scope: Scope) -> bool {
    scope != Scope::Block
}

impl Clocks {
    /// Forgets the launch before.
    pub fn start_launch(&mut self) {
        self.releases.clear();
        self.variables.clear();
        self.orders_blocks = false;
    }

    pub fn start_block(&mut self, run: u32, lanes: usize) {
        self.run = run;
        (self.event, self.block) = (0, 0);
        self.warps.clear();
        self.warps.resize(lanes.div_ceil(32), 0);
        self.lanes.clear();
        self.lanes.resize(lanes, 0);
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

    /// A lane's clock.
    #[inline]
    pub fn clock(&self, lane: u32) -> u32 {
        self.lanes[lane as usize]
            .max(self.warps[lane as usize / 32])
            .max(self.block)
    }

    /// Whether an access of this block at this clock is before everything that follows in the block.
    #[inline]
    pub fn before_barrier(&self, clock: u32) -> bool {
        clock < self.block
    }

    /// Whether the access of block `run`, lane `other` at `clock` is before what `lane` does now, by what is
    /// no matter of atomic variables.
    #[inline]
    pub fn ordered_in_block(&self, lane: u32, (run, other, clock): (u32, u32, u32)) -> bool {
        if run == self.run {
            if other == lane || clock < self.block {
                return true;
            }
            if other / 32 == lane / 32
                && (clock < self.warps[lane as usize / 32]
                    || (self.known_differs
                        && clock < self.known[lane as usize][other as usize % 32]))
            {
                return true;
            }
        }
        false
    }

    /// Whether `lane` has acquired the access of a block, by a lane at a clock. `variable` is the address of the
    /// element, if the access was an atomic operation.
    #[inline]
    pub fn has_acquired(
        &mut self,
        lane: u32,
        access: (u32, u32, u32),
        variable: impl FnOnce() -> Option<usize>,
    ) -> bool {
        let node = match self.fenced {
            true => self.acquired[lane as usize],
            false => 0,
        };
        node != 0 && self.releases.reach(node, access, variable())
    }

    /// Whether anything of the launch can be in order with another block.
    #[inline]
    pub fn orders_blocks(&self) -> bool {
        self.orders_blocks
    }

    /// All lanes of the block have met.
    pub fn barrier(&mut self) {
        self.event += 1;
        if self.fenced {
            let all: Vec<u32> = (0..self.lanes.len() as u32).collect();
            self.share(&all);
        }
        self.block = self.event;
    }

    /// The lanes of `mask` of the warp that begins with lane `first` have met in a `sync_warp`.
    pub fn sync_warp(&mut self, first: u32, mask: u32) {
        self.event += 1;
        let lanes: Vec<u32> = super::super::order::lanes_of(first, mask).collect();
        if self.fenced {
            self.share(&lanes);
        }
        let in_warp = (self.lanes.len() as u32 - first).min(32);
        if lanes.len() as u32 == in_warp {
            self.warps[first as usize / 32] = self.event;
            return;
        }
        self.known_differs = true;
        let mut known = [0; 32];
        for lane in &lanes {
            for (all, one) in known.iter_mut().zip(&self.known[*lane as usize]) {
                *all = (*all).max(*one);
            }
        }
        for lane in &lanes {
            known[*lane as usize % 32] = self.event;
        }
        for lane in &lanes {
            self.known[*lane as usize] = known;
            self.lanes[*lane as usize] = self.event;
        }
    }

    /// What lanes that meet tell each other beside the order of their own accesses.
    #[cold]
    fn share(&mut self, lanes: &[u32]) {
        let (mut acquired, mut handed_on, mut pending) = (0, 0, [0; 2]);
        let mut events = Vec::new();
        for lane in lanes {
            let i = *lane as usize;
            acquired = self.releases.join(acquired, self.acquired[i]);
            handed_on = self.releases.join(handed_on, self.handed_on[i]);
            let [device, local] = self.pending_of(*lane);
            pending = [
                self.releases.join(pending[0], device),
                self.releases.join(pending[1], local),
            ];
            // Earlier ones have been handed on by the barrier behind them.
            let fence = &self.fences[i];
            if fence.wide && fence.event > self.block {
                events.push((*lane, fence.event));
                let before = fence.acquired;
                handed_on = self.releases.join(handed_on, before);
            }
        }
        if !events.is_empty() {
            // What was before the last barrier has been fenced by whoever fenced since.
            let block = self.block;
            let node = self.releases.add(Release {
                run: self.run,
                lane: events[0].0,
                block,
                events: events.into(),
                ..Release::default()
            });
            handed_on = self.releases.join(handed_on, node);
        }
        for lane in lanes {
            let i = *lane as usize;
            self.acquired[i] = acquired;
            self.handed_on[i] = handed_on;
            self.pending[i] = pending;
        }
    }

    /// A fence of a lane.
    pub fn fence(&mut self, lane: u32, scope: Scope) {
        self.fenced = true;
        let i = lane as usize;
        self.acquire(lane, scope);
        self.event += 1;
        self.lanes[i] = self.event;
        self.fences[i] = Fence {
            event: self.event,
            wide: is_wide(scope),
            warp: self.warps[i / 32],
            block: self.block,
            known: self.known_differs.then(|| Box::new(self.known[i])),
            acquired: self.acquired[i],
        };
    }

    fn acquire(&mut self, lane: u32, scope: Scope) {
        let i = lane as usize;
        let [device, local] = self.pending_of(lane);
        self.acquired[i] = self.releases.join(self.acquired[i], local);
        self.pending[i] = [device, 0];
        if is_wide(scope) {
            self.acquired[i] = self.releases.join(self.acquired[i], device);
            self.pending[i] = [0; 2];
        }
    }

    /// What a lane's next fence acquires, all in `pending`.
    fn pending_of(&mut self, lane: u32) -> [Node; 2] {
        let i = lane as usize;
        let [device, local] = std::mem::take(&mut self.latest[i]).nodes;
        self.pending[i] = [
            self.releases.join(self.pending[i][0], device),
            self.releases.join(self.pending[i][1], local),
        ];
        self.pending[i]
    }

    /// An atomic operation of a lane on the variable at `address`.
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
        if !self.fenced && self.variables.is_empty() && !releases {
            return;
        }
        if releases {
            self.fence(lane, scope);
        }
        let i = lane as usize;
        let mut variable = self.variables.get(&address).copied().unwrap_or_default();
        if variable.run != self.run {
            (variable.local, variable.run) = (0, self.run);
        }
        if touch != Touch::Store && (variable.device != 0 || variable.local != 0) {
            self.fenced = true;
            let latest = self.latest[i];
            let again = (latest.address, latest.stores) == (address, variable.stores);
            if !again {
                self.pending_of(lane);
            }
            self.latest[i] = Latest {
                address,
                stores: variable.stores,
                nodes: match is_wide(scope) {
                    true => [variable.device, variable.local],
                    false => [if again { latest.nodes[0] } else { 0 }, variable.local],
                },
            };
            if acquires {
                self.acquire(lane, scope);
            }
        }
        match touch {
            Touch::Load => return,
            Touch::Store => {
                (variable.device, variable.local) = (0, 0);
                variable.stores += 1;
            }
            Touch::Update => {}
        }
        if self.fenced {
            let fence = self.fences[i].clone();
            if fence.event > 0 || self.handed_on[i] != 0 {
                variable.local = self.release(lane, &fence, address, variable.local);
                if is_wide(scope) && (fence.event == 0 || fence.wide) {
                    variable.device = self.release(lane, &fence, address, variable.device);
                } else if is_wide(scope) {
                    variable.device = self.releases.join(variable.device, self.handed_on[i]);
                }
            }
        }
        self.orders_blocks |= variable.device != 0;
        self.variables.insert(address, variable);
    }

    /// The release of `lane`'s `fence` through the variable at this address, behind what was released there
    /// before.
    fn release(&mut self, lane: u32, fence: &Fence, variable: usize, before: Node) -> Node {
        let own = self.clock(lane) + 1;
        let latest = self.releases.get(before);
        if (latest.run, latest.lane, latest.event, latest.own) == (self.run, lane, fence.event, own)
        {
            return before;
        }
        let handed_on = self.handed_on[lane as usize];
        let before = self.releases.join(before, handed_on);
        self.releases.add(Release {
            run: self.run,
            lane,
            event: fence.event,
            warp: fence.warp,
            block: fence.block,
            known: fence.known.clone(),
            events: Box::default(),
            variable,
            own,
            parents: [before, fence.acquired],
        })
    }
}
