//! The errors of launches: their kinds, and their messages.

use core::{fmt, panic::Location};

use super::{Order, access::AccessKind, checks::Checks};

mod told;

/// The reason why a launch did not run to its end.
#[derive(Debug, Clone)]
pub enum LaunchError {
    /// A CUDA device would not accept the launch's shape.
    Invalid {
        /// The kernel's name.
        kernel: &'static str,
        /// The requirement and the given value.
        what: String,
    },
    /// A lane had a fault.
    Fault(Box<Fault>),
}

/// A fault of a lane: where it happened, and what.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The block's index in the grid along x, y and z.
    pub block: [u32; 3],
    /// The lane's index in its block along x, y and z. For a fault of several lanes, the first of them.
    pub lane: [u32; 3],
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The checks of the launch. The same checks, order and stack size give the same fault again.
    pub checks: Checks,
    /// The order in which lanes and blocks ran.
    pub order: Order,
    /// The size of a lane's stack in bytes.
    pub stack_bytes: usize,
}

/// A range of bytes of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes {
    /// The array, as far as it is known: a parameter, or shared memory.
    pub of: String,
    /// The first byte, relative to the array's start.
    pub first: usize,
    /// The last byte, relative to the array's start.
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
        /// The name of the parameter, if the view is a kernel's unchanged parameter.
        view: Option<&'static str>,
        /// The first element of the access.
        index: usize,
        /// The number of elements of the access.
        count: usize,
        /// The view's length.
        len: usize,
        /// Whether the access is a write.
        write: bool,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// An access of several bytes at an address that is not a multiple of their number.
    Misaligned {
        /// The name of the parameter, if the view is a kernel's unchanged parameter.
        view: Option<&'static str>,
        /// The first element of the access.
        index: usize,
        /// The address.
        address: usize,
        /// The required alignment in bytes.
        required: usize,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// The kernel uses more shared memory than it has.
    SharedMemory {
        /// The required bytes, in total.
        required: usize,
        /// The available bytes.
        given: usize,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// An access to bytes outside of all arrays, or to freed memory.
    Unallocated {
        /// The bytes.
        bytes: Bytes,
        /// The kind of access.
        touched: AccessKind,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// A read of uninitialized bytes.
    Unwritten {
        /// The bytes.
        bytes: Bytes,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// Two accesses to the same bytes without an order between them, at least one of which writes.
    Race {
        /// The bytes.
        bytes: Bytes,
        /// The kind of this lane's access.
        touched: AccessKind,
        /// The source line.
        at: &'static Location<'static>,
        /// The block index of the lane with the earlier access.
        other_block: [u32; 3],
        /// The index of that lane in its block.
        other_lane: [u32; 3],
        /// The kind of the earlier access.
        other_touched: AccessKind,
        /// The source line of the earlier access.
        other_at: &'static Location<'static>,
    },
    /// An asynchronous access by hardware of its own, of a bulk copy for one, to bytes that a lane has written by an
    /// ordinary instruction, without a proxy fence behind the write.
    NotFenced {
        /// The bytes.
        bytes: Bytes,
        /// The kind of this lane's access.
        touched: AccessKind,
        /// The source line.
        at: &'static Location<'static>,
        /// The index in its block of the lane that wrote.
        other_lane: [u32; 3],
        /// The source line of the write.
        other_at: &'static Location<'static>,
    },
    /// A wrong use of an mbarrier: one that is not initialized, or a wrong number of arrivals or bytes.
    Mbarrier {
        /// What is wrong.
        what: String,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// A wrong use of a warpgroup's products: its lanes do not do the same, or do not wait.
    Wgmma {
        /// What is wrong.
        what: String,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// A lane returned from the kernel without waiting for an asynchronous copy, or all lanes returned without one that waited
    /// for the mbarrier of a bulk copy.
    NotAwaited {
        /// The destination of the copy.
        bytes: Bytes,
        /// The source line that starts the copy.
        at: &'static Location<'static>,
    },
    /// Lanes wait for memory to change, and no lane changes it.
    Idle {
        /// The waiting lanes of the block: first those that look at memory, then those that wait for them.
        waiting: Vec<WaitingLanes>,
        /// The waiting lanes of other blocks of the thread, by the block's index.
        others: Vec<([u32; 3], Vec<WaitingLanes>)>,
        /// The number of blocks of the launch that have not started.
        not_started: u64,
    },
    /// Lanes wait at a barrier or a warp operation for lanes that never arrive.
    Stuck {
        /// The waiting lanes.
        waiting: Vec<WaitingLanes>,
        /// The lanes that returned from the kernel.
        returned: LaneSet,
    },
    /// Lanes arrive at different barriers.
    Diverged {
        /// The other lanes, with their operation and its line.
        others: WaitingLanes,
        /// The operation of this lane.
        operation: &'static str,
        /// The source line of this lane's operation.
        at: &'static Location<'static>,
    },
    /// The mask of a warp operation does not name the lane that executes it, or names lanes that do not exist or have
    /// returned from the kernel.
    Mask {
        /// The operation.
        operation: &'static str,
        /// The given mask.
        mask: u32,
        /// The lanes of the warp that exist and have not returned, as a mask.
        present: u32,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// A shuffle reads from a lane that its mask does not name.
    Source {
        /// The operation.
        operation: &'static str,
        /// The given mask.
        mask: u32,
        /// The lane of the warp that the shuffle reads from.
        source: u32,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// A lane uses an array of shared memory after it has visited the array's declaration again.
    SharedAgain {
        /// The array's type.
        array: String,
        /// The source line of the declaration.
        site: &'static Location<'static>,
        /// The source line of the use.
        at: &'static Location<'static>,
    },
    /// Lanes arrive at one barrier by different calls.
    DivergedCalls {
        /// The lanes that wait at the barrier.
        others: LaneSet,
        /// The call by which the others arrived: the innermost one that differs.
        others_by: String,
        /// The operation.
        operation: &'static str,
        /// The call by which this lane arrived.
        by: String,
        /// The source line of the barrier.
        at: &'static Location<'static>,
    },
    /// An access to the shared memory of another block of the cluster, which need not have started or may have returned.
    OtherBlock {
        /// The block, and what is wrong with it.
        what: String,
        /// The source line.
        at: &'static Location<'static>,
    },
    /// An argument that a device function does not accept.
    Argument {
        /// The requirement and the given value.
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
    /// Returns the check that finds this kind of fault. `None` if the kernel reports it itself (a trap, a panic, an invalid
    /// argument).
    pub fn check(&self) -> Option<Checks> {
        match self {
            Self::OutOfBounds { .. }
            | Self::Misaligned { .. }
            | Self::SharedMemory { .. }
            | Self::Unallocated { .. }
            | Self::SharedAgain { .. }
            | Self::OtherBlock { .. } => Some(Checks::MEM),
            Self::Unwritten { .. } => Some(Checks::INIT),
            Self::Race { .. } | Self::NotFenced { .. } => Some(Checks::RACE),
            Self::Stuck { .. }
            | Self::Diverged { .. }
            | Self::DivergedCalls { .. }
            | Self::Source { .. }
            | Self::Mask { .. }
            | Self::NotAwaited { .. }
            | Self::Mbarrier { .. }
            | Self::Wgmma { .. }
            | Self::Idle { .. } => Some(Checks::SYNC),
            Self::Argument { .. } | Self::Trap { .. } | Self::Panic { .. } => None,
        }
    }

    /// Returns the source lines that the fault names, this lane's first.
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
            | Self::Mbarrier { at, .. }
            | Self::Wgmma { at, .. }
            | Self::OtherBlock { at, .. }
            | Self::Argument { at, .. }
            | Self::Trap { at } => vec![at],
            Self::Race { at, other_at, .. } | Self::NotFenced { at, other_at, .. } => {
                vec![at, other_at]
            }
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

/// Waiting lanes, their operation, and its source line.
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
