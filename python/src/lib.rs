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
    use super::ops::{
        argmax, argmin, argsort, bincount, convolve, cumprod, cumsum, histogram, matmul, max, mean,
        median, min, prod, searchsorted, sort, sum, topk, transpose, unique,
    };
    #[pymodule_export]
    use super::random::{Generator, default_rng};
    #[pymodule_export]
    use super::stream::devices;
}
