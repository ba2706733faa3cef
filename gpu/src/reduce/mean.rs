//! The sum in 128 bits from which the mean of integers of 32 and 64 bits is computed.

use core::marker::PhantomData;

use cuda_std::{Plain, view::Wide, warp::Shuffle};

use super::ops::{Accumulator, Element, Reduction, one_by_one};

/// The sum of integers of type `T`, which never wraps: 128 bits hold the sum of 2^64 of them.
pub struct Mean<T>(PhantomData<T>);

/// A sum in 128 bits, in two's complement. Its halves are aligned like the sums of other types.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// The lower 64 bits.
    pub low: u64,
    /// The upper 64 bits.
    pub high: u64,
}

// SAFETY: the type has plain fields.
unsafe impl Plain for Total {}

impl Shuffle for Total {
    #[inline(always)]
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self {
            low: self.low.map_words(each),
            high: self.high.map_words(each),
        }
    }
}

impl Total {
    /// Returns the number in one integer.
    #[inline(always)]
    pub const fn bits(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    #[inline(always)]
    const fn of(bits: u128) -> Self {
        Self {
            low: bits as u64,
            high: (bits >> 64) as u64,
        }
    }
}

/// An accumulator of sums of integers that can be converted to 128 bits.
pub trait Widened: Accumulator {
    /// Returns the same number in 128 bits.
    fn total(self) -> Total;
}

impl Widened for u64 {
    #[inline(always)]
    fn total(self) -> Total {
        Total::of(self.into())
    }
}

impl Widened for i64 {
    #[inline(always)]
    fn total(self) -> Total {
        Total::of(i128::from(self) as u128)
    }
}

impl<T: Element<Acc: Widened>> Reduction for Mean<T> {
    type In = T;
    type Acc = Total;
    const IDENTITY: Total = Total::of(0);
    #[inline(always)]
    fn load(value: T, _index: usize) -> Total {
        value.widen().total()
    }
    #[inline(always)]
    fn combine(a: Total, b: Total) -> Total {
        Total::of(a.bits().wrapping_add(b.bits()))
    }
    // Adds the four 32-bit elements of a load in 64 bits first: those hold their sum.
    #[inline(always)]
    #[track_caller]
    fn add_wide(value: Total, wide: Wide<T>, first: usize) -> Total {
        if const { size_of::<T>() > 4 } {
            return one_by_one::<Self>(value, wide, first);
        }
        Self::combine(value, T::sum_of_wide(wide).total())
    }
}
