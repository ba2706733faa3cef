//! Arrays of the crate `ndarray`: uploads without a copy on the host, and results as arrays.

use ::ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::{Matrix, MatrixView},
    rect::MatrixRect,
};

impl Device {
    /// Copies a one-dimensional array of `ndarray` to a new array on the device, straight from its memory. Waits as
    /// [`upload`](Self::upload) does.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the elements do not follow one another (`as_standard_layout` makes an array whose elements do);
    /// otherwise as for [`upload`](Self::upload).
    pub fn upload_array1<'a, T: Element>(
        &self,
        array: impl Into<ArrayView1<'a, T>>,
    ) -> Result<Vector<T>> {
        let array = array.into();
        let elements = array
            .to_slice()
            .ok_or_else(|| apart("upload_array1", array.strides()))?;
        self.upload(elements)
    }

    /// Copies a two-dimensional array of `ndarray` to a new matrix on the device, straight from its memory: in one copy if its
    /// rows follow one another, else in a copy for each row. Waits as [`upload`](Self::upload) does.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the elements of a row do not follow one another (`as_standard_layout` makes an array whose
    /// elements do); otherwise as for [`upload_matrix`](Self::upload_matrix).
    pub fn upload_array2<'a, T: Element>(
        &self,
        array: impl Into<ArrayView2<'a, T>>,
    ) -> Result<Matrix<T>> {
        const OPERATION: &str = "upload_array2";
        let array = array.into();
        let (height, width) = array.dim();
        if let Some(elements) = array.to_slice() {
            return self.upload_matrix(elements, height, width);
        }
        let mut matrix = Matrix::uninit(self, OPERATION, height, width)?;
        let mut elements = matrix.as_vector_mut();
        for (index, row) in array.rows().into_iter().enumerate() {
            let row = row
                .to_slice()
                .ok_or_else(|| apart(OPERATION, array.strides()))?;
            elements
                .slice_mut(index * width..(index + 1) * width)?
                .upload(row)?;
        }
        Ok(matrix)
    }
}

fn apart(operation: &'static str, strides: &[isize]) -> Error {
    Error::invalid(
        InvalidKind::Shape,
        operation,
        "elements that follow one another along the last axis",
        format!("strides {strides:?}"),
    )
}

/// Adds a method that makes an array of what another one copies to the host.
macro_rules! to_array {
    ($($ty:ty, $name:ident -> $array:ident, |$it:ident| $shape:expr;)*) => { $(
        impl<T: Element> $ty {
            /// Copies the elements to a new array of `ndarray`, in row-major order. Waits for the work that computes them.
            ///
            /// # Errors
            /// As for [`to_vec`](Self::to_vec).
            pub fn $name(&self) -> Result<$array<T>> {
                let $it = self;
                let array = $array::from_shape_vec($shape, self.to_vec()?);
                Ok(array.expect("as many elements as the shape has"))
            }
        }
    )* };
}
to_array! {
    Vector<T>, to_array1 -> Array1, |it| it.len();
    VectorView<'_, T>, to_array1 -> Array1, |it| it.len();
    Matrix<T>, to_array2 -> Array2, |it| (it.height(), it.width());
    MatrixView<'_, T>, to_array2 -> Array2, |it| (it.height(), it.width());
    MatrixRect<'_, T>, to_array2 -> Array2, |it| (it.height(), it.width());
}

#[cfg(test)]
mod tests {
    use ::ndarray::{Array2, arr1, arr2, s};

    use crate::{Device, InvalidKind, error::Error};

    #[test]
    fn arrays_go_to_the_device_and_back() {
        let device = Device::cpu();
        let line = arr1(&[1_u32, 2, 3, 4]);
        let vector = device.upload_array1(&line).expect("contiguous");
        assert_eq!(vector.to_array1().expect("memory"), line);
        let part = device
            .upload_array1(line.slice(s![1..3]))
            .expect("contiguous");
        assert_eq!(part.view().to_array1().expect("memory"), arr1(&[2, 3]));
        let image = arr2(&[[1_u8, 2, 3], [4, 5, 6], [7, 8, 9]]);
        let matrix = device.upload_array2(&image).expect("contiguous");
        assert_eq!(matrix.to_array2().expect("memory"), image);
        let turned = device.transpose(&matrix).expect("memory");
        assert_eq!(turned.view().to_array2().expect("memory"), image.t());
        // Rows that are apart, or in another order.
        for rows in [image.slice(s![.., ..2]), image.slice(s![..;-1, 1..])] {
            let matrix = device.upload_array2(rows).expect("contiguous rows");
            assert_eq!(matrix.to_array2().expect("memory"), rows);
        }
        let rect = matrix.rect(1.., ..2).expect("within");
        assert_eq!(rect.to_array2().expect("memory"), arr2(&[[4, 5], [7, 8]]));
        for (height, width) in [(0, 3), (3, 0), (0, 0)] {
            let none = Array2::<u8>::zeros((height, width));
            let matrix = device.upload_array2(&none).expect("nothing");
            assert_eq!(matrix.to_array2().expect("nothing"), none);
        }
    }

    #[test]
    fn elements_that_are_apart_are_refused() {
        let device = Device::cpu();
        let image = arr2(&[[1_u8, 2, 3], [4, 5, 6]]);
        let columns = device.upload_array2(image.t()).map(drop);
        let every_other = device.upload_array1(image.column(1)).map(drop);
        for (refused, strides) in [(columns, "[1, 3]"), (every_other, "[3]")] {
            let error = refused.expect_err("apart");
            let kind = InvalidKind::Shape;
            assert!(matches!(error, Error::Invalid { kind: found, .. } if found == kind));
            assert!(error.to_string().contains(strides), "{error}");
        }
    }
}
