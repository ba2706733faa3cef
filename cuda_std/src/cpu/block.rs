//! The state that the lanes of a block share: shared memory, barrier, warps.
//!
//! Everything here belongs to one thread. Lanes run one at a time, so the last lane that arrives at a barrier completes it
//! at once, marks the other lanes ready, and continues.

use core::{
    cell::{Cell, RefCell},
    panic::Location,
    sync::atomic::{AtomicBool, Ordering},
};
use std::{collections::VecDeque, rc::Rc};

mod cluster;
pub(super) mod lane;
mod mbarriers;
mod named;
mod shared;
mod turns;
mod warp;
mod warpgroup;

pub(super) use cluster::Cluster;
use lane::Lane;
use mbarriers::Mbarriers;
pub(super) use mbarriers::Releases;
use named::NamedBarrier;
pub(super) use turns::{GivesUp, Waiting, WaitsFor, Word};
pub(super) use warp::Offer;
use warp::Warp;
use warpgroup::Warpgroup;
pub(super) use warpgroup::{Elements, LANES as WARPGROUP, OfLane, Product, Tile};

use super::{
    Launch, Options,
    checks::Checks,
    copies::AsyncCopy,
    fault::{Bytes, Fault, FaultKind, LaneSet, WaitingLanes},
    memory, mutate,
    order::{BlockOrder, lanes_of, mask_of_first, order_lanes},
    path::{self, Code},
    progress::Progress,
    shadow::{self, Access, Finding},
};
use crate::{
    constant::ConstantValues,
    kernel::{KernelDescriptor, LaunchConfig},
    shared::SHARED_ALIGN,
    space::Space,
};

/// The forms of the block's barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BarrierKind {
    Sync,
    Count,
    And,
    Or,
}

impl BarrierKind {
    fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync_threads",
            Self::Count => "sync_threads_count",
            Self::And => "sync_threads_and",
            Self::Or => "sync_threads_or",
        }
    }
}

/// A static shared array: the source line of its declaration, and its memory.
struct StaticArray {
    site: *const u8,
    type_name: &'static str,
    bytes: usize,
    memory: Lines,
    /// The source line.
    at: &'static Location<'static>,
    /// The number of times that each lane has visited the declaration, if that is checked.
    visits: Vec<u32>,
}

impl StaticArray {
    /// Makes the array for another block.
    fn like(other: &Self) -> Self {
        Self {
            memory: Lines::of_array(other.site, other.bytes),
            visits: vec![0; other.visits.len()],
            ..*other
        }
    }

    fn comes(&mut self, lane: &Lane) {
        if let Some(visits) = self.visits.get_mut(lane.linear as usize) {
            *visits = visits.wrapping_add(1).max(1);
        }
    }
}

/// The state that the lanes of a block share.
pub(super) struct BlockState {
    pub kernel: KernelDescriptor,
    pub config: LaunchConfig,
    /// Constant tables with the values that this launch sees. They live as long as the launch.
    constants: *const [ConstantValues<'static>],
    /// The launch's progress, which outlives the state.
    progress: *const Progress,
    /// The block's index among the blocks that the thread has started.
    pub slot: u32,
    /// The block's cluster, and its rank there.
    cluster: Rc<Cluster>,
    pub rank: u32,
    /// Whether one of its lanes has started.
    pub runs: Cell<bool>,
    /// The block's number in the grid.
    pub number: Cell<u64>,
    pub block_idx: Cell<[u32; 3]>,
    pub params: RefCell<Vec<(&'static str, usize)>>,
    lanes: u32,
    warps: RefCell<Vec<Warp>>,
    /// The barriers 1 to 15 that lanes have used, by their number.
    named: RefCell<Vec<NamedBarrier>>,
    mbarriers: RefCell<Mbarriers>,
    /// The warpgroups that have used products, by their number.
    warpgroups: RefCell<Vec<Warpgroup>>,
    arrived: Cell<u32>,
    votes: Cell<u32>,
    /// The code whose addresses identify calls, and the calls of the first lane that waits at the barrier.
    code: Code,
    barrier_path: Cell<u64>,
    /// The form and the line of the barrier that lanes wait at.
    barrier_place: Cell<Option<(BarrierKind, &'static Location<'static>)>>,
    ready: RefCell<VecDeque<u32>>,
    /// Whether every lane has run at least once. Until then there are lanes that are not in `ready`.
    pub all_started: Cell<bool>,
    /// Lanes that will be added to `ready`. Kept to reuse its memory.
    released: RefCell<Vec<u32>>,
    statics: RefCell<Vec<StaticArray>>,
    dynamic: RefCell<Lines>,
    fault: RefCell<Option<Fault>>,
    /// Whether the block has failed, or its result is no longer needed. Its lanes end where they would wait.
    ending: Cell<bool>,
    /// The waiting state of all of the thread's blocks.
    waiting: Rc<Waiting>,
    /// Lanes that wait for words to change.
    parked: RefCell<Vec<WaitsFor>>,
    /// The number of times that lanes have given way since the block began to run or a lane of it changed memory.
    looks: Cell<u32>,
    /// Set if the block lets another one run.
    pub gives_up: Cell<Option<GivesUp>>,
    /// The number of atomic operations that other blocks see, if the order's seed decides which of them lets another block
    /// run.
    atomics: Cell<Option<u32>>,
    pub options: Options,
    /// The lanes, for results. They live in the runner, whose vector never moves.
    lane_table: Cell<*const Lane>,
}

/// A unit of shared memory. Arrays of different blocks never share 64 aligned bytes, because the sanitizer stores one block
/// for each.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "kernels reach it by pointers")] [u128; 4]);

/// Units of shared memory that follow each other. In each block of a launch they begin at the same place relative to multiples
/// of 1024 bytes, which tiles are aligned to: the blocks of a cluster compute the same places.
struct Lines {
    all: Vec<Line>,
    first: usize,
}

impl Lines {
    const PLACES: usize = 1024 / size_of::<Line>();

    /// Makes room for some bytes that begin `place` units behind a multiple of 1024.
    fn new(bytes: usize, place: usize) -> Self {
        let len = bytes.div_ceil(size_of::<Line>());
        let all = vec![POISON; len + Self::PLACES - 1];
        let start = all.as_ptr().addr() / size_of::<Line>();
        let first = place.wrapping_sub(start) % Self::PLACES;
        Self { all, first }
    }

    /// Makes room for a static array, whose place depends on its declaration.
    fn of_array(site: *const u8, bytes: usize) -> Self {
        Self::new(bytes, site.addr().wrapping_mul(0x9e37_79b9) >> 20)
    }
}

impl core::ops::Deref for Lines {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.all[self.first..self.all.len() - (Self::PLACES - 1 - self.first)]
    }
}

impl core::ops::DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [Line] {
        let end = self.all.len() - (Self::PLACES - 1 - self.first);
        &mut self.all[self.first..end]
    }
}

/// Shared memory starts undefined. This pattern makes a kernel fail that relies on zeros.
const POISON: Line = Line([u128::from_ne_bytes([0xA5; 16]); 4]);

impl BlockState {
    /// Makes the state for one of the slots of a thread, whose block is the next of a cluster. `waiting` is the state of all
    /// the thread's blocks.
    ///
    /// # Safety
    /// The launch and its progress must outlive the state.
    pub unsafe fn new(
        launch: &Launch<'_>,
        progress: &Progress,
        slot: u32,
        cluster: Rc<Cluster>,
        waiting: Rc<Waiting>,
    ) -> Self {
        let Launch {
            kernel,
            config,
            constants,
            options,
            ..
        } = *launch;
        let lanes = config.threads() as u32;
        Self {
            kernel: *kernel,
            config: *config,
            constants: core::ptr::slice_from_raw_parts(constants.as_ptr().cast(), constants.len()),
            progress,
            slot,
            rank: cluster.size(),
            cluster,
            runs: Cell::new(false),
            number: Cell::new(0),
            block_idx: Cell::new([0; 3]),
            params: RefCell::new(Vec::new()),
            lanes,
            warps: RefCell::new((0..lanes.div_ceil(32)).map(|_| Warp::default()).collect()),
            named: RefCell::new(Vec::new()),
            mbarriers: RefCell::default(),
            warpgroups: RefCell::default(),
            arrived: Cell::new(0),
            votes: Cell::new(0),
            code: Code::around(kernel.cpu as *const () as usize),
            barrier_path: Cell::new(0),
            barrier_place: Cell::new(None),
            ready: RefCell::new(VecDeque::with_capacity(lanes as usize)),
            all_started: Cell::new(false),
            released: RefCell::new(Vec::with_capacity(lanes as usize)),
            statics: RefCell::new(Vec::new()),
            dynamic: RefCell::new(Lines::new(config.shared_bytes as usize, 1)),
            fault: RefCell::new(None),
            ending: Cell::new(false),
            waiting,
            parked: RefCell::new(Vec::new()),
            looks: Cell::new(0),
            gives_up: Cell::new(None),
            atomics: Cell::new(None),
            options: *options,
            lane_table: Cell::new(core::ptr::null()),
        }
    }

    /// Returns the constant tables that the launch has values for.
    pub fn constants(&self) -> &[ConstantValues<'_>] {
        // SAFETY: they belong to the launch, which outlives the state by `new`'s contract.
        unsafe { &*self.constants }
    }

    fn progress(&self) -> &Progress {
        // SAFETY: it outlives the state, by `new`'s contract.
        unsafe { &*self.progress }
    }

    /// Resets everything for a block's start.
    pub fn start(&self, block: u64, lane_table: *const Lane) {
        self.progress().block_starts();
        self.number.set(block);
        self.block_idx.set(self.config.block_at(block));
        self.lane_table.set(lane_table);
        for array in self.statics.borrow_mut().iter_mut() {
            array.memory.fill(POISON);
            array.visits.fill(0);
        }
        self.dynamic.borrow_mut().fill(POISON);
        let mut left = self.lanes;
        for warp in self.warps.borrow_mut().iter_mut() {
            warp.live = mask_of_first(left.min(32));
            warp.at_barrier = 0;
            warp.pending
                .iter_mut()
                .for_each(|pending| pending.arrived = 0);
            left -= left.min(32);
        }
        self.named.borrow_mut().clear();
        self.mbarriers.borrow_mut().clear();
        self.warpgroups.borrow_mut().clear();
        self.ready.borrow_mut().clear();
        self.runs.set(false);
        self.all_started.set(false);
        self.arrived.set(0);
        self.votes.set(0);
        self.fault.borrow_mut().take();
        self.ending.set(false);
        self.parked.borrow_mut().clear();
        self.looks.set(0);
        self.gives_up.set(None);
        let counts = self.waiting.switches_at_atomics;
        self.atomics.set(counts.then_some(0));
        self.waits_no_more();
        shadow::with(|tracker| tracker.start_block(self.lanes as usize));
        mutate::start_block(self.slot, self.lanes);
    }

    /// Returns the next lane to continue.
    pub fn next_ready(&self) -> Option<u32> {
        self.ready.borrow_mut().pop_front()
    }

    /// Returns the fault that a lane has recorded since the last call.
    pub fn take_fault(&self) -> Option<Fault> {
        self.fault.borrow_mut().take()
    }

    /// Notes that a lane has returned from the kernel.
    pub fn lane_returned(&self, linear: u32) {
        self.warps.borrow_mut()[linear as usize / 32].live &= !(1 << (linear % 32));
        self.cluster_returned(self.lane(linear));
    }

    /// Returns the mask of the lanes of this lane's warp that have not returned.
    pub fn live_lanes(&self, lane: &Lane) -> u32 {
        self.warps.borrow()[lane.linear as usize / 32].live
    }

    fn lane(&self, linear: u32) -> &Lane {
        debug_assert!(linear < self.lanes);
        // SAFETY: the table has `lanes` entries and lives as long as the block runs.
        unsafe { &*self.lane_table.get().add(linear as usize) }
    }

    /// Makes the fault of a lane.
    pub fn fault_of(&self, lane: &Lane, kind: FaultKind) -> Fault {
        Fault {
            kernel: self.kernel.name,
            block: self.block_idx.get(),
            lane: lane.thread_idx,
            kind,
            checks: self.options.checks,
            order: self.options.order,
            stack_bytes: self.options.stack_bytes,
        }
    }

    /// Notes that the block has failed because of this lane. The first fault counts.
    pub fn record(&self, lane: &Lane, kind: FaultKind) {
        self.fault
            .borrow_mut()
            .get_or_insert_with(|| self.fault_of(lane, kind));
        self.ending.set(true);
    }

    /// Ends the launch because of this lane: records the fault and never returns.
    ///
    /// A destructor that runs because the lane is unwound cannot be left in this way. The program aborts then.
    #[cold]
    pub fn fail(&self, lane: &Lane, kind: FaultKind) -> ! {
        if std::thread::panicking() {
            let fault = self.fault_of(lane, kind);
            eprintln!(
                "{fault}; in a destructor of a lane that has failed before: the program ends"
            );
            std::process::abort();
        }
        self.record(lane, kind);
        lane.end()
    }

    /// Ends the block without a fault of its own.
    fn cancel(&self, lane: &Lane) -> ! {
        self.ending.set(true);
        lane.end()
    }

    /// Returns whether the block's lanes must end.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.ending.get()
    }

    /// Notes that the block's lanes must end.
    pub fn ends(&self) {
        self.ending.set(true);
        self.waits_no_more();
    }

    /// Returns whether a lane may wait for others. A lane that is unwound must not wait. If the block has failed, the lane
    /// ends here, even if its own code has caught the unwinding before.
    #[inline]
    pub fn may_wait(&self, lane: &Lane) -> bool {
        // A launch never runs on a thread that is already unwound.
        if std::thread::panicking() {
            return false;
        }
        if self.ending.get() {
            lane.end();
        }
        true
    }

    /// Returns the name of the kernel's parameter that starts at `address`.
    pub fn param_name(&self, address: usize) -> Option<&'static str> {
        self.params
            .borrow()
            .iter()
            .find(|(_, start)| *start == address)
            .map(|(name, _)| *name)
    }

    /// Returns the lanes that wait at a barrier or in a warp operation, grouped by what they wait for.
    pub fn waiting_groups(&self) -> Vec<WaitingLanes> {
        let mut groups: Vec<WaitingLanes> = Vec::new();
        let mut add =
            |first: u32, mask: u32, name: &'static str, at: &'static Location<'static>| {
                if mask == 0 {
                    return;
                }
                let lanes = lanes_of(first, mask);
                match groups.iter_mut().find(|(_, n, a)| *n == name && *a == at) {
                    Some((group, _, _)) => group.0.extend(lanes),
                    None => groups.push((LaneSet(lanes.collect()), name, at)),
                }
            };
        for (index, warp) in self.warps.borrow().iter().enumerate() {
            let first = index as u32 * 32;
            if let Some((kind, at)) = self.barrier_place.get() {
                add(first, warp.at_barrier, kind.name(), at);
            }
            for pending in &warp.pending {
                add(first, pending.arrived, pending.operation, pending.at);
            }
        }
        for (lane, at) in self.named.borrow().iter().flat_map(|named| &named.lanes) {
            add(*lane, 1, named::NAME, at);
        }
        for (lane, name, at) in self.mbarriers.borrow().waiting() {
            add(lane, 1, name, at);
        }
        for (lane, name, at) in self.at_cluster_barrier() {
            add(lane, 1, name, at);
        }
        for (lane, at) in self.warpgroups.borrow().iter().flat_map(Warpgroup::waiting) {
            add(lane, 1, warpgroup::WAIT, at);
        }
        groups
    }

    /// Executes the block's barrier for one lane. Returns the barrier's result.
    pub fn barrier(
        &self,
        lane: &Lane,
        kind: BarrierKind,
        predicate: bool,
        at: &'static Location<'static>,
    ) -> u32 {
        if !self.may_wait(lane) {
            return 0;
        }
        self.check_same_barrier(lane, kind, at);
        if self.options.checks.contains(Checks::SYNC) && self.code.is_known() {
            self.check_same_calls(lane, kind, at);
        }
        self.arrived.set(self.arrived.get() + 1);
        self.votes.set(self.votes.get() + u32::from(predicate));
        if self.arrived.get() < self.lanes {
            self.warps.borrow_mut()[lane.linear as usize / 32].at_barrier |=
                1 << (lane.linear % 32);
            lane.suspend();
            return lane.result.get() as u32;
        }
        let votes = self.votes.get();
        let result = match kind {
            BarrierKind::Sync => 0,
            BarrierKind::Count => votes,
            BarrierKind::And => u32::from(votes == self.lanes),
            BarrierKind::Or => u32::from(votes > 0),
        };
        self.arrived.set(0);
        self.votes.set(0);
        shadow::with(|tracker| tracker.barrier());
        for (index, warp) in self.warps.borrow_mut().iter_mut().enumerate() {
            let waiting = core::mem::take(&mut warp.at_barrier);
            self.release(index as u32 * 32, waiting, |_| u64::from(result));
        }
        self.enqueue_released();
        result
    }

    /// Notes that the lanes of a warp that `mask` names may continue, with their results.
    fn release(&self, first: u32, mask: u32, result: impl Fn(u32) -> u64) {
        let mut released = self.released.borrow_mut();
        for linear in lanes_of(first, mask) {
            self.lane(linear).result.set(result(linear - first));
            released.push(linear);
        }
    }

    /// Appends the released lanes to the ready ones.
    fn enqueue_released(&self) {
        let mut released = self.released.borrow_mut();
        order_lanes(&mut released, self.options.order, self.block_idx.get());
        self.ready.borrow_mut().extend(released.drain(..));
    }

    /// Checks that lanes arrive at a barrier by the same calls.
    fn check_same_calls(&self, lane: &Lane, kind: BarrierKind, at: &'static Location<'static>) {
        let here = 0_usize;
        let from = (&raw const here).addr();
        let (limit, end) = lane.stack.get();
        // AddressSanitizer keeps variables of some calls elsewhere. Then no lane's calls can be known.
        static ELSEWHERE: AtomicBool = AtomicBool::new(false);
        if !(limit..end).contains(&from) {
            ELSEWHERE.store(true, Ordering::Relaxed);
        }
        if ELSEWHERE.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: the range is from a variable on the lane's stack to the stack's end.
        let number = unsafe { self.code.fingerprint(&raw const here, end) };
        let is_first = self.arrived.get() == 0;
        let first = match is_first {
            true => self.barrier_path.replace(number),
            false => self.barrier_path.get(),
        };
        if !is_first && first == number {
            return;
        }
        // Both kinds of lanes share this call, because the call itself is part of what is noted.
        path::note(number, from, end);
        if is_first {
            return;
        }
        let Some([others_by, by]) = path::difference(first, number) else {
            return;
        };
        let others = self.waiting_groups();
        let others = others.into_iter().find(|(_, name, _)| *name == kind.name());
        self.fail(
            lane,
            FaultKind::DivergedCalls {
                others: others.map(|(lanes, _, _)| lanes).unwrap_or_default(),
                others_by,
                operation: kind.name(),
                by,
                at,
            },
        );
    }

    /// Checks that lanes arrive at the same barrier. A barrier is one source line: lanes that arrive at different forms or
    /// lines are in a divergent barrier.
    fn check_same_barrier(&self, lane: &Lane, kind: BarrierKind, at: &'static Location<'static>) {
        match self.barrier_place.get() {
            Some((first_kind, first_at)) if self.arrived.get() > 0 => {
                let same_line = core::ptr::eq(first_at, at)
                    || first_at == at
                    || !self.options.checks.contains(Checks::SYNC);
                if first_kind == kind && same_line {
                    return;
                }
                let others = self
                    .waiting_groups()
                    .into_iter()
                    .find(|(_, name, group_at)| *name == first_kind.name() && *group_at == first_at)
                    .unwrap_or((LaneSet::default(), first_kind.name(), first_at));
                self.fail(
                    lane,
                    FaultKind::Diverged {
                        others,
                        operation: kind.name(),
                        at,
                    },
                );
            }
            _ => self.barrier_place.set(Some((kind, at))),
        }
    }
}
