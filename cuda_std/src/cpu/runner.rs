//! The scheduler: runs the lanes of a block as coroutines, one at a time.
// A fault ends the launch: it is made once, and passed up a few calls.
#![allow(clippy::result_large_err)]

use core::{
    cell::{Cell, RefCell},
    ffi::c_void,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::{
    Coroutine, CoroutineResult,
    stack::{DefaultStack, Stack},
};

use super::{
    Options,
    block::BlockState,
    checks::Checks,
    copies::Copies,
    fault::{Fault, FaultKind, LaneSet},
    kept_stacks,
    lane::{Lane, set_current},
    order::order_lanes,
};
use crate::{
    constant::ConstantValues,
    kernel::{KernelDescriptor, LaunchConfig},
};

/// Bytes of stack per lane: a reservation of address space; pages that are never touched cost nothing.
const STACK_BYTES: usize = 256 * 1024;

thread_local! {
    /// Stacks that no lane is using. Making one takes two system calls and its first use two page faults,
    /// far more than a short lane's work.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
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
    /// # Safety
    /// The values of the tables outlive the runner.
    pub unsafe fn new(
        kernel: &KernelDescriptor,
        config: &LaunchConfig,
        constants: &[ConstantValues<'_>],
        options: &Options,
    ) -> Self {
        let count = config.threads() as u32;
        // SAFETY: by the contract.
        let state = unsafe { BlockState::new(kernel, config, constants, options) };
        let state = Box::new(state);
        let lanes: Vec<Lane> = (0..count)
            .map(|linear| Lane {
                thread_idx: config.lane_at(linear),
                linear,
                yielder: Cell::new(core::ptr::null()),
                result: Cell::new(0),
                stack: Cell::new((0, 0)),
                copies: RefCell::new(Copies::default()),
                block: &raw const *state,
            })
            .collect();
        Self {
            state,
            lanes,
            coroutines: (0..count).map(|_| None).collect(),
            stacks: STACKS.take(),
            start_order: (0..count).collect(),
        }
    }

    /// Runs one block.
    ///
    /// # Safety
    /// As for [`launch`](super::launch).
    pub unsafe fn run(&mut self, block: u64, params: &[*const c_void]) -> Result<(), Fault> {
        // SAFETY: the caller's contract.
        unsafe { self.prepare(block, params) };
        let mut done = 0;
        for i in 0..self.start_order.len() {
            let linear = self.start_order[i];
            if i + 1 == self.start_order.len() {
                self.state.all_started.set(true);
            }
            // SAFETY: the caller's contract.
            let coroutine = unsafe { self.start(linear, params)? };
            done += self.resume(linear, coroutine)?;
        }
        while done < self.lanes.len() {
            let Some(linear) = self.state.next_ready() else {
                return Err(self.stuck());
            };
            let coroutine = self.coroutines[linear as usize]
                .take()
                .expect("a ready lane is suspended");
            done += self.resume(linear, coroutine)?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`launch`](super::launch).
    unsafe fn prepare(&mut self, block: u64, params: &[*const c_void]) {
        let state = &self.state;
        let block_idx = state.config.block_at(block);
        state.start(block_idx, self.lanes.as_ptr());
        if state.params.borrow().is_empty() {
            // SAFETY: the caller's contract.
            state
                .params
                .replace(unsafe { views(&state.kernel, params) });
        }
        for (i, lane) in self.start_order.iter_mut().enumerate() {
            *lane = i as u32;
        }
        order_lanes(&mut self.start_order, state.options.order, block_idx);
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
            None => DefaultStack::new(STACK_BYTES).map_err(|error| {
                self.fault(
                    linear,
                    FaultKind::Panic {
                        message: format!(
                            "no memory for the lane's stack of {STACK_BYTES} bytes: {error}"
                        ),
                    },
                )
            })?,
        };
        let lane = &self.lanes[linear as usize];
        lane.stack.set((stack.limit().get(), stack.base().get()));
        let lane: *const Lane = lane;
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
        let failed = self.state.take_fault();
        match outcome {
            Ok(CoroutineResult::Return(())) => {
                self.state.lane_returned(linear);
                self.stacks.push(coroutine.into_stack());
                let left = self.lanes[linear as usize].copies.borrow_mut().forget();
                match left {
                    Some(copy) if self.state.options.checks.contains(Checks::SYNC) => {
                        self.reset();
                        Err(self.fault(linear, self.state.not_awaited(copy)))
                    }
                    _ => Ok(1),
                }
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
            checks: self.state.options.checks,
            order: self.state.options.order,
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
        let first = waiting
            .first()
            .and_then(|(lanes, _, _)| lanes.0.first())
            .copied()
            .unwrap_or(0);
        self.reset();
        self.fault(
            first,
            FaultKind::Stuck {
                waiting,
                returned: LaneSet(returned),
            },
        )
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
    }
}

/// The name and the address of each of a launch's views that are not empty.
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

impl Drop for BlockRunner {
    fn drop(&mut self) {
        self.reset();
        self.stacks.truncate(kept_stacks());
        // A thread that is ending keeps no stacks.
        let _ = STACKS.try_with(|kept| kept.replace(std::mem::take(&mut self.stacks)));
    }
}
