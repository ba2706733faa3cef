//! Mutation testing: drops or weakens one synchronizing operation while kernels run, to see what the checks report.
//!
//! A [`Site`] is an operation at a line of a kernel. [`record`] returns the sites that a piece of work executes. [`with`]
//! runs the same work with a [`Mutation`] of one of them. Both affect only the calling thread, and its launches then run
//! block by block on it. No second build of a kernel is needed. In a process that does neither, a launch pays a relaxed
//! load per synchronizing operation.

use core::{
    cell::RefCell,
    fmt,
    panic::Location,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::collections::BTreeMap;

use super::{
    fault::{FaultKind, LaneSet},
    lane::Lane,
    order::mask_of_first,
    shadow::Touch,
};
use crate::atomic::{How, Scope, Space};

/// The operation of a site, as far as its changes depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A barrier of the block, with or without a vote.
    Barrier,
    /// A `sync_warp`.
    SyncWarp,
    /// A warp operation with a result: a shuffle, a vote, `match`, `redux` or `elect`.
    Warp(&'static str),
    /// A fence.
    Fence {
        /// Whether it also orders accesses of other blocks.
        wide: bool,
    },
    /// An atomic operation.
    Atomic {
        /// `load`, `store` or `update`.
        touch: &'static str,
        /// Whether its ordering releases.
        releases: bool,
        /// Whether its ordering acquires.
        acquires: bool,
        /// Whether it is atomic for other blocks.
        wide: bool,
        /// Whether it is on shared memory.
        shared: bool,
    },
    /// A wait for asynchronous copies.
    Wait,
    /// The end of a group of asynchronous copies.
    Commit,
}

/// A change of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The operation is dropped. A barrier's vote is then the lane's own.
    Dropped,
    /// A barrier becomes a `sync_warp` of the lanes of the warp.
    ToWarp,
    /// A fence or an atomic operation gets the scope of the block.
    ToBlock,
    /// An atomic operation does not release.
    NoRelease,
    /// An atomic operation does not acquire.
    NoAcquire,
    /// An atomic operation becomes a plain read and a plain write, between which other lanes may run.
    InTwoSteps,
    /// The highest lane of the mask is removed from it.
    LaneLeftOut,
    /// The mask keeps only the lanes in the caller's half of the warp.
    OwnHalf,
    /// The mask keeps only the caller.
    OwnLane,
    /// A wait leaves one more group under way.
    OneGroupLess,
}

/// A synchronizing operation at a source line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The source line, which a report names too. A helper may pass on its caller's line. The operations of such a helper
    /// are distinguished by their order in a lane.
    pub at: Location<'static>,
    /// The operation.
    pub operation: Operation,
}

/// One change of one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mutation {
    /// The site.
    pub site: Site,
    /// The change.
    pub change: Change,
    /// The execution by a lane, counted in each block, that is changed. `None` for every execution.
    pub time: Option<u32>,
}

/// The result of [`record`].
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The sites, and the most executions of each by a lane of a block.
    pub sites: BTreeMap<Site, u32>,
    /// The number of lanes that ran, plus the number of operations that they executed.
    pub steps: u64,
}

impl Operation {
    /// Returns the changes that make a difference to the operation, by its definition.
    pub fn changes(self) -> Vec<Change> {
        use Change::{
            Dropped, InTwoSteps, LaneLeftOut, NoAcquire, NoRelease, OneGroupLess, OwnHalf, OwnLane,
            ToBlock, ToWarp,
        };
        match self {
            Self::Barrier => vec![Dropped, ToWarp],
            Self::SyncWarp => vec![Dropped, LaneLeftOut, OwnHalf],
            Self::Warp(_) => vec![LaneLeftOut, OwnHalf, OwnLane],
            Self::Fence { wide } => [vec![Dropped], vec![ToBlock; usize::from(wide)]].concat(),
            Self::Atomic {
                touch,
                releases,
                acquires,
                wide,
                ..
            } => [
                (releases, NoRelease),
                (acquires, NoAcquire),
                (wide, ToBlock),
                (touch == "update", InTwoSteps),
            ]
            .into_iter()
            .filter_map(|(can, change)| can.then_some(change))
            .collect(),
            Self::Wait => vec![Dropped, OneGroupLess],
            Self::Commit => vec![Dropped],
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Barrier => f.write_str("barrier"),
            Self::SyncWarp => f.write_str("sync_warp"),
            Self::Warp(name) => f.write_str(name),
            Self::Fence { wide: true } => f.write_str("fence"),
            Self::Fence { wide: false } => f.write_str("fence of the block"),
            Self::Atomic { touch, .. } => write!(f, "atomic {touch}"),
            Self::Wait => f.write_str("wait"),
            Self::Commit => f.write_str("commit"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dropped => "dropped",
            Self::ToWarp => "as a sync_warp",
            Self::ToBlock => "of the block's scope",
            Self::NoRelease => "without release",
            Self::NoAcquire => "without acquire",
            Self::InTwoSteps => "as a plain read and a plain write",
            Self::LaneLeftOut => "mask without its highest lane",
            Self::OwnHalf => "mask of the own half",
            Self::OwnLane => "mask of the own lane",
            Self::OneGroupLess => "for one group less",
        })
    }
}

impl Mutation {
    /// Returns every mutation of a site that a lane executes `times` times in a block: of all executions together, and, if
    /// a barrier is dropped or weakened, of single executions too: the first few and the last.
    pub fn all(site: Site, times: u32) -> Vec<Self> {
        /// The number of first executions that are changed singly.
        const FIRST: u32 = 12;
        let mut all = Vec::new();
        for change in site.operation.changes() {
            let of = |time| Self { site, change, time };
            all.push(of(None));
            let alone = matches!(
                site.operation,
                Operation::Barrier | Operation::SyncWarp | Operation::Wait
            ) && matches!(change, Change::Dropped | Change::ToWarp);
            if alone && times > 1 {
                let first = times.min(FIRST);
                all.extend((0..first).map(|time| of(Some(time))));
                all.extend((times > first).then(|| of(Some(times - 1))));
            }
        }
        all
    }
}

/// The current activity of this thread.
enum Doing {
    Recording(Recorded, BTreeMap<Site, Vec<u32>>),
    Mutating {
        mutation: Mutation,
        /// The number of executions of the site by each lane of the blocks, slot by slot.
        times: Vec<u32>,
        applied: u64,
        /// The number of synchronizing operations that the work may still execute.
        left: u64,
    },
}

/// The number of threads of the process that record or mutate. It is tested first, as the sanitizer does with its own
/// counter.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static DOING: RefCell<Option<Doing>> = const { RefCell::new(None) };
}

/// Runs `work` with `doing` in place. Returns the work's result and the final `doing`.
fn during<R>(doing: Doing, work: impl FnOnce() -> R) -> (R, Doing) {
    /// Ends the activity even if `work` panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            ACTIVE.fetch_sub(1, Ordering::Relaxed);
            DOING.take();
        }
    }
    let before = DOING.replace(Some(doing));
    assert!(
        before.is_none(),
        "a mutation within a recording or a mutation"
    );
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    let end = End;
    let result = work();
    let doing = DOING.take();
    drop(end);
    (result, doing.expect("set above, and taken only here"))
}

/// Runs `work` and returns the sites that its launches execute.
///
/// # Panics
/// Within another `record` or [`with`].
pub fn record<R>(work: impl FnOnce() -> R) -> (R, Recorded) {
    match during(Doing::Recording(Recorded::default(), BTreeMap::new()), work) {
        (result, Doing::Recording(recorded, _)) => (result, recorded),
        (_, Doing::Mutating { .. }) => unreachable!("it was a recording"),
    }
}

/// Runs `work` with a mutation in its launches. Returns how many times the mutation was applied. A launch in which the work
/// exceeds `most` synchronizing operations ends with [`FaultKind::Idle`].
///
/// # Panics
/// Within another `with` or [`record`].
pub fn with<R>(mutation: Mutation, most: u64, work: impl FnOnce() -> R) -> (R, u64) {
    let doing = Doing::Mutating {
        mutation,
        times: Vec::new(),
        applied: 0,
        left: most,
    };
    match during(doing, work) {
        (result, Doing::Mutating { applied, .. }) => (result, applied),
        (_, Doing::Recording(..)) => unreachable!("it was a mutation"),
    }
}

/// Returns whether this thread records or mutates.
#[inline]
pub(super) fn is_on() -> bool {
    ACTIVE.load(Ordering::Relaxed) != 0 && DOING.with_borrow(Option::is_some)
}

/// Notes that a block of `lanes` lanes starts in a slot of the thread.
pub(super) fn start_block(slot: u32, lanes: u32) {
    if ACTIVE.load(Ordering::Relaxed) == 0 {
        return;
    }
    let first = (slot * lanes) as usize;
    let begin = |times: &mut Vec<u32>| {
        let own = times.iter_mut().skip(first).take(lanes as usize);
        own.for_each(|times| *times = 0);
    };
    DOING.with_borrow_mut(|doing| match doing {
        Some(Doing::Recording(recorded, times)) => {
            recorded.steps += u64::from(lanes);
            times.values_mut().for_each(begin);
        }
        Some(Doing::Mutating { times, .. }) => begin(times),
        None => {}
    });
}

/// Returns the change of an operation that a lane executes, if there is one.
#[inline(always)]
fn change(operation: impl FnOnce() -> Operation, at: &'static Location<'static>) -> Option<Change> {
    if ACTIVE.load(Ordering::Relaxed) == 0 {
        return None;
    }
    come_by(operation(), at)
}

/// Counts an execution. Returns the count before.
fn count(times: &mut Vec<u32>, lane: &Lane) -> u32 {
    let block = lane.block();
    let lane = block.slot as usize * block.config.threads() as usize + lane.linear as usize;
    if times.len() <= lane {
        times.resize(lane + 1, 0);
    }
    times[lane] += 1;
    times[lane] - 1
}

#[cold]
fn come_by(operation: Operation, at: &'static Location<'static>) -> Option<Change> {
    let lane = Lane::try_current()?;
    let site = Site { at: *at, operation };
    let found = DOING.with_borrow_mut(|doing| match doing {
        None => Ok(None),
        Some(Doing::Recording(recorded, times)) => {
            recorded.steps += 1;
            let before = count(times.entry(site).or_default(), lane);
            let most = recorded.sites.entry(site).or_default();
            *most = (*most).max(before + 1);
            Ok(None)
        }
        Some(Doing::Mutating {
            mutation,
            times,
            applied,
            left,
        }) => {
            *left = left.checked_sub(1).ok_or(())?;
            if mutation.site != site {
                return Ok(None);
            }
            let before = count(times, lane);
            let now = mutation.time.is_none_or(|time| time == before);
            *applied += u64::from(now);
            Ok(now.then_some(mutation.change))
        }
    });
    found.unwrap_or_else(|()| {
        let waiting = vec![(
            LaneSet(vec![lane.linear]),
            "the work that a mutation allows",
            at,
        )];
        let not_started = 0;
        lane.block().fail(
            lane,
            FaultKind::Idle {
                waiting,
                others: Vec::new(),
                not_started,
            },
        )
    })
}

/// Returns the change of a barrier.
#[inline(always)]
pub(super) fn barrier(at: &'static Location<'static>) -> Option<Change> {
    change(|| Operation::Barrier, at)
}

/// Returns the mask of the lanes of the caller's warp in its block.
pub(super) fn whole_warp(lane: &Lane) -> u32 {
    let lanes = lane.block().config.threads() as u32;
    mask_of_first((lanes - lane.linear / 32 * 32).min(32))
}

/// Returns the changed mask of a warp operation. `None` if the operation is dropped.
#[inline(always)]
pub(super) fn mask(operation: Operation, mask: u32, at: &'static Location<'static>) -> Option<u32> {
    match change(|| operation, at) {
        None => Some(mask),
        Some(change) => changed_mask(change, mask),
    }
}

fn changed_mask(change: Change, mask: u32) -> Option<u32> {
    let own = Lane::current().linear % 32;
    match change {
        Change::Dropped => None,
        Change::LaneLeftOut => Some(mask & !(1_u32 << 31 >> mask.leading_zeros().min(31))),
        Change::OwnHalf if own < 16 => Some(mask & 0xffff),
        Change::OwnHalf => Some(mask & 0xffff_0000),
        Change::OwnLane => Some(1 << own),
        _ => Some(mask),
    }
}

/// Returns the changed scope of a fence. `None` if the fence is dropped.
#[inline(always)]
pub(super) fn fence(scope: Scope, at: &'static Location<'static>) -> Option<Scope> {
    let wide = scope != Scope::Block;
    match change(|| Operation::Fence { wide }, at) {
        None => Some(scope),
        Some(Change::Dropped) => None,
        Some(_) => Some(Scope::Block),
    }
}

/// Returns how a changed atomic operation is executed. `None` if it is executed in two steps.
#[inline(always)]
pub(super) fn atomic(touch: Touch, how: How) -> Option<How> {
    if ACTIVE.load(Ordering::Relaxed) == 0 {
        return Some(how);
    }
    changed_atomic(touch, how)
}

#[cold]
fn changed_atomic(touch: Touch, how: How) -> Option<How> {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let (name, can_release, can_acquire) = match touch {
        Touch::Load => ("load", false, true),
        Touch::Store => ("store", true, false),
        Touch::Update => ("update", true, true),
    };
    let operation = Operation::Atomic {
        touch: name,
        releases: can_release && matches!(how.order, Release | AcqRel | SeqCst),
        acquires: can_acquire && matches!(how.order, Acquire | AcqRel | SeqCst),
        wide: how.scope != Scope::Block,
        shared: how.space == Space::Shared,
    };
    let mut changed = how;
    match come_by(operation, how.place.0) {
        Some(Change::NoRelease) if can_acquire && how.order != Release => changed.order = Acquire,
        Some(Change::NoAcquire) if can_release && how.order != Acquire => changed.order = Release,
        Some(Change::NoRelease | Change::NoAcquire) => changed.order = Relaxed,
        Some(Change::ToBlock) => changed.scope = Scope::Block,
        Some(Change::InTwoSteps) => return None,
        _ => {}
    }
    Some(changed)
}

/// Returns the changed number of groups that a wait leaves. `None` if the wait is dropped.
#[inline(always)]
pub(super) fn wait(pending: usize, at: &'static Location<'static>) -> Option<usize> {
    match change(|| Operation::Wait, at) {
        None => Some(pending),
        Some(Change::OneGroupLess) => Some(pending + 1),
        Some(_) => None,
    }
}

/// Returns whether the end of a group of copies is dropped.
#[inline(always)]
pub(super) fn commit_is_dropped(at: &'static Location<'static>) -> bool {
    change(|| Operation::Commit, at).is_some()
}
