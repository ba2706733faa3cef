//! Device memory: a value, a buffer, a slice.

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

/// A copy source and destination. Both ends of a copy must have the same length.
pub trait CopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Copies from `source` to `self`.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`](crate::error::CudaError::InvalidValue) if the lengths differ, or the driver's
    /// error.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies from `self` to `dest`.
    ///
    /// # Errors
    /// Returns the errors of [`copy_from`](Self::copy_from).
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// A copy source and destination of stream-ordered copies. Both ends of a copy must have the same length.
pub trait AsyncCopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Queues a copy from `source` to `self`.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`](crate::error::CudaError::InvalidValue) if the lengths differ, or the driver's
    /// error.
    ///
    /// # Safety
    /// Until the copy has finished, both ends must live, nothing may write to `source`, and nothing may use `self`.
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Queues a copy from `self` to `dest`.
    ///
    /// # Errors
    /// Returns the errors of [`async_copy_from`](Self::async_copy_from).
    ///
    /// # Safety
    /// Until the copy has finished, both ends must live, nothing may write to `self`, and nothing may use `dest`.
    unsafe fn async_copy_to(&self, dest: &mut O, stream: &Stream) -> CudaResult<()>;
}
