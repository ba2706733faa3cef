//! Tensor maps of matrices in a device's memory.

use cuda_std::tensor_map::{EncodedTensorMap, TiledMatrix};

use crate::{
    device::Device,
    error::{Error, InvalidKind, Result},
};

const OPERATION: &str = "tensor_map";

impl Device {
    /// Encodes the tensor map of a matrix in this device's memory, for a kernel's parameter of type
    /// [`TensorMap`](cuda_std::tensor_map::TensorMap).
    ///
    /// `matrix.address` is a device address, such as that of [`VectorView::device_pointer`](crate::VectorView::device_pointer).
    /// A map does not keep memory alive: who launches a kernel with it vouches that the matrix is there. Elements outside of
    /// the matrix are zeros.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a tensor map cannot describe the matrix, or if the device's compute capability is below 9.0;
    /// [`Error::Driver`] if the driver fails, or is older than CUDA 12.
    pub fn tensor_map(&self, matrix: &TiledMatrix) -> Result<EncodedTensorMap> {
        match self.info().compute_capability {
            Some((major, minor)) if major < 9 => Err(Error::invalid(
                InvalidKind::Value,
                OPERATION,
                "a device of compute capability 9.0 or later",
                format!("one of {major}.{minor}"),
            )),
            _ => self.executor.tensor_map(OPERATION, matrix),
        }
    }
}
