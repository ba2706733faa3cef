//! The rules that map values to bins.

use core::marker::PhantomData;

/// The requirements of a rule as a kernel's parameter.
#[cfg(not(target_arch = "nvptx64"))]
pub trait BinningCopy: cuda_std::kernel::ByValue {}
#[cfg(not(target_arch = "nvptx64"))]
impl<B: cuda_std::kernel::ByValue> BinningCopy for B {}
/// The requirements of a rule as a kernel's parameter.
#[cfg(target_arch = "nvptx64")]
pub trait BinningCopy: Copy + 'static {}
#[cfg(target_arch = "nvptx64")]
impl<B: Copy + 'static> BinningCopy for B {}

/// A rule that maps values to bins, as a kernel's parameter.
pub trait Binning: BinningCopy {
    /// The type of the values.
    type In: Copy + 'static;

    /// Returns the bin of `value` among `bins` bins, or a number that is at least `bins` if it has none.
    fn bin(self, value: Self::In, bins: u32) -> u32;
}

/// The rule of bin numbers: the value is the number of its bin.
#[repr(C)]
#[derive(Debug)]
pub struct BinNumber<T> {
    // A launch cannot pass a parameter of size zero.
    unused: u32,
    marker: PhantomData<T>,
}

impl<T> BinNumber<T> {
    /// Makes the rule.
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
// SAFETY: the type is one plain word.
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

/// The rule of an even range: the bins divide `[low, high]` evenly. A value outside of it, or NaN, has no bin.
///
/// The bin of value `v` is the integer part of `(v - low) * scale`, computed in the values' type with one rounding per
/// operation, where `scale` is `bins / (high - low)`. `high` itself and values that round to the bin past the end belong to the
/// last bin. The result is the same on every device.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvenRange<T> {
    /// The lower end of the range.
    pub low: T,
    /// The upper end of the range.
    pub high: T,
    /// The number of bins per unit.
    pub scale: T,
}

macro_rules! even_ranges {
    ($($ty:ty),*) => { $(
        impl EvenRange<$ty> {
            /// Makes the rule for `bins` bins from `low` to `high`.
            pub fn new(low: $ty, high: $ty, bins: u32) -> Self {
                Self { low, high, scale: bins as $ty / (high - low) }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the type is three plain numbers without padding.
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
