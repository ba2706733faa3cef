//! Matrices of the crate `faer`: uploads without a copy on the host, and results as matrices.

use std::slice;

use ::faer::{Mat, MatRef, mat::AsMatRef};

use crate::{
    buffer::{Element, reserve_host},
    device::Device,
    error::Result,
    matrix::{Matrix, MatrixView},
};

const OPERATION: &str = "upload_faer";

/// The least bytes of a line that is copied by itself. Shorter ones are brought together on the host, which takes less time
/// than a copy to the device.
const LONG: usize = 1 << 16;

impl Device {
    /// Copies a matrix of `faer` to a new matrix on the device, of the same rows and columns, straight from its memory. Waits
    /// as [`upload`](Self::upload) does.
    ///
    /// If the elements of each row follow one another, the rows are copied. If those of each column do, as in a [`Mat`], the
    /// columns are copied, and the device [transposes](Self::transpose) them. It is one copy if there are no gaps between rows
    /// (or columns), else one for each. A [`Mat`] has no gaps if a column fills whole lines of 64 bytes. All other elements are
    /// brought together on the host and then copied: those that are apart, rows and columns of less than 64 KiB with gaps
    /// between them, and columns of elements that the device does not transpose.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let theirs = faer::mat![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let matrix = device.upload_faer(&theirs)?;
    /// assert_eq!((matrix.height(), matrix.width()), (2, 3));
    /// assert_eq!(matrix.to_vec()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`upload_matrix`](Self::upload_matrix).
    pub fn upload_faer<T: Element>(&self, matrix: impl AsMatRef<T = T>) -> Result<Matrix<T>> {
        let matrix = matrix.as_mat_ref().as_dyn();
        if rows_are_whole(matrix) {
            return self.upload_rows(matrix);
        }
        if is_transposable::<T>() && rows_are_whole(matrix.transpose()) {
            return self.transpose(&self.upload_rows(matrix.transpose())?);
        }
        let (height, width) = matrix.shape();
        let mut elements = Vec::new();
        reserve_host::<T>(OPERATION, height * width, || {
            elements.try_reserve_exact(height * width).is_ok()
        })?;
        elements.extend((0..height).flat_map(|row| matrix.row(row).iter().copied()));
        self.upload_matrix(&elements, height, width)
    }

    /// Copies a matrix, the elements of whose rows follow one another.
    fn upload_rows<T: Element>(&self, from: MatRef<'_, T>) -> Result<Matrix<T>> {
        let mut matrix = Matrix::uninit(self, OPERATION, from.nrows(), from.ncols())?;
        let mut elements = matrix.as_vector_mut();
        let (runs, len) = runs(from.nrows(), from.ncols(), from.row_stride());
        for run in 0..runs {
            // SAFETY: the matrix borrows these elements, which follow one another from the start of the row on.
            let row = unsafe { slice::from_raw_parts(from.ptr_at(run, 0), len) };
            elements
                .slice_mut(run * len..(run + 1) * len)?
                .upload(row)?;
        }
        Ok(matrix)
    }
}

/// Returns whether the elements of each row follow one another, and the rows too or are long.
fn rows_are_whole<T>(matrix: MatRef<'_, T>) -> bool {
    let (lines, len) = (matrix.nrows(), matrix.ncols());
    let follow = len <= 1 || matrix.col_stride() == 1;
    follow && (runs(lines, len, matrix.row_stride()).0 <= 1 || len * size_of::<T>() >= LONG)
}

/// Returns whether the device transposes matrices of this type.
fn is_transposable<T>() -> bool {
    matches!(size_of::<T>(), 1 | 2 | 4 | 8 | 16)
}

/// Returns the number of runs of elements without a gap, and the length of each, in `lines` lines of `len` elements that start
/// `stride` elements apart: a run is a line, or all of them.
fn runs(lines: usize, len: usize, stride: isize) -> (usize, usize) {
    match len {
        0 => (0, 0),
        _ if usize::try_from(stride) == Ok(len) => (lines.min(1), lines * len),
        _ => (lines, len),
    }
}

impl<T: Element> Matrix<T> {
    /// Copies the elements to a new matrix of `faer`, and waits for them: see [`MatrixView::to_faer`].
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let matrix = device.upload_matrix(&[1_i32, 2, 3, 4, 5, 6], 2, 3)?;
    /// assert_eq!(matrix.to_faer()?, faer::mat![[1, 2, 3], [4, 5, 6]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`MatrixView::to_faer`].
    pub fn to_faer(&self) -> Result<Mat<T>> {
        self.view().to_faer()
    }
}

impl<T: Element> MatrixView<'_, T> {
    /// Copies the elements to a new matrix of `faer`, of the same rows and columns. Waits for the work that computes them.
    ///
    /// If a column fills whole lines of 64 bytes, or has 64 KiB at least, the device [transposes](Device::transpose) the
    /// matrix, and its columns are copied into the memory of the new one: in one copy, or in one for each. Otherwise the
    /// elements are copied to the host and put in their places there.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let matrix = device.upload_matrix(&[1_i32, 2, 3, 4, 5, 6], 3, 2)?;
    /// assert_eq!(matrix.rows(1..)?.to_faer()?, faer::mat![[3, 4], [5, 6]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`to_vec`](Self::to_vec).
    pub fn to_faer(&self) -> Result<Mat<T>> {
        let (height, width) = (self.height(), self.width());
        let mut to = Mat::new();
        reserve_host::<T>("to_faer", height * width, || {
            to.try_reserve(height, width).is_ok()
        })?;
        to.resize_with(height, width, |_, _| T::zeroed());
        if !is_transposable::<T>() || !rows_are_whole(to.transpose()) {
            let elements = self.to_vec()?;
            for (index, element) in elements.into_iter().enumerate() {
                to[(index / width, index % width)] = element;
            }
            return Ok(to);
        }
        let columns = self.device().transpose(*self)?;
        let stride = to.col_stride();
        let (runs, len) = runs(width, height, stride);
        for run in 0..runs {
            let start = to.as_ptr_mut().wrapping_offset(run as isize * stride);
            // SAFETY: `to` owns these elements, which follow one another from the start of the column on, and is not used
            // meanwhile.
            let column = unsafe { slice::from_raw_parts_mut(start, len) };
            let from = columns.as_vector().slice(run * len..(run + 1) * len)?;
            from.download(column)?;
        }
        Ok(to)
    }
}
