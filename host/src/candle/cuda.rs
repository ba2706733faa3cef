//! Tensors of candle on CUDA devices.

use std::{ffi::c_void, sync::Arc};

use ::cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DriverError};
use candle_core::{
    CudaDevice, CudaStorage, Layout, backend::BackendStorage, cuda_backend::CudaDType,
};

use super::{CandleElement, elements_of, outside, refused};
use crate::{
    buffer::{Vector, VectorView, VectorViewMut},
    cudarc::PER_THREAD,
    device::{Device, DeviceKind},
    error::{Error, Result},
    executor::{Memory, capture},
};

pub trait CudaElement: CudaDType + DeviceRepr {}
impl<T: CudaDType + DeviceRepr> CudaElement for T {}

fn ordinal(device: &CudaDevice) -> usize {
    device.cuda_stream().context().ordinal()
}

pub fn kind(device: &CudaDevice) -> Option<DeviceKind> {
    let ordinal = ordinal(device);
    Some(DeviceKind::Cuda { ordinal })
}

pub fn ordinal_of(storage: &CudaStorage) -> Result<usize> {
    Ok(ordinal(storage.device()))
}

fn raw(stream: &CudaStream) -> *mut c_void {
    stream.cu_stream().cast()
}

/// Returns a handle on the stream of a device of candle. If that is the stream of each thread, it has a stream of its own.
pub fn handle(operation: &'static str, of: &CudaDevice) -> Result<Device> {
    let device = Device::cuda(ordinal(of))?;
    let stream = of.cuda_stream();
    if raw(&stream).addr() == PER_THREAD {
        return Ok(device);
    }
    on(&device, operation, &stream)
}

fn on(device: &Device, operation: &'static str, stream: &Arc<CudaStream>) -> Result<Device> {
    // SAFETY: the stream lives as long as `stream`, which the handle keeps.
    unsafe { device.on_stream(operation, raw(stream), Some(Box::new(stream.clone()))) }
}

/// A handle whose work is in order with that of a stream of candle, before and after.
struct Ordered {
    device: Device,
    /// A handle on the stream of this thread, if that is candle's, for this thread alone. Others may use `device`, which has
    /// another stream therefore.
    thread: Option<Device>,
}

impl Ordered {
    fn new(device: &Device, operation: &'static str, stream: &Arc<CudaStream>) -> Result<Self> {
        let theirs = on(device, operation, stream)?;
        if raw(stream).addr() != PER_THREAD {
            return Ok(Self {
                device: theirs,
                thread: None,
            });
        }
        capture::refuse(operation)?;
        device.executor.wait_for(&theirs.executor)?;
        Ok(Self {
            device: device.clone(),
            thread: Some(theirs),
        })
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        let Some(thread) = &self.thread else { return };
        let (thread, executor) = (&thread.executor, &self.device.executor);
        // A failed wait is tried once more, by the host. After a device fault nothing runs any more.
        let _ = thread
            .wait_for(executor)
            .or_else(|_| executor.synchronize());
    }
}

/// Calls `work` with the elements of a tensor of the same device.
pub fn lend<T: CandleElement, R>(
    device: &Device,
    operation: &'static str,
    (storage, layout): (&CudaStorage, &Layout),
    work: impl FnOnce(VectorView<'_, T>) -> Result<R>,
) -> Result<R> {
    let range = elements_of::<T>(operation, layout, storage.dtype())?;
    let told = |_| refused(operation, "elements", format!("{:?}", storage.dtype()));
    let slice = storage.as_cuda_slice::<T>().map_err(told)?;
    let lent = slice
        .try_slice(range.clone())
        .ok_or_else(|| outside(operation, slice.len(), &range))?;
    let stream = storage.device().cuda_stream();
    // `cudarc` waits here for its other streams, and they for what is done here from the drop of `_read` on.
    let (address, _read) = lent.device_ptr(&stream);
    device.checked_by_cudarc(operation, &stream)?;
    let ordered = Ordered::new(device, operation, &stream)?;
    let len = range.len();
    let address = crate::foreign::checked::<T>(&ordered.device, operation, address, len)?;
    work(VectorView::from_parts(address, len, &ordered.device))
}

/// Makes a storage of a vector on the same device. Memory of the library's own becomes candle's, other memory is copied.
pub fn give<T: CandleElement>(
    operation: &'static str,
    vector: Vector<T>,
    to: &CudaDevice,
) -> Result<CudaStorage> {
    capture::refuse(operation)?;
    let (first, ordinal) = (vector.device().kind(), ordinal(to));
    let second = DeviceKind::Cuda { ordinal };
    if first != second {
        return Err(Error::DeviceMismatch {
            operation,
            first,
            second,
        });
    }
    let stream = to.cuda_stream();
    // It is used here alone, by this thread.
    let theirs = on(vector.device(), operation, &stream)?;
    theirs.executor.wait_for(&vector.device().executor)?;
    let failed = |error: DriverError| theirs.cudarc_error(operation, &error);
    let (len, device) = (vector.len(), vector.device().clone());
    let slice = match vector.into_memory() {
        Memory::Cuda(memory) if memory.is_pooled() && len > 0 => {
            let address = memory.into_raw();
            // SAFETY: the memory is of the pool of the device, which `cudarc` frees memory to; it has so many elements, which
            // are initialized, and nobody else has it. The stream waits for all work that uses it.
            let mut slice = unsafe { stream.upgrade_device_ptr::<T>(address, len) };
            // Other streams of `cudarc` wait for that work too.
            drop(slice.device_ptr_mut(&stream));
            slice
        }
        memory => {
            let vector = Vector::<T>::of_memory(memory, len, &device);
            // SAFETY: all elements are written below, before anybody reads them.
            let mut slice = unsafe { stream.alloc::<T>(len) }.map_err(failed)?;
            let (address, written) = slice.device_ptr_mut(&stream);
            let address = crate::foreign::checked::<T>(&theirs, operation, address, len)?;
            VectorViewMut::from_parts(address, len, &theirs).copy_from(vector.view())?;
            drop(written);
            slice
        }
    };
    theirs.checked_by_cudarc(operation, &stream)?;
    Ok(CudaStorage::wrap_cuda_slice(slice, to.clone()))
}
