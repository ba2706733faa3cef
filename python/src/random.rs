//! Random numbers.

use std::sync::{Mutex, PoisonError};

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpwright::{Generator as Kind, RandomGenerator, Result, Vector};

use crate::{
    array::{Array, device_named},
    dtype::{Dtype, Item},
    error::raised,
};

/// The shape of an array: a length, or the lengths of its axes.
#[derive(FromPyObject)]
enum Size {
    One(usize),
    Shape(Vec<usize>),
}

impl Size {
    /// Returns the shape and the number of elements.
    fn shape(self) -> PyResult<(Vec<usize>, usize)> {
        let shape = match self {
            Self::One(len) => vec![len],
            Self::Shape(shape) => shape,
        };
        let len = shape
            .iter()
            .try_fold(1_usize, |len, axis| len.checked_mul(*axis));
        let len = len.ok_or_else(|| {
            PyValueError::new_err(format!(
                "size: at most {} elements required, {shape:?} given",
                usize::MAX
            ))
        })?;
        Ok((shape, len))
    }
}

/// A generator of random numbers on a device. Each method goes on where the last one ended.
///
/// The same generator, seed and calls give the same bits on every device. `size` is a length, or a tuple of the lengths of the
/// axes.
#[pyclass(frozen, module = "warpwright")]
pub struct Generator {
    inner: Mutex<RandomGenerator>,
}

/// Makes a generator with a seed: `philox`, or `xorwow`. The numbers are made on `device`: `auto`, `cpu`, `cuda` or `cuda:N`.
#[pyfunction]
#[pyo3(signature = (seed, *, generator="philox", device=None))]
pub fn default_rng(seed: u64, generator: &str, device: Option<&str>) -> PyResult<Generator> {
    let kind: Kind = generator.parse().map_err(raised)?;
    let inner = device_named(device)?
        .generator(kind, seed)
        .map_err(raised)?;
    Ok(Generator {
        inner: inner.into(),
    })
}

impl Generator {
    fn made<T: Item>(
        &self,
        py: Python<'_>,
        size: Size,
        make: impl FnOnce(&mut RandomGenerator, usize) -> Result<Vector<T>> + Send,
    ) -> PyResult<Array> {
        let (shape, len) = size.shape()?;
        let vector = py.detach(|| {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            make(&mut inner, len)
        });
        Ok(Array::new(vector.map_err(raised)?, shape, T::NAMED))
    }

    /// Makes floats of a type by its name.
    fn floats(
        &self,
        py: Python<'_>,
        (size, dtype): (Size, &str),
        single: impl FnOnce(&mut RandomGenerator, usize) -> Result<Vector<f32>> + Send,
        double: impl FnOnce(&mut RandomGenerator, usize) -> Result<Vector<f64>> + Send,
    ) -> PyResult<Array> {
        match Dtype::named(dtype)? {
            Dtype::F32 => self.made(py, size, single),
            Dtype::F64 => self.made(py, size, double),
            given => Err(PyTypeError::new_err(format!(
                "the type float32 or float64 required, {} given",
                given.name()
            ))),
        }
    }
}

#[pymethods]
impl Generator {
    /// `size` numbers from 0 up to 1, all alike.
    #[pyo3(signature = (size, dtype="float64"))]
    fn random(&self, py: Python<'_>, size: Size, dtype: &str) -> PyResult<Array> {
        self.floats(
            py,
            (size, dtype),
            |it, len| it.uniform(len),
            |it, len| it.uniform(len),
        )
    }

    /// `size` numbers of the normal distribution with the mean `loc` and the standard deviation `scale`.
    #[pyo3(signature = (loc=0.0, scale=1.0, *, size, dtype="float64"))]
    fn normal(
        &self,
        py: Python<'_>,
        loc: f64,
        scale: f64,
        size: Size,
        dtype: &str,
    ) -> PyResult<Array> {
        let single = |it: &mut RandomGenerator, len| it.normal(len, loc as f32, scale as f32);
        self.floats(py, (size, dtype), single, |it, len| {
            it.normal(len, loc, scale)
        })
    }

    /// `size` numbers of the normal distribution with the mean 0 and the standard deviation 1.
    #[pyo3(signature = (size, dtype="float64"))]
    fn standard_normal(&self, py: Python<'_>, size: Size, dtype: &str) -> PyResult<Array> {
        self.normal(py, 0.0, 1.0, size, dtype)
    }

    /// `size` numbers of the Poisson distribution with the mean `lam`, as `uint32`.
    fn poisson(&self, py: Python<'_>, lam: f64, size: Size) -> PyResult<Array> {
        self.made(py, size, |it, len| it.poisson(len, lam))
    }

    /// `size` words of 32 random bits, as `uint32`.
    fn bits(&self, py: Python<'_>, size: Size) -> PyResult<Array> {
        self.made(py, size, |it, len| it.bits(len))
    }
}
