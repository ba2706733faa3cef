//! Modules of PTX or machine code, their kernels, and launches.

use super::context::CudaContext;
use super::error::{CudaError, CudaErrorKind, Result, driver, of};
use super::kept::Kept;
use super::stream::CudaStream;
use super::tables::Tables;
use crate::code::Code;
use cuda_std::constant::ConstantValues;
use cust::error::CudaError as DriverError;
use cust::function::FunctionAttribute;
use cust::module::{Module, ModuleJitOption};
use cust::sys::{CUfunction, CUfunction_attribute};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The driver's errors for machine code that it cannot read or run.
const CODE_REFUSED: [DriverError; 3] = [
    DriverError::InvalidImage,
    DriverError::NoBinaryForGpu,
    DriverError::UnsupportedPtxVersion,
];

/// The driver function that loads a module.
const LOAD: &str = "cuModuleLoadDataEx";

/// The number of launch shapes of a kernel whose resident blocks are cached.
const MOST_SHAPES: usize = 16;

/// A module that is loaded on one device.
pub(crate) struct CudaModule {
    module: Kept<Module>,
    tables: Mutex<Tables>,
}

impl CudaModule {
    /// Compiles `ptx` for the device of `context` and loads it. The driver caches compiled code on disk. If the PTX has
    /// line information (`.loc`), it is passed on for profilers.
    ///
    /// # Errors
    /// `CudaErrorKind::Module`, with the compiler's log in the message. A NUL byte in `ptx` is such an error too.
    pub(crate) fn from_ptx(context: &Arc<CudaContext>, ptx: &str) -> Result<Arc<CudaModule>> {
        if ptx.contains('\0') {
            return Err(CudaError::new(LOAD, DriverError::InvalidPtx)
                .with("PTX text without NUL bytes is required"));
        }
        context.make_current()?;
        let lines = ptx.contains(".loc\t") || ptx.contains(".loc ");
        let options = [ModuleJitOption::GenerateLineInfo(lines)];
        let module = match Module::from_ptx(ptx, &options) {
            // The second attempt collects the compiler's log.
            Err(error) if CudaError::new(LOAD, error).kind() == CudaErrorKind::Module => {
                let (module, log) = Module::from_ptx_with_log(ptx, &options);
                module.map_err(|error| explain(error, &log.error, context))?
            }
            module => module.map_err(of(LOAD))?,
        };
        Ok(Self::loaded(context, module))
    }

    /// Loads machine code. Returns `None` if the driver does not accept it, for example because it is older than the code's
    /// assembler.
    ///
    /// # Errors
    /// Other errors of the driver.
    pub(crate) fn from_code(
        context: &Arc<CudaContext>,
        code: &Code,
    ) -> Result<Option<Arc<CudaModule>>> {
        context.make_current()?;
        match Module::from_cubin(code.image(), &[]) {
            Ok(module) => Ok(Some(Self::loaded(context, module))),
            Err(error) if CODE_REFUSED.contains(&error) => Ok(None),
            Err(error) => Err(CudaError::new(LOAD, error)),
        }
    }

    fn loaded(context: &Arc<CudaContext>, module: Module) -> Arc<CudaModule> {
        Arc::new(CudaModule {
            module: Kept::new(context, module, Module::drop),
            tables: Mutex::default(),
        })
    }

    /// Queues `work`, which reads constant tables, after setting the tables that hold other values. Work of other streams
    /// that changes the tables waits until `work` is done, so that each use sees its own values.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_NOT_FOUND` (500) if the module has no such table, `CUDA_ERROR_INVALID_VALUE` (1) if the
    /// table is smaller than the values. Also the errors of `work`.
    ///
    /// # Safety
    /// The values must have no padding.
    pub(crate) unsafe fn with_constants(
        &self,
        stream: &Arc<CudaStream>,
        constants: &[ConstantValues<'_>],
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        // SAFETY: the module is loaded as long as `self` lives; the rest is by the contract.
        unsafe {
            self.tables()
                .with(self.module.as_inner(), stream, constants, false, work)
        }
    }

    /// Queues setting a constant table, after the work of all streams that reads it.
    ///
    /// # Errors
    /// As for [`with_constants`](Self::with_constants).
    pub(crate) fn set_constant(
        &self,
        stream: &Arc<CudaStream>,
        values: &ConstantValues<'_>,
    ) -> Result<()> {
        let constants = std::slice::from_ref(values);
        // SAFETY: as above, and the values are not compared.
        unsafe {
            self.tables()
                .with(self.module.as_inner(), stream, constants, true, || Ok(()))
        }
    }

    fn context(&self) -> &Arc<CudaContext> {
        self.module.context()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the kernel `name`, with its attributes.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_NOT_FOUND` (500) if the module has no such kernel.
    pub(crate) fn get_function(self: &Arc<Self>, name: &str) -> Result<CudaFunction> {
        let missing = |error: CudaError| error.with(format_args!("kernel {name:?}"));
        self.context().make_current()?;
        let function = self.module.get_function(name);
        let function = function
            .map_err(of("cuModuleGetFunction"))
            .map_err(missing)?;
        let attribute = |attribute: FunctionAttribute| -> Result<u32> {
            let value = function.get_attribute(attribute);
            let value = value.map_err(of("cuFuncGetAttribute")).map_err(missing)?;
            Ok(value.max(0) as u32)
        };
        let attributes = FunctionAttributes {
            max_threads_per_block: attribute(FunctionAttribute::MaxThreadsPerBlock)?,
            static_shared_bytes: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
            registers: attribute(FunctionAttribute::NumRegisters)?,
        };
        let dynamic_limit = attribute(FunctionAttribute::MaxDynamicSharedSizeBytes)?;
        Ok(CudaFunction {
            raw: function.to_raw(),
            name: name.to_owned(),
            attributes,
            dynamic_limit: AtomicU32::new(dynamic_limit),
            raising: Mutex::default(),
            resident: Mutex::default(),
            module: self.clone(),
        })
    }
}

impl fmt::Debug for CudaModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaModule")
            .field("module", &*self.module)
            .finish_non_exhaustive()
    }
}

/// Adds the compiler's log, and advice about an old driver, to the error's message.
fn explain(error: DriverError, log: &str, context: &CudaContext) -> CudaError {
    let failed = CudaError::new(LOAD, error);
    let failed = match log.trim() {
        "" => failed,
        log => failed.with(log),
    };
    let (major, minor) = context.info().driver_version;
    match error {
        DriverError::UnsupportedPtxVersion => failed.with(format_args!(
            "the driver compiles PTX of CUDA {major}.{minor} at most: a newer driver is required"
        )),
        _ => failed,
    }
}

/// The attributes of a compiled kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionAttributes {
    /// The most threads that a block of this kernel can have.
    pub(crate) max_threads_per_block: u32,
    /// The shared memory that the kernel declares itself, in bytes.
    pub(crate) static_shared_bytes: u32,
    /// The local memory per thread, in bytes: stack and spilled registers.
    pub(crate) local_bytes: u32,
    /// The number of registers per thread.
    pub(crate) registers: u32,
}

/// A kernel, ready to be launched. It keeps its module loaded.
pub(crate) struct CudaFunction {
    raw: CUfunction,
    name: String,
    attributes: FunctionAttributes,
    /// The current limit of dynamic shared memory for a launch, in bytes.
    dynamic_limit: AtomicU32,
    /// Locked while the limit is raised.
    raising: Mutex<()>,
    /// The cached numbers of resident blocks: threads, bytes of shared memory, blocks.
    resident: Mutex<Vec<(u32, u32, u32)>>,
    module: Arc<CudaModule>,
}

// SAFETY: a function is a handle that the driver accepts from every thread at any time.
unsafe impl Send for CudaFunction {}
// SAFETY: as above.
unsafe impl Sync for CudaFunction {}

impl CudaFunction {
    /// Returns the kernel's attributes.
    #[cfg(test)]
    pub(crate) fn attributes(&self) -> FunctionAttributes {
        self.attributes
    }

    /// Returns the kernel's module.
    pub(crate) fn module(&self) -> &CudaModule {
        &self.module
    }

    /// Returns the occupancy: how many blocks of `block_threads` threads and `shared_bytes` bytes of dynamic shared memory
    /// are resident on a multiprocessor. It is 0 if not even one fits. The driver is asked once per shape.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(crate) fn max_active_blocks(&self, block_threads: u32, shared_bytes: u32) -> Result<u32> {
        let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        let known = resident
            .iter()
            .find(|known| (known.0, known.1) == (block_threads, shared_bytes));
        if let Some((.., blocks)) = known {
            return Ok(*blocks);
        }
        self.module.context().make_current()?;
        self.allow_dynamic_shared(shared_bytes)?;
        let mut blocks: c_int = 0;
        let threads = c_int::try_from(block_threads).unwrap_or(c_int::MAX);
        // SAFETY: the function writes one int; the handle is of a module that is alive.
        unsafe {
            driver!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.raw,
                threads,
                shared_bytes as usize,
            ))
        }?;
        let blocks = blocks.max(0) as u32;
        // Only a caller who tries many shapes fills the cache.
        if resident.len() >= MOST_SHAPES {
            resident.clear();
        }
        resident.push((block_threads, shared_bytes, blocks));
        Ok(blocks)
    }

    /// Queues a launch of the kernel in `stream`: `grid` blocks of `block` threads (x, y, z), with `shared_bytes` bytes of
    /// dynamic shared memory per block. If that exceeds the default limit (48 KiB with the static part), the limit is
    /// raised.
    ///
    /// # Errors
    /// `CudaErrorKind::LaunchLimits`, with the launch in the message, if the device does not have that much, or if the
    /// kernel was compiled for fewer threads. Also other errors of the driver, which may come from work queued before.
    ///
    /// # Safety
    /// `params` must hold one pointer per parameter of the kernel, in order. Each must point to a readable value of the
    /// parameter's size and alignment; the values are read before this returns. Running the kernel with these values at
    /// this point of the stream must be sound: until it ends, it may only access memory that it is allowed to.
    pub(crate) unsafe fn launch(
        &self,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        stream: &CudaStream,
        params: &[*const c_void],
    ) -> Result<()> {
        self.module.context().make_current()?;
        let describe = |error: CudaError| match error.error {
            // Faults of earlier kernels are returned here too. They are not explained by this launch.
            DriverError::InvalidValue
            | DriverError::LaunchOutOfResources
            | DriverError::CooperativeLaunchTooLarge => {
                error.with(self.describe_launch(grid, block, shared_bytes))
            }
            _ => error.with(format_args!("kernel {}", self.name)),
        };
        self.allow_dynamic_shared(shared_bytes).map_err(describe)?;
        // SAFETY: by the contract. The driver reads through the pointers and writes nothing, although its signature has no
        // `const`.
        unsafe {
            driver!(cuLaunchKernel(
                self.raw,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared_bytes,
                stream.raw(),
                params.as_ptr().cast::<*mut c_void>().cast_mut(),
                ptr::null_mut(),
            ))
        }
        .map_err(describe)
    }

    /// Raises the kernel's limit of dynamic shared memory to `bytes`, if it is lower.
    fn allow_dynamic_shared(&self, bytes: u32) -> Result<()> {
        if bytes <= self.dynamic_limit.load(Ordering::Acquire) {
            return Ok(());
        }
        let _one_at_a_time = self.raising.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes <= self.dynamic_limit.load(Ordering::Acquire) {
            return Ok(());
        }
        let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the handle is of a module that is alive; a value that is too large is an error.
        unsafe {
            driver!(cuFuncSetAttribute(
                self.raw,
                FunctionAttribute::MaxDynamicSharedSizeBytes as CUfunction_attribute,
                value
            ))
        }?;
        self.dynamic_limit.store(bytes, Ordering::Release);
        Ok(())
    }

    fn describe_launch(&self, grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> String {
        let info = self.module.context().info();
        let attributes = self.attributes;
        format!(
            "kernel {} with grid {grid:?}, block {block:?} and {shared_bytes} bytes of dynamic \
             shared memory was asked for; it takes {} threads per block at most, has {} bytes of \
             static shared memory and {} registers per thread, and the device gives a block {} \
             bytes of shared memory at most",
            self.name,
            attributes.max_threads_per_block,
            attributes.static_shared_bytes,
            attributes.registers,
            info.shared_bytes_per_block_optin
                .max(info.shared_bytes_per_block),
        )
    }
}

impl fmt::Debug for CudaFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaFunction")
            .field("name", &self.name)
            .field("attributes", &self.attributes)
            .finish_non_exhaustive()
    }
}

/// A user's module as loaded on each device, by the devices' ordinals.
pub(crate) type LoadedModules = Mutex<HashMap<usize, Loaded>>;

/// A user's module on one device.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) module: Arc<CudaModule>,
    pub(crate) functions: HashMap<&'static str, Arc<CudaFunction>>,
}
