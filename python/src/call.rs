//! What an operation reads and where its results go: arrays of NumPy, PyTorch, CuPy and others.
//!
//! An array is taken by the first of these that it has: this library's own class; the protocol of DLPack, for memory of a CUDA
//! device; the CUDA array interface; the array interface of NumPy; DLPack for memory of the host; what `numpy.asarray` takes.
//! Memory of a device is never copied. Memory of the host is copied to a CUDA device, and used where it is on the CPU.

use std::{ffi::c_void, ptr, slice};

use dlpark::{
    ffi::{DLDevice, DLDeviceType},
    python::{
        DlpackStream, ImportRequest, StreamArg,
        consumer::{exchange::ExchangeApi, stream as stream_arg},
    },
};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyTuple},
};
use warpwright::{Device, DeviceKind, Matrix, Vector};

use crate::{
    array::{Array, device_named, host_address},
    dtype::{Dtype, Item, by_type},
    error::raised,
    source::{Elements, Owner, Source, apart, by_interface, overlap},
    stream::{self, Stream},
};

/// Where a result is written.
pub enum Place {
    /// A new vector.
    New,
    /// Memory of the caller's.
    At(Elements),
    /// The first input's own memory.
    Input(Elements),
}

/// Where an array lies.
fn place(x: &Bound<'_, PyAny>) -> PyResult<DeviceKind> {
    if let Ok(array) = x.cast::<Array>() {
        return Ok(array.get().memory.device.kind());
    }
    if let Ok(method) = x.getattr("__dlpack_device__") {
        let (kind, ordinal): (u32, usize) = method.call0()?.extract()?;
        return match DLDeviceType(kind) {
            DLDeviceType::CPU | DLDeviceType::CUDAHOST => Ok(DeviceKind::Cpu),
            DLDeviceType::CUDA | DLDeviceType::CUDAMANAGED => Ok(DeviceKind::Cuda { ordinal }),
            DLDeviceType(kind) => Err(PyTypeError::new_err(format!(
                "an array on the host or on a CUDA device required, one on a device of DLPack's kind {kind} given"
            ))),
        };
    }
    let Ok(interface) = x.getattr("__cuda_array_interface__") else {
        return Ok(DeviceKind::Cpu);
    };
    // The interface does not say which device: the one whose driver knows the memory.
    let (address, _): (u64, bool) = interface.get_item("data")?.extract()?;
    let cuda = Device::list().into_iter().map(|info| info.kind);
    for kind in cuda.filter(|kind| *kind != DeviceKind::Cpu) {
        let device = stream::device(kind)?;
        // SAFETY: the view is not used.
        if unsafe { device.foreign_view::<u8>(address, 1) }.is_ok() {
            return Ok(kind);
        }
    }
    Ok(DeviceKind::Cuda { ordinal: 0 })
}

/// Returns the name of the package that an object's class is of.
fn package(x: &Bound<'_, PyAny>) -> PyResult<String> {
    let module: String = x.get_type().module()?.extract()?;
    Ok(module.split('.').next().unwrap_or_default().to_owned())
}

/// What kind of array a result becomes.
enum Home {
    /// An array or a number of NumPy's.
    Numpy,
    /// What a package's `from_dlpack` makes.
    Package(Py<PyAny>),
    /// A tensor of PyTorch's, on its current stream, by calls of C.
    Exchange(ExchangeApi),
    /// This library's own class.
    Own,
}

/// A call of a function: the handle that its work is queued with, and the kind of its results, by its first array.
pub struct Call {
    pub device: Device,
    home: Home,
    /// Whether the first array is the host's.
    of_host: bool,
    /// Handles on other streams, whose memory this work uses.
    others: Vec<Device>,
}

impl Drop for Call {
    fn drop(&mut self) {
        for other in &self.others {
            // What the other stream does with the memory comes after this work. If that cannot be ordered, it is waited for.
            if other.wait_for(&self.device).is_err() {
                let _ = self.device.synchronize();
            }
        }
    }
}

// SAFETY: a handle's stream is alive, and DLPack's number for it is what `consumer::cuda` makes.
unsafe impl DlpackStream for Call {
    fn as_python_arg(&self, _: Python<'_>, _: DLDevice) -> PyResult<StreamArg> {
        Ok(self
            .device
            .cuda_stream()
            .map_or_else(stream_arg::none, stream_arg::cuda))
    }

    unsafe fn wait_for_producer(&self, _: DLDevice, producer: *mut c_void) -> PyResult<bool> {
        // On one stream the work is in order. Otherwise the producer sees to it, by `__dlpack__`.
        Ok(self.device.cuda_stream() == Some(producer))
    }
}

impl Call {
    /// Makes a call by its first array. The work goes to `stream`, or to the stream that the array's library has current.
    pub fn new(first: &Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let (py, kind, package) = (first.py(), place(first)?, package(first)?);
        let own = first.cast::<Array>().ok();
        let home = match package.as_str() {
            _ if own.is_some() => Home::Own,
            "numpy" | "builtins" => Home::Numpy,
            name => {
                let package = py.import("sys")?.getattr("modules")?.get_item(name);
                let from_dlpack = package.and_then(|package| package.getattr("from_dlpack"));
                from_dlpack.map_or(Home::Own, |it| Home::Package(it.unbind()))
            }
        };
        // What takes several microseconds in Python takes hardly any by DLPack's functions of C, which PyTorch has since 2.9.
        let exchange = match package.as_str() {
            "torch" if kind != DeviceKind::Cpu => ExchangeApi::from_object(first.as_borrowed())?,
            _ => None,
        };
        // A handle on the stream that the array's own library uses.
        let theirs = match (kind, own) {
            (_, Some(array)) => array.get().memory.device.clone(),
            (DeviceKind::Cuda { .. }, None) if let Some(api) = &exchange => {
                // PyTorch destroys none of its streams.
                let tensor = api.import_managed_no_sync(first.as_borrowed())?;
                Stream::lasting(tensor.current_work_stream()).on(&stream::device(kind)?)?
            }
            (DeviceKind::Cuda { ordinal }, None) => {
                let current = match Stream::current(&package, py, ordinal)? {
                    Some(current) => Some(current),
                    None => interface_stream(first)?,
                };
                let current = current.unwrap_or(Stream::LEGACY);
                current.on(&stream::device(kind)?)?
            }
            _ => stream::default_device()?,
        };
        let mut call = Self {
            device: theirs.clone(),
            home: match exchange {
                Some(api) if stream.is_none() => Home::Exchange(api),
                _ => home,
            },
            of_host: kind == DeviceKind::Cpu && own.is_none(),
            others: Vec::new(),
        };
        if let Some(stream) = stream {
            call.device = Stream::of(stream)?.on(&theirs)?;
            if kind != DeviceKind::Cpu {
                // Their library may give the memory to somebody else on its own stream, as soon as the caller drops the array.
                call.in_order_with(&theirs)?;
            }
        }
        Ok(call)
    }

    /// Takes an array as it is.
    pub fn source(&mut self, x: &Bound<'_, PyAny>) -> PyResult<Source> {
        if let Ok(array) = x.cast::<Array>() {
            let array = array.get();
            self.in_order_with(&array.memory.device)?;
            return Ok(Source {
                address: array.memory.address,
                shape: array.shape.clone(),
                strides: None,
                dtype: array.dtype,
                read_only: false,
                owner: Owner::Memory(array.memory.clone()),
            });
        }
        // The result would have no gradient, and nobody would say so.
        if x.getattr("requires_grad")
            .is_ok_and(|it| it.is_truthy().unwrap_or(false))
        {
            return Err(PyValueError::new_err(
                "an array without a gradient required, one that has it given; x.detach() is one without",
            ));
        }
        if place(x)? == DeviceKind::Cpu {
            return self.of_host(x);
        }
        if x.hasattr("__dlpack_device__")? {
            return self.by_dlpack(x);
        }
        if let Some(theirs) = interface_stream(x)? {
            self.in_order_with(&theirs.on(&self.device)?)?;
        }
        by_interface(x, &x.getattr("__cuda_array_interface__")?)
    }

    /// Orders this work after that of another handle, and what that one does later after this work.
    fn in_order_with(&mut self, other: &Device) -> PyResult<()> {
        if other.cuda_stream() != self.device.cuda_stream() || other.kind() != self.device.kind() {
            self.device.wait_for(other).map_err(raised)?;
            self.others.push(other.clone());
        }
        Ok(())
    }

    fn by_dlpack(&self, x: &Bound<'_, PyAny>) -> PyResult<Source> {
        let stream = self.device.cuda_stream().map(|_| self as &dyn DlpackStream);
        let tensor = ImportRequest::new(x.as_borrowed())?.import(stream, None)?;
        let invalid = |error: String| PyBufferError::new_err(error);
        let described = tensor
            .validate()
            .map_err(|error| invalid(error.to_string()))?;
        let shape: Vec<usize> = described.shape().iter().map(|len| *len as usize).collect();
        let strides = described.strides().map(<[i64]>::to_vec);
        let dtype = Dtype::of_dlpack(described.dtype())?;
        let address = described.data_ptr().expose_provenance() as u64 + described.byte_offset();
        let read_only = tensor.flags().contains(dlpark::DlpackFlags::READ_ONLY);
        Ok(Source {
            address,
            strides: apart(&shape, strides),
            shape,
            dtype,
            read_only,
            owner: Owner::Tensor(tensor.into_deleter()),
        })
    }

    fn of_host(&self, x: &Bound<'_, PyAny>) -> PyResult<Source> {
        let py = x.py();
        let by_dlpack = !x.hasattr("__array_interface__")? && x.hasattr("__dlpack_device__")?;
        let source = if by_dlpack {
            // `stream` is not for the host's memory.
            let on_cpu = Self {
                device: stream::device(DeviceKind::Cpu)?,
                home: Home::Own,
                of_host: true,
                others: Vec::new(),
            };
            on_cpu.by_dlpack(x)?
        } else {
            let numpy = py.import("numpy")?;
            let of = PyDict::new(py);
            of.set_item("requirements", ["C", "A"])?;
            let array = numpy.call_method("require", (x,), Some(&of))?;
            let dtype = array.getattr("dtype")?;
            if !dtype.getattr("isnative")?.extract::<bool>()? {
                return Err(PyTypeError::new_err(format!(
                    "elements in this machine's order of bytes required, {dtype} given"
                )));
            }
            Source {
                address: host_address(&array)? as u64,
                shape: array.getattr("shape")?.extract()?,
                strides: None,
                dtype: Dtype::named(&dtype.getattr("name")?.extract::<String>()?)?,
                read_only: !array
                    .getattr("flags")?
                    .getattr("writeable")?
                    .extract::<bool>()?,
                owner: Owner::Object(array.unbind()),
            }
        };
        if self.device.kind() == DeviceKind::Cpu {
            return Ok(source);
        }
        if !self.of_host {
            return Err(PyValueError::new_err(format!(
                "arrays on {} required, one of the host's memory given",
                self.device.kind()
            )));
        }
        self.upload(source, x)
    }

    /// Copies elements of the host to the device.
    fn upload(&self, source: Source, x: &Bound<'_, PyAny>) -> PyResult<Source> {
        let elements = source.elements("upload")?;
        let device = &self.device;
        by_type!("upload", source.dtype, all, T => {
            let from: &[T] = match elements.len {
                0 => &[],
                len => {
                    let start: *const T = ptr::with_exposed_provenance(elements.address as usize);
                    if !start.is_aligned() {
                        return Err(PyValueError::new_err("upload: aligned elements required"));
                    }
                    // SAFETY: the source keeps the memory, whose elements are of this type.
                    unsafe { slice::from_raw_parts(start, len) }
                }
            };
            let vector = x.py().detach(|| device.upload(from)).map_err(raised)?;
            let array = Array::new(vector, source.shape.clone(), source.dtype);
            Ok(Source {
                address: array.memory.address,
                owner: Owner::Memory(array.memory),
                ..source
            })
        })
    }

    /// Runs an operation with the place of its result: `out`, or a new vector. Returns what the caller gets.
    ///
    /// `inputs` are what the operation reads: `out` must not overlap them. If `in_place` is true it may be the first of them,
    /// which `run` then does not read by another view. Shape and type of `out` must be those of the result.
    pub fn written<T: Item>(
        &mut self,
        operation: &str,
        (out, shape): (Option<&Bound<'_, PyAny>>, Vec<usize>),
        (inputs, in_place): (&[&Source], bool),
        py: Python<'_>,
        run: impl FnOnce(&Device, Place) -> warpwright::Result<Option<Vector<T>>> + Send,
    ) -> PyResult<Py<PyAny>> {
        let Some(out) = out else {
            let vector = py
                .detach(|| run(&self.device, Place::New))
                .map_err(raised)?;
            return self.give(py, vector.expect("a new vector was asked for"), shape);
        };
        if self.of_host {
            let vector = py
                .detach(|| run(&self.device, Place::New))
                .map_err(raised)?;
            let vector = vector.expect("a new vector was asked for");
            let array = Array::new(vector, shape, T::NAMED).numpy(py)?;
            py.import("numpy")?.call_method1("copyto", (out, array))?;
            return Ok(out.clone().unbind());
        }
        let place = self.source(out)?;
        if place.shape != shape || place.dtype != T::NAMED {
            return Err(PyValueError::new_err(format!(
                "{operation}: out of the shape {shape:?} and the type {} required, {:?} and {} given",
                T::NAMED.name(),
                place.shape,
                place.dtype.name()
            )));
        }
        if place.read_only {
            return Err(PyValueError::new_err(format!(
                "{operation}: out that can be written required, one for reading alone given"
            )));
        }
        let to = place.elements(operation)?;
        let is_first =
            in_place && inputs[0].bytes() == place.bytes() && inputs[0].strides.is_none();
        let others = &inputs[usize::from(is_first)..];
        if others
            .iter()
            .any(|input| overlap(input.bytes(), place.bytes()))
        {
            return Err(PyValueError::new_err(format!(
                "{operation}: out that does not overlap the input required, one that does given"
            )));
        }
        let to = if is_first {
            Place::Input(to)
        } else {
            Place::At(to)
        };
        py.detach(|| run(&self.device, to)).map_err(raised)?;
        Ok(out.clone().unbind())
    }

    /// Makes what the caller gets of a vector.
    pub fn give<T: Item>(
        &self,
        py: Python<'_>,
        vector: Vector<T>,
        shape: Vec<usize>,
    ) -> PyResult<Py<PyAny>> {
        self.give_as(py, vector, shape, T::NAMED)
    }

    /// Makes what the caller gets of a matrix.
    pub fn give_matrix<T: Item>(&self, py: Python<'_>, matrix: Matrix<T>) -> PyResult<Py<PyAny>> {
        let shape = vec![matrix.height(), matrix.width()];
        self.give(py, matrix.into_vector(), shape)
    }

    /// Makes what the caller gets of positions. NumPy, PyTorch and CuPy have them as `int64`, and index with these.
    pub fn give_positions(
        &self,
        py: Python<'_>,
        vector: Vector<u64>,
        shape: Vec<usize>,
    ) -> PyResult<Py<PyAny>> {
        self.give_as(py, vector, shape, Dtype::I64)
    }

    fn give_as<T: Item>(
        &self,
        py: Python<'_>,
        vector: Vector<T>,
        shape: Vec<usize>,
        dtype: Dtype,
    ) -> PyResult<Py<PyAny>> {
        let array = Array::new(vector, shape, dtype);
        match &self.home {
            Home::Numpy => {
                let array = array.numpy(py)?;
                // An array without axes becomes a number, as NumPy's own functions return.
                Ok(array.get_item(PyTuple::empty(py))?.unbind())
            }
            Home::Package(from_dlpack) if self.of_host && self.device.kind() != DeviceKind::Cpu => {
                let array = on_host(py, &array)?;
                from_dlpack.call1(py, (array,))
            }
            Home::Package(from_dlpack) => from_dlpack.call1(py, (array,)),
            Home::Exchange(api) => {
                let tensor = api.managed_tensor_to_py_object_no_sync(array.tensor(None)?, py)?;
                Ok(tensor.unbind())
            }
            Home::Own => Ok(Py::new(py, array)?.into_any()),
        }
    }
}

/// Copies an array to the host.
fn on_host(py: Python<'_>, array: &Array) -> PyResult<Array> {
    let (device, len) = (&array.memory.device, array.len());
    let cpu = stream::device(DeviceKind::Cpu)?;
    by_type!("copy", array.dtype, all, T => py.detach(|| {
        let elements = Elements { address: array.memory.address, len };
        let copy = elements.view::<T>(device).and_then(|view| cpu.upload(&view.to_vec()?));
        Ok(Array::new(copy.map_err(raised)?, array.shape.clone(), array.dtype))
    }))
}

/// Returns the stream that an array's CUDA array interface says its data is ready on.
fn interface_stream(x: &Bound<'_, PyAny>) -> PyResult<Option<Stream>> {
    let Ok(interface) = x.getattr("__cuda_array_interface__") else {
        return Ok(None);
    };
    let stream = interface.cast::<PyDict>()?.get_item("stream")?;
    stream
        .filter(|stream| !stream.is_none())
        .map(|it| Stream::of(&it))
        .transpose()
}

/// Makes an array of this library's own, whose functions then leave their results on the device: of the host's memory, which is
/// copied there. `device` is `auto`, `cpu`, `cuda` or `cuda:N`.
#[pyfunction]
#[pyo3(signature = (x, device=None))]
pub fn asarray(x: &Bound<'_, PyAny>, device: Option<&str>) -> PyResult<Array> {
    let call = Call {
        device: device_named(device)?,
        home: Home::Own,
        of_host: true,
        others: Vec::new(),
    };
    if place(x)? != DeviceKind::Cpu {
        return Err(PyValueError::new_err(format!(
            "asarray: an array of the host required, one on {} given, which every function takes as it is",
            place(x)?
        )));
    }
    let source = call.of_host(x)?;
    let elements = source.elements("asarray")?;
    by_type!("asarray", source.dtype, all, T => match source.owner {
        Owner::Memory(memory) => Ok(Array { memory, shape: source.shape, dtype: source.dtype }),
        _ => {
            let copy = elements.view::<T>(&call.device).and_then(|view| call.device.upload(&view.to_vec()?));
            Ok(Array::new(copy.map_err(raised)?, source.shape, source.dtype))
        }
    })
}
