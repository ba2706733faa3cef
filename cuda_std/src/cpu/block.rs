//! What the lanes of one block share: its shared memory, its barrier, its warps.
//!
//! Everything here belongs to one thread. Lanes run one at a time, so a lane that finds itself the last
//! to come to a barrier completes it at once, marks the others ready, and goes on.

use core::{
    cell::{Cell, RefCell},
    panic::Location,
    sync::atomic::{AtomicBool, Ordering},
};
use std::{collections::VecDeque, rc::Rc};

mod shared;
mod turns;
mod warp;

pub(super) use turns::{GivesUp, Waiting, WaitsFor, Word};
pub(super) use warp::Offer;
use warp::Warp;

use super::{
    Launch, Options,
    checks::Checks,
    copies::AsyncCopy,
    fault::{Bytes, Fault, FaultKind, LaneSet, WaitingLanes},
    lane::Lane,
    memory, mutate,
    order::{BlockOrder, lanes_of, mask_of_first, order_lanes},
    path::{self, Code},
    progress::Progress,
    shadow::{self, Access, Finding},
};
use crate::{
    atomic::Space,
    constant::ConstantValues,
    kernel::{KernelDescriptor, LaunchConfig},
    shared::SHARED_ALIGN,
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

/// A static shared array: where it was declared, and its memory.
struct StaticArray {
    site: *const u8,
    type_name: &'static str,
    bytes: usize,
    memory: Vec<Line>,
    /// The source line.
    at: &'static Location<'static>,
    /// How often each lane has come to it, where that is checked.
    visits: Vec<u32>,
}

impl StaticArray {
    fn comes(&mut self, lane: &Lane) {
        if let Some(visits) = self.visits.get_mut(lane.linear as usize) {
            *visits = visits.wrapping_add(1).max(1);
        }
    }
}

/// What the lanes of a block share.
pub(super) struct BlockState {
    pub kernel: KernelDescriptor,
    pub config: LaunchConfig,
    /// Constant tables with the values that this launch sees in them; they live as long as the launch.
    constants: *const [ConstantValues<'static>],
    /// The launch, which outlives the state.
    progress: *const Progress,
    /// Which of the thread's blocks that have started it is, from 0 on.
    pub slot: u32,
    /// The block's number in the grid.
    pub number: Cell<u64>,
    pub block_idx: Cell<[u32; 3]>,
    pub params: RefCell<Vec<(&'static str, usize)>>,
    lanes: u32,
    warps: RefCell<Vec<Warp>>,
    arrived: Cell<u32>,
    votes: Cell<u32>,
    /// By which calls lanes come to barriers, and the first of those that wait at one.
    code: Code,
    barrier_path: Cell<u64>,
    /// The form and the line of the barrier that lanes wait at.
    barrier_place: Cell<Option<(BarrierKind, &'static Location<'static>)>>,
    ready: RefCell<VecDeque<u32>>,
    /// Every lane has run at least once; until then there are lanes that are not in `ready`.
    pub all_started: Cell<bool>,
    /// Lanes on their way into `ready`; kept for its memory.
    released: RefCell<Vec<u32>>,
    statics: RefCell<Vec<StaticArray>>,
    dynamic: RefCell<Vec<Line>>,
    fault: RefCell<Option<Fault>>,
    /// The block has failed, or nobody needs it any more: its lanes end where they would wait.
    ending: Cell<bool>,
    /// What is known of the thread's blocks in all.
    waiting: Rc<Waiting>,
    /// Lanes that wait for words to change.
    parked: RefCell<Vec<WaitsFor>>,
    /// Times that lanes have given way since the block began to run, or a lane of it has changed anything.
    looks: Cell<u32>,
    /// The block lets another one run.
    pub gives_up: Cell<Option<GivesUp>>,
    /// Atomic operations that other blocks see, where the order's seed says which of them let another block run.
    atomics: Cell<Option<u32>>,
    pub options: Options,
    /// The lanes, for results: they live in the runner, whose vector never moves.
    lane_table: Cell<*const Lane>,
}

/// A piece of shared memory: no two blocks' arrays have bytes of the same 64, of which the sanitizer knows one block.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "kernels reach it by pointers")] [u128; 4]);

fn lines(bytes: usize) -> Vec<Line> {
    vec![POISON; bytes.div_ceil(size_of::<Line>())]
}

/// Shared memory starts undefined; this pattern makes a kernel that counts on zeros fail.
const POISON: Line = Line([u128::from_ne_bytes([0xA5; 16]); 4]);

impl BlockState {
    /// The state for one of the slots of a thread, of whose blocks `waiting` tells.
    ///
    /// # Safety
    /// The launch and its progress outlive the state.
    pub unsafe fn new(
        launch: &Launch<'_>,
        progress: &Progress,
        slot: u32,
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
            number: Cell::new(0),
            block_idx: Cell::new([0; 3]),
            params: RefCell::new(Vec::new()),
            lanes,
            warps: RefCell::new((0..lanes.div_ceil(32)).map(|_| Warp::default()).collect()),
            arrived: Cell::new(0),
            votes: Cell::new(0),
            code: Code::around(kernel.cpu as *const () as usize),
            barrier_path: Cell::new(0),
            barrier_place: Cell::new(None),
            ready: RefCell::new(VecDeque::with_capacity(lanes as usize)),
            all_started: Cell::new(false),
            released: RefCell::new(Vec::with_capacity(lanes as usize)),
            statics: RefCell::new(Vec::new()),
            dynamic: RefCell::new(lines(config.shared_bytes as usize)),
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

    /// The constant tables that the launch has values for.
    pub fn constants(&self) -> &[ConstantValues<'_>] {
        // SAFETY: the launch's, which outlives the state by `new`'s contract.
        unsafe { &*self.constants }
    }

    fn progress(&self) -> &Progress {
        // SAFETY: it outlives the state, by `new`'s contract.
        unsafe { &*self.progress }
    }

    /// Makes everything as it is at a block's start.
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
        self.ready.borrow_mut().clear();
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

    /// The next lane to go on.
    pub fn next_ready(&self) -> Option<u32> {
        self.ready.borrow_mut().pop_front()
    }

    /// The fault that a lane has recorded since the last call.
    pub fn take_fault(&self) -> Option<Fault> {
        self.fault.borrow_mut().take()
    }

    /// A lane has returned from the kernel.
    pub fn lane_returned(&self, linear: u32) {
        self.warps.borrow_mut()[linear as usize / 32].live &= !(1 << (linear % 32));
    }

    /// The lanes of this lane's warp that have not returned, as a mask.
    pub fn live_lanes(&self, lane: &Lane) -> u32 {
        self.warps.borrow()[lane.linear as usize / 32].live
    }

    fn lane(&self, linear: u32) -> &Lane {
        debug_assert!(linear < self.lanes);
        // SAFETY: the table has `lanes` entries and lives as long as the block runs.
        unsafe { &*self.lane_table.get().add(linear as usize) }
    }

    /// What has gone wrong with this lane.
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

    /// Notes that the block has failed because of this lane; the first fault counts.
    pub fn record(&self, lane: &Lane, kind: FaultKind) {
        self.fault
            .borrow_mut()
            .get_or_insert_with(|| self.fault_of(lane, kind));
        self.ending.set(true);
    }

    /// Ends the launch because of this lane: records the fault and never comes back.
    ///
    /// A destructor that runs because the lane is unwound cannot be left in this way: the program aborts then.
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

    /// Whether the block's lanes are to end.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.ending.get()
    }

    /// The block's lanes are to end.
    pub fn ends(&self) {
        self.ending.set(true);
        self.waits_no_more();
    }

    /// Whether a lane may wait for others. It must not while it is unwound, and where the block has failed it
    /// ends here, whatever its own code has done with the unwinding before.
    #[inline]
    pub fn may_wait(&self, lane: &Lane) -> bool {
        // A launch never runs on a thread that was unwound before.
        if std::thread::panicking() {
            return false;
        }
        if self.ending.get() {
            lane.end();
        }
        true
    }

    /// The name of the kernel's parameter that starts at `address`.
    pub fn param_name(&self, address: usize) -> Option<&'static str> {
        self.params
            .borrow()
            .iter()
            .find(|(_, start)| *start == address)
            .map(|(name, _)| *name)
    }

    /// The lanes that wait at the barrier or in a warp operation, by what they wait for.
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
        groups
    }

    /// The block's barrier, for one lane; gives the barrier's result.
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

    /// Notes that the lanes of a warp that `mask` names may go on, with what they get.
    fn release(&self, first: u32, mask: u32, result: impl Fn(u32) -> u64) {
        let mut released = self.released.borrow_mut();
        for linear in lanes_of(first, mask) {
            self.lane(linear).result.set(result(linear - first));
            released.push(linear);
        }
    }

    /// Puts the released lanes behind those that are ready.
    fn enqueue_released(&self) {
        let mut released = self.released.borrow_mut();
        order_lanes(&mut released, self.options.order, self.block_idx.get());
        self.ready.borrow_mut().extend(released.drain(..));
    }

    /// Lanes come to a barrier by the same calls.
    fn check_same_calls(&self, lane: &Lane, kind: BarrierKind, at: &'static Location<'static>) {
        let here = 0_usize;
        let from = (&raw const here).addr();
        let (limit, end) = lane.stack.get();
        // AddressSanitizer keeps variables of some calls elsewhere: then nothing is known of any.
        static ELSEWHERE: AtomicBool = AtomicBool::new(false);
        if !(limit..end).contains(&from) {
            ELSEWHERE.store(true, Ordering::Relaxed);
        }
        if ELSEWHERE.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: from a variable on the lane's stack to the stack's end.
        let number = unsafe { self.code.fingerprint(&raw const here, end) };
        let is_first = self.arrived.get() == 0;
        let first = match is_first {
            true => self.barrier_path.replace(number),
            false => self.barrier_path.get(),
        };
        if !is_first && first == number {
            return;
        }
        // One call for both kinds of lanes: it is in what is noted.
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

    /// A barrier is one place: lanes that come to different forms or lines of it are in a divergent one.
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
