//! Lanes that wait for memory to change. They let lanes of their block and of other blocks run, and no lane waits forever.
//!
//! ```text
//! a lane looks again (`take_turns`):           turns += 1; suspend it behind the lanes that are ready, if there are any
//!     each ready lane has looked four times:   carry out a bulk copy; the block lets another block run
//! a lane waits for a word (`wait_for_change`): turns += 1; suspend it until the word differs from what it has seen
//! a lane changes memory:                       turns = 0; changes += 1
//! rounds of turns without a change, each of several looks of every lane:
//!     the first is over:                       watch plain writes too
//!     the second and each further one is over: tell the launch that this thread's blocks are idle
//!     all threads are idle for long enough:    a fault, which names the lanes
//! ```
//!
//! Atomic operations always tell that they change memory. For plain writes that would cost each of them too much, so they are
//! watched only when a fault is near. Time does not count in a followed launch, whose report must be the same each time: there
//! 2^18 turns are enough.

use core::sync::atomic::{AtomicU32, AtomicU64};

use super::*;
use crate::cpu::{Order, order};

/// How long the lanes of a thread's blocks have only waited.
#[derive(Default)]
pub(in crate::cpu) struct Waiting {
    /// The number of times that lanes have given way since one of them last changed memory.
    turns: Cell<u32>,
    /// The number of changes after such turns.
    changes: Cell<u64>,
    /// The launch's epoch in which the last round of turns began, and whether it was reported that the blocks are idle
    /// since. `None` if they are not idle.
    epoch: Cell<Option<(u64, bool)>>,
    /// Watches for plain writes, although the launch is not followed.
    watch: RefCell<Option<shadow::Watch>>,
    /// The number of turns in which each waiting lane has looked several times.
    round: u32,
    /// Whether blocks let others run at atomic operations, as the order's seed decides.
    pub switches_at_atomics: bool,
}

impl Waiting {
    /// Makes the state for a thread whose blocks have at most `lanes` lanes.
    pub fn new(lanes: usize, switches_at_atomics: bool) -> Self {
        Self {
            round: (LOOKS * lanes as u32).next_power_of_two().max(256),
            switches_at_atomics,
            ..Self::default()
        }
    }

    /// Notes that a block waits. Returns a number that differs as soon as a lane changes memory.
    pub fn begins(&self) -> u64 {
        self.turns.set(self.turns.get().max(1));
        self.changes.get()
    }

    /// Notes that all of the thread's blocks have waited for another round. Returns whether no block of the launch makes
    /// progress, and has not for long enough. If `at_once` is true, time does not count.
    pub fn still(&self, progress: &Progress, at_once: bool) -> bool {
        let Some((mut epoch, mut told)) = self.epoch.get() else {
            self.epoch.set(Some((progress.block_changes(), false)));
            return false;
        };
        let over = progress.still_idle(&mut epoch, &mut told, at_once);
        self.epoch.set(Some((epoch, told)));
        over
    }

    /// Returns what [`begins`](Self::begins) returned, if nothing has changed since.
    pub fn changes(&self) -> u64 {
        self.changes.get()
    }
}

/// The reason why a block lets another one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum GivesUp {
    /// All its lanes have looked at what they wait for.
    Looks,
    /// The order's seed decides so.
    Seed,
}

/// A word that an atomic operation may change.
#[derive(Clone, Copy)]
pub(in crate::cpu) enum Word {
    Narrow(*mut u32),
    Wide(*mut u64),
}

impl Word {
    /// # Safety
    /// The word must exist and be aligned.
    unsafe fn read(self) -> u64 {
        // SAFETY: by the contract.
        unsafe {
            match self {
                Self::Narrow(word) => u64::from(AtomicU32::from_ptr(word).load(Ordering::Relaxed)),
                Self::Wide(word) => AtomicU64::from_ptr(word).load(Ordering::Relaxed),
            }
        }
    }
}

/// A lane that waits for a word to change.
pub(in crate::cpu) struct WaitsFor {
    lane: u32,
    word: Word,
    seen: u64,
}

/// The number of turns without any change after which blocks are idle, if their launch is followed. Otherwise time counts,
/// and two rounds are enough; after the first round plain writes are watched for too.
const IDLE_FOLLOWED: u32 = 1 << 18;
/// The number of times that each runnable lane has given way before the block lets another one run.
const LOOKS: u32 = 4;

impl BlockState {
    /// Lets others run: the lanes that are ready, or else other blocks and threads. `name` is the operation by which the
    /// lane waits, at the line `at`.
    pub fn take_turns(&self, lane: &Lane, name: &'static str, at: &'static Location<'static>) {
        if !self.may_wait(lane) {
            return;
        }
        self.count_turn(lane, name, at);
        let others = self.ready.borrow().len() as u32;
        if self.all_started.get() && (others == 0 || self.looks.get() > LOOKS * (others + 1)) {
            // What the lane waits for may depend on a copy's bytes.
            self.load_lands_for(lane);
        }
        {
            let mut ready = self.ready.borrow_mut();
            let all = self.all_started.get();
            if all && self.looks.get() > LOOKS * (ready.len() as u32 + 1) {
                self.gives_up.set(Some(GivesUp::Looks));
            } else if all && ready.is_empty() {
                drop(ready);
                if !shadow::is_on() {
                    std::thread::yield_now();
                }
                return;
            }
            ready.push_back(lane.linear);
        }
        lane.suspend();
    }

    fn count_turn(&self, lane: &Lane, name: &'static str, at: &'static Location<'static>) {
        lane.gave_way.set(Some((name, at)));
        self.looks.set(self.looks.get().saturating_add(1));
        let turns = self.waiting.turns.get() + 1;
        self.waiting.turns.set(turns);
        if turns >= self.waiting.round || self.progress().failed().is_some() {
            self.waits_long(lane, turns);
        }
    }

    /// Waits until a word differs from the value that the lane has seen, or until it may differ. Returns false if the lane
    /// must not wait.
    pub fn wait_for_change(
        &self,
        lane: &Lane,
        word: Word,
        seen: u64,
        at: &'static Location<'static>,
    ) -> bool {
        if !self.may_wait(lane) {
            return false;
        }
        self.count_turn(lane, "wait_until", at);
        let lane_waits = WaitsFor {
            lane: lane.linear,
            word,
            seen,
        };
        self.parked.borrow_mut().push(lane_waits);
        lane.suspend();
        true
    }

    /// Makes those lanes ready whose words have changed. Returns whether there are any.
    pub fn wake(&self) -> bool {
        let mut parked = self.parked.borrow_mut();
        let before = parked.len();
        if before == 0 {
            return false;
        }
        let mut released = self.released.borrow_mut();
        parked.retain(|waits| {
            // SAFETY: the lane has read the word, in memory that lives as long as the launch.
            let stays = unsafe { waits.word.read() } == waits.seen;
            if !stays {
                released.push(waits.lane);
            }
            stays
        });
        drop(released);
        let some = parked.len() < before;
        if some {
            self.enqueue_released();
            self.goes_on();
        }
        some
    }

    /// Returns whether lanes wait for words to change.
    pub fn has_parked(&self) -> bool {
        !self.parked.borrow().is_empty()
    }

    /// Notes that the block runs again, after others.
    pub fn comes_back(&self) {
        self.looks.set(0);
    }

    /// Notes that a lane has executed an atomic operation that other blocks see. It may let them run.
    #[inline]
    pub fn at_atomic(&self, lane: &Lane) {
        if let Some(count) = self.atomics.get() {
            self.draw_at_atomic(lane, count);
        }
    }

    #[cold]
    fn draw_at_atomic(&self, lane: &Lane, count: u32) {
        /// One in four of a block's first operations lets others run: these take the block's number and publish its
        /// results. Few of the later ones do, so that a kernel that counts by atomic operations is not slowed down.
        const FIRST: u32 = 16;
        let Order::Seeded(seed) = self.options.order else {
            return;
        };
        self.atomics.set(Some(count.wrapping_add(1)));
        let one_in = if count < FIRST { 4 } else { 64 };
        let drawn = order::draw(seed, self.block_idx.get(), lane.linear, count);
        if !drawn.is_multiple_of(one_in) || !self.may_wait(lane) {
            return;
        }
        self.gives_up.set(Some(GivesUp::Seed));
        self.ready.borrow_mut().push_front(lane.linear);
        lane.suspend();
    }

    /// Notes that a lane has changed memory.
    #[inline]
    pub fn changed(&self) {
        if self.waiting.turns.get() != 0 {
            self.goes_on();
        }
    }

    #[cold]
    pub(super) fn goes_on(&self) {
        self.looks.set(0);
        self.waiting.turns.set(0);
        self.waiting.changes.set(self.waiting.changes.get() + 1);
        if self.waiting.epoch.take().is_some() {
            self.progress().block_changes();
        }
        self.waiting.watch.take();
    }

    /// Notes that the block ends or begins.
    pub fn waits_no_more(&self) {
        self.changed();
    }

    #[cold]
    fn waits_long(&self, lane: &Lane, turns: u32) {
        let progress = self.progress();
        if let Some(failed) = progress.failed()
            && (failed < self.number.get() || turns >= self.waiting.round)
        {
            self.cancel(lane);
        }
        if !turns.is_multiple_of(self.waiting.round) {
            return;
        }
        let (idle, followed) = match shadow::is_on() {
            true => (IDLE_FOLLOWED, true),
            false => (2 * self.waiting.round, false),
        };
        if turns == idle / 2 && !followed {
            self.waiting.watch.replace(Some(shadow::Watch::start()));
        }
        if turns < idle {
            return;
        }
        // Counting continues from this number, so that it does not overflow.
        self.waiting.turns.set(idle);
        let over = self.waiting.still(progress, followed);
        if over {
            let (first, kind) = self.idle();
            self.record(first.map_or(lane, |first| self.lane(first)), kind);
            lane.end()
        }
    }

    /// Returns the lanes that look at memory, those that wait for them, and which of them is the first.
    pub fn waiting_lanes(&self) -> (Option<u32>, Vec<WaitingLanes>) {
        let mut waiting = self.waiting_groups();
        let mut at_rest = vec![false; self.lanes as usize];
        for linear in waiting.iter().flat_map(|(lanes, _, _)| &lanes.0) {
            at_rest[*linear as usize] = true;
        }
        let live =
            |linear: u32| self.warps.borrow()[linear as usize / 32].live >> (linear % 32) & 1 != 0;
        let mut loops: Vec<WaitingLanes> = Vec::new();
        let lanes = (0..self.lanes).filter(|linear| live(*linear) && !at_rest[*linear as usize]);
        for linear in lanes {
            let Some((name, at)) = self.lane(linear).gave_way.get() else {
                continue;
            };
            match loops.iter_mut().find(|(_, n, a)| *n == name && *a == at) {
                Some((group, _, _)) => group.0.push(linear),
                None => loops.push((LaneSet(vec![linear]), name, at)),
            }
        }
        loops.append(&mut waiting);
        let first = loops.first().and_then(|(lanes, _, _)| lanes.0.first());
        (first.copied(), loops)
    }

    /// Returns the fault of lanes that wait for something that no lane does, and the first of them.
    pub fn idle(&self) -> (Option<u32>, FaultKind) {
        let (first, waiting) = self.waiting_lanes();
        let kind = FaultKind::Idle {
            waiting,
            others: Vec::new(),
            not_started: self.progress().not_started(),
        };
        (first, kind)
    }
}
