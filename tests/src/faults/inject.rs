//! Injects one fault after the other.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use warpwright::{Device, Error, Result};
use warpwright_workloads::{Ready, Workload};

use crate::operations::{self, Operation};

use super::{
    Behind,
    driver::{Driver, Live, Plan},
};

/// `CUDA_ERROR_UNKNOWN`: the error of a call that may succeed the next time.
const UNKNOWN: u32 = 999;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: u32 = 2;
/// `CUDA_ERROR_LAUNCH_FAILED`: the error of every call after a kernel has faulted.
const LAUNCH_FAILED: u32 = 719;

/// The number of mock devices: each is opened for the first time only once.
const DEVICES: u32 = 8000;

/// The injected faults that the library handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of operations.
    pub operations: u64,
    /// The number of families whose variants are all among the operations.
    pub families: u64,
    /// The number of driver calls of the operations on a device in use.
    pub calls: u64,
    /// The number of driver calls of opening a device and running a family's first operation there.
    pub first_calls: u64,
    /// Calls that failed once, where the operation returned an error that names the call.
    pub told: u64,
    /// Calls that failed once, where the operation succeeded anyway because the call only releases something.
    pub made_good: u64,
    /// Allocations that failed, once or from there on.
    pub without_memory: u64,
    /// Calls from which on the context was lost.
    pub lost: u64,
    /// Faults in queueing prepared work that was then queued again and gave its result.
    pub queued_again: u64,
    /// The number of all driver calls.
    pub driver_calls: u64,
}

impl Counts {
    /// Returns the number of all faults.
    pub fn faults(&self) -> u64 {
        self.told + self.made_good + self.without_memory + self.lost
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in [
            ("operations", self.operations),
            ("families with every variant", self.families),
            ("driver calls of the operations", self.calls),
            ("driver calls of first uses", self.first_calls),
            ("faults injected and survived", self.faults()),
            ("  a call failed once, and the error names it", self.told),
            (
                "  a call that gives back failed once, and was made good",
                self.made_good,
            ),
            ("  no memory for an allocation", self.without_memory),
            ("  the context was lost, and the error says so", self.lost),
            (
                "  prepared work failed, and was queued again",
                self.queued_again,
            ),
            ("driver calls in all", self.driver_calls),
        ] {
            writeln!(f, "{what}: {count}")?;
        }
        Ok(())
    }
}

/// The outcome of an operation.
type Outcome = std::thread::Result<Result<u64>>;

fn attempt(work: impl FnOnce() -> Result<u64>) -> Outcome {
    catch_unwind(AssertUnwindSafe(work))
}

struct Injector<'a> {
    driver: &'a Driver,
    counts: Counts,
    problems: Vec<String>,
}

/// Injects all faults.
pub fn all(driver: &Driver, behind: Behind) -> std::result::Result<Counts, String> {
    let mut injector = Injector {
        driver,
        counts: Counts::default(),
        problems: Vec::new(),
    };
    let operations = operations::all();
    injector.counts.operations = operations.len() as u64;
    injector.counts.families = operations::asked(&operations) as u64;
    if injector.counts.families != warpwright::families().len() as u64 {
        return Err("a variant is left out".to_owned());
    }
    injector.start()?;
    let device = Device::cuda(0).map_err(|error| format!("no fault injected: {error}"))?;
    for operation in &operations {
        injector.in_use(&device, operation);
    }
    for (workload, variant) in operations::workloads() {
        if let Err(error) = injector.prepared(&device, &workload, variant) {
            injector.problem(&workload.name(), variant, &format!("prepared: {error}"));
        }
    }
    drop(device);
    if behind == Behind::Mock {
        driver.devices(2, 1 << 30);
        let peers = injector.two_devices()?;
        driver.devices(DEVICES, 1 << 30);
        let mut ordinal = 2;
        injector.first_use(&peers, &mut ordinal);
        for operation in operations.iter().filter(|operation| operation.is_best) {
            injector.first_use(operation, &mut ordinal);
        }
    }
    injector.counts.driver_calls = driver.calls();
    let wrong = driver.wrong();
    if !wrong.is_empty() {
        injector
            .problems
            .push(format!("the driver was misused: {wrong}"));
    }
    if injector.problems.is_empty() {
        Ok(injector.counts)
    } else {
        Err(injector.problems.join("\n"))
    }
}

impl Injector<'_> {
    /// Injects faults into the process's first driver calls, until a device opens.
    fn start(&mut self) -> std::result::Result<(), String> {
        for nth in 1.. {
            self.driver.arm(Plan::Once, nth, UNKNOWN);
            let outcome = attempt(|| Device::cuda(0).map(|_| 0));
            let Some(call) = self.driver.disarm().1 else {
                return match outcome {
                    Ok(Ok(_)) => Ok(()),
                    other => Err(format!("opening a device without a fault: {other:?}")),
                };
            };
            self.judge("opening a device", nth, &call, outcome, 0);
            if self.problems.len() > 5 {
                return Err(self.problems.join("\n"));
            }
        }
        unreachable!("the numbers do not end")
    }

    /// Checks that operations with arguments of two CUDA devices are refused, and injects faults into copies between the two.
    /// Returns these copies.
    fn two_devices(&mut self) -> std::result::Result<Operation, String> {
        let open = |ordinal| Device::cuda(ordinal).map_err(|error| error.to_string());
        let [first, second] = [open(0)?, open(1)?];
        let results = operations::mixed(&first, &second).map_err(|error| error.to_string())?;
        for (name, result) in results {
            if !matches!(result, Err(Error::DeviceMismatch { .. })) {
                self.problem(&name, "on two devices", &format!("{result:?}"));
            }
        }
        let peers = operations::to_peer(second);
        self.in_use(&first, &peers);
        self.counts.operations += 1;
        Ok(peers)
    }

    /// Injects every fault into an operation on a device that has run it before.
    fn in_use(&mut self, device: &Device, operation: &Operation) {
        let name = &operation.name;
        // The first run loads what stays loaded, and the second shows the result.
        let first = attempt(|| (operation.run)(device));
        if !matches!(first, Ok(Ok(_))) {
            return self.problem(name, "without a fault", &format!("{first:?}"));
        }
        let live = self.settled();
        self.driver.arm(Plan::None, 0, 0);
        let wanted = attempt(|| (operation.run)(device));
        self.counts.calls += self.driver.disarm().0;
        let Ok(Ok(wanted)) = wanted else {
            return self.problem(name, "again", &format!("{wanted:?}"));
        };
        let faults = [
            (Plan::Once, UNKNOWN),
            (Plan::OneAllocation, OUT_OF_MEMORY),
            (Plan::Allocations, OUT_OF_MEMORY),
            (Plan::Lost, LAUNCH_FAILED),
        ];
        for (plan, code) in faults {
            for nth in 1.. {
                self.driver.arm(plan, nth, code);
                let outcome = attempt(|| (operation.run)(device));
                let later =
                    (plan == Plan::Lost).then(|| attempt(|| device.upload(&[1_u8]).map(|_| 0)));
                // Only a later call has failed, or none.
                let Some(call) = self.driver.disarm().1 else {
                    break;
                };
                let has_failed = outcome.as_ref().is_ok_and(Result::is_err);
                match plan {
                    Plan::Once => self.judge(name, nth, &call, outcome, wanted),
                    Plan::Lost => {
                        if let Some(later) = later {
                            self.judge_lost(name, nth, &call, later);
                        }
                        if has_failed {
                            self.judge_lost(name, nth, &call, outcome);
                        }
                        self.counts.lost += 1;
                    }
                    _ => self.judge_memory(name, nth, plan, outcome, wanted),
                }
                self.afterwards(name, nth, &call, live, || (operation.run)(device), wanted);
                if self.problems.len() > 40 {
                    return;
                }
                if plan == Plan::Lost && !has_failed {
                    // The operation makes fewer calls than this number.
                    self.counts.lost -= 1;
                    break;
                }
            }
        }
    }

    /// Injects every fault into queueing prepared work, in its first run and in a later one, and queues it again: that must
    /// give the result, and so make all the calls of a first run.
    fn prepared(&mut self, device: &Device, workload: &Workload, variant: &str) -> Result<()> {
        let name = format!(
            "{} {variant} {}, prepared",
            workload.family(),
            workload.name()
        );
        let input = workload.input(device)?;
        let prepare = || input.prepare(device, Some(variant));
        let driver = self.driver;
        let queue = |ready: &mut dyn Ready| -> Result<(Vec<String>, Vec<u8>)> {
            let (queued, mut calls) = driver.calls_of(|| ready.enqueue());
            queued?;
            calls.retain(|call| !call.starts_with("cuCtx"));
            for call in &mut calls {
                // The arguments of a launch have bytes between their fields.
                call.truncate(call.find(" (").unwrap_or(call.len()));
            }
            Ok((calls, ready.bits()?))
        };
        let mut ready = match prepare() {
            Err(Error::NotEligible { .. }) => return Ok(()),
            ready => ready?,
        };
        if ready.kernels().is_empty() {
            // It is not prepared by the library.
            return Ok(());
        }
        // What stays, such as a constant table, is there from then on.
        ready.enqueue()?;
        let (first, wanted) = queue(&mut *prepare()?)?;
        for earlier in [0, 1] {
            for nth in 1.. {
                let mut ready = prepare()?;
                for _ in 0..earlier {
                    ready.enqueue()?;
                }
                self.driver.arm(Plan::Once, nth, UNKNOWN);
                let outcome = attempt(|| ready.enqueue().map(|()| 0));
                let Some(call) = self.driver.disarm().1 else {
                    break;
                };
                let has_failed = outcome.as_ref().is_ok_and(Result::is_err);
                self.judge(&name, nth, &call, outcome, 0);
                if has_failed && ready.bits().is_ok() {
                    self.problem(&name, &call, &format!("call {nth} failed: a result"));
                }
                match queue(&mut *ready) {
                    Ok((calls, got)) if got == wanted && contains(&calls, &first) => {
                        self.counts.queued_again += 1;
                    }
                    other => {
                        let calls = other.map(|(calls, got)| (calls, got == wanted));
                        let text = format!("call {nth} failed, later {calls:?}, not {first:?}");
                        self.problem(&name, &call, &text);
                    }
                }
                if self.problems.len() > 40 {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Injects every fault into opening a device and running an operation there for the first time.
    fn first_use(&mut self, operation: &Operation, ordinal: &mut usize) {
        let mut device = || {
            *ordinal += 1;
            *ordinal
        };
        let name = format!("{}, the first on its device", operation.name);
        let run = |ordinal| (operation.run)(&Device::cuda(ordinal)?);
        let before = self.driver.live();
        self.driver.arm(Plan::None, 0, 0);
        let clean = device();
        let wanted = attempt(|| run(clean));
        self.counts.first_calls += self.driver.disarm().0;
        let Ok(Ok(wanted)) = wanted else {
            return self.problem(&name, "without a fault", &format!("{wanted:?}"));
        };
        let stays = difference(self.driver.live(), before);
        for nth in 1.. {
            let number = device();
            let before = self.driver.live();
            self.driver.arm(Plan::Once, nth, UNKNOWN);
            let outcome = attempt(|| run(number));
            let Some(call) = self.driver.disarm().1 else {
                break;
            };
            self.judge(&name, nth, &call, outcome, wanted);
            let mut live = before;
            for (live, stays) in live.iter_mut().zip(stays) {
                *live += stays;
            }
            self.afterwards(&name, nth, &call, live, || run(number), wanted);
            if self.problems.len() > 40 {
                return;
            }
        }
    }

    /// Judges the outcome of an operation after one of its calls failed.
    fn judge(&mut self, name: &str, nth: u64, call: &str, outcome: Outcome, wanted: u64) {
        match outcome {
            Ok(Err(error)) => {
                let text = error.to_string();
                // Names are compared without the version that the driver's headers add.
                let stem = call.split("_v").next().unwrap_or(call);
                if text.contains(stem) && !text.contains('\n') {
                    self.counts.told += 1;
                } else {
                    self.problem(name, call, &format!("call {nth} failed, and: {text}"));
                }
            }
            Ok(Ok(got)) if got == wanted && gives_back(name, call) => self.counts.made_good += 1,
            Ok(Ok(got)) => {
                let text = format!("call {nth} failed, and it gives {got:x}, not {wanted:x}");
                self.problem(name, call, &text);
            }
            Err(_) => self.problem(name, call, &format!("call {nth} failed, and it panics")),
        }
    }

    fn judge_memory(&mut self, name: &str, nth: u64, plan: Plan, outcome: Outcome, wanted: u64) {
        match outcome {
            Ok(Err(Error::OutOfMemory { requested, .. })) if requested > 0 => {}
            // The library releases the memory that its pool keeps, and tries the allocation again.
            Ok(Ok(got)) if got == wanted && plan == Plan::OneAllocation => {}
            other => {
                let text = format!("there is no memory for allocation {nth}, and: {other:?}");
                return self.problem(name, "allocation", &text);
            }
        }
        self.counts.without_memory += 1;
    }

    fn judge_lost(&mut self, name: &str, nth: u64, call: &str, outcome: Outcome) {
        match outcome {
            Ok(Err(Error::Driver {
                code, ref message, ..
            })) if code == LAUNCH_FAILED && message.contains("context is lost") => {}
            other => {
                let text = format!("the context is lost at call {nth}, and: {other:?}");
                self.problem(name, call, &text);
            }
        }
    }

    /// Runs the operation again, and checks for objects that were not released.
    fn afterwards(
        &mut self,
        name: &str,
        nth: u64,
        call: &str,
        live: Live,
        run: impl FnOnce() -> Result<u64>,
        wanted: u64,
    ) {
        match attempt(run) {
            Ok(Ok(got)) if got == wanted => {}
            other => {
                let text = format!("after the fault in call {nth}: {other:?}, not {wanted:x}");
                self.problem(name, call, &text);
            }
        }
        let mut now = self.driver.live();
        if now != live {
            now = self.settled();
        }
        if now != live {
            let text = format!("call {nth} failed; left behind: {now:?}, not {live:?}");
            self.problem(name, call, &text);
        }
    }

    /// Returns the numbers of live objects. The library's thread may have an event a moment longer than its future.
    fn settled(&self) -> Live {
        let mut live = self.driver.live();
        loop {
            thread::sleep(Duration::from_millis(5));
            let later = self.driver.live();
            if later == live {
                return live;
            }
            live = later;
        }
    }

    fn problem(&mut self, name: &str, call: &str, what: &str) {
        self.problems.push(format!("{name}: {call}: {what}"));
    }
}

/// Returns whether an operation can succeed although this call fails: the call releases something, or a drop waits by it and
/// then waits again (pinned memory for the copy that uses it, memory of others and tensors for the work that does).
fn gives_back(name: &str, call: &str) -> bool {
    let waits: &[&str] = match name.split([' ', ',']).next() {
        Some("pinned" | "memory") => &["cuStreamSynchronize"],
        Some("tensors") => &[
            "cuStreamSynchronize",
            "cuEventCreate",
            "cuEventRecord",
            "cuStreamWaitEvent",
        ],
        _ => &[],
    };
    ["Free", "Destroy", "Unload", "Release", "cuCtx"]
        .iter()
        .any(|part| call.contains(part))
        || waits.contains(&call)
}

fn difference(later: Live, earlier: Live) -> Live {
    let mut difference = later;
    for (count, earlier) in difference.iter_mut().zip(earlier) {
        *count -= earlier;
    }
    difference
}

/// Returns whether the calls of `first` are among `calls`, in their order.
fn contains(calls: &[String], first: &[String]) -> bool {
    let mut calls = calls.iter();
    first.iter().all(|call| calls.any(|it| it == call))
}
