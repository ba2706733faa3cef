//! [`DeviceCopy`], the trait of types that may be copied to a device and back as bytes.
//!
//! This crate is separate from `cust`, so that a crate of kernels, which cannot depend on the driver, can derive the trait:
//!
//! ```
//! use cust_core::DeviceCopy;
//!
//! #[derive(Clone, Copy, DeviceCopy)]
//! struct Particle {
//!     position: [f32; 3],
//!     charge: f32,
//! }
//! ```
//!
//! A field that is not `DeviceCopy` is a compile error:
//!
//! ```compile_fail,E0277
//! use cust_core::DeviceCopy;
//!
//! #[derive(Clone, Copy, DeviceCopy)]
//! struct Borrows<'a> {
//!     values: &'a [f32],
//! }
//! ```

#![no_std]

pub use _hidden::*;
pub use warpwright_cust_derive::DeviceCopyCore as DeviceCopy;

/// The path by which `cust` imports the trait without the macro of the same name.
#[doc(hidden)]
pub mod _hidden {
    use core::marker::PhantomData;
    use core::mem::MaybeUninit;
    use core::num::{
        NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
        NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, Wrapping,
    };

    /// A type that may be copied to a device and back as bytes.
    ///
    /// `#[derive(DeviceCopy)]` implements it for a type whose fields all have it.
    ///
    /// # Safety
    /// A copy of the value's bytes must be a valid value on a device: it must hold no reference to host memory that device
    /// code would follow.
    pub unsafe trait DeviceCopy: Copy {}

    macro_rules! plain {
        ($($ty:ty),* $(,)?) => {
            // SAFETY: the types hold no references, and a copy of their bytes is a copy of the value.
            $( unsafe impl DeviceCopy for $ty {} )*
        };
    }

    #[allow(unused_macros)]
    macro_rules! of_one {
        ($($($part:ident)::+),* $(,)?) => {
            // SAFETY: the type holds only values of `T`, which is `DeviceCopy`.
            $( unsafe impl<T: DeviceCopy> DeviceCopy for $($part)::+<T> {} )*
        };
    }

    macro_rules! tuples {
        ($($first:ident $($rest:ident)*;)*) => {
            // SAFETY: the type holds only values that are `DeviceCopy`.
            $( unsafe impl<$first: DeviceCopy, $($rest: DeviceCopy),*> DeviceCopy for ($first, $($rest),*) {} )*
        };
    }

    plain!(
        u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
    );
    plain!(f32, f64, bool, char, ());
    plain!(
        NonZeroU8,
        NonZeroU16,
        NonZeroU32,
        NonZeroU64,
        NonZeroU128,
        NonZeroUsize
    );
    plain!(
        NonZeroI8,
        NonZeroI16,
        NonZeroI32,
        NonZeroI64,
        NonZeroI128,
        NonZeroIsize
    );
    plain!(PhantomData<&()>);
    of_one!(Option, Wrapping, MaybeUninit);
    tuples! {
        A B;
        A B C;
        A B C D;
        A B C D E;
        A B C D E F;
        A B C D E F G;
        A B C D E F G H;
    }

    // SAFETY: the value is an address; dereferencing it is unsafe by itself.
    unsafe impl<T> DeviceCopy for *const T {}
    // SAFETY: as above.
    unsafe impl<T> DeviceCopy for *mut T {}
    // SAFETY: the type holds only a value of either type and a tag.
    unsafe impl<T: DeviceCopy, E: DeviceCopy> DeviceCopy for Result<T, E> {}
    // SAFETY: the type has no bytes.
    unsafe impl<T: DeviceCopy> DeviceCopy for PhantomData<T> {}
    // SAFETY: the type holds only values of `T`, which is `DeviceCopy`.
    unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}

    #[cfg(feature = "vek")]
    of_one! {
        vek::Vec2, vek::Vec3, vek::Vec4, vek::Extent2, vek::Extent3,
        vek::Mat2, vek::Mat3, vek::Mat4,
        vek::CubicBezier2, vek::CubicBezier3,
        vek::Quaternion,
    }

    #[cfg(feature = "glam")]
    plain! {
        glam::BVec2, glam::BVec3, glam::BVec3A, glam::BVec4, glam::BVec4A,
        glam::U8Vec2, glam::U8Vec3, glam::U8Vec4, glam::I8Vec2, glam::I8Vec3, glam::I8Vec4,
        glam::U16Vec2, glam::U16Vec3, glam::U16Vec4, glam::I16Vec2, glam::I16Vec3, glam::I16Vec4,
        glam::UVec2, glam::UVec3, glam::UVec4, glam::IVec2, glam::IVec3, glam::IVec4,
        glam::U64Vec2, glam::U64Vec3, glam::U64Vec4, glam::I64Vec2, glam::I64Vec3, glam::I64Vec4,
        glam::USizeVec2, glam::USizeVec3, glam::USizeVec4,
        glam::Vec2, glam::Vec3, glam::Vec3A, glam::Vec4, glam::DVec2, glam::DVec3, glam::DVec4,
        glam::Mat2, glam::Mat3, glam::Mat3A, glam::Mat4, glam::DMat2, glam::DMat3, glam::DMat4,
        glam::Quat, glam::DQuat, glam::Affine2, glam::Affine3A,
    }

    #[cfg(feature = "mint")]
    of_one! {
        mint::Vector2, mint::Vector3, mint::Vector4,
        mint::ColumnMatrix2, mint::ColumnMatrix3, mint::ColumnMatrix4, mint::ColumnMatrix3x4,
        mint::RowMatrix2, mint::RowMatrix3, mint::RowMatrix4, mint::RowMatrix3x4,
    }

    #[cfg(feature = "half")]
    plain!(half::f16, half::bf16);

    #[cfg(feature = "num-complex")]
    of_one!(num_complex::Complex);
}
