//! What a launch computes: sizes, strides, and how an element of C is finished.

use core::ops::Mul;
use cuda_std::{GpuFloat, prelude::*};

/// What an element type has to be for a launch.
#[cfg(not(target_arch = "nvptx64"))]
pub trait RealBase: GpuFloat + cuda_std::kernel::ByValue {}
#[cfg(not(target_arch = "nvptx64"))]
impl<T: GpuFloat + cuda_std::kernel::ByValue> RealBase for T {}
/// What an element type has to be for a launch.
#[cfg(target_arch = "nvptx64")]
pub trait RealBase: GpuFloat + 'static {}
#[cfg(target_arch = "nvptx64")]
impl<T: GpuFloat + 'static> RealBase for T {}

/// An element type: `f32` or `f64`.
pub trait Real: RealBase + Mul<Output = Self> {
    /// Zero.
    const ZERO: Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
}

impl Real for f64 {
    const ZERO: Self = 0.0;
}

/// Where the elements of an operand lie: `(row, column)` is element `row * self.row + column * self.column`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strides {
    /// From a row to the next.
    pub row: usize,
    /// From a column to the next.
    pub column: usize,
}

impl Strides {
    /// The place of an element.
    #[inline(always)]
    pub fn at(self, row: usize, column: usize) -> usize {
        row * self.row + column * self.column
    }
}

/// The sizes of a product, and where its matrices' elements lie.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// Rows of C and of op(A).
    pub m: usize,
    /// Columns of C and of op(B).
    pub n: usize,
    /// Columns of op(A) and rows of op(B).
    pub k: usize,
    /// op(A)'s strides, one of which is 1.
    pub a: Strides,
    /// op(B)'s strides, one of which is 1.
    pub b: Strides,
    /// From a row of C to the next.
    pub ldc: usize,
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: plain 64-bit words on both targets, without padding.
unsafe impl cuda_std::kernel::ByValue for Problem {}

/// An element of C from the sum of its products and, unless `beta` is 0, its old value.
#[inline(always)]
pub(super) fn finished<T: Real>(alpha: T, sum: T, beta: T, old: impl FnOnce() -> T) -> T {
    if beta == T::ZERO {
        alpha * sum
    } else {
        alpha.mul_add(sum, beta * old())
    }
}

/// The tile of C that belongs to this block: its first row and column.
///
/// Blocks that run at the same time should share rows of A and columns of B in the second-level cache, so
/// they go down `group` rows of tiles before they go on to the next column.
#[inline(always)]
pub(super) fn tile_origin(
    problem: &Problem,
    group: u32,
    height: usize,
    width: usize,
) -> (usize, usize) {
    let down = problem.m.div_ceil(height) as u32;
    let across = problem.n.div_ceil(width) as u32;
    let block = thread::block_idx_x();
    // No more than all blocks, whose number fits.
    let blocks = group.min(down) * across;
    let first = block / blocks * group;
    let rows = (down - first).min(group);
    let within = block % blocks;
    (
        (first + within % rows) as usize * height,
        (within / rows) as usize * width,
    )
}
