//! Rectangles of a matrix: a range of rows and columns, with the row stride of the whole matrix.

use std::ops::RangeBounds;

use crate::{
    buffer::{Element, VectorView, VectorViewMut, resolve},
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::{Matrix, MatrixView},
};

/// A rectangle of a matrix in device memory: element `(row, column)` is `stride * row + column` elements after its first
/// one. BLAS calls the stride the leading dimension.
#[derive(Debug, Clone, Copy)]
pub struct MatrixRect<'a, T> {
    elements: VectorView<'a, T>,
    height: usize,
    width: usize,
    stride: usize,
}

/// A mutable [`MatrixRect`].
#[derive(Debug)]
pub struct MatrixRectMut<'a, T> {
    elements: VectorViewMut<'a, T>,
    height: usize,
    width: usize,
    stride: usize,
}

/// A rectangle's shape, and the range of its elements in the matrix.
struct Place {
    elements: std::ops::Range<usize>,
    height: usize,
    width: usize,
}

/// Returns the rectangle `rows` x `columns` of a matrix whose rows are `stride` elements apart.
fn place(
    rows: impl RangeBounds<usize>,
    columns: impl RangeBounds<usize>,
    [height, width, stride]: [usize; 3],
) -> Result<Place> {
    let (top, bottom) = resolve("rect, rows", rows, height)?;
    let (left, right) = resolve("rect, columns", columns, width)?;
    let (height, width) = (bottom - top, right - left);
    let elements = if height == 0 || width == 0 {
        0..0
    } else {
        top * stride + left..(bottom - 1) * stride + right
    };
    Ok(Place {
        elements,
        height,
        width,
    })
}

macro_rules! shape {
    ($rect:ident) => {
        impl<T: Element> $rect<'_, T> {
            /// Returns the number of rows.
            pub fn height(&self) -> usize {
                self.height
            }

            /// Returns the number of columns.
            pub fn width(&self) -> usize {
                self.width
            }

            /// Returns the distance between the starts of two consecutive rows, in elements.
            pub fn stride(&self) -> usize {
                self.stride
            }
        }
    };
}
shape!(MatrixRect);
shape!(MatrixRectMut);

/// Returns the range of the elements of `height` x `width` elements of `len`, whose rows are `stride` elements apart.
pub(crate) fn within(
    operation: &'static str,
    len: usize,
    [height, width, stride]: [usize; 3],
) -> Result<std::ops::Range<usize>> {
    if height == 0 || width == 0 {
        return Ok(0..0);
    }
    let needed = (height - 1).checked_mul(stride);
    let needed = needed.and_then(|before| before.checked_add(width));
    match needed {
        Some(needed) if needed <= len && width <= stride => Ok(0..needed),
        _ => Err(Error::invalid(
            InvalidKind::Shape,
            operation,
            format!(
                "{height} rows of {width} elements, at least {width} apart, within {len} elements"
            ),
            format!("{stride} apart"),
        )),
    }
}

impl<'a, T: Element> MatrixRect<'a, T> {
    /// Makes a rectangle of `height` x `width` of the elements of `elements`, whose rows start `stride` elements apart.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows overlap (`stride` is less than `width`), or if there are not as many elements.
    pub fn from_vector(
        elements: VectorView<'a, T>,
        height: usize,
        width: usize,
        stride: usize,
    ) -> Result<Self> {
        let shape = [height, width, stride];
        let range = within("MatrixRect::from_vector", elements.len(), shape)?;
        Ok(Self {
            elements: elements.slice(range)?,
            height,
            width,
            stride,
        })
    }

    /// Returns the handle that the matrix was made with.
    pub fn device(&self) -> &'a Device {
        self.elements.device()
    }

    /// Returns the elements from the rectangle's first to its last, including those between its rows.
    pub(crate) fn elements(&self) -> VectorView<'a, T> {
        self.elements
    }

    /// Returns the rectangle `rows` x `columns` of this one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a range does not lie within the rectangle.
    pub fn rect(
        &self,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> Result<MatrixRect<'a, T>> {
        let place = place(rows, columns, [self.height, self.width, self.stride])?;
        Ok(Self {
            elements: self.elements.slice(place.elements)?,
            height: place.height,
            width: place.width,
            stride: self.stride,
        })
    }

    /// Copies the elements to the host, row by row. Waits for the work that computes them.
    ///
    /// The copy from the device includes the elements between the rows, which are then left out on the host.
    ///
    /// # Errors
    /// [`Error::Driver`] if that work or the copy failed, [`Error::Unwritten`] by a check of the CPU executor.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let all = self.elements.to_vec()?;
        if self.stride == self.width {
            return Ok(all);
        }
        let rows = all.chunks(self.stride.max(1));
        Ok(rows.flat_map(|row| &row[..self.width]).copied().collect())
    }
}

impl<'a, T: Element> MatrixRectMut<'a, T> {
    /// Makes a mutable rectangle of `height` x `width` of the elements of `elements`, whose rows start `stride` elements apart.
    ///
    /// # Errors
    /// As for [`MatrixRect::from_vector`].
    pub fn from_vector(
        elements: VectorViewMut<'a, T>,
        height: usize,
        width: usize,
        stride: usize,
    ) -> Result<Self> {
        let shape = [height, width, stride];
        let range = within("MatrixRectMut::from_vector", elements.len(), shape)?;
        Ok(Self {
            elements: elements.into_slice(range)?,
            height,
            width,
            stride,
        })
    }

    /// Returns the handle that the matrix was made with.
    pub fn device(&self) -> &Device {
        self.elements.device()
    }

    /// Returns the elements from the rectangle's first to its last, including those between its rows.
    pub(crate) fn elements(&self) -> &VectorViewMut<'a, T> {
        &self.elements
    }

    /// Borrows the rectangle mutably again.
    pub fn reborrow(&mut self) -> MatrixRectMut<'_, T> {
        MatrixRectMut {
            elements: self.elements.reborrow(),
            height: self.height,
            width: self.width,
            stride: self.stride,
        }
    }

    /// Returns a read-only view of the same rectangle.
    pub fn as_rect(&self) -> MatrixRect<'_, T> {
        MatrixRect {
            elements: self.elements.as_view(),
            height: self.height,
            width: self.width,
            stride: self.stride,
        }
    }
}

impl<T: Element> Matrix<T> {
    /// Returns the rectangle `rows` x `columns`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a range does not lie within the matrix.
    pub fn rect(
        &self,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> Result<MatrixRect<'_, T>> {
        MatrixRect::from(self).rect(rows, columns)
    }

    /// Returns the mutable rectangle `rows` x `columns`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a range does not lie within the matrix.
    pub fn rect_mut(
        &mut self,
        rows: impl RangeBounds<usize>,
        columns: impl RangeBounds<usize>,
    ) -> Result<MatrixRectMut<'_, T>> {
        let stride = self.width();
        let place = place(rows, columns, [self.height(), self.width(), stride])?;
        Ok(MatrixRectMut {
            elements: self.as_vector_mut().into_slice(place.elements)?,
            height: place.height,
            width: place.width,
            stride,
        })
    }
}

impl<'a, T: Element> From<MatrixView<'a, T>> for MatrixRect<'a, T> {
    fn from(view: MatrixView<'a, T>) -> Self {
        Self {
            elements: view.as_vector(),
            height: view.height(),
            width: view.width(),
            stride: view.width(),
        }
    }
}

impl<'a, T: Element> From<&'a Matrix<T>> for MatrixRect<'a, T> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        matrix.view().into()
    }
}

impl<'a, T: Element> From<&'a mut Matrix<T>> for MatrixRectMut<'a, T> {
    fn from(matrix: &'a mut Matrix<T>) -> Self {
        let (height, width) = (matrix.height(), matrix.width());
        Self {
            elements: matrix.as_vector_mut(),
            height,
            width,
            stride: width,
        }
    }
}
