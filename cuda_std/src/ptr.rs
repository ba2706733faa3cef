//! Address spaces, and conversions between them and generic pointers.
//!
//! Ordinary pointers are generic: they can point to any address space. Views know their address space; these functions are
//! for other pointers.

use crate::imp;

/// An address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Device memory, which all lanes can read and write.
    Global,
    /// The block's shared memory.
    Shared,
    /// Device memory that kernels only read.
    Constant,
    /// The lane's local memory: its stack.
    Local,
}

/// Returns whether `ptr` points to this address space. On the CPU executor, memory that is neither the block's shared
/// memory nor on the lane's stack counts as global.
///
/// # Safety
/// `ptr` must be valid for a `T`.
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    imp::ptr::is_in(ptr.cast(), address_space)
}

/// Converts a generic pointer to an address in its own address space (`cvta.to`). On the CPU executor both are the same.
///
/// # Safety
/// `ptr` must be valid for a `T` and point to this address space. Rust code must not read through the result: it is for
/// instructions that take an address of that space.
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    imp::ptr::to_specific(ptr.cast(), address_space).cast()
}

/// Converts an address in its own address space to a generic pointer (`cvta`). On the CPU executor both are the same.
///
/// # Safety
/// `ptr` must be an address in this address space that is valid for a `T`.
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    imp::ptr::to_generic(ptr.cast(), address_space).cast()
}
