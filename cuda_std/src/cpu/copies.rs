//! The asynchronous copies of a lane, and when their bytes move.

use core::panic::Location;
use std::collections::VecDeque;

use super::{Order, order};
use crate::wgmma::round_to_tf32;

/// An asynchronous copy that a lane has started.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsyncCopy {
    pub to: *mut u8,
    pub from: *const u8,
    /// The start of the view that the copy reads from.
    pub view: *const u8,
    /// The number of bytes of the destination. Those after the first `given` become zeros.
    pub bytes: usize,
    pub given: usize,
    /// Whether the given bytes are numbers of `f32`, which the copy rounds to TF32.
    pub to_tf32: bool,
    pub at: &'static Location<'static>,
    /// The moment at which the bytes move.
    pub moment: Moment,
}

/// The moment at which the bytes of a copy move. On hardware it is any time from the copy's start until it is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Start,
    Commit,
    Wait,
}

impl AsyncCopy {
    /// Moves the bytes, if this is their moment.
    ///
    /// # Safety
    /// The source must be readable and the destination writable, as far as this copies.
    pub unsafe fn reach(&self, moment: Moment) {
        if self.moment == moment {
            // SAFETY: by the contract. Global and shared memory do not overlap, but a broken kernel's views may.
            unsafe {
                core::ptr::copy(self.from, self.to, self.given);
                core::ptr::write_bytes(self.to.add(self.given), 0, self.bytes - self.given);
            }
            if self.to_tf32 {
                for i in 0..self.given / size_of::<f32>() {
                    // SAFETY: as above.
                    unsafe {
                        let number = self.to.cast::<f32>().add(i);
                        number.write_unaligned(round_to_tf32(number.read_unaligned()));
                    }
                }
            }
        }
    }
}

/// Returns the moment at which the bytes of a lane's copy number `started` move.
pub(super) fn moment(order: Order, block: [u32; 3], lane: u32, started: u32) -> Moment {
    match order {
        Order::Forward | Order::Backward => Moment::Wait,
        Order::Seeded(seed) => match order::draw(seed, block, lane, started) % 4 {
            0 => Moment::Start,
            1 => Moment::Commit,
            _ => Moment::Wait,
        },
    }
}

/// The copies of a lane that it has not waited for.
#[derive(Default)]
pub(super) struct Copies {
    /// The copies that are in no group yet.
    open: Vec<AsyncCopy>,
    groups: VecDeque<Vec<AsyncCopy>>,
    /// The number of copies that the lane has started.
    started: u32,
}

impl Copies {
    /// Returns the moment of the lane's next copy.
    pub fn next_moment(&mut self, order: Order, block: [u32; 3], lane: u32) -> Moment {
        self.started = self.started.wrapping_add(1);
        moment(order, block, lane, self.started)
    }

    /// # Safety
    /// The copy's memory must live until the copy is waited for, or the copy must never be waited for.
    pub unsafe fn start(&mut self, copy: AsyncCopy) {
        // SAFETY: by the contract.
        unsafe { copy.reach(Moment::Start) };
        self.open.push(copy);
    }

    pub fn commit_group(&mut self) {
        for copy in &self.open {
            // SAFETY: by the contract of `start`.
            unsafe { copy.reach(Moment::Commit) };
        }
        self.groups.push_back(core::mem::take(&mut self.open));
    }

    /// Leaves at most `pending` groups. Returns the copies of the others, which are done now.
    pub fn wait_group(&mut self, pending: usize) -> Vec<AsyncCopy> {
        let done = self.groups.len().saturating_sub(pending);
        let done: Vec<AsyncCopy> = self.groups.drain(..done).flatten().collect();
        for copy in &done {
            // SAFETY: by the contract of `start`.
            unsafe { copy.reach(Moment::Wait) };
        }
        done
    }

    /// Drops all copies. Returns the first, if there are any.
    pub fn forget(&mut self) -> Option<AsyncCopy> {
        let first = self
            .groups
            .iter()
            .flatten()
            .chain(&self.open)
            .next()
            .copied();
        *self = Self::default();
        first
    }
}

/// A group of bulk copies to global memory.
#[derive(Default)]
struct StoreGroup {
    copies: Vec<AsyncCopy>,
    /// Whether the lane has waited until the copies have read their sources.
    is_read: bool,
}

/// The bulk copies of a lane to global memory that it has not waited for.
#[derive(Default)]
pub(super) struct Stores {
    /// The copies that are in no group yet.
    open: Vec<AsyncCopy>,
    groups: VecDeque<StoreGroup>,
    /// The number of copies that the lane has started.
    started: u32,
}

impl Stores {
    /// Returns the moment of the lane's next copy.
    pub fn next_moment(&mut self, order: Order, block: [u32; 3], lane: u32) -> Moment {
        self.started = self.started.wrapping_add(1);
        moment(order, block, lane, !self.started)
    }

    /// # Safety
    /// The copy's memory must live until its source was waited for, or it must never be waited for.
    pub unsafe fn start(&mut self, copy: AsyncCopy) {
        // SAFETY: by the contract.
        unsafe { copy.reach(Moment::Start) };
        self.open.push(copy);
    }

    pub fn commit_group(&mut self) {
        for copy in &self.open {
            // SAFETY: by the contract of `start`.
            unsafe { copy.reach(Moment::Commit) };
        }
        self.groups.push_back(StoreGroup {
            copies: core::mem::take(&mut self.open),
            is_read: false,
        });
    }

    /// Waits until the sources of all but the last `pending` groups have been read. Returns the copies of which that is new.
    pub fn wait_group_read(&mut self, pending: usize) -> Vec<AsyncCopy> {
        let done = self.groups.len().saturating_sub(pending);
        let mut read = Vec::new();
        for group in self.groups.iter_mut().take(done) {
            if !core::mem::replace(&mut group.is_read, true) {
                read.extend_from_slice(&group.copies);
            }
        }
        for copy in &read {
            // SAFETY: by the contract of `start`.
            unsafe { copy.reach(Moment::Wait) };
        }
        read
    }

    /// Leaves at most `pending` groups, of which [`wait_group_read`](Self::wait_group_read) has waited. Returns the copies of
    /// the others, which are done now.
    pub fn wait_group(&mut self, pending: usize) -> Vec<AsyncCopy> {
        let done = self.groups.len().saturating_sub(pending);
        let groups = self.groups.drain(..done);
        groups.flat_map(|group| group.copies).collect()
    }

    /// Drops all copies. Returns the first whose source may not have been read, if there are any.
    pub fn forget(&mut self) -> Option<AsyncCopy> {
        let groups = self.groups.iter().filter(|group| !group.is_read);
        let first = groups.flat_map(|group| &group.copies).chain(&self.open);
        let first = first.copied().next();
        *self = Self::default();
        first
    }
}
