//! One block: its lanes, its shared memory, its barriers, and the scheduler that runs it.
//!
//! Everything here belongs to one thread. Lanes run one at a time, so a lane that finds itself the last
//! to come to a barrier completes it at once, marks the others ready, and goes on.

use core::{
    cell::{Cell, RefCell},
    ffi::c_void,
    panic::Location,
};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
};

use corosensei::{Coroutine, CoroutineResult, stack::DefaultStack};

use super::{
    Options, Order,
    fault::{Fault, FaultKind, LaneSet},
    lane::{Lane, set_current},
};
use crate::{
    kernel::{KernelDescriptor, LaunchConfig},
    shared::SHARED_ALIGN,
};

/// Bytes of stack per lane: a reservation of address space; pages that are never touched cost nothing.
const STACK_BYTES: usize = 256 * 1024;

/// What a lane waits for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wait {
    Barrier(BarrierKind),
    Warp { operation: &'static str, mask: u32 },
    Turn,
}

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

#[derive(Debug, Clone, Copy)]
struct Waiting {
    wait: Wait,
    at: &'static Location<'static>,
    offer: Offer,
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
    pub block_idx: Cell<[u32; 3]>,
    pub params: RefCell<Vec<(&'static str, usize)>>,
    lanes: u32,
    waiting: RefCell<Vec<Option<Waiting>>>,
    arrived: Cell<u32>,
    votes: Cell<u32>,
    /// The form and the line of the barrier that lanes wait at.
    barrier_place: Cell<Option<(BarrierKind, &'static Location<'static>)>>,
    ready: RefCell<VecDeque<u32>>,
    statics: RefCell<Vec<StaticArray>>,
    dynamic: RefCell<Vec<u128>>,
    fault: RefCell<Option<Fault>>,
    order: Cell<Order>,
    /// The lanes, for results: they live in the runner, whose vector never moves.
    lane_table: Cell<*const Lane>,
}

fn words(bytes: usize) -> usize {
    bytes.div_ceil(size_of::<u128>())
}

/// Shared memory starts undefined; this pattern makes a kernel that counts on zeros fail.
const POISON: u128 = u128::from_ne_bytes([0xA5; 16]);

impl BlockState {
    /// The lanes of the warp that `linear` belongs to, as a mask.
    pub fn warp_lanes(&self, linear: u32) -> u32 {
        let first = linear / 32 * 32;
        let count = (self.lanes - first).min(32);
        if count == 32 { u32::MAX } else { (1 << count) - 1 }
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
        });
        loop {
            lane.suspend();
        }
    }

    /// The name of the kernel's parameter that starts at `address`.
    pub fn param_name(&self, address: usize) -> Option<&'static str> {
        self.params.borrow().iter().find(|(_, start)| *start == address).map(|(name, _)| *name)
    }

    /// The lanes that wait for something other than their turn, by what they wait for.
    fn waiting_groups(&self) -> Vec<(LaneSet, &'static str, &'static Location<'static>)> {
        let mut groups: Vec<(LaneSet, &'static str, &'static Location<'static>)> = Vec::new();
        for (linear, waiting) in self.waiting.borrow().iter().enumerate() {
            let Some(Waiting { wait, at, .. }) = waiting else { continue };
            let name = match wait {
                Wait::Barrier(kind) => kind.name(),
                Wait::Warp { operation, .. } => operation,
                Wait::Turn => continue,
            };
            match groups.iter_mut().find(|(_, n, a)| *n == name && *a == *at) {
                Some((lanes, _, _)) => lanes.0.push(linear as u32),
                None => groups.push((LaneSet(vec![linear as u32]), name, at)),
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
            self.wait(lane, Wait::Barrier(kind), at, Offer::default());
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
        let mut waiting = self.waiting.borrow_mut();
        let mut released: Vec<u32> = Vec::with_capacity(self.lanes as usize);
        for linear in 0..self.lanes {
            if linear != lane.linear && waiting[linear as usize].take().is_some() {
                self.lane(linear).result.set(u64::from(result));
                released.push(linear);
            }
        }
        drop(waiting);
        order_lanes(&mut released, self.order.get(), self.block_idx.get());
        self.ready.borrow_mut().extend(released);
        result
    }

    /// A barrier is one place: lanes that come to different forms or lines of it are in a divergent one.
    fn check_same_barrier(&self, lane: &Lane, kind: BarrierKind, at: &'static Location<'static>) {
        match self.barrier_place.get() {
            Some((first_kind, first_at)) if self.arrived.get() > 0 => {
                if first_kind == kind && (core::ptr::eq(first_at, at) || first_at == at) {
                    return;
                }
                let others = self
                    .waiting_groups()
                    .into_iter()
                    .find(|(_, name, group_at)| *name == first_kind.name() && *group_at == first_at)
                    .unwrap_or((LaneSet::default(), first_kind.name(), first_at));
                self.fail(lane, FaultKind::Diverged { others, operation: kind.name(), at });
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
        let present = self.warp_lanes(lane.linear);
        let own = lane.linear % 32;
        if mask & (1 << own) == 0 || mask & !present != 0 {
            self.fail(lane, FaultKind::Mask { operation, mask, present, at });
        }
        let first = lane.linear - own;
        let mut offers = [Offer::default(); 32];
        let mut complete_set = true;
        {
            let waiting = self.waiting.borrow();
            for bit in (0..32).filter(|bit| mask & (1 << bit) != 0 && *bit != own) {
                match waiting[(first + bit) as usize] {
                    Some(Waiting { wait: Wait::Warp { operation: other, mask: other_mask }, offer, .. })
                        if other == operation && other_mask == mask =>
                    {
                        offers[bit as usize] = offer;
                    }
                    _ => complete_set = false,
                }
            }
        }
        if !complete_set {
            self.wait(lane, Wait::Warp { operation, mask }, at, offer);
            return lane.result.get();
        }
        offers[own as usize] = offer;
        let mut results = [0; 32];
        complete(&offers, &mut results);
        let mut released: Vec<u32> = Vec::with_capacity(32);
        let mut waiting = self.waiting.borrow_mut();
        for bit in (0..32).filter(|bit| mask & (1 << bit) != 0 && *bit != own) {
            let partner = first + bit;
            waiting[partner as usize] = None;
            self.lane(partner).result.set(results[bit as usize]);
            released.push(partner);
        }
        drop(waiting);
        order_lanes(&mut released, self.order.get(), self.block_idx.get());
        self.ready.borrow_mut().extend(released);
        results[own as usize]
    }

    /// Lets the other lanes run.
    pub fn take_turns(&self, lane: &Lane) {
        self.waiting.borrow_mut()[lane.linear as usize] =
            Some(Waiting { wait: Wait::Turn, at: Location::caller(), offer: Offer::default() });
        self.ready.borrow_mut().push_back(lane.linear);
        lane.suspend();
        self.waiting.borrow_mut()[lane.linear as usize] = None;
    }

    fn wait(&self, lane: &Lane, wait: Wait, at: &'static Location<'static>, offer: Offer) {
        self.waiting.borrow_mut()[lane.linear as usize] = Some(Waiting { wait, at, offer });
        lane.suspend();
    }

    /// The static shared array that belongs to a place in the source and a type.
    pub fn static_array<A>(
        &self,
        lane: &Lane,
        site: *const u8,
        at: &'static Location<'static>,
    ) -> *mut u8 {
        let type_name = core::any::type_name::<A>();
        let mut statics = self.statics.borrow_mut();
        if let Some(array) =
            statics.iter_mut().find(|array| array.site == site && array.type_name == type_name)
        {
            return array.memory.as_mut_ptr().cast();
        }
        let bytes = size_of::<A>().next_multiple_of(SHARED_ALIGN);
        let required = statics.iter().map(|array| array.bytes).sum::<usize>()
            + bytes
            + self.config.shared_bytes as usize;
        if required > super::MAX_SHARED_BYTES {
            drop(statics);
            self.fail(
                lane,
                FaultKind::SharedMemory { required, given: super::MAX_SHARED_BYTES, at },
            );
        }
        statics.push(StaticArray { site, type_name, bytes, memory: vec![POISON; words(bytes)] });
        let array = statics.last_mut().expect("just pushed");
        array.memory.as_mut_ptr().cast()
    }

    /// The start of the dynamic shared memory.
    pub fn dynamic_shared(&self) -> *mut u8 {
        self.dynamic.borrow_mut().as_mut_ptr().cast()
    }

    /// Bytes of static shared arrays seen so far.
    pub fn static_bytes(&self) -> usize {
        self.statics.borrow().iter().map(|array| array.bytes).sum()
    }
}

/// Puts lanes into the launch's order.
fn order_lanes(lanes: &mut [u32], order: Order, block: [u32; 3]) {
    match order {
        Order::Forward => {}
        Order::Backward => lanes.reverse(),
        Order::Seeded(seed) => {
            // SplitMix64 (Steele, Lea, Flood 2014) drives a Fisher-Yates shuffle.
            let mut state = seed
                ^ (u64::from(block[0]) << 32 | u64::from(block[1]) << 16 | u64::from(block[2]))
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut next = move || {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            };
            for last in (1..lanes.len()).rev() {
                lanes.swap(last, (next() % (last as u64 + 1)) as usize);
            }
        }
    }
}

type LaneCoroutine = Coroutine<(), (), (), DefaultStack>;

/// Runs blocks of one launch, one after the other, on one thread.
pub(super) struct BlockRunner {
    state: Box<BlockState>,
    lanes: Vec<Lane>,
    coroutines: Vec<Option<LaneCoroutine>>,
    stacks: Vec<DefaultStack>,
    start_order: Vec<u32>,
}

impl BlockRunner {
    pub fn new(kernel: &KernelDescriptor, config: &LaunchConfig, options: &Options) -> Self {
        let count = config.threads() as u32;
        let state = Box::new(BlockState {
            kernel: *kernel,
            config: *config,
            block_idx: Cell::new([0; 3]),
            params: RefCell::new(Vec::new()),
            lanes: count,
            waiting: RefCell::new(vec![None; count as usize]),
            arrived: Cell::new(0),
            votes: Cell::new(0),
            barrier_place: Cell::new(None),
            ready: RefCell::new(VecDeque::with_capacity(count as usize)),
            statics: RefCell::new(Vec::new()),
            dynamic: RefCell::new(vec![POISON; words(config.shared_bytes as usize)]),
            fault: RefCell::new(None),
            order: Cell::new(options.order),
            lane_table: Cell::new(core::ptr::null()),
        });
        let [x, y, _] = config.block;
        let lanes: Vec<Lane> = (0..count)
            .map(|linear| Lane {
                thread_idx: [linear % x, linear / x % y, linear / (x * y)],
                linear,
                yielder: Cell::new(core::ptr::null()),
                result: Cell::new(0),
                block: &raw const *state,
            })
            .collect();
        state.lane_table.set(lanes.as_ptr());
        Self {
            state,
            lanes,
            coroutines: (0..count).map(|_| None).collect(),
            stacks: Vec::new(),
            start_order: (0..count).collect(),
        }
    }

    /// Runs one block.
    ///
    /// # Safety
    /// As for [`launch`](super::launch).
    pub unsafe fn run(&mut self, block: u64, params: &[*const c_void]) -> Result<(), Fault> {
        self.prepare(block, params);
        let mut done = 0;
        for i in 0..self.start_order.len() {
            let linear = self.start_order[i];
            // SAFETY: the caller's contract.
            let coroutine = unsafe { self.start(linear, params)? };
            done += self.resume(linear, coroutine)?;
        }
        while done < self.lanes.len() {
            let next = self.state.ready.borrow_mut().pop_front();
            let Some(linear) = next else { return Err(self.stuck()) };
            let coroutine =
                self.coroutines[linear as usize].take().expect("a ready lane is suspended");
            done += self.resume(linear, coroutine)?;
        }
        Ok(())
    }

    fn prepare(&mut self, block: u64, params: &[*const c_void]) {
        let state = &self.state;
        let [gx, gy, _] = state.config.grid.map(u64::from);
        let block_idx = [block % gx, block / gx % gy, block / (gx * gy)].map(|i| i as u32);
        state.block_idx.set(block_idx);
        for array in state.statics.borrow_mut().iter_mut() {
            array.memory.fill(POISON);
        }
        state.dynamic.borrow_mut().fill(POISON);
        if state.params.borrow().is_empty() {
            let mut raw = params.iter();
            let mut names = state.params.borrow_mut();
            for (parameter, name) in state.kernel.params.iter().zip(state.kernel.param_names) {
                for (i, part) in parameter.iter().enumerate() {
                    let Some(pointer) = raw.next() else { return };
                    if i == 0 && parameter.len() == 2 && part.size == size_of::<usize>() {
                        // SAFETY: a view's first raw parameter is a readable pointer.
                        names.push((name, unsafe { pointer.cast::<usize>().read_unaligned() }));
                    }
                }
            }
        }
        for (i, lane) in self.start_order.iter_mut().enumerate() {
            *lane = i as u32;
        }
        order_lanes(&mut self.start_order, state.order.get(), block_idx);
    }

    /// # Safety
    /// As for [`launch`](super::launch).
    unsafe fn start(&mut self, linear: u32, params: &[*const c_void]) -> Result<LaneCoroutine, Fault> {
        let stack = match self.stacks.pop() {
            Some(stack) => stack,
            None => DefaultStack::new(STACK_BYTES).map_err(|error| {
                self.fault(linear, FaultKind::Panic {
                    message: format!("no memory for the lane's stack of {STACK_BYTES} bytes: {error}"),
                })
            })?,
        };
        let lane: *const Lane = &raw const self.lanes[linear as usize];
        let params: *const [*const c_void] = params;
        let cpu = self.state.kernel.cpu;
        Ok(Coroutine::with_stack(stack, move |yielder, ()| {
            // SAFETY: the lane and the parameters outlive the coroutine, which ends or is reset before
            // `run` is left; the kernel's contract is the launch's.
            unsafe {
                (*lane).yielder.set(yielder);
                cpu(&*params);
            }
        }))
    }

    /// Runs a lane until it ends (1) or is suspended (0).
    fn resume(&mut self, linear: u32, mut coroutine: LaneCoroutine) -> Result<usize, Fault> {
        let previous = set_current(&raw const self.lanes[linear as usize]);
        let outcome = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
        set_current(previous);
        let failed = self.state.fault.borrow_mut().take();
        match outcome {
            Ok(CoroutineResult::Return(())) => {
                self.stacks.push(coroutine.into_stack());
                Ok(1)
            }
            Ok(CoroutineResult::Yield(())) => {
                self.coroutines[linear as usize] = Some(coroutine);
                match failed {
                    Some(fault) => {
                        self.reset();
                        Err(fault)
                    }
                    None => Ok(0),
                }
            }
            Err(payload) => {
                self.stacks.push(coroutine.into_stack());
                self.reset();
                let message = payload
                    .downcast_ref::<&str>()
                    .map(|s| s.to_string())
                    .or_else(|| payload.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "of an unknown type".to_owned());
                Err(self.fault(linear, FaultKind::Panic { message }))
            }
        }
    }

    fn fault(&self, linear: u32, kind: FaultKind) -> Fault {
        Fault {
            kernel: self.state.kernel.name,
            block: self.state.block_idx.get(),
            lane: self.lanes[linear as usize].thread_idx,
            kind,
        }
    }

    /// Nobody is ready and not everybody is done.
    fn stuck(&mut self) -> Fault {
        let waiting = self.state.waiting_groups();
        let returned = self
            .coroutines
            .iter()
            .enumerate()
            .filter(|(_, coroutine)| coroutine.is_none())
            .map(|(linear, _)| linear as u32)
            .collect();
        let first = waiting.first().and_then(|(lanes, _, _)| lanes.0.first()).copied().unwrap_or(0);
        self.reset();
        self.fault(first, FaultKind::Stuck { waiting, returned: LaneSet(returned) })
    }

    /// Forgets the lanes of a block that failed.
    fn reset(&mut self) {
        for coroutine in self.coroutines.iter_mut().filter_map(Option::take) {
            let mut coroutine = coroutine;
            // SAFETY: a lane's frames hold plain data and views; nothing there needs its destructor, and
            // nothing outside points into them once the block is over.
            unsafe { coroutine.force_reset() };
            self.stacks.push(coroutine.into_stack());
        }
        let state = &self.state;
        state.waiting.borrow_mut().fill(None);
        state.ready.borrow_mut().clear();
        state.arrived.set(0);
        state.votes.set(0);
    }
}

impl Drop for BlockRunner {
    fn drop(&mut self) {
        self.reset();
    }
}
