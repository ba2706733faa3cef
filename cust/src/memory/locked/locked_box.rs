//! A value in locked memory.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::error::CudaResult;
use crate::memory::{DeviceCopy, cuda_free_locked, cuda_malloc_locked};

/// A value in locked memory of the host, freed with this.
#[derive(Debug)]
pub struct LockedBox<T: DeviceCopy> {
    pub(crate) ptr: *mut T,
}

// SAFETY: it owns its value, which may go to another thread.
unsafe impl<T: Send + DeviceCopy> Send for LockedBox<T> {}
// SAFETY: a shared reference only reads the value.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBox<T> {}

impl<T: DeviceCopy> LockedBox<T> {
    /// Room for a value.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// The value must be written before it is read.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        let ptr = if size_of::<T>() == 0 {
            NonNull::dangling().as_ptr()
        } else {
            // SAFETY: by the contract.
            unsafe { cuda_malloc_locked(1) }?
        };
        Ok(Self { ptr })
    }

    /// A box with this value.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(val: &T) -> CudaResult<Self> {
        // SAFETY: written at once.
        unsafe {
            let made = Self::uninitialized()?;
            made.ptr.write(*val);
            Ok(made)
        }
    }

    /// The pointer to the value, which is then the caller's to free.
    pub fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).ptr
    }

    /// A box of the value at a pointer.
    ///
    /// # Safety
    /// It is one of [`into_raw`](Self::into_raw), and nobody else's.
    pub unsafe fn from_raw(ptr: *mut T) -> Self {
        Self { ptr }
    }

    /// The pointer to the value.
    pub fn as_raw(&self) -> *mut T {
        self.ptr
    }
}

impl<T: DeviceCopy> Drop for LockedBox<T> {
    fn drop(&mut self) {
        if size_of::<T>() != 0 {
            // SAFETY: this value's own. There is nobody to tell of an error.
            let _ = unsafe { cuda_free_locked(self.ptr) };
        }
    }
}

impl<T: DeviceCopy> Deref for LockedBox<T> {
    type Target = T;

    fn deref(&self) -> &Self::Target {
        // SAFETY: a value is there.
        unsafe { &*self.ptr }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBox<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: a value is there.
        unsafe { &mut *self.ptr }
    }
}
