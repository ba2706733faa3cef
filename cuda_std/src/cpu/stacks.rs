//! The stacks of lanes: the number of lanes that can have one at once, and unused stacks.
//!
//! ```text
//! take, by a launch from outside:    wait in line for the stacks of one cluster of blocks
//!                                    take those for as many threads as there is room for
//!                                    after PATIENCE in line: take the reserved place of depth 0, if nobody has it
//! take, by a launch of a lane:       wait for the reserved place of its depth
//! make_room, for a further cluster:  take what is left; otherwise the thread goes on without one
//!     of a followed launch:          take what is left for all of them, or the resident place; otherwise wait for either
//! a launch ends:                     give everything back; keep some unused stacks; those that wait look again
//! ```
//!
//! A stack is two mappings, and Linux gives a process 65530 by default. There is therefore one budget for the whole process. A
//! launch takes what it cannot run without before its first lane runs, and whoever has a reserved place never waits for more:
//! so launches do not wait for each other in a circle. Unused stacks that are kept for the next launch count as well, and are
//! freed first.

use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

#[cfg(windows)]
use corosensei::stack::StackTebFields;
use corosensei::stack::{DefaultStack, Stack, StackPointer};

use super::MAX_THREADS_PER_BLOCK;

/// The default size of a lane's stack in bytes. It is a reservation of address space: pages that are never touched cost
/// nothing.
pub const DEFAULT_STACK_BYTES: usize = 256 * 1024;
/// The allowed sizes of a lane's stack in bytes.
pub const STACK_BYTES: core::ops::RangeInclusive<usize> = 32 * 1024..=1 << 30;

/// The most lanes of a block.
const BLOCK: usize = MAX_THREADS_PER_BLOCK as usize;
/// The most lanes that can have a stack at once, if the system allows as many mappings.
const MOST: usize = 24 * BLOCK;
/// The number of blocks of the budget that are reserved for launches by lanes, one launch at each depth of nesting. Such a
/// launch cannot wait for launches that wait for it.
const DEPTHS: usize = 4;
/// The most lanes of the blocks that a thread has started. More leave the processor's caches. Two blocks are
/// always allowed.
const RESIDENT: usize = BLOCK;
/// The most blocks that a thread has started.
const RESIDENT_BLOCKS: usize = 8;
/// The number of stacks that are kept while no lane uses them.
const KEPT: usize = 12 * BLOCK;
/// The time that a launch waits before it takes room that is reserved for a launch by a lane. What it waits for may be
/// waiting for it, through a thread that a lane has started.
const PATIENCE: Duration = Duration::from_secs(10);

/// A lane's stack. Those of a block begin at different lines of their pages. If all began at the same one, what lanes use
/// most would share a few sets of the processor's first cache.
pub(super) struct LaneStack {
    memory: DefaultStack,
    /// The number of bytes above the base.
    skipped: usize,
}

impl LaneStack {
    /// Makes a stack of at least `bytes` bytes.
    fn new(bytes: usize) -> std::io::Result<Self> {
        const LINE: usize = 64;
        const PAGE: usize = 4096;
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // An odd number of lines: as many stacks as a page has lines begin at different ones.
        let skipped = NEXT.fetch_add(13 * LINE, Ordering::Relaxed) % PAGE;
        let memory = DefaultStack::new(bytes + PAGE)?;
        Ok(Self { memory, skipped })
    }
}

// SAFETY: the memory is that of the stack inside, without some bytes at its base. A page more was asked for.
unsafe impl Stack for LaneStack {
    fn base(&self) -> StackPointer {
        let base = self.memory.base().get() - self.skipped;
        StackPointer::new(base).expect("a stack does not begin at address 0")
    }

    fn limit(&self) -> StackPointer {
        self.memory.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> StackTebFields {
        self.memory.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.memory
            .update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

/// The use of the budget.
struct Budget {
    /// The number of lanes of launches from outside of kernels.
    taken: usize,
    /// Whether a launch by a lane runs at this depth.
    nested: [bool; DEPTHS],
    /// Whether a launch has the lanes that are reserved for further blocks of a thread. Such a launch never waits, so that
    /// all launches get their turn.
    resident: bool,
    /// The number of stacks whose lanes could not be ended. They are never freed.
    leaked: usize,
    /// Stacks that no lane uses, by their size.
    idle: Vec<(usize, Vec<LaneStack>)>,
    /// The launches that wait, in the order of their arrival.
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
/// Signals that lanes or stacks were returned, or that another launch is the next.
static TURN: Condvar = Condvar::new();

fn budget() -> MutexGuard<'static, Budget> {
    BUDGET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of lanes that can have a stack at once: three quarters of the mappings that the system allows are for
/// them.
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
    /// Returns the number of lanes that launches from outside of kernels can have in total.
    fn ordinary(&self) -> usize {
        (most() - DEPTHS * BLOCK - RESIDENT).saturating_sub(self.leaked)
    }

    /// Returns lanes to the budget, if they are ordinary ones.
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

    /// Takes up to `count` unused stacks of `bytes` bytes.
    fn reuse(&mut self, bytes: usize, count: usize) -> Vec<LaneStack> {
        let found = self.idle.iter_mut().find(|(size, _)| *size == bytes);
        found.map_or_else(Vec::new, |(_, stacks)| {
            stacks.split_off(stacks.len().saturating_sub(count))
        })
    }

    /// Removes unused stacks until `most` are left. Returns the removed ones.
    fn shrink(&mut self, most: usize) -> Vec<LaneStack> {
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

/// The part of the budget that a launch's lanes come from.
#[derive(Clone, Copy)]
enum Source {
    Ordinary,
    /// The lanes that are reserved for further blocks of a thread.
    Resident,
    /// The block that is reserved for a launch by a lane, at this depth of nesting.
    Nested(usize),
}

/// The lanes that a launch can have at once, with their stacks.
pub(super) struct Stacks {
    /// The number of the launch's blocks that run at once.
    pub workers: usize,
    bytes: usize,
    /// The number of lanes per cluster of blocks.
    threads: usize,
    source: Source,
    free: Mutex<Free>,
}

/// The stacks of a launch that no worker has.
struct Free {
    stacks: Vec<LaneStack>,
    leaked: usize,
    /// The lanes that were taken for further blocks of the threads, and the number of these blocks.
    further: Vec<(Source, usize)>,
}

impl Stacks {
    /// Takes what up to `workers` clusters of `threads` lanes need, but at least one cluster's stacks; waits until they are
    /// available. `depth` is the number of launches that this one is nested in, each launched by a lane.
    ///
    /// # Errors
    /// What is lacking, and will never be available.
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
        // Unused stacks are freed to make room for those that may be made now.
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

    /// Returns how many clusters each thread may have started, for a launch of `clusters` clusters.
    pub fn clusters_of_a_thread(&self, clusters: u64) -> usize {
        let most = match self.source {
            Source::Ordinary | Source::Resident => (RESIDENT / self.threads).max(2),
            Source::Nested(_) => BLOCK / self.threads,
        };
        most.clamp(1, RESIDENT_BLOCKS)
            .min(usize::try_from(clusters).unwrap_or(usize::MAX))
    }

    /// Makes room for another cluster of a thread, which has at most `most`. If the launch must be the same each time
    /// (`waits`), this makes room for all of them and may wait for it. Otherwise there may be no room.
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

    /// Returns some of the existing stacks, for a worker of `threads` lanes.
    pub fn for_worker(&self, threads: usize) -> Vec<LaneStack> {
        let stacks = &mut self.free().stacks;
        stacks.split_off(stacks.len().saturating_sub(threads))
    }

    /// Takes back the stacks of a worker.
    pub fn give_back(&self, stacks: &mut Vec<LaneStack>, leaked: usize) {
        let mut free = self.free();
        free.stacks.append(stacks);
        free.leaked += leaked;
    }

    /// Makes a new stack.
    ///
    /// # Errors
    /// The system's error message.
    pub fn make(&self) -> Result<LaneStack, String> {
        let made = LaneStack::new(self.bytes).or_else(|_| {
            let kept = budget().shrink(0);
            drop(kept);
            LaneStack::new(self.bytes)
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
