//! Random numbers.

use std::sync::{Mutex, PoisonError};

use pyo3::{exceptions::PyTypeError, prelude::*};
use warpwright::{Generator as Kind, RandomGenerator, Result, Vector};

use crate::{
    array::{Array, device_named},
    dtype::{Dtype, Item},
    error::raised,
};

/// A generator of random numbers on a device. Each method goes on where the last one ended.
///
/// The same generator, seed and calls give the same bits on every device.
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
        size: usize,
        make: impl FnOnce(&mut RandomGenerator) -> Result<Vector<T>> + Send,
    ) -> PyResult<Array> {
        let vector =
            py.detach(|| make(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)));
        Ok(Array::new(vector.map_err(raised)?, vec![size], T::NAMED))
    }

    /// Makes floats of a type by its name.
    fn floats(
        &self,
        py: Python<'_>,
        (size, dtype): (usize, &str),
        single: impl FnOnce(&mut RandomGenerator) -> Result<Vector<f32>> + Send,
        double: impl FnOnce(&mut RandomGenerator) -> Result<Vector<f64>> + Send,
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
    fn random(&self, py: Python<'_>, size: usize, dtype: &str) -> PyResult<Array> {
        self.floats(
            py,
            (size, dtype),
            |it| it.uniform(size),
            |it| it.uniform(size),
        )
    }

    /// `size` numbers of the normal distribution with the mean `loc` and the standard deviation `scale`.
    #[pyo3(signature = (loc=0.0, scale=1.0, *, size, dtype="float64"))]
    fn normal(
        &self,
        py: Python<'_>,
        loc: f64,
        scale: f64,
        size: usize,
        dtype: &str,
    ) -> PyResult<Array> {
        let single = |it: &mut RandomGenerator| it.normal(size, loc as f32, scale as f32);
        self.floats(py, (size, dtype), single, |it| it.normal(size, loc, scale))
    }

    /// `size` numbers of the normal distribution with the mean 0 and the standard deviation 1.
    #[pyo3(signature = (size, dtype="float64"))]
    fn standard_normal(&self, py: Python<'_>, size: usize, dtype: &str) -> PyResult<Array> {
        self.normal(py, 0.0, 1.0, size, dtype)
    }

    /// `size` numbers of the Poisson distribution with the mean `lam`, as `uint32`.
    fn poisson(&self, py: Python<'_>, lam: f64, size: usize) -> PyResult<Array> {
        self.made(py, size, |it| it.poisson(size, lam))
    }

    /// `size` words of 32 random bits, as `uint32`.
    fn bits(&self, py: Python<'_>, size: usize) -> PyResult<Array> {
        self.made(py, size, |it| it.bits(size))
    }
}
