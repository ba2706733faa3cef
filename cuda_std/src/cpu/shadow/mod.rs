//! The sanitizer, which follows every access of a launch.
//!
//! A followed launch runs on one thread, one block at a time. It switches from one block to another only if that one waits
//! or the order's seed decides so. Nothing here is therefore shared, and a report is the same whenever the launch is
//! repeated. That most blocks do not overlap hides no race: what counts is whether an order between two accesses is
//! enforced ([`clocks`]), not which came first.

mod bulk;
mod cells;
mod clocks;
mod copies;
mod entry;
mod products;
mod releases;

use core::{
    cell::{Cell, RefCell},
    panic::Location,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::sync::Arc;

pub(super) use bulk::{load_starts, store_starts, stores_are_read, stores_are_written};
use cells::{PAGE, Pages};
use clocks::{Clocks, exchange};
pub(super) use clocks::{MOST_MBARRIERS, Touch};
use copies::UnderWay;
pub(super) use copies::{copies_are_done, copy_starts};
use entry::{Entry, Lists};
pub(super) use products::{product_starts, products_are_done};
pub(super) use releases::Node;

use super::{
    access::AccessKind,
    checks::Checks,
    lane::Lane,
    memory::{self, Allocation},
};
use crate::atomic::{Scope, Space};

/// A finding of the sanitizer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Finding {
    /// An access to bytes that are in no allocation.
    Unallocated,
    /// A read of unwritten bytes, of which this is the first.
    Unwritten { address: usize },
    /// An earlier access to these bytes that is not ordered with this one.
    Race {
        address: usize,
        bytes: usize,
        /// The position of the other block in the launch's order.
        block: u32,
        lane: u32,
        touched: AccessKind,
        at: &'static Location<'static>,
    },
    /// A plain write of these bytes that the asynchronous proxy, which accesses them now, need not see.
    NotFenced {
        address: usize,
        bytes: usize,
        lane: u32,
        at: &'static Location<'static>,
    },
}

/// An access of one lane.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub space: Space,
    pub start: usize,
    pub bytes: usize,
    pub touched: AccessKind,
    /// Whether it uses the old contents, and whether it writes new ones.
    pub reads: bool,
    pub writes: bool,
    pub at: &'static Location<'static>,
}

/// Follows the accesses of a launch.
#[derive(Default)]
pub(super) struct Tracker {
    checks: Checks,
    /// The number of the launch's first block, of the block that started last, and of the running block. Numbers continue
    /// from launch to launch, so that remains of earlier launches can be recognized.
    launch: u32,
    started: u32,
    run: u32,
    /// The number of blocks of a cluster, and the number of the running cluster's first block. Shared memory is that of the
    /// cluster.
    per_cluster: u32,
    cluster: u32,
    /// Whether all of the launch's memory is registered ([`memory::allocated`]).
    all_known: bool,
    clocks: Clocks,
    lists: Lists,
    /// The copies of the running block, and those of the other blocks that have started, by their slots.
    under_way: UnderWay,
    others_under_way: Vec<UnderWay>,
    slot: usize,
    pages: Pages,
    allocations: Vec<Arc<Allocation>>,
}

/// The number of launches of the process that are followed. An access tests this first: at low optimization levels a
/// thread-local variable takes two calls, which would be most of a loop's time.
static FOLLOWED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The tracker of the launch that runs on this thread.
    static CURRENT: Cell<*mut Tracker> = const { Cell::new(core::ptr::null_mut()) };
    /// The tracker of the last launch, kept to reuse its memory.
    static KEPT: RefCell<Option<Box<Tracker>>> = const { RefCell::new(None) };
}

/// Calls `follow` with the tracker, if the launch is followed.
#[inline]
pub(super) fn with<R>(follow: impl FnOnce(&mut Tracker) -> R) -> Option<R> {
    let tracker = CURRENT.get();
    if tracker.is_null() {
        return None;
    }
    // SAFETY: the pointer is set by `Following`, which outlives the lanes that call this. They run one at a time, on this
    // thread, and nothing that is called from here calls this again.
    Some(follow(unsafe { &mut *tracker }))
}

/// Returns whether any launch of the process is followed. A launch's own thread counts itself before its lanes run, so no
/// order with other threads is needed.
#[inline(always)]
fn any_is_on() -> bool {
    FOLLOWED.load(Ordering::Relaxed) != 0
}

/// Returns whether the launch on this thread is followed.
#[inline]
pub(super) fn is_on() -> bool {
    any_is_on() && !CURRENT.get().is_null()
}

/// Follows the launches of this thread while it lives.
pub(super) struct Following {
    tracker: Option<Box<Tracker>>,
    previous: *mut Tracker,
}

impl Following {
    /// Starts to follow a launch of `blocks` blocks in clusters of `per_cluster`, with views at these addresses.
    pub fn start(checks: Checks, blocks: u64, per_cluster: u32, views: &[usize]) -> Self {
        let mut tracker = KEPT.take().unwrap_or_default();
        tracker.pages.trim();
        if u64::from(u32::MAX - 1 - tracker.started) < blocks {
            *tracker = Tracker::default();
        }
        tracker.checks = checks;
        tracker.launch = tracker.started + 1;
        tracker.per_cluster = per_cluster;
        tracker.switch_to(0);
        tracker.lists.clear();
        tracker.clocks.start_launch();
        tracker.allocations.clear();
        tracker.all_known = true;
        for view in views {
            match memory::find(*view) {
                Some(allocation) => tracker.allocations.push(allocation),
                None => tracker.all_known = false,
            }
        }
        let previous = CURRENT.replace(&raw mut *tracker);
        FOLLOWED.fetch_add(1, Ordering::Relaxed);
        Self {
            tracker: Some(tracker),
            previous,
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        FOLLOWED.fetch_sub(1, Ordering::Relaxed);
        CURRENT.set(self.previous);
        // A thread that is ending keeps nothing.
        let _ = KEPT.try_with(|kept| kept.replace(self.tracker.take()));
    }
}

/// While it lives, notes the writes of lanes that are not followed, because their block may only be waiting.
pub(super) struct Watch(());

impl Watch {
    pub fn start() -> Self {
        FOLLOWED.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        FOLLOWED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Separates a launch that is not followed from the followed launch whose lane launches it.
pub(super) struct Pause(*mut Tracker);

impl Pause {
    pub fn start() -> Self {
        Self(CURRENT.replace(core::ptr::null_mut()))
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Follows an access through a view. Ends the launch if the access is faulty.
#[inline(always)]
pub(super) fn access(
    space: Space,
    view: usize,
    start: usize,
    bytes: usize,
    write: bool,
    at: &'static Location<'static>,
) {
    if any_is_on() {
        follow_plain(space, view, start, bytes, write, at);
    }
}

/// Cold, so that a launch that is not followed keeps its values in registers around it.
#[cold]
#[inline(never)]
fn follow_plain(
    space: Space,
    view: usize,
    start: usize,
    bytes: usize,
    write: bool,
    at: &'static Location<'static>,
) {
    if !is_on() {
        if write && let Some(lane) = Lane::try_current() {
            lane.block().changed();
        }
        return;
    }
    let access = Access {
        space,
        start,
        bytes,
        touched: if write {
            AccessKind::Write
        } else {
            AccessKind::Read
        },
        reads: !write,
        writes: write,
        at,
    };
    follow(view, access);
}

/// Follows an access of the running lane. Ends the launch if the access is faulty.
pub(super) fn follow(view: usize, access: Access) {
    let lane = Lane::current();
    let found = with(|tracker| tracker.access(lane.linear, access)).flatten();
    if access.writes && !access.touched.is_atomic() {
        lane.block().changed();
    }
    // The accesses of a lane's destructors while it is unwound are not ordered with other lanes' accesses. Only invalid
    // memory counts there.
    if let Some(found) = found
        && (matches!(found, Finding::Unallocated) || !std::thread::panicking())
    {
        lane.block().report(lane, view, access, found);
    }
}

impl Tracker {
    /// Switches to the block of another slot, or to the slot where the next block starts.
    pub fn switch_to(&mut self, slot: usize) {
        if slot != self.slot {
            let (here, others) = (&mut self.under_way, &mut self.others_under_way);
            exchange(here, others, self.slot, slot);
            self.slot = slot;
            self.run = self.clocks.switch_to(slot);
            self.cluster = self.first_of_cluster();
        }
    }

    /// Returns the number of the first block of the running block's cluster: those of a cluster start one after the other.
    fn first_of_cluster(&self) -> u32 {
        self.run - self.run.saturating_sub(self.launch) % self.per_cluster.max(1)
    }

    /// Does something as the block of another slot does it.
    pub fn in_slot<R>(&mut self, slot: u32, run: impl FnOnce(&mut Self) -> R) -> R {
        let own = self.slot;
        self.switch_to(slot as usize);
        let result = run(self);
        self.switch_to(own);
        result
    }

    /// Starts the launch's next block.
    pub fn start_block(&mut self, lanes: usize) {
        self.started += 1;
        self.run = self.started;
        self.cluster = self.first_of_cluster();
        self.clocks.start_block(self.run, lanes);
        self.under_way.clear();
    }

    /// Notes that all lanes of the block have met at the barrier.
    pub fn barrier(&mut self) {
        self.clocks.barrier();
    }

    /// Notes that all lanes of these warps have met at a named barrier.
    pub fn named_barrier(&mut self, warps: &[u32]) {
        self.clocks.named_barrier(warps);
    }

    /// Notes that lanes of a warp have met in a `sync_warp`. The warp begins with lane `first`.
    pub fn sync_warp(&mut self, first: u32, mask: u32) {
        self.clocks.sync_warp(first, mask);
    }

    /// Notes a fence of a lane.
    pub fn fence(&mut self, lane: u32, scope: Scope) {
        self.clocks.fence(lane, scope);
    }

    /// Notes the order that an atomic operation establishes.
    pub fn atomic(
        &mut self,
        lane: u32,
        address: usize,
        touch: Touch,
        order: Ordering,
        scope: Scope,
    ) {
        self.clocks.atomic(lane, address, touch, order, scope);
    }

    /// Returns the copy under way that an access races with.
    fn conflict(&self, access: &Access) -> Option<Finding> {
        if !self.checks.contains(Checks::RACE) {
            return None;
        }
        let copy = self.under_way.conflict(access)?;
        let (start, end) = (access.start, access.start + access.bytes);
        Some(Finding::Race {
            address: copy.start.max(start),
            bytes: copy.end().min(end) - copy.start.max(start),
            block: self.run - self.launch,
            lane: copy.lane,
            touched: copy.touched,
            at: copy.at,
        })
    }

    fn access(&mut self, lane: u32, access: Access) -> Option<Finding> {
        let Access {
            space, touched, at, ..
        } = access;
        if space != Space::Shared
            && let Some(found) = self.check_allocation(&access)
        {
            return Some(found);
        }
        if let Some(found) = self.conflict(&access) {
            return Some(found);
        }
        let clock = self.clocks.clock(lane);
        let me = Entry::new(self.run, lane, clock, touched, at);
        self.note(me, access, false)
    }

    /// Notes an access as that of `me`. If `noted` is true, it was noted before as that of its lane, and its order is not
    /// looked at again.
    fn note(&mut self, me: Entry, access: Access, noted: bool) -> Option<Finding> {
        let Access {
            space,
            start,
            bytes,
            reads,
            writes,
            ..
        } = access;
        // In shared memory nothing outlives its cluster.
        let valid = match space {
            Space::Shared => self.cluster,
            _ => self.launch,
        };
        let (mut from, end) = (start, start + bytes);
        while from < end {
            // A piece crosses neither a page nor a word of the page's bits.
            let to = end.min(from / 64 * 64 + 64);
            let page = self.pages.page(from);
            let (offset, length) = (from % PAGE, to - from);
            if space == Space::Shared && self.checks.contains(Checks::INIT) {
                if reads && let Some(at) = page.first_unwritten(self.cluster, offset, length) {
                    let address = from / PAGE * PAGE + at;
                    return Some(Finding::Unwritten { address });
                }
                if writes {
                    page.write(self.cluster, offset, length);
                }
            }
            if self.checks.contains(Checks::RACE) {
                let launch = self.launch;
                let cells = page.cells(&mut self.lists, launch, offset, length);
                let bytes = length / cells.len();
                let racing = cells.iter_mut().enumerate().find_map(|(i, cell)| {
                    let (lists, clocks) = (&mut self.lists, &mut self.clocks);
                    let address = from + i * bytes;
                    let other = cell.touch(lists, clocks, me, address, (valid, launch), noted)?;
                    Some((address, other))
                });
                if let Some((address, other)) = racing {
                    return Some(Finding::Race {
                        address,
                        bytes,
                        block: other.run - launch,
                        lane: other.made_by(),
                        touched: other.touched(),
                        at: other.at(),
                    });
                }
            }
            from = to;
        }
        None
    }

    /// Notes memory that the launch uses although no view of it was passed.
    pub fn uses(&mut self, address: usize) {
        self.all_known &= memory::find(address).is_some();
    }

    /// Returns whether these bytes of global memory are in no allocation, as far as that is checked.
    pub fn is_gone(&mut self, start: usize, bytes: usize) -> bool {
        self.checks.contains(Checks::MEM)
            && self.allocation(start, bytes).is_none()
            && self.all_known
    }

    /// Checks an access to global memory against the known allocations.
    fn check_allocation(&mut self, access: &Access) -> Option<Finding> {
        let (mem, init) = (
            self.checks.contains(Checks::MEM),
            self.checks.contains(Checks::INIT),
        );
        if !mem && !init {
            return None;
        }
        let all_known = self.all_known;
        let Some(allocation) = self.allocation(access.start, access.bytes) else {
            return (mem && all_known).then_some(Finding::Unallocated);
        };
        if init && !allocation.is_whole() {
            if access.reads
                && let Some(address) = allocation.first_unwritten(access.start, access.bytes)
            {
                return Some(Finding::Unwritten { address });
            }
            if access.writes {
                allocation.write(access.start, access.bytes);
            }
        }
        None
    }

    /// Returns the allocation that contains all of these bytes.
    #[inline]
    fn allocation(&mut self, start: usize, bytes: usize) -> Option<&Allocation> {
        let known = self
            .allocations
            .iter()
            .position(|allocation| allocation.contains(start, bytes));
        let position = match known {
            Some(position) => position,
            None => {
                let found = memory::find(start)?;
                if !found.contains(start, bytes) {
                    return None;
                }
                self.allocations.push(found);
                self.allocations.len() - 1
            }
        };
        Some(&self.allocations[position])
    }
}
