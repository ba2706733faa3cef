//! Scans, and what depends on the order of elements.

use pyo3::{exceptions::PyValueError, prelude::*};
use warpwright::{
    Matrix, MatrixRectMut, MatrixView, Result, Vector,
    ops::{axis::Axis, scan::Operator},
};

use super::{Along, Any, Maybe, same_type};
use crate::{
    call::{Call, Place},
    dtype::by_type,
    error::raised,
};

fn scanned(
    (py, name, operator): (Python<'_>, &str, Operator),
    x: Any<'_, '_>,
    axis: Option<isize>,
    out: Maybe<'_, '_>,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let along = match axis {
        Some(axis) if x.shape.len() > 1 => Some(Along::of(name, &x, axis)?.0),
        _ => None,
    };
    let (elements, shape) = (
        x.elements(name)?,
        match along {
            Some(_) => x.shape.clone(),
            None => vec![x.elements(name)?.len],
        },
    );
    by_type!(name, x.dtype, [U8 U16 U32 U64 I32 I64 F16 Bf16 F32 F64], T => {
        call.written::<T>(name, (out, shape), (&[&x], along.is_none()), py, |device, to| {
            match (along, to) {
                (None, Place::Input(x)) => {
                    device.scan_in_place_request(x.view_mut::<T>(device)?, operator).run()?;
                    Ok(None)
                }
                (None, to) => run_at!(device, to, T, device.scan_request(elements.view::<T>(device)?, operator)),
                (Some(along), to) => {
                    let (matrix, Along { height, width, .. }) = (along.view::<T>(device)?, along);
                    match along.results {
                        Axis::Rows => {
                            let request = device.scan_rows_request(matrix, operator);
                            run_at!(device, to, T, [height, width], request)
                        }
                        Axis::Columns => {
                            let request = device.scan_columns_request(matrix, operator);
                            run_at!(device, to, T, [height, width], request)
                        }
                    }
                }
            }
        })
    })
}

/// The sum of each element and all before it: of all elements, or along the first or the last axis. Of the type of `x`, and of
/// integers modulo its range; added in a fixed order. `out` may be `x` itself where there is no axis.
#[pyfunction]
#[pyo3(signature = (x, axis=None, *, out=None, stream=None))]
pub fn cumsum(
    py: Python<'_>,
    x: Any<'_, '_>,
    axis: Option<isize>,
    out: Maybe<'_, '_>,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    scanned((py, "cumsum", Operator::Sum), x, axis, out, stream)
}

/// The product of each element and all before it: see `cumsum`.
#[pyfunction]
#[pyo3(signature = (x, axis=None, *, out=None, stream=None))]
pub fn cumprod(
    py: Python<'_>,
    x: Any<'_, '_>,
    axis: Option<isize>,
    out: Maybe<'_, '_>,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    scanned((py, "cumprod", Operator::Product), x, axis, out, stream)
}

/// The elements in order along the last axis, stable. Floats are in the order of Rust's `total_cmp`: -0.0 before 0.0, NaNs
/// without a sign last. `out` may be `x` itself if it has one axis. If it has more, the host waits.
#[pyfunction]
#[pyo3(signature = (x, *, descending=false, out=None, stream=None))]
pub fn sort(
    py: Python<'_>,
    x: Any<'_, '_>,
    descending: bool,
    out: Maybe<'_, '_>,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    const NAME: &str = "sort";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let elements = x.elements(NAME)?;
    let Some((&width, before)) = x.shape.split_last() else {
        return Err(PyValueError::new_err(
            "sort: an axis at least required, none given",
        ));
    };
    let rows: usize = before.iter().product();
    by_type!(NAME, x.dtype, all, T => {
        let in_place = before.is_empty();
        call.written::<T>(NAME, (out, x.shape.clone()), (&[&x], in_place), py, |device, to| {
            if !in_place {
                let offsets: Vec<u64> = (0..=rows as u64).map(|row| row * width as u64).collect();
                let segments = device.segments(device.upload(&offsets)?)?;
                let request = device.sort_segments_request(elements.view::<T>(device)?, &segments);
                return run_at!(device, to, T, if descending { request.descending() } else { request });
            }
            if let Place::Input(x) = to {
                let request = device.sort_in_place_request(x.view_mut::<T>(device)?);
                if descending { request.descending() } else { request }.run()?;
                return Ok(None);
            }
            let request = device.sort_request(elements.view::<T>(device)?);
            run_at!(device, to, T, if descending { request.descending() } else { request })
        })
    })
}

/// The positions that put an array of one axis in order, as `int64`; of equal elements in their own order.
#[pyfunction]
#[pyo3(signature = (x, *, descending=false, stream=None))]
pub fn argsort(
    py: Python<'_>,
    x: Any<'_, '_>,
    descending: bool,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    const NAME: &str = "argsort";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let elements = x.vector(NAME)?;
    by_type!(NAME, x.dtype, all, T => {
        let positions = py.detach(|| -> Result<Vector<u64>> {
            let request = call.device.argsort_request(elements.view::<T>(&call.device)?);
            if descending { request.descending() } else { request }.run()
        });
        call.give_positions(py, positions.map_err(raised)?, x.shape.clone())
    })
}

/// The different elements of an array, in order. The host waits for their number.
#[pyfunction]
#[pyo3(signature = (x, *, stream=None))]
pub fn unique(py: Python<'_>, x: Any<'_, '_>, stream: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
    const NAME: &str = "unique";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let elements = x.elements(NAME)?;
    by_type!(NAME, x.dtype, [U8 U16 U32 U64 I32 I64 F32 F64], T => {
        let found = py.detach(|| call.device.sorted_unique(elements.view::<T>(&call.device)?)).map_err(raised)?;
        let shape = vec![found.len()];
        call.give(py, found, shape)
    })
}

/// The positions in the sorted array `a` where the elements of `v` belong, as `int64`: before equal elements by `side='left'`,
/// behind them by `side='right'`.
#[pyfunction]
#[pyo3(signature = (a, v, side="left", *, stream=None))]
pub fn searchsorted(
    py: Python<'_>,
    a: Any<'_, '_>,
    v: Any<'_, '_>,
    side: &str,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    const NAME: &str = "searchsorted";
    let right = match side {
        "left" => false,
        "right" => true,
        _ => {
            return Err(PyValueError::new_err(format!(
                "searchsorted: side left or right required, `{side}` given"
            )));
        }
    };
    let mut call = Call::new(a, stream)?;
    let (a, v) = (call.source(a)?, call.source(v)?);
    same_type(NAME, &a, &v)?;
    let (sorted, needles) = (a.vector(NAME)?, v.elements(NAME)?);
    by_type!(NAME, a.dtype, all, T => {
        let bounds = py.detach(|| {
            let (sorted, needles) = (sorted.view::<T>(&call.device)?, needles.view::<T>(&call.device)?);
            match right {
                false => call.device.lower_bound(sorted, needles),
                true => call.device.upper_bound(sorted, needles),
            }
        });
        call.give_positions(py, bounds.map_err(raised)?, v.shape.clone())
    })
}

/// The `k` greatest elements of an array of one axis, or of each row of one of two, the greatest first, or the least by
/// `largest=False`; and their positions, as `int64`. Of equal elements the first ones are taken.
#[pyfunction]
#[pyo3(signature = (x, k, *, largest=true, stream=None))]
pub fn topk(
    py: Python<'_>,
    x: Any<'_, '_>,
    k: usize,
    largest: bool,
    stream: Maybe<'_, '_>,
) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
    const NAME: &str = "topk";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let elements = x.elements(NAME)?;
    if x.shape.len() != 2 {
        x.axes(NAME, 1)?;
    }
    by_type!(NAME, x.dtype, all, T => {
        let found = py.detach(|| -> Result<(Vector<T>, Vector<u64>)> {
            let (device, view) = (&call.device, elements.view::<T>(&call.device)?);
            if let [height, width] = x.shape[..] {
                let request = device.top_k_rows_request(MatrixView::from_vector(view, height, width)?, k);
                let (values, positions) = if largest { request } else { request.smallest() }.run()?;
                return Ok((values.into_vector(), positions.into_vector()));
            }
            let request = device.top_k_request(view, k);
            if largest { request } else { request.smallest() }.run()
        });
        let (values, positions) = found.map_err(raised)?;
        let mut shape = x.shape.clone();
        *shape.last_mut().expect("an axis") = k;
        Ok((call.give(py, values, shape.clone())?, call.give_positions(py, positions, shape)?))
    })
}
