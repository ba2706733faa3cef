//! Memory of a device: a value, a buffer, a slice of it.

mod device_box;
mod device_buffer;
mod device_slice;
mod device_variable;
mod slice_index;

pub use self::device_box::*;
pub use self::device_buffer::*;
pub use self::device_slice::*;
pub use self::device_variable::*;
pub use self::slice_index::*;

use crate::error::CudaResult;
use crate::stream::Stream;

/// What can be copied to and from, with both ends of the same length.
pub trait CopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Copies from `source` to this.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`](crate::error::CudaError::InvalidValue) where the lengths differ, and what the driver
    /// says.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies from this to `dest`.
    ///
    /// # Errors
    /// As of [`copy_from`](Self::copy_from).
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// What can be copied to and from in the order of a stream, with both ends of the same length.
pub trait AsyncCopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Queues a copy from `source` to this.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`](crate::error::CudaError::InvalidValue) where the lengths differ, and what the driver
    /// says.
    ///
    /// # Safety
    /// Until the copy is done both are there, nothing writes to `source`, and nothing uses this.
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Queues a copy from this to `dest`.
    ///
    /// # Errors
    /// As of [`async_copy_from`](Self::async_copy_from).
    ///
    /// # Safety
    /// Until the copy is done both are there, nothing writes to this, and nothing uses `dest`.
    unsafe fn async_copy_to(&self, dest: &mut O, stream: &Stream) -> CudaResult<()>;
}
