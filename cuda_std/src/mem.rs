//! Sizes of the block's shared memory, and memory that kernels allocate.
//!
//! With the feature `alloc`, `Vec`, `Box`, `String` and `format!` are in the prelude, and all of `alloc` by
//! `extern crate alloc`. On the GPU the memory is that of the device's heap, 8 MiB for all lanes together unless the host
//! sets another size (`CU_LIMIT_MALLOC_HEAP_SIZE`) before it loads the first module. What one launch allocates the next one
//! may read and give back; the host can do neither. An allocation for which there is no room is a panic. On the CPU executor
//! it is the host's memory, by its own allocator.

use core::{
    alloc::{GlobalAlloc, Layout},
    ffi::c_void,
};

use crate::imp;

/// The alignment of what [`malloc`] gives.
pub(crate) const ALIGN: usize = 16;

/// Memory of the device's heap, in bytes, aligned to 16; null where there is no room.
///
/// # Safety
/// None to ask for it: it is `unsafe` as a function of C's is. [`free`] gives it back.
#[inline]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: takes any size.
    unsafe { imp::heap::allocate(size) }
}

/// Gives memory back; nothing for null.
///
/// # Safety
/// `ptr` is null or of [`malloc`], on the same device, and given back once.
#[inline]
pub unsafe extern "C" fn free(ptr: *mut c_void) {
    // SAFETY: by the contract.
    unsafe { imp::heap::release(ptr) }
}

/// The allocator over [`malloc`] and [`free`]; with the feature `alloc` it is the global one on the GPU.
#[derive(Debug, Clone, Copy, Default)]
pub struct CUDAAllocator;

// SAFETY: memory of `malloc` is nobody else's, as large as asked for, and aligned here where its own alignment will not do.
unsafe impl GlobalAlloc for CUDAAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if align <= ALIGN {
            // SAFETY: takes any size.
            return unsafe { malloc(size) }.cast();
        }
        let Some(with_room) = size.checked_add(align) else {
            return core::ptr::null_mut();
        };
        // SAFETY: as above; the start is at least 16 bytes before what is given, which leaves room for it there.
        unsafe {
            let start = malloc(with_room).cast::<u8>();
            if start.is_null() {
                return start;
            }
            let given = start.add(align - start.addr() % align);
            given.cast::<*mut u8>().sub(1).write(start);
            given
        }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: by the contract of the trait; where `alloc` has aligned, the start lies before.
        unsafe {
            let start = match layout.align() <= ALIGN {
                true => ptr,
                false => ptr.cast::<*mut u8>().sub(1).read(),
            };
            free(start.cast());
        }
    }
}

/// Bytes of dynamic shared memory that the launch gave each block.
#[inline(always)]
pub fn dynamic_smem_size() -> u32 {
    imp::dynamic_shared_bytes()
}

/// Bytes of shared memory that each block has in all, static and dynamic.
///
/// On the GPU it is rounded up to the unit that the hardware hands out, and may contain what the system
/// reserves; on the CPU executor it counts the static arrays that the block has come to so far.
#[inline(always)]
pub fn total_smem_size() -> u32 {
    imp::total_shared_bytes()
}
