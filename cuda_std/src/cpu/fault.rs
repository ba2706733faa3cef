//! What can go wrong in a launch, and how it is told.

use core::{fmt, panic::Location};

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
    /// Lanes wait at a barrier or a warp operation for lanes that never come.
    Stuck {
        /// Who waits where.
        waiting: Vec<(LaneSet, &'static str, &'static Location<'static>)>,
        /// The lanes that have returned from the kernel.
        returned: LaneSet,
    },
    /// Lanes meet at different barriers.
    Diverged {
        /// What the other lanes wait at, and where.
        others: (LaneSet, &'static str, &'static Location<'static>),
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

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { kernel, what } => write!(f, "launch of {kernel}: {what}"),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for LaunchError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bx, by, bz] = self.block;
        let [x, y, z] = self.lane;
        write!(
            f,
            "kernel {}, block ({bx}, {by}, {bz}), lane ({x}, {y}, {z}): ",
            self.kernel
        )?;
        let named =
            |view: &Option<&str>| view.map_or(String::new(), |name| format!(" of `{name}`"));
        match &self.kind {
            FaultKind::OutOfBounds {
                view,
                index,
                count,
                len,
                write,
                at,
            } => {
                let verb = if *write { "write" } else { "read" };
                let what = match count {
                    1 => format!("element {index}"),
                    _ => format!("{count} elements from {index} on"),
                };
                write!(
                    f,
                    "{verb} out of bounds: {what}{}, which has {len}, at {at}",
                    named(view)
                )
            }
            FaultKind::Misaligned {
                view,
                index,
                address,
                required,
                at,
            } => write!(
                f,
                "misaligned access: element {index}{} is at address {address:#x}, which must be a \
                 multiple of {required}, at {at}",
                named(view)
            ),
            FaultKind::SharedMemory {
                required,
                given,
                at,
            } => write!(
                f,
                "shared memory: {required} bytes required, the block has {given}, at {at}"
            ),
            FaultKind::Stuck { waiting, returned } => {
                f.write_str("barrier that not all lanes reach: ")?;
                for (lanes, operation, at) in waiting {
                    write!(f, "{lanes} wait in {operation} at {at}; ")?;
                }
                write!(f, "{returned} have returned")
            }
            FaultKind::Diverged {
                others: (lanes, other, other_at),
                operation,
                at,
            } => write!(
                f,
                "divergent barrier: this lane is in {operation} at {at}, but {lanes} wait in {other} \
                 at {other_at}"
            ),
            FaultKind::Mask {
                operation,
                mask,
                present,
                at,
            } => write!(
                f,
                "{operation} with mask {mask:#010x}: it must name this lane and only lanes of the warp \
                 that have not returned ({present:#010x}), at {at}"
            ),
            FaultKind::Argument { what, at } => write!(f, "{what}, at {at}"),
            FaultKind::Trap { at } => write!(f, "trap at {at}"),
            FaultKind::Panic { message } => write!(f, "panic: {message}"),
        }
    }
}

impl std::error::Error for Fault {}
