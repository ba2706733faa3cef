//! Bulk copies as instructions. Each lane executes them for itself.

use core::arch::asm;

use super::{Place, mbarrier::address, ptr};
use crate::ptr::AddressSpace;

/// Does nothing: the GPU does not check.
#[inline(always)]
pub fn check<T>(_start: *const T, _len: usize, _i: usize, _count: usize, _write: bool) {}

/// Returns an element's address in the shared state space.
#[inline(always)]
pub(super) fn shared<T>(start: *const T, i: usize) -> u32 {
    let start = ptr::to_specific(start.cast_mut().cast(), AddressSpace::Shared).addr();
    (start as u32).wrapping_add((i * size_of::<T>()) as u32)
}

/// # Safety
/// `to + i` must be to `count` elements of shared memory, `from + j` to as many of global memory, and `mbarrier` to an
/// mbarrier. Addresses and size are multiples of 16 bytes.
#[inline(always)]
pub unsafe fn load<T>(
    to: *mut T,
    i: usize,
    (from, j): (*const T, usize),
    count: usize,
    mbarrier: *mut u64,
    _: Place,
) {
    // SAFETY: the caller upholds the contract. A block's own shared memory is part of its cluster's.
    unsafe {
        asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{0}], [{1}], {2}, [{3}];",
            in(reg32) shared(to, i),
            in(reg64) from.wrapping_add(j),
            in(reg32) (count * size_of::<T>()) as u32,
            in(reg32) address(mbarrier),
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As for [`load`], in each block of the ranks.
#[inline(always)]
pub unsafe fn load_to<T>(
    (to, i, ranks): (*mut T, usize, u16),
    (from, j): (*const T, usize),
    count: usize,
    mbarrier: *mut u64,
    _: Place,
) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
             [{0}], [{1}], {2}, [{3}], {4};",
            in(reg32) shared(to, i),
            in(reg64) from.wrapping_add(j),
            in(reg32) (count * size_of::<T>()) as u32,
            in(reg32) address(mbarrier),
            in(reg16) ranks,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// `to + j` must be to `count` elements of global memory, and `from + i` to as many of shared memory. Addresses and size are
/// multiples of 16 bytes.
#[inline(always)]
pub unsafe fn store<T>((to, j): (*mut T, usize), from: *const T, i: usize, count: usize, _: Place) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        asm!(
            "cp.async.bulk.global.shared::cta.bulk_group [{0}], [{1}], {2};",
            in(reg64) to.wrapping_add(j),
            in(reg32) shared(from, i),
            in(reg32) (count * size_of::<T>()) as u32,
            options(nostack, preserves_flags),
        );
    }
}

#[inline(always)]
pub fn commit_group() {
    // SAFETY: the instruction affects only the lane's own copies.
    unsafe {
        asm!(
            "cp.async.bulk.commit_group;",
            options(nostack, preserves_flags)
        )
    }
}

#[inline(always)]
pub fn wait_group_read<const PENDING: u32>() {
    // SAFETY: the instruction waits for the lane's own copies.
    unsafe {
        asm!(
            "cp.async.bulk.wait_group.read {0};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
}

#[inline(always)]
pub fn wait_group<const PENDING: u32>() {
    // SAFETY: the instruction waits for the lane's own copies. It is not `nomem`: they have changed global memory.
    unsafe {
        asm!(
            "cp.async.bulk.wait_group {0};",
            const PENDING,
            options(nostack, preserves_flags),
        );
    }
}

#[inline(always)]
pub fn fence_proxy_async() {
    // SAFETY: a fence has no conditions.
    unsafe {
        asm!(
            "fence.proxy.async.shared::cta;",
            options(nostack, preserves_flags)
        )
    }
}
