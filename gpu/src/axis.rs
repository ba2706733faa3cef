//! The operators of reductions along an axis of a matrix, for the families `columns` and `rows`.
//!
//! A thread adds up to [`CHUNK`] elements in a narrow accumulator, the *part*, and adds parts in a wide one, the *total*:
//!
//! | elements | part | total | sum comes out as |
//! | --- | --- | --- | --- |
//! | `u8 u16` | `u32` | `u64` | `u64` |
//! | `u32` | `u64` | `u64` | `u64` |
//! | `i32` | `i64` | `i64` | `i64` |
//! | `f32` | `f32` | `f64` | `f32`, rounded once |
//! | `f64` | `f64` | `f64` | `f64` |
//!
//! - No part overflows: 256 elements of `u16` add up to less than 2^24. A total holds the sum of [`Element::MOST`] elements of
//!   any value. A longer axis is refused before the launch.
//! - An element of `f32` passes through at most 257 additions in `f32`, whatever the length of the axis.
//! - Minima and maxima are those of the family `reduce`: -0 is less than +0, and NaN wins.
//! - A mean is the total divided by the number of elements, in `f64`.

use core::marker::PhantomData;

use cuda_std::{GlobalMut, Plain, atomic::Atomic};

use crate::reduce::{self, Accumulator, Max, Min, Reduction};

/// The maximum number of elements that a thread adds to one part.
pub const CHUNK: usize = 256;

/// A reduction along an axis. Its totals are the partial results of [`Reduction`].
pub trait Along: Reduction {
    /// The narrow accumulator.
    type Part: Plain;
    /// The type of a result.
    type Out: Copy + 'static;
    /// The part without elements: adding an element to it gives that element's part.
    const EMPTY: Self::Part;

    /// Returns `part` with an element added.
    fn add(part: Self::Part, value: Self::In) -> Self::Part;

    /// Returns the total of one part.
    fn total(part: Self::Part) -> Self::Acc;

    /// Returns the result for `len` elements.
    fn finish(total: Self::Acc, len: usize) -> Self::Out;

    /// Combines `total` with element `i` of `totals`, by an atomic operation.
    fn combine_atomic(totals: GlobalMut<Self::Acc>, i: usize, total: Self::Acc);
}

/// An element type that can be reduced along an axis.
pub trait Element: reduce::Element<Key: Atomic> {
    /// The accumulator of up to [`CHUNK`] elements.
    type Part: Accumulator;
    /// The accumulator of parts.
    type Total: Accumulator + Atomic;
    /// The type of a sum.
    type Sum: Copy + 'static;
    /// The maximum number of elements whose total cannot overflow, whatever their values.
    const MOST: usize;

    /// Returns the element as a part.
    fn part(self) -> Self::Part;
    /// Returns the part as a total.
    fn total(part: Self::Part) -> Self::Total;
    /// Returns the total as a sum.
    fn sum(total: Self::Total) -> Self::Sum;
    /// Returns the total divided by the number of elements.
    fn mean(total: Self::Total, len: usize) -> f64;
}

macro_rules! elements {
    ($($ty:ty: $part:ty, $total:ty, $sum:ty, $most:expr;)*) => { $(
        impl Element for $ty {
            type Part = $part;
            type Total = $total;
            type Sum = $sum;
            const MOST: usize = $most;
            #[inline(always)]
            fn part(self) -> $part {
                self as $part
            }
            #[inline(always)]
            fn total(part: $part) -> $total {
                part as $total
            }
            #[inline(always)]
            fn sum(total: $total) -> $sum {
                total as $sum
            }
            #[inline(always)]
            fn mean(total: $total, len: usize) -> f64 {
                total as f64 / len as f64
            }
        }
    )* };
}
elements! {
    u8: u32, u64, u64, (u64::MAX / u8::MAX as u64) as usize;
    u16: u32, u64, u64, (u64::MAX / u16::MAX as u64) as usize;
    u32: u64, u64, u64, (u64::MAX / u32::MAX as u64) as usize;
    // 2^32 times -2^31, the minimum of i32, is the minimum of i64.
    i32: i64, i64, i64, (i64::MIN / i32::MIN as i64) as usize;
    f32: f32, f64, f32, usize::MAX;
    f64: f64, f64, f64, usize::MAX;
}

/// Sum along an axis of elements of type `T`.
pub struct Sum<T>(PhantomData<T>);
/// Mean along an axis of elements of type `T`.
pub struct Mean<T>(PhantomData<T>);

macro_rules! sums {
    ($($name:ident: $out:ty, |$total:ident, $len:ident| $finish:expr;)*) => { $(
        impl<T: Element> Reduction for $name<T> {
            type In = T;
            type Acc = T::Total;
            const IDENTITY: T::Total = T::Total::ZERO;
            #[inline(always)]
            fn load(value: T, _index: usize) -> T::Total {
                T::total(value.part())
            }
            #[inline(always)]
            fn combine(a: T::Total, b: T::Total) -> T::Total {
                a.add(b)
            }
        }

        impl<T: Element> Along for $name<T> {
            type Part = T::Part;
            type Out = $out;
            const EMPTY: T::Part = T::Part::ZERO;
            #[inline(always)]
            fn add(part: T::Part, value: T) -> T::Part {
                part.add(value.part())
            }
            #[inline(always)]
            fn total(part: T::Part) -> T::Total {
                T::total(part)
            }
            #[inline(always)]
            fn finish($total: T::Total, $len: usize) -> $out {
                $finish
            }
            #[inline(always)]
            #[track_caller]
            fn combine_atomic(totals: GlobalMut<T::Total>, i: usize, total: T::Total) {
                totals.atomic_add(i, total);
            }
        }
    )* };
}
sums! {
    Sum: T::Sum, |total, _len| T::sum(total);
    Mean: f64, |total, len| T::mean(total, len);
}

macro_rules! extremes {
    ($($name:ident: $least:literal, $atomic:ident;)*) => { $(
        impl<T: Element> Along for $name<T> {
            type Part = Self::Acc;
            type Out = T;
            const EMPTY: Self::Acc = Self::IDENTITY;
            #[inline(always)]
            fn add(part: Self::Acc, value: T) -> Self::Acc {
                Self::combine(part, value.key::<$least>())
            }
            #[inline(always)]
            fn total(part: Self::Acc) -> Self::Acc {
                part
            }
            #[inline(always)]
            fn finish(total: Self::Acc, _len: usize) -> T {
                T::from_key::<$least>(total)
            }
            #[inline(always)]
            #[track_caller]
            fn combine_atomic(totals: GlobalMut<Self::Acc>, i: usize, total: Self::Acc) {
                totals.$atomic(i, total);
            }
        }
    )* };
}
extremes! {
    Min: true, atomic_min;
    Max: false, atomic_max;
}

/// Calls `$callback!` with one row per instance: its suffix and its generic argument.
macro_rules! with_axis_reductions {
    ($callback:ident) => {
        $callback! {
            sum_u8: (Sum<u8>),
            sum_u16: (Sum<u16>),
            sum_i32: (Sum<i32>),
            sum_u32: (Sum<u32>),
            sum_f32: (Sum<f32>),
            sum_f64: (Sum<f64>),
            mean_u8: (Mean<u8>),
            mean_u16: (Mean<u16>),
            mean_i32: (Mean<i32>),
            mean_u32: (Mean<u32>),
            mean_f32: (Mean<f32>),
            mean_f64: (Mean<f64>),
            min_u8: (Min<u8>),
            min_u16: (Min<u16>),
            min_i32: (Min<i32>),
            min_u32: (Min<u32>),
            min_f32: (Min<f32>),
            min_f64: (Min<f64>),
            max_u8: (Max<u8>),
            max_u16: (Max<u16>),
            max_i32: (Max<i32>),
            max_u32: (Max<u32>),
            max_f32: (Max<f32>),
            max_f64: (Max<f64>),
        }
    };
}
pub(crate) use with_axis_reductions;
