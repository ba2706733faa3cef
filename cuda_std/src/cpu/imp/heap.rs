//! The heap of kernels on the CPU executor: the host's heap.

use core::{ffi::c_void, ptr};
use std::alloc::{self, Layout};

use crate::mem::ALIGN;

/// Returns the layout of an allocation: its size, and then the memory.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(ALIGN)?, ALIGN).ok()
}

/// # Safety
/// This function has no requirements.
pub unsafe fn allocate(size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout has a size above 0. Its first bytes, which are aligned, hold the size.
    unsafe {
        let start = alloc::alloc(layout);
        if start.is_null() {
            return ptr::null_mut();
        }
        start.cast::<usize>().write(size);
        start.add(ALIGN).cast()
    }
}

/// # Safety
/// `ptr` must be null or come from [`allocate`], and must be released only once.
pub unsafe fn release(ptr: *mut c_void) {
    if ptr.is_null() {
        return;
    }
    // SAFETY: by the contract this is an allocation of this layout, with its size at the start.
    unsafe {
        let start = ptr.cast::<u8>().sub(ALIGN);
        if let Some(layout) = layout(start.cast::<usize>().read()) {
            alloc::dealloc(start, layout);
        }
    }
}
