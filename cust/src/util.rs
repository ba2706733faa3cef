//! Short ways from values of the host to values of a device.

use crate::error::CudaResult;
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBuffer};

/// A value, to a device.
pub trait DeviceCopyExt: DeviceCopy {
    /// A box on the current device with this value.
    ///
    /// # Errors
    /// What the driver says of the allocation and the copy.
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }
}

impl<T: DeviceCopy> DeviceCopyExt for T {}

/// A slice, to a device.
pub trait SliceExt<T: DeviceCopy> {
    /// A buffer on the current device with these values.
    ///
    /// # Errors
    /// What the driver says of the allocation and the copy.
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>>;

    /// A buffer in unified memory with these values.
    ///
    /// # Errors
    /// What the driver says of the allocation.
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
