//! The stream that an operation's work is queued on, and the devices.

use std::{
    collections::HashMap,
    ffi::c_void,
    ptr,
    sync::{Mutex, OnceLock, PoisonError},
};

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpwright::{Device, DeviceKind};

use crate::error::raised;

/// Returns a handle to a device, which is opened once in the process.
pub fn device(kind: DeviceKind) -> PyResult<Device> {
    static OPEN: OnceLock<Mutex<HashMap<DeviceKind, Device>>> = OnceLock::new();
    let open = OPEN.get_or_init(Mutex::default);
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = open.get(&kind) {
        return Ok(device.clone());
    }
    let device = match kind {
        DeviceKind::Cuda { ordinal } => Device::cuda(ordinal).map_err(raised)?,
        _ => Device::cpu(),
    };
    open.insert(kind, device.clone());
    Ok(device)
}

/// Returns the device for arrays of the host: the first CUDA device that works, or else the CPU.
pub fn default_device() -> PyResult<Device> {
    static FIRST: OnceLock<DeviceKind> = OnceLock::new();
    let kind = match FIRST.get() {
        Some(kind) => *kind,
        None => {
            let kind = Device::auto().map_err(raised)?.kind();
            *FIRST.get_or_init(|| kind)
        }
    };
    device(kind)
}

/// The names of all devices, the CUDA devices first: `cuda:0` and on, and `cpu`.
#[pyfunction]
pub fn devices() -> Vec<String> {
    Device::list()
        .iter()
        .map(|info| info.kind.to_string())
        .collect()
}

/// A stream of somebody else's, and the object that keeps it alive.
pub struct Stream {
    handle: usize,
    owner: Option<Py<PyAny>>,
}

impl Stream {
    /// The legacy default stream.
    pub const LEGACY: Self = Self {
        handle: 0,
        owner: None,
    };

    /// Returns the stream with a handle, which is never destroyed.
    pub fn lasting(handle: *mut c_void) -> Self {
        Self {
            handle: handle.expose_provenance(),
            owner: None,
        }
    }

    /// Returns the stream that `given` is: a handle, an object with `__cuda_stream__`, or a stream of PyTorch or CuPy.
    pub fn of(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let handle = match given.extract::<usize>() {
            Ok(handle) => handle,
            Err(_) => Self::handle_of(given)?,
        };
        // DLPack and the CUDA array interface call the legacy default stream 1.
        let handle = if handle == 1 { 0 } else { handle };
        if handle == 2 {
            return Err(PyValueError::new_err(
                "stream: one that any thread can use required, that of the calling thread given",
            ));
        }
        Ok(Self {
            handle,
            owner: Some(given.clone().unbind()),
        })
    }

    fn handle_of(given: &Bound<'_, PyAny>) -> PyResult<usize> {
        if let Ok(method) = given.getattr("__cuda_stream__") {
            let (_, handle): (usize, usize) = method.call0()?.extract()?;
            return Ok(handle);
        }
        for name in ["cuda_stream", "ptr"] {
            if let Ok(handle) = given.getattr(name) {
                return handle.extract();
            }
        }
        Err(PyTypeError::new_err(format!(
            "stream: a handle, or an object with __cuda_stream__ required, {} given",
            given.get_type().name()?
        )))
    }

    /// Returns the current stream of the library that an array is of: of PyTorch or CuPy.
    pub fn current(package: &str, py: Python<'_>, ordinal: usize) -> PyResult<Option<Self>> {
        let stream = match package {
            "torch" => py
                .import("torch.cuda")?
                .call_method1("current_stream", (ordinal,))?,
            "cupy" => py.import("cupy.cuda")?.call_method0("get_current_stream")?,
            _ => return Ok(None),
        };
        Self::of(&stream).map(Some)
    }

    /// Makes a handle to `device` on this stream.
    pub fn on(self, device: &Device) -> PyResult<Device> {
        let handle: *mut c_void = ptr::with_exposed_provenance_mut(self.handle);
        // SAFETY: the owner keeps the stream; a stream that is given as a number has to exist while its arrays do, as the
        // functions' documentation says. It is not the stream of the calling thread.
        unsafe { device.on_cuda_stream_kept_by(handle, self.owner) }.map_err(raised)
    }
}
