//! A run: for each case the answers are verified, then ours and the peers' are timed in turn.

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

/// What functions here give.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// How much is done.
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
    /// One of three values.
    pub fn pick<T>(self, full: T, quick: T, tiny: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
            Self::Tiny => tiny,
        }
    }
}

/// What a run does with a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: the cases are listed.
    List,
    /// It is verified.
    Verify,
    /// It is verified and timed.
    Time,
    /// It is verified, and one operation is done between the marks that a profiler waits for.
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

/// A library that is about to do a case on several sets of buffers.
pub trait Contender {
    /// Queues the work on the buffers `set`.
    ///
    /// # Errors
    /// What the library reports.
    fn enqueue(&mut self, set: usize) -> Result<()>;

    /// Waits, and compares the answer of the work queued last, which was on the buffers `set`.
    ///
    /// # Errors
    /// What the library reports; a wrong answer is the inner error.
    fn check(&mut self, set: usize) -> Result<Result<(), String>>;

    /// The time of one operation in seconds, of `repeats` that are queued back to back, on `sets` sets of
    /// buffers in turn.
    ///
    /// # Errors
    /// What the library reports.
    fn sample(&mut self, device: &Device, sets: usize, repeats: u32) -> Result<f64> {
        // The first one keeps the device busy until the start of the others is marked.
        self.enqueue(sets - 1)?;
        let (done, time) = device
            .time(|| Ok((0..repeats).try_for_each(|turn| self.enqueue(turn as usize % sets))))?;
        done?;
        Ok(time.as_secs_f64() / f64::from(repeats))
    }
}

/// A contender whose work is two functions of a state.
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

/// A contender of a state and two functions.
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
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its aim, where it is not the case's own.
    pub ratio_aim: Option<f64>,
    /// The way that it takes, where it has several.
    pub way: Option<String>,
    /// What does the work, or why it is missing.
    pub contender: Result<Box<dyn Contender + 'a>, Absent>,
}

/// Why a peer does not do a case.
#[derive(Debug, Clone)]
pub enum Absent {
    /// It is not there.
    Missing(String),
    /// It could not get ready.
    Failed(String),
}

/// All who do a case.
pub struct Contest<'a> {
    /// The sets of buffers.
    pub sets: usize,
    /// Ours.
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
    /// A run on `device`; `report` is called after each case.
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

    /// The same run as a sweep: only the cases that rows of the tables of tuning can do, with those as contenders.
    #[must_use]
    pub fn sweep(mut self, tuning: Tuning) -> Self {
        self.tuning = Some(tuning);
        self
    }

    /// The same run with the one case of this name, as [`Row::name`] gives it.
    #[must_use]
    pub fn only(mut self, case: String) -> Self {
        self.only = Some(case);
        self
    }

    /// Whether the run is a sweep.
    pub fn is_sweep(&self) -> bool {
        self.tuning.is_some()
    }

    /// The rows of a table that take part in a case; none where the run is no sweep.
    pub fn candidates(&self, spec: &Spec) -> Candidates {
        Candidates::of(self.tuning.as_ref(), spec)
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.device.clone()
    }

    /// The peers.
    pub fn peers(&self) -> Rc<Peers> {
        self.peers.clone()
    }

    /// How much is done.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The rows so far.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// The number of sets of buffers of `bytes` bytes, inputs and outputs together, that do not fit the cache,
    /// but not more than 64.
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

    /// Does one case, unless the cases are only listed: `make` makes the contenders ready.
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
                // The other cases may do.
                Err(error) => row
                    .results
                    .push(contender(OURS, Outcome::Failed(error.to_string()))),
            }
        }
        (self.report)(&row);
        self.rows.push(row);
    }
}

/// Whether all of ours that were to be timed or verified were right.
pub fn ours_are_right(rows: &[Row]) -> bool {
    rows.iter().all(|row| {
        row.ours()
            .is_some_and(|ours| matches!(ours.outcome, Outcome::Timed(_) | Outcome::Verified))
    })
}

/// Whether everybody was right.
pub fn all_are_right(rows: &[Row]) -> bool {
    let mut results = rows.iter().flat_map(|row| &row.results);
    results.all(|it| matches!(it.outcome, Outcome::Timed(_) | Outcome::Verified))
}

/// A record's contender.
fn contender(name: &str, outcome: Outcome) -> record::Contender {
    record::Contender {
        name: name.to_owned(),
        ratio_aim: None,
        way: None,
        outcome,
    }
}

/// The address of a vector that a peer writes.
fn pointer<T: Element>(vector: &mut Vector<T>) -> u64 {
    vector.view_mut().device_pointer()
}

/// The bytes' size as a power of two where it is one, else the number.
fn power(number: usize) -> String {
    if number.is_power_of_two() && number >= 1 << 10 {
        format!("2^{}", number.ilog2())
    } else {
        number.to_string()
    }
}
