//! What the blocks of a launch that run at once know of each other: whether one has failed, and whether
//! any of them still does something.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// A launch in progress.
pub(super) struct Progress {
    /// The lowest block that has failed; none: `u64::MAX`.
    lowest: AtomicU64,
    workers: Mutex<Workers>,
    /// The blocks that have started, and those that there are.
    started: AtomicU64,
    blocks: u64,
}

/// The workers that run blocks of the launch.
struct Workers {
    /// Those that have not started: other launches may have their threads.
    expected: usize,
    running: usize,
    /// How many of them have found their block idle since the epoch began.
    idle: usize,
    /// Changes whenever a worker starts or ends, or its block begins or ceases to be idle.
    epoch: u64,
    since: Instant,
}

/// How long every worker's block has to be idle before that is a fault.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same where a worker has not started.
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

    /// The lowest block that has failed, if one has.
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

    /// The blocks that have not started.
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

    /// A worker finds no block left when it would start.
    pub fn worker_has_nothing(&self) {
        self.change(|workers| workers.expected -= 1);
    }

    pub fn worker_ends(&self) {
        self.change(|workers| workers.running -= 1);
    }

    /// A worker's block was idle and is so no more, or has just become so: gives the epoch that begins.
    pub fn block_changes(&self) -> u64 {
        self.change(|workers| workers.epoch)
    }

    /// A worker's blocks were idle for another round, in which each of their lanes has looked at what it waits for;
    /// `epoch` is the one in which the round began. Tells whether all blocks have been so for long enough, or at all
    /// (`at_once`): where the launch is followed it has to give the same report each time, so time does not count.
    pub fn still_idle(&self, epoch: &mut u64, told: &mut bool, at_once: bool) -> bool {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if *epoch != workers.epoch {
            // Something has changed since the round began: it takes another one.
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
