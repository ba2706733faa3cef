//! libdevice's functions by Rust-CUDA's names, without libdevice.
//!
//! They are the functions of [`GpuFloat`](crate::GpuFloat), [`FloatExt`](crate::FloatExt) and
//! [`approx`](crate::float::approx), `libm`'s, and Rust's own of integers: the same on both bodies, and other bits than
//! CUDA's where a result is not exact. Names with `f` at the end are of `f32`, the others of `f64`. Types are those of
//! libdevice, which has no unsigned integers: `umax` takes the bits of two as `i32`.
//!
//! A float that becomes an integer is rounded as the name says (`rn` to the nearest, ties to even, `rd` down, `ru` up, `rz` to
//! zero), then brought into the integer's range; NaN gives 0.
//!
//! What rounds in another way than to the nearest is not here (`dadd_rd`, `fmaf_ru`, `int2float_rz`, …), nor are `erfinv`,
//! `erfinvf` and `frsqrt_rn`.

/// Defines functions as C's, by whose names and types programs call them.
macro_rules! functions {
    ($($(#[$doc:meta])+ $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)? = $body:expr;)*) => { $(
        $(#[$doc])+
        ///
        /// # Safety
        /// A pointer is to memory for the value that the function writes there. There is nothing else to keep.
        #[inline]
        pub unsafe extern "C" fn $name($($argument: $ty),*) $(-> $result)? {
            $body
        }
    )* };
}

mod conversions;
mod floats;
mod integers;

pub use conversions::*;
pub use floats::*;
pub use integers::*;
