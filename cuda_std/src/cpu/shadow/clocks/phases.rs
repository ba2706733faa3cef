//! Phases of mbarriers, of groups of products, and of a cluster's barrier.

use super::{COPIERS, Clocks, Node, Release, Scope, clock_of_phase};

impl Clocks {
    /// Notes that a lane arrives at the mbarrier at `address`. Returns what has been released there, with `before` as what
    /// others have released.
    pub fn arrive(&mut self, lane: u32, address: usize, before: Node) -> Node {
        self.fence(lane, Scope::Block);
        let fence = self.here.fences[lane as usize].clone();
        self.release(lane, &fence, address, before)
    }

    /// Notes that phase `phase` of mbarrier `index` is complete. Returns what it releases: `arrived` of the lanes, and the
    /// copies.
    pub fn complete(&mut self, index: u32, phase: u32, arrived: Node) -> Node {
        self.here.fenced = true;
        self.releases.add(Release {
            run: self.here.run,
            lane: COPIERS + index,
            event: clock_of_phase(phase.saturating_add(1), 0),
            parents: [arrived, 0],
            ..Release::default()
        })
    }

    /// Notes that a lane has seen that a phase is complete which has released `node`.
    pub fn acquire_phase(&mut self, lane: u32, node: Node) {
        self.here.fenced = true;
        let i = lane as usize;
        self.here.acquired[i] = self.releases.join(self.here.acquired[i], node);
    }

    /// Notes what a lane has acquired for the copies that it starts.
    pub fn acquire_for_copies(&mut self, lane: u32, node: Node) {
        let i = lane as usize;
        if node == self.here.acquired[i] {
            return;
        }
        self.here.for_copies.resize(self.here.lanes.len(), 0);
        let before = self.here.for_copies[i];
        self.here.for_copies[i] = self.releases.join(before, node);
    }

    /// Lets a lane have what it has acquired for copies. Returns what it had.
    pub fn begin_copy(&mut self, lane: u32) -> Node {
        let i = lane as usize;
        let own = self.here.acquired[i];
        let more = self.here.for_copies.get(i).copied().unwrap_or(0);
        if more != 0 {
            self.here.acquired[i] = self.releases.join(own, more);
        }
        own
    }

    /// Takes from a lane what it had for a copy.
    pub fn end_copy(&mut self, lane: u32, own: Node) {
        self.here.acquired[lane as usize] = own;
    }

    /// Notes that lanes have seen together that a phase is complete which has released `node`.
    pub fn acquire_together(&mut self, lanes: core::ops::Range<u32>, node: Node) {
        self.here.fenced = true;
        // Most lanes have acquired the same before.
        let mut latest = (0, node);
        for acquired in &mut self.here.acquired[lanes.start as usize..lanes.end as usize] {
            if *acquired != latest.0 {
                latest = (*acquired, self.releases.join(*acquired, node));
            }
            *acquired = latest.1;
        }
    }
}
