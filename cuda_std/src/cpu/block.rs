//! What the lanes of one block share: its shared memory, its barrier, its warps.
//!
//! Everything here belongs to one thread. Lanes run one at a time, so a lane that finds itself the last
//! to come to a barrier completes it at once, marks the others ready, and goes on.

use core::{
    cell::{Cell, RefCell},
    panic::Location,
};
use std::collections::VecDeque;

mod shared;

use super::{
    Options,
    checks::Checks,
    copies::AsyncCopy,
    fault::{Bytes, Fault, FaultKind, LaneSet},
    lane::Lane,
    memory,
    order::{BlockOrder, lanes_of, mask_of_first, order_lanes},
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

/// What a lane brings to a warp operation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Offer {
    pub value: u64,
    pub argument: u32,
}

/// A warp operation that some lanes have come to and others not yet.
struct Pending {
    operation: &'static str,
    at: &'static Location<'static>,
    mask: u32,
    /// The lanes that have come; none: the record is free.
    arrived: u32,
    offers: [Offer; 32],
}

/// One warp: 32 lanes, fewer in a block's last one.
#[derive(Default)]
struct Warp {
    /// The lanes that have not returned from the kernel.
    live: u32,
    /// The lanes that wait at the block's barrier.
    at_barrier: u32,
    /// Operations of different masks can be under way at the same time.
    pending: Vec<Pending>,
}

/// A static shared array: where it was declared, and its memory.
struct StaticArray {
    site: *const u8,
    type_name: &'static str,
    bytes: usize,
    memory: Vec<u128>,
}

/// What the lanes of a block share.
pub(super) struct BlockState {
    pub kernel: KernelDescriptor,
    pub config: LaunchConfig,
    /// Constant tables with the values that this launch sees in them; they live as long as the launch.
    constants: *const [ConstantValues<'static>],
    pub block_idx: Cell<[u32; 3]>,
    pub params: RefCell<Vec<(&'static str, usize)>>,
    lanes: u32,
    warps: RefCell<Vec<Warp>>,
    arrived: Cell<u32>,
    votes: Cell<u32>,
    /// The form and the line of the barrier that lanes wait at.
    barrier_place: Cell<Option<(BarrierKind, &'static Location<'static>)>>,
    ready: RefCell<VecDeque<u32>>,
    /// Every lane has run at least once; until then there are lanes that are not in `ready`.
    pub all_started: Cell<bool>,
    /// Lanes on their way into `ready`; kept for its memory.
    released: RefCell<Vec<u32>>,
    statics: RefCell<Vec<StaticArray>>,
    dynamic: RefCell<Vec<u128>>,
    fault: RefCell<Option<Fault>>,
    pub options: Options,
    /// The lanes, for results: they live in the runner, whose vector never moves.
    lane_table: Cell<*const Lane>,
}

fn words(bytes: usize) -> usize {
    bytes.div_ceil(size_of::<u128>())
}

/// Shared memory starts undefined; this pattern makes a kernel that counts on zeros fail.
const POISON: u128 = u128::from_ne_bytes([0xA5; 16]);

impl BlockState {
    /// # Safety
    /// The values of the tables outlive the state.
    pub unsafe fn new(
        kernel: &KernelDescriptor,
        config: &LaunchConfig,
        constants: &[ConstantValues<'_>],
        options: &Options,
    ) -> Self {
        let lanes = config.threads() as u32;
        Self {
            kernel: *kernel,
            config: *config,
            constants: core::ptr::slice_from_raw_parts(constants.as_ptr().cast(), constants.len()),
            block_idx: Cell::new([0; 3]),
            params: RefCell::new(Vec::new()),
            lanes,
            warps: RefCell::new((0..lanes.div_ceil(32)).map(|_| Warp::default()).collect()),
            arrived: Cell::new(0),
            votes: Cell::new(0),
            barrier_place: Cell::new(None),
            ready: RefCell::new(VecDeque::with_capacity(lanes as usize)),
            all_started: Cell::new(false),
            released: RefCell::new(Vec::with_capacity(lanes as usize)),
            statics: RefCell::new(Vec::new()),
            dynamic: RefCell::new(vec![POISON; words(config.shared_bytes as usize)]),
            fault: RefCell::new(None),
            options: *options,
            lane_table: Cell::new(core::ptr::null()),
        }
    }

    /// The constant tables that the launch has values for.
    pub fn constants(&self) -> &[ConstantValues<'_>] {
        // SAFETY: they outlive the state, by `new`'s contract.
        unsafe { &*self.constants }
    }

    /// Makes everything as it is at a block's start.
    pub fn start(&self, block_idx: [u32; 3], lane_table: *const Lane) {
        self.block_idx.set(block_idx);
        self.lane_table.set(lane_table);
        for array in self.statics.borrow_mut().iter_mut() {
            array.memory.fill(POISON);
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
        shadow::with(|tracker| tracker.start_block(self.lanes as usize));
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

    /// Ends the launch because of this lane: records the fault and never comes back.
    #[cold]
    pub fn fail(&self, lane: &Lane, kind: FaultKind) -> ! {
        self.fault.borrow_mut().get_or_insert(Fault {
            kernel: self.kernel.name,
            block: self.block_idx.get(),
            lane: lane.thread_idx,
            kind,
            checks: self.options.checks,
            order: self.options.order,
        });
        loop {
            lane.suspend();
        }
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
    pub fn waiting_groups(&self) -> Vec<(LaneSet, &'static str, &'static Location<'static>)> {
        let mut groups: Vec<(LaneSet, &'static str, &'static Location<'static>)> = Vec::new();
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
        self.check_same_barrier(lane, kind, at);
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

    /// A warp operation: waits until every lane that `mask` names has come, then `complete` turns the
    /// offers (by lane of the warp) into results.
    pub fn warp(
        &self,
        lane: &Lane,
        operation: &'static str,
        mask: u32,
        offer: Offer,
        at: &'static Location<'static>,
        complete: impl FnOnce(&[Offer; 32], &mut [u64; 32]),
    ) -> u64 {
        let own = lane.linear % 32;
        let bit = 1 << own;
        let first = lane.linear - own;
        let mut warps = self.warps.borrow_mut();
        let warp = &mut warps[lane.linear as usize / 32];
        if mask & bit == 0 || mask & !warp.live != 0 {
            let present = warp.live;
            drop(warps);
            self.fail(
                lane,
                FaultKind::Mask {
                    operation,
                    mask,
                    present,
                    at,
                },
            );
        }
        let mut joined = None;
        for (index, pending) in warp.pending.iter().enumerate() {
            // An operation that waits for this lane, while this one would wait for lanes in there: both
            // have to be the same one, or they would wait forever.
            if pending.arrived & mask == 0 || pending.mask & bit == 0 {
                continue;
            }
            if pending.mask == mask
                && pending.operation == operation
                && (core::ptr::eq(pending.at, at) || pending.at == at)
            {
                joined = Some(index);
                continue;
            }
            let others = (
                LaneSet(lanes_of(first, pending.arrived).collect()),
                pending.operation,
                pending.at,
            );
            drop(warps);
            self.fail(
                lane,
                FaultKind::Diverged {
                    others,
                    operation,
                    at,
                },
            );
        }
        let pending = match joined {
            Some(index) => &mut warp.pending[index],
            None => {
                let free = warp.pending.iter().position(|pending| pending.arrived == 0);
                let index = free.unwrap_or_else(|| {
                    let offers = [Offer::default(); 32];
                    warp.pending.push(Pending {
                        operation,
                        at,
                        mask,
                        arrived: 0,
                        offers,
                    });
                    warp.pending.len() - 1
                });
                let pending = &mut warp.pending[index];
                (pending.operation, pending.at, pending.mask) = (operation, at, mask);
                pending
            }
        };
        pending.offers[own as usize] = offer;
        pending.arrived |= bit;
        if pending.arrived != mask {
            drop(warps);
            lane.suspend();
            return lane.result.get();
        }
        pending.arrived = 0;
        let mut results = [0; 32];
        complete(&pending.offers, &mut results);
        drop(warps);
        self.release(first, mask & !bit, |lane| results[lane as usize]);
        self.enqueue_released();
        results[own as usize]
    }

    /// Lets the lanes that are ready run first; tells whether there were any.
    pub fn take_turns(&self, lane: &Lane, at: Option<&'static Location<'static>>) -> bool {
        if shadow::with(|tracker| tracker.idles()) == Some(true) {
            self.fail(lane, FaultKind::Idle { at });
        }
        {
            let mut ready = self.ready.borrow_mut();
            if ready.is_empty() && self.all_started.get() {
                return false;
            }
            ready.push_back(lane.linear);
        }
        lane.suspend();
        true
    }
}
