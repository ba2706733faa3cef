//! Pointers to device memory and to unified memory.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ptr;

use super::DeviceCopy;
use crate::sys::CUdeviceptr;

/// A pointer to device memory. The host cannot dereference it.
#[repr(transparent)]
pub struct DevicePointer<T: DeviceCopy> {
    ptr: CUdeviceptr,
    marker: PhantomData<*mut T>,
}

// SAFETY: the value is an address; dereferencing it is unsafe by itself.
unsafe impl<T: DeviceCopy> DeviceCopy for DevicePointer<T> {}

impl<T: DeviceCopy> DevicePointer<T> {
    /// Returns the address as a pointer, which the host must not dereference.
    pub fn as_ptr(&self) -> *const T {
        self.as_mut_ptr()
    }

    /// Returns the address as a mutable pointer, which the host must not dereference.
    pub fn as_mut_ptr(&self) -> *mut T {
        ptr::without_provenance_mut(self.ptr as usize)
    }

    /// Returns the address in the driver's form.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.ptr
    }

    /// Creates a pointer from an address in the driver's form.
    pub fn from_raw(ptr: CUdeviceptr) -> Self {
        Self {
            ptr,
            marker: PhantomData,
        }
    }

    /// Returns whether the pointer is null.
    pub fn is_null(self) -> bool {
        self.ptr == 0
    }

    /// Returns a null pointer.
    pub fn null() -> Self
    where
        T: Sized,
    {
        Self::from_raw(0)
    }

    /// Adds `count` elements to the pointer.
    ///
    /// # Safety
    /// Both addresses must be in the same allocation, or one past its end.
    pub unsafe fn offset(self, count: isize) -> Self
    where
        T: Sized,
    {
        self.wrapping_offset(count)
    }

    /// Adds `count` elements to the pointer, with wrapping arithmetic.
    pub fn wrapping_offset(self, count: isize) -> Self
    where
        T: Sized,
    {
        let bytes = (count as i64).wrapping_mul(size_of::<T>() as i64);
        Self::from_raw(self.ptr.wrapping_add_signed(bytes))
    }

    /// Adds `count` elements to the pointer.
    ///
    /// # Safety
    /// Both addresses must be in the same allocation, or one past its end.
    #[allow(clippy::should_implement_trait)]
    pub unsafe fn add(self, count: usize) -> Self
    where
        T: Sized,
    {
        self.wrapping_add(count)
    }

    /// Subtracts `count` elements from the pointer.
    ///
    /// # Safety
    /// Both addresses must be in the same allocation, or one past its end.
    #[allow(clippy::should_implement_trait)]
    pub unsafe fn sub(self, count: usize) -> Self
    where
        T: Sized,
    {
        self.wrapping_sub(count)
    }

    /// Adds `count` elements to the pointer, with wrapping arithmetic.
    pub fn wrapping_add(self, count: usize) -> Self
    where
        T: Sized,
    {
        self.wrapping_offset(count as isize)
    }

    /// Subtracts `count` elements from the pointer, with wrapping arithmetic.
    pub fn wrapping_sub(self, count: usize) -> Self
    where
        T: Sized,
    {
        self.wrapping_offset((count as isize).wrapping_neg())
    }

    /// Casts to a pointer of another type.
    pub fn cast<U: DeviceCopy>(self) -> DevicePointer<U> {
        DevicePointer::from_raw(self.ptr)
    }
}

/// A pointer to unified memory, which the host and devices can dereference.
#[repr(transparent)]
pub struct UnifiedPointer<T: DeviceCopy>(*mut T);

// SAFETY: the value is an address; dereferencing it is unsafe by itself.
unsafe impl<T: DeviceCopy> DeviceCopy for UnifiedPointer<T> {}

impl<T: DeviceCopy> UnifiedPointer<T> {
    /// Creates a unified pointer from a pointer.
    ///
    /// # Safety
    /// The pointer must point to unified memory or be null.
    pub unsafe fn wrap(ptr: *mut T) -> Self {
        Self(ptr)
    }

    /// Returns the pointer.
    pub fn as_raw(self) -> *const T {
        self.0
    }

    /// Returns the mutable pointer.
    pub fn as_raw_mut(&mut self) -> *mut T {
        self.0
    }

    /// Returns whether the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns a null pointer.
    pub fn null() -> Self
    where
        T: Sized,
    {
        Self(ptr::null_mut())
    }

    /// Adds `count` elements to the pointer.
    ///
    /// # Safety
    /// Both pointers must be into the same allocation, or one past its end.
    pub unsafe fn offset(self, count: isize) -> Self
    where
        T: Sized,
    {
        Self(self.0.wrapping_offset(count))
    }

    /// Adds `count` elements to the pointer, with wrapping arithmetic.
    pub fn wrapping_offset(self, count: isize) -> Self
    where
        T: Sized,
    {
        Self(self.0.wrapping_offset(count))
    }

    /// Adds `count` elements to the pointer.
    ///
    /// # Safety
    /// Both pointers must be into the same allocation, or one past its end.
    #[allow(clippy::should_implement_trait)]
    pub unsafe fn add(self, count: usize) -> Self
    where
        T: Sized,
    {
        Self(self.0.wrapping_add(count))
    }

    /// Subtracts `count` elements from the pointer.
    ///
    /// # Safety
    /// Both pointers must be into the same allocation, or one past its end.
    #[allow(clippy::should_implement_trait)]
    pub unsafe fn sub(self, count: usize) -> Self
    where
        T: Sized,
    {
        Self(self.0.wrapping_sub(count))
    }

    /// Adds `count` elements to the pointer, with wrapping arithmetic.
    pub fn wrapping_add(self, count: usize) -> Self
    where
        T: Sized,
    {
        Self(self.0.wrapping_add(count))
    }

    /// Subtracts `count` elements from the pointer, with wrapping arithmetic.
    pub fn wrapping_sub(self, count: usize) -> Self
    where
        T: Sized,
    {
        Self(self.0.wrapping_sub(count))
    }
}

/// Implements traits by the pointer's address, without bounds on the pointee, unlike a derive.
macro_rules! as_numbers {
    ($name:ident, $this:ident => $number:expr) => {
        impl<T: DeviceCopy> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T: DeviceCopy> Copy for $name<T> {}

        impl<T: DeviceCopy> PartialEq for $name<T> {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }

        impl<T: DeviceCopy> Eq for $name<T> {}

        impl<T: DeviceCopy> PartialOrd for $name<T> {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl<T: DeviceCopy> Ord for $name<T> {
            fn cmp(&self, other: &Self) -> Ordering {
                let number = |$this: &Self| $number;
                number(self).cmp(&number(other))
            }
        }

        impl<T: DeviceCopy> Hash for $name<T> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                let $this = self;
                $number.hash(state);
            }
        }

        impl<T: DeviceCopy> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name))
                    .field(&format_args!("{:p}", *self))
                    .finish()
            }
        }

        impl<T: DeviceCopy> fmt::Pointer for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $this = self;
                fmt::Pointer::fmt(&ptr::without_provenance::<T>($number as usize), f)
            }
        }
    };
}

as_numbers!(DevicePointer, this => this.ptr);
as_numbers!(UnifiedPointer, this => this.0 as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_moves_by_elements() {
        let start = DevicePointer::<u32>::from_raw(0x1000);
        assert_eq!(start.wrapping_add(3).as_raw(), 0x100c);
        assert_eq!(start.wrapping_sub(3).as_raw(), 0xff4);
        assert_eq!(start.wrapping_offset(-1).as_raw(), 0xffc);
        // SAFETY: the pointer is never dereferenced.
        let there = unsafe { start.add(4).sub(1).offset(-1) };
        assert_eq!((there.as_raw(), there > start), (0x1008, true));
        assert_eq!(start.cast::<u8>().wrapping_add(1).as_raw(), 0x1001);
        assert_eq!(
            DevicePointer::<[u8; 3]>::null().wrapping_sub(1).as_raw(),
            3_u64.wrapping_neg()
        );
        assert_eq!(
            format!("{start:p} {start:?}"),
            "0x1000 DevicePointer(0x1000)"
        );
        assert!(DevicePointer::<f32>::null().is_null() && !start.is_null());
    }

    #[test]
    fn a_unified_pointer_moves_by_elements() {
        let mut values = [1_u16, 2, 3];
        // SAFETY: for the host an array is as good as unified memory.
        let start = unsafe { UnifiedPointer::wrap(values.as_mut_ptr()) };
        let mut last = start.wrapping_add(2);
        // SAFETY: the pointer is inside the array.
        unsafe { *last.as_raw_mut() = 7 };
        assert_eq!(values, [1, 2, 7]);
        assert_eq!(last.wrapping_sub(2), start);
        assert!(UnifiedPointer::<u8>::null().is_null());
    }
}
