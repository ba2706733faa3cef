//! Mbarriers, and the bulk copies that complete on them.
//!
//! ```text
//! arrive:         missing += the bytes to expect; pending -= 1; complete
//! a copy starts:  note it
//! a copy lands:   move its bytes; missing -= its bytes; complete
//! complete:       if pending == 0 and missing == 0: the next phase begins; the lanes that wait are ready
//! wait(parity):   if the current phase has this parity: suspend the lane until that phase is complete
//! ```
//!
//! A copy lands when no lane is ready, or when each lane has looked in vain. With a seeded order it may land at any arrival,
//! wait or start of a copy, and any of the copies under way may be the one. So a kernel that reads without a wait reads what
//! was there before.

use super::*;
use crate::cpu::{Order, copies::Moment, order, shadow::Node};

/// The name of the operation by which lanes wait.
pub(super) const WAIT: &str = "Mbarrier::wait";
/// The name while a phase misses only bytes of copies.
const WAIT_FOR_BYTES: &str = "Mbarrier::wait, for bytes of copies";

/// The largest number of arrivals, and of bytes, of a phase.
const MOST: i64 = (1 << 20) - 1;

/// What an arrival at another block's mbarrier releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Releases {
    All,
    /// Only what the lane has read, to copies.
    Reads,
}

/// What is released at an mbarrier: to lanes that acquire from those of the block, to lanes that acquire from those of the
/// cluster, and to copies that a lane starts afterwards.
type Released = [Node; 3];

/// The last of them.
const TO_COPIES: usize = 2;

/// Notes that a lane acquires what a phase has released.
fn acquire(tracker: &mut shadow::Tracker, lane: u32, wide: bool, released: Released) {
    let own = released[usize::from(wide)];
    tracker.acquire_phase(lane, own);
    if released[TO_COPIES] != own {
        tracker.acquire_for_copies(lane, released[TO_COPIES]);
    }
}

/// An mbarrier.
struct Mbarrier {
    address: usize,
    /// Whether it is initialized, and has not been invalidated since.
    valid: bool,
    /// The lane that initialized it, and whether the asynchronous proxy knows that it did.
    by: u32,
    fenced: bool,
    /// The arrivals that each phase takes.
    count: u32,
    /// The arrivals that the phase misses.
    pending: u32,
    /// The bytes that the phase expects, less those that copies have brought.
    missing: i64,
    /// The bytes that the phase has been told to expect.
    expected: i64,
    /// The bytes of copies that have not been carried out.
    left: i64,
    /// The phases that are complete since the initialization. The lowest bit is the phase's parity.
    phase: u32,
    /// The phases of earlier initializations.
    earlier: u32,
    /// What lanes have released by arriving, and what the last phase has released.
    arrived: Released,
    released: Released,
    /// The lanes that wait, and whether each acquires from those of the cluster.
    waiting: Vec<(u32, bool, &'static Location<'static>)>,
    /// Copies of phases for which no lane has waited yet, with the number of the phase and the lane that started
    /// the copy.
    not_awaited: Vec<(u32, u32, AsyncCopy)>,
}

/// A copy that has not been carried out.
struct Load {
    copy: AsyncCopy,
    lane: u32,
    mbarrier: usize,
    /// The phase in which it was started.
    phase: u32,
}

/// The mbarriers of a block, and its copies that have not been carried out.
#[derive(Default)]
pub(super) struct Mbarriers {
    all: Vec<Mbarrier>,
    loads: VecDeque<Load>,
    drawn: u32,
}

impl Mbarriers {
    pub fn clear(&mut self) {
        self.all.clear();
        self.loads.clear();
        self.drawn = 0;
    }

    fn index(&self, address: usize) -> Option<usize> {
        self.all
            .iter()
            .position(|barrier| barrier.valid && barrier.address == address)
    }

    /// Returns the lanes that wait, in order, with the operation's name and the line of each.
    pub fn waiting(&self) -> Vec<(u32, &'static str, &'static Location<'static>)> {
        let of = |barrier: &Mbarrier| {
            let name = match barrier.pending {
                0 => WAIT_FOR_BYTES,
                _ => WAIT,
            };
            let waiting = barrier.waiting.iter();
            waiting
                .map(move |(lane, _, at)| (*lane, name, *at))
                .collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.all.iter().flat_map(of).collect();
        all.sort_by_key(|(lane, ..)| *lane);
        all
    }
}

impl Mbarrier {
    /// Returns the number of the current phase among those of all initializations.
    fn number(&self) -> u32 {
        self.earlier.saturating_add(self.phase)
    }
}

impl BlockState {
    fn mbarrier_fault(&self, lane: &Lane, what: String, at: &'static Location<'static>) -> ! {
        lane.block().fail(lane, FaultKind::Mbarrier { what, at })
    }

    /// Returns the index of the mbarrier at an address.
    fn mbarrier_at(&self, lane: &Lane, address: usize, at: &'static Location<'static>) -> usize {
        let found = self.mbarriers.borrow().index(address);
        found.unwrap_or_else(|| {
            let what = "an mbarrier that is not initialized, or no longer valid".to_owned();
            self.mbarrier_fault(lane, what, at)
        })
    }

    pub fn mbarrier_init(
        &self,
        lane: &Lane,
        address: usize,
        count: u32,
        at: &'static Location<'static>,
    ) {
        if !self.may_wait(lane) {
            return;
        }
        if count == 0 || i64::from(count) > MOST {
            let what = format!("the count of an mbarrier must be 1 to {MOST}, given {count}");
            self.mbarrier_fault(lane, what, at);
        }
        if self.mbarriers.borrow().index(address).is_some() {
            let what =
                "an mbarrier is initialized again, without having been invalidated".to_owned();
            self.mbarrier_fault(lane, what, at);
        }
        let mut mbarriers = self.mbarriers.borrow_mut();
        let all = &mut mbarriers.all;
        let old = all.iter_mut().find(|barrier| barrier.address == address);
        if let Some(barrier) = old {
            barrier.earlier = barrier.number();
            (barrier.valid, barrier.by, barrier.fenced) = (true, lane.linear, false);
            (barrier.count, barrier.pending, barrier.phase) = (count, count, 0);
            return;
        }
        if all.len() == shadow::MOST_MBARRIERS {
            drop(mbarriers);
            let what = format!("more than {} mbarriers in a block", shadow::MOST_MBARRIERS);
            self.mbarrier_fault(lane, what, at);
        }
        all.push(Mbarrier {
            address,
            valid: true,
            by: lane.linear,
            fenced: false,
            count,
            pending: count,
            missing: 0,
            expected: 0,
            left: 0,
            phase: 0,
            earlier: 0,
            arrived: [0; 3],
            released: [0; 3],
            waiting: Vec::new(),
            not_awaited: Vec::new(),
        });
    }

    pub fn mbarrier_invalidate(&self, lane: &Lane, address: usize, at: &'static Location<'static>) {
        if !self.may_wait(lane) {
            return;
        }
        let index = self.mbarrier_at(lane, address, at);
        let mut mbarriers = self.mbarriers.borrow_mut();
        let barrier = &mut mbarriers.all[index];
        let uses = [
            (!barrier.waiting.is_empty(), "lanes wait there"),
            (barrier.pending != barrier.count, "some lanes have arrived"),
            (barrier.missing != 0, "bytes of copies are expected there"),
        ];
        if let Some((_, why)) = uses.iter().find(|(is, _)| *is) {
            let what = format!("an mbarrier is invalidated while it is in use: {why}");
            drop(mbarriers);
            self.mbarrier_fault(lane, what, at);
        }
        barrier.valid = false;
    }

    /// Notes that a lane tells the asynchronous proxy of the mbarriers that it has initialized.
    pub fn mbarrier_fence(&self, lane: &Lane) {
        for barrier in &mut self.mbarriers.borrow_mut().all {
            barrier.fenced |= barrier.by == lane.linear;
        }
    }

    /// Arrives at an mbarrier of this block, after adding to the bytes that the phase expects. The lane may be another block's.
    pub fn mbarrier_arrive(
        &self,
        lane: &Lane,
        address: usize,
        (bytes, releases): (u32, Releases),
        at: &'static Location<'static>,
    ) {
        if !lane.block().may_wait(lane) {
            return;
        }
        let is_own = core::ptr::eq(self, lane.block());
        if is_own {
            self.load_lands_by_seed(lane);
        }
        let index = self.mbarrier_at(lane, address, at);
        let mut mbarriers = self.mbarriers.borrow_mut();
        let barrier = &mut mbarriers.all[index];
        if barrier.pending == 0 {
            let what = format!(
                "an mbarrier takes {} arrivals in a phase, and this is one more before its bytes have come",
                barrier.count
            );
            drop(mbarriers);
            self.mbarrier_fault(lane, what, at);
        }
        barrier.missing += i64::from(bytes);
        barrier.expected += i64::from(bytes);
        if barrier.expected > MOST {
            let what = format!(
                "a phase of an mbarrier expects at most {MOST} bytes, given {}",
                barrier.expected
            );
            drop(mbarriers);
            self.mbarrier_fault(lane, what, at);
        }
        barrier.pending -= 1;
        let address = barrier.address;
        let arrive = |before| shadow::with(|tracker| tracker.arrive(lane.linear, address, before));
        let first = match (is_own, releases) {
            (true, _) => 0,
            (false, Releases::All) => 1,
            (false, Releases::Reads) => TO_COPIES,
        };
        // Most often they are the same.
        let mut latest = (0, 0);
        for node in &mut barrier.arrived[first..] {
            if latest.1 == 0 || latest.0 != *node {
                latest = (*node, arrive(*node).unwrap_or(0));
            }
            *node = latest.1;
        }
        drop(mbarriers);
        self.changed();
        if let Err(what) = self.mbarrier_advances(index) {
            self.mbarrier_fault(lane, what, at);
        }
    }

    /// Completes an mbarrier's phase if it misses nothing. Returns what is wrong with its bytes.
    fn mbarrier_advances(&self, index: usize) -> Result<(), String> {
        let mut mbarriers = self.mbarriers.borrow_mut();
        let barrier = &mut mbarriers.all[index];
        if barrier.pending > 0 {
            return Ok(());
        }
        let brought = barrier.expected - barrier.missing + barrier.left;
        // The phase would end before its copies, or never.
        if brought > barrier.expected {
            return Err(format!(
                "the copies that complete a phase of an mbarrier have {brought} bytes, and it expects {}",
                barrier.expected
            ));
        }
        if barrier.missing != 0 {
            return Ok(());
        }
        let (number, mut nodes) = (barrier.number(), barrier.arrived);
        let complete = |tracker: &mut shadow::Tracker| {
            let mut latest = (0, 0);
            for node in &mut nodes {
                if latest.1 == 0 || latest.0 != *node {
                    latest = (*node, tracker.complete(index as u32, number, *node));
                }
                *node = latest.1;
            }
            nodes
        };
        let nodes = shadow::with(|tracker| tracker.in_slot(self.slot, complete));
        barrier.released = nodes.unwrap_or_default();
        barrier.arrived = barrier.released;
        barrier.phase = barrier.phase.wrapping_add(1);
        (barrier.pending, barrier.expected) = (barrier.count, 0);
        let waiting = core::mem::take(&mut barrier.waiting);
        if !waiting.is_empty() {
            barrier.not_awaited.clear();
        }
        let released = barrier.released;
        drop(mbarriers);
        let all_acquire = |tracker: &mut shadow::Tracker| {
            for (lane, wide, _) in &waiting {
                acquire(tracker, *lane, *wide, released);
            }
        };
        shadow::with(|tracker| tracker.in_slot(self.slot, all_acquire));
        let lanes = waiting.iter().map(|(lane, ..)| *lane);
        self.released.borrow_mut().extend(lanes);
        self.enqueue_released();
        self.goes_on();
        Ok(())
    }

    /// Waits until the phase of this parity is complete. `wide` says whether the lane acquires from those of the cluster.
    pub fn mbarrier_wait(
        &self,
        lane: &Lane,
        address: usize,
        (parity, wide): (u32, bool),
        at: &'static Location<'static>,
    ) {
        if !self.may_wait(lane) {
            return;
        }
        self.load_lands_by_seed(lane);
        if self.mbarrier_is_complete(lane, address, (parity, wide), at) {
            return;
        }
        let index = self.mbarrier_at(lane, address, at);
        let mut mbarriers = self.mbarriers.borrow_mut();
        mbarriers.all[index].waiting.push((lane.linear, wide, at));
        drop(mbarriers);
        lane.suspend();
    }

    /// Returns whether the phase of this parity is complete. `wide` as for [`mbarrier_wait`](Self::mbarrier_wait).
    pub fn mbarrier_is_complete(
        &self,
        lane: &Lane,
        address: usize,
        (parity, wide): (u32, bool),
        at: &'static Location<'static>,
    ) -> bool {
        if parity > 1 {
            let what = format!("the parity of a phase is 0 or 1, given {parity}");
            self.mbarrier_fault(lane, what, at);
        }
        let index = self.mbarrier_at(lane, address, at);
        let mut mbarriers = self.mbarriers.borrow_mut();
        let barrier = &mut mbarriers.all[index];
        if barrier.phase % 2 == parity {
            return false;
        }
        let current = barrier.number();
        barrier.not_awaited.retain(|(phase, ..)| *phase >= current);
        let released = barrier.released;
        drop(mbarriers);
        shadow::with(|tracker| acquire(tracker, lane.linear, wide, released));
        true
    }

    /// Starts a copy to this block's shared memory that completes on its mbarrier at an address. The lane may be another
    /// block's.
    pub fn load_starts(&self, lane: &Lane, copy: AsyncCopy, address: usize) {
        if !lane.block().may_wait(lane) {
            return;
        }
        let index = self.mbarrier_at(lane, address, copy.at);
        let mut mbarriers = self.mbarriers.borrow_mut();
        let barrier = &mut mbarriers.all[index];
        if !barrier.fenced {
            let what = format!(
                "a copy that completes on an mbarrier without a fence behind its initialization by lane {}",
                barrier.by
            );
            drop(mbarriers);
            self.mbarrier_fault(lane, what, copy.at);
        }
        let number = barrier.number();
        barrier.left += copy.bytes as i64;
        barrier.not_awaited.push((number, lane.linear, copy));
        mbarriers.loads.push_back(Load {
            copy,
            lane: lane.linear,
            mbarrier: index,
            phase: number,
        });
        drop(mbarriers);
        shadow::load_starts(lane, &copy, self.slot, (index as u32, number));
        if let Err(what) = self.mbarrier_advances(index) {
            self.mbarrier_fault(lane, what, copy.at);
        }
        match core::ptr::eq(self, lane.block()) {
            true => self.load_lands_by_seed(lane),
            // The block may wait for the copy.
            false => self.changed(),
        }
    }

    /// Carries out a copy, if the order's seed decides so now.
    fn load_lands_by_seed(&self, lane: &Lane) {
        let Order::Seeded(seed) = self.options.order else {
            return;
        };
        let mut mbarriers = self.mbarriers.borrow_mut();
        if mbarriers.loads.is_empty() {
            return;
        }
        mbarriers.drawn = mbarriers.drawn.wrapping_add(1);
        let drawn = order::draw(seed, self.block_idx.get(), lane.linear, mbarriers.drawn);
        drop(mbarriers);
        if drawn.is_multiple_of(4) {
            self.load_lands_for(lane);
        }
    }

    /// Carries out a copy while a lane runs. Returns whether there was one.
    pub fn load_lands_for(&self, lane: &Lane) -> bool {
        let some = self.load_lands();
        if self.is_ending() {
            lane.end();
        }
        some
    }

    /// Carries out one of the copies: the first that was started, the last, or one that the seed chooses. Returns whether there
    /// was one.
    pub fn load_lands(&self) -> bool {
        let mut mbarriers = self.mbarriers.borrow_mut();
        let count = mbarriers.loads.len();
        if count == 0 {
            return false;
        }
        mbarriers.drawn = mbarriers.drawn.wrapping_add(1);
        let chosen = match self.options.order {
            Order::Forward => 0,
            Order::Backward => count - 1,
            Order::Seeded(seed) => {
                let drawn = order::draw(seed, self.block_idx.get(), u32::MAX, mbarriers.drawn);
                (drawn % count as u64) as usize
            }
        };
        let load = mbarriers.loads.remove(chosen);
        let load = load.expect("the chosen one is among them");
        let barrier = &mut mbarriers.all[load.mbarrier];
        barrier.missing -= load.copy.bytes as i64;
        barrier.left -= load.copy.bytes as i64;
        let is_last = barrier.missing == 0;
        debug_assert_eq!(barrier.number(), load.phase);
        drop(mbarriers);
        // SAFETY: the views of the copy have these bytes, in memory that lives as long as the launch and the block.
        unsafe { load.copy.reach(Moment::Wait) };
        shadow::with(|tracker| tracker.landed(&load.copy));
        self.changed();
        // Whether copies bring too many bytes is seen where one is started and where a lane arrives.
        if is_last && let Err(what) = self.mbarrier_advances(load.mbarrier) {
            let at = load.copy.at;
            self.record(self.lane(load.lane), FaultKind::Mbarrier { what, at });
        }
        true
    }

    /// Returns a copy for whose phase no lane has waited, and the lane that started it, now that all lanes have returned.
    pub fn load_not_awaited(&self) -> Option<(u32, AsyncCopy)> {
        let mbarriers = self.mbarriers.borrow();
        let left = mbarriers.all.iter().flat_map(|it| &it.not_awaited);
        left.map(|(_, lane, copy)| (*lane, *copy)).next()
    }
}
