//! Plain data: types that memory with arbitrary contents may be read as.

/// A type for which every bit pattern is a valid value. Shared memory starts with arbitrary bits, and constant memory with
/// zeros. `bool`, `char`, the `NonZero` types and enums are not plain.
///
/// # Safety
/// Every bit pattern of the type's size must be a valid value, as for numbers, arrays of them, and structs that contain
/// nothing else.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($ty:ty),*) => { $(
        // SAFETY: every bit pattern is a number.
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
    half::bf16,
    float8::F8E4M3,
    float8::F8E5M2
);

// SAFETY: an array of plain values is plain.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
