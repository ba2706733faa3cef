//! A value in pinned host memory.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::error::CudaResult;
use crate::memory::{DeviceCopy, cuda_free_locked, cuda_malloc_locked};

/// An owned value in pinned host memory, which a drop frees.
#[derive(Debug)]
pub struct LockedBox<T: DeviceCopy> {
    pub(crate) ptr: *mut T,
}

// SAFETY: the box owns its value, and `T` is `Send`.
unsafe impl<T: Send + DeviceCopy> Send for LockedBox<T> {}
// SAFETY: a shared reference only allows reads of the value.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBox<T> {}

impl<T: DeviceCopy> LockedBox<T> {
    /// Allocates a box without initializing it.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The value must be written before it is read.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        let ptr = if size_of::<T>() == 0 {
            NonNull::dangling().as_ptr()
        } else {
            // SAFETY: the caller upholds the contract.
            unsafe { cuda_malloc_locked(1) }?
        };
        Ok(Self { ptr })
    }

    /// Allocates a box with the value `val`.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(val: &T) -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read.
        unsafe {
            let made = Self::uninitialized()?;
            made.ptr.write(*val);
            Ok(made)
        }
    }

    /// Returns the pointer to the value, whose memory the caller must then free.
    pub fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).ptr
    }

    /// Creates a box from a pointer.
    ///
    /// # Safety
    /// The pointer must come from [`into_raw`](Self::into_raw), and nothing else may own it.
    pub unsafe fn from_raw(ptr: *mut T) -> Self {
        Self { ptr }
    }

    /// Returns the pointer to the value.
    pub fn as_raw(&self) -> *mut T {
        self.ptr
    }
}

impl<T: DeviceCopy> Drop for LockedBox<T> {
    fn drop(&mut self) {
        if size_of::<T>() != 0 {
            // SAFETY: this value owns the handle. A destructor cannot return an error.
            let _ = unsafe { cuda_free_locked(self.ptr) };
        }
    }
}

impl<T: DeviceCopy> Deref for LockedBox<T> {
    type Target = T;

    fn deref(&self) -> &Self::Target {
        // SAFETY: the pointer is to an initialized value that this box owns.
        unsafe { &*self.ptr }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBox<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: the pointer is to an initialized value that this box owns.
        unsafe { &mut *self.ptr }
    }
}
