//! Ranks: numbers by which elements are compared.

use crate::sort::{Bits, Twist};

/// How an element's bits become its rank, an unsigned integer of the same size: the better the element, the greater the rank.
///
/// NaNs have the greatest rank in either direction.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order<U> {
    /// The bits that are inverted.
    pub twist: Twist<U>,
    /// The bits of infinity for floats: greater magnitudes are NaNs. 0 for integers.
    pub infinity: U,
}

impl<U: Bits> Order<U> {
    /// The order of ranks.
    pub const NONE: Self = Self {
        twist: Twist::NONE,
        infinity: U::ZERO,
    };

    /// Returns the rank of an element with these bits.
    #[inline(always)]
    pub fn rank(self, bits: U) -> U {
        // No float has 8 bits.
        if const { U::BITS == 8 } {
            return bits ^ self.twist.flip;
        }
        // Integers have no magnitude: 0 is not above 0.
        if bits & self.twist.magnitude > self.infinity {
            U::ONES
        } else {
            bits.twist(self.twist)
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: plain numbers in a fixed layout.
unsafe impl<U: cuda_std::kernel::ByValue> cuda_std::kernel::ByValue for Order<U> {}
