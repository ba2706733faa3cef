//! Memory and streams of others: views of memory that somebody else owns, vectors over it, handles on streams of others.

use std::{any::Any, ffi::c_void};

use crate::{
    backend::DEVICE_ALIGN,
    buffer::{Element, Vector, VectorView, VectorViewMut, bytes_of},
    device::Device,
    error::{Error, InvalidKind, Result},
    executor::{Executor, ForeignMemory, Memory, capture},
};

/// Makes the error of a tensor of another crate that cannot be lent or taken over.
#[cfg(any(feature = "candle", feature = "dlpack", feature = "tch"))]
pub(crate) fn refused(
    operation: &'static str,
    required: impl Into<String>,
    given: impl Into<String>,
) -> Error {
    Error::invalid(InvalidKind::Foreign, operation, required, given)
}

/// Returns the alignment that elements have in the library's own memory, as far as kernels rely on it.
const fn alignment<T>() -> u64 {
    let by_size = 1 << size_of::<T>().trailing_zeros();
    let by_size = if by_size > 16 { 16 } else { by_size };
    let align = align_of::<T>() as u64;
    if align > by_size { align } else { by_size }
}

/// Returns the address of `len` elements at `pointer`, if the device can use them. No elements have an address of their own.
pub(crate) fn checked<T: Element>(
    device: &Device,
    operation: &'static str,
    pointer: u64,
    len: usize,
) -> Result<u64> {
    let bytes = bytes_of::<T>(operation, len)?;
    if bytes == 0 {
        return Ok(DEVICE_ALIGN as u64);
    }
    let align = const { alignment::<T>() };
    let end = pointer.checked_add(bytes as u64);
    if pointer == 0 || !pointer.is_multiple_of(align) || end.is_none() {
        return Err(Error::invalid(
            InvalidKind::Foreign,
            operation,
            format!("the address of {bytes} bytes, not null and a multiple of {align}"),
            format!("{pointer:#x}"),
        ));
    }
    device.executor.require_own(operation, pointer, bytes)?;
    Ok(pointer)
}

impl Device {
    /// Returns a view of `len` elements at `pointer`, which are memory of somebody else: a `CUdeviceptr` of this device,
    /// managed memory, or an address of the host on the CPU.
    ///
    /// The view is used like any other, as [`MatrixView::from_vector`](crate::MatrixView::from_vector) and
    /// [`MatrixRect::from_vector`](crate::MatrixRect::from_vector) too. Nothing is copied, and nobody waits. With 0 elements
    /// the pointer is not looked at, and may be null.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::cpu();
    /// let theirs = [1_u32, 2, 3];
    /// // SAFETY: the array outlives the view, and nobody writes to it.
    /// let view = unsafe { device.foreign_view::<u32>(theirs.as_ptr().expose_provenance() as u64, 3)? };
    /// assert_eq!(device.sum(view)?, 6);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the pointer is null or not aligned, if the device cannot use the memory (it is the host's, another
    /// device's, or of another context than the primary one), or if its allocation ends before the last element, as far as the
    /// driver knows; [`Error::Driver`].
    ///
    /// # Safety
    /// The elements must be initialized and stay readable, and nobody may write to them, while the view or anything made with
    /// it lives and until the work queued with it is done. Work of others that writes them must be ordered before, by a wait or
    /// by streams: see [`on_cuda_stream`](Self::on_cuda_stream) and [`wait_for`](Self::wait_for).
    pub unsafe fn foreign_view<T: Element>(
        &self,
        pointer: u64,
        len: usize,
    ) -> Result<VectorView<'_, T>> {
        let address = checked::<T>(self, "foreign_view", pointer, len)?;
        Ok(VectorView::from_parts(address, len, self))
    }

    /// Returns a mutable view of `len` elements at `pointer`, which are memory of somebody else, and does not wait: see
    /// [`foreign_view`](Self::foreign_view).
    ///
    /// # Errors
    /// As for [`foreign_view`](Self::foreign_view).
    ///
    /// # Safety
    /// As for [`foreign_view`](Self::foreign_view). Also nobody else may read or write the elements meanwhile, and they must be
    /// writable.
    pub unsafe fn foreign_view_mut<T: Element>(
        &self,
        pointer: u64,
        len: usize,
    ) -> Result<VectorViewMut<'_, T>> {
        let address = checked::<T>(self, "foreign_view_mut", pointer, len)?;
        Ok(VectorViewMut::from_parts(address, len, self))
    }

    /// Makes a vector of `len` elements at `pointer`, which are memory of `owner`. Nothing is copied, and nobody waits here.
    ///
    /// Dropping the vector waits until the work of this handle, and of all handles that used the vector, is done, and then
    /// drops the owner, on the same thread. If that wait fails and the device works on, the owner is leaked. If this function
    /// fails, the owner is dropped at once.
    ///
    /// # Errors
    /// As for [`foreign_view`](Self::foreign_view).
    ///
    /// # Safety
    /// As for [`foreign_view_mut`](Self::foreign_view_mut), until the owner is dropped: it must keep the memory as it is while
    /// it lives, wherever it is moved.
    pub unsafe fn foreign_vector<T: Element>(
        &self,
        pointer: u64,
        len: usize,
        owner: impl Send + Sync + 'static,
    ) -> Result<Vector<T>> {
        // SAFETY: by the contract.
        unsafe { self.foreign_vector_of("foreign_vector", pointer, len, Box::new(owner), false) }
    }

    /// # Safety
    /// As for [`foreign_vector`](Self::foreign_vector). If `in_order` is true, dropping the owner must free the memory in the
    /// order of the handle's stream.
    pub(crate) unsafe fn foreign_vector_of<T: Element>(
        &self,
        operation: &'static str,
        pointer: u64,
        len: usize,
        owner: Box<dyn Any + Send + Sync>,
        in_order: bool,
    ) -> Result<Vector<T>> {
        let address = checked::<T>(self, operation, pointer, len)?;
        let memory = ForeignMemory::new(address, owner, &self.executor, in_order);
        Ok(Vector::of_memory(Memory::Foreign(memory), len, self))
    }

    /// Returns a view of the elements of `values`, for work on the CPU. Nothing is copied.
    ///
    /// # Errors
    /// [`Error::Invalid`] on a CUDA device, which cannot use the memory, and if the slice is not aligned as
    /// [`foreign_view`](Self::foreign_view) requires.
    pub fn host_view<'a, T: Element>(&'a self, values: &'a [T]) -> Result<VectorView<'a, T>> {
        let address = self.host_address("host_view", values.as_ptr(), values.len())?;
        Ok(VectorView::from_parts(address, values.len(), self))
    }

    /// Returns a mutable view of the elements of `values`, for work on the CPU. Nothing is copied.
    ///
    /// # Errors
    /// As for [`host_view`](Self::host_view).
    pub fn host_view_mut<'a, T: Element>(
        &'a self,
        values: &'a mut [T],
    ) -> Result<VectorViewMut<'a, T>> {
        let address = self.host_address("host_view_mut", values.as_mut_ptr(), values.len())?;
        Ok(VectorViewMut::from_parts(address, values.len(), self))
    }

    fn host_address<T: Element>(
        &self,
        operation: &'static str,
        start: *const T,
        len: usize,
    ) -> Result<u64> {
        if !matches!(*self.executor, Executor::Cpu(_)) {
            return Err(Error::invalid(
                InvalidKind::Foreign,
                operation,
                "the CPU as the device",
                self.kind().to_string(),
            ));
        }
        checked::<T>(self, operation, start.expose_provenance() as u64, len)
    }

    /// Makes a handle to the same device whose work is queued on `stream`, a `CUstream` that somebody else owns, or a default
    /// stream: 0 or 1 is the legacy one, 2 that of the calling thread.
    ///
    /// The handle's work is then in order with what others queue there, and nobody waits: PyTorch's
    /// `torch.cuda.current_stream().cuda_stream` is such a stream. The library never destroys the stream. To use an array of
    /// one handle with another one orders the two streams around the use, as always.
    ///
    /// # Errors
    /// [`Error::Invalid`] on the CPU, and if the stream does not belong to the device's primary context; [`Error::Driver`].
    ///
    /// # Safety
    /// The stream must exist while this handle, its clones, and everything made with them exist: arrays, prepared requests,
    /// generators, graphs. With the stream of the calling thread (2), all of them must be used and dropped on this thread
    /// alone.
    pub unsafe fn on_cuda_stream(&self, stream: *mut c_void) -> Result<Self> {
        // SAFETY: by the contract.
        unsafe { self.on_stream("on_cuda_stream", stream, None) }
    }

    /// Makes a handle as [`on_cuda_stream`](Self::on_cuda_stream) does, with an owner that keeps the stream: it is dropped
    /// after the handle, its clones, and everything made with them.
    ///
    /// # Errors
    /// As for [`on_cuda_stream`](Self::on_cuda_stream). The owner is then dropped at once.
    ///
    /// # Safety
    /// The stream must exist while the owner does.
    pub unsafe fn on_cuda_stream_kept_by(
        &self,
        stream: *mut c_void,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        const OPERATION: &str = "on_cuda_stream_kept_by";
        // SAFETY: by the contract.
        unsafe { self.on_stream(OPERATION, stream, Some(Box::new(owner))) }
    }

    /// # Safety
    /// As for [`on_cuda_stream`](Self::on_cuda_stream), if there is no owner that keeps the stream alive.
    pub(crate) unsafe fn on_stream(
        &self,
        operation: &'static str,
        stream: *mut c_void,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self> {
        // SAFETY: by the contract.
        let executor = unsafe { self.executor.on_stream(operation, stream, owner) }?;
        Ok(self.with_executor(executor))
    }

    /// Makes the work that this handle queues from now on wait for the work that `other` has queued so far. The host does not
    /// wait.
    ///
    /// The library's own operations need no such call for arrays of other handles. It orders work on memory of others, with a
    /// handle on their stream: see [`on_cuda_stream`](Self::on_cuda_stream).
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`], [`Error::Driver`].
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        capture::refuse("wait_for")?;
        self.require_same("wait_for", other)?;
        self.executor.wait_for(&other.executor)
    }
}

#[cfg(test)]
mod tests {
    use super::alignment;

    #[test]
    fn elements_are_aligned_as_in_the_librarys_own_memory() {
        assert_eq!(
            [alignment::<u8>(), alignment::<u16>(), alignment::<f64>()],
            [1, 2, 8]
        );
        assert_eq!([alignment::<[u8; 3]>(), alignment::<[u8; 4]>()], [1, 4]);
        assert_eq!(
            [alignment::<[f32; 4]>(), alignment::<[f32; 64]>()],
            [16, 16]
        );
        #[repr(align(32))]
        struct Far([u8; 32]);
        let far = Far([0; 32]);
        assert_eq!((alignment::<Far>(), far.0.len()), (32, 32));
    }
}
