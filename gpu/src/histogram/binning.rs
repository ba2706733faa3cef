//! Which bin a value belongs to.

use core::marker::PhantomData;

/// A rule from values to bins.
#[cfg(not(target_arch = "nvptx64"))]
pub trait BinningCopy: cuda_std::kernel::ByValue {}
#[cfg(not(target_arch = "nvptx64"))]
impl<B: cuda_std::kernel::ByValue> BinningCopy for B {}
/// A rule from values to bins.
#[cfg(target_arch = "nvptx64")]
pub trait BinningCopy: Copy + 'static {}
#[cfg(target_arch = "nvptx64")]
impl<B: Copy + 'static> BinningCopy for B {}

/// A rule from values to bins, as a kernel's parameter.
pub trait Binning: BinningCopy {
    /// The values' type.
    type In: Copy + 'static;

    /// The bin of `value`, of `bins` bins; a number not below `bins` where it has none.
    fn bin(self, value: Self::In, bins: u32) -> u32;
}

/// The value is the bin's number.
#[repr(C)]
#[derive(Debug)]
pub struct BinNumber<T> {
    // A parameter of no size is not one that a launch could pass.
    unused: u32,
    marker: PhantomData<T>,
}

impl<T> BinNumber<T> {
    /// The rule.
    pub const fn new() -> Self {
        Self {
            unused: 0,
            marker: PhantomData,
        }
    }
}

impl<T> Default for BinNumber<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for BinNumber<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BinNumber<T> {}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: one plain word.
unsafe impl<T: 'static> cuda_std::kernel::ByValue for BinNumber<T> {}

macro_rules! bin_numbers {
    ($($ty:ty),*) => { $(
        impl Binning for BinNumber<$ty> {
            type In = $ty;
            #[inline(always)]
            fn bin(self, value: $ty, _bins: u32) -> u32 {
                value.into()
            }
        }
    )* };
}
bin_numbers!(u8, u16, u32);

/// The bins divide `[low, high]` evenly; a value that is not in it, or is NaN, has no bin.
///
/// Value `v`'s bin is the integer part of `(v - low) * scale`, computed in the values' type with one
/// rounding per operation, `scale` being `bins / (high - low)`; `high` itself and what rounds to the bin
/// past the end belong to the last bin. The same on every device.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvenRange<T> {
    /// The lower end.
    pub low: T,
    /// The upper end.
    pub high: T,
    /// Bins per unit.
    pub scale: T,
}

macro_rules! even_ranges {
    ($($ty:ty),*) => { $(
        impl EvenRange<$ty> {
            /// The rule for `bins` bins from `low` to `high`.
            pub fn new(low: $ty, high: $ty, bins: u32) -> Self {
                Self { low, high, scale: bins as $ty / (high - low) }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: three plain numbers without padding.
        unsafe impl cuda_std::kernel::ByValue for EvenRange<$ty> {}

        impl Binning for EvenRange<$ty> {
            type In = $ty;
            #[inline(always)]
            fn bin(self, value: $ty, bins: u32) -> u32 {
                if value >= self.low && value <= self.high {
                    (((value - self.low) * self.scale) as u32).min(bins - 1)
                } else {
                    u32::MAX
                }
            }
        }
    )* };
}
even_ranges!(f32, f64);
