//! Asynchronous copies under way: from the start of a copy to its lane's wait for it.
//!
//! A copy's accesses come after what its lane did before, and are ordered with nothing else until the lane has waited.
//! Every access to its bytes meanwhile is therefore a race with it, by any lane and in spite of any barriers. From the wait
//! on they count as accesses of the lane at that moment.

use core::panic::Location;
use std::collections::BTreeMap;

use super::{
    super::{access::AccessKind, copies::AsyncCopy, lane::Lane},
    Access, follow, is_on, with,
};
use crate::space::Space;

/// One side of a copy under way.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub start: usize,
    pub bytes: usize,
    pub lane: u32,
    /// `CopyFrom` or `CopyTo`.
    pub touched: AccessKind,
    pub at: &'static Location<'static>,
}

impl Side {
    pub fn end(&self) -> usize {
        self.start + self.bytes
    }
}

/// The copies under way in the block that runs.
#[derive(Default)]
pub(super) struct UnderWay {
    /// The sides by their first byte and a unique number.
    sides: BTreeMap<(usize, u32), Side>,
    next: u32,
    /// The size of the largest side in bytes.
    most: usize,
}

impl UnderWay {
    pub fn clear(&mut self) {
        self.sides.clear();
        self.most = 1;
    }

    pub fn add(&mut self, side: Side) {
        self.most = self.most.max(side.bytes);
        self.next = self.next.wrapping_add(1);
        self.sides.insert((side.start, self.next), side);
    }

    /// Removes the oldest side that starts there, of the same lane and line.
    pub fn remove(&mut self, side: &Side) {
        let here = (side.start, 0)..=(side.start, u32::MAX);
        let same = |other: &Side| {
            (other.lane, other.touched, other.bytes) == (side.lane, side.touched, side.bytes)
                && core::ptr::eq(other.at, side.at)
        };
        let found = self.sides.range(here).find(|(_, other)| same(other));
        if let Some(key) = found.map(|(key, _)| *key) {
            self.sides.remove(&key);
        }
    }

    /// Returns a side that an access must not touch yet.
    #[inline]
    pub fn conflict(&self, access: &Access) -> Option<Side> {
        if self.sides.is_empty() {
            return None;
        }
        self.find(access)
    }

    #[cold]
    fn find(&self, access: &Access) -> Option<Side> {
        let (start, end) = (access.start, access.start + access.bytes);
        self.sides
            .range((start.saturating_sub(self.most - 1), 0)..(end, 0))
            .map(|(_, side)| *side)
            .find(|side| side.end() > start && side.touched.conflicts(access.touched, true))
    }
}

/// Returns the two sides of a copy. That of the source may be empty.
fn sides(copy: &AsyncCopy, lane: u32) -> [(Space, Side); 2] {
    let side = |start, bytes, touched| Side {
        start,
        bytes,
        lane,
        touched,
        at: copy.at,
    };
    [
        (
            Space::Global,
            side(copy.from.addr(), copy.given, AccessKind::CopyFrom),
        ),
        (
            Space::Shared,
            side(copy.to.addr(), copy.bytes, AccessKind::CopyTo),
        ),
    ]
}

/// Follows the accesses of a copy. At its start it reads bytes, which must be initialized. At its end it has written its
/// destination.
fn follow_sides(lane: &Lane, copy: &AsyncCopy, ends: bool) {
    for (space, side) in sides(copy, lane.linear) {
        if side.bytes == 0 {
            continue;
        }
        if ends {
            with(|tracker| tracker.under_way.remove(&side));
        }
        let access = Access {
            space,
            start: side.start,
            bytes: side.bytes,
            touched: side.touched,
            reads: !ends && side.touched == AccessKind::CopyFrom,
            writes: ends && side.touched == AccessKind::CopyTo,
            at: side.at,
        };
        let view = match side.touched {
            AccessKind::CopyFrom => copy.view.addr(),
            _ => side.start,
        };
        follow(view, access);
        if !ends {
            with(|tracker| tracker.under_way.add(side));
        }
    }
}

/// Notes that a lane starts a copy.
pub(in crate::cpu) fn copy_starts(lane: &Lane, copy: &AsyncCopy) {
    if is_on() {
        follow_sides(lane, copy, false);
    }
}

/// Notes that a lane has waited for copies.
pub(in crate::cpu) fn copies_are_done(lane: &Lane, copies: &[AsyncCopy]) {
    if is_on() {
        for copy in copies {
            follow_sides(lane, copy, true);
        }
    }
}
