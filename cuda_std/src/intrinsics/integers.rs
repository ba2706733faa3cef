//! Functions of integers.

use crate::misc::byte_permute;

functions! {
    /// The magnitude; the least number stays.
    abs(x: i32) -> i32 = x.wrapping_abs();
    /// The magnitude; the least number stays.
    llabs(x: i64) -> i64 = x.wrapping_abs();
    /// The bits in the reverse order.
    brev(x: i32) -> i32 = x.reverse_bits();
    /// The bits in the reverse order.
    brevll(x: i64) -> i64 = x.reverse_bits();
    /// [`byte_permute`](crate::misc::byte_permute).
    byte_perm(x: i32, y: i32, z: i32) -> i32 = byte_permute(x as u32, y as u32, z as u32) as i32;
    /// The number of zero bits above the highest one.
    clz(x: i32) -> i32 = x.leading_zeros() as i32;
    /// The number of zero bits above the highest one.
    clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    /// The number of the lowest bit that is set, from 1; 0 where none is.
    ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    /// The number of the lowest bit that is set, from 1; 0 where none is.
    ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    /// The number of bits that are set.
    popc(x: i32) -> i32 = x.count_ones() as i32;
    /// The number of bits that are set.
    popcll(x: i64) -> i32 = x.count_ones() as i32;
    /// The mean, rounded down.
    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    /// The mean, rounded up.
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    /// The mean of unsigned numbers, rounded down.
    uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    /// The mean of unsigned numbers, rounded up.
    urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    /// The greater one.
    max(x: i32, y: i32) -> i32 = Ord::max(x, y);
    /// The lesser one.
    min(x: i32, y: i32) -> i32 = Ord::min(x, y);
    /// The greater one.
    llmax(x: i64, y: i64) -> i64 = Ord::max(x, y);
    /// The lesser one.
    llmin(x: i64, y: i64) -> i64 = Ord::min(x, y);
    /// The greater of unsigned numbers.
    umax(x: i32, y: i32) -> i32 = Ord::max(x as u32, y as u32) as i32;
    /// The lesser of unsigned numbers.
    umin(x: i32, y: i32) -> i32 = Ord::min(x as u32, y as u32) as i32;
    /// The greater of unsigned numbers.
    ullmax(x: i64, y: i64) -> i64 = Ord::max(x as u64, y as u64) as i64;
    /// The lesser of unsigned numbers.
    ullmin(x: i64, y: i64) -> i64 = Ord::min(x as u64, y as u64) as i64;
    /// The low half of the product of the low 24 bits, with their sign.
    mul24(x: i32, y: i32) -> i32 = (x << 8 >> 8).wrapping_mul(y << 8 >> 8);
    /// The low half of the product of the low 24 bits.
    umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    /// The high half of the product.
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    /// The high half of the product.
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    /// The high half of the product of unsigned numbers.
    umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    /// The high half of the product of unsigned numbers.
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;
    /// The distance of `x` and `y`, plus `z`.
    sad(x: i32, y: i32, z: i32) -> i32 = x.abs_diff(y).wrapping_add(z as u32) as i32;
    /// The distance of the unsigned `x` and `y`, plus `z`.
    usad(x: i32, y: i32, z: i32) -> i32 = (x as u32).abs_diff(y as u32).wrapping_add(z as u32) as i32;
}
