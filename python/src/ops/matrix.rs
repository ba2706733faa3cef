//! Matrices, and convolutions.

use pyo3::{exceptions::PyValueError, prelude::*};
use warpwright::{
    Matrix, MatrixRect, MatrixRectMut, MatrixView,
    ops::{
        convolution::Convolvable,
        gemm::{GemmElement, Precision},
    },
};

use super::{Any, Maybe, same_type};
use crate::{
    call::{Call, Place},
    dtype::{Item, by_type},
    error::raised,
    source::Rect,
};

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

/// An element type of matrices whose product has elements with a name in Python.
trait Factor {
    type Product: Item;
}

impl<T: GemmElement<Result: Item>> Factor for T {
    type Product = T::Result;
}

/// The matrix product of `a` and `b`, of `float32`, `float64`, `float16`, `bfloat16`, or `int8` with a result of `int32`. A
/// matrix may be a transposed one (`b.T`), and its rows may be apart; nothing is copied. With more than two axes an array is a
/// stack of matrices, and one matrix is multiplied with each of a stack.
///
/// `bias` has an element for each column of the result and is added to each row; `activation`, `relu` or `gelu`, is applied to
/// the sum. The same kernel does both. `precision='bf16x6'` multiplies `float32` on tensor cores, about as exactly and faster;
/// `precision='tf32'` rounds it to 10 bits of a fraction and is faster still. Both take devices of compute capability 9.0.
#[pyfunction]
#[pyo3(signature = (a, b, *, bias=None, activation=None, precision="exact", out=None, stream=None))]
#[expect(clippy::too_many_arguments, reason = "named in Python")]
pub fn matmul(
    py: Python<'_>,
    a: Any<'_, '_>,
    b: Any<'_, '_>,
    bias: Maybe<'_, '_>,
    activation: Option<&str>,
    precision: &str,
    out: Maybe<'_, '_>,
    stream: Maybe<'_, '_>,
) -> PyResult<Py<PyAny>> {
    const NAME: &str = "matmul";
    let precision: Precision = precision.parse().map_err(raised)?;
    if activation.is_some_and(|name| !["relu", "gelu"].contains(&name)) {
        return Err(PyValueError::new_err(format!(
            "matmul: activation relu or gelu required, {activation:?} given"
        )));
    }
    let mut call = Call::new(a, stream)?;
    let (a, b) = (call.source(a)?, call.source(b)?);
    same_type(NAME, &a, &b)?;
    let bias = bias.map(|bias| call.source(bias)).transpose()?;
    let mut inputs = vec![&a, &b];
    inputs.extend(&bias);
    let bias = bias.as_ref().map(|bias| bias.vector(NAME)).transpose()?;
    let (left, right) = (a.matrices(NAME)?, b.matrices(NAME)?);
    let [of_a, of_b] = [&a.shape, &b.shape].map(|shape| &shape[..shape.len() - 2]);
    let stack = match (left.count, right.count) {
        (_, 1) => of_a,
        (1, _) => of_b,
        _ if of_a == of_b => of_a,
        _ => {
            return Err(PyValueError::new_err(format!(
                "matmul: as many matrices in both stacks required, {of_a:?} and {of_b:?} given"
            )));
        }
    };
    let [height, width] = [a.shape[a.shape.len() - 2], b.shape[b.shape.len() - 1]];
    let shape = [stack, &[height, width]].concat();
    let count: usize = stack.iter().product();
    // All rows of a stack times one matrix are one product.
    let is_one = count == 1 || right.count == 1 && !left.transposed;
    by_type!(NAME, a.dtype, [I8 F16 Bf16 F32 F64], T => {
        type Product = <T as Factor>::Product;
        if let Some(given) = inputs.get(2).map(|bias| bias.dtype).filter(|it| *it != Product::NAMED) {
            return Err(PyValueError::new_err(format!(
                "{NAME}: a bias of {} required, {} given", Product::NAMED.name(), given.name()
            )));
        }
        call.written::<Product>(NAME, (out, shape), (&inputs, false), py, |device, to| {
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
            if !is_one {
                request = request.batch(count);
                if left.count == 1 {
                    request = request.share_a();
                }
                if right.count == 1 {
                    request = request.share_b();
                }
            }
            if let Some(bias) = bias {
                request = request.bias(bias.view::<Product>(device)?);
            }
            request = match activation {
                Some("relu") => request.relu(),
                Some(_) => request.gelu(),
                None => request,
            };
            run_at!(device, to, Product, [count * height, width], request)
        })
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
