//! The state that the running blocks of a launch share: whether one has failed, and whether any of them makes progress.
//!
//! ```text
//! a worker starts or ends, or its blocks become idle or go on: a new epoch begins, in which no worker is idle
//! a worker's blocks have been idle for another round:
//!     if the epoch is another one than at the round's start: the round counts for nothing
//!     else the worker is idle in this epoch
//!     all workers are idle, and the epoch is old enough: nobody goes on any more
//! ```
//!
//! One lane may look at a word just before another thread changes it. So all workers must have looked for a whole round in
//! which nothing has happened anywhere.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// A launch in progress.
pub(super) struct Progress {
    /// The lowest block that has failed, or `u64::MAX`.
    lowest: AtomicU64,
    workers: Mutex<Workers>,
    /// The number of blocks that have started, and of all blocks.
    started: AtomicU64,
    blocks: u64,
}

/// The workers that run blocks of the launch.
struct Workers {
    /// The workers that have not started: other launches may use their threads.
    expected: usize,
    running: usize,
    /// The number of workers that have found their block idle since the epoch began.
    idle: usize,
    /// A counter that changes whenever a worker starts or ends, or its block becomes idle or stops being idle.
    epoch: u64,
    since: Instant,
}

/// The time for which every worker's block must be idle before that is a fault.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same time if a worker has not started.
const LONG_PATIENCE: Duration = Duration::from_secs(10);

impl Progress {
    pub fn new(blocks: u64, workers: usize) -> Self {
        Self {
            lowest: AtomicU64::new(u64::MAX),
            workers: Mutex::new(Workers {
                expected: workers,
                running: 0,
                idle: 0,
                epoch: 0,
                since: Instant::now(),
            }),
            started: AtomicU64::new(0),
            blocks,
        }
    }

    /// Returns the lowest block that has failed, if any.
    #[inline]
    pub fn failed(&self) -> Option<u64> {
        let lowest = self.lowest.load(Ordering::Relaxed);
        (lowest != u64::MAX).then_some(lowest)
    }

    pub fn fails(&self, block: u64) {
        self.lowest.fetch_min(block, Ordering::Relaxed);
    }

    pub fn block_starts(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of blocks that have not started.
    pub fn not_started(&self) -> u64 {
        self.blocks - self.started.load(Ordering::Relaxed)
    }

    fn change<R>(&self, change: impl FnOnce(&mut Workers) -> R) -> R {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.epoch += 1;
        workers.idle = 0;
        workers.since = Instant::now();
        change(&mut workers)
    }

    pub fn worker_starts(&self) {
        self.change(|workers| {
            workers.expected -= 1;
            workers.running += 1;
        });
    }

    /// Notes that a worker finds no block left when it would start.
    pub fn worker_has_nothing(&self) {
        self.change(|workers| workers.expected -= 1);
    }

    pub fn worker_ends(&self) {
        self.change(|workers| workers.running -= 1);
    }

    /// Notes that a worker's block became idle or stopped being idle. Returns the epoch that begins.
    pub fn block_changes(&self) -> u64 {
        self.change(|workers| workers.epoch)
    }

    /// Notes that a worker's blocks were idle for another round, in which each of their lanes has looked at what it waits
    /// for. `epoch` is the epoch in which the round began. Returns whether all blocks have been idle for long enough, or
    /// for any time if `at_once` is true: a followed launch must give the same report each time, so time does not count
    /// there.
    pub fn still_idle(&self, epoch: &mut u64, told: &mut bool, at_once: bool) -> bool {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if *epoch != workers.epoch {
            // Something has changed since the round began, so another round is needed.
            *epoch = workers.epoch;
            *told = false;
            return false;
        }
        if !*told {
            *told = true;
            workers.idle += 1;
        }
        let patience = match workers.expected {
            0 => PATIENCE,
            _ => LONG_PATIENCE,
        };
        workers.idle >= workers.running && (at_once || workers.since.elapsed() >= patience)
    }
}
