//! What there is to compute, family by family, and what the answers have to be.
//!
//! A [`Problem`] says how its input is made, how a variant is prepared for it on a device, and what the answer
//! is by an oracle: a loop over the values in `f64` or in integers, written without a look at the kernels. A
//! [`Workload`] is a problem whose types are hidden, so that those of all families make one list. A [`Family`] has
//! its lists: the checks of `verify`, the timings of `ladder`, and an operation of each kind for the tests of what
//! goes wrong and of what must not differ. The cases of the benchmark and of the demo are problems too.

mod compare;
mod family;
mod number;
mod problem;
pub mod sample;
mod scale;
mod unit;
mod workload;

pub mod axis;
pub mod convolution;
pub mod gemm;
pub mod histogram;
pub mod map;
pub mod random;
pub mod reduce;
pub mod transpose;

pub use compare::{Verdict, equal, within};
pub use family::{FAMILIES, Family};
pub use number::{Number, Total};
pub use problem::{Bits, Prepared, Problem, Sets};
pub(crate) use problem::{prepared, with_variant};
pub use scale::Scale;
pub use unit::Unit;
pub use workload::{Input, Ready, Workload};

/// The workloads of a family that its variants are checked with; none if there is no such family.
pub fn checks(family: &str, scale: Scale) -> Vec<Workload> {
    Family::called(family).map_or_else(Vec::new, |family| (family.checks)(scale))
}

/// The workloads of a family that its variants are timed with, of about `size` elements each, or of as many as
/// suit a device of this kind; none if there is no such family.
pub fn timings(family: &str, scale: Scale, size: Option<usize>) -> Vec<Workload> {
    let of = |family: &Family| {
        let [small, large] = family.sizes;
        (family.timings)(size.unwrap_or(1 << scale.pick(small, large)))
    };
    Family::called(family).map_or_else(Vec::new, of)
}
