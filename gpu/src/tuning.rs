//! Tuning as data: what the tables of all families have in common.
//!
//! A family's `policy.rs` has a struct of the numbers that its variant `best` is made with (block size, loads in flight,
//! blocks per multiprocessor and the like), a list of rows of them, [`CANDIDATES`](Policy::CANDIDATES), and
//! [`CHOICES`](Policy::CHOICES), which says which row is shipped for which architecture and element size. The kernel
//! and the host's plan both read the row that is chosen. The other rows are there to be measured: `cargo xtask tune`
//! compiles the kernels once for each of them (the feature `tuning`), times them in turn, and writes the record that says
//! why the chosen one is chosen (`docs/TUNING.md`). They are in no module that ships.
//!
//! A row's numbers are compiled into the kernel, so a row is chosen by the architecture that a module is compiled for.
//! PTX for compute capability 7.5 alone ships, which the driver compiles for every later card: so today every card gets
//! the rows of 7.5. A row for a later architecture takes effect with a module for that architecture; both the kernels
//! and the host then choose by the module's.

use core::{any::Any, fmt::Debug, marker::PhantomData};

use cuda_std::cfg::ComputeCapability;

/// A family's numbers.
pub trait Policy: Copy + Debug + PartialEq + Any + Send + Sync {
    /// The family's name.
    const FAMILY: &'static str;
    /// All rows that are worth a measurement: those that are chosen, their neighbors, and some that are far from them.
    const CANDIDATES: &'static [Self];
    /// Which row is chosen; the first that fits counts.
    const CHOICES: &'static [Choice];
    /// The kernels that are made by the table, an instance for each row.
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]];
}

/// Which row is chosen for some architectures and element sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// From this architecture on: 75 for compute capability 7.5.
    pub architecture: u32,
    /// For elements of so many bytes at most.
    pub bytes: usize,
    /// The row's position among the candidates.
    pub row: usize,
}

impl Choice {
    /// A row for every architecture and elements of up to so many bytes.
    pub const fn up_to(bytes: usize, row: usize) -> Self {
        Self {
            architecture: 75,
            bytes,
            row,
        }
    }

    /// A row for everything.
    pub const fn always(row: usize) -> Self {
        Self::up_to(usize::MAX, row)
    }
}

/// The row that the choices name for modules of an architecture and elements of `bytes` bytes.
///
/// # Panics
/// If no choice fits; where the table is a constant, that is an error of the compiler.
pub const fn row(choices: &[Choice], architecture: u32, bytes: usize) -> usize {
    let mut i = 0;
    while i < choices.len() {
        if choices[i].architecture <= architecture && bytes <= choices[i].bytes {
            return choices[i].row;
        }
        i += 1;
    }
    panic!("the table chooses no row for this architecture and element size");
}

/// The architecture that this crate is compiled for; on the CPU executor the lowest that is supported.
pub const ARCHITECTURE: u32 = match ComputeCapability::from_cuda_arch_env() {
    ComputeCapability::Compute120 => 120,
    ComputeCapability::Compute100 => 100,
    ComputeCapability::Compute90 => 90,
    ComputeCapability::Compute89 => 89,
    ComputeCapability::Compute87 => 87,
    ComputeCapability::Compute86 => 86,
    ComputeCapability::Compute80 => 80,
    _ => 75,
};

/// The row that ships, as the last generic argument of a kernel that is made by a table.
pub const SHIPPED: usize = usize::MAX;

/// The numbers for modules of an architecture and elements of `bytes` bytes.
pub const fn chosen<P: Policy>(architecture: u32, bytes: usize) -> P {
    P::CANDIDATES[row(P::CHOICES, architecture, bytes)]
}

/// The numbers of a row, for elements of type `T`: those of the one that ships, or of the candidate at this position.
pub const fn numbers<P: Policy, T>(row: usize) -> P {
    if row == SHIPPED {
        chosen(ARCHITECTURE, size_of::<T>())
    } else {
        P::CANDIDATES[row]
    }
}

/// The numbers that a kernel for elements of type `T` is shipped with.
pub const fn shipped<P: Policy, T>() -> P {
    numbers::<P, T>(SHIPPED)
}

/// A family's numbers as a type, for functions that are generic over them.
pub(crate) trait Tuned<P>: 'static {
    /// The numbers.
    const POLICY: P;
}

/// The [`numbers`] of a row.
pub(crate) struct Numbers<T, const ROW: usize>(PhantomData<T>);

impl<P: Policy, T: 'static, const ROW: usize> Tuned<P> for Numbers<T, ROW> {
    const POLICY: P = numbers::<P, T>(ROW);
}

#[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
mod candidates;
#[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
pub use candidates::{Candidate, candidates};
