//! The CUDA executor, behind the library's executor interface.

mod architecture;
mod mark;

use std::{
    collections::{HashMap, hash_map::Entry},
    ffi::c_void,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use cuda_std::{
    constant::ConstantValues,
    kernel::{KernelDescriptor, LaunchConfig},
};

use crate::{
    backend::Launch,
    code::Code,
    cuda::{
        CudaContext, CudaDeviceInfo, CudaError, CudaErrorKind, CudaFunction, CudaModule,
        CudaStream, CudaWork, Found, Loaded, Owner,
    },
    device::{DeviceInfo, DeviceKind},
    error::{Error, InvalidKind, Result},
    executor::capture,
    module::{self, Module},
    ptx,
};

/// A CUDA device with one stream.
#[derive(Debug)]
pub(crate) struct CudaBackend {
    info: DeviceInfo,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// The architectures of the families' newest modules that run on the device, and whether they are specific.
    architectures: Arc<OnceLock<module::Architectures>>,
    /// The kernels launched so far, if the stream is captured.
    captured: Option<Mutex<Vec<Arc<CudaFunction>>>>,
}

pub(crate) use crate::cuda::{CudaGraph, CudaMemory, CudaWait, PinnedMemory, is_device_fault};
pub(crate) use mark::CudaMark;

/// Kernels by device and name.
type Functions = HashMap<(usize, &'static str), Arc<CudaFunction>>;

/// Returns the library's kernels that devices have loaded. They stay loaded as long as the contexts are open.
fn loaded() -> &'static Mutex<Functions> {
    static LOADED: OnceLock<Mutex<Functions>> = OnceLock::new();
    LOADED.get_or_init(Mutex::default)
}

fn device_info(info: &CudaDeviceInfo) -> DeviceInfo {
    DeviceInfo {
        kind: DeviceKind::Cuda {
            ordinal: info.ordinal,
        },
        name: info.name.clone(),
        memory_bytes: info.memory_bytes,
        multiprocessors: info.multiprocessors,
        compute_capability: Some(info.compute_capability),
        driver_version: Some(info.driver_version),
        shared_bytes_per_block: info.shared_bytes_per_block_optin as usize,
        l2_bytes: info.l2_bytes as u64,
    }
}

/// Returns whether the library's kernels run on the device.
fn supported(info: &DeviceInfo) -> bool {
    info.compute_capability
        .is_some_and(|capability| capability >= (7, 5))
}

pub(crate) fn list() -> Vec<DeviceInfo> {
    crate::cuda::devices().iter().map(device_info).collect()
}

/// Returns the ordinal of the first supported device, or `None` if the machine has no CUDA device.
///
/// # Errors
/// Other errors of the driver.
pub(crate) fn first_supported() -> Result<Option<usize>> {
    let failed = |ordinal| move |error| driver_error("auto", DeviceKind::Cuda { ordinal }, error);
    let count = match crate::cuda::device_count() {
        Ok(count) => count,
        Err(error) if error.means_no_device() => 0,
        Err(error) => return Err(failed(0)(error)),
    };
    for ordinal in 0..count {
        let info = crate::cuda::device_info(ordinal).map_err(failed(ordinal))?;
        if supported(&device_info(&info)) {
            return Ok(Some(ordinal));
        }
    }
    Ok(None)
}

/// Returns whether `address` is memory of a CUDA device that the host cannot use. Asks the driver only if a device is open.
pub(crate) fn is_device_memory(address: u64) -> bool {
    let found = CudaContext::any_open().map(|context| context.look_up(address));
    matches!(found, Some(Ok(Found::Device { managed: false, .. })))
}

/// Converts a driver's error to the library's.
pub(crate) fn driver_error(operation: &'static str, device: DeviceKind, error: CudaError) -> Error {
    match error.kind() {
        CudaErrorKind::NoDriver | CudaErrorKind::NoDevice => Error::NoDevice {
            device,
            reason: error.to_string(),
        },
        CudaErrorKind::DeviceFault => Error::Driver {
            operation,
            device,
            code: error.code(),
            message: format!(
                "{error}: the context is lost, and with it the device for the rest of the process"
            ),
        },
        _ => Error::Driver {
            operation,
            device,
            code: error.code(),
            message: error.to_string(),
        },
    }
}

impl CudaBackend {
    pub fn open(ordinal: usize) -> Result<Self> {
        let device = DeviceKind::Cuda { ordinal };
        let failed = |error| driver_error("open", device, error);
        let count = crate::cuda::device_count().map_err(|error| match error.kind() {
            CudaErrorKind::DeviceFault => failed(error),
            _ => Error::NoDevice {
                device,
                reason: format!("no CUDA device can be used: {error}"),
            },
        })?;
        if ordinal >= count {
            return Err(Error::NoDevice {
                device,
                reason: match count {
                    0 => "the driver finds no CUDA device".to_owned(),
                    1 => "there is one CUDA device, cuda:0".to_owned(),
                    _ => format!(
                        "there are {count} CUDA devices, cuda:0 to cuda:{}",
                        count - 1
                    ),
                },
            });
        }
        let context = CudaContext::open(ordinal).map_err(failed)?;
        let stream = Arc::new(CudaStream::new(&context).map_err(failed)?);
        Ok(Self {
            info: device_info(context.info()),
            context,
            stream,
            architectures: Arc::default(),
            captured: None,
        })
    }

    /// Opens the device if the library's kernels run on it.
    pub fn supported(ordinal: usize) -> Result<Self> {
        let backend = Self::open(ordinal)?;
        if supported(&backend.info) {
            return Ok(backend);
        }
        let (major, minor) = backend.info.compute_capability.unwrap_or_default();
        Err(Error::NoDevice {
            device: backend.info.kind,
            reason: format!("compute capability 7.5 or later required, it has {major}.{minor}"),
        })
    }

    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub fn ordinal(&self) -> usize {
        self.context.info().ordinal
    }

    fn error(&self, operation: &'static str) -> impl Fn(CudaError) -> Error + use<> {
        let kind = self.info.kind;
        move |error| driver_error(operation, kind, error)
    }

    pub fn free_memory(&self) -> Result<u64> {
        let (free, _) = self
            .context
            .mem_get_info()
            .map_err(self.error("free_memory"))?;
        Ok(free)
    }

    pub fn new_stream(&self) -> Result<Self> {
        let stream = CudaStream::new(&self.context).map_err(self.error("new_stream"))?;
        Ok(self.with_stream(stream))
    }

    /// # Safety
    /// As for `Executor::on_stream`.
    pub unsafe fn on_stream(
        &self,
        operation: &'static str,
        stream: *mut c_void,
        owner: Option<Owner>,
    ) -> Result<Self> {
        // SAFETY: by the contract.
        let stream = unsafe { CudaStream::borrow(&self.context, stream.cast(), owner) };
        let stream = stream.map_err(self.error(operation))?.ok_or_else(|| {
            Error::invalid(
                InvalidKind::Foreign,
                operation,
                format!("a stream of the primary context of {}", self.info.kind),
                "one of another context",
            )
        })?;
        Ok(self.with_stream(stream))
    }

    fn with_stream(&self, stream: CudaStream) -> Self {
        Self {
            info: self.info.clone(),
            context: self.context.clone(),
            stream: Arc::new(stream),
            architectures: self.architectures.clone(),
            captured: None,
        }
    }

    /// As `Executor::require_own`.
    pub fn require_own(&self, operation: &'static str, address: u64, bytes: usize) -> Result<()> {
        let own = self.info.kind;
        let given = match self
            .context
            .look_up(address)
            .map_err(self.error(operation))?
        {
            Found::Nothing => "that the driver does not know".to_owned(),
            Found::Host => "memory of the host".to_owned(),
            Found::Device {
                ordinal, managed, ..
            } if !managed && DeviceKind::Cuda { ordinal } != own => {
                format!("memory of {}", DeviceKind::Cuda { ordinal })
            }
            Found::Device {
                other_context: true,
                ..
            } => "memory of another context".to_owned(),
            Found::Device {
                left: Some(left), ..
            } if left < bytes as u64 => {
                format!("{left} bytes before the end of the allocation")
            }
            Found::Device { .. } => return Ok(()),
        };
        Err(Error::invalid(
            InvalidKind::Foreign,
            operation,
            format!("{bytes} bytes of memory of {own}, in its primary context,"),
            format!("{address:#x}, {given},"),
        ))
    }

    /// Returns a backend of the same device whose work is captured, on a stream of its own.
    pub fn begin_capture(&self) -> Result<Self> {
        let failed = self.error("capture");
        let stream = CudaStream::new(&self.context).map_err(&failed)?;
        stream.begin_capture().map_err(&failed)?;
        Ok(Self {
            captured: Some(Mutex::default()),
            ..self.with_stream(stream)
        })
    }

    /// Ends the capture of this backend's work.
    pub fn end_capture(&self) -> Result<CudaGraph> {
        self.captured()
            .and_then(CudaWork::instantiate)
            .map_err(self.error("capture"))
    }

    /// Ends the capture of this backend's work, which replaces that of `graph`.
    pub fn end_update(&self, graph: &mut CudaGraph) -> Result<()> {
        self.captured()
            .and_then(|work| graph.update(work))
            .map_err(self.error(capture::UPDATE))
    }

    fn captured(&self) -> std::result::Result<CudaWork, CudaError> {
        let locked = self.captured.as_ref().map(Mutex::lock);
        let captured = locked.map(|locked| locked.unwrap_or_else(PoisonError::into_inner));
        let functions =
            captured.map_or_else(Vec::new, |mut functions| std::mem::take(&mut *functions));
        self.stream.end_capture(functions)
    }

    /// Ends the capture of this backend's work, which is not wanted any more.
    pub fn abandon_capture(&self) {
        self.stream.abandon_capture();
    }

    /// # Safety
    /// As for `Executor::launch_graph`.
    pub unsafe fn launch_graph(&self, graph: &mut CudaGraph) -> Result<()> {
        // SAFETY: by the contract.
        unsafe { graph.launch(&self.stream) }.map_err(self.error("launch of a graph"))
    }

    pub fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().map_err(self.error("synchronize"))
    }

    /// Returns the driver's handle of the stream.
    pub fn stream(&self) -> *mut c_void {
        self.stream.raw().cast()
    }

    /// Records an event. It is `timed` to measure the time between two.
    pub fn mark(&self, operation: &'static str, timed: bool) -> Result<CudaMark> {
        let stream = (&self.context, &*self.stream);
        CudaMark::record(stream, self.info.kind, operation, timed)
    }

    pub fn wait_mark(&self, mark: &CudaMark) -> Result<()> {
        self.stream
            .wait(mark.event())
            .map_err(self.error("wait_event"))
    }

    pub fn wait_for(&self, other: &Self) -> Result<()> {
        self.stream
            .wait_for(&other.stream)
            .map_err(self.error("wait"))
    }

    pub fn allocate(&self, operation: &'static str, bytes: usize) -> Result<CudaMemory> {
        CudaMemory::allocate(&self.stream, bytes).map_err(|error| match error.kind() {
            CudaErrorKind::OutOfMemory => self.out_of_memory(operation, bytes),
            _ => driver_error(operation, self.info.kind, error),
        })
    }

    pub fn allocate_pinned(&self, operation: &'static str, bytes: usize) -> Result<PinnedMemory> {
        PinnedMemory::allocate(&self.context, bytes).map_err(|error| match error.kind() {
            CudaErrorKind::OutOfMemory => Error::OutOfMemory {
                operation,
                device: self.info.kind,
                requested: bytes as u64,
                free: None,
            },
            _ => driver_error(operation, self.info.kind, error),
        })
    }

    fn out_of_memory(&self, operation: &'static str, bytes: usize) -> Error {
        let free = self.context.mem_get_info().ok().map(|(free, _)| free);
        Error::OutOfMemory {
            operation,
            device: self.info.kind,
            requested: bytes as u64,
            free,
        }
    }

    /// # Safety
    /// As for `Executor::fill`.
    pub unsafe fn fill(&self, to: u64, value: u8, bytes: usize) -> Result<()> {
        // SAFETY: by the contract.
        unsafe { self.stream.memset(to, value, bytes) }.map_err(self.error("fill"))
    }

    /// # Safety
    /// As for `Executor::copy_in`.
    pub unsafe fn copy_in(&self, to: u64, from: *const u8, bytes: usize) -> Result<()> {
        let copy = || {
            let pinned = bytes > 0 && self.context.is_pinned(from)?;
            // SAFETY: by the contract. Memory that is not pinned has been read when this returns, and a copy from pinned
            // memory is waited for.
            unsafe { self.stream.copy_to_device(to, from, bytes) }?;
            if pinned {
                // A failed wait is tried once more, because the caller gets the memory back after this.
                let wait = || self.stream.synchronize();
                wait().or_else(|error| wait().and(Err(error)))?;
            }
            Ok(())
        };
        copy().map_err(self.error("upload"))
    }

    /// # Safety
    /// As for `Executor::copy_in_pinned`.
    pub unsafe fn copy_in_pinned(&self, to: u64, from: *const u8, bytes: usize) -> Result<()> {
        // SAFETY: by the contract.
        unsafe { self.stream.copy_to_device(to, from, bytes) }.map_err(self.error("upload_pinned"))
    }

    /// # Safety
    /// As for `Executor::copy_out`.
    pub unsafe fn copy_out(&self, to: *mut u8, from: u64, bytes: usize) -> Result<()> {
        // SAFETY: by the contract.
        unsafe { self.stream.copy_to_host(to, from, bytes) }.map_err(self.error("download"))
    }

    /// # Safety
    /// As for `Executor::copy_within`.
    pub unsafe fn copy_within(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        // SAFETY: by the contract.
        unsafe { self.stream.copy_on_device(to, from, bytes) }.map_err(self.error("copy"))
    }

    /// Lets two devices access each other's memory, if there is a link between them.
    pub fn connect(&self, peer: &Self) -> Result<()> {
        self.context
            .connect(&peer.context)
            .map_err(self.error("copy"))
    }

    /// Queues a copy to another device.
    ///
    /// # Safety
    /// As for `CudaStream::copy_to_peer`.
    pub unsafe fn copy_to_peer(&self, peer: &Self, to: u64, from: u64, bytes: usize) -> Result<()> {
        // SAFETY: by the contract.
        unsafe { self.stream.copy_to_peer((to, &peer.context), from, bytes) }
            .map_err(self.error("copy"))
    }

    /// # Safety
    /// As for `Executor::launch`.
    pub unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        let function = self.function(launch.kernel, launch.module, launch.operation)?;
        if let Some(captured) = &self.captured {
            let mut functions = captured.lock().unwrap_or_else(PoisonError::into_inner);
            functions.push(function.clone());
        }
        let LaunchConfig {
            grid,
            block,
            shared_bytes,
        } = launch.config;
        let work = || {
            // SAFETY: by the contract.
            unsafe { function.launch(grid, block, shared_bytes, &self.stream, launch.params) }
        };
        let queued = match launch.constants {
            [] => work(),
            // SAFETY: launches with constants are the library's own, whose tables hold plain numbers.
            constants => unsafe {
                function
                    .module()
                    .with_constants(&self.stream, constants, work)
            },
        };
        queued.map_err(self.error(launch.operation))
    }

    pub fn set_constant(&self, module: &Module, values: &ConstantValues<'_>) -> Result<()> {
        self.with_loaded(module, |loaded| Ok(loaded.module.clone()))?
            .set_constant(&self.stream, values)
            .map_err(self.error("set_constant"))
    }

    fn function(
        &self,
        kernel: &KernelDescriptor,
        module: Option<&Module>,
        operation: &'static str,
    ) -> Result<Arc<CudaFunction>> {
        match module {
            Some(module) => self.with_loaded(module, |loaded| {
                if let Some(function) = loaded.functions.get(kernel.name) {
                    return Ok(function.clone());
                }
                let function = self.function_of(&loaded.module, kernel.name, operation)?;
                loaded.functions.insert(kernel.name, function.clone());
                Ok(function)
            }),
            None => self.own_function(kernel, operation),
        }
    }

    /// Returns one of the library's kernels. It is loaded at its first use on the device: as machine code, or compiled from
    /// its PTX if there is no machine code for the device or the driver refuses it.
    fn own_function(
        &self,
        kernel: &KernelDescriptor,
        operation: &'static str,
    ) -> Result<Arc<CudaFunction>> {
        let name = kernel.name;
        let key = (self.ordinal(), name);
        let mut loaded = loaded().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = loaded.get(&key) {
            return Ok(function.clone());
        }
        let capability = self.info.compute_capability.unwrap_or_default();
        let unknown = || Error::UnknownKernel {
            operation,
            kernel: name.to_owned(),
            hint: "; rebuild it with `cargo xtask build-ptx`",
        };
        let ptx = module::own_kernel(name, capability).ok_or_else(unknown)?;
        let entries = ptx::entries(&ptx);
        let entry = entries.iter().find(|entry| entry.name == name);
        module::check_params(entry.ok_or_else(unknown)?, kernel, operation)?;
        let code = module::own_code(name, capability);
        let function = match code {
            Some(code) => self.load_code(&code, name, operation)?,
            None => None,
        };
        let function = match function {
            Some(function) => function,
            None => self.load(&ptx, name, operation)?,
        };
        loaded.insert(key, function.clone());
        Ok(function)
    }

    pub fn resident_blocks(
        &self,
        operation: &'static str,
        (kernel, module): (&KernelDescriptor, Option<&Module>),
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32> {
        self.function(kernel, module, operation)?
            .max_active_blocks(threads, shared_bytes)
            .map_err(self.error(operation))
    }

    /// Loads machine code and returns its kernel, or `None` if the driver refuses such code.
    fn load_code(
        &self,
        code: &Code,
        kernel: &str,
        operation: &'static str,
    ) -> Result<Option<Arc<CudaFunction>>> {
        let module = CudaModule::from_code(&self.context, code).map_err(self.error(operation))?;
        module
            .map(|module| self.function_of(&module, kernel, operation))
            .transpose()
    }

    /// Compiles a module for the device and returns one kernel of it.
    pub fn load(
        &self,
        ptx: &str,
        kernel: &str,
        operation: &'static str,
    ) -> Result<Arc<CudaFunction>> {
        CudaModule::from_ptx(&self.context, ptx)
            .and_then(|module| module.get_function(kernel))
            .map(Arc::new)
            .map_err(self.error(operation))
    }

    pub fn function_of(
        &self,
        module: &Arc<CudaModule>,
        kernel: &str,
        operation: &'static str,
    ) -> Result<Arc<CudaFunction>> {
        module
            .get_function(kernel)
            .map(Arc::new)
            .map_err(self.error(operation))
    }

    /// Compiles a user's module now, if it is not yet compiled.
    pub fn load_user(&self, module: &Module) -> Result<()> {
        self.with_loaded(module, |_| Ok(()))
    }

    /// Calls `work` with a user's module as loaded on this device. Compiles it first if necessary.
    fn with_loaded<T>(
        &self,
        module: &Module,
        work: impl FnOnce(&mut Loaded) -> Result<T>,
    ) -> Result<T> {
        let mut loaded = module.loaded().lock();
        let loaded = loaded
            .as_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut());
        match loaded.entry(self.ordinal()) {
            Entry::Occupied(entry) => work(entry.into_mut()),
            Entry::Vacant(entry) => {
                let module = CudaModule::from_ptx(&self.context, module.ptx())
                    .map_err(self.error("load_module"))?;
                let functions = HashMap::new();
                work(entry.insert(Loaded { module, functions }))
            }
        }
    }
}
