//! A buffer in pinned host memory.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, cuda_free_locked, cuda_malloc_locked};

/// An owned buffer of elements in pinned host memory, which a drop frees. Copies from and to it can overlap with other
/// work.
#[derive(Debug)]
pub struct LockedBuffer<T: DeviceCopy> {
    buf: *mut T,
    capacity: usize,
}

// SAFETY: the buffer owns its elements, and `T` is `Send`.
unsafe impl<T: Send + DeviceCopy> Send for LockedBuffer<T> {}
// SAFETY: a shared reference only allows reads of the elements.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy + Clone> LockedBuffer<T> {
    /// Allocates a buffer of `size` elements that all have the value `value`.
    ///
    /// # Errors
    /// Returns the errors of [`uninitialized`](Self::uninitialized).
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read, and has room for all elements.
        unsafe {
            let made = Self::uninitialized(size)?;
            for index in 0..size {
                made.buf.add(index).write(*value);
            }
            Ok(made)
        }
    }

    /// Allocates a buffer with the elements of `slice`.
    ///
    /// # Errors
    /// Returns the errors of [`uninitialized`](Self::uninitialized).
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read, and has room for all elements.
        unsafe {
            let made = Self::uninitialized(slice.len())?;
            made.buf
                .copy_from_nonoverlapping(slice.as_ptr(), slice.len());
            Ok(made)
        }
    }
}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// Allocates a buffer of `size` elements without initializing it.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidMemoryAllocation`](crate::error::CudaError::InvalidMemoryAllocation) if the size
    /// overflows a `usize`, or the driver's error.
    ///
    /// # Safety
    /// Elements must be written before they are read.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size == 0 || size_of::<T>() == 0 {
            NonNull::dangling().as_ptr()
        } else {
            // SAFETY: the caller upholds the contract.
            unsafe { cuda_malloc_locked(size) }?
        };
        Ok(Self {
            buf,
            capacity: size,
        })
    }

    /// Returns a slice of all elements.
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// Returns a mutable slice of all elements.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    /// Creates a buffer from a pointer and a number of elements.
    ///
    /// # Safety
    /// The pointer must be to `size` elements in pinned memory that nothing else owns.
    pub unsafe fn from_raw_parts(ptr: *mut T, size: usize) -> LockedBuffer<T> {
        Self {
            buf: ptr,
            capacity: size,
        }
    }

    /// Frees the buffer and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the buffer.
    pub fn drop(buf: LockedBuffer<T>) -> DropResult<LockedBuffer<T>> {
        match buf.free() {
            Ok(()) => {
                mem::forget(buf);
                Ok(())
            }
            Err(error) => Err((error, buf)),
        }
    }

    fn free(&self) -> CudaResult<()> {
        if self.capacity == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: this value owns the resource, and this is called once, at its end.
        unsafe { cuda_free_locked(self.buf) }
    }
}

impl<T: DeviceCopy> AsRef<[T]> for LockedBuffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: DeviceCopy> AsMut<[T]> for LockedBuffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: DeviceCopy> Deref for LockedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the buffer holds as many initialized elements.
        unsafe { slice::from_raw_parts(self.buf, self.capacity) }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the buffer holds as many initialized elements.
        unsafe { slice::from_raw_parts_mut(self.buf, self.capacity) }
    }
}

impl<T: DeviceCopy> Drop for LockedBuffer<T> {
    fn drop(&mut self) {
        // A destructor cannot return an error.
        let _ = self.free();
    }
}
