//! The operations, under NumPy's names.

use pyo3::{exceptions::PyValueError, prelude::*};
use warpwright::{
    Device, Matrix, MatrixRect, MatrixRectMut, MatrixView, Result, Vector,
    ops::{
        axis::{Axis, AxisReducible},
        convolution::Convolvable,
        gemm::Precision,
        reduce::Reducible,
        scan::Operator,
    },
};

use crate::{
    call::{Call, Place},
    dtype::{Item, by_type},
    error::raised,
    source::{Elements, Rect, Source},
};

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

/// Makes the functions that reduce all elements; and along an axis, for the types in brackets.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident($T:ident) $method:ident -> $result:ty, $give:ident; $([$($axis:ident)*] -> $along:ty)?;)*) => { $(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (x, axis=None, *, stream=None))]
        pub fn $name(py: Python<'_>, x: Any<'_, '_>, axis: Option<isize>, stream: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
            const NAME: &str = stringify!($name);
            let mut call = Call::new(x, stream)?;
            let x = call.source(x)?;
            $(if let Some(axis) = axis {
                let (along, shape) = Along::of(NAME, &x, axis)?;
                return by_type!(NAME, x.dtype, [$($axis)*], $T => {
                    let vector = py.detach(|| -> Result<Vector<$along>> {
                        call.device.reduce_axis(along.view::<$T>(&call.device)?, along.results).$method()
                    });
                    call.give(py, vector.map_err(raised)?, shape)
                });
            })?
            let elements = whole(NAME, &x, axis)?;
            by_type!(NAME, x.dtype, [U8 U16 U32 U64 I32 I64 F16 Bf16 F32 F64], $T => {
                let vector = py.detach(|| -> Result<Vector<$result>> {
                    call.device.reduce(elements.view::<$T>(&call.device)?).output_on_device().$method()
                });
                call.$give(py, vector.map_err(raised)?, vec![])
            })
        }
    )* };
}

/// Returns all elements of an array, whose axis the caller must not choose.
fn whole(operation: &str, x: &Source, axis: Option<isize>) -> PyResult<Elements> {
    match axis {
        None => x.elements(operation),
        Some(axis) => Err(PyValueError::new_err(format!(
            "{operation}: axis=None required, {axis} given"
        ))),
    }
}

reductions! {
    /// The sum of all elements, or along the first or the last axis. Of integers it is `int64` or `uint64`, of floats `float32`
    /// or `float64`; added in a fixed order, so that the bits are the same in every run. The result stays on the device.
    sum(T) sum -> <T as Reducible>::Sum, give; [U8 U16 I32 U32 F32 F64] -> <T as AxisReducible>::Sum;
    /// The product of all elements. Types and order are those of `sum`.
    prod(T) product -> <T as Reducible>::Sum, give;;
    /// The least element of all, or along the first or the last axis. A NaN among them gives NaN; -0.0 is less than 0.0.
    min(T) min -> T, give; [U8 U16 I32 U32 F32 F64] -> T;
    /// The greatest element of all, or along the first or the last axis. A NaN among them gives NaN; -0.0 is less than 0.0.
    max(T) max -> T, give; [U8 U16 I32 U32 F32 F64] -> T;
    /// The position of the least element among all, the first of several, or of the first NaN.
    argmin(T) argmin -> u64, give_positions;;
    /// The position of the greatest element among all, the first of several, or of the first NaN.
    argmax(T) argmax -> u64, give_positions;;
}

/// The arithmetic mean of all elements, a float of Python's, for which the host waits; or along the first or the last axis, an
/// array of `float64`.
#[pyfunction]
#[pyo3(signature = (x, axis=None, *, stream=None))]
pub fn mean(
    py: Python<'_>,
    x: Any<'_, '_>,
    axis: Option<isize>,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    const NAME: &str = "mean";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    if let Some(axis) = axis {
        let (along, shape) = Along::of(NAME, &x, axis)?;
        return by_type!(NAME, x.dtype, [U8 U16 I32 U32 F32 F64], T => {
            let means = py.detach(|| {
                call.device.reduce_axis(along.view::<T>(&call.device)?, along.results).mean()
            });
            call.give(py, means.map_err(raised)?, shape)
        });
    }
    let elements = x.elements(NAME)?;
    let mean = by_type!(NAME, x.dtype, [U8 U16 U32 U64 I32 I64 F16 Bf16 F32 F64], T => {
        py.detach(|| call.device.mean(elements.view::<T>(&call.device)?)).map_err(raised)
    })?;
    let mean = mean
        .ok_or_else(|| PyValueError::new_err("mean: an element at least required, none given"))?;
    Ok(mean.into_pyobject(py)?.into_any().unbind())
}

/// The median of all elements: the mean of the two in the middle if their number is even. A float of Python's, for which the
/// host waits.
#[allow(clippy::useless_conversion, reason = "of one of the types")]
#[pyfunction]
#[pyo3(signature = (x, *, stream=None))]
pub fn median(py: Python<'_>, x: Any<'_, '_>, stream: Maybe<'_, '_>) -> PyResult<f64> {
    const NAME: &str = "median";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let elements = x.elements(NAME)?;
    let Some(last) = elements.len.checked_sub(1) else {
        return Err(PyValueError::new_err(
            "median: an element at least required, none given",
        ));
    };
    by_type!(NAME, x.dtype, [U8 U16 U32 I8 I16 I32 F32 F64], T => {
        let middle = py.detach(|| -> Result<_> {
            let (device, values) = (&call.device, elements.view::<T>(&call.device)?);
            let low = f64::from(device.select_kth(values, last / 2)?);
            let high = match elements.len % 2 {
                0 => f64::from(device.select_kth(values, last / 2 + 1)?),
                _ => low,
            };
            // In order, NaNs with a sign are the first and the others the last. One of them makes the median a NaN, as in
            // NumPy.
            let [first, last] = match T::NAMED.is_float() {
                true => [device.select_kth(values, 0)?, device.select_kth(values, last)?].map(f64::from),
                false => [low, high],
            };
            let is_nan = first.is_nan() || last.is_nan();
            Ok(if is_nan { f64::NAN } else { low / 2.0 + high / 2.0 })
        });
        middle.map_err(raised)
    })
}

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

/// The elements of an array of one axis in order, stable. Floats are in the order of Rust's `total_cmp`: -0.0 before 0.0, NaNs
/// without a sign last. `out` may be `x` itself.
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
    let elements = x.vector(NAME)?;
    by_type!(NAME, x.dtype, all, T => {
        call.written::<T>(NAME, (out, x.shape.clone()), (&[&x], true), py, |device, to| {
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

/// The matrix `x` transposed, in new memory.
#[pyfunction]
#[pyo3(signature = (x, *, stream=None))]
pub fn transpose(py: Python<'_>, x: Any<'_, '_>, stream: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
    const NAME: &str = "transpose";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    x.axes(NAME, 2)?;
    let (elements, [height, width]) = (x.elements(NAME)?, [x.shape[0], x.shape[1]]);
    by_type!(NAME, x.dtype, all, T => {
        let transposed = py.detach(|| {
            call.device.transpose(MatrixView::from_vector(elements.view::<T>(&call.device)?, height, width)?)
        });
        call.give_matrix(py, transposed.map_err(raised)?)
    })
}

/// The matrix product of `a` and `b`, of `float32`, `float64`, `float16` or `bfloat16`. A matrix may be a transposed one
/// (`b.T`), and its rows may be apart; nothing is copied. `precision='bf16x6'` multiplies `float32` on tensor cores, about as
/// exactly and faster, on devices of compute capability 9.0.
#[pyfunction]
#[pyo3(signature = (a, b, *, precision="exact", out=None, stream=None))]
pub fn matmul(
    py: Python<'_>,
    a: Any<'_, '_>,
    b: Any<'_, '_>,
    precision: &str,
    out: Maybe<'_, '_>,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    const NAME: &str = "matmul";
    let precision: Precision = precision.parse().map_err(raised)?;
    let mut call = Call::new(a, stream)?;
    let (a, b) = (call.source(a)?, call.source(b)?);
    same_type(NAME, &a, &b)?;
    let (left, right) = (a.matrix(NAME)?, b.matrix(NAME)?);
    let [height, width] = [a.shape[0], b.shape[1]];
    by_type!(NAME, a.dtype, [F16 Bf16 F32 F64], T => {
        call.written::<T>(NAME, (out, vec![height, width]), (&[&a, &b], false), py, |device, to| {
            let rect = |of: &Rect| {
                MatrixRect::from_vector(of.elements.view::<T>(device)?, of.rows, of.columns, of.stride)
            };
            let mut request = device.gemm(rect(&left)?, rect(&right)?).precision(precision);
            if left.transposed {
                request = request.transpose_a();
            }
            if right.transposed {
                request = request.transpose_b();
            }
            run_at!(device, to, T, [height, width], request)
        })
    })
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

/// How often each of the numbers from 0 to the greatest occurs, and up to `minlength` at least, as `int64`. The host waits.
#[pyfunction]
#[pyo3(signature = (x, minlength=0, *, stream=None))]
pub fn bincount(
    py: Python<'_>,
    x: Any<'_, '_>,
    minlength: usize,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    const NAME: &str = "bincount";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let elements = x.elements(NAME)?;
    by_type!(NAME, x.dtype, [U8 U16 U32], T => {
        let counts = py.detach(|| {
            let (device, values) = (&call.device, elements.view::<T>(&call.device)?);
            let bins = device.max(values)?.map_or(0, |greatest| greatest as usize + 1).max(minlength);
            match bins {
                0 => device.zeros(0),
                bins => device.upload(&device.histogram(values, bins)?.counts),
            }
        });
        let counts = counts.map_err(raised)?;
        let shape = vec![counts.len()];
        call.give_positions(py, counts, shape)
    })
}

/// How many elements fall into each of `bins` equal parts from the first to the second number of `range`, as `int64`; and the
/// parts' bounds, as `float64` of NumPy's. Without a range it is that of the elements. The second number belongs to the last
/// part; elements outside, and NaNs, are not counted. The host waits.
#[allow(clippy::useless_conversion, reason = "of one of the types")]
#[pyfunction]
#[pyo3(signature = (x, bins=10, range=None, *, stream=None))]
pub fn histogram(
    py: Python<'_>,
    x: Any<'_, '_>,
    bins: usize,
    range: Option<(f64, f64)>,
    stream: Maybe<'_, '_>,
) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
    const NAME: &str = "histogram";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let elements = x.elements(NAME)?;
    by_type!(NAME, x.dtype, [F32 F64], T => {
        let counted = py.detach(|| {
            let (device, values) = (&call.device, elements.view::<T>(&call.device)?);
            let (low, high) = match range {
                Some((low, high)) => (low as T, high as T),
                None => (device.min(values)?.unwrap_or(0.0), device.max(values)?.unwrap_or(1.0)),
            };
            // As in NumPy, a range of one number is made wider.
            let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
            let counts = device.histogram_range(values, bins, low, high)?.counts;
            Ok((device.upload(&counts)?, f64::from(low), f64::from(high)))
        });
        let (counts, low, high) = counted.map_err(raised)?;
        let edges = py.import("numpy")?.call_method1("linspace", (low, high, bins + 1))?.unbind();
        Ok((call.give_positions(py, counts, vec![bins])?, edges))
    })
}

/// The convolution of `x` with the array `mask`, both of one axis, in the part of `x`'s own length: NumPy's `mode='same'`.
/// Outside of `x` there are zeros. The mask is a sequence of the host; its weights become `float32` for `x` of `uint8`, else of
/// the type of `x`.
#[pyfunction]
#[pyo3(signature = (x, mask, *, stream=None))]
pub fn convolve(
    py: Python<'_>,
    x: Any<'_, '_>,
    mask: Vec<f64>,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    const NAME: &str = "convolve";
    let mut call = Call::new(x, stream)?;
    let x = call.source(x)?;
    let elements = x.vector(NAME)?;
    by_type!(NAME, x.dtype, [U8 F32 F64], T => {
        let convolved = py.detach(|| {
            // The library does not flip the mask.
            let mask: Vec<_> = mask.iter().rev().map(|weight| *weight as <T as Convolvable>::Mask).collect();
            let device = &call.device;
            device.convolve(elements.view::<T>(device)?, &mask)
        });
        call.give(py, convolved.map_err(raised)?, x.shape.clone())
    })
}
