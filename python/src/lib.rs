//! The library for Python, as the extension module `warpwright._native`.

mod array;
mod call;
mod dtype;
mod error;
mod ops;
mod random;
mod source;
mod stream;

use pyo3::prelude::*;

/// GPU primitives from kernels written in Rust.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::call::asarray;
    #[pymodule_export]
    use super::ops::matrix::{convolve, matmul, transpose};
    #[pymodule_export]
    use super::ops::order::{argsort, cumprod, cumsum, searchsorted, sort, topk, unique};
    #[pymodule_export]
    use super::ops::reduce::{
        argmax, argmin, bincount, histogram, max, mean, median, min, prod, sum,
    };
    #[pymodule_export]
    use super::random::{Generator, default_rng};
    #[pymodule_export]
    use super::stream::devices;
}
