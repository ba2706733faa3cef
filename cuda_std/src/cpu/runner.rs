//! Runs the lanes of a block as coroutines, one at a time, until all have returned or the block lets another one run.
//!
//! ```text
//! for each lane, in the launch's order: run it on a stack of its own, until it returns or is suspended
//! while not all lanes have returned:
//!     if a lane is ready: run it on
//!     else if a bulk copy is under way: carry it out                (its bytes may be what lanes wait for)
//!     else if a word has changed that lanes wait for: they are ready
//!     else if lanes wait for words, or for other blocks of the cluster: return, the block waits
//!     else: a fault, which names the lanes that wait and those that have returned
//! after each lane's turn: if it gives up the block's turn, return, and let other blocks run
//! after a fault: unwind every lane
//! ```
//!
//! A kernel is ordinary code, which may wait in any function that it calls: only with a stack of its own a lane can stop there.
//! Lanes of one thread need no locks, and the same order of lanes gives the same run.
// A fault ends the launch: it is made once, and returned through a few calls.
#![allow(clippy::result_large_err)]

use core::{
    any::Any,
    cell::{Cell, RefCell},
    ffi::c_void,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

use corosensei::{Coroutine, CoroutineResult, stack::Stack};

use super::{
    Launch,
    block::{BlockState, Cluster, GivesUp, Waiting},
    checks::Checks,
    copies::{Copies, Stores},
    fault::{Fault, FaultKind, LaneSet},
    lane::{self, Lane, LaneEnds, set_current},
    order::order_lanes,
    progress::Progress,
    shadow,
    stacks::{LaneStack, Stacks},
};
use crate::kernel::KernelDescriptor;

type LaneCoroutine = Coroutine<(), (), (), LaneStack>;

/// The way in which a lane stopped running.
enum Step {
    Suspended,
    /// The lane returned, or was unwound as it was told to.
    Returned,
    Panicked(Box<dyn Any + Send>),
}

/// The stage of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// All lanes have returned.
    Done,
    /// The block lets another one run.
    GivesUp(GivesUp),
    /// The block's lanes wait for words to change, or for lanes that do.
    Waits,
}

/// Runs blocks of one launch, one after the other, on one thread. Other blocks may run in between.
pub(super) struct BlockRunner<'a> {
    /// The source of the stacks. Making one takes two system calls and its first use two page faults, far more than a short
    /// lane's work.
    pool: &'a Stacks,
    /// The number of stacks of lanes that did not end.
    leaked: usize,
    pub state: Box<BlockState>,
    lanes: Vec<Lane>,
    coroutines: Vec<Option<LaneCoroutine>>,
    stacks: Vec<LaneStack>,
    /// The lanes in the order in which they start, and how many have started and returned.
    start_order: Vec<u32>,
    started: usize,
    returned: usize,
}

impl<'a> BlockRunner<'a> {
    /// Makes a runner for one of the slots of a thread, whose block is the next of a cluster.
    ///
    /// # Safety
    /// The runner must not outlive the launch.
    pub unsafe fn new(
        launch: &Launch<'_>,
        pool: &'a Stacks,
        progress: &'a Progress,
        slot: u32,
        cluster: Rc<Cluster>,
        waiting: Rc<Waiting>,
    ) -> Self {
        #[cfg(unix)]
        super::overflow::watch();
        let config = launch.config;
        let count = config.threads() as u32;
        // SAFETY: by the contract; the progress outlives the runner and its state.
        let state =
            unsafe { BlockState::new(launch, progress, slot, Rc::clone(&cluster), waiting) };
        let state = Box::new(state);
        // SAFETY: the state is in a box that lives as long as the runner, and the cluster is that of the thread's runners.
        unsafe { cluster.add(&raw const *state) };
        let lanes: Vec<Lane> = (0..count)
            .map(|linear| Lane {
                thread_idx: config.lane_at(linear),
                linear,
                yielder: Cell::new(core::ptr::null()),
                result: Cell::new(0),
                stack: Cell::new((0, 0)),
                copies: RefCell::new(Copies::default()),
                stores: RefCell::new(Stores::default()),
                gave_way: Cell::new(None),
                looked_at: Cell::new(0),
                arrived: Cell::new(None),
                ends: Cell::new(0),
                outer: lane::current(),
                block: &raw const *state,
            })
            .collect();
        Self {
            pool,
            leaked: 0,
            state,
            lanes,
            coroutines: (0..count).map(|_| None).collect(),
            stacks: pool.for_worker(count as usize),
            start_order: (0..count).collect(),
            started: 0,
            returned: 0,
        }
    }

    /// Prepares everything for a block.
    ///
    /// # Safety
    /// As for [`launch`](super::launch).
    pub unsafe fn prepare(&mut self, block: u64, params: &[*const c_void]) {
        let state = &self.state;
        state.start(block, self.lanes.as_ptr());
        if state.params.borrow().is_empty() {
            // SAFETY: by the contract.
            state
                .params
                .replace(unsafe { views(&state.kernel, params) });
        }
        for (i, lane) in self.start_order.iter_mut().enumerate() {
            *lane = i as u32;
        }
        let block_idx = state.block_idx.get();
        order_lanes(&mut self.start_order, state.options.order, block_idx);
        (self.started, self.returned) = (0, 0);
    }

    /// Runs the block until it is done or lets another one run. An error without a fault means that the block is no longer
    /// needed. After an error all of its lanes have ended.
    ///
    /// # Safety
    /// As for [`launch`](super::launch).
    pub unsafe fn run(&mut self, params: &[*const c_void]) -> Result<Stage, Option<Fault>> {
        // SAFETY: by the contract.
        let stage = unsafe { self.run_lanes(params) };
        if stage.is_err() {
            self.end_lanes();
        }
        if matches!(stage, Err(_) | Ok(Stage::Done)) {
            self.state.waits_no_more();
        }
        stage
    }

    /// # Safety
    /// As for [`launch`](super::launch).
    unsafe fn run_lanes(&mut self, params: &[*const c_void]) -> Result<Stage, Option<Fault>> {
        self.state.comes_back();
        self.state.wake();
        self.state.runs.set(true);
        while let Some(linear) = self.start_order.get(self.started).copied() {
            self.started += 1;
            if self.started == self.start_order.len() {
                self.state.all_started.set(true);
            }
            // SAFETY: by the contract.
            let coroutine = unsafe { self.start(linear, params) }.map_err(Some)?;
            self.returned += self.resume(linear, coroutine)?;
            if let Some(why) = self.state.gives_up.take() {
                return Ok(Stage::GivesUp(why));
            }
        }
        while self.returned < self.lanes.len() {
            let Some(linear) = self.state.next_ready() else {
                // A copy's bytes may be what lanes wait for.
                if self.state.load_lands() {
                    match self.state.is_ending() {
                        true => return Err(self.state.take_fault()),
                        false => continue,
                    }
                }
                match (self.state.wake(), self.state.has_parked()) {
                    (true, _) => continue,
                    (false, true) => return Ok(Stage::Waits),
                    (false, false) if self.state.has_peers() => return Ok(Stage::Waits),
                    (false, false) => return Err(Some(self.stuck())),
                }
            };
            let coroutine = self.coroutines[linear as usize]
                .take()
                .expect("a ready lane is suspended");
            self.returned += self.resume(linear, coroutine)?;
            if let Some(why) = self.state.gives_up.take() {
                return Ok(Stage::GivesUp(why));
            }
        }
        match self.state.load_not_awaited() {
            Some((lane, copy)) if self.state.options.checks.contains(Checks::SYNC) => {
                Err(Some(self.fault(lane, self.state.not_awaited(copy))))
            }
            _ => Ok(Stage::Done),
        }
    }

    /// # Safety
    /// As for [`launch`](super::launch).
    unsafe fn start(
        &mut self,
        linear: u32,
        params: &[*const c_void],
    ) -> Result<LaneCoroutine, Fault> {
        let stack = match self.stacks.pop() {
            Some(stack) => stack,
            None => self
                .pool
                .make()
                .map_err(|message| self.fault(linear, FaultKind::Panic { message }))?,
        };
        let lane = &self.lanes[linear as usize];
        lane.stack.set((stack.limit().get(), stack.base().get()));
        lane.gave_way.set(None);
        lane.arrived.set(None);
        lane.ends.set(0);
        let lane: *const Lane = lane;
        let params: *const [*const c_void] = params;
        let cpu = self.state.kernel.cpu;
        Ok(Coroutine::with_stack(stack, move |yielder, ()| {
            // SAFETY: the lane and the parameters outlive the coroutine, which ends before `run` returns or is never
            // resumed. The kernel's contract is the launch's.
            unsafe {
                (*lane).yielder.set(yielder);
                cpu(&*params);
            }
        }))
    }

    /// Runs a lane until it ends (returns 1) or is suspended (returns 0).
    // This and the next are inlined, because after a switch of stacks the processor mispredicts each return.
    #[inline(always)]
    fn resume(&mut self, linear: u32, coroutine: LaneCoroutine) -> Result<usize, Option<Fault>> {
        match self.step(linear, coroutine) {
            _ if self.state.is_ending() => Err(self.state.take_fault()),
            Step::Suspended => Ok(0),
            Step::Returned => {
                self.state.lane_returned(linear);
                let lane = &self.lanes[linear as usize];
                let left = lane.copies.borrow_mut().forget();
                let stores = lane.stores.borrow_mut().forget();
                match left.or(stores) {
                    Some(copy) if self.state.options.checks.contains(Checks::SYNC) => {
                        Err(Some(self.fault(linear, self.state.not_awaited(copy))))
                    }
                    _ => match self.state.product_not_awaited(linear) {
                        Some(kind) => Err(Some(self.fault(linear, kind))),
                        None => Ok(1),
                    },
                }
            }
            Step::Panicked(payload) => {
                let message = payload
                    .downcast_ref::<&str>()
                    .map(|s| s.to_string())
                    .or_else(|| payload.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "of an unknown type".to_owned());
                // Dropping the payload may panic.
                std::mem::forget(payload);
                Err(Some(self.fault(linear, FaultKind::Panic { message })))
            }
        }
    }

    /// Runs a lane until it ends or is suspended. A lane that is suspended although its block has failed is left as it is,
    /// with its stack, because other code may still use its frames.
    #[inline(always)]
    fn step(&mut self, linear: u32, mut coroutine: LaneCoroutine) -> Step {
        let previous = set_current(&raw const self.lanes[linear as usize]);
        let outcome = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
        set_current(previous);
        let step = match outcome {
            Ok(CoroutineResult::Yield(())) if self.state.is_ending() => {
                std::mem::forget(coroutine);
                self.leaked += 1;
                return Step::Suspended;
            }
            Ok(CoroutineResult::Yield(())) => {
                self.coroutines[linear as usize] = Some(coroutine);
                return Step::Suspended;
            }
            Ok(CoroutineResult::Return(())) => Step::Returned,
            Err(payload) if payload.is::<LaneEnds>() => Step::Returned,
            Err(payload) => Step::Panicked(payload),
        };
        self.stacks.push(coroutine.into_stack());
        step
    }

    fn fault(&self, linear: u32, kind: FaultKind) -> Fault {
        self.state.fault_of(&self.lanes[linear as usize], kind)
    }

    /// Returns the fault of a block in which no lane is ready and not all lanes are done.
    fn stuck(&mut self) -> Fault {
        let waiting = self.state.waiting_groups();
        let returned = self
            .coroutines
            .iter()
            .enumerate()
            .filter(|(_, coroutine)| coroutine.is_none())
            .map(|(linear, _)| linear as u32)
            .collect();
        let first = waiting
            .first()
            .and_then(|(lanes, _, _)| lanes.0.first())
            .copied()
            .unwrap_or(0);
        self.fault(
            first,
            FaultKind::Stuck {
                waiting,
                returned: LaneSet(returned),
            },
        )
    }

    /// Returns the fault of a block whose lanes wait for something that no lane does.
    pub fn idle(&self) -> Fault {
        let (first, kind) = self.state.idle();
        self.fault(first.unwrap_or(0), kind)
    }

    /// Ends the block, which is no longer needed.
    pub fn cancel(&mut self) {
        self.end_lanes();
    }

    /// Ends the lanes of a block that failed or is no longer needed. Each lane is unwound, so that the values in its frames
    /// are dropped.
    fn end_lanes(&mut self) {
        self.state.ends();
        shadow::with(|tracker| tracker.switch_to(self.state.slot as usize));
        for linear in 0..self.coroutines.len() {
            let Some(coroutine) = self.coroutines[linear].take() else {
                continue;
            };
            if cfg!(panic = "unwind") {
                self.step(linear as u32, coroutine);
            } else {
                // The lane cannot be unwound, so its frames stay.
                std::mem::forget(coroutine);
                self.leaked += 1;
            }
        }
    }
}

/// Returns the name and the address of each of a launch's views that is not empty.
///
/// # Safety
/// As for [`launch`](super::launch).
pub(super) unsafe fn views(
    kernel: &KernelDescriptor,
    params: &[*const c_void],
) -> Vec<(&'static str, usize)> {
    let mut raw = params.iter();
    let mut views = Vec::new();
    for (parameter, name) in kernel.params.iter().zip(kernel.param_names) {
        let parts: Vec<_> = raw.by_ref().take(parameter.len()).collect();
        if let [start, len] = parts[..]
            && parameter.iter().all(|part| part.size == size_of::<usize>())
        {
            // SAFETY: a view's raw parameters are a pointer and a length, both readable.
            let [start, len] =
                [start, len].map(|part| unsafe { part.cast::<usize>().read_unaligned() });
            if len > 0 {
                views.push((*name, start));
            }
        }
    }
    views
}

impl Drop for BlockRunner<'_> {
    fn drop(&mut self) {
        self.end_lanes();
        self.pool.give_back(&mut self.stacks, self.leaked);
    }
}
