//! Leaves out or weakens one synchronising operation while kernels run, to see what the checks make of it.
//!
//! A [`Site`] is an operation at a line of a kernel. [`record`] tells which sites a piece of work comes by;
//! [`with`] does the same work with a [`Mutation`] of one of them. Both are of the calling thread alone: its
//! launches then run block by block on it. A kernel needs no second build for this, and a launch of a
//! process that does neither pays a relaxed load per synchronising operation.

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

/// What a site does, as far as its changes depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A barrier of the block, with or without a vote.
    Barrier,
    /// A `sync_warp`.
    SyncWarp,
    /// A warp operation that gives a result: a shuffle, a vote, `match` or `redux`.
    Warp(&'static str),
    /// A fence.
    Fence {
        /// Whether other blocks are ordered too.
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
        /// Whether other blocks see it as one step.
        wide: bool,
        /// Whether it is on shared memory.
        shared: bool,
    },
    /// A wait for asynchronous copies.
    Wait,
    /// The end of a group of asynchronous copies.
    Commit,
}

/// How an operation is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It is left out. A barrier's vote is the lane's own then.
    Dropped,
    /// A barrier becomes a `sync_warp` of the lanes of the warp.
    ToWarp,
    /// A fence or an atomic operation has the scope of the block.
    ToBlock,
    /// An atomic operation does not release.
    NoRelease,
    /// An atomic operation does not acquire.
    NoAcquire,
    /// An atomic operation becomes a plain read and a plain write, between which other lanes may run.
    InTwoSteps,
    /// The highest lane of the mask is left out of it.
    LaneLeftOut,
    /// The mask has only those lanes that are in the same half of the warp as the caller.
    OwnHalf,
    /// The mask names the caller alone.
    OwnLane,
    /// A wait leaves one more group under way.
    OneGroupLess,
}

/// A synchronising operation at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Where it is: the line that a report names too. So the operations of a helper that gives its caller's
    /// line are told apart by when a lane comes to them.
    pub at: Location<'static>,
    /// What it does.
    pub operation: Operation,
}

/// One change of one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mutation {
    /// The site.
    pub site: Site,
    /// The change.
    pub change: Change,
    /// Which time that a lane comes by, in each block; none: every time.
    pub time: Option<u32>,
}

/// What [`record`] has seen.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The sites, and how often a lane of a block came by at most.
    pub sites: BTreeMap<Site, u32>,
    /// Lanes that ran and operations that they did.
    pub steps: u64,
}

impl Operation {
    /// The changes that make a difference to it, by its definition.
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
    /// Every mutation of a site that a lane comes by so many times in a block: of all times together, and
    /// where a barrier is dropped or weakened, of the first few and the last one alone.
    pub fn all(site: Site, times: u32) -> Vec<Self> {
        /// How many of the first times are changed alone.
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

/// What this thread does.
enum Doing {
    Recording(Recorded, BTreeMap<Site, Vec<u32>>),
    Mutating {
        mutation: Mutation,
        /// How often each lane of the blocks has come by the site, slot by slot.
        times: Vec<u32>,
        applied: u64,
        /// Synchronising operations that are left to the work.
        left: u64,
    },
}

/// How many threads of the process record or mutate: asked first, as it is for the sanitizer.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static DOING: RefCell<Option<Doing>> = const { RefCell::new(None) };
}

/// Does `work` with `doing` in place; gives what became of it.
fn during<R>(doing: Doing, work: impl FnOnce() -> R) -> (R, Doing) {
    /// Ends what goes on also where `work` panics.
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

/// Does `work`, and tells which sites its launches come by.
///
/// # Panics
/// Within another `record` or [`with`].
pub fn record<R>(work: impl FnOnce() -> R) -> (R, Recorded) {
    match during(Doing::Recording(Recorded::default(), BTreeMap::new()), work) {
        (result, Doing::Recording(recorded, _)) => (result, recorded),
        (_, Doing::Mutating { .. }) => unreachable!("it was a recording"),
    }
}

/// Does `work` with a mutation in its launches; tells how often it was applied. A launch that brings the
/// work to more than `most` synchronising operations ends with [`FaultKind::Idle`].
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

/// Whether this thread records or mutates.
#[inline]
pub(super) fn is_on() -> bool {
    ACTIVE.load(Ordering::Relaxed) != 0 && DOING.with_borrow(Option::is_some)
}

/// A block of so many lanes starts in a slot of the thread.
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

/// The change of an operation that a lane has come to, if there is one.
#[inline(always)]
fn change(operation: impl FnOnce() -> Operation, at: &'static Location<'static>) -> Option<Change> {
    if ACTIVE.load(Ordering::Relaxed) == 0 {
        return None;
    }
    come_by(operation(), at)
}

/// Counts, and gives back how often it was before.
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

/// The change of a barrier.
#[inline(always)]
pub(super) fn barrier(at: &'static Location<'static>) -> Option<Change> {
    change(|| Operation::Barrier, at)
}

/// The lanes of the caller's warp in its block, as a mask.
pub(super) fn whole_warp(lane: &Lane) -> u32 {
    let lanes = lane.block().config.threads() as u32;
    mask_of_first((lanes - lane.linear / 32 * 32).min(32))
}

/// The mask of a warp operation as the change has it; none: the operation is left out.
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

/// The scope of a fence as the change has it; none: the fence is left out.
#[inline(always)]
pub(super) fn fence(scope: Scope, at: &'static Location<'static>) -> Option<Scope> {
    let wide = scope != Scope::Block;
    match change(|| Operation::Fence { wide }, at) {
        None => Some(scope),
        Some(Change::Dropped) => None,
        Some(_) => Some(Scope::Block),
    }
}

/// How an atomic operation is done as the change has it; none: in two steps.
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

/// How many groups a wait leaves as the change has it; none: the wait is left out.
#[inline(always)]
pub(super) fn wait(pending: usize, at: &'static Location<'static>) -> Option<usize> {
    match change(|| Operation::Wait, at) {
        None => Some(pending),
        Some(Change::OneGroupLess) => Some(pending + 1),
        Some(_) => None,
    }
}

/// Whether the end of a group of copies is left out.
#[inline(always)]
pub(super) fn commit_is_dropped(at: &'static Location<'static>) -> bool {
    change(|| Operation::Commit, at).is_some()
}
