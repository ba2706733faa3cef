//! Replacements for `cuda.rs` where `candle-core` is built without CUDA, so that there are no devices and tensors of it.

use candle_core::{CudaDevice, CudaStorage, Layout};

use super::CandleElement;
use crate::{
    buffer::{Vector, VectorView},
    device::{Device, DeviceKind},
    error::{Error, Result},
};

pub trait CudaElement {}
impl<T> CudaElement for T {}

fn none<T>() -> Result<T> {
    Err(Error::NoDevice {
        device: DeviceKind::Cuda { ordinal: 0 },
        reason: "tensors of candle on CUDA need the feature `candle-cuda`".to_owned(),
    })
}

pub fn handle(_operation: &'static str, _of: &CudaDevice) -> Result<Device> {
    none()
}

pub fn kind(_device: &CudaDevice) -> Option<DeviceKind> {
    None
}

pub fn ordinal_of(_storage: &CudaStorage) -> Result<usize> {
    none()
}

pub fn lend<T, R>(
    _device: &Device,
    _operation: &'static str,
    _from: (&CudaStorage, &Layout),
    _work: impl FnOnce(VectorView<'_, T>) -> Result<R>,
) -> Result<R> {
    none()
}

pub fn give<T: CandleElement>(
    _operation: &'static str,
    _vector: Vector<T>,
    _to: &CudaDevice,
) -> Result<CudaStorage> {
    none()
}
