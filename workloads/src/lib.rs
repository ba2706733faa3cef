//! What there is to compute, family by family, and what the answers have to be.
//!
//! A [`Problem`] says how its input is made, how a variant is prepared for it on a device, and what the answer
//! is by an oracle: a loop over the values in `f64` or in integers, written without a look at the kernels. A
//! [`Workload`] is a problem whose types are hidden, so that those of all families make one list. The checks of
//! `verify`, the timings of `ladder` and the cases of the benchmark are such lists.

mod compare;
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
pub use number::{Number, Total};
pub(crate) use problem::with_variant;
pub use problem::{Prepared, Problem, Sets};
pub use scale::Scale;
pub use unit::Unit;
pub use workload::{Input, Ready, Workload};

use warpwright::ops::axis::Axis;

/// The workloads of a family that its variants are checked with; none if there is no such family.
pub fn checks(family: &str, scale: Scale) -> Vec<Workload> {
    match family {
        "transpose" => transpose::checks(scale),
        "reduce" => reduce::checks(scale),
        "columns" => axis::checks(Axis::Columns, scale),
        "rows" => axis::checks(Axis::Rows, scale),
        "histogram" => histogram::checks(scale),
        "gemm" => gemm::checks(scale),
        "convolution" => convolution::checks(scale),
        "map" => map::checks(scale),
        "random" => random::checks(scale),
        _ => Vec::new(),
    }
}

/// The workloads of a family that its variants are timed with, of about `size` elements each, or of as many as
/// suit a device of this kind; none if there is no such family.
pub fn timings(family: &str, scale: Scale, size: Option<usize>) -> Vec<Workload> {
    let size = |small: u32, large: u32| size.unwrap_or(1 << scale.pick(small, large));
    match family {
        "transpose" => transpose::timings(size(20, 28)),
        "reduce" => reduce::timings(size(20, 28)),
        "columns" => axis::timings(Axis::Columns, size(18, 26)),
        "rows" => axis::timings(Axis::Rows, size(18, 26)),
        "histogram" => histogram::timings(size(20, 30)),
        "gemm" => gemm::timings(size(16, 24)),
        "convolution" => convolution::timings(size(18, 26)),
        "map" => map::timings(size(20, 28)),
        "random" => random::timings(size(20, 28)),
        _ => Vec::new(),
    }
}
