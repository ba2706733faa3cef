//! Tiles of shared memory that the products of a warpgroup read.
//!
//! The reads come after what the lanes did before the product, and before what any lane of the warpgroup does after its wait.
//! In between they are copies under way. They are noted as those of the warpgroup, as the accesses of a bulk copy are noted as
//! those of its mbarrier: a lane is ordered after them if it has waited, or has acquired the wait of another.

use core::{ops::Range, panic::Location};

use super::{
    super::{access::AccessKind, checks::Checks, lane::Lane},
    Access, Entry, Finding, PAGE, Tracker,
    bulk::check_fenced,
    clocks::{COPIERS, WARPGROUPS, clock_of_phase},
    copies::Side,
    is_on, with,
};
use crate::space::Space;

/// Returns the read of a tile, which starts at an address.
fn read(at: &'static Location<'static>, (start, bytes): (usize, usize)) -> Access {
    Access {
        space: Space::Shared,
        start,
        bytes,
        touched: AccessKind::CopyFrom,
        reads: true,
        writes: false,
        at,
    }
}

fn side(lane: u32, access: &Access) -> Side {
    Side {
        start: access.start,
        bytes: access.bytes,
        lane,
        touched: access.touched,
        at: access.at,
    }
}

/// Checks a product that a lane starts, which reads tiles: their addresses and bytes.
///
/// The first lane of a warpgroup gives its number and that of the product's group. From then on the reads are under way.
pub(in crate::cpu) fn product_starts(
    lane: &Lane,
    tiles: impl Iterator<Item = (usize, usize)>,
    at: &'static Location<'static>,
    first: Option<(u32, u32)>,
) {
    if !is_on() {
        return;
    }
    for access in tiles.map(|tile| read(at, tile)) {
        let found = with(|tracker| tracker.look(lane.linear, &access)).flatten();
        if let Some(found) = found {
            lane.block().report(lane, access.start, access, found);
        }
        if let Some((warpgroup, group)) = first {
            check_fenced(lane, access);
            let reader = (WARPGROUPS + warpgroup, clock_of_phase(group, lane.linear));
            with(|tracker| {
                tracker.under_way.add(side(lane.linear, &access));
                tracker.note_as(reader, access);
            });
        }
    }
}

/// Notes that the lanes of a warpgroup have waited for groups of products, the last of which is number `group`. The tiles of
/// the products come with the lane that started the product, and the line.
pub(in crate::cpu) fn products_are_done(
    tiles: impl Iterator<Item = (u32, (usize, usize), &'static Location<'static>)>,
    warpgroup: u32,
    lanes: Range<u32>,
    group: u32,
) {
    with(|tracker| {
        for (lane, tile, at) in tiles {
            tracker.under_way.remove(&side(lane, &read(at, tile)));
        }
        let reader = WARPGROUPS + warpgroup - COPIERS;
        let node = tracker.clocks.complete(reader, group, 0);
        tracker.clocks.acquire_together(lanes, node);
    });
}

impl Tracker {
    /// Returns what is wrong with a read of shared memory by a lane. Does not note the read.
    fn look(&mut self, lane: u32, access: &Access) -> Option<Finding> {
        if let Some(found) = self.conflict(access) {
            return Some(found);
        }
        let clock = self.clocks.clock(lane);
        let me = Entry::new(self.run, lane, clock, access.touched, access.at);
        let (mut from, end) = (access.start, access.start + access.bytes);
        let mut before = Entry::default();
        while from < end {
            let to = end.min(from / 64 * 64 + 64);
            let (offset, length) = (from % PAGE, to - from);
            let page = self.pages.page(from);
            if self.checks.contains(Checks::INIT)
                && let Some(at) = page.first_unwritten(self.cluster, offset, length)
            {
                let address = from / PAGE * PAGE + at;
                return Some(Finding::Unwritten { address });
            }
            if self.checks.contains(Checks::RACE) {
                let cells = page.cells(&mut self.lists, self.launch, offset, length);
                let bytes = length / cells.len();
                for (i, cell) in cells.iter().enumerate() {
                    // Most of a tile was written together.
                    if cell.has_only_write(before, self.cluster) {
                        continue;
                    }
                    let (lists, clocks, address) =
                        (&self.lists, &mut self.clocks, from + i * bytes);
                    if let Some(other) = cell.look(lists, clocks, me, address, self.cluster) {
                        return Some(Finding::Race {
                            address,
                            bytes,
                            block: other.run - self.launch,
                            lane: other.made_by(),
                            touched: other.touched(),
                            at: other.at(),
                        });
                    }
                    before = cell.last_write();
                }
            }
            from = to;
        }
        None
    }
}
