//! Asynchronous copies as instructions, or as loads and stores on architectures without them.

use super::Place;

/// Does nothing: the GPU does not check.
#[inline(always)]
pub fn check_part<T, const N: usize>(_from: *const T, _len: usize, _j: usize, _count: usize) {}

#[cfg(target_feature = "sm_80")]
pub use instructions::*;

#[cfg(target_feature = "sm_80")]
mod instructions {
    use core::arch::asm;

    use super::Place;
    use crate::{nvptx::ptr, ptr::AddressSpace};

    /// Returns an element's address in the shared state space. It converts the array's start, which is the same for all
    /// copies to the array.
    #[inline(always)]
    fn address<T>(start: *mut T, i: usize) -> u32 {
        let start = ptr::to_specific(start.cast(), AddressSpace::Shared).addr();
        (start as u32).wrapping_add((i * size_of::<T>()) as u32)
    }

    /// The instruction for one copy of `$bytes` bytes, with the operands that follow the addresses and the size.
    macro_rules! copy {
        ($instruction:literal, $more:literal, $($operand:tt)*) => {
            asm!(concat!($instruction, $more, ";"), $($operand)*, options(nostack, preserves_flags))
        };
        ($bytes:expr, $more:literal, $($operand:tt)*) => {
            match $bytes {
                16 => copy!("cp.async.cg.shared.global [{0}], [{1}], 16", $more, $($operand)*),
                8 => copy!("cp.async.ca.shared.global [{0}], [{1}], 8", $more, $($operand)*),
                _ => copy!("cp.async.ca.shared.global [{0}], [{1}], 4", $more, $($operand)*),
            }
        };
    }

    /// # Safety
    /// `to + i` and `from + j` must be pointers to `N` elements in shared and in global memory, of 4, 8 or 16 bytes and
    /// aligned to that size.
    #[inline(always)]
    pub unsafe fn start<T: Copy, const N: usize>(
        to: *mut T,
        i: usize,
        from: *const T,
        j: usize,
        _: Place,
    ) {
        // SAFETY: the caller upholds the contract. The instruction is not `nomem`: it reads and writes memory.
        unsafe {
            copy!(
                size_of::<[T; N]>(),
                "",
                in(reg32) address(to, i),
                in(reg64) from.wrapping_add(j)
            )
        }
    }

    /// # Safety
    /// The conditions of [`start`] must hold, except that `from + j` is to `count` elements, at most `N`.
    #[inline(always)]
    pub unsafe fn start_part<T: Copy, const N: usize>(
        to: *mut T,
        i: usize,
        from: *const T,
        j: usize,
        count: usize,
        _: Place,
    ) {
        // SAFETY: as for `start`; the last operand is the number of bytes that the instruction reads.
        unsafe {
            copy!(
                size_of::<[T; N]>(),
                ", {2}",
                in(reg32) address(to, i),
                in(reg64) from.wrapping_add(j),
                in(reg32) (count * size_of::<T>()) as u32
            )
        }
    }

    #[inline(always)]
    pub fn commit_group() {
        // SAFETY: the instruction affects only the lane's own copies.
        unsafe { asm!("cp.async.commit_group;", options(nostack, preserves_flags)) }
    }

    #[inline(always)]
    pub fn wait_group<const PENDING: u32>() {
        // SAFETY: the instruction waits for the lane's own copies. It is not `nomem`: they have changed shared memory.
        unsafe {
            asm!(
                "cp.async.wait_group {0};",
                const PENDING,
                options(nostack, preserves_flags),
            );
        }
    }

    #[inline(always)]
    pub fn wait_all() {
        // SAFETY: as for `wait_group`.
        unsafe { asm!("cp.async.wait_all;", options(nostack, preserves_flags)) }
    }
}

#[cfg(not(target_feature = "sm_80"))]
pub use in_place::*;

#[cfg(not(target_feature = "sm_80"))]
mod in_place {
    use super::Place;
    use crate::nvptx::{load, store};

    /// # Safety
    /// `from + j` must be valid for a load and `to + i` for a store of the chunk.
    #[inline(always)]
    pub unsafe fn start<T: Copy, const N: usize>(
        to: *mut T,
        i: usize,
        from: *const T,
        j: usize,
        _: Place,
    ) {
        // SAFETY: the caller upholds the contract.
        unsafe { store(to.add(i), load::<T, N>(from.add(j))) }
    }

    /// # Safety
    /// The conditions of [`start`] must hold, except that `from + j` is to `count` elements, at most `N`. Zeros must be
    /// elements.
    #[inline(always)]
    pub unsafe fn start_part<T: Copy, const N: usize>(
        to: *mut T,
        i: usize,
        from: *const T,
        j: usize,
        count: usize,
        place: Place,
    ) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            if count == N {
                start::<T, N>(to, i, from, j, place);
                return;
            }
            for k in 0..N {
                let element = if k < count {
                    from.add(j + k).read()
                } else {
                    core::mem::zeroed()
                };
                to.add(i + k).write(element);
            }
        }
    }

    #[inline(always)]
    pub fn commit_group() {}

    #[inline(always)]
    pub fn wait_group<const PENDING: u32>() {}

    #[inline(always)]
    pub fn wait_all() {}
}
