//! The device's heap, and what the crate `alloc` asks of an allocator.

use core::ffi::c_void;

unsafe extern "C" {
    // Declared by every CUDA driver; see the CUDA C++ programming guide, dynamic global memory allocation.
    fn malloc(size: usize) -> *mut c_void;
    fn free(ptr: *mut c_void);
}

/// # Safety
/// None; the memory is one's own.
#[inline(always)]
pub unsafe fn allocate(size: usize) -> *mut c_void {
    // SAFETY: takes any size.
    unsafe { malloc(size) }
}

/// # Safety
/// `ptr` is null or of [`allocate`], and given back once.
#[inline(always)]
pub unsafe fn release(ptr: *mut c_void) {
    // SAFETY: by the contract.
    unsafe { free(ptr) }
}

/// The allocator that `alloc` calls.
#[cfg(feature = "alloc")]
#[global_allocator]
static ALLOCATOR: crate::mem::CUDAAllocator = crate::mem::CUDAAllocator;

/// rustc writes the next two where it links a program, which here `llvm-link` does.
#[cfg(feature = "alloc")]
mod of_the_linker {
    /// Something that `alloc` wants to be there.
    #[rustc_std_internal_symbol]
    fn __rust_no_alloc_shim_is_unstable_v2() {}

    /// What becomes of an allocation for which there is no room.
    #[rustc_std_internal_symbol]
    fn __rust_alloc_error_handler(size: usize, _align: usize) -> ! {
        panic!("memory allocation of {size} bytes failed")
    }
}
