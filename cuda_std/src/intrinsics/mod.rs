//! libdevice's functions under Rust-CUDA's names, without libdevice.
//!
//! They call [`GpuFloat`](crate::GpuFloat), [`FloatExt`](crate::FloatExt), [`approx`](crate::float::approx), `libm`, and
//! Rust's integer methods. They are the same on both targets; where a result is not exact, the bits differ from CUDA's.
//! Names that end in `f` are of `f32`, the others of `f64`. Types are those of libdevice, which has no unsigned integers:
//! `umax` takes the bits of unsigned numbers as `i32`.
//!
//! A conversion from float to integer rounds as its name says (`rn` to the nearest, ties to even, `rd` down, `ru` up, `rz`
//! toward zero) and saturates to the integer's range. NaN gives 0.
//!
//! Functions that round other than to the nearest are missing (`dadd_rd`, `fmaf_ru`, `int2float_rz`, …), and so are
//! `erfinv`, `erfinvf` and `frsqrt_rn`.

/// Defines functions with C's calling convention, names and types.
macro_rules! functions {
    ($($(#[$doc:meta])+ $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)? = $body:expr;)*) => { $(
        $(#[$doc])+
        ///
        /// # Safety
        /// Each pointer must be valid for a write of the value that the function writes there. There are no other
        /// conditions.
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
