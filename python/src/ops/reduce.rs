//! Reductions, and counts.

use pyo3::{exceptions::PyValueError, prelude::*};
use warpwright::{
    Result, Vector,
    ops::{axis::AxisReducible, reduce::Reducible},
};

use super::{Along, Any, Maybe};
use crate::{
    call::Call,
    dtype::{Item, by_type},
    error::raised,
    source::{Elements, Source},
};

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
    /// The arithmetic mean of all elements, or along the first or the last axis, as `float64`. Of integers it is the exact sum
    /// divided and rounded once. The result stays on the device.
    mean(T) mean -> f64, give; [U8 U16 I32 U32 F32 F64] -> f64;
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
