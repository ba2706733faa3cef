//! Elements that operations read and write, and how they lie in memory.

use std::sync::Arc;

use dlpark::AllocationDeleter;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use warpwright::{Device, VectorView, VectorViewMut};

use crate::{
    array::Memory,
    dtype::{Dtype, Item},
};

/// What keeps an input's memory.
#[expect(dead_code, reason = "kept for their drop")]
pub enum Owner {
    Object(Py<PyAny>),
    Tensor(AllocationDeleter),
    Memory(Arc<Memory>),
}

/// Elements that an operation reads or writes.
pub struct Source {
    pub address: u64,
    pub shape: Vec<usize>,
    /// The distances of elements along each axis, in elements. `None` for elements row by row without gaps.
    pub strides: Option<Vec<i64>>,
    pub dtype: Dtype,
    pub read_only: bool,
    pub owner: Owner,
}

/// The elements of a [`Source`], row by row.
#[derive(Clone, Copy)]
pub struct Elements {
    pub address: u64,
    pub len: usize,
}

impl Elements {
    /// Returns a view of the elements.
    pub fn view<T: Item>(self, device: &Device) -> warpwright::Result<VectorView<'_, T>> {
        // SAFETY: the source keeps the memory, whose elements are of this type, until the work is queued; then the memory's
        // stream orders what its owner does with it. That nobody writes meanwhile is what every function of Python's asks for.
        unsafe { device.foreign_view(self.address, self.len) }
    }

    /// Returns a mutable view of the elements, which no other view of the same operation overlaps.
    pub fn view_mut<T: Item>(self, device: &Device) -> warpwright::Result<VectorViewMut<'_, T>> {
        // SAFETY: as for `view`. What is written is writable and not read: `Call::written` has checked both.
        unsafe { device.foreign_view_mut(self.address, self.len) }
    }
}

/// The elements of a matrix, or of a stack of them, or of their transposes.
#[derive(Clone, Copy)]
pub struct Rect {
    pub elements: Elements,
    /// The number of matrices.
    pub count: usize,
    /// The number of rows of all matrices.
    pub rows: usize,
    pub columns: usize,
    /// The distance of rows.
    pub stride: usize,
    /// Whether the array's matrices are the transposes of these.
    pub transposed: bool,
}

/// Returns whether two ranges of addresses share a byte.
pub fn overlap(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0 < other.1 && other.0 < one.1
}

impl Source {
    /// Returns the range of addresses that the elements lie in.
    pub fn bytes(&self) -> (u64, u64) {
        if self.shape.contains(&0) {
            return (self.address, self.address);
        }
        let last: u64 = match &self.strides {
            None => self.shape.iter().product::<usize>() as u64 - 1,
            Some(strides) => {
                let last = self.shape.iter().zip(strides);
                last.map(|(len, stride)| (*len as u64 - 1) * stride.unsigned_abs())
                    .sum()
            }
        };
        (
            self.address,
            self.address + (last + 1) * self.dtype.size() as u64,
        )
    }

    /// Returns the elements, which must be row by row without gaps.
    pub fn elements(&self, operation: &str) -> PyResult<Elements> {
        if let Some(strides) = &self.strides {
            return Err(PyValueError::new_err(format!(
                "{operation}: elements row by row without gaps required, an array of the shape {:?} with the strides \
                 {strides:?} given; x.contiguous() of PyTorch or cupy.ascontiguousarray(x) makes such an array",
                self.shape
            )));
        }
        Ok(Elements {
            address: self.address,
            len: self.shape.iter().product(),
        })
    }

    /// Returns the elements of an array of one axis.
    pub fn vector(&self, operation: &str) -> PyResult<Elements> {
        self.axes(operation, 1)?;
        self.elements(operation)
    }

    /// Fails unless the array has `axes` axes.
    pub fn axes(&self, operation: &str, axes: usize) -> PyResult<()> {
        if self.shape.len() != axes {
            let s = if axes == 1 { "axis" } else { "axes" };
            return Err(PyValueError::new_err(format!(
                "{operation}: an array with {axes} {s} required, one of the shape {:?} given",
                self.shape
            )));
        }
        Ok(())
    }

    /// Returns an array of two axes or more as the library's matrices are: rows without gaps, which may be apart. The last two
    /// axes are those of a matrix, and the others those of a stack of such matrices, one below the other.
    pub fn matrices(&self, operation: &str) -> PyResult<Rect> {
        let Some((leading, &[height, width])) = self.shape.split_last_chunk() else {
            return Err(PyValueError::new_err(format!(
                "{operation}: an array with 2 axes at least required, one of the shape {:?} given",
                self.shape
            )));
        };
        let (outer, inner) = match &self.strides {
            None => (&[][..], [width as i64, 1]),
            Some(strides) => {
                let (outer, inner) = strides.split_last_chunk().expect("as many as axes");
                (outer, *inner)
            }
        };
        let refused = |required: String| {
            let strides = &self.strides;
            let text = format!("{operation}: {required} required, strides of {strides:?} given");
            PyValueError::new_err(text)
        };
        let (stride, transposed, [rows, columns]) = match inner {
            [stride, 1] => (stride, false, [height, width]),
            [1, stride] => (stride, true, [width, height]),
            _ => return Err(refused("rows or columns without gaps".to_owned())),
        };
        let stride = usize::try_from(stride).ok().filter(|it| *it >= columns);
        let stride = stride
            .ok_or_else(|| refused(format!("rows of {columns} elements that do not overlap")))?;
        let mut below = rows * stride;
        for (len, outer) in leading.iter().zip(outer).rev() {
            if *len != 1 && *outer != below as i64 {
                return Err(refused(
                    "matrices one below the other without gaps".to_owned(),
                ));
            }
            below *= len;
        }
        let count = leading.iter().product();
        let rows = count * rows;
        let len = match rows * columns {
            0 => 0,
            _ => (rows - 1) * stride + columns,
        };
        let address = self.address;
        Ok(Rect {
            elements: Elements { address, len },
            count,
            rows,
            columns,
            stride,
            transposed,
        })
    }
}

/// Returns the strides if they are not those of elements row by row without gaps.
pub fn apart(shape: &[usize], strides: Option<Vec<i64>>) -> Option<Vec<i64>> {
    let strides = strides?;
    if shape.contains(&0) {
        return None;
    }
    let mut expected = 1;
    for (len, stride) in shape.iter().zip(&strides).rev() {
        if *len != 1 && *stride != expected {
            return Some(strides);
        }
        expected *= *len as i64;
    }
    None
}

/// Takes an array by an array interface.
pub fn by_interface(x: &Bound<'_, PyAny>, interface: &Bound<'_, PyAny>) -> PyResult<Source> {
    let shape: Vec<usize> = interface.get_item("shape")?.extract()?;
    let dtype = Dtype::of_interface(&interface.get_item("typestr")?.extract::<String>()?)?;
    let (address, read_only): (u64, bool) = interface.get_item("data")?.extract()?;
    let strides = interface.cast::<PyDict>()?.get_item("strides")?;
    let strides: Option<Vec<i64>> = strides.map(|it| it.extract()).transpose()?.flatten();
    let size = dtype.size() as i64;
    if strides.iter().flatten().any(|bytes| bytes % size != 0) {
        return Err(PyValueError::new_err(format!(
            "strides of whole elements of {size} bytes required, {strides:?} given"
        )));
    }
    let strides = strides.map(|it| it.into_iter().map(|bytes| bytes / size).collect());
    Ok(Source {
        address,
        strides: apart(&shape, strides),
        shape,
        dtype,
        read_only,
        owner: Owner::Object(x.clone().unbind()),
    })
}
