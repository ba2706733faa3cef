//! The operations: requests, their plans, and the launches.
//!
//! Names follow one rule. A method of [`Device`] that returns a result is named after the operation, and its request has
//! the suffix `_request`: `transpose` and `transpose_request`, `map_pairs` and `map_pairs_request`. The request's `run()`
//! returns the result. If a choice is made last, the method is itself the request, and the last call returns the result:
//! `reduce(…).sum()` and `reduce_columns(…).max()`, with the short forms `sum` and `column_sums`; `gemm(…).run()`, with the
//! short form `matmul`. An option of a request is a noun: `variant(…)`, `boundary(…)`, `alpha(…)`. A method that sets where
//! the result goes ends in `_to`: [`output_to`](Request::output_to), for a second result `values_to`, `positions_to` and
//! `keys_to`, and for a product `add_to`, which also reads the place. Results that would come to the host stay on the device
//! with `output_on_device`, and where a reduction has an `output_to`.
//!
//! Every request is a [`Request`] of an [`Operation`]. Every prepared form is a [`Prepared`]: its variant is chosen, its
//! result has its memory, and it can be queued repeatedly. Choosing a variant and checking whether it can solve the problem
//! are separate steps. A variant that the caller selects is checked like any other.
//!
//! A request allocates its result and its workspace when it is prepared (`workspace_bytes()` of the prepared form is the
//! size beside the result), and nothing when it is queued. Asking for the result is an error until work is queued.
//!
//! An operation describes its work by a plan: steps (launches, copies, fills, uploads of what the host computes) over
//! places. A place is an input, the output, or a room in the workspace. A launch in a plan is checked against the kernel's
//! parameters like a user's launch, and its words are computed once, when the places are known.

pub mod axis;
mod columns;
pub mod convolution;
pub mod gemm;
pub mod histogram;
mod made;
pub mod map;
pub mod merge;
mod persistent;
pub(crate) mod plan;
pub mod random;
pub mod reduce;
mod request;
mod rows;
pub mod scan;
mod second;
pub mod segments;
pub mod select;
pub mod sort;
pub mod top_k;
pub mod transpose;

#[doc(hidden)]
pub use self::plan::calls;
pub use self::request::{Destination, Make, New, OnDevice, Operation, Prepared, Request, Writable};

use cuda_std::kernel::KernelDescriptor;
use warpwright_gpu::{Family, Variant};

use crate::{
    device::Device,
    error::{Error, Result},
    named::named,
};

/// Sealed traits of types whose kernels the library has. What they state about a type reaches the kernels unchecked.
mod sealed {
    /// Keeps other crates from implementing a trait.
    pub trait Sealed {}

    macro_rules! sealed {
        ($($ty:ty),*) => { $(impl Sealed for $ty {})* };
    }
    sealed!(
        u8,
        u16,
        u32,
        i8,
        i16,
        i32,
        u64,
        i64,
        half::f16,
        half::bf16,
        cuda_std::F8E4M3,
        cuda_std::F8E5M2,
        f32,
        f64
    );
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
    /// Returns the variant's name.
    pub fn variant(&self) -> &'static str {
        self.variant.name
    }

    /// Returns who chose the variant.
    pub fn chosen_by(&self) -> ChosenBy {
        self.by
    }
}

/// Returns the variant `wanted`, or `best` if none is wanted.
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
            known: known(family),
        }),
    }
}

/// Returns the names of the family's variants, as a list.
fn known(family: &Family) -> String {
    let names: Vec<&str> = family.variants.iter().map(|it| it.name).collect();
    let hint = match cfg!(feature = "ladder") {
        true => "",
        false => " (the others need the feature `ladder`)",
    };
    format!("{}{hint}", names.join(", "))
}

/// The most blocks that a grid can have along x.
const MOST_BLOCKS: usize = 0x7fff_ffff;

/// A kernel with a grid-stride loop, and the bounds on its number of blocks.
struct Strided {
    kernel: &'static KernelDescriptor,
    threads: u32,
    shared_bytes: u32,
    /// The most blocks per multiprocessor.
    blocks_per_multiprocessor: u32,
    /// The fewest elements that a block should have.
    least_per_block: usize,
}

impl Strided {
    /// Returns the number of blocks for `len` elements: as many as are resident at once, and no more than there is work
    /// for. One block more than are resident would run alone at the end, while the device idles.
    fn blocks(&self, device: &Device, operation: &'static str, len: usize) -> Result<usize> {
        let resident = device
            .resident_blocks(
                operation,
                (self.kernel, None),
                self.threads,
                self.shared_bytes,
            )?
            .unwrap_or(self.blocks_per_multiprocessor)
            .clamp(1, self.blocks_per_multiprocessor);
        Ok(self.filling(device, resident, len))
    }

    /// Returns the number of blocks for `len` elements if `resident` blocks are resident per multiprocessor.
    fn filling(&self, device: &Device, resident: u32, len: usize) -> usize {
        let filling = device.info().multiprocessors.max(1) as usize * resident as usize;
        len.div_ceil(self.least_per_block).clamp(1, filling)
    }
}
