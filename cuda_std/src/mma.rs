//! Products of small matrices that the 32 lanes of a warp compute together, on the card's tensor cores.
//!
//! `D = A * B + C`, where A is M x K, B is K x N, and C and D are M x N. The lanes hold the matrices in registers: each lane
//! has an array of some elements of each, its *fragment*, whose element `i` is the matrix's element
//! [`Layout::at`]`(lane, i)`. D has the layout of C. The constants ([`M16N8K8_F64`]) have the layouts of a product's matrices.
//!
//! ```
//! use cuda_std::{mma, prelude::*};
//!
//! /// The product of a 16 x 8 and an 8 x 8 matrix, both by rows.
//! #[kernel(launch_bounds(32))]
//! pub unsafe fn product(a: Global<f64>, b: Global<f64>, d: GlobalMut<f64>) {
//!     const SHAPE: mma::Shape = mma::M16N8K8_F64;
//!     let lane = warp::lane_id() as usize;
//!     let element = |layout: mma::Layout, matrix: Global<f64>, i: usize| {
//!         let (row, column) = layout.at(lane, i);
//!         matrix.get(row * 8 + column)
//!     };
//!     let from_a = [0, 1, 2, 3].map(|i| element(SHAPE.a, a, i));
//!     let from_b = [0, 1].map(|i| element(SHAPE.b, b, i));
//!     let sums = mma::m16n8k8_f64(from_a, from_b, [0.0; 4]);
//!     for (i, sum) in sums.into_iter().enumerate() {
//!         let (row, column) = SHAPE.c.at(lane, i);
//!         d.set(row * 8 + column, sum);
//!     }
//! }
//! ```
//!
//! All lanes of the warp must execute the same product. The CPU executor ends the launch if one does not come.
//!
//! **Order of additions.** In `f64` an element is `c`, to which the products are added in the order of k, each with one
//! rounding for product and sum (`a.mul_add(b, sum)`). So the result has the same bits everywhere, but for those of a NaN.
//!
//! Products of `f16` and `bf16` have sums in `f32`. Compute capability 9.0 aligns all 16 products and `c` to the largest
//! exponent, truncates each toward zero to 25 bits after the point, adds them exactly, and rounds the sum toward zero. The CPU
//! executor does the same, to the bit. Compute capabilities 8.0 and 8.9 have 24 bits and add two halves of 8 products after
//! each other, and before 8.0 each product is a fused multiply-add in the order of k: there the last bits can differ.
//!
//! Products of `i8` have sums in `i32`, exact, which wrap around: the same everywhere. Those of `F8E4M3` and `F8E5M2` are made
//! of products of `f16`, which has all their numbers.
//!
//! **Instructions.** In `f64` m8n8k4 is one from compute capability 8.0 on, and the others from 9.0 on. Otherwise a product is
//! made of m8n8k4, and that one, before 8.0, of shuffles and fused multiply-adds. In `f16` and `bf16` m16n8k16 is one from 8.0
//! on, and before made of shuffles and fused multiply-adds. In `i8` m16n8k32 is one from 8.0 on, and before four of m8n8k16.
//!
//! Fragments of 16-bit elements are [`Pair`]s of a register each: pair `i` has the elements `2 * i` and `2 * i + 1`. Those of
//! 8 bits are [`Quad`]s: quad `i` has the elements `4 * i` to `4 * i + 3`. [`ldmatrix_x4`] loads both from shared memory, and
//! [`stmatrix_x4`] stores them.
//!
//! LLVM does not move these instructions across branches, but does not know that the warp's lanes execute them together: it may
//! copy one into both arms of a branch that follows an equal one. Where a lane's index decides branches on both sides of a
//! product, put a [`sync_warp`](crate::warp::sync_warp) before it.

use core::marker::PhantomData;

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

use crate::{Plain, imp, imp::Place, view::Shared};

/// How the elements of a matrix lie in the lanes of a warp.
///
/// Lanes `4 g` to `4 g + 3` are group `g`. A group has row `g` of A or C, or column `g` of B, and the one 8 further on if there
/// is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    rows: usize,
    columns: usize,
    /// The adjacent elements that a lane has.
    run: usize,
    /// Whether groups have columns, and not rows.
    by_columns: bool,
}

impl Layout {
    const fn new([rows, columns]: [usize; 2], run: usize, by_columns: bool) -> Self {
        Self {
            rows,
            columns,
            run,
            by_columns,
        }
    }

    /// Returns the matrix's rows.
    pub const fn rows(self) -> usize {
        self.rows
    }

    /// Returns the matrix's columns.
    pub const fn columns(self) -> usize {
        self.columns
    }

    /// Returns the number of elements of a lane.
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(self) -> usize {
        self.rows * self.columns / 32
    }

    /// Returns the row and the column of element `i` of a lane.
    #[inline(always)]
    pub const fn at(self, lane: usize, i: usize) -> (usize, usize) {
        let lines = match self.by_columns {
            true => self.columns / 8,
            false => self.rows / 8,
        };
        let (run, within) = (i / self.run, i % self.run);
        let across = lane / 4 + run % lines * 8;
        let along = (lane % 4 + run / lines * 4) * self.run + within;
        if self.by_columns {
            (along, across)
        } else {
            (across, along)
        }
    }
}

/// The layouts of a product's matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The layout of A.
    pub a: Layout,
    /// The layout of B.
    pub b: Layout,
    /// The layout of C and of D.
    pub c: Layout,
}

impl Shape {
    /// Returns the shape of a product of `m` rows, 8 columns and `k` products, whose lanes have runs of `run` elements along k.
    const fn new(m: usize, k: usize, run: usize) -> Self {
        Self {
            a: Layout::new([m, k], run, false),
            b: Layout::new([k, 8], run, true),
            c: Layout::new([m, 8], 2, false),
        }
    }
}

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident, $shape:ident: $m:literal x 8 x $k:literal;)*) => { $(
        #[doc = concat!("The shape of [`", stringify!($name), "`].")]
        pub const $shape: Shape = Shape::new($m, $k, 1);

        $(#[$doc])*
        ///
        /// See the [module](self) for the layouts, the order of additions, and the lanes that must take part.
        #[inline(always)]
        #[track_caller]
        pub fn $name(
            a: [f64; $m * $k / 32],
            b: [f64; 8 * $k / 32],
            c: [f64; $m * 8 / 32],
        ) -> [f64; $m * 8 / 32] {
            imp::mma::$name(a, b, c, Place::here())
        }
    )* };
}

products! {
    /// Returns `A * B + C` in `f64`, of 8 x 4 and 4 x 8 elements.
    m8n8k4_f64, M8N8K4_F64: 8 x 8 x 4;
    /// Returns `A * B + C` in `f64`, of 16 x 4 and 4 x 8 elements.
    m16n8k4_f64, M16N8K4_F64: 16 x 8 x 4;
    /// Returns `A * B + C` in `f64`, of 16 x 8 and 8 x 8 elements.
    m16n8k8_f64, M16N8K8_F64: 16 x 8 x 8;
    /// Returns `A * B + C` in `f64`, of 16 x 16 and 16 x 8 elements.
    m16n8k16_f64, M16N8K16_F64: 16 x 8 x 16;
}

mod sealed {
    pub trait Sealed {
        /// Whether the type is `bf16`; otherwise it is `f16`.
        #[cfg_attr(not(target_feature = "sm_90a"), allow(dead_code))]
        const IS_BF16: bool;
        fn bits(self) -> u16;
        fn of_bits(bits: u16) -> Self;
        /// Returns the nearest element, ties to even.
        fn nearest(value: f32) -> Self;
    }

    pub trait Packed {}

    /// An element of 8 bits.
    pub trait Byte: Copy {
        fn byte(self) -> u8;
        fn of_byte(byte: u8) -> Self;
    }

    /// A register of a fragment.
    pub trait Register: Copy {
        fn of_bits(bits: u32) -> Self;
        fn into_bits(self) -> u32;
    }
}

/// An element type of which a register has several: `f16`, `bf16`, `i8`, `F8E4M3` or `F8E5M2`.
pub trait Packed: Plain + sealed::Packed {
    /// A register of a fragment: a [`Pair`] or a [`Quad`].
    type Register: sealed::Register;
}

/// An element type of 16 bits: `f16` or `bf16`.
pub trait Half: Packed<Register = Pair<Self>> + sealed::Sealed {}

macro_rules! halves {
    ($($ty:ident: $is_bf16:literal;)*) => { $(
        impl sealed::Sealed for $ty {
            const IS_BF16: bool = $is_bf16;

            #[inline(always)]
            fn bits(self) -> u16 {
                self.to_bits()
            }

            #[inline(always)]
            fn of_bits(bits: u16) -> Self {
                Self::from_bits(bits)
            }

            #[inline(always)]
            fn nearest(value: f32) -> Self {
                Self::from_f32(value)
            }
        }
        impl sealed::Packed for $ty {}
        impl Packed for $ty {
            type Register = Pair<Self>;
        }
        impl Half for $ty {}
    )* };
}
halves! {
    f16: false;
    bf16: true;
}

/// Two elements of a fragment in one register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Pair<T> {
    bits: u32,
    marker: PhantomData<T>,
}

impl<T: Half> Pair<T> {
    /// Two zeros.
    pub const ZERO: Self = Self::of_bits(0);

    /// Makes a pair of two elements.
    #[inline(always)]
    pub fn new([first, second]: [T; 2]) -> Self {
        Self::of_bits(u32::from(second.bits()) << 16 | u32::from(first.bits()))
    }

    /// Makes a pair of the elements that are nearest to two numbers, ties to even: one instruction from compute capability 8.0
    /// on.
    #[inline(always)]
    pub fn rounded(values: [f32; 2]) -> Self {
        Self::of_bits(imp::mma::rounded::<T>(values))
    }

    /// Returns the two elements.
    #[inline(always)]
    pub fn values(self) -> [T; 2] {
        [self.bits() as u16, (self.bits() >> 16) as u16].map(T::of_bits)
    }

    /// Returns the register.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        self.bits
    }

    #[inline(always)]
    pub(crate) const fn of_bits(bits: u32) -> Self {
        Self {
            bits,
            marker: PhantomData,
        }
    }
}

impl<T: Half> sealed::Register for Pair<T> {
    #[inline(always)]
    fn of_bits(bits: u32) -> Self {
        Self::of_bits(bits)
    }

    #[inline(always)]
    fn into_bits(self) -> u32 {
        self.bits
    }
}

/// An element type of 8 bits: `i8`, `F8E4M3` or `F8E5M2`.
pub trait Byte: Packed<Register = Quad<Self>> + sealed::Byte {}

macro_rules! bytes {
    ($($ty:ident: $to:expr, $of:expr;)*) => { $(
        impl sealed::Byte for $ty {
            #[inline(always)]
            fn byte(self) -> u8 {
                $to(self)
            }

            #[inline(always)]
            fn of_byte(byte: u8) -> Self {
                $of(byte)
            }
        }
        impl sealed::Packed for $ty {}
        impl Packed for $ty {
            type Register = Quad<Self>;
        }
        impl Byte for $ty {}
    )* };
}
bytes! {
    i8: i8::cast_unsigned, u8::cast_signed;
    F8E4M3: |number: Self| number.to_bits(), Self::from_bits;
    F8E5M2: |number: Self| number.to_bits(), Self::from_bits;
}

/// Four elements of 8 bits of a fragment in one register, the first one in the low bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Quad<T> {
    bits: u32,
    marker: PhantomData<T>,
}

impl<T: Byte> Quad<T> {
    /// Four elements whose bits are all 0.
    pub const ZERO: Self = Self::of_bits(0);

    /// Makes a quad of four elements.
    #[inline(always)]
    pub fn new(elements: [T; 4]) -> Self {
        Self::of_bits(u32::from_le_bytes(elements.map(T::byte)))
    }

    /// Returns the four elements.
    #[inline(always)]
    pub fn values(self) -> [T; 4] {
        self.bits.to_le_bytes().map(T::of_byte)
    }

    /// Returns the register: the first element has the lowest bits.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    #[inline(always)]
    pub(crate) const fn of_bits(bits: u32) -> Self {
        Self {
            bits,
            marker: PhantomData,
        }
    }
}

impl<T: Byte> sealed::Register for Quad<T> {
    #[inline(always)]
    fn of_bits(bits: u32) -> Self {
        Self::of_bits(bits)
    }

    #[inline(always)]
    fn into_bits(self) -> u32 {
        self.bits
    }
}

/// The shape of [`m16n8k16_f16`] and [`m16n8k16_bf16`].
pub const M16N8K16_F16: Shape = Shape::new(16, 16, 2);

macro_rules! products_of_halves {
    ($($name:ident: $ty:ident;)*) => { $(
        #[doc = concat!("Returns `A * B + C` of `", stringify!($ty), "` in `f32`, of 16 x 16 and 16 x 8 elements, whose")]
        /// layouts are those of [`M16N8K16_F16`].
        ///
        /// See the [module](self) for the layouts, the order of additions, and the lanes that must take part.
        #[inline(always)]
        #[track_caller]
        pub fn $name(a: [Pair<$ty>; 4], b: [Pair<$ty>; 2], c: [f32; 4]) -> [f32; 4] {
            imp::mma::$name(a, b, c, Place::here())
        }
    )* };
}
products_of_halves! {
    m16n8k16_f16: f16;
    m16n8k16_bf16: bf16;
}

/// The shape of [`m16n8k32_i8`], [`m16n8k32_e4m3`] and [`m16n8k32_e5m2`].
pub const M16N8K32_I8: Shape = Shape::new(16, 32, 4);

/// Returns `A * B + C` of `i8` in `i32`, of 16 x 32 and 32 x 8 elements, whose layouts are those of [`M16N8K32_I8`]. Sums wrap
/// around.
///
/// See the [module](self) for the layouts, and the lanes that must take part.
#[inline(always)]
#[track_caller]
pub fn m16n8k32_i8(a: [Quad<i8>; 4], b: [Quad<i8>; 2], c: [i32; 4]) -> [i32; 4] {
    imp::mma::m16n8k32_i8(a, b, c, Place::here())
}

macro_rules! products_of_eight_bits {
    ($($name:ident: $ty:ident, $widened:ident;)*) => { $(
        #[doc = concat!("Returns `A * B + C` of `", stringify!($ty), "` in `f32`, of 16 x 32 and 32 x 8 elements, whose")]
        /// layouts are those of [`M16N8K32_I8`].
        ///
        /// The elements become `f16`, which has all of them, and are multiplied by two [`m16n8k16_f16`]: first those of the
        /// lower half of k. So the sums are more exact than those of [`wgmma`](crate::wgmma), and take twice as long.
        ///
        /// See the [module](self) for the layouts, the order of additions, and the lanes that must take part.
        #[inline(always)]
        #[track_caller]
        pub fn $name(
            [a0, a1, a2, a3]: [Quad<$ty>; 4],
            [b0, b1]: [Quad<$ty>; 2],
            c: [f32; 4],
        ) -> [f32; 4] {
            // The low and the high pair of a quad are adjacent along k. It does not matter which products are added first, as
            // long as both factors have the same place.
            let half = |upper: Quad<$ty>, lower: Quad<$ty>, b: Quad<$ty>, c: [f32; 4]| {
                let ([u0, u1], [l0, l1], b) = ($widened(upper), $widened(lower), $widened(b));
                m16n8k16_f16([u0, l0, u1, l1], b, c)
            };
            half(a2, a3, b1, half(a0, a1, b0, c))
        }
    )* };
}
products_of_eight_bits! {
    m16n8k32_e4m3: F8E4M3, widened_e4m3;
    m16n8k32_e5m2: F8E5M2, widened_e5m2;
}

/// Returns a register's bytes 0 and 1, and 2 and 3, each as the high byte of 16 bits.
#[inline(always)]
const fn spread(bytes: u32) -> [u32; 2] {
    [
        (bytes & 0xFF) << 8 | (bytes & 0xFF00) << 16,
        ((bytes >> 16) & 0xFF) << 8 | (bytes & 0xFF00_0000),
    ]
}

/// Returns the same numbers as pairs of `f16`. Both formats have the same exponents.
#[inline(always)]
fn widened_e5m2(quad: Quad<F8E5M2>) -> [Pair<f16>; 2] {
    spread(quad.bits()).map(Pair::of_bits)
}

/// Returns the same numbers as pairs of `f16`.
#[inline(always)]
fn widened_e4m3(quad: Quad<F8E4M3>) -> [Pair<f16>; 2] {
    spread(quad.bits()).map(|bytes| {
        let magnitude = (bytes & 0x7F00_7F00) >> 1;
        // The exponents of `f16` are 8 greater.
        let scaled = imp::mma::times_256(Pair::of_bits(magnitude));
        // All ones are NaN: one more sets the bit above, which becomes the exponent's five bits.
        let nan = ((magnitude + 0x0080_0080) & 0x4000_4000) >> 4;
        Pair::of_bits(scaled.bits() | (nan * 0x1F) | (bytes & 0x8000_8000))
    })
}

/// Loads four matrices of 8 rows of 16 bytes from shared memory as a part of fragments (`ldmatrix.x4`): a row has 8 elements of
/// 16 bits, or 16 of 8 bits.
///
/// Lane `l` gives row `l % 8` of matrix `l / 8`: the elements from `i` on, at a multiple of 16 bytes. The lane gets, in
/// register `j`, elements of row `l / 4` of matrix `j`: those of columns `2 * (l % 4)` and the next, or of 8 bits `4 * (l % 4)`
/// and the next three. So four matrices of A by rows, the upper left, lower left, upper right and lower right one, are a
/// fragment of A.
///
/// All lanes of the warp must execute this together. Rows that lie in different banks take one access for each matrix.
#[inline(always)]
#[track_caller]
pub fn ldmatrix_x4<T: Packed>(from: Shared<T>, i: usize) -> [T::Register; 4] {
    ldmatrix::<T, false>(from, i)
}

/// Loads four 8 x 8 matrices of 16-bit elements as [`ldmatrix_x4`] does, each transposed (`ldmatrix.x4.trans`): lane `l` gets
/// the elements of column `l / 4` and rows `2 * (l % 4)` and the next.
#[inline(always)]
#[track_caller]
pub fn ldmatrix_x4_trans<T: Half>(from: Shared<T>, i: usize) -> [Pair<T>; 4] {
    ldmatrix::<T, true>(from, i)
}

/// Stores four matrices of 8 rows of 16 bytes to shared memory (`stmatrix.x4`), of the registers that [`ldmatrix_x4`] returns.
///
/// Lane `l` gives row `l % 8` of matrix `l / 8`: the elements from `i` on, at a multiple of 16 bytes. Register `j` has elements
/// of row `l / 4` of matrix `j`.
///
/// All lanes of the warp must execute this together, and their rows must not overlap. Before compute capability 9.0 it is four
/// shuffles and four stores of 4 bytes.
#[inline(always)]
#[track_caller]
pub fn stmatrix_x4<T: Packed>(to: Shared<T>, i: usize, registers: [T::Register; 4]) {
    to.check_row_of_matrix(i, true);
    let words = registers.map(sealed::Register::into_bits);
    // SAFETY: the row is within the view, whose constructor's caller guarantees it.
    unsafe { imp::mma::stmatrix(to.as_ptr().cast(), i * size_of::<T>(), words, Place::here()) }
}

#[inline(always)]
#[track_caller]
fn ldmatrix<T: Packed, const TRANSPOSED: bool>(from: Shared<T>, i: usize) -> [T::Register; 4] {
    from.check_row_of_matrix(i, false);
    // SAFETY: the row is within the view, whose constructor's caller guarantees it.
    let words = unsafe {
        imp::mma::ldmatrix::<TRANSPOSED>(from.as_ptr().cast(), i * size_of::<T>(), Place::here())
    };
    words.map(sealed::Register::of_bits)
}
