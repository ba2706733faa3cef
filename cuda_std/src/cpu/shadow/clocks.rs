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

use std::collections::{HashMap, HashSet};

use crate::atomic::Scope;

/// A release, by its position; 0 is none.
type Node = u32;

/// One lane's release, or only a join of two.
#[derive(Default)]
struct Release {
    run: u32,
    lane: u32,
    /// Accesses of the lane with an earlier clock are released;
    event: u32,
    /// those of its warp with an earlier one than this, and of the block.
    warp: u32,
    block: u32,
    /// What the lane knows of lanes of its warp, where it is not all the same.
    known: Option<Box<[u32; 32]>>,
    /// Events of several lanes.
    events: Box<[(u32, u32)]>,
    parents: [Node; 2],
}

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
    releases: Vec<Release>,
    variables: HashMap<usize, Variable>,
    /// What some nodes come to, by run and lane, warp or block.
    tables: HashMap<Node, HashMap<(u32, u32), u32>>,
}

/// Keys of a table beside the lanes' own numbers.
const WARPS: u32 = 1 << 16;
const BLOCK: u32 = 1 << 17;

fn is_wide(scope: Scope) -> bool {
    scope != Scope::Block
}

fn raise(slot: &mut u32, to: u32) {
    *slot = (*slot).max(to);
}

impl Clocks {
    /// Forgets the launch before.
    pub fn start_launch(&mut self) {
        self.releases.clear();
        self.releases.push(Release::default());
        self.variables.clear();
        self.tables.clear();
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

    /// The clock of an atomic operation of a lane. One that comes right behind a fence is a part of the
    /// release that it makes: whoever acquires that is after the operation too.
    #[inline]
    pub fn atomic_clock(&self, lane: u32) -> u32 {
        let clock = self.clock(lane);
        match self.fenced && self.fences[lane as usize].event == clock {
            true => clock.saturating_sub(1),
            false => clock,
        }
    }

    /// Whether an access of this block at this clock is before everything that follows in the block.
    #[inline]
    pub fn before_barrier(&self, clock: u32) -> bool {
        clock < self.block
    }

    /// Whether the access of block `run`, lane `other` at `clock` is before what `lane` does now.
    #[inline]
    pub fn ordered(&mut self, lane: u32, run: u32, other: u32, clock: u32) -> bool {
        self.ordered_in_block(lane, run, other, clock)
            || (self.fenced && self.has_acquired(lane, run, other, clock))
    }

    /// [`ordered`](Self::ordered), but for what only fences and atomic variables order.
    #[inline]
    pub fn ordered_in_block(&self, lane: u32, run: u32, other: u32, clock: u32) -> bool {
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

    #[cold]
    fn has_acquired(&mut self, lane: u32, run: u32, other: u32, clock: u32) -> bool {
        let node = self.acquired[lane as usize];
        if node == 0 {
            return false;
        }
        /// Tables that are kept at a time.
        const TABLES: usize = 64;
        if !self.tables.contains_key(&node) {
            if self.tables.len() >= TABLES {
                self.tables.clear();
            }
            let table = self.table(node);
            self.tables.insert(node, table);
        }
        let table = &self.tables[&node];
        [other, WARPS + other / 32, BLOCK]
            .iter()
            .any(|key| table.get(&(run, *key)).is_some_and(|event| clock < *event))
    }

    fn table(&self, node: Node) -> HashMap<(u32, u32), u32> {
        let mut table = HashMap::new();
        let mut raise_to = |run, key, event| {
            if event > 0 {
                raise(table.entry((run, key)).or_default(), event);
            }
        };
        let (mut seen, mut left) = (HashSet::new(), vec![node]);
        while let Some(node) = left.pop() {
            if node == 0 || !seen.insert(node) {
                continue;
            }
            if let Some(known) = self.tables.get(&node) {
                for (key, event) in known {
                    raise_to(key.0, key.1, *event);
                }
                continue;
            }
            let release = &self.releases[node as usize];
            left.extend(release.parents);
            raise_to(release.run, release.lane, release.event);
            raise_to(release.run, WARPS + release.lane / 32, release.warp);
            raise_to(release.run, BLOCK, release.block);
            for (i, event) in release
                .known
                .iter()
                .flat_map(|known| known.iter().enumerate())
            {
                raise_to(release.run, release.lane / 32 * 32 + i as u32, *event);
            }
            for (lane, event) in &release.events {
                raise_to(release.run, *lane, *event);
            }
        }
        table
    }

    fn add(&mut self, release: Release) -> Node {
        self.releases.push(release);
        (self.releases.len() - 1) as Node
    }

    fn join(&mut self, a: Node, b: Node) -> Node {
        match (a, b) {
            (0, other) | (other, 0) => other,
            (a, b) if a == b || self.releases[a as usize].parents.contains(&b) => a,
            (a, b) if self.releases[b as usize].parents.contains(&a) => b,
            (a, b) => self.add(Release {
                parents: [a, b],
                ..Release::default()
            }),
        }
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
                raise(all, *one);
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
            acquired = self.join(acquired, self.acquired[i]);
            handed_on = self.join(handed_on, self.handed_on[i]);
            let [device, local] = self.pending_of(*lane);
            pending = [self.join(pending[0], device), self.join(pending[1], local)];
            // Earlier ones have been handed on by the barrier behind them.
            let fence = &self.fences[i];
            if fence.wide && fence.event > self.block {
                events.push((*lane, fence.event));
                let before = fence.acquired;
                handed_on = self.join(handed_on, before);
            }
        }
        if !events.is_empty() {
            // What was before the last barrier has been fenced by whoever fenced since.
            let block = self.block;
            let node = self.add(Release {
                run: self.run,
                lane: events[0].0,
                block,
                events: events.into(),
                ..Release::default()
            });
            handed_on = self.join(handed_on, node);
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
        self.acquired[i] = self.join(self.acquired[i], local);
        self.pending[i] = [device, 0];
        if is_wide(scope) {
            self.acquired[i] = self.join(self.acquired[i], device);
            self.pending[i] = [0; 2];
        }
    }

    /// What a lane's next fence acquires, all in `pending`.
    fn pending_of(&mut self, lane: u32) -> [Node; 2] {
        let i = lane as usize;
        let [device, local] = std::mem::take(&mut self.latest[i]).nodes;
        self.pending[i] = [
            self.join(self.pending[i][0], device),
            self.join(self.pending[i][1], local),
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
                variable.local = self.release(lane, &fence, variable.local);
                if is_wide(scope) && (fence.event == 0 || fence.wide) {
                    variable.device = self.release(lane, &fence, variable.device);
                } else if is_wide(scope) {
                    variable.device = self.join(variable.device, self.handed_on[i]);
                }
            }
        }
        self.variables.insert(address, variable);
    }

    /// The release of `lane`'s `fence`, behind what was released before.
    fn release(&mut self, lane: u32, fence: &Fence, before: Node) -> Node {
        let latest = &self.releases[before as usize];
        if fence.event > 0
            && (latest.run, latest.lane, latest.event) == (self.run, lane, fence.event)
        {
            return before;
        }
        let handed_on = self.handed_on[lane as usize];
        let before = self.join(before, handed_on);
        if fence.event == 0 {
            return before;
        }
        self.add(Release {
            run: self.run,
            lane,
            event: fence.event,
            warp: fence.warp,
            block: fence.block,
            known: fence.known.clone(),
            events: Box::default(),
            parents: [before, fence.acquired],
        })
    }
}
