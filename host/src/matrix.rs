//! Row-major matrices on a device.

use std::ops::RangeBounds;

use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut, resolve},
    device::Device,
    error::{Error, Result},
};

/// A row-major matrix on a device: element `(row, column)` is element `row * width + column`.
#[derive(Debug)]
pub struct Matrix<T> {
    elements: Vector<T>,
    height: usize,
    width: usize,
}

/// Neighbouring rows of a matrix on a device.
#[derive(Debug, Clone, Copy)]
pub struct MatrixView<'a, T> {
    elements: VectorView<'a, T>,
    height: usize,
    width: usize,
}

/// The elements of a matrix of this shape.
fn elements(operation: &'static str, height: usize, width: usize) -> Result<usize> {
    height.checked_mul(width).ok_or_else(|| {
        Error::invalid(
            operation,
            format!("{} elements at most", usize::MAX),
            format!("{height} rows of {width}"),
        )
    })
}

impl<T: Element> Matrix<T> {
    pub(crate) fn uninit(
        device: &Device,
        operation: &'static str,
        height: usize,
        width: usize,
    ) -> Result<Self> {
        let elements = Vector::uninit(device, operation, elements(operation, height, width)?)?;
        Ok(Self {
            elements,
            height,
            width,
        })
    }

    /// The matrix of `height` rows whose elements, row by row, are those of `elements`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if their number is not `height * width`.
    pub fn from_vector(vector: Vector<T>, height: usize, width: usize) -> Result<Self> {
        check_shape("Matrix::from_vector", vector.len(), height, width)?;
        Ok(Self {
            elements: vector,
            height,
            width,
        })
    }

    /// The number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The handle that it was made with.
    pub fn device(&self) -> &Device {
        self.elements.device()
    }

    /// The elements, row by row.
    pub fn as_vector(&self) -> &Vector<T> {
        &self.elements
    }

    /// The elements, row by row, to write. A view: a matrix keeps the number of elements that it has.
    pub fn as_vector_mut(&mut self) -> VectorViewMut<'_, T> {
        self.elements.view_mut()
    }

    /// The elements, row by row, without the shape.
    pub fn into_vector(self) -> Vector<T> {
        self.elements
    }

    /// All of it.
    pub fn view(&self) -> MatrixView<'_, T> {
        MatrixView {
            elements: self.elements.view(),
            height: self.height,
            width: self.width,
        }
    }

    /// The rows of `range`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the range does not lie within the matrix.
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<MatrixView<'_, T>> {
        self.view().rows(range)
    }

    /// A copy of the elements on the host, row by row; waits for the work that makes them.
    ///
    /// # Errors
    /// [`Error::Driver`] if that work or the copy failed.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.elements.to_vec()
    }
}

fn check_shape(operation: &'static str, len: usize, height: usize, width: usize) -> Result<()> {
    if elements(operation, height, width)? == len {
        return Ok(());
    }
    Err(Error::invalid(
        operation,
        format!("{height} x {width} elements"),
        format!("{len}"),
    ))
}

impl<'a, T: Element> MatrixView<'a, T> {
    /// The matrix of `height` rows whose elements, row by row, are those of `elements`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if their number is not `height * width`.
    pub fn from_vector(elements: VectorView<'a, T>, height: usize, width: usize) -> Result<Self> {
        check_shape("MatrixView::from_vector", elements.len(), height, width)?;
        Ok(Self {
            elements,
            height,
            width,
        })
    }

    /// The number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The handle that the matrix was made with.
    pub fn device(&self) -> &'a Device {
        self.elements.device()
    }

    /// The elements, row by row.
    pub fn as_vector(&self) -> VectorView<'a, T> {
        self.elements
    }

    /// The rows of `range`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the range does not lie within the view.
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<MatrixView<'a, T>> {
        let (start, end) = resolve("rows", range, self.height)?;
        let elements = self.elements.slice(start * self.width..end * self.width)?;
        Ok(Self {
            elements,
            height: end - start,
            width: self.width,
        })
    }

    /// A copy of the elements on the host, row by row; waits for the work that makes them.
    ///
    /// # Errors
    /// [`Error::Driver`] if that work or the copy failed.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.elements.to_vec()
    }
}

impl<'a, T: Element> From<&'a Matrix<T>> for MatrixView<'a, T> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        matrix.view()
    }
}

impl<'a, T: Element> From<&'a Vector<T>> for VectorView<'a, T> {
    fn from(vector: &'a Vector<T>) -> Self {
        vector.view()
    }
}

impl Device {
    /// A copy on the device of a matrix whose elements are `values`, row by row.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are not `height * width` of them, [`Error::OutOfMemory`] if the device
    /// has not that much, [`Error::Driver`] if the copy failed.
    pub fn upload_matrix<T: Element>(
        &self,
        values: &[T],
        height: usize,
        width: usize,
    ) -> Result<Matrix<T>> {
        check_shape("upload_matrix", values.len(), height, width)?;
        Matrix::from_vector(self.upload(values)?, height, width)
    }

    /// A matrix all of whose bytes are nought.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has not that much, [`Error::Driver`].
    pub fn zeros_matrix<T: Element>(&self, height: usize, width: usize) -> Result<Matrix<T>> {
        let elements = self.zeros(elements("zeros_matrix", height, width)?)?;
        Matrix::from_vector(elements, height, width)
    }
}
