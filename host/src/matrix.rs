//! Row-major matrices in device memory.

use std::ops::RangeBounds;

use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut, resolve},
    device::Device,
    error::{Error, InvalidKind, Result},
};

/// A row-major matrix in device memory: element `(row, column)` is element `row * width + column`.
#[derive(Debug)]
pub struct Matrix<T> {
    elements: Vector<T>,
    height: usize,
    width: usize,
}

/// A view of consecutive rows of a matrix in device memory.
#[derive(Debug, Clone, Copy)]
pub struct MatrixView<'a, T> {
    elements: VectorView<'a, T>,
    height: usize,
    width: usize,
}

/// Returns the number of elements of a matrix of this shape.
fn elements(operation: &'static str, height: usize, width: usize) -> Result<usize> {
    height.checked_mul(width).ok_or_else(|| {
        Error::invalid(
            InvalidKind::TooLarge,
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

    /// Makes a `height` x `width` matrix of the elements of `vector`, row by row.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the vector does not have `height * width` elements.
    pub fn from_vector(vector: Vector<T>, height: usize, width: usize) -> Result<Self> {
        check_shape("Matrix::from_vector", vector.len(), height, width)?;
        Ok(Self {
            elements: vector,
            height,
            width,
        })
    }

    /// Returns the number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the handle that the matrix was made with.
    pub fn device(&self) -> &Device {
        self.elements.device()
    }

    /// Returns the elements, row by row.
    pub fn as_vector(&self) -> &Vector<T> {
        &self.elements
    }

    /// Returns a mutable view of the elements, row by row. The number of elements of a matrix cannot change.
    pub fn as_vector_mut(&mut self) -> VectorViewMut<'_, T> {
        self.elements.view_mut()
    }

    /// Converts the matrix to a vector of its elements, row by row.
    pub fn into_vector(self) -> Vector<T> {
        self.elements
    }

    /// Returns a view of all rows.
    pub fn view(&self) -> MatrixView<'_, T> {
        MatrixView {
            elements: self.elements.view(),
            height: self.height,
            width: self.width,
        }
    }

    /// Returns a view of the rows of `range`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the range does not lie within the matrix.
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<MatrixView<'_, T>> {
        self.view().rows(range)
    }

    /// Copies the elements to the host, row by row. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::Driver`] if that work or the copy failed, [`Error::Unwritten`] by a check of the CPU executor.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.elements.to_vec()
    }
}

fn check_shape(operation: &'static str, len: usize, height: usize, width: usize) -> Result<()> {
    if elements(operation, height, width)? == len {
        return Ok(());
    }
    Err(Error::invalid(
        InvalidKind::Length,
        operation,
        format!("{height} x {width} elements"),
        format!("{len}"),
    ))
}

impl<'a, T: Element> MatrixView<'a, T> {
    /// Makes a view of a `height` x `width` matrix with the elements of `elements`, row by row.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are not `height * width` elements.
    pub fn from_vector(elements: VectorView<'a, T>, height: usize, width: usize) -> Result<Self> {
        check_shape("MatrixView::from_vector", elements.len(), height, width)?;
        Ok(Self {
            elements,
            height,
            width,
        })
    }

    /// Returns the number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the handle that the matrix was made with.
    pub fn device(&self) -> &'a Device {
        self.elements.device()
    }

    /// Returns the elements, row by row.
    pub fn as_vector(&self) -> VectorView<'a, T> {
        self.elements
    }

    /// Returns a view of the rows of `range`.
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

    /// Copies the elements to the host, row by row. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::Driver`] if that work or the copy failed, [`Error::Unwritten`] by a check of the CPU executor.
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

impl<'a, T: Element> From<&'a mut Vector<T>> for VectorViewMut<'a, T> {
    fn from(vector: &'a mut Vector<T>) -> Self {
        vector.view_mut()
    }
}

impl Device {
    /// Copies `values` to a new `height` x `width` matrix on the device, row by row. Waits as [`upload`](Self::upload) does.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are not `height * width` values, [`Error::OutOfMemory`] if the device does not have
    /// enough memory, [`Error::Driver`] if the copy failed.
    pub fn upload_matrix<T: Element>(
        &self,
        values: &[T],
        height: usize,
        width: usize,
    ) -> Result<Matrix<T>> {
        check_shape("upload_matrix", values.len(), height, width)?;
        Matrix::from_vector(self.upload(values)?, height, width)
    }

    /// Makes a `height` x `width` matrix, all of whose bytes are 0. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device does not have enough memory, [`Error::Driver`].
    pub fn zeros_matrix<T: Element>(&self, height: usize, width: usize) -> Result<Matrix<T>> {
        let elements = self.zeros(elements("zeros_matrix", height, width)?)?;
        Matrix::from_vector(elements, height, width)
    }
}
