//! Kinds of memory, and which one a pointer is to.
//!
//! Ordinary pointers are generic: they name every kind of memory. The views know their kind already;
//! this is for pointers from elsewhere.

use crate::imp;

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Memory of the device, for all lanes to read and write.
    Global,
    /// Memory of the block.
    Shared,
    /// Memory of the device that kernels only read.
    Constant,
    /// Memory of the lane: its stack.
    Local,
}

/// Whether `ptr` is to this kind of memory. On the CPU executor what is neither in the block's shared
/// memory nor on the lane's stack counts as global.
///
/// # Safety
/// `ptr` is valid for a `T`.
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    imp::ptr::is_in(ptr.cast(), address_space)
}

/// The address in its own kind of memory of a generic pointer (`cvta.to`); on the CPU executor they are
/// the same.
///
/// # Safety
/// `ptr` is valid for a `T`, and is to this kind of memory. The result is no pointer that Rust code may
/// read through: it is for instructions that take an address of that kind.
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    imp::ptr::to_specific(ptr.cast(), address_space).cast()
}

/// The generic pointer of an address in its own kind of memory (`cvta`); on the CPU executor they are the
/// same.
///
/// # Safety
/// `ptr` is an address of this kind of memory, and valid for a `T` there.
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    imp::ptr::to_generic(ptr.cast(), address_space).cast()
}
