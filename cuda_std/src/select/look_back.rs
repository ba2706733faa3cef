//! Decoupled look-back: what the tiles before a block's tile count.
//!
//! ```text
//! publish the tile's count                                        (not tile 0, whose count is a sum already)
//! left = the tile's number
//! while left > 0:
//!     lane l loads the words of tiles left - 1 - l, and those 32, 64 and 96 before it      (four windows)
//!     for each window, the nearest first, until one has a sum:
//!         wait for the words that are not there
//!         added += the lane's word, up to the nearest word that is a sum
//!     left = 0 if there was a sum, otherwise left - 128
//! prefix = the sum of `added` over the lanes
//! publish prefix + count as the sum
//! ```
//!
//! If each block waited for the sum of the one before, the blocks would finish one after the other. Counts are published long
//! before sums, and a block adds as many of them as it takes to meet a sum.

use core::sync::atomic::Ordering::Relaxed;

use crate::{
    GlobalMut, Shared,
    atomic::Scope::Device,
    thread, unrolled,
    warp::{self, FULL_MASK},
};

/// The low bits of a status word: the block's own count, or the sum of all counts up to the tile.
const AGGREGATE: u64 = 1;
const SUM: u64 = 2;
/// The launches after which the numbers of launches begin again. Each launch writes every word, so two would be enough.
const LAUNCHES: u64 = 1 << 13;

/// The windows of 32 tiles that a warp looks back at in one trip to memory.
const WINDOWS: usize = 4;

/// The tile of a block, and the number of the launch, from 1 on.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub tile: usize,
    launch: u64,
}

impl Taken {
    #[inline(always)]
    pub fn of(ticket: u64) -> Self {
        Self {
            tile: ticket as u32 as usize,
            launch: (ticket >> 32) % LAUNCHES + 1,
        }
    }

    #[inline(always)]
    fn word(self, state: u64, count: u64) -> u64 {
        count << 16 | self.launch << 2 | state
    }

    /// Returns whether a status word is of this launch.
    #[inline(always)]
    fn is_there(self, word: u64) -> bool {
        (word & 0xffff) >> 2 == self.launch
    }

    /// Publishes the tile's count, waits for the counts of the tiles before, and writes their sum to `words[1]`. The last tile
    /// writes the number of all to `count[0]`, if there is one. The first warp does that; the others go on.
    ///
    /// If `is_ordered` is true, what blocks do after this follows what the blocks of the tiles before did before theirs.
    #[inline(always)]
    #[track_caller]
    pub fn tell(
        self,
        control: GlobalMut<u64>,
        selected: u32,
        words: Shared<u64>,
        count: Option<GlobalMut<u64>>,
        is_ordered: bool,
    ) {
        let t = thread::thread_idx_x();
        if t < 32 {
            let last = self.tile + 1 == thread::grid_dim_x() as usize;
            let prefix = self.prefix(control, u64::from(selected), last, is_ordered);
            if t == 0 {
                words.set(1, prefix);
                if let Some(count) = count.filter(|_| last) {
                    count.set(0, prefix + u64::from(selected));
                }
            }
        }
    }

    /// Publishes the tile's count, and returns the sum of the counts of the tiles before it. The first warp calls it.
    #[inline(always)]
    #[track_caller]
    fn prefix(self, control: GlobalMut<u64>, count: u64, last: bool, is_ordered: bool) -> u64 {
        let lane = warp::lane_id() as usize;
        let own = 1 + self.tile;
        let publish = |state: u64, sum: u64| {
            if lane == 0 {
                control.atomic_store(own, self.word(state, sum), Relaxed, Device);
            }
        };
        if is_ordered {
            thread::device_fence();
        }
        if self.tile > 0 {
            publish(AGGREGATE, count);
        }
        let mut added = 0;
        // The tiles that are not added yet.
        let mut left = self.tile;
        while left > 0 {
            // All loads are under way at once: as many tiles as are resident have no sum yet. Lane 0 has the nearest tile.
            let mut words = [0; WINDOWS];
            let back = |window: usize| 32 * window + lane;
            unrolled!(j < WINDOWS => {
                words[j] = if back(j) < left {
                    control.atomic_load(left - back(j), Relaxed, Device)
                } else {
                    self.word(SUM, 0)
                };
            });
            let mut found = false;
            unrolled!(j < WINDOWS => {
                if !found {
                    let mut word = words[j];
                    if !self.is_there(word) {
                        let is_there = |word| self.is_there(word);
                        word = control.wait_until(left - back(j), Relaxed, Device, is_there);
                    }
                    let sums = warp::ballot(FULL_MASK, word & 3 == SUM);
                    if lane <= sums.trailing_zeros() as usize {
                        added += word >> 16;
                    }
                    found = sums != 0;
                }
            });
            left = if found { 0 } else { left - 32 * WINDOWS };
        }
        let prefix = warp::reduce(added, |a, b| a + b);
        if is_ordered {
            // Every lane has counts of its own, and lane 0 publishes for all.
            thread::device_fence();
            // SAFETY: the whole warp is here.
            unsafe { warp::sync_warp(FULL_MASK) };
            thread::device_fence();
        }
        publish(SUM, prefix + count);
        if last && lane == 0 {
            // Every block has its ticket, and has read it before it published its count.
            let next = (self.launch % LAUNCHES) << 32;
            control.atomic_store(0, next, Relaxed, Device);
        }
        prefix
    }
}
