//! The device's heap, and the symbols that the crate `alloc` requires.

use core::ffi::c_void;

unsafe extern "C" {
    // Every CUDA driver provides these functions; see the CUDA C++ programming guide, dynamic global memory allocation.
    fn malloc(size: usize) -> *mut c_void;
    fn free(ptr: *mut c_void);
}

/// # Safety
/// There are no conditions. The caller owns the memory.
#[inline(always)]
pub unsafe fn allocate(size: usize) -> *mut c_void {
    // SAFETY: any size is valid.
    unsafe { malloc(size) }
}

/// # Safety
/// `ptr` must be null or come from [`allocate`], and must not be freed twice.
#[inline(always)]
pub unsafe fn release(ptr: *mut c_void) {
    // SAFETY: the caller upholds the contract.
    unsafe { free(ptr) }
}

/// The global allocator, which `alloc` calls.
#[cfg(feature = "alloc")]
#[global_allocator]
static ALLOCATOR: crate::mem::CUDAAllocator = crate::mem::CUDAAllocator;

/// rustc generates the next two symbols when it links a program. Here `llvm-link` links, so they are defined by hand.
#[cfg(feature = "alloc")]
mod of_the_linker {
    /// A symbol that `alloc` requires to exist.
    #[rustc_std_internal_symbol]
    fn __rust_no_alloc_shim_is_unstable_v2() {}

    /// The handler of an allocation that fails.
    #[rustc_std_internal_symbol]
    fn __rust_alloc_error_handler(size: usize, _align: usize) -> ! {
        panic!("memory allocation of {size} bytes failed")
    }
}
