//! The door to the CUDA driver: every `cu*` function that `cust` links with, opened at its first
//! call.
//!
//! The build script writes one assembly trampoline per driver function. A trampoline jumps through
//! its entry in [`TABLE`]; the first call finds the entry null and comes to [`resolve`], which
//! opens `libcuda.so.1` (once per process), looks the function up and fills the entry in. So a
//! program that contains the CUDA side builds without a CUDA installation, starts without a driver,
//! and calls the driver with one indirect jump more than a linked program does.
//!
//! What can go wrong comes back as the called function's own result, never as an abort:
//! `CUDA_ERROR_NO_DEVICE` where there is no driver library, `CUDA_ERROR_NOT_FOUND` where the
//! library lacks the function. [`library`] and [`has_function`] tell the reasons.
//!
//! `WARPWRIGHT_LIBCUDA`, read at the first driver call, names the library to open in place of the
//! system's. With raised privileges it is ignored (`SECURITY.md` of the repository).

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

include!(concat!(env!("OUT_DIR"), "/symbols.rs"));

/// The environment variable that names the driver library to open.
pub(crate) const LIBRARY_VARIABLE: &str = "WARPWRIGHT_LIBCUDA";

/// Where the driver library is looked for: by the dynamic linker's rules, then where WSL keeps it.
const LIBRARY_NAMES: [&CStr; 2] = [c"libcuda.so.1", c"/usr/lib/wsl/lib/libcuda.so.1"];

/// What a driver function returns when there is no driver library.
pub(crate) const NO_DRIVER: u32 = 100;

/// What a driver function returns when the driver library lacks it.
pub(crate) const NO_FUNCTION: u32 = 500;

/// The addresses the trampolines jump to; null where a function was not called yet.
static TABLE: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];

/// Keeps the trampolines in every program that this library is linked into: the linker looks
/// through this archive before that of `cust_raw`, and would else pass over functions which nobody
/// has asked for yet.
#[used]
static KEEP: unsafe extern "C" fn(u32) -> *mut c_void = resolve;

// SAFETY: the text defines the functions named in `driver-door/symbols.txt`, which have no other
// definition in the program, and two kinds of local labels. Each reads one entry of `TABLE`, whose
// length is the number of names, and obeys the System V calling convention: only r11, which callers
// expect to lose, differs at the jump.
std::arch::global_asm!(
    include_str!(concat!(env!("OUT_DIR"), "/trampolines.s")),
    table = sym TABLE,
    resolve = sym resolve,
);

unsafe extern "C" {
    fn dlopen(filename: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
    fn dlerror() -> *mut c_char;
}

/// `RTLD_NOW | RTLD_LOCAL` on Linux.
const RTLD_NOW: c_int = 2;

/// An opened driver library, never closed.
struct Library {
    handle: *mut c_void,
    path: String,
}

// SAFETY: the handle is only given to `dlsym`, which may be called from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();

fn opened() -> Result<&'static Library, &'static str> {
    LIBRARY.get_or_init(open).as_ref().map_err(String::as_str)
}

fn open() -> Result<Library, String> {
    if let Some(path) = system::environment::variable(LIBRARY_VARIABLE) {
        return open_one(path).map_err(|e| format!("{LIBRARY_VARIABLE}: {e}"));
    }
    let mut first_error = None;
    for name in LIBRARY_NAMES {
        match open_one(OsString::from_vec(name.to_bytes().to_vec())) {
            Ok(library) => return Ok(library),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_default())
}

fn open_one(path: OsString) -> Result<Library, String> {
    let shown = path.to_string_lossy().into_owned();
    let name = CString::new(path.into_vec())
        .map_err(|_| format!("{shown:?}: a path without NUL bytes is required"))?;
    // SAFETY: `name` is a C string. The library's constructors run; it is the driver, or what the
    // user named.
    let handle = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
    if !handle.is_null() {
        return Ok(Library {
            handle,
            path: shown,
        });
    }
    // SAFETY: after a failed `dlopen` on this thread, `dlerror` gives a C string or null.
    let reason = unsafe {
        let text = dlerror();
        if text.is_null() {
            None
        } else {
            Some(CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    Err(reason.unwrap_or_else(|| format!("{shown}: could not be opened")))
}

fn find(library: &Library, name: &CStr) -> *mut c_void {
    // SAFETY: the handle is open and the name is a C string; null is an answer.
    unsafe { dlsym(library.handle, name.as_ptr()) }
}

/// The path of the driver library in use, or why none could be opened. Opens it if that was not
/// done yet.
pub(crate) fn library() -> Result<&'static str, &'static str> {
    opened().map(|library| library.path.as_str())
}

/// Whether the driver library is there and has the function `name`.
pub(crate) fn has_function(name: &str) -> bool {
    let Ok(name) = CString::new(name) else {
        return false;
    };
    opened().is_ok_and(|library| !find(library, &name).is_null())
}

/// Stands in for every driver function when there is no driver library.
extern "C" fn no_driver() -> u32 {
    NO_DRIVER
}

/// Stands in for a driver function that the library lacks.
extern "C" fn no_function() -> u32 {
    NO_FUNCTION
}

/// The address that the trampoline `index` jumps to; called from the trampolines alone.
///
/// The stand-ins take no arguments and are called with some: in this calling convention the caller
/// puts arguments away, so that does no harm.
///
/// Tests that want calls to fail put a library in the driver's place, with [`LIBRARY_VARIABLE`]:
/// `tests/fault-driver` of the workspace.
unsafe extern "C" fn resolve(index: u32) -> *mut c_void {
    let (Some(name), Some(entry)) = (NAMES.get(index as usize), TABLE.get(index as usize)) else {
        return no_function as *mut c_void;
    };
    let address = match opened() {
        Err(_) => no_driver as *mut c_void,
        Ok(library) => match find(library, name) {
            address if address.is_null() => no_function as *mut c_void,
            address => address,
        },
    };
    // Threads that race here store the same address. The release pairs with the trampolines' loads,
    // which acquire as all loads on x86-64 do.
    entry.store(address, Ordering::Release);
    address
}
