//! Copies of arrays and matrices to any device: to another one, to another stream of the same one, from and to the CPU.

use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, InvalidKind, Result},
    executor::copies::{Rows, copy},
    matrix::{Matrix, MatrixView},
    rect::{MatrixRect, MatrixRectMut},
};

/// Copies all elements. Both views have the same length.
fn copy_elements<T: Element>(
    operation: &'static str,
    to: &VectorViewMut<'_, T>,
    from: VectorView<'_, T>,
) -> Result<()> {
    let target = (&to.device().executor, to.address());
    let source = (&from.device().executor, from.address());
    let bytes = from.len() * size_of::<T>();
    // SAFETY: both views have so many elements. The target's are borrowed mutably, so they are others than the source's, and
    // nothing else uses them.
    unsafe { copy(operation, target, source, Rows::one(bytes)) }
}

/// Copies all elements. Both rectangles have the same shape.
fn copy_rect<T: Element>(
    operation: &'static str,
    to: &MatrixRectMut<'_, T>,
    from: MatrixRect<'_, T>,
) -> Result<()> {
    let target = (&to.device().executor, to.elements().address());
    let source = (&from.device().executor, from.elements().address());
    let rows = Rows {
        count: from.height(),
        bytes: from.width() * size_of::<T>(),
        to_stride: to.stride() * size_of::<T>(),
        from_stride: from.stride() * size_of::<T>(),
    };
    // SAFETY: the rows lie within the rectangles. The target's elements are others than the source's, as above.
    unsafe { copy(operation, target, source, rows) }
}

impl<T: Element> VectorView<'_, T> {
    /// Copies the elements to a new array of `device`, which may be any device, or another handle to the same one.
    ///
    /// Between CUDA devices and between streams the host does not wait: the copy is queued, in order with the work of both
    /// handles, and this array may be dropped or overwritten at once. Two CUDA devices with a link between them copy directly.
    /// Their first copy enables the access to each other's memory, for the primary contexts and the default memory pools, once
    /// per process and pair. Without a link the driver copies through memory of the host.
    ///
    /// A copy from a CUDA device to the CPU waits for the work that computes the elements and for the copy. A copy from the CPU
    /// to a CUDA device is an [`upload`](Device::upload).
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// use warpwright::Device;
    ///
    /// let (device, cpu) = (Device::auto()?, Device::cpu());
    /// let values = device.upload(&[3_u32, 1, 2])?;
    /// let sorted = device.sort(&values)?.to_device(&cpu)?;
    /// assert_eq!(cpu.sum(&sorted)?, 6);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if `device` does not have enough memory; [`Error::Driver`] if the copy failed, or work before it
    /// if the host waits; [`Error::Invalid`] while this thread captures.
    pub fn to_device(&self, device: &Device) -> Result<Vector<T>> {
        let mut copy = Vector::uninit(device, "to_device", self.len())?;
        copy_elements("to_device", &copy.view_mut(), *self)?;
        Ok(copy)
    }
}

impl<T: Element> VectorViewMut<'_, T> {
    /// Overwrites the elements with those of `from`, an array of any device: see [`VectorView::to_device`], also for when the
    /// host waits.
    ///
    /// On one device, a copy on the handle that captures can be captured: see [`Device::capture`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if `from` has another length, or while this thread captures, if the copy cannot be captured;
    /// [`Error::Driver`] if the copy failed, or work before it if the host waits.
    pub fn copy_from<'a>(&mut self, from: impl Into<VectorView<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        let from = from.into();
        if from.len() != self.len() {
            return Err(Error::invalid(
                InvalidKind::Length,
                "copy_from",
                format!("{} elements", self.len()),
                format!("{}", from.len()),
            ));
        }
        copy_elements("copy_from", self, from)
    }
}

impl<T: Element> Vector<T> {
    /// Copies the elements to a new array of `device`: see [`VectorView::to_device`], also for when the host waits.
    ///
    /// # Errors
    /// As for [`VectorView::to_device`].
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        self.view().to_device(device)
    }

    /// Overwrites the elements with those of `from`, an array of any device: see [`VectorViewMut::copy_from`], also for when
    /// the host waits.
    ///
    /// # Errors
    /// As for [`VectorViewMut::copy_from`].
    pub fn copy_from<'a>(&mut self, from: impl Into<VectorView<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        self.view_mut().copy_from(from)
    }
}

impl<T: Element> MatrixRect<'_, T> {
    /// Copies the rectangle to a new matrix of `device`, `height` x `width`, without the elements between the rows: see
    /// [`VectorView::to_device`], also for when the host waits. There is one copy, or one for each row if the rows are apart.
    ///
    /// # Errors
    /// As for [`VectorView::to_device`].
    pub fn to_device(&self, device: &Device) -> Result<Matrix<T>> {
        let mut copy = Matrix::uninit(device, "to_device", self.height(), self.width())?;
        copy_rect("to_device", &MatrixRectMut::from(&mut copy), *self)?;
        Ok(copy)
    }
}

impl<T: Element> MatrixRectMut<'_, T> {
    /// Overwrites the elements with those of `from`, a matrix or a rectangle of any device: see [`VectorView::to_device`],
    /// also for when the host waits. There is one copy, or one for each row if rows are apart.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `from` has another height or width, else as for [`VectorViewMut::copy_from`].
    pub fn copy_from<'a>(&mut self, from: impl Into<MatrixRect<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        let from = from.into();
        let (own, given) = ((self.height(), self.width()), (from.height(), from.width()));
        if own != given {
            return Err(Error::invalid(
                InvalidKind::Shape,
                "copy_from",
                format!("{} rows of {}", own.0, own.1),
                format!("{} rows of {}", given.0, given.1),
            ));
        }
        copy_rect("copy_from", self, from)
    }
}

impl<T: Element> MatrixView<'_, T> {
    /// Copies the rows to a new matrix of `device`: see [`VectorView::to_device`], also for when the host waits.
    ///
    /// # Errors
    /// As for [`VectorView::to_device`].
    pub fn to_device(&self, device: &Device) -> Result<Matrix<T>> {
        MatrixRect::from(*self).to_device(device)
    }
}

impl<T: Element> Matrix<T> {
    /// Copies the matrix to a new one of `device`: see [`VectorView::to_device`], also for when the host waits.
    ///
    /// # Errors
    /// As for [`VectorView::to_device`].
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        self.view().to_device(device)
    }

    /// Overwrites the elements with those of `from`, a matrix or a rectangle of any device: see [`MatrixRectMut::copy_from`],
    /// also for when the host waits.
    ///
    /// # Errors
    /// As for [`MatrixRectMut::copy_from`].
    pub fn copy_from<'a>(&mut self, from: impl Into<MatrixRect<'a, T>>) -> Result<()>
    where
        T: 'a,
    {
        MatrixRectMut::from(self).copy_from(from)
    }
}
