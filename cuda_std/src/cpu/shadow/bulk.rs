//! Bulk copies. They belong to the asynchronous proxy.
//!
//! A copy to shared memory completes a phase of an mbarrier. Its accesses come after what its lane did before, and before
//! what a lane does that has seen the phase complete. They are therefore noted as those of the mbarrier, at the clock of the
//! phase: nothing else orders them.
//!
//! A copy to global memory reads until its lane has waited for that, like any asynchronous copy, and its writes are ordered
//! with nothing until its lane has waited for these.

use super::{
    super::{access::AccessKind, copies::AsyncCopy, lane::Lane},
    Access, Entry, Finding, Tracker,
    clocks::{COPIERS, NO_PHASE, clock_of_phase},
    copies::Side,
    follow, is_on, with,
};
use crate::{cpu::checks::Checks, space::Space};

/// Returns the access of a copy to `bytes` bytes.
fn access(
    space: Space,
    start: usize,
    bytes: usize,
    touched: AccessKind,
    copy: &AsyncCopy,
) -> Access {
    Access {
        space,
        start,
        bytes,
        touched,
        reads: false,
        writes: false,
        at: copy.at,
    }
}

fn to(space: Space, copy: &AsyncCopy) -> Access {
    access(space, copy.to.addr(), copy.bytes, AccessKind::CopyTo, copy)
}

fn from(space: Space, copy: &AsyncCopy) -> Access {
    let start = copy.from.addr();
    access(space, start, copy.given, AccessKind::CopyFrom, copy)
}

/// The side of a copy that reads shared memory.
fn read_side(lane: &Lane, copy: &AsyncCopy) -> Side {
    Side {
        start: copy.from.addr(),
        bytes: copy.bytes,
        lane: lane.linear,
        touched: AccessKind::CopyFrom,
        at: copy.at,
    }
}

/// Ends the launch if a plain write to shared memory that the proxy accesses is not fenced.
pub(super) fn check_fenced(lane: &Lane, access: Access) {
    let found = with(|tracker| tracker.not_fenced(&access)).flatten();
    if let Some(found) = found {
        lane.block().report(lane, access.start, access, found);
    }
}

/// Notes that a lane starts a copy to shared memory of the block in `slot`, which completes phase `phase` of an mbarrier there.
pub(in crate::cpu) fn load_starts(
    lane: &Lane,
    copy: &AsyncCopy,
    slot: u32,
    (mbarrier, phase): (u32, u32),
) {
    if !is_on() {
        return;
    }
    let (source, target) = (from(Space::Global, copy), to(Space::Shared, copy));
    let reads = Access {
        reads: true,
        ..source
    };
    if copy.given > 0 {
        follow(copy.view.addr(), reads);
    }
    let found = with(|tracker| tracker.in_slot(slot, |tracker| tracker.not_fenced(&target)));
    if let Some(found) = found.flatten() {
        lane.block().report(lane, target.start, target, found);
    }
    // What other blocks have read is behind their arrivals, which are of no use to the lane's own accesses.
    let own = with(|tracker| tracker.clocks.begin_copy(lane.linear));
    follow(target.start, target);
    with(|tracker| tracker.clocks.end_copy(lane.linear, own.unwrap_or(0)));
    let copier = (COPIERS + mbarrier, clock_of_phase(phase, lane.linear));
    let note = |tracker: &mut Tracker| {
        if copy.given > 0 {
            tracker.note_as(copier, source);
        }
        tracker.note_as(copier, target);
    };
    with(|tracker| tracker.in_slot(slot, note));
}

/// Notes that a lane starts a copy to global memory.
pub(in crate::cpu) fn store_starts(lane: &Lane, copy: &AsyncCopy) {
    if !is_on() {
        return;
    }
    let (source, target) = (from(Space::Shared, copy), to(Space::Global, copy));
    let reads = Access {
        reads: true,
        ..source
    };
    follow(source.start, reads);
    check_fenced(lane, source);
    let writes = Access {
        writes: true,
        ..target
    };
    follow(copy.view.addr(), writes);
    with(|tracker| {
        tracker.under_way.add(read_side(lane, copy));
        tracker.note_as((NO_PHASE, clock_of_phase(u32::MAX, lane.linear)), target);
    });
}

/// Notes that a lane has waited until copies to global memory have read their sources.
pub(in crate::cpu) fn stores_are_read(lane: &Lane, copies: &[AsyncCopy]) {
    if is_on() {
        for copy in copies {
            with(|tracker| tracker.under_way.remove(&read_side(lane, copy)));
            follow(copy.from.addr(), from(Space::Shared, copy));
        }
    }
}

/// Notes that a lane has waited for copies to global memory. Their writes count as those of the lane now.
pub(in crate::cpu) fn stores_are_written(lane: &Lane, copies: &[AsyncCopy]) {
    for copy in copies {
        with(|tracker| {
            let clock = tracker.clocks.clock(lane.linear);
            tracker.note_as((lane.linear, clock), to(Space::Global, copy));
        });
    }
}

impl Tracker {
    /// Notes an access of a copy as that of a lane or copier at a clock.
    pub(super) fn note_as(&mut self, (lane, clock): (u32, u32), access: Access) {
        let me = Entry::new(self.run, lane, clock, access.touched, access.at);
        self.note(me, access, true);
    }

    /// Notes that a copy has written these bytes of shared memory.
    pub fn landed(&mut self, copy: &AsyncCopy) {
        let run = self.cluster;
        let (mut from, end) = (copy.to.addr(), copy.to.addr() + copy.bytes);
        while from < end {
            let to = end.min(from / 64 * 64 + 64);
            let page = self.pages.page(from);
            page.write(run, from % super::PAGE, to - from);
            from = to;
        }
    }

    /// Notes a proxy fence of a lane.
    pub fn proxy_fence(&mut self, lane: u32) {
        self.clocks.proxy_fence(lane);
    }

    /// Notes that a lane arrives at an mbarrier. Returns what has been released there.
    pub fn arrive(&mut self, lane: u32, address: usize, before: super::Node) -> super::Node {
        self.clocks.arrive(lane, address, before)
    }

    /// Notes that a phase of an mbarrier is complete. Returns what it releases.
    pub fn complete(&mut self, index: u32, phase: u32, arrived: super::Node) -> super::Node {
        self.clocks.complete(index, phase, arrived)
    }

    /// Notes what the lane has acquired for its next copies.
    pub fn acquire_for_copies(&mut self, lane: u32, node: super::Node) {
        self.clocks.acquire_for_copies(lane, node);
    }

    /// Notes that a lane has seen that a phase is complete.
    pub fn acquire_phase(&mut self, lane: u32, node: super::Node) {
        self.clocks.acquire_phase(lane, node);
    }

    /// Returns a plain write of bytes of shared memory without a proxy fence behind it.
    fn not_fenced(&mut self, access: &Access) -> Option<Finding> {
        if access.space != Space::Shared || !self.checks.contains(Checks::RACE) {
            return None;
        }
        let (mut from, end) = (access.start, access.start + access.bytes);
        while from < end {
            let to = end.min(from / 64 * 64 + 64);
            let (offset, length) = (from % super::PAGE, to - from);
            let page = self.pages.page(from);
            let cells = page.cells(&mut self.lists, self.launch, offset, length);
            let bytes = length / cells.len();
            for (i, cell) in cells.iter().enumerate() {
                let write = cell.last_write();
                let Some((lane, clock)) = write.generic_write(self.run) else {
                    continue;
                };
                if !self.clocks.is_proxy_fenced(lane, clock) {
                    return Some(Finding::NotFenced {
                        address: from + i * bytes,
                        bytes,
                        lane,
                        at: write.at(),
                    });
                }
            }
            from = to;
        }
        None
    }
}
