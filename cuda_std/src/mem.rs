//! Sizes of the block's shared memory, and dynamic allocation in kernels.
//!
//! With the feature `alloc`, `Vec`, `Box`, `String` and `format!` are in the prelude, and `extern crate alloc` gives all of
//! `alloc`. On the GPU the memory comes from the device's heap: 8 MiB for all lanes together, unless the host sets another
//! size (`CU_LIMIT_MALLOC_HEAP_SIZE`) before it loads the first module. A later launch may read and free memory that an
//! earlier launch allocated; the host can do neither. An allocation that does not fit panics. On the CPU executor the
//! memory comes from the host's allocator.

use core::{
    alloc::{GlobalAlloc, Layout},
    ffi::c_void,
};

use crate::imp;

/// The alignment of memory from [`malloc`].
pub(crate) const ALIGN: usize = 16;

/// Allocates `size` bytes from the device's heap, aligned to 16 bytes. Returns null if there is not enough memory.
///
/// # Safety
/// A call has no conditions; it is `unsafe` like every C function. [`free`] frees the memory.
#[inline]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: any size is valid.
    unsafe { imp::heap::allocate(size) }
}

/// Frees memory. Does nothing for null.
///
/// # Safety
/// `ptr` must be null or come from [`malloc`] on the same device, and must not be freed twice.
#[inline]
pub unsafe extern "C" fn free(ptr: *mut c_void) {
    // SAFETY: the caller upholds the contract.
    unsafe { imp::heap::release(ptr) }
}

/// The allocator that uses [`malloc`] and [`free`]. With the feature `alloc` it is the global allocator on the GPU.
#[derive(Debug, Clone, Copy, Default)]
pub struct CUDAAllocator;

// SAFETY: `malloc` returns unaliased memory of the requested size; where its alignment is too small, the memory is aligned
// here.
unsafe impl GlobalAlloc for CUDAAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if align <= ALIGN {
            // SAFETY: any size is valid.
            return unsafe { malloc(size) }.cast();
        }
        let Some(with_room) = size.checked_add(align) else {
            return core::ptr::null_mut();
        };
        // SAFETY: as above; the allocation starts at least 16 bytes before the returned address, which leaves room to store
        // its start there.
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
        // SAFETY: the trait's contract holds; where `alloc` aligned the memory, the start of the allocation is stored
        // before it.
        unsafe {
            let start = match layout.align() <= ALIGN {
                true => ptr,
                false => ptr.cast::<*mut u8>().sub(1).read(),
            };
            free(start.cast());
        }
    }
}

/// Returns the dynamic shared memory of a block, in bytes, as given at the launch.
#[inline(always)]
pub fn dynamic_smem_size() -> u32 {
    imp::dynamic_shared_bytes()
}

/// Returns the total shared memory of a block, static and dynamic, in bytes.
///
/// On the GPU the value is rounded up to the hardware's allocation unit and may include memory that the system reserves. On
/// the CPU executor it counts the static arrays that the block has reached so far.
#[inline(always)]
pub fn total_smem_size() -> u32 {
    imp::total_shared_bytes()
}
