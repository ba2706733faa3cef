//! The library's predicates.

use core::{marker::PhantomData, ops::RangeInclusive};

use cuda_std::{
    bf16, f16,
    map::{MapFn, MapInput},
};

/// A comparison with constants: whether an element lies in a range, or outside of it.
///
/// Floats compare as in Rust: a NaN lies in no range, so only [`not_equal`](Self::not_equal) and
/// [`outside`](Self::outside) select it, and -0 equals +0.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compare<T> {
    low: T,
    high: T,
    /// 1 if elements outside of the range are selected, otherwise 0.
    outside: u32,
}

impl<T: Ordered> Compare<T> {
    /// Selects elements in a range. A range whose start is above its end has none.
    pub fn within(range: RangeInclusive<T>) -> Self {
        Self {
            low: *range.start(),
            high: *range.end(),
            outside: 0,
        }
    }

    /// Selects elements that are not in a range.
    pub fn outside(range: RangeInclusive<T>) -> Self {
        Self {
            outside: 1,
            ..Self::within(range)
        }
    }

    /// Selects elements below `value`.
    pub fn less(value: T) -> Self {
        value.below().map_or_else(Self::none, Self::at_most)
    }

    /// Selects elements up to `value`.
    pub fn at_most(value: T) -> Self {
        Self::within(T::LOWEST..=value)
    }

    /// Selects elements above `value`.
    pub fn greater(value: T) -> Self {
        value.above().map_or_else(Self::none, Self::at_least)
    }

    /// Selects elements from `value` up.
    pub fn at_least(value: T) -> Self {
        Self::within(value..=T::HIGHEST)
    }

    /// Selects elements that equal `value`.
    pub fn equal(value: T) -> Self {
        Self::within(value..=value)
    }

    /// Selects elements that differ from `value`.
    pub fn not_equal(value: T) -> Self {
        Self::outside(value..=value)
    }

    fn none() -> Self {
        Self::within(T::HIGHEST..=T::LOWEST)
    }
}

// SAFETY: plain numbers in C's layout.
unsafe impl<T: Ordered> MapFn for Compare<T> {
    type In = T;
    type Out = bool;

    #[inline(always)]
    fn call(self, _: usize, x: T) -> bool {
        (self.low <= x && x <= self.high) != (self.outside != 0)
    }
}

/// A number with the number next to it on each side.
pub trait Ordered: MapInput<First = Self> + PartialOrd {
    /// The lowest value, for floats minus infinity.
    const LOWEST: Self;
    /// The highest value, for floats infinity.
    const HIGHEST: Self;

    /// Returns the next lower value, if there is one. -0 and +0 are one value.
    fn below(self) -> Option<Self>;

    /// Returns the next higher value, if there is one.
    fn above(self) -> Option<Self>;
}

macro_rules! integers {
    ($($ty:ident),*) => { $(
        impl Ordered for $ty {
            const LOWEST: Self = $ty::MIN;
            const HIGHEST: Self = $ty::MAX;

            fn below(self) -> Option<Self> {
                self.checked_sub(1)
            }

            fn above(self) -> Option<Self> {
                self.checked_add(1)
            }
        }
    )* };
}
integers!(u8, u16, u32, i32, u64, i64);

macro_rules! floats {
    ($($ty:ident: $zero:expr;)*) => { $(
        impl Ordered for $ty {
            const LOWEST: Self = $ty::NEG_INFINITY;
            const HIGHEST: Self = $ty::INFINITY;

            fn below(self) -> Option<Self> {
                (-self).above().map(|above| -above)
            }

            fn above(self) -> Option<Self> {
                let bits = self.to_bits();
                match self {
                    _ if self == $zero => Some(Self::from_bits(1)),
                    _ if $zero < self && self < Self::HIGHEST => Some(Self::from_bits(bits + 1)),
                    _ if self < $zero => Some(Self::from_bits(bits - 1)),
                    // Infinity, or a NaN.
                    _ => None,
                }
            }
        }
    )* };
}
floats! {
    f32: 0.0;
    f64: 0.0;
    f16: f16::ZERO;
    bf16: bf16::ZERO;
}

/// Selects the elements whose flag, in a second array of bytes, is not 0.
#[derive(Debug, Clone, Copy)]
pub struct Flagged<T>(PhantomData<T>);

impl<T> Flagged<T> {
    /// Makes the predicate.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Flagged<T> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: no fields with a size.
unsafe impl<T: Copy + 'static> MapFn for Flagged<T> {
    type In = (T, u8);
    type Out = bool;

    #[inline(always)]
    fn call(self, _: usize, (_, flag): (T, u8)) -> bool {
        flag != 0
    }
}

/// Selects the elements that differ from the one before.
#[derive(Debug, Clone, Copy)]
pub struct Changed<T>(PhantomData<T>);

impl<T> Changed<T> {
    /// Makes the predicate.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Changed<T> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: no fields with a size.
unsafe impl<T: Copy + PartialEq + 'static> MapFn for Changed<T> {
    type In = (T, T);
    type Out = bool;

    #[inline(always)]
    fn call(self, _: usize, (x, before): (T, T)) -> bool {
        x != before
    }
}
