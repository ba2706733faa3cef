//! The problem of a launch: sizes, strides, and the last step of an element of C.

use core::ops::Mul;
use cuda_std::{
    GpuFloat, Plain, bf16,
    convert::{f16_to_f32, f32_to_f16},
    f16,
    prelude::*,
};

/// The requirements of an element type for a launch.
#[cfg(not(target_arch = "nvptx64"))]
pub trait RealBase: GpuFloat + cuda_std::kernel::ByValue {}
#[cfg(not(target_arch = "nvptx64"))]
impl<T: GpuFloat + cuda_std::kernel::ByValue> RealBase for T {}
/// The requirements of an element type for a launch.
#[cfg(target_arch = "nvptx64")]
pub trait RealBase: GpuFloat + 'static {}
#[cfg(target_arch = "nvptx64")]
impl<T: GpuFloat + 'static> RealBase for T {}

/// An element type: `f32`, `f64`, `f16` or `bf16`.
pub trait Element: Plain + 'static {
    /// The type of sums, and of the factors `alpha` and `beta`.
    type Scale: Real;
    /// Zero.
    const ZERO: Self;
    /// Returns the same value.
    fn widen(self) -> Self::Scale;
    /// Returns the nearest element, ties to even.
    fn rounded(value: Self::Scale) -> Self;
}

/// An element type with sums of its own type: `f32` or `f64`.
pub trait Real: RealBase + Mul<Output = Self> + Element<Scale = Self> {}

macro_rules! reals {
    ($($ty:ident)*) => { $(
        impl Element for $ty {
            type Scale = Self;
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn rounded(value: Self) -> Self {
                value
            }
        }
        impl Real for $ty {}
    )* };
}
reals! { f32 f64 }

impl Element for f16 {
    type Scale = f32;
    const ZERO: Self = Self::ZERO;

    #[inline(always)]
    fn widen(self) -> f32 {
        f16_to_f32(self.to_bits())
    }

    #[inline(always)]
    fn rounded(value: f32) -> Self {
        Self::from_bits(f32_to_f16(value))
    }
}

impl Element for bf16 {
    type Scale = f32;
    const ZERO: Self = Self::ZERO;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn rounded(value: f32) -> Self {
        Self::from_f32(value)
    }
}

/// The layout of an operand's elements: `(row, column)` is element `row * self.row + column * self.column`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strides {
    /// The distance between rows, in elements.
    pub row: usize,
    /// The distance between columns, in elements.
    pub column: usize,
}

impl Strides {
    /// Returns the index of an element.
    #[inline(always)]
    pub fn at(self, row: usize, column: usize) -> usize {
        row * self.row + column * self.column
    }
}

/// The sizes of a product, and the layout of its matrices.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// The rows of C and of op(A).
    pub m: usize,
    /// The columns of C and of op(B).
    pub n: usize,
    /// The columns of op(A) and rows of op(B).
    pub k: usize,
    /// The strides of op(A), one of which is 1.
    pub a: Strides,
    /// The strides of op(B), one of which is 1.
    pub b: Strides,
    /// The distance between rows of C, in elements.
    pub ldc: usize,
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: the fields are plain 64-bit words on both targets, without padding.
unsafe impl cuda_std::kernel::ByValue for Problem {}

/// Returns an element of C from the sum of its products and, unless `beta` is 0, its old value.
#[inline(always)]
pub(super) fn finished<T: Element>(
    alpha: T::Scale,
    sum: T::Scale,
    beta: T::Scale,
    old: impl FnOnce() -> T,
) -> T {
    T::rounded(if beta == T::Scale::ZERO {
        alpha * sum
    } else {
        alpha.mul_add(sum, beta * old().widen())
    })
}

/// Returns the first row and column of this block's tile of C.
#[inline(always)]
pub(super) fn tile_origin(
    problem: &Problem,
    group: u32,
    height: usize,
    width: usize,
) -> (usize, usize) {
    tile_at(problem, thread::block_idx_x(), group, height, width)
}

/// Returns the first row and column of a tile of C.
///
/// Tiles that are computed at the same time should share rows of A and columns of B in the second-level cache, so consecutive
/// ones go down `group` rows of tiles before the next column.
#[inline(always)]
pub(super) fn tile_at(
    problem: &Problem,
    tile: u32,
    group: u32,
    height: usize,
    width: usize,
) -> (usize, usize) {
    let down = problem.m.div_ceil(height) as u32;
    let across = problem.n.div_ceil(width) as u32;
    // At most the number of all tiles, which fits in 32 bits.
    let tiles = group.min(down) * across;
    let first = tile / tiles * group;
    let rows = (down - first).min(group);
    let within = tile % tiles;
    (
        (first + within % rows) as usize * height,
        (within / rows) as usize * width,
    )
}
