//! The blocks that one thread has started. One of them runs at a time, and another one while it waits.
//!
//! ```text
//! next = the first cluster's first block
//! while there is a next block:
//!     run it until it ends, fails, waits, or lets others run
//!     if it waits: note the number of changes of memory that lanes have made so far
//!     able = the thread's blocks, from the one behind it on, that do not wait, or for which memory has changed since
//!     next = the first of `able`                          (a seeded order draws one, or starts another)
//!     if nobody is able:
//!         if there is room, and a cluster is left: start it
//!         else if some block looks at memory in a loop of its own: run the next block again
//!         else all wait for words, which another thread may change: look again later (`rest`)
//!              a followed launch has no other thread: a fault
//! ```
//!
//! A kernel whose blocks never wait runs block after block, and blocks that wait for each other find each other running. To
//! start all blocks at once would take stacks for all their lanes. On a launch's only thread a pseudo-random order also lets
//! other blocks run after atomic operations: those by which a block takes its number and publishes its results.
// A fault ends the launch: it is made once, and returned through a few calls.
#![allow(clippy::result_large_err)]

use core::{ops::Range, sync::atomic::AtomicU64};
use std::{rc::Rc, sync::atomic::Ordering, time::Duration};

use super::{
    Launch, Order,
    block::{Cluster, GivesUp, Waiting},
    fault::{Fault, FaultKind},
    order,
    progress::Progress,
    runner::{BlockRunner, Stage},
    shadow,
    stacks::Stacks,
};

/// The clusters of a launch that a thread takes: pieces of the launch's order that other threads have left.
pub(super) struct Positions<'a> {
    clusters: u64,
    pieces: u64,
    next: &'a AtomicU64,
    piece: Range<u64>,
}

impl<'a> Positions<'a> {
    pub fn new(clusters: u64, pieces: u64, next: &'a AtomicU64) -> Self {
        let piece = 0..0;
        Self {
            clusters,
            pieces,
            next,
            piece,
        }
    }
}

impl Iterator for Positions<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        while self.piece.is_empty() {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.pieces {
                return None;
            }
            let start = |piece: u64| {
                (u128::from(self.clusters) * u128::from(piece) / u128::from(self.pieces)) as u64
            };
            self.piece = start(piece)..start(piece + 1);
        }
        self.piece.next()
    }
}

/// A place for a block.
struct Slot<'a> {
    runner: BlockRunner<'a>,
    /// The block's number, while the slot has one.
    block: Option<u64>,
    /// Set while the block waits: what `Waiting::begins` returned then.
    waits_since: Option<u64>,
    /// Whether all lanes wait for words to change, or for lanes that do. None of them looks by itself.
    rests: bool,
}

/// The blocks that a thread has started.
pub(super) struct Crew<'a> {
    launch: &'a Launch<'a>,
    stacks: &'a Stacks,
    progress: &'a Progress,
    waiting: Rc<Waiting>,
    /// The remaining clusters, the next one first.
    positions: std::iter::Peekable<Positions<'a>>,
    /// The places of the clusters that the thread has started, one after the other.
    slots: Vec<Slot<'a>>,
    /// The number of blocks of a cluster, and the most clusters that the thread has started.
    per_cluster: usize,
    most: usize,
    followed: bool,
    /// The number of times that the order's seed has chosen a block.
    drawn: u32,
    /// The number of times that all blocks have waited since one of them continued.
    rests: u32,
}

impl<'a> Crew<'a> {
    /// Makes the crew of a launch's thread, which is the only thread or one of several. Returns `None` if no block is left.
    pub fn new(
        launch: &'a Launch<'a>,
        stacks: &'a Stacks,
        progress: &'a Progress,
        positions: Positions<'a>,
        followed: bool,
    ) -> Option<Self> {
        let mut positions = positions.peekable();
        positions.peek()?;
        progress.worker_starts();
        let blocks = launch.config.blocks();
        let switches = stacks.workers == 1 && blocks > 1;
        let switches = switches && matches!(launch.options.order, Order::Seeded(_));
        let per_cluster = launch.kernel.blocks_per_cluster() as usize;
        let most = stacks.clusters_of_a_thread(blocks / per_cluster as u64);
        let lanes = most * per_cluster * launch.config.threads() as usize;
        let waiting = Waiting::new(lanes, switches);
        Some(Self {
            launch,
            stacks,
            progress,
            waiting: Rc::new(waiting),
            positions,
            slots: Vec::new(),
            per_cluster,
            most,
            followed,
            drawn: 0,
            rests: 0,
        })
    }

    /// Runs all blocks that it gets. Calls `fails` for blocks that fail, and continues if that returns true.
    ///
    /// # Safety
    /// As for [`launch`](super::launch).
    pub unsafe fn run(mut self, mut fails: impl FnMut(u64, Fault) -> bool) {
        // SAFETY: by the contract.
        let mut next = unsafe { self.start_cluster() };
        while let Some(current) = next {
            shadow::with(|tracker| tracker.switch_to(current));
            let slot = &mut self.slots[current];
            // SAFETY: by the contract.
            let stage = unsafe { slot.runner.run(self.launch.params) };
            let block = slot.block;
            let by_seed = matches!(stage, Ok(Stage::GivesUp(GivesUp::Seed)));
            if !matches!(stage, Ok(Stage::Waits)) {
                self.rests = 0;
            }
            match stage {
                Ok(Stage::GivesUp(GivesUp::Seed)) => slot.waits_since = None,
                Ok(stage @ (Stage::Waits | Stage::GivesUp(_))) => {
                    slot.waits_since = Some(self.waiting.begins());
                    slot.rests = stage == Stage::Waits;
                }
                Ok(Stage::Done) | Err(_) => slot.block = None,
            }
            if let (Err(Some(mut fault)), Some(block)) = (stage, block) {
                self.add_others(&mut fault);
                if !fails(block, fault) {
                    return;
                }
            }
            // SAFETY: by the contract.
            next = match unsafe { self.choose(current, by_seed) } {
                // Blocks that are no longer needed have made room.
                // SAFETY: by the contract.
                Ok(None) => unsafe { self.start_cluster() },
                Ok(next) => next,
                Err((block, fault)) => {
                    fails(block, fault);
                    return;
                }
            };
        }
    }

    /// Returns the slot whose block runs next after that of `current`, or `None` if there is no block any more. With
    /// `by_seed` the block of `current` could continue, but the order's seed chooses another.
    ///
    /// # Safety
    /// As for [`launch`](super::launch).
    unsafe fn choose(
        &mut self,
        current: usize,
        by_seed: bool,
    ) -> Result<Option<usize>, (u64, Fault)> {
        let count = self.slots.len();
        let behind = (1..=count).map(|i| (current + i) % count);
        let started: Vec<usize> = behind.filter(|i| self.slots[*i].block.is_some()).collect();
        let changes = self.waiting.changes();
        let waits = |i: &&usize| self.slots[**i].waits_since == Some(changes);
        let able: Vec<usize> = started.iter().filter(|i| !waits(i)).copied().collect();
        let starts = match (self.launch.options.order, able.len()) {
            (_, 0) => true,
            (Order::Seeded(seed), count) => {
                // A block that could start is as good as one that has started. The current block, which is the last, is
                // not.
                let more = self.has_room() && self.waiting.switches_at_atomics;
                let more = more && self.positions.peek().is_some();
                let all = count + usize::from(more);
                let others = all - usize::from(by_seed && all > 1);
                let drawn = order::draw(seed, [0; 3], u32::MAX, self.drawn);
                self.drawn = self.drawn.wrapping_add(1);
                match (drawn % others as u64) as usize {
                    0 if more => true,
                    i => return Ok(Some(able[i - usize::from(more)])),
                }
            }
            _ => false,
        };
        if starts && self.has_room() {
            // SAFETY: by the contract.
            let slot = unsafe { self.start_cluster() };
            if slot.is_some() {
                return Ok(slot);
            }
        }
        if let Some(next) = able.first() {
            return Ok(Some(*next));
        }
        let looks = started.iter().any(|i| !self.slots[*i].rests);
        match started.first() {
            Some(first) if !self.followed => match looks {
                true => Ok(Some(*first)),
                false => self.rest(&started),
            },
            // Nothing that a resting block waits for can change any more, unless a block that looks continues by itself.
            Some(_) if looks => Ok(started.into_iter().find(|i| !self.slots[*i].rests)),
            Some(first) => Err(self.idle(*first)),
            None => Ok(None),
        }
    }

    /// Handles that all blocks of the thread wait for words. What they wait for may come from another thread. Returns the
    /// slot to run next.
    fn rest(&mut self, started: &[usize]) -> Result<Option<usize>, (u64, Fault)> {
        let failed = self.progress.failed();
        let over = self.waiting.still(self.progress, failed.is_some());
        if let Some(failed) = failed {
            // The lowest block that failed counts. Earlier blocks continue as long as any block makes progress.
            for i in started {
                let slot = &mut self.slots[*i];
                if over || slot.block.is_some_and(|block| block > failed) {
                    slot.runner.cancel();
                    slot.block = None;
                }
            }
        } else if over {
            return Err(self.idle(started[0]));
        }
        /// The number of times that the thread yields before it sleeps.
        const YIELDS: u32 = 64;
        self.rests = self.rests.saturating_add(1);
        match self.rests < YIELDS {
            true => std::thread::yield_now(),
            false => std::thread::sleep(Duration::from_micros(100)),
        }
        let left = started.iter().find(|i| self.slots[**i].block.is_some());
        Ok(left.copied())
    }

    /// Returns the fault of blocks that wait for something that no lane does, with the block in this slot as the first.
    fn idle(&self, first: usize) -> (u64, Fault) {
        let slot = &self.slots[first];
        let mut fault = slot.runner.idle();
        self.add_others(&mut fault);
        (slot.block.unwrap_or_default(), fault)
    }

    /// Returns the clusters that have ended, by their numbers among those of the thread.
    fn ended(&self) -> impl Iterator<Item = usize> {
        let clusters = self.slots.chunks(self.per_cluster).enumerate();
        let ended = |slots: &[Slot<'_>]| slots.iter().all(|slot| slot.block.is_none());
        clusters.filter_map(move |(cluster, slots)| ended(slots).then_some(cluster))
    }

    /// Returns whether the thread may start another cluster.
    fn has_room(&self) -> bool {
        self.slots.len() / self.per_cluster - self.ended().count() < self.most
    }

    /// Starts the next cluster that is needed, if there is one and room for it. Returns the block that runs first.
    ///
    /// # Safety
    /// As for [`launch`](super::launch).
    unsafe fn start_cluster(&mut self) -> Option<usize> {
        let (order, count) = (&self.launch.order, self.per_cluster);
        let block = |cluster: u64, rank: usize| order.block(cluster * count as u64 + rank as u64);
        // The lowest block that failed counts: later blocks need not run, earlier ones must.
        let failed = self.progress.failed();
        let needed = |cluster| failed.is_none_or(|lowest| block(cluster, 0) <= lowest);
        while self.positions.next_if(|next| !needed(*next)).is_some() {}
        self.positions.peek()?;
        let free = self.ended().next();
        let first = match free {
            Some(cluster) => cluster * count,
            None => {
                let first = self.slots.len();
                if first > 0 && !self.stacks.make_room(self.most, self.followed) {
                    self.most = first / count;
                    return None;
                }
                let cluster = Rc::new(Cluster::default());
                for slot in first..first + count {
                    // SAFETY: the crew does not outlive the launch, by the contract.
                    let runner = unsafe {
                        BlockRunner::new(
                            self.launch,
                            self.stacks,
                            self.progress,
                            slot as u32,
                            Rc::clone(&cluster),
                            Rc::clone(&self.waiting),
                        )
                    };
                    self.slots.push(Slot {
                        runner,
                        block: None,
                        waits_since: None,
                        rests: false,
                    });
                }
                first
            }
        };
        let cluster = self.positions.next()?;
        let lanes = count as u32 * self.launch.config.threads() as u32;
        self.slots[first].runner.state.cluster().start(lanes);
        for (rank, place) in self.slots[first..first + count].iter_mut().enumerate() {
            shadow::with(|tracker| tracker.switch_to(first + rank));
            let block = block(cluster, rank);
            (place.block, place.waits_since) = (Some(block), None);
            // SAFETY: by the contract.
            unsafe { place.runner.prepare(block, self.launch.params) };
        }
        let rank = match self.launch.options.order {
            Order::Forward => 0,
            Order::Backward => count - 1,
            Order::Seeded(seed) => {
                (order::draw(seed, [0; 3], u32::MAX - 1, cluster as u32) % count as u64) as usize
            }
        };
        Some(first + rank)
    }

    /// Adds the other blocks to a fault of lanes that wait for something that no lane does.
    fn add_others(&self, fault: &mut Fault) {
        let block = fault.block;
        if let FaultKind::Idle { others, .. } = &mut fault.kind {
            let started = self.slots.iter().filter(|slot| slot.block.is_some());
            let mut waiting: Vec<_> = started
                .map(|slot| &slot.runner.state)
                .map(|state| (state.block_idx.get(), state.waiting_lanes().1))
                .filter(|(other, waiting)| *other != block && !waiting.is_empty())
                .collect();
            waiting.sort_by_key(|(block, _)| [block[2], block[1], block[0]]);
            *others = waiting;
        }
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.slots.clear();
        self.progress.worker_ends();
    }
}
