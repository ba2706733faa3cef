//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod basic;
mod constant_mask;
mod tiled;

pub use basic::{ConvolutionBasic, convolution_basic};
pub use constant_mask::{ConvolutionConstantMask, convolution_constant_mask};
pub use tiled::{ConvolutionTiled, convolution_tiled};

use crate::convolution::sample::Weight;

/// Returns the sum of `weight(j) * value(j)` for `j` from 0 to `width`, in this order, with one rounding for each product and
/// addition together.
#[inline(always)]
#[track_caller]
fn sum<W: Weight>(width: usize, weight: impl Fn(usize) -> W, value: impl Fn(usize) -> W) -> W {
    let mut sum = W::ZERO;
    let mut j = 0;
    while j < width {
        sum = weight(j).mul_add(value(j), sum);
        j += 1;
    }
    sum
}
