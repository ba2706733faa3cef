//! The workloads of every family: the problems, and oracles for their answers.
//!
//! A [`Problem`] makes its input, prepares a variant on a device, and gets the expected answer from an oracle: a loop over the
//! values in `f64` or in integers, written independently of the kernels. A [`Workload`] is a problem whose types are hidden, so
//! that the problems of all families fit in one list. A [`Family`] has lists of workloads: the checks of `verify`, the timings
//! of `ladder`, and an operation of each kind for the tests of faults and of determinism. The cases of the benchmark and of the
//! demo are problems too.

mod compare;
mod families;
mod family;
mod number;
mod parallel;
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
pub mod merge;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod segments;
pub mod select;
pub mod sort;
pub mod top_k;
pub mod transpose;

pub use compare::{Verdict, equal, within};
pub use families::FAMILIES;
pub use family::Family;
pub use number::{Number, Total};
pub use problem::{Bits, Prepared, Problem, Sets};
pub(crate) use problem::{prepared, with_variant};
pub use scale::Scale;
pub use unit::Unit;
pub use workload::{Input, Ready, Workload};

/// Returns the workloads that a family's variants are checked with. The list is empty if there is no such family.
pub fn checks(family: &str, scale: Scale) -> Vec<Workload> {
    Family::called(family).map_or_else(Vec::new, |family| (family.checks)(scale))
}

/// Returns the workloads that a family's variants are timed with, of about `size` elements each, or by default as many as suit
/// a device of this kind. The list is empty if there is no such family.
pub fn timings(family: &str, scale: Scale, size: Option<usize>) -> Vec<Workload> {
    let of = |family: &Family| {
        let [small, large] = family.sizes;
        (family.timings)(size.unwrap_or(1 << scale.pick(small, large)))
    };
    Family::called(family).map_or_else(Vec::new, of)
}
