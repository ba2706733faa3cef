//! The operations, under NumPy's names.

use pyo3::{exceptions::PyValueError, prelude::*};
use warpwright::{Device, MatrixView, Result, ops::axis::Axis};

use crate::{
    dtype::Item,
    source::{Elements, Source},
};

/// Runs a request with its result at a place: a vector, or a matrix of some rows and columns.
macro_rules! run_at {
    ($device:expr, $to:expr, $T:ty, $request:expr) => {
        match $to {
            Place::At(to) => $request
                .output_to(to.view_mut::<$T>($device)?)
                .run()
                .map(|_| None),
            _ => $request.run().map(Some),
        }
    };
    ($device:expr, $to:expr, $T:ty, [$height:expr, $width:expr], $request:expr) => {
        match $to {
            Place::At(to) => {
                let to = to.view_mut::<$T>($device)?;
                let to = MatrixRectMut::from_vector(to, $height, $width, $width)?;
                $request.output_to(to).run().map(|_| None)
            }
            _ => $request
                .run()
                .map(|matrix| Some(Matrix::into_vector(matrix))),
        }
    };
}

pub mod matrix;
pub mod order;
pub mod reduce;

/// An argument of a function of Python's.
type Any<'a, 'py> = &'a Bound<'py, PyAny>;
/// An argument that can be left out.
type Maybe<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// An array seen as a matrix, along whose rows or columns an operation goes.
#[derive(Clone, Copy)]
struct Along {
    elements: Elements,
    height: usize,
    width: usize,
    /// What each result belongs to.
    results: Axis,
}

impl Along {
    /// Sees `x` as a matrix, if `axis` is its first axis or its last one. Returns the shape without the axis, too.
    fn of(operation: &str, x: &Source, axis: isize) -> PyResult<(Self, Vec<usize>)> {
        let axes = x.shape.len();
        let from_start = if axis < 0 { axis + axes as isize } else { axis };
        let at = usize::try_from(from_start)
            .ok()
            .filter(|at| *at < axes && (*at == 0 || at + 1 == axes));
        let at = at.ok_or_else(|| {
            PyValueError::new_err(format!(
                "{operation}: the first or the last of {axes} axes required, {axis} given"
            ))
        })?;
        let (before, after) = (&x.shape[..at], &x.shape[at + 1..]);
        let (height, width, results) = match after {
            [] => (before.iter().product(), x.shape[at], Axis::Rows),
            after => (x.shape[at], after.iter().product(), Axis::Columns),
        };
        let elements = x.elements(operation)?;
        let along = Self {
            elements,
            height,
            width,
            results,
        };
        Ok((along, [before, after].concat()))
    }

    fn view<T: Item>(self, device: &Device) -> Result<MatrixView<'_, T>> {
        MatrixView::from_vector(self.elements.view(device)?, self.height, self.width)
    }
}

fn same_type(operation: &str, a: &Source, b: &Source) -> PyResult<()> {
    if a.dtype == b.dtype {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{operation}: arrays of one type required, {} and {} given",
        a.dtype.name(),
        b.dtype.name()
    )))
}
