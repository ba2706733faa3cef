//! Plain data: what memory with some contents or other may be read as.

/// A type of which every pattern of bits is a value: shared memory starts with some bits or other, and constant
/// memory with zeros. `bool`, `char` and the `NonZero` types are not, nor are enums.
///
/// # Safety
/// Any bits of the type's size are a value of it, as for numbers, arrays of them, and structs of nothing else.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($ty:ty),*) => { $(
        // SAFETY: a number of any bits.
        unsafe impl Plain for $ty {}
    )* };
}
plain!(
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64,
    i64,
    u128,
    i128,
    usize,
    isize,
    f32,
    f64,
    half::f16,
    half::bf16
);

// SAFETY: an array of plain values is plain.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
