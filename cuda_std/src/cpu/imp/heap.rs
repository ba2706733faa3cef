//! The heap of the CPU executor's kernels: the host's own.

use core::{ffi::c_void, ptr};
use std::alloc::{self, Layout};

use crate::mem::ALIGN;

/// The memory and, before it, its size.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(ALIGN)?, ALIGN).ok()
}

/// # Safety
/// None; the memory is one's own.
pub unsafe fn allocate(size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else {
        return ptr::null_mut();
    };
    // SAFETY: of more than no bytes; the first of them, which are aligned, hold the size.
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
/// `ptr` is null or of [`allocate`], and given back once.
pub unsafe fn release(ptr: *mut c_void) {
    if ptr.is_null() {
        return;
    }
    // SAFETY: by the contract there is an allocation with its size before it, of this layout.
    unsafe {
        let start = ptr.cast::<u8>().sub(ALIGN);
        if let Some(layout) = layout(start.cast::<usize>().read()) {
            alloc::dealloc(start, layout);
        }
    }
}
