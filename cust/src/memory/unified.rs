//! Unified memory, which the host and devices can access.

use std::borrow::{Borrow, BorrowMut};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use super::{DeviceCopy, UnifiedPointer, cuda_free_unified, cuda_malloc_unified};
use crate::device::Device;
use crate::error::{CudaResult, DropResult, ToResult};
use crate::stream::Stream;
use crate::sys::{self, CUdevice, CUdeviceptr, CUmem_advise};

/// An owned value in unified memory, which a drop frees. The host must not use it while a kernel does.
#[derive(Debug)]
pub struct UnifiedBox<T: DeviceCopy> {
    pub(crate) ptr: UnifiedPointer<T>,
}

// SAFETY: the box owns its value, and `T` is `Send`.
unsafe impl<T: Send + DeviceCopy> Send for UnifiedBox<T> {}
// SAFETY: a shared reference only allows reads of the value.
unsafe impl<T: Sync + DeviceCopy> Sync for UnifiedBox<T> {}

/// Returns the pointer for elements of zero bytes.
fn without_bytes<T: DeviceCopy>() -> UnifiedPointer<T> {
    // SAFETY: elements without bytes are never read through the pointer.
    unsafe { UnifiedPointer::wrap(NonNull::dangling().as_ptr()) }
}

impl<T: DeviceCopy> UnifiedBox<T> {
    /// Allocates a box with the value `val`.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(val: T) -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read.
        unsafe {
            let mut made = Self::uninitialized()?;
            made.ptr.as_raw_mut().write(val);
            Ok(made)
        }
    }

    /// Allocates a box without initializing it.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The value must be written before it is read.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self {
                ptr: without_bytes(),
            });
        }
        // SAFETY: the caller upholds the contract.
        Ok(Self {
            ptr: unsafe { cuda_malloc_unified(1) }?,
        })
    }

    /// Creates a box from a pointer.
    ///
    /// # Safety
    /// The pointer must be to a value in unified memory that nothing else owns.
    pub unsafe fn from_raw(ptr: *mut T) -> Self {
        // SAFETY: the caller upholds the contract.
        Self {
            ptr: unsafe { UnifiedPointer::wrap(ptr) },
        }
    }

    /// Creates a box from a unified pointer.
    ///
    /// # Safety
    /// The pointer must be to a value in unified memory that nothing else owns.
    pub unsafe fn from_unified(ptr: UnifiedPointer<T>) -> Self {
        Self { ptr }
    }

    /// Returns the pointer to the value, whose memory the caller must then free.
    #[allow(clippy::wrong_self_convention)]
    pub fn into_unified(b: UnifiedBox<T>) -> UnifiedPointer<T> {
        ManuallyDrop::new(b).ptr
    }

    /// Returns the pointer to the value.
    pub fn as_unified_ptr(&self) -> UnifiedPointer<T> {
        self.ptr
    }

    /// Leaks the box and returns a reference to the value, which is never freed.
    pub fn leak<'a>(b: UnifiedBox<T>) -> &'a mut T
    where
        T: 'a,
    {
        let mut pointer = Self::into_unified(b);
        // SAFETY: the pointer is to an initialized value that nothing else owns.
        unsafe { &mut *pointer.as_raw_mut() }
    }

    /// Frees the value and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the box.
    pub fn drop(uni_box: UnifiedBox<T>) -> DropResult<UnifiedBox<T>> {
        match uni_box.free() {
            Ok(()) => {
                mem::forget(uni_box);
                Ok(())
            }
            Err(error) => Err((error, uni_box)),
        }
    }

    fn free(&self) -> CudaResult<()> {
        if size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: this value owns the resource, and this is called once, at its end.
        unsafe { cuda_free_unified(self.ptr) }
    }
}

impl<T: DeviceCopy> Drop for UnifiedBox<T> {
    fn drop(&mut self) {
        // A destructor cannot return an error.
        let _ = self.free();
    }
}

impl<T: DeviceCopy> Borrow<T> for UnifiedBox<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: DeviceCopy> BorrowMut<T> for UnifiedBox<T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: DeviceCopy> AsRef<T> for UnifiedBox<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: DeviceCopy> AsMut<T> for UnifiedBox<T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: DeviceCopy> Deref for UnifiedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the pointer is to an initialized value that this box owns.
        unsafe { &*self.ptr.as_raw() }
    }
}

impl<T: DeviceCopy> DerefMut for UnifiedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the pointer is to an initialized value that this box owns.
        unsafe { &mut *self.ptr.as_raw_mut() }
    }
}

impl<T: fmt::Display + DeviceCopy> fmt::Display for UnifiedBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: DeviceCopy> fmt::Pointer for UnifiedBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.ptr, f)
    }
}

impl<T: DeviceCopy + PartialEq> PartialEq for UnifiedBox<T> {
    fn eq(&self, other: &UnifiedBox<T>) -> bool {
        **self == **other
    }
}

impl<T: DeviceCopy + Eq> Eq for UnifiedBox<T> {}

impl<T: DeviceCopy + PartialOrd> PartialOrd for UnifiedBox<T> {
    fn partial_cmp(&self, other: &UnifiedBox<T>) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: DeviceCopy + Ord> Ord for UnifiedBox<T> {
    fn cmp(&self, other: &UnifiedBox<T>) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: DeviceCopy + Hash> Hash for UnifiedBox<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// An owned buffer of elements in unified memory, which a drop frees. The host must not use them while a kernel does.
#[derive(Debug)]
#[repr(C)]
pub struct UnifiedBuffer<T: DeviceCopy> {
    buf: UnifiedPointer<T>,
    capacity: usize,
}

// SAFETY: the buffer owns its elements, and `T` is `Send`.
unsafe impl<T: Send + DeviceCopy> Send for UnifiedBuffer<T> {}
// SAFETY: a shared reference only allows reads of the elements.
unsafe impl<T: Sync + DeviceCopy> Sync for UnifiedBuffer<T> {}

impl<T: DeviceCopy + Clone> UnifiedBuffer<T> {
    /// Allocates a buffer of `size` elements that all have the value `value`.
    ///
    /// # Errors
    /// Returns the errors of [`uninitialized`](Self::uninitialized).
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: the memory is written before it is read, and has room for all elements.
        unsafe {
            let mut made = Self::uninitialized(size)?;
            for index in 0..size {
                made.buf.as_raw_mut().add(index).write(*value);
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
            let mut made = Self::uninitialized(slice.len())?;
            made.buf
                .as_raw_mut()
                .copy_from_nonoverlapping(slice.as_ptr(), slice.len());
            Ok(made)
        }
    }
}

impl<T: DeviceCopy> UnifiedBuffer<T> {
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
            without_bytes()
        } else {
            // SAFETY: the caller upholds the contract.
            unsafe { cuda_malloc_unified(size) }?
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

    /// Returns the pointer to the first element.
    pub fn as_unified_ptr(&mut self) -> UnifiedPointer<T> {
        self.buf
    }

    /// Creates a buffer from a unified pointer and a number of elements.
    ///
    /// # Safety
    /// The pointer must be to `capacity` elements in unified memory that nothing else owns.
    pub unsafe fn from_raw_parts(ptr: UnifiedPointer<T>, capacity: usize) -> UnifiedBuffer<T> {
        Self { buf: ptr, capacity }
    }

    /// Frees the buffer and returns the driver's error, which a drop ignores.
    ///
    /// # Errors
    /// Returns the driver's error and the buffer.
    pub fn drop(uni_buf: UnifiedBuffer<T>) -> DropResult<UnifiedBuffer<T>> {
        match uni_buf.free() {
            Ok(()) => {
                mem::forget(uni_buf);
                Ok(())
            }
            Err(error) => Err((error, uni_buf)),
        }
    }

    fn free(&self) -> CudaResult<()> {
        if self.capacity == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: this value owns the resource, and this is called once, at its end.
        unsafe { cuda_free_unified(self.buf) }
    }
}

impl<T: DeviceCopy> AsRef<[T]> for UnifiedBuffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: DeviceCopy> AsMut<[T]> for UnifiedBuffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: DeviceCopy> Deref for UnifiedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the buffer holds as many initialized elements.
        unsafe { slice::from_raw_parts(self.buf.as_raw(), self.capacity) }
    }
}

impl<T: DeviceCopy> DerefMut for UnifiedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the buffer holds as many initialized elements.
        unsafe { slice::from_raw_parts_mut(self.buf.as_raw_mut(), self.capacity) }
    }
}

impl<T: DeviceCopy> Drop for UnifiedBuffer<T> {
    fn drop(&mut self) {
        // A destructor cannot return an error.
        let _ = self.free();
    }
}

/// Advice to the driver about the use of unified memory. For zero bytes the driver is not called.
pub trait MemoryAdvise<T: DeviceCopy>: private::Sealed {
    /// Returns the elements.
    fn as_slice(&self) -> &[T];

    /// Queues a prefetch of the memory to the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn prefetch_to_host(&self, stream: &Stream) -> CudaResult<()> {
        prefetch(self.as_slice(), sys::CU_DEVICE_CPU, stream)
    }

    /// Queues a prefetch of the memory to a device.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn prefetch_to_device(&self, stream: &Stream, device: &Device) -> CudaResult<()> {
        prefetch(self.as_slice(), device.as_raw(), stream)
    }

    /// Sets or clears the advice that the memory is mostly read, so that each device may hold a copy.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn advise_read_mostly(&self, read_mostly: bool) -> CudaResult<()> {
        let advice = if read_mostly {
            sys::CU_MEM_ADVISE_SET_READ_MOSTLY
        } else {
            sys::CU_MEM_ADVISE_UNSET_READ_MOSTLY
        };
        advise(self.as_slice(), advice, 0)
    }

    /// Sets the preferred location of the memory: a device, or the host for `None`.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn preferred_location(&self, preferred_location: Option<Device>) -> CudaResult<()> {
        let device = preferred_location.map_or(sys::CU_DEVICE_CPU, |device| device.as_raw());
        advise(
            self.as_slice(),
            sys::CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
            device,
        )
    }

    /// Clears the preferred location that [`preferred_location`](Self::preferred_location) set.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn unset_preferred_location(&self) -> CudaResult<()> {
        advise(
            self.as_slice(),
            sys::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
            0,
        )
    }
}

fn prefetch<T>(values: &[T], device: CUdevice, stream: &Stream) -> CudaResult<()> {
    let (address, bytes) = (values.as_ptr() as CUdeviceptr, size_of_val(values));
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the range is unified memory of that many bytes; moving it does not change its contents.
    unsafe { sys::cuMemPrefetchAsync(address, bytes, device, stream.as_inner()) }.to_result()
}

fn advise<T>(values: &[T], advice: CUmem_advise, device: CUdevice) -> CudaResult<()> {
    let (address, bytes) = (values.as_ptr() as CUdeviceptr, size_of_val(values));
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the range is unified memory of that many bytes; moving it does not change its contents.
    unsafe { sys::cuMemAdvise(address, bytes, advice, device) }.to_result()
}

impl<T: DeviceCopy> MemoryAdvise<T> for UnifiedBox<T> {
    fn as_slice(&self) -> &[T] {
        slice::from_ref(&**self)
    }
}

impl<T: DeviceCopy> MemoryAdvise<T> for UnifiedBuffer<T> {
    fn as_slice(&self) -> &[T] {
        self
    }
}

mod private {
    /// Seals a trait: only types of this module implement it.
    pub trait Sealed {}
    impl<T: super::DeviceCopy> Sealed for super::UnifiedBox<T> {}
    impl<T: super::DeviceCopy> Sealed for super::UnifiedBuffer<T> {}
}
