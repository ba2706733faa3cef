//! Typed device memory: vectors and views of vectors.

use std::{
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

use bytemuck::Pod;

use crate::{
    backend::DEVICE_ALIGN,
    cpu,
    device::Device,
    error::{Error, InvalidKind, Result},
    executor::Memory,
};

/// A type that can be stored on a device: plain data of at least one byte, for which every bit pattern is valid.
pub trait Element: Pod + Send + Sync {}
impl<T: Pod + Send + Sync> Element for T {}

/// Returns the size of `len` elements in bytes.
pub(crate) fn bytes_of<T>(operation: &'static str, len: usize) -> Result<usize> {
    if size_of::<T>() == 0 {
        return Err(Error::invalid(
            InvalidKind::ElementSize,
            operation,
            "elements of at least one byte",
            format!("{len} elements of none"),
        ));
    }
    len.checked_mul(size_of::<T>())
        .filter(|bytes| *bytes <= isize::MAX as usize)
        .ok_or_else(|| {
            Error::invalid(
                InvalidKind::TooLarge,
                operation,
                format!("{} bytes in all at most", isize::MAX),
                format!("{len} elements of {} bytes", size_of::<T>()),
            )
        })
}

/// Allocates host memory with `len` copies of `value`.
pub(crate) fn host_vec<T: Clone>(operation: &'static str, len: usize, value: T) -> Result<Vec<T>> {
    let mut values = Vec::new();
    reserve_host::<T>(operation, len, || values.try_reserve_exact(len).is_ok())?;
    values.resize(len, value);
    Ok(values)
}

/// Has `reserve` allocate host memory for `len` elements, which returns whether there is enough.
pub(crate) fn reserve_host<T>(
    operation: &'static str,
    len: usize,
    reserve: impl FnOnce() -> bool,
) -> Result<()> {
    let requested = (len as u64).saturating_mul(size_of::<T>() as u64);
    // Some systems promise more memory than they have. Small requests skip the query.
    let too_many = requested >= 1 << 20 && cpu::memory::free().is_some_and(|free| requested > free);
    if !too_many && reserve() {
        return Ok(());
    }
    Err(Error::OutOfMemory {
        operation,
        device: crate::DeviceKind::Cpu,
        requested,
        free: cpu::memory::free(),
    })
}

/// An array in device memory.
#[derive(Debug)]
pub struct Vector<T> {
    memory: Memory,
    len: usize,
    device: Device,
    marker: PhantomData<T>,
}

/// A view of part of an array in device memory.
#[derive(Debug)]
pub struct VectorView<'a, T> {
    address: u64,
    len: usize,
    device: &'a Device,
    marker: PhantomData<&'a T>,
}

/// A mutable view of part of an array in device memory.
#[derive(Debug)]
pub struct VectorViewMut<'a, T> {
    address: u64,
    len: usize,
    device: &'a Device,
    marker: PhantomData<&'a mut T>,
}

impl<T> Clone for VectorView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for VectorView<'_, T> {}

/// Returns the start and the end of `range`, which must lie within `len`.
pub(crate) fn resolve(
    operation: &'static str,
    range: impl RangeBounds<usize>,
    len: usize,
) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(start) => Some(*start),
        Bound::Excluded(start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.checked_add(1),
        Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok((start, end)),
        _ => Err(Error::invalid(
            InvalidKind::Range,
            operation,
            format!("a range within 0..{len}"),
            format!("{:?}..{:?}", range.start_bound(), range.end_bound()),
        )),
    }
}

impl<T: Element> Vector<T> {
    /// Allocates an array of `len` elements with unspecified contents.
    pub(crate) fn uninit(device: &Device, operation: &'static str, len: usize) -> Result<Self> {
        const {
            assert!(
                align_of::<T>() <= DEVICE_ALIGN,
                "elements are aligned to 256 bytes at most"
            )
        };
        let bytes = bytes_of::<T>(operation, len)?;
        let memory = device.executor.allocate(operation, bytes)?;
        Ok(Self::of_memory(memory, len, device))
    }

    /// Makes an array of the first `len` elements of `memory`, which has as many.
    pub(crate) fn of_memory(memory: Memory, len: usize, device: &Device) -> Self {
        Self {
            memory,
            len,
            device: device.clone(),
            marker: PhantomData,
        }
    }

    /// Returns the memory, for work of the vector's handle.
    #[cfg(feature = "candle-cuda")]
    pub(crate) fn into_memory(self) -> Memory {
        self.memory
    }

    /// Keeps the first `len` elements. The memory stays as large as it is.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the handle that the array was made with.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns a view of all elements.
    pub fn view(&self) -> VectorView<'_, T> {
        VectorView {
            address: self.memory.address(),
            len: self.len,
            device: &self.device,
            marker: PhantomData,
        }
    }

    /// Returns a mutable view of all elements.
    pub fn view_mut(&mut self) -> VectorViewMut<'_, T> {
        VectorViewMut {
            address: self.memory.address(),
            len: self.len,
            device: &self.device,
            marker: PhantomData,
        }
    }

    /// Returns a view of the elements of `range`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the range does not lie within the array.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<VectorView<'_, T>> {
        self.view().slice(range)
    }

    /// Returns a mutable view of the elements of `range`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the range does not lie within the array.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<VectorViewMut<'_, T>> {
        self.view_mut().into_slice(range)
    }

    /// Copies the elements to the host. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::Driver`] if that work or the copy failed, [`Error::Unwritten`] by a check of the CPU executor.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.view().to_vec()
    }

    /// Copies the elements into `to`. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `to` has another length, [`Error::Driver`] if the work or the copy failed, [`Error::Unwritten`] by
    /// a check of the CPU executor.
    pub fn download(&self, to: &mut [T]) -> Result<()> {
        self.view().download(to)
    }

    /// Overwrites the elements with those of `from`. Waits as [`Device::upload`] does.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `from` has another length, [`Error::Driver`] if the copy failed.
    pub fn upload(&mut self, from: &[T]) -> Result<()> {
        self.view_mut().upload(from)
    }
}

impl<'a, T: Element> VectorView<'a, T> {
    pub(crate) fn from_parts(address: u64, len: usize, device: &'a Device) -> Self {
        Self {
            address,
            len,
            device,
            marker: PhantomData,
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the view has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the handle that the array was made with.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Returns the address of the first element in the device's memory, for use by other libraries.
    ///
    /// The address is a `CUdeviceptr`, or a host address on the CPU. Work that reads there must be ordered after the work
    /// that computes the elements: see [`Device::cuda_stream`].
    pub fn device_pointer(&self) -> u64 {
        self.address
    }

    /// Returns a view of the elements of `range`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the range does not lie within the view.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<VectorView<'a, T>> {
        let (start, end) = resolve("slice", range, self.len)?;
        let address = self.address + (start * size_of::<T>()) as u64;
        Ok(Self {
            address,
            len: end - start,
            device: self.device,
            marker: PhantomData,
        })
    }

    /// Copies the elements to the host. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::Driver`] if that work or the copy failed, [`Error::Unwritten`] by a check of the CPU executor.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = host_vec("to_vec", self.len, T::zeroed())?;
        self.download(&mut values)?;
        Ok(values)
    }

    /// Copies the elements into `to`. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `to` has another length, [`Error::Driver`] if the work or the copy failed, [`Error::Unwritten`] by
    /// a check of the CPU executor.
    pub fn download(&self, to: &mut [T]) -> Result<()> {
        if to.len() != self.len {
            return Err(Error::invalid(
                InvalidKind::Length,
                "download",
                format!("room for {} elements", self.len),
                format!("{}", to.len()),
            ));
        }
        // SAFETY: the view and `to` both have `len` elements, and the wait below keeps `to` borrowed until the copy is
        // done.
        let copied = unsafe {
            self.device.executor.copy_out(
                to.as_mut_ptr().cast(),
                self.address,
                std::mem::size_of_val(to),
            )
        };
        // A failed wait is tried once more, because the caller gets `to` back after this.
        let wait = || self.device.synchronize();
        let done = wait().or_else(|error| wait().and(Err(error)));
        copied.and(done)
    }
}

impl<'a, T: Element> VectorViewMut<'a, T> {
    pub(crate) fn from_parts(address: u64, len: usize, device: &'a Device) -> Self {
        Self {
            address,
            len,
            device,
            marker: PhantomData,
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the view has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the handle that the array was made with.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Returns the address of the first element, for other libraries to write to: see [`VectorView::device_pointer`].
    pub fn device_pointer(&mut self) -> u64 {
        self.address
    }

    /// Borrows the view mutably again.
    pub(crate) fn reborrow(&mut self) -> VectorViewMut<'_, T> {
        VectorViewMut {
            address: self.address,
            len: self.len,
            device: self.device,
            marker: PhantomData,
        }
    }

    /// Returns a mutable view of the elements of `range`, which borrows this view.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the range does not lie within the view.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<VectorViewMut<'_, T>> {
        self.reborrow().into_slice(range)
    }

    /// Like [`slice_mut`](Self::slice_mut), but consumes the view and keeps its lifetime.
    pub(crate) fn into_slice(self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (start, end) = resolve("slice_mut", range, self.len)?;
        Ok(Self {
            address: self.address + (start * size_of::<T>()) as u64,
            len: end - start,
            ..self
        })
    }

    /// Returns a read-only view of the same elements.
    pub fn as_view(&self) -> VectorView<'_, T> {
        VectorView::from_parts(self.address, self.len, self.device)
    }

    /// Overwrites the elements with those of `from`. Waits as [`Device::upload`] does.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `from` has another length, [`Error::Driver`] if the copy failed.
    pub fn upload(&mut self, from: &[T]) -> Result<()> {
        if from.len() != self.len {
            return Err(Error::invalid(
                InvalidKind::Length,
                "upload",
                format!("{} elements", self.len),
                format!("{}", from.len()),
            ));
        }
        // SAFETY: both sides have the same number of elements.
        unsafe {
            self.device.executor.copy_in(
                self.address,
                from.as_ptr().cast(),
                std::mem::size_of_val(from),
            )
        }
    }

    /// Sets every byte to 0. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::Driver`] if the work could not be queued.
    pub fn clear(&mut self) -> Result<()> {
        // SAFETY: the range is the view's own elements.
        unsafe {
            self.device
                .executor
                .fill(self.address, 0, self.len * size_of::<T>())
        }
    }
}

impl Device {
    /// Copies `values` to a new array on the device.
    ///
    /// The values are read before this returns, and the copy is queued behind the handle's work. A copy from pinned memory is
    /// waited for. To read other memory, the CUDA driver may wait for the work before. [`Vector::upload_pinned`] does not wait.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device does not have enough memory, [`Error::Driver`] if the copy failed.
    pub fn upload<T: Element>(&self, values: &[T]) -> Result<Vector<T>> {
        let mut vector = Vector::uninit(self, "upload", values.len())?;
        vector.upload(values)?;
        Ok(vector)
    }

    /// Makes an array of `len` elements, all of whose bytes are 0. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device does not have enough memory, [`Error::Driver`].
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Vector<T>> {
        let mut vector = Vector::uninit(self, "zeros", len)?;
        vector.view_mut().clear()?;
        Ok(vector)
    }
}
