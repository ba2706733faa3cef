//! Atomic floats as types, for memory that is not accessed through a view.

use core::{cell::UnsafeCell, sync::atomic::Ordering};

use super::{Atomic, How, Rmw, Scope, how};

macro_rules! atomic_float {
    ($($name:ident: $ty:ident, $bits:literal, $align:literal, $scope:ident, $whom:literal $(, $unsafe:ident)?;)*) => { $(
        #[doc = concat!("An atomic `", stringify!($ty), "` for ", $whom, ".")]
        ///
        /// The type has the size, the alignment and the bits of the plain float. Additions round in the order in which they
        /// happen, which differs from run to run.
        #[repr(C, align($align))]
        pub struct $name {
            value: UnsafeCell<$ty>,
        }

        // SAFETY: all accesses through a shared reference are atomic.
        unsafe impl Sync for $name {}

        impl $name {
            /// Creates an atomic float with the value `v`.
            pub const fn new(v: $ty) -> Self {
                Self { value: UnsafeCell::new(v) }
            }

            /// Returns the value.
            pub fn into_inner(self) -> $ty {
                self.value.into_inner()
            }

            #[inline(always)]
            #[track_caller]
            fn how(order: Ordering) -> How {
                how(order, Scope::$scope)
            }

            atomic_float! { @rmw $ty $($unsafe)?
                /// Adds `val` and returns the previous value.
                fetch_add(val) Add, val;
                /// Subtracts `val`, as an addition of `-val`, and returns the previous value.
                fetch_sub(val) Add, -val;
                /// Applies a bitwise and to the floats' bits and returns the previous value.
                fetch_and(val) And, val;
                /// Applies a bitwise or to the floats' bits and returns the previous value.
                fetch_or(val) Or, val;
                /// Applies a bitwise exclusive or to the floats' bits and returns the previous value.
                fetch_xor(val) Xor, val;
            }

            /// Loads the value.
            ///
            /// # Panics
            /// Panics for the orderings `Release` and `AcqRel`.
            $(#[doc = concat!("\n# Safety\n", stringify!($unsafe), " because only the lanes of one block may touch the value at the same time.")])?
            #[inline(always)]
            #[track_caller]
            pub $($unsafe)? fn load(&self, order: Ordering) -> $ty {
                // SAFETY: the pointer is to a live float.
                unsafe { <$ty as Atomic>::load(self.value.get(), Self::how(order)) }
            }

            /// Stores a value.
            ///
            /// # Panics
            /// Panics for the orderings `Acquire` and `AcqRel`.
            $(#[doc = concat!("\n# Safety\n", stringify!($unsafe), " because only the lanes of one block may touch the value at the same time.")])?
            #[inline(always)]
            #[track_caller]
            pub $($unsafe)? fn store(&self, val: $ty, order: Ordering) {
                // SAFETY: the pointer is to a live float.
                unsafe { <$ty as Atomic>::store(self.value.get(), val, Self::how(order)) }
            }
        }
    )* };
    (@rmw $ty:ident $($unsafe:ident)? ) => {};
    (@rmw $ty:ident unsafe $(#[$doc:meta])* $name:ident($val:ident) $op:ident, $operand:expr; $($rest:tt)*) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Only the lanes of one block may access the value at the same time.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(&self, $val: $ty, order: Ordering) -> $ty {
            // SAFETY: the pointer is to a live float.
            unsafe { <$ty as Atomic>::rmw(Rmw::$op, self.value.get(), $operand, Self::how(order)) }
        }
        atomic_float! { @rmw $ty unsafe $($rest)* }
    };
    (@rmw $ty:ident $(#[$doc:meta])* $name:ident($val:ident) $op:ident, $operand:expr; $($rest:tt)*) => {
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name(&self, $val: $ty, order: Ordering) -> $ty {
            // SAFETY: the pointer is to a live float.
            unsafe { <$ty as Atomic>::rmw(Rmw::$op, self.value.get(), $operand, Self::how(order)) }
        }
        atomic_float! { @rmw $ty $($rest)* }
    };
}

atomic_float! {
    AtomicF32: f32, 32, 4, Device, "the lanes of a device";
    AtomicF64: f64, 64, 8, Device, "the lanes of a device";
    BlockAtomicF32: f32, 32, 4, Block, "the lanes of a block", unsafe;
    BlockAtomicF64: f64, 64, 8, Block, "the lanes of a block", unsafe;
    SystemAtomicF32: f32, 32, 4, System, "the lanes of all devices and the host";
    SystemAtomicF64: f64, 64, 8, System, "the lanes of all devices and the host";
}
