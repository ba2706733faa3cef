//! The common parts of the tuning tables of all families.
//!
//! A family's `policy.rs` has a struct of the tuning numbers of its variant `best` (block size, loads in flight, blocks per
//! multiprocessor and the like), a list of rows, [`CANDIDATES`](Policy::CANDIDATES), and [`CHOICES`](Policy::CHOICES), which
//! says which row ships for which architecture and element size. The kernel and the host's plan both read the chosen row. The
//! other rows exist to be measured: `cargo xtask tune` compiles the kernels once for each of them (the feature `tuning`), times
//! them in turn, and writes the record that justifies the choice (`docs/TUNING.md`). No module that ships contains them.
//!
//! A row's numbers are compiled into the kernel, so a row is chosen by the architecture that a module is compiled for. Only PTX
//! for compute capability 7.5 ships, which the driver compiles for every later card, so every card gets the rows of 7.5. A row
//! for a later architecture takes effect with a module for that architecture: both the kernels and the host then choose by the
//! module's architecture.

use core::{any::Any, fmt::Debug, marker::PhantomData};

use cuda_std::cfg::ComputeCapability;

/// A family's policy: the tuning numbers of its variant `best`.
pub trait Policy: Copy + Debug + PartialEq + Any + Send + Sync {
    /// The family's name.
    const FAMILY: &'static str;
    /// All rows that are worth measuring: the chosen ones, their neighbors, and some that are far from them.
    const CANDIDATES: &'static [Self];
    /// The chosen rows. The first choice that fits counts.
    const CHOICES: &'static [Choice];
    /// The kernels that are made from the table, with an instance for each row.
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]];
}

/// The row that is chosen for some architectures and element sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The lowest architecture of the choice: 75 for compute capability 7.5.
    pub architecture: u32,
    /// The largest element size of the choice, in bytes.
    pub bytes: usize,
    /// The row's position among the candidates.
    pub row: usize,
}

impl Choice {
    /// Chooses a row for every architecture and elements of up to `bytes` bytes.
    pub const fn up_to(bytes: usize, row: usize) -> Self {
        Self {
            architecture: 75,
            bytes,
            row,
        }
    }

    /// Chooses a row for everything.
    pub const fn always(row: usize) -> Self {
        Self::up_to(usize::MAX, row)
    }
}

/// Returns the row that the choices name for modules of an architecture and elements of `bytes` bytes.
///
/// # Panics
/// Panics if no choice fits. If the table is a constant, that is a compile error.
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

/// The architecture that this crate is compiled for; on the CPU executor the lowest supported one.
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

/// The last generic argument of a kernel that is made from a table, for the row that ships.
pub const SHIPPED: usize = usize::MAX;

/// Returns the chosen row for modules of an architecture and elements of `bytes` bytes.
pub const fn chosen<P: Policy>(architecture: u32, bytes: usize) -> P {
    P::CANDIDATES[row(P::CHOICES, architecture, bytes)]
}

/// Returns a row for elements of type `T`: the one that ships, or the candidate at this position.
pub const fn numbers<P: Policy, T>(row: usize) -> P {
    if row == SHIPPED {
        chosen(ARCHITECTURE, size_of::<T>())
    } else {
        P::CANDIDATES[row]
    }
}

/// Returns the row that ships in a kernel for elements of type `T`.
pub const fn shipped<P: Policy, T>() -> P {
    numbers::<P, T>(SHIPPED)
}

/// A policy row as a type, for functions that are generic over it.
pub(crate) trait Tuned<P>: 'static {
    /// The row.
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
