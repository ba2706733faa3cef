//! The CPU executor: runs a kernel without a GPU.
//!
//! Every lane of a block is a stackful coroutine; the lanes of a block take turns on one thread, and
//! blocks run in parallel on rayon's threads. A barrier, a warp vote or a shuffle suspends a lane until
//! its partners have come. A lane that waits for partners that never come is an error that names the
//! lanes and the lines, never a hang; an access outside a view is an error that names kernel, block,
//! lane, index and line.
//!
//! The order of lanes and blocks is a choice ([`Options::order`]), and so are checks that follow every
//! access ([`Options::checks`]): for reads of what nobody wrote, for races, for memory that is not there.

mod block;
mod checks;
pub(crate) mod constant;
mod copies;
mod fault;
pub(crate) mod imp;
mod lane;
pub mod memory;
mod order;
mod runner;
mod shadow;

use core::ffi::c_void;
use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;

use crate::{
    constant::ConstantValues,
    kernel::{KernelDescriptor, LaunchConfig},
};
pub use checks::{CHECK_VARIABLE, Checks, ORDER_VARIABLE};
pub use fault::{AccessKind, Bytes, Fault, FaultKind, LaneSet, LaunchError};
use order::BlockOrder;
use runner::BlockRunner;
use shadow::Following;

/// The most threads that a block may have, as on every CUDA device.
pub const MAX_THREADS_PER_BLOCK: u64 = 1024;
/// The most bytes of shared memory (static and dynamic) that a block may have: that of the largest
/// CUDA devices, 227 KiB.
pub const MAX_SHARED_BYTES: usize = 227 * 1024;
/// The most blocks along x, y and z.
pub const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];
/// The most threads of a block along x, y and z.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// In which order the lanes of a block take turns, and the blocks of a launch start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Lane 0 first, block 0 first.
    #[default]
    Forward,
    /// The last lane first, the last block first.
    Backward,
    /// Pseudo-random orders, another one for the lanes of every block.
    Seeded(u64),
}

/// How to run a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The order in which blocks start, and lanes start and go on after a barrier.
    pub order: Order,
    /// What is checked. With any of `MEM`, `INIT` and `RACE` the blocks run one after the other.
    pub checks: Checks,
}

/// What a launch is given, shared with the worker threads.
struct Given<'a> {
    /// Pointers to the raw parameters.
    params: &'a [*const c_void],
    constants: &'a [ConstantValues<'a>],
}

// SAFETY: the executor only reads the parameters and the values of the tables, which are plain data, and
// the launch outlives the workers' use of them.
unsafe impl Sync for Given<'_> {}

/// Runs `kernel` to its end.
///
/// # Errors
/// [`LaunchError`] when the launch's shape is not one that a CUDA device would take, and when a lane
/// went wrong; of several blocks that did, the one with the lowest index is reported.
///
/// # Safety
/// `params` has one pointer per raw parameter of the kernel, each to a readable value of its size; and
/// the arguments keep the kernel's own contract (its views are of memory that lives as long as the call
/// and that nothing else touches meanwhile).
pub unsafe fn launch(
    kernel: &KernelDescriptor,
    config: &LaunchConfig,
    params: &[*const c_void],
    options: &Options,
) -> Result<(), LaunchError> {
    // SAFETY: by the contract.
    unsafe { launch_with_constants(kernel, config, params, &[], options) }
}

/// [`launch`] with values for constant tables, which this launch alone sees in them: a table that others
/// set or read at the same time does not matter to it, nor it to them.
///
/// # Errors
/// As for [`launch`].
///
/// # Safety
/// As for [`launch`].
pub unsafe fn launch_with_constants(
    kernel: &KernelDescriptor,
    config: &LaunchConfig,
    params: &[*const c_void],
    constants: &[ConstantValues<'_>],
    options: &Options,
) -> Result<(), LaunchError> {
    check_shape(kernel, config, params.len())?;
    let given = Given { params, constants };
    let blocks = config.blocks();
    let order = BlockOrder::new(options.order, blocks);
    if !options.checks.contains(Checks::INIT) && !memory::is_empty() {
        // SAFETY: the caller's contract.
        let views = unsafe { runner::views(kernel, params) };
        for (_, address) in views {
            memory::maybe_written(address);
        }
    }
    if options.checks.follow_accesses() {
        // SAFETY: the caller's contract.
        return unsafe { follow(kernel, config, &given, options, order) };
    }
    // The lowest block that failed so far: later blocks need not run, earlier ones must.
    let lowest = AtomicU64::new(u64::MAX);
    let failure: Mutex<Option<(u64, LaunchError)>> = Mutex::new(None);

    // A few runs of neighbouring blocks per worker, so that a runner's arrays are reused.
    let workers = workers(config.threads());
    let pieces = blocks.min(workers * 8);
    let next = AtomicU64::new(0);
    let run_pieces = || loop {
        let piece = next.fetch_add(1, Ordering::Relaxed);
        if piece >= pieces {
            break;
        }
        let given = &given;
        let first = (u128::from(blocks) * u128::from(piece) / u128::from(pieces)) as u64;
        let last = (u128::from(blocks) * u128::from(piece + 1) / u128::from(pieces)) as u64;
        // SAFETY: the runner does not outlive the launch.
        let mut runner = unsafe { BlockRunner::new(kernel, config, given.constants, options) };
        for block in (first..last).map(|position| order.block(position)) {
            if block > lowest.load(Ordering::Relaxed) {
                continue;
            }
            // SAFETY: the caller's contract.
            if let Err(fault) = unsafe { runner.run(block, given.params) } {
                lowest.fetch_min(block, Ordering::Relaxed);
                let mut failure = failure
                    .lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner());
                if failure.as_ref().is_none_or(|(earlier, _)| block < *earlier) {
                    *failure = Some((block, LaunchError::Fault(Box::new(fault))));
                }
                break;
            }
        }
    };
    (0..workers.min(pieces))
        .into_par_iter()
        .for_each(|_| run_pieces());
    match failure
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
    {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// Runs a launch block by block, on this thread, and follows its accesses.
///
/// # Safety
/// As for [`launch`].
unsafe fn follow(
    kernel: &KernelDescriptor,
    config: &LaunchConfig,
    given: &Given<'_>,
    options: &Options,
    order: BlockOrder,
) -> Result<(), LaunchError> {
    let blocks = config.blocks();
    // SAFETY: the caller's contract.
    let views: Vec<usize> = unsafe { runner::views(kernel, given.params) }
        .into_iter()
        .map(|(_, address)| address)
        .collect();
    let _following = Following::start(options.checks, blocks, &views);
    // SAFETY: the runner does not outlive the launch.
    let mut runner = unsafe { BlockRunner::new(kernel, config, given.constants, options) };
    for position in 0..blocks {
        // SAFETY: the caller's contract.
        unsafe { runner.run(order.block(position), given.params) }
            .map_err(|fault| LaunchError::Fault(Box::new(fault)))?;
    }
    Ok(())
}

/// Lanes that may have a stack at once. A stack is two mappings, and Linux gives a process 65530.
const MOST_STACKS: u64 = 24 * 1024;

/// How many blocks of so many threads run at once.
fn workers(threads_per_block: u64) -> u64 {
    (MOST_STACKS / 2 / threads_per_block).clamp(1, rayon::current_num_threads() as u64)
}

/// Stacks that a worker keeps between launches.
fn kept_stacks() -> usize {
    let share = MOST_STACKS / 2 / rayon::current_num_threads() as u64;
    share.min(MAX_THREADS_PER_BLOCK) as usize
}

fn check_shape(
    kernel: &KernelDescriptor,
    config: &LaunchConfig,
    given_params: usize,
) -> Result<(), LaunchError> {
    let invalid = |what: String| {
        Err(LaunchError::Invalid {
            kernel: kernel.name,
            what,
        })
    };
    for (axis, name) in ["x", "y", "z"].iter().enumerate() {
        if config.grid[axis] == 0 || config.grid[axis] > MAX_GRID[axis] {
            return invalid(format!(
                "the grid along {name} must be 1 to {}, given {}",
                MAX_GRID[axis], config.grid[axis]
            ));
        }
        if config.block[axis] == 0 || config.block[axis] > MAX_BLOCK[axis] {
            return invalid(format!(
                "the block along {name} must be 1 to {}, given {}",
                MAX_BLOCK[axis], config.block[axis]
            ));
        }
    }
    let most = match kernel.max_threads {
        0 => MAX_THREADS_PER_BLOCK,
        bound => u64::from(bound),
    };
    if config.threads() > most {
        return invalid(format!(
            "a block may have {most} threads at most, given {}",
            config.threads()
        ));
    }
    if config.shared_bytes as usize > MAX_SHARED_BYTES {
        return invalid(format!(
            "dynamic shared memory may be {MAX_SHARED_BYTES} bytes at most, given {}",
            config.shared_bytes
        ));
    }
    if (config.shared_bytes as usize) < kernel.dynamic_shared {
        return invalid(format!(
            "{} bytes of dynamic shared memory required, given {}",
            kernel.dynamic_shared, config.shared_bytes
        ));
    }
    if given_params != kernel.raw_params() {
        return invalid(format!(
            "{} raw parameters required, given {given_params}",
            kernel.raw_params()
        ));
    }
    Ok(())
}
