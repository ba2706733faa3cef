//! A buffer in locked memory.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use crate::error::{CudaResult, DropResult};
use crate::memory::{DeviceCopy, cuda_free_locked, cuda_malloc_locked};

/// Elements in locked memory of the host, freed with this. Copies from and to it can run beside other work.
#[derive(Debug)]
pub struct LockedBuffer<T: DeviceCopy> {
    buf: *mut T,
    capacity: usize,
}

// SAFETY: it owns its elements, which may go to another thread.
unsafe impl<T: Send + DeviceCopy> Send for LockedBuffer<T> {}
// SAFETY: a shared reference only reads the elements.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy + Clone> LockedBuffer<T> {
    /// `size` times a value.
    ///
    /// # Errors
    /// As of [`uninitialized`](Self::uninitialized).
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: written at once; there is room for so many elements.
        unsafe {
            let made = Self::uninitialized(size)?;
            for index in 0..size {
                made.buf.add(index).write(*value);
            }
            Ok(made)
        }
    }

    /// The elements of a slice.
    ///
    /// # Errors
    /// As of [`uninitialized`](Self::uninitialized).
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: written at once; there is room for so many elements.
        unsafe {
            let made = Self::uninitialized(slice.len())?;
            made.buf
                .copy_from_nonoverlapping(slice.as_ptr(), slice.len());
            Ok(made)
        }
    }
}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// Room for `size` elements.
    ///
    /// # Errors
    /// What the driver says, and
    /// [`CudaError::InvalidMemoryAllocation`](crate::error::CudaError::InvalidMemoryAllocation) for more bytes than can be
    /// counted.
    ///
    /// # Safety
    /// Elements must be written before they are read.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size == 0 || size_of::<T>() == 0 {
            NonNull::dangling().as_ptr()
        } else {
            // SAFETY: by the contract.
            unsafe { cuda_malloc_locked(size) }?
        };
        Ok(Self {
            buf,
            capacity: size,
        })
    }

    /// All elements.
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// All elements.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    /// A buffer of the elements at a pointer.
    ///
    /// # Safety
    /// There are so many, allocated as locked memory and nobody else's.
    pub unsafe fn from_raw_parts(ptr: *mut T, size: usize) -> LockedBuffer<T> {
        Self {
            buf: ptr,
            capacity: size,
        }
    }

    /// Frees the buffer, as dropping it does, and says what came of it.
    ///
    /// # Errors
    /// What the driver says, and the buffer.
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
        // SAFETY: this value's own; called once, at its end.
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
        // SAFETY: there are so many elements.
        unsafe { slice::from_raw_parts(self.buf, self.capacity) }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: there are so many elements.
        unsafe { slice::from_raw_parts_mut(self.buf, self.capacity) }
    }
}

impl<T: DeviceCopy> Drop for LockedBuffer<T> {
    fn drop(&mut self) {
        // There is nobody to tell of an error.
        let _ = self.free();
    }
}
