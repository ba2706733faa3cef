//! The library's errors as exceptions of Python.

use pyo3::{
    PyErr,
    exceptions::{PyMemoryError, PyRuntimeError, PyValueError},
};
use warpwright::Error;

/// Returns the exception of an error: `ValueError` for what the caller gave, `MemoryError`, else `RuntimeError`.
pub fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Invalid { .. } | Error::NotEligible { .. } | Error::DeviceMismatch { .. } => {
            PyValueError::new_err(text)
        }
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}
