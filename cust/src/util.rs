//! Extension traits that copy host values to a device.

use crate::error::CudaResult;
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBuffer};

/// Copies a value to a device.
pub trait DeviceCopyExt: DeviceCopy {
    /// Allocates a box on the current device and copies this value to it.
    ///
    /// # Errors
    /// Returns the driver's error of the allocation or the copy.
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }
}

impl<T: DeviceCopy> DeviceCopyExt for T {}

/// Copies a slice to a device.
pub trait SliceExt<T: DeviceCopy> {
    /// Allocates a buffer on the current device and copies these values to it.
    ///
    /// # Errors
    /// Returns the driver's error of the allocation or the copy.
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>>;

    /// Allocates a buffer in unified memory with these values.
    ///
    /// # Errors
    /// Returns the driver's error of the allocation.
    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>>;
}

impl<T: DeviceCopy> SliceExt<T> for &[T] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }

    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self)
    }
}

impl<T: DeviceCopy, const N: usize> SliceExt<T> for [T; N] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }

    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self)
    }
}
