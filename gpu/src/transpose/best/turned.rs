//! Transposes of small matrices of bytes and of pairs of bytes in registers.

use cuda_std::misc::byte_permute;

/// Returns the columns of two rows of two 2-byte elements.
#[inline(always)]
pub fn turned_2(a: u32, b: u32) -> [u32; 2] {
    [byte_permute(a, b, 0x5410), byte_permute(a, b, 0x7632)]
}

/// Returns the columns of four rows of four bytes.
#[inline(always)]
pub fn turned_4([a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let (low_ab, low_cd) = (byte_permute(a, b, 0x5140), byte_permute(c, d, 0x5140));
    let (high_ab, high_cd) = (byte_permute(a, b, 0x7362), byte_permute(c, d, 0x7362));
    let [first, second] = turned_2(low_ab, low_cd);
    let [third, fourth] = turned_2(high_ab, high_cd);
    [first, second, third, fourth]
}
