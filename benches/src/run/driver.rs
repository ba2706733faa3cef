//! The driver's functions, opened as `cust` opens them, for work outside the library.

use std::ffi::{CString, OsString, c_char, c_int, c_uint, c_void};
use std::ptr;

use libloading::Library;

use super::Result;

/// The variable that replaces the system's driver; the library reads it too.
const VARIABLE: &str = "WARPWRIGHT_LIBCUDA";

/// A handle of the driver: a context, a stream, a module, or a kernel.
pub type Handle = *mut c_void;

/// Opens the driver's library.
///
/// # Errors
/// Returns the dynamic linker's error.
pub fn library() -> Result<Library> {
    let name = system::environment::variable(VARIABLE);
    // SAFETY: the constructors are those of the driver, or of the library that the user named.
    Ok(unsafe { Library::new(name.unwrap_or_else(|| OsString::from("libcuda.so.1")))? })
}

macro_rules! driver {
    (
        $(#[$of:meta])* $driver:ident:
        $($(#[$doc:meta])* $name:ident = $symbol:literal ($($argument:ident: $ty:ty),*);)*
    ) => {
        $(#[$of])*
        pub struct $driver {
            /// The library, kept open because the functions are in it.
            _library: Library,
            $($name: unsafe extern "C" fn($($ty),*) -> c_uint,)*
        }

        impl $driver {
            /// Looks up all functions.
            ///
            /// # Errors
            /// Returns an error if the driver lacks one.
            pub fn open() -> Result<Self> {
                let library = library()?;
                // SAFETY: the signatures are those of `cuda.h`.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        _library: library,
                    })
                }
            }

            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// Returns the driver's error.
                ///
                /// # Safety
                /// As for the driver's function.
                #[allow(clippy::too_many_arguments)]
                #[inline]
                pub unsafe fn $name(&self, $($argument: $ty),*) -> Result<()> {
                    // SAFETY: the caller keeps the contract.
                    check($symbol, unsafe { (self.$name)($($argument),*) })
                }
            )*
        }
    };
}

driver! {
    /// The functions that the benchmark needs. Each returns the driver's error as text.
    Driver:
    /// Starts the driver.
    init = "cuInit"(flags: c_uint);
    /// Gets a device's handle.
    device = "cuDeviceGet"(device: *mut c_int, ordinal: c_int);
    /// Opens a device's primary context.
    retain = "cuDevicePrimaryCtxRetain"(context: *mut Handle, device: c_int);
    /// Makes a context current in the thread.
    set_current = "cuCtxSetCurrent"(context: Handle);
    /// Gets the free and total memory.
    memory = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
    /// Compiles a module.
    load = "cuModuleLoadDataEx"(
        module: *mut Handle,
        image: *const c_char,
        count: c_uint,
        options: *mut c_int,
        values: *mut *mut c_void
    );
    /// Gets a kernel of a module.
    function = "cuModuleGetFunction"(function: *mut Handle, module: Handle, name: *const c_char);
    /// Gets a table of a module.
    global = "cuModuleGetGlobal_v2"(
        address: *mut u64,
        bytes: *mut usize,
        module: Handle,
        name: *const c_char
    );
    /// Allocates memory in stream order.
    allocate = "cuMemAllocAsync"(pointer: *mut u64, bytes: usize, stream: Handle);
    /// Frees memory in stream order.
    free = "cuMemFreeAsync"(pointer: u64, stream: Handle);
    /// Sets bytes.
    set = "cuMemsetD8Async"(to: u64, value: u8, bytes: usize, stream: Handle);
    /// Copies from the host.
    copy_in = "cuMemcpyHtoDAsync_v2"(to: u64, from: *const c_void, bytes: usize, stream: Handle);
    /// Copies to the host.
    copy_out = "cuMemcpyDtoHAsync_v2"(to: *mut c_void, from: u64, bytes: usize, stream: Handle);
    /// Copies within the device.
    copy = "cuMemcpyDtoDAsync_v2"(to: u64, from: u64, bytes: usize, stream: Handle);
    /// Waits for a stream.
    synchronize = "cuStreamSynchronize"(stream: Handle);
    /// Launches a kernel.
    launch = "cuLaunchKernel"(
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: Handle,
        params: *mut *mut c_void,
        extra: *mut *mut c_void
    );
}

driver! {
    /// The functions that mark what a profiler profiles.
    Marks:
    /// Tells a waiting profiler to begin, in the thread's context.
    start_profiler = "cuProfilerStart"();
    /// Tells the profiler to end.
    stop_profiler = "cuProfilerStop"();
}

driver! {
    /// The function that tells what a device has.
    Attributes:
    /// Gets an attribute of a device.
    get = "cuDeviceGetAttribute"(value: *mut c_int, attribute: c_int, device: c_int);
}

/// A loaded module, which is never unloaded.
pub struct Module(Handle);

impl Driver {
    /// Compiles a module in the thread's context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn module(&self, ptx: &str) -> Result<Module> {
        let text = CString::new(ptx)?;
        let mut module = ptr::null_mut();
        let (options, values) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the text ends with a zero byte, the function writes one handle, and there are no options.
        unsafe { self.load(&mut module, text.as_ptr(), 0, options, values)? };
        Ok(Module(module))
    }

    /// Returns a kernel of a module.
    ///
    /// # Errors
    /// Returns an error if there is none with this name.
    pub fn kernel(&self, module: &Module, name: &str) -> Result<Handle> {
        let name = CString::new(name)?;
        let mut function = ptr::null_mut();
        // SAFETY: the function writes one handle, the name is a C string, and the module is loaded.
        unsafe { self.function(&mut function, module.0, name.as_ptr())? };
        Ok(function)
    }

    /// Returns the address of a table of a module, and its size in bytes.
    ///
    /// # Errors
    /// Returns an error if there is none with this name.
    pub fn table(&self, module: &Module, name: &str) -> Result<(u64, usize)> {
        let name = CString::new(name)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the function writes an address and a size, the name is a C string, and the module is loaded.
        unsafe { self.global(&mut address, &mut bytes, module.0, name.as_ptr())? };
        Ok((address, bytes))
    }
}

fn check(call: &str, code: c_uint) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    Err(format!("{call}: error {code} of the CUDA driver").into())
}
