//! Copies of tiles as instructions. Each lane executes them for itself.

use core::arch::asm;

use super::{Place, bulk::shared, mbarrier};
use crate::tensor_map::EncodedTensorMap;

/// Does nothing: the GPU does not check.
#[inline(always)]
pub fn check<T>(
    _start: *const T,
    _len: usize,
    _i: usize,
    _count: usize,
    _map: *const EncodedTensorMap,
    _write: bool,
) {
}

/// Returns an address in shared memory, in its state space.
#[inline(always)]
pub fn address<T>(start: *const T) -> usize {
    shared(start, 0) as usize
}

/// # Safety
/// `to + i` must be to a tile in shared memory, `map` to the map of a matrix in global memory, and `mbarrier` to an mbarrier.
#[inline(always)]
pub unsafe fn load<T, const N: usize>(
    to: *mut T,
    i: usize,
    map: *const EncodedTensorMap,
    corner: [i32; N],
    mbarrier: *mut u64,
    _: Place,
) {
    // SAFETY: the caller upholds the contract. A block's own shared memory is part of its cluster's.
    unsafe {
        if N == 3 {
            asm!(
                "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
                 [{0}], [{1}, {{{2}, {3}, {4}}}], [{5}];",
                in(reg32) shared(to, i),
                in(reg64) map,
                in(reg32) corner[0],
                in(reg32) corner[1],
                in(reg32) corner[N - 1],
                in(reg32) mbarrier::address(mbarrier),
                options(nostack, preserves_flags),
            );
        } else {
            asm!(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
                 [{0}], [{1}, {{{2}, {3}}}], [{4}];",
                in(reg32) shared(to, i),
                in(reg64) map,
                in(reg32) corner[0],
                in(reg32) corner[1],
                in(reg32) mbarrier::address(mbarrier),
                options(nostack, preserves_flags),
            );
        }
    }
}

/// # Safety
/// As for [`load`], in each block of the ranks.
#[inline(always)]
pub unsafe fn load_to<T, const N: usize>(
    (to, i, ranks): (*mut T, usize, u16),
    map: *const EncodedTensorMap,
    corner: [i32; N],
    mbarrier: *mut u64,
    _: Place,
) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        if N == 3 {
            asm!(
                "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster \
                 [{0}], [{1}, {{{2}, {3}, {4}}}], [{5}], {6};",
                in(reg32) shared(to, i),
                in(reg64) map,
                in(reg32) corner[0],
                in(reg32) corner[1],
                in(reg32) corner[N - 1],
                in(reg32) mbarrier::address(mbarrier),
                in(reg16) ranks,
                options(nostack, preserves_flags),
            );
        } else {
            asm!(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster \
                 [{0}], [{1}, {{{2}, {3}}}], [{4}], {5};",
                in(reg32) shared(to, i),
                in(reg64) map,
                in(reg32) corner[0],
                in(reg32) corner[1],
                in(reg32) mbarrier::address(mbarrier),
                in(reg16) ranks,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// # Safety
/// `from + i` must be to a tile in shared memory, and `map` to the map of a matrix in global memory.
#[inline(always)]
pub unsafe fn store<T, const N: usize>(
    map: *const EncodedTensorMap,
    corner: [i32; N],
    from: *const T,
    i: usize,
    _: Place,
) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        if N == 3 {
            asm!(
                "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group \
                 [{0}, {{{1}, {2}, {3}}}], [{4}];",
                in(reg64) map,
                in(reg32) corner[0],
                in(reg32) corner[1],
                in(reg32) corner[N - 1],
                in(reg32) shared(from, i),
                options(nostack, preserves_flags),
            );
        } else {
            asm!(
                "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group \
                 [{0}, {{{1}, {2}}}], [{3}];",
                in(reg64) map,
                in(reg32) corner[0],
                in(reg32) corner[1],
                in(reg32) shared(from, i),
                options(nostack, preserves_flags),
            );
        }
    }
}
