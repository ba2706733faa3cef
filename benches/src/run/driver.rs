//! The driver's functions, opened as the library's door opens them, for work that is not the library's.

use std::ffi::{CString, OsString, c_char, c_int, c_uint, c_void};
use std::ptr;

use libloading::Library;

use super::Result;

/// The variable that names the driver in the place of the system's; the library reads it too.
const VARIABLE: &str = "WARPWRIGHT_LIBCUDA";

/// A handle of the driver's: a context, a stream, a module, a kernel.
pub type Handle = *mut c_void;

/// Opens the driver's library.
///
/// # Errors
/// What the dynamic linker says.
pub fn library() -> Result<Library> {
    let name = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    // SAFETY: the constructors are those of the driver, or of what the user named.
    Ok(unsafe { Library::new(name.unwrap_or_else(|| OsString::from("libcuda.so.1")))? })
}

macro_rules! driver {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal ($($argument:ident: $ty:ty),*);)*) => {
        /// The functions that are needed here; each gives the driver's error as text.
        pub struct Driver {
            /// Kept, for the functions are in it.
            _library: Library,
            $($name: unsafe extern "C" fn($($ty),*) -> c_uint,)*
        }

        impl Driver {
            /// Looks all of them up.
            ///
            /// # Errors
            /// That the driver lacks one.
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
                /// The driver's.
                ///
                /// # Safety
                /// As for the driver's function.
                #[allow(clippy::too_many_arguments)]
                #[inline]
                pub unsafe fn $name(&self, $($argument: $ty),*) -> Result<()> {
                    // SAFETY: by the contract.
                    check($symbol, unsafe { (self.$name)($($argument),*) })
                }
            )*
        }
    };
}

driver! {
    /// Starts the driver.
    init = "cuInit"(flags: c_uint);
    /// A device's handle.
    device = "cuDeviceGet"(device: *mut c_int, ordinal: c_int);
    /// Opens a device's primary context.
    retain = "cuDevicePrimaryCtxRetain"(context: *mut Handle, device: c_int);
    /// Makes a context the thread's own.
    set_current = "cuCtxSetCurrent"(context: Handle);
    /// Free and total memory.
    memory = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
    /// Compiles a module.
    load = "cuModuleLoadDataEx"(
        module: *mut Handle,
        image: *const c_char,
        count: c_uint,
        options: *mut c_int,
        values: *mut *mut c_void
    );
    /// A kernel of a module.
    function = "cuModuleGetFunction"(function: *mut Handle, module: Handle, name: *const c_char);
    /// A table of a module.
    global = "cuModuleGetGlobal_v2"(
        address: *mut u64,
        bytes: *mut usize,
        module: Handle,
        name: *const c_char
    );
    /// Takes memory in a stream's order.
    allocate = "cuMemAllocAsync"(pointer: *mut u64, bytes: usize, stream: Handle);
    /// Gives memory back in a stream's order.
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

impl Driver {
    /// Compiles a module in the thread's context; it stays loaded.
    ///
    /// # Errors
    /// What the driver says of it.
    pub fn module(&self, ptx: &str) -> Result<Handle> {
        let text = CString::new(ptx)?;
        let mut module = ptr::null_mut();
        let (options, values) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the text ends with a nought; the function writes one handle, and there are no options.
        unsafe { self.load(&mut module, text.as_ptr(), 0, options, values)? };
        Ok(module)
    }

    /// A kernel of a module.
    ///
    /// # Errors
    /// That there is none of this name.
    pub fn kernel(&self, module: Handle, name: &str) -> Result<Handle> {
        let name = CString::new(name)?;
        let mut function = ptr::null_mut();
        // SAFETY: the function writes one handle; the name is a C string.
        unsafe { self.function(&mut function, module, name.as_ptr())? };
        Ok(function)
    }
}

fn check(call: &str, code: c_uint) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    Err(format!("{call}: error {code} of the CUDA driver").into())
}
