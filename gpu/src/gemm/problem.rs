//! The problem of a launch: sizes and strides, and its types.

use core::marker::PhantomData;

use cuda_std::{
    F8E4M3, F8E5M2, GpuFloat, Plain, bf16,
    convert::{f16_to_f32, f32_to_f16},
    f16,
    mma::Pair,
    prelude::*,
};

use super::gelu;

/// The requirements of a type of factors for a launch.
#[cfg(not(target_arch = "nvptx64"))]
pub trait ScalarBase: Plain + PartialOrd + cuda_std::kernel::ByValue {}
#[cfg(not(target_arch = "nvptx64"))]
impl<T: Plain + PartialOrd + cuda_std::kernel::ByValue> ScalarBase for T {}
/// The requirements of a type of factors for a launch.
#[cfg(target_arch = "nvptx64")]
pub trait ScalarBase: Plain + PartialOrd + 'static {}
#[cfg(target_arch = "nvptx64")]
impl<T: Plain + PartialOrd + 'static> ScalarBase for T {}

/// An element type of A and B: `f32`, `f64`, `f16`, `bf16`, `i8`, `F8E4M3` or `F8E5M2`; or of C.
pub trait Element: Plain + 'static {
    /// The type of sums, and of the factors `alpha` and `beta`.
    type Scale: Scalar;
    /// The type of the elements of C and of the bias.
    type Result: Element<Scale = Self::Scale, Result = Self::Result>;
    /// Zero.
    const ZERO: Self;
    /// Returns the same value.
    fn widen(self) -> Self::Scale;
    /// Returns the nearest element, ties to even.
    fn rounded(value: Self::Scale) -> Self;
    /// Returns the nearest elements of two numbers, by one instruction where there is one.
    #[inline(always)]
    fn rounded_two(values: [Self::Scale; 2]) -> [Self; 2] {
        values.map(Self::rounded)
    }
    /// Returns the Gaussian error linear unit: `value` times the probability that a standard normal number is below it.
    ///
    /// Integers have none: for them it returns `value`, and the library refuses requests of it.
    fn gelu(value: Self::Scale) -> Self::Scale;
}

/// The types of a product: an element type of A and B, for products with its usual results, or [`ResultIn`].
pub trait Matrices: 'static {
    /// The type of the elements of A and B.
    type Factor: Element<Scale = Self::Scale>;
    /// The type of sums, and of the factors `alpha` and `beta`.
    type Scale: Scalar;
    /// The type of the elements of C and of the bias.
    type Result: Element<Scale = Self::Scale, Result = Self::Result>;
}

impl<T: Element> Matrices for T {
    type Factor = T;
    type Scale = T::Scale;
    type Result = T::Result;
}

/// Products of elements of type `T` whose results are of another type than is usual, `R`: of `F8E4M3` in `bf16` or `f16`, and
/// of `f16` or `bf16` in `f32`.
#[derive(Debug, Clone, Copy)]
pub struct ResultIn<T, R>(PhantomData<fn() -> (T, R)>);

impl<T: Element, R: Element<Scale = T::Scale, Result = R>> Matrices for ResultIn<T, R> {
    type Factor = T;
    type Scale = T::Scale;
    type Result = R;
}

/// A type of sums, and of the factors: `f32`, `f64`, or `i32`, whose numbers wrap around.
pub trait Scalar: ScalarBase + Element<Scale = Self, Result = Self> {
    /// Returns `self + other`.
    fn plus(self, other: Self) -> Self;
    /// Returns `self * other`.
    fn times(self, other: Self) -> Self;
    /// Returns `self * factor + addend`, rounded once.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
}

macro_rules! reals {
    ($($ty:ident: $gelu:ident;)*) => { $(
        impl Element for $ty {
            type Scale = Self;
            type Result = Self;
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn rounded(value: Self) -> Self {
                value
            }
            #[inline(always)]
            fn gelu(value: Self) -> Self {
                gelu::$gelu(value)
            }
        }
        impl Scalar for $ty {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                GpuFloat::mul_add(self, factor, addend)
            }
        }
    )* };
}
reals! {
    f32: gelu_f32;
    f64: gelu_f64;
}

macro_rules! integers {
    ($($ty:ident)*) => { $(
        impl Element for $ty {
            type Scale = i32;
            type Result = i32;
            const ZERO: Self = 0;
            #[inline(always)]
            fn widen(self) -> i32 {
                self.into()
            }
            #[inline(always)]
            fn rounded(value: i32) -> Self {
                value as Self
            }
            #[inline(always)]
            fn gelu(value: i32) -> i32 {
                value
            }
        }
    )* };
}
integers! { i8 i32 }

impl Scalar for i32 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        self.wrapping_mul(factor).wrapping_add(addend)
    }
}

impl Element for f16 {
    type Scale = f32;
    type Result = Self;
    const ZERO: Self = Self::ZERO;

    #[inline(always)]
    fn widen(self) -> f32 {
        f16_to_f32(self.to_bits())
    }

    #[inline(always)]
    fn rounded(value: f32) -> Self {
        Self::from_bits(f32_to_f16(value))
    }

    #[inline(always)]
    fn rounded_two(values: [f32; 2]) -> [Self; 2] {
        Pair::rounded(values).values()
    }

    #[inline(always)]
    fn gelu(value: f32) -> f32 {
        gelu::gelu_half(value)
    }
}

impl Element for bf16 {
    type Scale = f32;
    type Result = Self;
    const ZERO: Self = Self::ZERO;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn rounded(value: f32) -> Self {
        Self::from_f32(value)
    }

    #[inline(always)]
    fn rounded_two(values: [f32; 2]) -> [Self; 2] {
        Pair::rounded(values).values()
    }

    #[inline(always)]
    fn gelu(value: f32) -> f32 {
        gelu::gelu_half(value)
    }
}

macro_rules! eight_bits {
    ($($ty:ident: $widened:ident;)*) => { $(
        impl Element for $ty {
            type Scale = f32;
            type Result = f32;
            const ZERO: Self = Self::from_bits(0);
            #[inline(always)]
            fn widen(self) -> f32 {
                $widened(self.to_bits())
            }
            #[inline(always)]
            fn rounded(value: f32) -> Self {
                Self::from_f32(value)
            }
            #[inline(always)]
            fn gelu(value: f32) -> f32 {
                gelu::gelu_f32(value)
            }
        }
    )* };
}
eight_bits! {
    F8E4M3: e4m3;
    F8E5M2: e5m2;
}

/// Returns the number of `F8E4M3` with these bits.
#[inline(always)]
fn e4m3(bits: u8) -> f32 {
    let (sign, magnitude) = (u16::from(bits & 0x80) << 8, u16::from(bits & 0x7F) << 7);
    if bits & 0x7F == 0x7F {
        return f32::NAN;
    }
    // The exponents of `f16` are 8 greater.
    f16_to_f32(sign | magnitude) * 256.0
}

/// Returns the number of `F8E5M2` with these bits, whose exponents are those of `f16`.
#[inline(always)]
fn e5m2(bits: u8) -> f32 {
    f16_to_f32(u16::from(bits) << 8)
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

/// What is done with a sum, besides the factors: any of the constants, combined by [`and`](Self::and).
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epilogue(pub usize);

impl Epilogue {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The element of the bias for its column is added.
    pub const BIAS: Self = Self(1);
    /// Then numbers below 0 become 0.
    pub const RELU: Self = Self(2);
    /// Then [`Element::gelu`] is computed.
    pub const GELU: Self = Self(4);
    /// Before all others, and before the factors: the sum is multiplied by the scale of its row.
    pub const ROW_SCALES: Self = Self(8);
    /// Then by the scale of its column.
    pub const COLUMN_SCALES: Self = Self(16);
    /// Those that follow the factors.
    pub(super) const AFTER_FACTORS: Self = Self::BIAS.and(Self::RELU).and(Self::GELU);

    /// Returns both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether any of `other` is done.
    #[inline(always)]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether anything is done.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

/// The sizes of a product, and the layout of its matrices. There may be several products of the same sizes.
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
    /// The distance between rows of the matrix that `beta` multiplies, in elements.
    pub ld_addend: usize,
    /// The number of products.
    pub count: usize,
    /// The distances of A, B, C and that matrix from those of the next product, in elements. 0 if it has the same.
    pub next: [usize; 4],
    /// What is done with elements of C.
    pub epilogue: Epilogue,
}

impl Problem {
    /// Returns A and B of a product. The views are of those of the first one.
    #[inline(always)]
    #[track_caller]
    pub(super) fn operands<T: Element>(
        &self,
        number: usize,
        a: Global<T>,
        b: Global<T>,
    ) -> (Global<T>, Global<T>) {
        let [to_a, to_b, ..] = self.next;
        (a.skip(number * to_a), b.skip(number * to_b))
    }
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: the fields are plain 64-bit words on both targets, without padding.
unsafe impl cuda_std::kernel::ByValue for Problem {}

/// Returns the number of this block's product, and the first row and column of its tile of C.
#[inline(always)]
pub(super) fn tile_origin(
    problem: &Problem,
    group: u32,
    height: usize,
    width: usize,
) -> (usize, usize, usize) {
    origin_of(problem, thread::block_idx_x(), group, height, width)
}

/// [`tile_origin`] of another block of the problem.
#[inline(always)]
pub(super) fn origin_of(
    problem: &Problem,
    block: u32,
    group: u32,
    height: usize,
    width: usize,
) -> (usize, usize, usize) {
    let (mut number, mut tile) = (0, block);
    if problem.count > 1 {
        let tiles = tiles_of_c(problem, height, width);
        (number, tile) = (tile / tiles, tile % tiles);
    }
    let (top, left) = tile_at(problem, tile, group, height, width);
    (number as usize, top, left)
}

/// Returns the tiles of C of a product.
#[inline(always)]
pub(super) fn tiles_of_c(problem: &Problem, height: usize, width: usize) -> u32 {
    problem.m.div_ceil(height) as u32 * problem.n.div_ceil(width) as u32
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
