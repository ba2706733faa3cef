//! What can go wrong in a launch, and how it is told.

use core::{fmt, panic::Location};

use super::{Order, access::AccessKind, checks::Checks};

mod told;

/// Why a launch did not run to its end.
#[derive(Debug, Clone)]
pub enum LaunchError {
    /// The launch's shape is not one that a CUDA device would take.
    Invalid {
        /// The kernel's name.
        kernel: &'static str,
        /// What was required and what was given.
        what: String,
    },
    /// A lane went wrong.
    Fault(Box<Fault>),
}

/// A lane that went wrong: where, and how.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The block's index in the grid along x, y and z.
    pub block: [u32; 3],
    /// The lane's index in its block along x, y and z; for a fault of several lanes, the first of them.
    pub lane: [u32; 3],
    /// What happened.
    pub kind: FaultKind,
    /// What was checked, and in which order lanes and blocks ran: the same again gives the same fault.
    pub checks: Checks,
    /// The order.
    pub order: Order,
    /// The bytes of a lane's stack.
    pub stack_bytes: usize,
}

/// Bytes of some array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes {
    /// The array, as far as it is known: a parameter, or shared memory.
    pub of: String,
    /// The first byte, counted from the array's start.
    pub first: usize,
    /// The last byte.
    pub last: usize,
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last - self.first {
            0 => write!(f, "byte {} of {}", self.first, self.of),
            _ => write!(f, "bytes {}-{} of {}", self.first, self.last, self.of),
        }
    }
}

/// The kinds of faults.
#[derive(Debug, Clone)]
pub enum FaultKind {
    /// An access outside a view.
    OutOfBounds {
        /// The view's parameter name, where the view is a kernel's parameter as it came.
        view: Option<&'static str>,
        /// The first element asked for.
        index: usize,
        /// The number of elements asked for.
        count: usize,
        /// The view's length.
        len: usize,
        /// Whether it was a write.
        write: bool,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// An access of several bytes at an address that is not a multiple of their number.
    Misaligned {
        /// The view's parameter name, where the view is a kernel's parameter as it came.
        view: Option<&'static str>,
        /// The first element asked for.
        index: usize,
        /// The address.
        address: usize,
        /// The alignment required.
        required: usize,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// More shared memory asked for than there is.
    SharedMemory {
        /// Bytes asked for in all.
        required: usize,
        /// Bytes there are.
        given: usize,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// An access to bytes that are in no array, or in memory that has been freed.
    Unallocated {
        /// The bytes.
        bytes: Bytes,
        /// How they were touched.
        touched: AccessKind,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// A read of bytes that nobody wrote.
    Unwritten {
        /// The bytes.
        bytes: Bytes,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// Two accesses to the same bytes, at least one of which writes, without an order between them.
    Race {
        /// The bytes.
        bytes: Bytes,
        /// How this lane touches them.
        touched: AccessKind,
        /// The source line.
        at: &'static Location<'static>,
        /// The index of the block of the lane that touched them before.
        other_block: [u32; 3],
        /// That lane.
        other_lane: [u32; 3],
        /// How it touched them.
        other_touched: AccessKind,
        /// Its source line.
        other_at: &'static Location<'static>,
    },
    /// A lane has returned from the kernel without having waited for an asynchronous copy.
    NotAwaited {
        /// The bytes that it copies to.
        bytes: Bytes,
        /// The source line that starts it.
        at: &'static Location<'static>,
    },
    /// Lanes wait for memory to change, and nobody changes it.
    Idle {
        /// Who of the block waits where: first those that look at memory, then those that wait for them.
        waiting: Vec<WaitingLanes>,
        /// The same of other blocks of the thread that wait, by the block's index.
        others: Vec<([u32; 3], Vec<WaitingLanes>)>,
        /// Blocks of the launch that have not started.
        not_started: u64,
    },
    /// Lanes wait at a barrier or a warp operation for lanes that never come.
    Stuck {
        /// Who waits where.
        waiting: Vec<WaitingLanes>,
        /// The lanes that have returned from the kernel.
        returned: LaneSet,
    },
    /// Lanes meet at different barriers.
    Diverged {
        /// What the other lanes wait at, and where.
        others: WaitingLanes,
        /// What this lane came to.
        operation: &'static str,
        /// The source line that this lane came to.
        at: &'static Location<'static>,
    },
    /// A warp operation whose mask does not name the lane that executes it, or names lanes that are not
    /// there: outside of the block, or returned from the kernel.
    Mask {
        /// The operation.
        operation: &'static str,
        /// The mask given.
        mask: u32,
        /// The lanes of the warp that are there.
        present: u32,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// A shuffle that reads from a lane that its mask does not name.
    Source {
        /// The operation.
        operation: &'static str,
        /// The mask given.
        mask: u32,
        /// The lane of the warp that it reads from.
        source: u32,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// A use of an array of shared memory behind the lane's next visit to the place in the source that it is from.
    SharedAgain {
        /// The array's type.
        array: String,
        /// The place that it is from.
        site: &'static Location<'static>,
        /// The source line of the use.
        at: &'static Location<'static>,
    },
    /// Lanes meet at one barrier, but not by the same calls.
    DivergedCalls {
        /// The lanes that wait at the barrier.
        others: LaneSet,
        /// The call, of those in which the two differ the innermost one, by which they have come.
        others_by: String,
        /// What the lanes came to.
        operation: &'static str,
        /// The call by which this lane has come.
        by: String,
        /// The source line of the barrier.
        at: &'static Location<'static>,
    },
    /// An argument that a device function does not take.
    Argument {
        /// What was required and what was given.
        what: String,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// The kernel called `trap`.
    Trap {
        /// The source line.
        at: &'static Location<'static>,
    },
    /// The kernel panicked.
    Panic {
        /// The panic's message.
        message: String,
    },
}

impl FaultKind {
    /// The check that finds it; none for what the kernel says itself (a trap, a panic, a wrong argument).
    pub fn check(&self) -> Option<Checks> {
        match self {
            Self::OutOfBounds { .. }
            | Self::Misaligned { .. }
            | Self::SharedMemory { .. }
            | Self::Unallocated { .. }
            | Self::SharedAgain { .. } => Some(Checks::MEM),
            Self::Unwritten { .. } => Some(Checks::INIT),
            Self::Race { .. } => Some(Checks::RACE),
            Self::Stuck { .. }
            | Self::Diverged { .. }
            | Self::DivergedCalls { .. }
            | Self::Source { .. }
            | Self::Mask { .. }
            | Self::NotAwaited { .. }
            | Self::Idle { .. } => Some(Checks::SYNC),
            Self::Argument { .. } | Self::Trap { .. } | Self::Panic { .. } => None,
        }
    }

    /// The source lines that it names: this lane's first.
    pub fn places(&self) -> Vec<&'static Location<'static>> {
        match self {
            Self::OutOfBounds { at, .. }
            | Self::Misaligned { at, .. }
            | Self::SharedMemory { at, .. }
            | Self::Unallocated { at, .. }
            | Self::Unwritten { at, .. }
            | Self::Mask { at, .. }
            | Self::Source { at, .. }
            | Self::DivergedCalls { at, .. }
            | Self::NotAwaited { at, .. }
            | Self::Argument { at, .. }
            | Self::Trap { at } => vec![at],
            Self::Race { at, other_at, .. } => vec![at, other_at],
            Self::SharedAgain { at, site, .. } => vec![at, site],
            Self::Diverged { at, others, .. } => vec![at, others.2],
            Self::Stuck { waiting, .. } => waiting.iter().map(|(_, _, at)| *at).collect(),
            Self::Idle {
                waiting, others, ..
            } => {
                let others = others.iter().flat_map(|(_, waiting)| waiting);
                waiting.iter().chain(others).map(|(_, _, at)| *at).collect()
            }
            Self::Panic { .. } => Vec::new(),
        }
    }
}

/// Lanes that wait, by what, and at which line.
pub type WaitingLanes = (LaneSet, &'static str, &'static Location<'static>);

/// A set of lanes of a block, by their linear index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneSet(pub Vec<u32>);

impl fmt::Display for LaneSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lanes = self.0.clone();
        lanes.sort_unstable();
        f.write_str(if lanes.len() == 1 { "lane " } else { "lanes " })?;
        if lanes.is_empty() {
            return f.write_str("none");
        }
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for lane in lanes {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == lane => *last = lane,
                _ => runs.push((lane, lane)),
            }
        }
        const SHOWN: usize = 6;
        for (i, (first, last)) in runs.iter().take(SHOWN).enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            if first == last {
                write!(f, "{first}")?;
            } else {
                write!(f, "{first}-{last}")?;
            }
        }
        if runs.len() > SHOWN {
            write!(f, " and {} more groups", runs.len() - SHOWN)?;
        }
        Ok(())
    }
}
