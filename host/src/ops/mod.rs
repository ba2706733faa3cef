//! The operations: from a request over a plan to launches.
//!
//! Names follow one rule. A method of [`Device`] that gives a result is called after what it does, and its request after it
//! and `_request`: `transpose` and `transpose_request`, `map_pairs` and `map_pairs_request`; `run()` gives the result. What
//! leaves something open that comes last is itself the request, and what comes last gives the result: `reduce(…).sum()`,
//! `reduce_columns(…).max()`, of which `sum` and `column_sums` are the short forms; `gemm(…).run()`, of which `matmul` is
//! one. An option of a request is a noun, `variant(…)`, `boundary(…)`, `alpha(…)`; where the result goes ends in `_to`:
//! [`output_to`](Request::output_to), and for a product `add_to`, which reads the place too.
//!
//! Every request is a [`Request`] of an [`Operation`], and every prepared form a [`Prepared`]: its variant is chosen, its
//! result has its place, and it can be queued again and again. Two questions are kept apart: which variant is wanted, and
//! whether it can do the problem. A variant that the caller forces is checked like any other.
//!
//! A request takes its result and its workspace when it is prepared (`workspace_bytes()` of the prepared form says how much
//! beside the result that is), and nothing when it is queued. The result is there once work is queued: before that, asking
//! for it is an error.
//!
//! An operation says how it is done by a plan: steps (launches, copies, what is cleared and what the host makes) over named
//! places, which are what it reads, its output, and rooms in its workspace. A launch in a plan is checked against the
//! kernel's parameters as a user's is, and its words are made once, when the places are known.

pub mod axis;
mod columns;
pub mod convolution;
pub mod gemm;
pub mod histogram;
mod made;
pub mod map;
pub(crate) mod plan;
pub mod random;
pub mod reduce;
mod request;
mod rows;
pub mod transpose;

pub use self::request::{Destination, Make, New, Operation, Prepared, Request, Writable};

use cuda_std::kernel::KernelDescriptor;
use warpwright_gpu::{Family, Variant};

use crate::{
    device::Device,
    error::{Error, Result},
    named::named,
};

/// Traits of types whose kernels this library has: what they say of a type reaches the kernels unchecked.
mod sealed {
    /// Keeps other crates from implementing a trait.
    pub trait Sealed {}

    macro_rules! sealed {
        ($($ty:ty),*) => { $(impl Sealed for $ty {})* };
    }
    sealed!(u8, u16, u32, i32, u64, i64, half::f16, half::bf16, f32, f64);
}

/// Who chose the variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChosenBy {
    /// The library.
    Policy,
    /// The caller, by `.variant(…)`.
    Caller,
}

named! {
    ChosenBy, "who chose a variant":
    Policy = "policy",
    Caller = "caller",
}

/// The variant that will run, and who chose it.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    index: usize,
    variant: &'static Variant,
    by: ChosenBy,
}

impl Choice {
    /// The variant's name.
    pub fn variant(&self) -> &'static str {
        self.variant.name
    }

    /// Who chose it.
    pub fn chosen_by(&self) -> ChosenBy {
        self.by
    }
}

/// The variant called `wanted`, else `best`.
fn choose(family: &'static Family, wanted: Option<&str>) -> Result<Choice> {
    let (name, by) = match wanted {
        Some(name) => (name, ChosenBy::Caller),
        None => ("best", ChosenBy::Policy),
    };
    match family.position(name) {
        Some(index) => Ok(Choice {
            index,
            variant: &family.variants[index],
            by,
        }),
        None => Err(Error::UnknownVariant {
            family: family.name,
            given: name.to_owned(),
            known: family
                .variants
                .iter()
                .map(|v| v.name)
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

/// The most blocks that a grid has along x.
const MOST_BLOCKS: usize = 0x7fff_ffff;

/// A kernel that strides over its input, and how many blocks of it are wanted.
struct Strided {
    kernel: &'static KernelDescriptor,
    threads: u32,
    shared_bytes: u32,
    /// Blocks per multiprocessor, at most.
    blocks_per_multiprocessor: u32,
    /// Elements that a block should have at least.
    least_per_block: usize,
}

impl Strided {
    /// Blocks for `len` elements: as many as are resident at once, and no more than there is work for.
    /// One block more than are resident would run alone at the end, while the device idles.
    fn blocks(&self, device: &Device, operation: &'static str, len: usize) -> Result<usize> {
        let resident = device
            .resident_blocks(operation, self.kernel, self.threads, self.shared_bytes)?
            .unwrap_or(self.blocks_per_multiprocessor)
            .clamp(1, self.blocks_per_multiprocessor);
        Ok(self.filling(device, resident, len))
    }

    /// Blocks for `len` elements where so many are resident per multiprocessor.
    fn filling(&self, device: &Device, resident: u32, len: usize) -> usize {
        let filling = device.info().multiprocessors.max(1) as usize * resident as usize;
        len.div_ceil(self.least_per_block).clamp(1, filling)
    }
}
