//! Device memory, unified memory, pinned host memory, and copies.

mod copy;
mod device;
mod locked;
mod malloc;
mod pointer;
mod pool;
mod unified;

pub use self::copy::*;
pub use self::device::*;
pub use self::locked::*;
pub use self::malloc::*;
pub use self::pointer::*;
pub use self::pool::*;
pub use self::unified::*;

pub use crate::DeviceCopy;
#[cfg(feature = "bytemuck")]
pub use bytemuck;
pub use cust_core::_hidden::DeviceCopy;

use crate::sys::CUdeviceptr;

/// A buffer that a device can access.
#[allow(clippy::len_without_is_empty)]
pub trait GpuBuffer<T: DeviceCopy>: private::Sealed {
    /// Returns the device address.
    fn as_device_ptr(&self) -> DevicePointer<T>;
    /// Returns the number of elements.
    fn len(&self) -> usize;
}

impl<T: DeviceCopy> GpuBuffer<T> for DeviceBuffer<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        self.as_slice().as_device_ptr()
    }

    fn len(&self) -> usize {
        self.as_slice().len()
    }
}

impl<T: DeviceCopy> GpuBuffer<T> for UnifiedBuffer<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.as_slice().as_ptr() as CUdeviceptr)
    }

    fn len(&self) -> usize {
        self.as_slice().len()
    }
}

/// A value that a device can access.
pub trait GpuBox<T: DeviceCopy>: private::Sealed {
    /// Returns the device address.
    fn as_device_ptr(&self) -> DevicePointer<T>;
}

impl<T: DeviceCopy> GpuBox<T> for DeviceBox<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        self.ptr
    }
}

impl<T: DeviceCopy> GpuBox<T> for UnifiedBox<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.as_unified_ptr().as_raw() as CUdeviceptr)
    }
}

/// Device memory.
pub trait DeviceMemory {
    /// Returns the device address.
    fn as_raw_ptr(&self) -> CUdeviceptr;
    /// Returns the size in bytes.
    fn size_in_bytes(&self) -> usize;
}

impl<T: DeviceCopy> DeviceMemory for DeviceBox<T> {
    fn as_raw_ptr(&self) -> CUdeviceptr {
        self.ptr.as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<T>()
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceVariable<T> {
    fn as_raw_ptr(&self) -> CUdeviceptr {
        self.as_device_ptr().as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<T>()
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceBuffer<T> {
    fn as_raw_ptr(&self) -> CUdeviceptr {
        self.as_device_ptr().as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<T>() * self.len()
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceSlice<T> {
    fn as_raw_ptr(&self) -> CUdeviceptr {
        self.as_device_ptr().as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<T>() * self.len()
    }
}

mod private {
    use super::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBox, UnifiedBuffer};

    /// Seals a trait: only types of this module implement it.
    pub trait Sealed {}
    impl<T: DeviceCopy> Sealed for UnifiedBuffer<T> {}
    impl<T: DeviceCopy> Sealed for DeviceBuffer<T> {}
    impl<T: DeviceCopy> Sealed for UnifiedBox<T> {}
    impl<T: DeviceCopy> Sealed for DeviceBox<T> {}
}
