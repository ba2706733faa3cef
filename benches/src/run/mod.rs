//! A run: for each case the answers are verified, then we and the peers are timed in turn.

pub mod ceilings;
pub mod counters;
pub mod driver;
pub mod families;
pub mod overhead;
pub mod peers;
mod timing;
pub mod tune;

use std::borrow::Cow;
use std::rc::Rc;

use warpwright::{Device, Element, Vector};

use crate::record::{self, Aim, Bound, OURS, Outcome, Row};
use peers::Peers;
use tune::{Candidates, Tuning};

/// The result type of this module.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Every size.
    Full,
    /// A few sizes, and fewer samples.
    Quick,
    /// Sizes for a test of the cases themselves.
    Tiny,
}

impl Scale {
    /// Returns one of three values.
    pub fn pick<T>(self, full: T, quick: T, tiny: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
            Self::Tiny => tiny,
        }
    }
}

/// The action of a run for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Lists the case.
    List,
    /// Verifies it.
    Verify,
    /// Verifies and times it.
    Time,
    /// Verifies it, and runs one operation between the marks that a profiler waits for.
    Profile,
}

/// A case as a family describes it.
#[derive(Debug, Clone)]
pub struct Spec {
    /// As in [`Row`].
    pub family: &'static str,
    /// As in [`Row`].
    pub work: String,
    /// As in [`Row`].
    pub size: String,
    /// As in [`Row`].
    pub elements: usize,
    /// As in [`Row`].
    pub bytes: usize,
    /// As in [`Row`].
    pub operations: u64,
    /// As in [`Row`].
    pub bound: Bound,
    /// As in [`Row`].
    pub aim: Aim,
}

impl Spec {
    /// Makes a case of `len` elements, without operations and without aims.
    pub fn of(family: &'static str, work: impl Into<String>, len: usize, bound: Bound) -> Self {
        Self {
            family,
            work: work.into(),
            size: power(len),
            elements: len,
            bytes: 0,
            operations: 0,
            bound,
            aim: Aim::default(),
        }
    }

    /// Returns the case with the shape of a matrix as its size.
    #[must_use]
    pub fn shape(mut self, height: usize, width: usize) -> Self {
        self.size = format!("{height} x {width}");
        self
    }

    /// Returns the case with this number of operations.
    #[must_use]
    pub fn operations(mut self, operations: u64) -> Self {
        self.operations = operations;
        self
    }

    /// Returns the case with aims for the share of its ceiling and for the ratio to its peers.
    #[must_use]
    pub fn aim(mut self, share: impl Into<Option<f64>>, ratio: impl Into<Option<f64>>) -> Self {
        self.aim = Aim {
            share: share.into(),
            ratio: ratio.into(),
        };
        self
    }
}

/// A library that is prepared for a case, on several sets of buffers.
pub trait Contender {
    /// Queues the work on the buffers `set`.
    ///
    /// # Errors
    /// Returns the library's error.
    fn enqueue(&mut self, set: usize) -> Result<()>;

    /// Waits, and compares the answer of the work that was queued last, on the buffers `set`.
    ///
    /// # Errors
    /// Returns the library's error. A wrong answer is the inner error.
    fn check(&mut self, set: usize) -> Result<Result<(), String>>;

    /// Returns the time of one operation in seconds, from `repeats` operations that are queued back to back, on `sets` sets of
    /// buffers in turn.
    ///
    /// # Errors
    /// Returns the library's error.
    fn sample(&mut self, device: &Device, sets: usize, repeats: u32) -> Result<f64> {
        // The first operation keeps the device busy until the start of the others is recorded.
        self.enqueue(sets - 1)?;
        let (done, time) = device
            .time(|| Ok((0..repeats).try_for_each(|turn| self.enqueue(turn as usize % sets))))?;
        done?;
        Ok(time.as_secs_f64() / f64::from(repeats))
    }
}

/// A contender made of a state and two functions.
pub struct Local<S, E, C> {
    /// The state.
    pub state: S,
    /// Queues the work on a set.
    pub enqueue: E,
    /// Compares the answer on a set.
    pub check: C,
}

impl<S, E, C> Contender for Local<S, E, C>
where
    E: FnMut(&mut S, usize) -> Result<()>,
    C: FnMut(&mut S, usize) -> Result<Result<(), String>>,
{
    fn enqueue(&mut self, set: usize) -> Result<()> {
        (self.enqueue)(&mut self.state, set)
    }

    fn check(&mut self, set: usize) -> Result<Result<(), String>> {
        (self.check)(&mut self.state, set)
    }
}

/// Makes a contender from a state and two functions.
pub fn local<'a, S: 'a>(
    state: S,
    enqueue: impl FnMut(&mut S, usize) -> Result<()> + 'a,
    check: impl FnMut(&mut S, usize) -> Result<Result<(), String>> + 'a,
) -> Box<dyn Contender + 'a> {
    Box::new(Local {
        state,
        enqueue,
        check,
    })
}

/// A peer in a case.
pub struct Rival<'a> {
    /// The peer's name.
    pub name: Cow<'static, str>,
    /// Its own aim, if it differs from the case's.
    pub ratio_aim: Option<f64>,
    /// The way that it uses, if it has several.
    pub way: Option<String>,
    /// The prepared contender, or the reason why it is absent.
    pub contender: Result<Box<dyn Contender + 'a>, Absent>,
}

/// The reason why a peer does not take part in a case.
#[derive(Debug, Clone)]
pub enum Absent {
    /// The peer is not installed.
    Missing(String),
    /// The peer could not be prepared.
    Failed(String),
}

/// All contenders of a case.
pub struct Contest<'a> {
    /// The number of sets of buffers.
    pub sets: usize,
    /// Our contender.
    pub ours: Box<dyn Contender + 'a>,
    /// The peers.
    pub rivals: Vec<Rival<'a>>,
}

/// A run.
pub struct Bench {
    device: Device,
    scale: Scale,
    mode: Mode,
    peers: Rc<Peers>,
    tuning: Option<Tuning>,
    only: Option<String>,
    rows: Vec<Row>,
    report: Box<dyn FnMut(&Row)>,
}

impl Bench {
    /// Makes a run on `device`. `report` is called after each case.
    pub fn new(
        device: Device,
        scale: Scale,
        mode: Mode,
        peers: Peers,
        report: impl FnMut(&Row) + 'static,
    ) -> Self {
        Self {
            device,
            scale,
            mode,
            peers: Rc::new(peers),
            tuning: None,
            only: None,
            rows: Vec::new(),
            report: Box::new(report),
        }
    }

    /// Returns the same run as a sweep: only cases that policy rows can do, with those rows as contenders.
    #[must_use]
    pub fn sweep(mut self, tuning: Tuning) -> Self {
        self.tuning = Some(tuning);
        self
    }

    /// Returns the same run with only the case of this name, as [`Row::name`] returns it.
    #[must_use]
    pub fn only(mut self, case: String) -> Self {
        self.only = Some(case);
        self
    }

    /// Returns whether the run is a sweep.
    pub fn is_sweep(&self) -> bool {
        self.tuning.is_some()
    }

    /// Returns the policy rows that take part in a case. There are none unless the run is a sweep.
    pub fn candidates(&self, spec: &Spec) -> Candidates {
        Candidates::of(self.tuning.as_ref(), spec)
    }

    /// Returns the device.
    pub fn device(&self) -> Device {
        self.device.clone()
    }

    /// Returns the peers.
    pub fn peers(&self) -> Rc<Peers> {
        self.peers.clone()
    }

    /// Returns the size of the run.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Returns the rows so far.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// Returns the number of sets of buffers of `bytes` bytes, inputs and outputs together, that do not fit in the cache, at
    /// most 64.
    pub fn sets(&self, bytes: usize) -> usize {
        if self.mode != Mode::Time {
            return 2;
        }
        let cache = self.device.info().l2_bytes as usize;
        (2 * cache)
            .div_ceil(bytes.max(1))
            .saturating_add(1)
            .clamp(2, 64)
    }

    /// Runs one case, unless the cases are only listed. `make` prepares the contenders.
    pub fn case<'a>(&mut self, spec: Spec, make: impl FnOnce() -> Result<Contest<'a>>) {
        if self.is_sweep() && self.candidates(&spec).is_empty() {
            return;
        }
        let mut row = Row {
            family: spec.family.to_owned(),
            work: spec.work,
            size: spec.size,
            elements: spec.elements as u64,
            bytes: spec.bytes as u64,
            operations: spec.operations,
            bound: spec.bound,
            sets: 0,
            aim: spec.aim,
            results: Vec::new(),
        };
        if self.only.as_ref().is_some_and(|only| *only != row.name()) {
            return;
        }
        if self.mode != Mode::List {
            match make() {
                Ok(contest) => {
                    row.sets = contest.sets;
                    row.results = timing::run(&self.device, self.mode, self.scale, contest);
                }
                // The other cases may still succeed.
                Err(error) => row.results.push(contender(OURS, error.into())),
            }
        }
        (self.report)(&row);
        self.rows.push(row);
    }
}

/// Returns whether all of our results were right that were to be timed or verified.
pub fn ours_are_right(rows: &[Row]) -> bool {
    rows.iter().all(|row| {
        row.ours()
            .is_some_and(|ours| matches!(ours.outcome, Outcome::Timed(_) | Outcome::Verified))
    })
}

/// Returns whether all results were right.
pub fn all_are_right(rows: &[Row]) -> bool {
    let mut results = rows.iter().flat_map(|row| &row.results);
    results.all(|it| matches!(it.outcome, Outcome::Timed(_) | Outcome::Verified))
}

/// Makes a contender of a record.
fn contender(name: &str, outcome: Outcome) -> record::Contender {
    record::Contender {
        name: name.to_owned(),
        ratio_aim: None,
        way: None,
        outcome,
    }
}

/// Returns the address of a vector that a peer reads.
fn address<T: Element>(vector: &Vector<T>) -> u64 {
    vector.view().device_pointer()
}

/// Returns the address of a vector that a peer writes.
fn pointer<T: Element>(vector: &mut Vector<T>) -> u64 {
    vector.view_mut().device_pointer()
}

/// Returns a number as a power of two if it is one, otherwise in digits.
fn power(number: usize) -> String {
    if number.is_power_of_two() && number >= 1 << 10 {
        format!("2^{}", number.ilog2())
    } else {
        number.to_string()
    }
}
