//! Atomic operations on global and shared memory.
//!
//! A kernel uses them through its views: `counts.atomic_add(bin, 1)` is relaxed. Its scope is the device on a [`GlobalMut`]
//! and on the memory of a block of the cluster (`ClusterShared`), and the block on a [`Shared`]. The `_with` forms take an
//! [`Ordering`] and a [`Scope`]. A relaxed operation orders only accesses to the same element. [`mid`] has the fences. [`mid`]
//! and [`intrinsics`] have Rust-CUDA's functions on pointers.
//!
//! On the GPU each operation is one instruction of its state space (`red.global`, `atom.shared`, …), with fences around it
//! where the ordering requires them. The hardware only has integer atomics of 32 and 64 bits, hence the types.
//!
//! # Waiting
//! `flags.wait_until(i, Ordering::Acquire, Scope::Device, |flag| flag != 0)` waits until another lane has made element
//! `i` such that the closure says yes, and gives the element. It is an atomic load of the ordering and scope given,
//! repeated: with `Acquire`, what the lane that stored the value with `Release` did before is seen from here on. With
//! `Relaxed` nothing but the element is: enough where the value is in the word itself.
//!
//! - The closure must depend on its argument alone. A value that was there for a moment may be missed.
//! - A lane that has started goes on at some time; a block starts in no promised order, and perhaps only when another one
//!   has ended. So a lane may wait for blocks that took a number of one counter before its own block did (a ticket, by
//!   `atomic_add`), never for a block by its index.
//! - Lanes of one warp may wait for each other, and each for a word of its own; a vote or shuffle behind it makes them meet.
//! - On the GPU the lane loads, and sleeps as [`Backoff`] says. On the CPU executor it is suspended until the word has
//!   changed. Where all lanes that could go on wait so, the launch ends with an error that names them.
//!
//! # Floating point
//! - Addition is native. The order of the additions is not fixed, and neither is the rounding: float sums may differ in the
//!   last bits from run to run. On the GPU, `f32` additions in global memory flush subnormal operands and results to zero
//!   (PTX ISA, `atom.add.f32`); those in shared memory and on the CPU executor do not.
//! - Minimum and maximum order `-0.0` below `0.0`. A NaN operand makes the element NaN, and it stays NaN under further
//!   operations of the same kind (minimum after minimum, maximum after maximum). An element that was NaN before for another
//!   reason may be treated as a number.
//! - Compare-and-exchange compares the bits.

mod float;
pub mod intrinsics;
pub mod mid;

use core::sync::atomic::Ordering;

pub use float::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64,
};

#[doc(hidden)]
pub use crate::space::Space;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
use crate::view::ClusterShared;
use crate::{
    imp::{self, Place},
    view::{GlobalMut, Shared},
};

/// The scope of an atomic operation: the lanes for which it is atomic and ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The lanes of the block.
    Block,
    /// All lanes of the device.
    Device,
    /// All devices and the host.
    System,
}

/// A read-modify-write operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Rmw {
    /// The sum. Integers wrap around.
    Add,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The new value.
    Exchange,
}

/// The space, ordering and scope of an atomic operation.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct How {
    /// The state space.
    pub space: Space,
    /// The ordering.
    pub order: Ordering,
    /// The scope.
    pub scope: Scope,
    /// The source line of the operation.
    pub place: Place,
}

/// Returns the parameters of an operation on a generic address.
#[inline(always)]
#[track_caller]
fn how(order: Ordering, scope: Scope) -> How {
    How {
        space: Space::Generic,
        order,
        scope,
        place: Place::here(),
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type with atomic operations: `u32 i32 u64 i64 f32 f64`.
///
/// The operations are methods of the views, such as [`GlobalMut::atomic_add`].
pub trait Atomic: crate::Plain + sealed::Sealed {
    /// # Safety
    /// `ptr` must be an aligned pointer to an element in the space that `how` names. While other lanes may access the
    /// element, all accesses must be atomic.
    #[doc(hidden)]
    unsafe fn rmw(op: Rmw, ptr: *mut Self, value: Self, how: How) -> Self;

    /// # Safety
    /// The conditions of [`rmw`](Self::rmw) must hold.
    #[doc(hidden)]
    unsafe fn cas(ptr: *mut Self, current: Self, new: Self, how: How) -> Result<Self, Self>;

    /// # Safety
    /// The conditions of [`rmw`](Self::rmw) must hold.
    #[doc(hidden)]
    unsafe fn load(ptr: *mut Self, how: How) -> Self;

    /// # Safety
    /// The conditions of [`rmw`](Self::rmw) must hold.
    #[doc(hidden)]
    unsafe fn store(ptr: *mut Self, value: Self, how: How);
}

/// A type with atomic bitwise operations, and words that a lane can wait for: `u32 i32 u64 i64`.
pub trait AtomicInt: Atomic {
    /// # Safety
    /// As for [`rmw`](Atomic::rmw).
    #[doc(hidden)]
    unsafe fn wait(
        ptr: *mut Self,
        how: How,
        backoff: Backoff,
        ready: impl Fn(Self) -> bool,
    ) -> Self;
}

/// How long a lane of a GPU sleeps, by `nanosleep`, when it has looked at what it waits for: `first` nanoseconds, and each
/// further time twice as long, up to `most`. The CPU executor has no use for it.
///
/// A sleeping lane leaves the memory to those that work, and sees later what it waits for. Which is better depends on
/// the kernel, so it is a matter of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Nanoseconds of the first sleep; 0: none at all.
    pub first: u32,
    /// Nanoseconds of the longest sleep, at most a million.
    pub most: u32,
}

impl Backoff {
    /// The lane looks again and again.
    pub const NONE: Self = Self { first: 0, most: 0 };
}

impl Default for Backoff {
    /// 32 nanoseconds up to 256.
    fn default() -> Self {
        Self {
            first: 32,
            most: 256,
        }
    }
}

macro_rules! atomic_int {
    ($($ty:ident),*) => { $(
        impl sealed::Sealed for $ty {}

        impl AtomicInt for $ty {
            #[inline(always)]
            unsafe fn wait(
                ptr: *mut Self,
                how: How,
                backoff: Backoff,
                ready: impl Fn(Self) -> bool,
            ) -> Self {
                // SAFETY: by the contract.
                unsafe { imp::atomic::$ty::wait(ptr, how, backoff, ready) }
            }
        }

        impl Atomic for $ty {
            #[inline(always)]
            unsafe fn rmw(op: Rmw, ptr: *mut Self, value: Self, how: How) -> Self {
                // SAFETY: the caller upholds the contract.
                unsafe { imp::atomic::$ty::rmw(op, ptr, value, how) }
            }

            #[inline(always)]
            unsafe fn cas(ptr: *mut Self, current: Self, new: Self, how: How) -> Result<Self, Self> {
                // SAFETY: the caller upholds the contract.
                let old = unsafe { imp::atomic::$ty::cas(ptr, current, new, how) };
                if old == current { Ok(old) } else { Err(old) }
            }

            #[inline(always)]
            unsafe fn load(ptr: *mut Self, how: How) -> Self {
                // SAFETY: the caller upholds the contract.
                unsafe { imp::atomic::$ty::load(ptr, how) }
            }

            #[inline(always)]
            unsafe fn store(ptr: *mut Self, value: Self, how: How) {
                // SAFETY: the caller upholds the contract.
                unsafe { imp::atomic::$ty::store(ptr, value, how) }
            }
        }
    )* };
}
atomic_int!(u32, i32, u64, i64);

macro_rules! atomic_float {
    ($($ty:ident: $unsigned:ident, $signed:ident, $add:ident;)*) => { $(
        impl sealed::Sealed for $ty {}

        impl Atomic for $ty {
            #[inline(always)]
            unsafe fn rmw(op: Rmw, ptr: *mut Self, value: Self, how: How) -> Self {
                let bits = value.to_bits();
                let negative = bits >> ($unsigned::BITS - 1) != 0;
                // Non-negative floats have the order of their bits as signed integers, above all negative ones. Negative
                // floats have the reverse order of their bits as unsigned integers. A NaN takes the bits at the winning
                // end.
                // SAFETY: the caller upholds the contract; all these types have the same size and alignment.
                let old = unsafe {
                    match op {
                        Rmw::Add => return imp::atomic::$add(ptr, value, how),
                        Rmw::Min if value.is_nan() => {
                            $unsigned::rmw(Rmw::Max, ptr.cast(), $unsigned::MAX, how)
                        }
                        Rmw::Max if value.is_nan() => {
                            $signed::rmw(Rmw::Max, ptr.cast(), $signed::MAX, how) as $unsigned
                        }
                        Rmw::Min if negative => $unsigned::rmw(Rmw::Max, ptr.cast(), bits, how),
                        Rmw::Max if negative => $unsigned::rmw(Rmw::Min, ptr.cast(), bits, how),
                        Rmw::Min | Rmw::Max => {
                            $signed::rmw(op, ptr.cast(), bits as $signed, how) as $unsigned
                        }
                        _ => $unsigned::rmw(op, ptr.cast(), bits, how),
                    }
                };
                Self::from_bits(old)
            }

            #[inline(always)]
            unsafe fn cas(ptr: *mut Self, current: Self, new: Self, how: How) -> Result<Self, Self> {
                // SAFETY: the caller upholds the contract.
                unsafe { $unsigned::cas(ptr.cast(), current.to_bits(), new.to_bits(), how) }
                    .map(Self::from_bits)
                    .map_err(Self::from_bits)
            }

            #[inline(always)]
            unsafe fn load(ptr: *mut Self, how: How) -> Self {
                // SAFETY: the caller upholds the contract.
                Self::from_bits(unsafe { $unsigned::load(ptr.cast(), how) })
            }

            #[inline(always)]
            unsafe fn store(ptr: *mut Self, value: Self, how: How) {
                // SAFETY: the caller upholds the contract.
                unsafe { $unsigned::store(ptr.cast(), value.to_bits(), how) }
            }
        }
    )* };
}
atomic_float! {
    f32: u32, i32, add_f32;
    f64: u64, i64, add_f64;
}

macro_rules! view_rmw {
    ($bound:ident, $view:ident, $space:ident, $scope:ident;
     $($name:ident, $name_with:ident, $op:ident, $what:literal;)*) => {
        impl<T: $bound> $view<T> { $(
            #[doc = concat!("Sets element `i` to ", $what, ", and returns the previous value. The ordering is relaxed.")]
            #[inline(always)]
            #[track_caller]
            pub fn $name(self, i: usize, value: T) -> T {
                self.$name_with(i, value, Ordering::Relaxed, Scope::$scope)
            }

            #[doc = concat!("[`", stringify!($name), "`](Self::", stringify!($name), ") with an ordering and a scope.")]
            #[inline(always)]
            #[track_caller]
            pub fn $name_with(self, i: usize, value: T, order: Ordering, scope: Scope) -> T {
                let how = How { space: Space::$space, order, scope, place: Place::here() };
                // SAFETY: the element is within the view, whose constructor's caller guarantees it.
                unsafe { T::rmw(Rmw::$op, self.atomic_ptr(i), value, how) }
            }
        )* }
    };
}

macro_rules! view_atomics {
    ($view:ident, $space:ident, $scope:ident) => {
        view_rmw! { Atomic, $view, $space, $scope;
            atomic_add, atomic_add_with, Add, "its sum with `value` (integers wrap around)";
            atomic_min, atomic_min_with, Min, "the lesser of itself and `value`";
            atomic_max, atomic_max_with, Max, "the greater of itself and `value`";
            atomic_exchange, atomic_exchange_with, Exchange, "`value`";
        }
        view_rmw! { AtomicInt, $view, $space, $scope;
            atomic_and, atomic_and_with, And, "its bitwise and with `value`";
            atomic_or, atomic_or_with, Or, "its bitwise or with `value`";
            atomic_xor, atomic_xor_with, Xor, "its bitwise exclusive or with `value`";
        }

        impl<T: Atomic> $view<T> {
            /// Sets element `i` to `new` if it is `current`. Returns the previous value, as `Ok` if the element was set,
            /// else as `Err`. The ordering is relaxed.
            #[inline(always)]
            #[track_caller]
            pub fn atomic_compare_exchange(self, i: usize, current: T, new: T) -> Result<T, T> {
                self.atomic_compare_exchange_with(i, current, new, Ordering::Relaxed, Scope::$scope)
            }

            /// An [`atomic_compare_exchange`](Self::atomic_compare_exchange) with an ordering, for success and failure
            /// alike, and a scope.
            #[inline(always)]
            #[track_caller]
            pub fn atomic_compare_exchange_with(
                self,
                i: usize,
                current: T,
                new: T,
                order: Ordering,
                scope: Scope,
            ) -> Result<T, T> {
                let how = How {
                    space: Space::$space,
                    order,
                    scope,
                    place: Place::here(),
                };
                // SAFETY: the element is within the view, whose constructor's caller guarantees it.
                unsafe { T::cas(self.atomic_ptr(i), current, new, how) }
            }

            /// Loads element `i` atomically.
            ///
            /// # Panics
            /// Panics for the orderings `Release` and `AcqRel`, which a load cannot have.
            #[inline(always)]
            #[track_caller]
            pub fn atomic_load(self, i: usize, order: Ordering, scope: Scope) -> T {
                let how = How {
                    space: Space::$space,
                    order,
                    scope,
                    place: Place::here(),
                };
                // SAFETY: the element is within the view, whose constructor's caller guarantees it.
                unsafe { T::load(self.atomic_ptr(i), how) }
            }

            /// Stores element `i` atomically.
            ///
            /// # Panics
            /// Panics for the orderings `Acquire` and `AcqRel`, which a store cannot have.
            #[inline(always)]
            #[track_caller]
            pub fn atomic_store(self, i: usize, value: T, order: Ordering, scope: Scope) {
                let how = How {
                    space: Space::$space,
                    order,
                    scope,
                    place: Place::here(),
                };
                // SAFETY: the element is within the view, whose constructor's caller guarantees it.
                unsafe { T::store(self.atomic_ptr(i), value, how) }
            }
        }

        impl<T: AtomicInt> $view<T> {
            /// Waits until `ready` says so of element `i`, and gives what it was then: see
            /// [waiting](crate::atomic#waiting).
            ///
            /// # Panics
            /// With the orderings `Release` and `AcqRel`, which a load cannot have.
            #[inline(always)]
            #[track_caller]
            pub fn wait_until(
                self,
                i: usize,
                order: Ordering,
                scope: Scope,
                ready: impl Fn(T) -> bool,
            ) -> T {
                self.wait_until_with(i, order, scope, Backoff::default(), ready)
            }

            /// [`wait_until`](Self::wait_until) with the lane's sleeps between two looks.
            ///
            /// # Panics
            /// As [`wait_until`](Self::wait_until).
            #[inline(always)]
            #[track_caller]
            pub fn wait_until_with(
                self,
                i: usize,
                order: Ordering,
                scope: Scope,
                backoff: Backoff,
                ready: impl Fn(T) -> bool,
            ) -> T {
                let how = How {
                    space: Space::$space,
                    order,
                    scope,
                    place: Place::here(),
                };
                // SAFETY: an element of the view, which the constructor's caller vouched for.
                unsafe { T::wait(self.atomic_ptr(i), how, backoff, ready) }
            }
        }
    };
}

impl<T: Atomic> GlobalMut<T> {
    /// Loads elements `i..i + N` with one instruction, each of them atomically and relaxed. Nothing orders the elements of a
    /// chunk with each other: another lane's store of the same chunk may be seen in part.
    ///
    /// The chunk has 8 or 16 bytes, and the address of element `i` must be a multiple of that size.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_load_chunk<const N: usize>(self, i: usize, scope: Scope) -> [T; N] {
        const { assert!(N > 1 && matches!(N * size_of::<T>(), 8 | 16)) };
        imp::check_bounds(self.as_ptr(), self.len(), i, N, false);
        // SAFETY: the elements are within the view, whose constructor's caller guarantees it, and aligned.
        unsafe { imp::atomic::load_chunk(self.atomic_ptr(i), relaxed(scope)) }
    }

    /// Stores elements `i..i + N` with one instruction, each of them atomically and relaxed. See
    /// [`atomic_load_chunk`](Self::atomic_load_chunk).
    #[inline(always)]
    #[track_caller]
    pub fn atomic_store_chunk<const N: usize>(self, i: usize, values: [T; N], scope: Scope) {
        const { assert!(N > 1 && matches!(N * size_of::<T>(), 8 | 16)) };
        imp::check_bounds(self.as_ptr(), self.len(), i, N, true);
        // SAFETY: as for `atomic_load_chunk`.
        unsafe { imp::atomic::store_chunk(self.atomic_ptr(i), values, relaxed(scope)) }
    }
}

/// Returns the parameters of a relaxed operation on global memory.
#[inline(always)]
#[track_caller]
fn relaxed(scope: Scope) -> How {
    How {
        space: Space::Global,
        order: Ordering::Relaxed,
        scope,
        place: Place::here(),
    }
}

view_atomics!(GlobalMut, Global, Device);
view_atomics!(Shared, Shared, Block);
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
view_atomics!(ClusterShared, Generic, Device);
