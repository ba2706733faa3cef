//! The stacks of lanes: how many lanes may have one at once, and those that no lane uses.
//!
//! A stack is two mappings, and Linux gives a process 65530 by default. So there is one budget for the
//! whole process: a launch takes what a block of each of its threads needs before its first lane runs, all of it at once, and
//! waits its turn where others have it. Further blocks of a thread have room that is left, or else some that is kept for
//! one launch at a time, which waits for nobody. Stacks that are kept for the next launch count as well, and go first.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use corosensei::stack::DefaultStack;

use super::MAX_THREADS_PER_BLOCK;

/// The bytes of a lane's stack, unless the launch says otherwise: a reservation of address space, for pages
/// that are never touched cost nothing.
pub const DEFAULT_STACK_BYTES: usize = 256 * 1024;
/// The fewest and the most bytes that a lane's stack may have.
pub const STACK_BYTES: core::ops::RangeInclusive<usize> = 32 * 1024..=1 << 30;

/// Lanes of a block, at most.
const BLOCK: usize = MAX_THREADS_PER_BLOCK as usize;
/// Lanes that may have a stack at once, if the system allows as many mappings.
const MOST: usize = 24 * BLOCK;
/// Blocks of the budget that launches by lanes take from, one launch at each depth of nesting: those cannot
/// wait for launches that wait for them.
const DEPTHS: usize = 4;
/// Lanes of the blocks that a thread has started, at most; two blocks at least. More of them leave the processor's caches.
const RESIDENT: usize = BLOCK;
/// Blocks that a thread has started, at most.
const RESIDENT_BLOCKS: usize = 8;
/// Stacks that are kept while no lane uses them.
const KEPT: usize = 12 * BLOCK;
/// How long a launch waits before it takes what is there for a launch by a lane: what it waits for may be
/// waiting for it, through a thread that a lane has started.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who has what of the budget.
struct Budget {
    /// Lanes that launches from outside of kernels have.
    taken: usize,
    /// Whether a launch by a lane runs at this depth.
    nested: [bool; DEPTHS],
    /// Whether a launch has the lanes that are kept for further blocks of a thread: such a launch waits for nobody, so
    /// that all come by in turn.
    resident: bool,
    /// Stacks whose lanes could not be ended: they stay for ever.
    leaked: usize,
    /// Stacks that no lane uses, by their size.
    idle: Vec<(usize, Vec<DefaultStack>)>,
    /// Launches that wait, in the order in which they came.
    queue: VecDeque<u64>,
    next: u64,
}

static BUDGET: Mutex<Budget> = Mutex::new(Budget {
    taken: 0,
    nested: [false; DEPTHS],
    resident: false,
    leaked: 0,
    idle: Vec::new(),
    queue: VecDeque::new(),
    next: 0,
});
/// Something was given back, or another launch has become the next.
static TURN: Condvar = Condvar::new();

fn budget() -> MutexGuard<'static, Budget> {
    BUDGET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lanes that may have a stack at once: three quarters of the mappings that the system allows are for them.
fn most() -> usize {
    static MOST_HERE: OnceLock<usize> = OnceLock::new();
    *MOST_HERE.get_or_init(|| {
        let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count");
        let allowed = allowed.ok().and_then(|text| text.trim().parse().ok());
        let allowed: usize = allowed.unwrap_or(usize::MAX);
        (allowed / 8)
            .saturating_mul(3)
            .clamp((DEPTHS + 1) * BLOCK + RESIDENT, MOST)
    })
}

impl Budget {
    /// Lanes that launches from outside of kernels may have in all.
    fn ordinary(&self) -> usize {
        (most() - DEPTHS * BLOCK - RESIDENT).saturating_sub(self.leaked)
    }

    /// Gives lanes back, if they are ordinary ones.
    fn give_back(&mut self, source: Source, lanes: usize) {
        match source {
            Source::Ordinary => self.taken -= lanes,
            Source::Resident => self.resident = false,
            Source::Nested(place) => self.nested[place] = false,
        }
    }

    fn idle(&self) -> usize {
        self.idle.iter().map(|(_, stacks)| stacks.len()).sum()
    }

    /// Takes up to `count` stacks of `bytes` that no lane uses.
    fn reuse(&mut self, bytes: usize, count: usize) -> Vec<DefaultStack> {
        let found = self.idle.iter_mut().find(|(size, _)| *size == bytes);
        found.map_or_else(Vec::new, |(_, stacks)| {
            stacks.split_off(stacks.len().saturating_sub(count))
        })
    }

    /// Takes out stacks that no lane uses, until `most` are left.
    fn shrink(&mut self, most: usize) -> Vec<DefaultStack> {
        let mut over = self.idle().saturating_sub(most);
        let mut gone = Vec::new();
        for (_, stacks) in &mut self.idle {
            let count = over.min(stacks.len());
            gone.extend(stacks.drain(..count));
            over -= count;
        }
        self.idle.retain(|(_, stacks)| !stacks.is_empty());
        gone
    }
}

/// Where a launch's lanes come from.
#[derive(Clone, Copy)]
enum Source {
    Ordinary,
    /// From those that are kept for further blocks of a thread.
    Resident,
    /// By a lane, at this depth of nesting.
    Nested(usize),
}

/// The lanes that a launch may have at once, with stacks.
pub(super) struct Stacks {
    /// The launch's blocks that run at once.
    pub workers: usize,
    bytes: usize,
    /// Lanes of a block.
    threads: usize,
    source: Source,
    free: Mutex<Free>,
}

/// What of a launch's stacks no worker has.
struct Free {
    stacks: Vec<DefaultStack>,
    leaked: usize,
    /// What was taken for further blocks of the threads, and how many of these there are.
    further: Vec<(Source, usize)>,
}

impl Stacks {
    /// Takes what up to `workers` blocks of `threads` lanes need, and at least one block's; waits until it
    /// can. `depth` counts the launches, one by a lane of the other, that this one is nested in.
    ///
    /// # Errors
    /// What there is not enough of, and never will be.
    pub fn take(
        threads: usize,
        workers: usize,
        bytes: usize,
        depth: usize,
    ) -> Result<Self, String> {
        let (mut budget, source) = match depth {
            0 => wait_in_line(budget(), threads)?,
            _ => wait_for_depth(budget(), depth - 1)?,
        };
        let workers = match source {
            Source::Ordinary => {
                let room = (budget.ordinary() - budget.taken) / threads;
                let workers = workers.clamp(1, room);
                budget.taken += workers * threads;
                workers
            }
            Source::Resident | Source::Nested(_) => 1,
        };
        let stacks = budget.reuse(bytes, workers * threads);
        // What is kept makes room for what may be made now.
        let room = (most() - DEPTHS * BLOCK).saturating_sub(budget.taken + budget.leaked);
        let gone = budget.shrink(room);
        drop(budget);
        drop(gone);
        Ok(Self {
            workers,
            bytes,
            threads,
            source,
            free: Mutex::new(Free {
                stacks,
                leaked: 0,
                further: Vec::new(),
            }),
        })
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many blocks of a launch of so many each thread may have started.
    pub fn blocks_of_a_thread(&self, blocks: u64) -> usize {
        let most = match self.source {
            Source::Ordinary | Source::Resident => (RESIDENT / self.threads).max(2),
            Source::Nested(_) => BLOCK / self.threads,
        };
        most.clamp(1, RESIDENT_BLOCKS)
            .min(usize::try_from(blocks).unwrap_or(usize::MAX))
    }

    /// Makes room for another block of a thread, which has `most` at most. Where a launch is to be the same each time
    /// (`waits`) there is room for all of them, though it may have to wait for it; otherwise there may be none.
    pub fn make_room(&self, most: usize, waits: bool) -> bool {
        if matches!(self.source, Source::Nested(_)) {
            return true;
        }
        let mut free = self.free();
        if waits && !free.further.is_empty() {
            return true;
        }
        let lanes = match waits {
            true => (most - 1) * self.threads,
            false => self.threads,
        };
        let mut budget = budget();
        let source = loop {
            if budget.ordinary().saturating_sub(budget.taken) >= lanes {
                budget.taken += lanes;
                break Source::Ordinary;
            }
            if !waits {
                return false;
            }
            if !budget.resident {
                budget.resident = true;
                break Source::Resident;
            }
            budget = TURN.wait(budget).unwrap_or_else(PoisonError::into_inner);
        };
        free.further.push((source, lanes));
        true
    }

    /// Some of the stacks that there are, for a worker of so many lanes.
    pub fn for_worker(&self, threads: usize) -> Vec<DefaultStack> {
        let stacks = &mut self.free().stacks;
        stacks.split_off(stacks.len().saturating_sub(threads))
    }

    /// Takes back what a worker had.
    pub fn give_back(&self, stacks: &mut Vec<DefaultStack>, leaked: usize) {
        let mut free = self.free();
        free.stacks.append(stacks);
        free.leaked += leaked;
    }

    /// A new stack.
    ///
    /// # Errors
    /// The system's, in words.
    pub fn make(&self) -> Result<DefaultStack, String> {
        let made = DefaultStack::new(self.bytes).or_else(|_| {
            let kept = budget().shrink(0);
            drop(kept);
            DefaultStack::new(self.bytes)
        });
        made.map_err(|error| {
            let bytes = self.bytes;
            format!("no memory for the lane's stack of {bytes} bytes: {error}")
        })
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let free = self.free.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut stacks = std::mem::take(&mut free.stacks);
        let leaked = free.leaked;
        let mut budget = budget();
        budget.give_back(self.source, self.workers * self.threads);
        for (source, lanes) in free.further.drain(..) {
            budget.give_back(source, lanes);
        }
        budget.leaked += leaked;
        match budget.idle.iter_mut().find(|(size, _)| *size == self.bytes) {
            Some((_, idle)) => idle.append(&mut stacks),
            None => budget.idle.push((self.bytes, stacks)),
        }
        let room = budget.ordinary().saturating_sub(budget.taken);
        let gone = budget.shrink(room.min(KEPT));
        drop(budget);
        TURN.notify_all();
        drop(gone);
    }
}

type Held = MutexGuard<'static, Budget>;

/// Waits until it is this launch's turn and there is room for a block of `threads` lanes.
fn wait_in_line(mut budget: Held, threads: usize) -> Result<(Held, Source), String> {
    let ticket = budget.next;
    budget.next += 1;
    budget.queue.push_back(ticket);
    let source = loop {
        if budget.ordinary() < threads {
            let leaked = budget.leaked;
            break Err(format!(
                "stacks for {threads} lanes required, but {leaked} are those of lanes that did not end when \
                 their blocks had failed"
            ));
        }
        let first = budget.queue.front() == Some(&ticket);
        if first && budget.ordinary() - budget.taken.min(budget.ordinary()) >= threads {
            break Ok(Source::Ordinary);
        }
        let (held, waited) = TURN
            .wait_timeout(budget, PATIENCE)
            .unwrap_or_else(PoisonError::into_inner);
        budget = held;
        if waited.timed_out() && !budget.nested[0] {
            budget.nested[0] = true;
            break Ok(Source::Nested(0));
        }
    };
    budget.queue.retain(|waiting| *waiting != ticket);
    TURN.notify_all();
    Ok((budget, source?))
}

/// Waits until no other launch by a lane runs at this depth.
fn wait_for_depth(mut budget: Held, place: usize) -> Result<(Held, Source), String> {
    if place >= DEPTHS {
        return Err(format!(
            "launches by lanes may be nested {DEPTHS} deep, given {}",
            place + 1
        ));
    }
    while budget.nested[place] {
        budget = TURN.wait(budget).unwrap_or_else(PoisonError::into_inner);
    }
    budget.nested[place] = true;
    Ok((budget, Source::Nested(place)))
}
