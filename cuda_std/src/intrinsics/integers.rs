//! Functions of integers.

use crate::misc::byte_permute;

functions! {
    /// Returns the absolute value. The least number is unchanged.
    abs(x: i32) -> i32 = x.wrapping_abs();
    /// Returns the absolute value. The least number is unchanged.
    llabs(x: i64) -> i64 = x.wrapping_abs();
    /// Returns the bits of `x` in reverse order.
    brev(x: i32) -> i32 = x.reverse_bits();
    /// Returns the bits of `x` in reverse order.
    brevll(x: i64) -> i64 = x.reverse_bits();
    /// Calls [`byte_permute`](crate::misc::byte_permute).
    byte_perm(x: i32, y: i32, z: i32) -> i32 = byte_permute(x as u32, y as u32, z as u32) as i32;
    /// Returns the number of leading zero bits.
    clz(x: i32) -> i32 = x.leading_zeros() as i32;
    /// Returns the number of leading zero bits.
    clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    /// Returns the position of the lowest set bit, counted from 1, or 0 if no bit is set.
    ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    /// Returns the position of the lowest set bit, counted from 1, or 0 if no bit is set.
    ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    /// Returns the number of set bits.
    popc(x: i32) -> i32 = x.count_ones() as i32;
    /// Returns the number of set bits.
    popcll(x: i64) -> i32 = x.count_ones() as i32;
    /// Returns the mean, rounded down.
    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    /// Returns the mean, rounded up.
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    /// Returns the mean of unsigned numbers, rounded down.
    uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    /// Returns the mean of unsigned numbers, rounded up.
    urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    /// Returns the greater argument.
    max(x: i32, y: i32) -> i32 = Ord::max(x, y);
    /// Returns the lesser argument.
    min(x: i32, y: i32) -> i32 = Ord::min(x, y);
    /// Returns the greater argument.
    llmax(x: i64, y: i64) -> i64 = Ord::max(x, y);
    /// Returns the lesser argument.
    llmin(x: i64, y: i64) -> i64 = Ord::min(x, y);
    /// Returns the greater argument, as unsigned numbers.
    umax(x: i32, y: i32) -> i32 = Ord::max(x as u32, y as u32) as i32;
    /// Returns the lesser argument, as unsigned numbers.
    umin(x: i32, y: i32) -> i32 = Ord::min(x as u32, y as u32) as i32;
    /// Returns the greater argument, as unsigned numbers.
    ullmax(x: i64, y: i64) -> i64 = Ord::max(x as u64, y as u64) as i64;
    /// Returns the lesser argument, as unsigned numbers.
    ullmin(x: i64, y: i64) -> i64 = Ord::min(x as u64, y as u64) as i64;
    /// Returns the low half of the product of the low 24 bits, with their sign.
    mul24(x: i32, y: i32) -> i32 = (x << 8 >> 8).wrapping_mul(y << 8 >> 8);
    /// Returns the low half of the product of the low 24 bits.
    umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    /// Returns the high half of the product.
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    /// Returns the high half of the product.
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    /// Returns the high half of the product of unsigned numbers.
    umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    /// Returns the high half of the product of unsigned numbers.
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;
    /// Returns the absolute difference of `x` and `y`, plus `z`.
    sad(x: i32, y: i32, z: i32) -> i32 = x.abs_diff(y).wrapping_add(z as u32) as i32;
    /// Returns the absolute difference of `x` and `y` as unsigned numbers, plus `z`.
    usad(x: i32, y: i32, z: i32) -> i32 = (x as u32).abs_diff(y as u32).wrapping_add(z as u32) as i32;
}
