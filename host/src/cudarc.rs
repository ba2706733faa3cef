//! Memory of the crate `cudarc`, version 0.19: slices as views, and slices that become vectors.

use std::{ffi::c_void, sync::Arc};

use ::cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DriverError,
};

use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, InvalidKind, Result},
};

/// The driver's handle that is a stream of its own in each thread. A [`Device`] with it would change its stream when it is used
/// by another thread.
pub(crate) const PER_THREAD: usize = 2;

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::CudaSlice<T> {}
    impl<T> Sealed for super::CudaView<'_, T> {}
    impl<T> Sealed for super::CudaViewMut<'_, T> {}
}

/// Memory of `cudarc` that can be read: a [`CudaSlice`], a [`CudaView`] or a [`CudaViewMut`]. Other crates cannot implement
/// this trait.
pub trait CudarcMemory<T>: DevicePtr<T> + sealed::Sealed {}
impl<T> CudarcMemory<T> for CudaSlice<T> {}
impl<T> CudarcMemory<T> for CudaView<'_, T> {}
impl<T> CudarcMemory<T> for CudaViewMut<'_, T> {}

/// Memory of `cudarc` that can be written: a [`CudaSlice`] or a [`CudaViewMut`]. Other crates cannot implement this trait.
pub trait CudarcMemoryMut<T>: DevicePtrMut<T> + sealed::Sealed {}
impl<T> CudarcMemoryMut<T> for CudaSlice<T> {}
impl<T> CudarcMemoryMut<T> for CudaViewMut<'_, T> {}

/// Memory of `cudarc` that is borrowed for reading. Made by [`Device::cudarc_view`].
pub struct CudarcView<'a, T> {
    address: u64,
    len: usize,
    /// A handle on the memory's own stream.
    device: Device,
    from: &'a dyn DevicePtr<T>,
}

/// Memory of `cudarc` that is borrowed for writing. Made by [`Device::cudarc_view_mut`].
pub struct CudarcViewMut<'a, T> {
    address: u64,
    len: usize,
    /// A handle on the memory's own stream.
    device: Device,
    from: &'a mut dyn DevicePtrMut<T>,
}

impl Device {
    /// Borrows memory of `cudarc` for reading. Nothing is copied, and the host does not wait.
    ///
    /// What uses the view comes after the work of `cudarc` that writes the memory, and before what `cudarc` does with it once
    /// this is dropped: operations order themselves with the memory's own stream, which waits for `cudarc`'s events from here
    /// on, and the drop records them.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let theirs = cudarc::driver::CudaContext::new(0)?.default_stream();
    /// let slice = theirs.clone_htod(&[3.0_f32, 1.0, 2.0])?;
    /// let device = warpwright::Device::cuda(0)?;
    /// let borrowed = device.cudarc_view(&slice)?;
    /// assert_eq!(device.sum(borrowed.view())?, 6.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the memory is of another device or not aligned, or if its stream is not of the device's primary
    /// context or is that of each thread (`per_thread_stream`); [`Error::Driver`].
    pub fn cudarc_view<'a, T: Element>(
        &self,
        from: &'a impl CudarcMemory<T>,
    ) -> Result<CudarcView<'a, T>> {
        let (address, device) = self.lent("cudarc_view", from.stream().clone(), |stream| {
            from.device_ptr(stream).0
        })?;
        let len = from.len();
        Ok(CudarcView {
            address: crate::foreign::checked::<T>(&device, "cudarc_view", address, len)?,
            len,
            device,
            from,
        })
    }

    /// Borrows memory of `cudarc` for reading and writing, and does not wait: see [`cudarc_view`](Self::cudarc_view).
    ///
    /// # Errors
    /// As for [`cudarc_view`](Self::cudarc_view).
    pub fn cudarc_view_mut<'a, T: Element>(
        &self,
        from: &'a mut impl CudarcMemoryMut<T>,
    ) -> Result<CudarcViewMut<'a, T>> {
        let (address, device) = self.lent("cudarc_view_mut", from.stream().clone(), |stream| {
            from.device_ptr_mut(stream).0
        })?;
        let len = from.len();
        Ok(CudarcViewMut {
            address: crate::foreign::checked::<T>(&device, "cudarc_view_mut", address, len)?,
            len,
            device,
            from,
        })
    }

    /// Makes a vector of a slice of `cudarc`, which it then owns. Nothing is copied, and the host does not wait, not even when
    /// the vector is dropped: the slice is freed in the order of its own stream, on which the vector's handle is.
    ///
    /// # Errors
    /// As for [`cudarc_view`](Self::cudarc_view). The slice is then dropped.
    pub fn cudarc_vector<T: Element>(&self, mut slice: CudaSlice<T>) -> Result<Vector<T>> {
        const OPERATION: &str = "cudarc_vector";
        let len = slice.len();
        let (address, device) = self.lent(OPERATION, slice.stream().clone(), |stream| {
            slice.device_ptr_mut(stream).0
        })?;
        // SAFETY: the slice keeps the memory, which nobody else uses, and is freed in the order of its stream, which is that of
        // the handle. `device_ptr_mut` ordered the work on other streams before.
        unsafe { device.foreign_vector_of(OPERATION, address, len, Box::new(slice), true) }
    }

    /// Returns the address that `ask` gets from `cudarc`, and a handle on `stream`.
    fn lent(
        &self,
        operation: &'static str,
        stream: Arc<CudaStream>,
        ask: impl FnOnce(&CudaStream) -> u64,
    ) -> Result<(u64, Self)> {
        let raw: *mut c_void = stream.cu_stream().cast();
        if raw.addr() == PER_THREAD {
            let required = "memory whose stream is the same in every thread";
            let given = "memory of `per_thread_stream`";
            return Err(Error::invalid(
                InvalidKind::Foreign,
                operation,
                required,
                given,
            ));
        }
        // SAFETY: the stream lives as long as `stream`, which the handle keeps.
        let device = unsafe { self.on_stream(operation, raw, Some(Box::new(stream.clone()))) }?;
        let address = ask(&stream);
        self.checked_by_cudarc(operation, &stream)?;
        Ok((address, device))
    }

    /// Fails if `cudarc` has kept an error for later.
    pub(crate) fn checked_by_cudarc(
        &self,
        operation: &'static str,
        stream: &CudaStream,
    ) -> Result<()> {
        let told = stream.context().check_err();
        told.map_err(|error| self.cudarc_error(operation, &error))
    }

    pub(crate) fn cudarc_error(&self, operation: &'static str, error: &DriverError) -> Error {
        Error::Driver {
            operation,
            device: self.kind(),
            code: error.0 as u32,
            message: format!("cudarc: {error}"),
        }
    }
}

impl<T: Element> CudarcView<'_, T> {
    /// Returns a view of the elements.
    pub fn view(&self) -> VectorView<'_, T> {
        VectorView::from_parts(self.address, self.len, &self.device)
    }
}

impl<T: Element> CudarcViewMut<'_, T> {
    /// Returns a view of the elements.
    pub fn view(&self) -> VectorView<'_, T> {
        VectorView::from_parts(self.address, self.len, &self.device)
    }

    /// Returns a mutable view of the elements.
    pub fn view_mut(&mut self) -> VectorViewMut<'_, T> {
        VectorViewMut::from_parts(self.address, self.len, &self.device)
    }
}

impl<T> Drop for CudarcView<'_, T> {
    fn drop(&mut self) {
        // Records the event that `cudarc`'s other streams wait for before they write. `cudarc` keeps an error for later.
        let stream = self.from.stream().clone();
        drop(self.from.device_ptr(&stream));
    }
}

impl<T> Drop for CudarcViewMut<'_, T> {
    fn drop(&mut self) {
        // As for a `CudarcView`, before they read or write.
        let stream = self.from.stream().clone();
        drop(self.from.device_ptr_mut(&stream));
    }
}

impl<T> std::fmt::Debug for CudarcView<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CudarcView({:#x}, {} elements)", self.address, self.len)
    }
}

impl<T> std::fmt::Debug for CudarcViewMut<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "CudarcViewMut({:#x}, {} elements)",
            self.address, self.len
        )
    }
}
