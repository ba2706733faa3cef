//! The messages of faults. Each is one line.

use super::*;
use crate::cpu::{
    checks::{CHECK_VARIABLE, ORDER_VARIABLE, STACK_VARIABLE},
    stacks::DEFAULT_STACK_BYTES,
};

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { kernel, what } => write!(f, "launch of {kernel}: {what}"),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for LaunchError {}

fn waits(f: &mut fmt::Formatter<'_>, waiting: &[WaitingLanes]) -> fmt::Result {
    for (i, (lanes, operation, at)) in waiting.iter().enumerate() {
        let separator = if i > 0 { "; " } else { "" };
        write!(f, "{separator}{lanes} wait in {operation} at {at}")?;
    }
    Ok(())
}

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
        let told = match &self.kind {
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
            FaultKind::Unallocated { bytes, touched, at } => write!(
                f,
                "outside of every allocation: this lane {} {bytes}, at {at}",
                touched.verb()
            ),
            FaultKind::Unwritten { bytes, at } => {
                write!(f, "read of what nobody wrote: {bytes}, at {at}")
            }
            FaultKind::Race {
                bytes,
                touched,
                at,
                other_block,
                other_lane,
                other_touched,
                other_at,
            } => {
                let [x, y, z] = other_lane;
                write!(
                    f,
                    "race: this lane {} {bytes} at {at}, and ",
                    touched.verb()
                )?;
                if *other_block != self.block {
                    let [bx, by, bz] = other_block;
                    write!(f, "block ({bx}, {by}, {bz}), ")?;
                }
                let missing = match touched.is_copy() || other_touched.is_copy() {
                    true => "a wait for the copy and an order behind it",
                    false => "an order",
                };
                write!(
                    f,
                    "lane ({x}, {y}, {z}) {} them at {other_at}, without {missing} between the two",
                    other_touched.verb()
                )?;
                let why = touched.not_atomic_to(*other_touched);
                why.map_or(Ok(()), |why| write!(f, "; {why}"))
            }
            FaultKind::NotFenced {
                bytes,
                touched,
                at,
                other_lane: [x, y, z],
                other_at,
            } => write!(
                f,
                "proxy: this lane {} {bytes} at {at}, and lane ({x}, {y}, {z}) writes them at {other_at}, without \
                 a `fence_proxy_async` behind the write",
                touched.verb()
            ),
            FaultKind::Mbarrier { what, at } => write!(f, "mbarrier: {what}, at {at}"),
            FaultKind::Wgmma { what, at } => {
                write!(f, "products of a warpgroup: {what}, at {at}")
            }
            FaultKind::NotAwaited { bytes, at } => write!(
                f,
                "asynchronous copy that its lane does not wait for: it copies to {bytes}, at {at}"
            ),
            FaultKind::Idle {
                waiting,
                others,
                not_started,
            } => {
                f.write_str("lanes wait in a loop for memory that nobody changes: ")?;
                waits(f, waiting)?;
                for ([bx, by, bz], waiting) in others {
                    write!(f, "; in block ({bx}, {by}, {bz}) ")?;
                    waits(f, waiting)?;
                }
                match not_started {
                    0 => Ok(()),
                    1 => f.write_str("; 1 block has not started, and starts when another one ends"),
                    _ => write!(
                        f,
                        "; {not_started} blocks have not started, and each starts when another one ends"
                    ),
                }
            }
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
            FaultKind::Source {
                operation,
                mask,
                source,
                at,
            } => write!(
                f,
                "{operation} with mask {mask:#010x} reads from lane {source} of the warp, which the mask does \
                 not name, at {at}"
            ),
            FaultKind::SharedAgain { array, site, at } => write!(
                f,
                "shared memory: this lane uses the array `{array}` of {site} at {at}, though it has come to that \
                 place again since: whether the two are one array depends on what is inlined and unrolled"
            ),
            FaultKind::DivergedCalls {
                others,
                others_by,
                operation,
                by,
                at,
            } => write!(
                f,
                "divergent barrier: this lane is in {operation} at {at} by the call at {by}, but {others} wait \
                 there by the call at {others_by}"
            ),
            FaultKind::OtherBlock { what, at } | FaultKind::Argument { what, at } => {
                write!(f, "{what}, at {at}")
            }
            FaultKind::Trap { at } => write!(f, "trap at {at}"),
            FaultKind::Panic { message } => write!(f, "panic: {message}"),
        };
        told?;
        write!(
            f,
            "; again with {CHECK_VARIABLE}={} {ORDER_VARIABLE}={}",
            self.checks, self.order
        )?;
        match self.stack_bytes {
            DEFAULT_STACK_BYTES => Ok(()),
            bytes => write!(f, " {STACK_VARIABLE}={bytes}"),
        }
    }
}

impl std::error::Error for Fault {}
