//! Arrays on a device, as Python sees them.

use std::{any::Any, cell::RefCell, ptr, slice, sync::Arc};

use dlpark::{
    DlpackFlags, Managed, ManagedTensorBase,
    ffi::{DLDevice, DLManagedTensor, DLManagedTensorVersioned},
    metadata::Dynamic,
    python::{CudaStreamRequest, DlpackExporter, ExportRequest, export_dlpack},
};
use pyo3::{
    exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyTuple},
};
use warpwright::{Device, DeviceKind, Vector};

use crate::{
    dtype::{Dtype, Item, by_type},
    error::raised,
    stream::{self, Stream},
};

/// The memory of an array.
pub struct Memory {
    _vector: Box<dyn Any + Send + Sync>,
    pub address: u64,
    /// The handle whose work computes the elements.
    pub device: Device,
}

/// An array on a device: a result whose memory is the library's.
///
/// Other libraries use the memory without a copy: `torch.from_dlpack(array)`, `cupy.from_dlpack(array)`, and on the CPU
/// `numpy.from_dlpack(array)`. Elements are row by row without gaps. The work that computes them may still run: whoever takes
/// the array by DLPack, or calls `numpy()`, gets it in order.
#[pyclass(frozen, module = "warpwright")]
pub struct Array {
    pub memory: Arc<Memory>,
    pub shape: Vec<usize>,
    pub dtype: Dtype,
}

impl Array {
    /// Makes an array of a vector's elements, as elements of the type `dtype`, which has as many bytes.
    pub fn new<T: Item>(vector: Vector<T>, shape: Vec<usize>, dtype: Dtype) -> Self {
        debug_assert_eq!(dtype.size(), size_of::<T>());
        let memory = Memory {
            address: vector.view().device_pointer(),
            device: vector.device().clone(),
            _vector: Box::new(vector),
        };
        Self {
            memory: Arc::new(memory),
            shape,
            dtype,
        }
    }

    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn dlpack_device(&self) -> DLDevice {
        match self.memory.device.kind() {
            DeviceKind::Cuda { ordinal } => DLDevice::cuda(ordinal as i32),
            _ => DLDevice::CPU,
        }
    }

    /// Copies the elements to the array of NumPy's `to`, which has as many. Waits for them.
    ///
    /// # Safety
    /// The array must be of the same type, row by row, and nobody else may use it meanwhile.
    pub unsafe fn download(&self, to: &Bound<'_, PyAny>) -> PyResult<()> {
        let (address, len) = (host_address(to)?, self.len());
        if len == 0 {
            return Ok(());
        }
        let memory = &self.memory;
        by_type!("numpy", self.dtype, all, T => to.py().detach(|| {
            // SAFETY: the memory has `len` elements of the type's size, and its handle has queued the work that writes them.
            let view = unsafe { memory.device.foreign_view::<T>(memory.address, len) };
            let to: *mut T = ptr::with_exposed_provenance_mut(address);
            // SAFETY: by the contract.
            let to = unsafe { slice::from_raw_parts_mut(to, len) };
            view.and_then(|view| view.download(to)).map_err(raised)
        }))
    }

    /// Makes a tensor of the memory, for a consumer on the stream of `consumer`, or on the memory's own one.
    pub fn tensor<M: ManagedTensorBase>(&self, consumer: Option<Device>) -> PyResult<Managed<M>> {
        let shape: Vec<i64> = self.shape.iter().map(|len| *len as i64).collect();
        let prepared = Dynamic::compact(shape).prepare_as::<M>();
        let prepared = prepared.map_err(|error| PyBufferError::new_err(error.to_string()))?;
        let mut tensor = prepared.initialize(Box::new(Lent {
            memory: self.memory.clone(),
            consumer,
        }));
        let data = match self.len() {
            0 => ptr::null_mut(),
            _ => ptr::with_exposed_provenance_mut(self.memory.address as usize),
        };
        tensor
            .set_data(data)
            .set_device(self.dlpack_device())
            .set_dtype(self.dtype.dlpack());
        // SAFETY: the tensor describes the elements, whose memory it keeps.
        Ok(unsafe { tensor.finish() })
    }
}

/// Returns the address of the elements of an array of NumPy's.
pub fn host_address(array: &Bound<'_, PyAny>) -> PyResult<usize> {
    let interface = array.getattr("__array_interface__")?;
    let (address, _): (usize, bool) = interface.get_item("data")?.extract()?;
    Ok(address)
}

/// An array's memory while a tensor of DLPack has it.
struct Lent {
    memory: Arc<Memory>,
    /// A handle on the consumer's stream, if that is another one than the memory's.
    consumer: Option<Device>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        // The memory is used again after the consumer's work. If that cannot be ordered, it is waited for; if that fails too,
        // the memory is never freed.
        if let Some(consumer) = &self.consumer
            && self.memory.device.wait_for(consumer).is_err()
            && consumer.synchronize().is_err()
        {
            std::mem::forget(self.memory.clone());
        }
    }
}

/// An array and the consumer that asks for a tensor.
struct Export<'a> {
    array: &'a Array,
    consumer: RefCell<Option<Device>>,
}

impl DlpackExporter for Export<'_> {
    fn device(&self) -> DLDevice {
        self.array.dlpack_device()
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    fn prepare_export(&self, _: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        let own = &self.array.memory.device;
        let Some(own_stream) = own.cuda_stream() else {
            return Ok(());
        };
        let stream = match request.cuda_stream()? {
            CudaStreamRequest::NoSync => return Ok(()),
            CudaStreamRequest::Omitted | CudaStreamRequest::LegacyDefault => Stream::LEGACY,
            CudaStreamRequest::PerThreadDefault => {
                return Err(PyBufferError::new_err(
                    "__dlpack__: a stream that any thread can use required, that of the calling thread given",
                ));
            }
            CudaStreamRequest::Pointer(handle) if handle == own_stream.addr() => return Ok(()),
            CudaStreamRequest::Pointer(_) => {
                Stream::of(request.stream().expect("the stream that was parsed"))?
            }
        };
        let consumer = stream.on(own)?;
        consumer.wait_for(own).map_err(raised)?;
        self.consumer.replace(Some(consumer));
        Ok(())
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.array.tensor(self.consumer.take())
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.array.tensor(self.consumer.take())
    }
}

#[pymethods]
impl Array {
    /// The number of elements along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The name of the elements' type, as NumPy has it.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }

    /// The device: `cpu`, or `cuda:0`.
    #[getter]
    fn device(&self) -> String {
        self.memory.device.kind().to_string()
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.len()
    }

    fn __len__(&self) -> PyResult<usize> {
        let none = || PyTypeError::new_err("len() of an array without axes");
        self.shape.first().copied().ok_or_else(none)
    }

    fn __repr__(&self) -> String {
        let (dtype, device) = (self.dtype.name(), self.memory.device.kind());
        format!(
            "<warpwright.Array of {dtype}, shape {:?}, on {device}>",
            self.shape
        )
    }

    /// Copies the elements to a new array of NumPy's. Waits for the work that computes them.
    pub fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        if self.dtype == Dtype::Bf16 {
            py.import("ml_dtypes").map_err(|_| {
                PyTypeError::new_err(
                    "numpy: the package ml_dtypes required for bfloat16, none found",
                )
            })?;
        }
        let dtype = numpy.call_method1("dtype", (self.dtype.name(),))?;
        let shape = PyTuple::new(py, &self.shape)?;
        let to = numpy.call_method1("empty", (shape, dtype))?;
        // SAFETY: NumPy has just made the array, of this type.
        unsafe { self.download(&to) }?;
        Ok(to)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "__array__: a copy is needed; numpy.from_dlpack makes none of an array on the CPU",
            ));
        }
        let array = self.numpy(py)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// The CUDA array interface, version 3.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Some(stream) = self.memory.device.cuda_stream() else {
            return Err(PyAttributeError::new_err(
                "__cuda_array_interface__: an array on a CUDA device required, one on cpu given",
            ));
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("typestr", self.dtype.typestr())?;
        let address = if self.len() == 0 {
            0
        } else {
            self.memory.address
        };
        interface.set_item("data", (address, false))?;
        // The legacy default stream is 1 here; 0 would be ambiguous.
        interface.set_item("stream", stream.addr().max(1))?;
        Ok(interface)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = self.dlpack_device();
        (device.device_type.0 as i32, device.device_id)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let request = ExportRequest::parse(stream.as_ref(), max_version, dl_device, copy)?;
        let export = Export {
            array: self,
            consumer: None.into(),
        };
        export_dlpack(&export, py, request)
    }
}

/// Returns the device that a name says: `auto`, `cpu`, `cuda` or `cuda:N`.
pub fn device_named(name: Option<&str>) -> PyResult<Device> {
    match name {
        None | Some("auto") => stream::default_device(),
        Some("cuda") => stream::device(DeviceKind::Cuda { ordinal: 0 }),
        Some(name) => stream::device(name.parse().map_err(raised)?),
    }
}
