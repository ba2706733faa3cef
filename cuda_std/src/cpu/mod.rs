//! The CPU executor, which runs kernels without a GPU.
//!
//! Every lane of a block is a stackful coroutine. The lanes of a block take turns on one thread, and blocks run in parallel
//! on several threads. A barrier, a warp vote or a shuffle suspends a lane until the other participants have arrived. If
//! all lanes of a block wait for another block, that block runs. A lane that waits for something that never happens is an
//! error that names the lanes and the lines, never a hang. An access outside a view is an error that names kernel, block,
//! lane, index and line.
//!
//! The order of lanes and blocks is an option ([`Options::order`]). So are checks that follow every access
//! ([`Options::checks`]): for reads of uninitialized memory, for races, and for accesses to invalid memory.

mod access;
mod block;
mod checks;
pub(crate) mod constant;
mod copies;
mod crew;
mod fault;
pub(crate) mod imp;
pub mod memory;
#[doc(hidden)]
pub mod mutate;
mod order;
#[cfg(unix)]
mod overflow;
mod path;
mod pool;
mod progress;
mod runner;
mod shadow;
mod stacks;

use core::ffi::c_void;
use std::sync::{Mutex, PoisonError, atomic::AtomicU64};

use crate::{
    constant::ConstantValues,
    kernel::{KernelDescriptor, LaunchConfig},
};
pub use access::AccessKind;
use block::lane;
pub use checks::{CHECK_VARIABLE, Checks, ORDER_VARIABLE, STACK_VARIABLE, stack_bytes_from_env};
use crew::{Crew, Positions};
pub use fault::{Bytes, Fault, FaultKind, LaneSet, LaunchError, WaitingLanes};
use order::BlockOrder;
use progress::Progress;
use shadow::Following;
use stacks::Stacks;
pub use stacks::{DEFAULT_STACK_BYTES, STACK_BYTES};

/// The most threads that a block can have, as on every CUDA device.
pub const MAX_THREADS_PER_BLOCK: u64 = 1024;
/// The most shared memory (static and dynamic) that a block can have, in bytes: that of the largest CUDA devices, 227 KiB.
pub const MAX_SHARED_BYTES: usize = 227 * 1024;
/// The most blocks of a cluster, on every CUDA device that has clusters.
pub const MAX_BLOCKS_PER_CLUSTER: u32 = 8;
/// The most blocks along x, y and z.
pub const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];
/// The most threads of a block along x, y and z.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// The order in which the lanes of a block take turns and the blocks of a launch start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Lane 0 first, block 0 first.
    #[default]
    Forward,
    /// The last lane first, the last block first.
    Backward,
    /// Pseudo-random orders from this seed, a different one for the lanes of every block.
    Seeded(u64),
}

/// Options of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The order in which blocks start, and in which lanes start and continue after a barrier. A pseudo-random order also
    /// decides when one block lets another run.
    pub order: Order,
    /// The checks. With any of `MEM`, `INIT` and `RACE` one block runs at a time.
    pub checks: Checks,
    /// The size of a lane's stack in bytes. On Unix a lane that needs more ends the program with a line that names the
    /// lane.
    pub stack_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::default(),
            checks: Checks::default(),
            stack_bytes: DEFAULT_STACK_BYTES,
        }
    }
}

/// A launch.
struct Launch<'a> {
    kernel: &'a KernelDescriptor,
    config: &'a LaunchConfig,
    /// Pointers to the raw parameters.
    params: &'a [*const c_void],
    constants: &'a [ConstantValues<'a>],
    options: &'a Options,
    order: BlockOrder,
    /// The number of launches that this one is nested in: a lane can launch a kernel.
    depth: usize,
}

// SAFETY: the executor only reads the parameters and the values of the tables, which are plain data, and the launch
// outlives the workers' use of them.
unsafe impl Sync for Launch<'_> {}

/// Runs `kernel` to its end.
///
/// # Errors
/// [`LaunchError`] if a CUDA device would not accept the launch's shape, or if a lane had a fault. If several blocks had
/// one, the fault of the block with the lowest index is returned.
///
/// # Safety
/// `params` must have one pointer per raw parameter of the kernel, each to a readable value of its size. The arguments must
/// uphold the kernel's own contract: its views must be of memory that lives as long as the call and that nothing else
/// accesses meanwhile.
pub unsafe fn launch(
    kernel: &KernelDescriptor,
    config: &LaunchConfig,
    params: &[*const c_void],
    options: &Options,
) -> Result<(), LaunchError> {
    // SAFETY: by the contract.
    unsafe { launch_with_constants(kernel, config, params, &[], options) }
}

/// Like [`launch`], with values of constant tables that only this launch sees. It is independent of other code that sets or
/// reads the same tables at the same time.
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
    check_shape(kernel, config, params.len(), options)?;
    let launch = Launch {
        kernel,
        config,
        params,
        constants,
        options,
        order: BlockOrder::new(options.order, config, kernel.cluster),
        depth: lane::depth(),
    };
    if !options.checks.contains(Checks::INIT) && !memory::is_empty() {
        // SAFETY: by the contract.
        let views = unsafe { runner::views(kernel, params) };
        for (_, address) in views {
            memory::maybe_written(address);
        }
    }
    if !std::thread::panicking() {
        // SAFETY: by the contract.
        return unsafe { launch.run() };
    }
    // A destructor launches the kernel while this thread is unwound. The lanes run on another thread, because `panicking`
    // must be true only for a lane that is itself unwound.
    std::thread::scope(|scope| {
        // SAFETY: by the contract.
        let run = || unsafe { launch.run() };
        let started = std::thread::Builder::new().spawn_scoped(scope, run);
        let started = started.map_err(|error| launch.invalid(format!("no thread for it: {error}")));
        started?
            .join()
            .unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })
}

impl Launch<'_> {
    fn invalid(&self, what: String) -> LaunchError {
        let kernel = self.kernel.name;
        LaunchError::Invalid { kernel, what }
    }

    /// # Safety
    /// As for [`launch`].
    unsafe fn run(&self) -> Result<(), LaunchError> {
        let blocks = self.config.blocks();
        let per_cluster = u64::from(self.kernel.blocks_per_cluster());
        let clusters = blocks / per_cluster;
        let followed = self.options.checks.follow_accesses();
        // A lane's launch stays on the lane's thread, because the other threads may all be waiting for it. A launch with a
        // mutation has one thread too, because its atomic operations may not be atomic.
        let workers = match followed || mutate::is_on() || self.depth > 0 || clusters == 1 {
            true => 1,
            false => pool::threads() as u64,
        };
        let stacks = Stacks::take(
            (self.config.threads() * per_cluster) as usize,
            workers.min(clusters) as usize,
            self.options.stack_bytes,
            self.depth,
        );
        let stacks = stacks.map_err(|what| self.invalid(what))?;
        let progress = Progress::new(blocks, stacks.workers);
        let _followed = match followed {
            true => {
                // SAFETY: by the contract.
                let views = unsafe { runner::views(self.kernel, self.params) };
                let views: Vec<usize> = views.into_iter().map(|(_, address)| address).collect();
                let (checks, per_cluster) = (self.options.checks, per_cluster as u32);
                Followed::Yes(Following::start(checks, blocks, per_cluster, &views))
            }
            false => Followed::No(shadow::Pause::start()),
        };
        let failure: Mutex<Option<(u64, Fault)>> = Mutex::new(None);
        // Each worker takes a few runs of adjacent clusters, so that a runner's arrays are reused.
        let workers = stacks.workers as u64;
        let pieces = if workers == 1 {
            1
        } else {
            clusters.min(workers * 8)
        };
        let next = AtomicU64::new(0);
        let work = || {
            let positions = Positions::new(clusters, pieces, &next);
            let Some(crew) = Crew::new(self, &stacks, &progress, positions, followed) else {
                return progress.worker_has_nothing();
            };
            let fails = |block, fault| {
                progress.fails(block);
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                if failure.as_ref().is_none_or(|(earlier, _)| block < *earlier) {
                    *failure = Some((block, fault));
                }
                !followed
            };
            // SAFETY: by the contract.
            unsafe { crew.run(fails) };
        };
        pool::with_helpers(stacks.workers - 1, &work);
        let failure = failure.into_inner();
        match failure.unwrap_or_else(PoisonError::into_inner) {
            Some((_, fault)) => Err(LaunchError::Fault(Box::new(fault))),
            None => Ok(()),
        }
    }
}

/// Whether the launches of this thread are followed, while the value lives.
enum Followed {
    Yes(#[expect(dead_code, reason = "it is kept until it is dropped")] Following),
    No(#[expect(dead_code, reason = "it is kept until it is dropped")] shadow::Pause),
}

fn check_shape(
    kernel: &KernelDescriptor,
    config: &LaunchConfig,
    given_params: usize,
    options: &Options,
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
        let size = kernel.cluster[axis];
        if size == 0 || !config.grid[axis].is_multiple_of(size) {
            return invalid(format!(
                "the grid along {name} must be a multiple of {size}, the blocks of a cluster, given {}",
                config.grid[axis]
            ));
        }
        if config.block[axis] == 0 || config.block[axis] > MAX_BLOCK[axis] {
            return invalid(format!(
                "the block along {name} must be 1 to {}, given {}",
                MAX_BLOCK[axis], config.block[axis]
            ));
        }
    }
    if kernel.blocks_per_cluster() > MAX_BLOCKS_PER_CLUSTER {
        return invalid(format!(
            "a cluster may have {MAX_BLOCKS_PER_CLUSTER} blocks at most, given {:?}",
            kernel.cluster
        ));
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
    if !STACK_BYTES.contains(&options.stack_bytes) {
        return invalid(format!(
            "a lane's stack of {} to {} bytes required, given {}",
            STACK_BYTES.start(),
            STACK_BYTES.end(),
            options.stack_bytes
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
