//! Keys as bits, and the arguments that say which of the bits are sorted.

use core::ops::{BitAnd, BitXor};

use cuda_std::Plain;

/// The values of a digit of 8 bits.
pub const DIGITS: usize = 256;
/// The bits of a digit.
pub const DIGIT_BITS: u32 = 8;

/// The bits of a key, an unsigned integer: `u8 u16 u32 u64`.
pub trait Bits: Plain + Ord + BitAnd<Output = Self> + BitXor<Output = Self> {
    /// The number of bits.
    const BITS: u32;
    /// All bits set, the greatest.
    const ONES: Self;
    /// No bit set.
    const ZERO: Self;

    /// Returns the bits from `shift` on that `mask` leaves.
    fn digit(self, shift: u32, mask: u32) -> u32;
    /// Returns the bits without the `unused` highest ones, moved to the top.
    fn without(self, unused: u32) -> Self;
    /// Returns the bits whose order as an unsigned integer is the key's order.
    fn twist(self, by: Twist<Self>) -> Self;
    /// Returns the key's own bits: the inverse of [`twist`](Self::twist).
    fn untwist(self, by: Twist<Self>) -> Self;
    /// Returns the number whose lowest bits are these.
    fn to_word(self) -> u64;
    /// Returns the lowest bits of a number.
    fn from_word(word: u64) -> Self;
}

macro_rules! bits {
    ($($ty:ident $signed:ident;)*) => { $(
        impl Bits for $ty {
            const BITS: u32 = $ty::BITS;
            const ONES: Self = $ty::MAX;
            const ZERO: Self = 0;

            #[inline(always)]
            fn digit(self, shift: u32, mask: u32) -> u32 {
                (self >> shift) as u32 & mask
            }

            #[inline(always)]
            fn without(self, unused: u32) -> Self {
                self << unused
            }

            #[inline(always)]
            fn twist(self, by: Twist<Self>) -> Self {
                let sign = (self as $signed >> ($ty::BITS - 1)) as $ty;
                self ^ (sign & by.magnitude) ^ by.flip
            }

            #[inline(always)]
            fn untwist(self, by: Twist<Self>) -> Self {
                let bits = self ^ by.flip;
                let sign = (bits as $signed >> ($ty::BITS - 1)) as $ty;
                bits ^ (sign & by.magnitude)
            }

            #[inline(always)]
            fn to_word(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn from_word(word: u64) -> Self {
                word as Self
            }
        }
    )* };
}
bits! { u8 i8; u16 i16; u32 i32; u64 i64; }

/// How a key's bits become bits whose unsigned order is the key's order.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twist<U> {
    /// The bits that are inverted where the highest one is set: all others for floats, none for integers.
    pub magnitude: U,
    /// The bits that are always inverted: the sign of signed numbers, and all bits for a descending order.
    pub flip: U,
}

impl<U: Bits> Twist<U> {
    /// Changes nothing: the ascending order of unsigned integers.
    pub const NONE: Self = Self {
        magnitude: U::ZERO,
        flip: U::ZERO,
    };
}

/// The twist of a launch's input, and the one of its output, which is undone. Both are [`Twist::NONE`] for the passes between
/// the first and the last.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twists<U> {
    /// Applied to the keys that are read.
    pub input: Twist<U>,
    /// Undone for the keys that are written.
    pub output: Twist<U>,
}

/// The bits by which keys are sorted: `bits` bits from bit `first` on, in digits of 8 bits, of which the last may have fewer.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The lowest bit.
    pub first: u32,
    /// The number of bits, at least 1.
    pub bits: u32,
}

impl Range {
    /// Returns the number of digits, one per pass.
    #[inline(always)]
    pub const fn passes(self) -> u32 {
        self.bits.div_ceil(DIGIT_BITS)
    }

    /// Returns the lowest bit and the mask of the digit of a pass.
    #[inline(always)]
    pub const fn digit(self, pass: u32) -> (u32, u32) {
        let done = pass * DIGIT_BITS;
        let left = self.bits - done;
        let bits = if left < DIGIT_BITS { left } else { DIGIT_BITS };
        (self.first + done, (1 << bits) - 1)
    }
}

/// The arguments of one pass, or of one part of a pass over very many keys.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// The lowest bit of the digit.
    pub shift: u32,
    /// The mask of the digit: `2^bits - 1`.
    pub mask: u32,
    /// The keys of a tile, at most as many as the kernel's threads hold.
    pub tile: u32,
    /// The element of `tickets` from which blocks take their tiles.
    pub ticket: u32,
    /// The row of `begins` that says where each digit of the keys begins in the output.
    pub begin: u32,
    /// The row to which the last tile writes where the keys that follow begin; the same as `begin` if none follow.
    pub next: u32,
    /// The tag of a status word with a prefix. The words of earlier launches have another one.
    pub known: u32,
    /// Whether the output has more than 2^32 keys: 1 or 0.
    pub wide: u32,
}

/// The values that go with the keys.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The bytes of a value: 1, 2, 4, 8, 16; 0 if there are none.
    pub bytes: u32,
    /// Whether the values are made: each is its key's position in the input. 1 or 0.
    pub positions: u32,
    /// The position of the first key, for values that are made.
    pub first: u64,
}

impl Column {
    /// No values.
    pub const NONE: Self = Self {
        bytes: 0,
        positions: 0,
        first: 0,
    };
}

#[cfg(not(target_arch = "nvptx64"))]
mod by_value {
    use super::*;
    use cuda_std::kernel::ByValue;

    // SAFETY: each is plain numbers in a fixed layout.
    unsafe impl<U: ByValue> ByValue for Twist<U> {}
    // SAFETY: as above.
    unsafe impl<U: ByValue> ByValue for Twists<U> {}
    // SAFETY: as above.
    unsafe impl ByValue for Range {}
    // SAFETY: as above.
    unsafe impl ByValue for Pass {}
    // SAFETY: as above.
    unsafe impl ByValue for Column {}
}
