//! The driver's library. It is opened at the first call of any function, and each function is looked up at its own first
//! call.
//!
//! The library is `libcuda.so.1`, or `nvcuda.dll` on Windows. The environment variable `WARPWRIGHT_LIBCUDA` names another
//! one; a program that runs with more rights than its caller ignores the variable. The library is never closed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::sys::{CUresult, SYMBOLS};

/// The environment variable that names a library to open instead of the driver's.
pub const LIBRARY_VARIABLE: &str = "WARPWRIGHT_LIBCUDA";

/// The code of [`CudaError::NoDriver`](crate::error::CudaError::NoDriver), which no driver returns.
pub(crate) const NO_DRIVER: CUresult = 100_102;
/// The code of [`CudaError::MissingFunction`](crate::error::CudaError::MissingFunction) for the first function. The codes of
/// the other functions follow.
pub(crate) const FIRST_MISSING: CUresult = 100_200;

/// A function of the driver.
pub(crate) struct Symbol {
    name: &'static str,
    export: &'static str,
    version: c_int,
}

impl Symbol {
    /// Creates a symbol. Both names must end with a NUL.
    pub(crate) const fn new(name: &'static str, export: &'static str, version: c_int) -> Self {
        Self {
            name,
            export,
            version,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name.trim_end_matches('\0')
    }

    #[cfg(test)]
    pub(crate) fn export(&self) -> &'static str {
        self.export.trim_end_matches('\0')
    }

    #[cfg(test)]
    pub(crate) fn version(&self) -> c_int {
        self.version
    }
}

/// The address of a function, looked up once. Later calls of the function cost one load.
pub(crate) struct Address {
    index: usize,
    /// Null until the function was found.
    found: AtomicPtr<c_void>,
}

impl Address {
    /// The address of the function at `index` in [`SYMBOLS`].
    pub(crate) const fn new(index: usize) -> Self {
        Self {
            index,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the address, which is never null, or a code that says why there is none.
    #[inline]
    pub(crate) fn get(&self) -> Result<*mut c_void, CUresult> {
        // Pairs with the store below: a thread that sees the address also sees the library's own data.
        let found = self.found.load(Ordering::Acquire);
        if found.is_null() {
            self.look_up()
        } else {
            Ok(found)
        }
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> Result<*mut c_void, CUresult> {
        let driver = opened().map_err(|_| NO_DRIVER)?;
        let found = SYMBOLS
            .get(self.index)
            .and_then(|symbol| driver.find(symbol));
        let address = found.ok_or(FIRST_MISSING + self.index as CUresult)?;
        // Threads that race here store the same address.
        self.found.store(address, Ordering::Release);
        Ok(address)
    }
}

/// An opened library.
struct Driver {
    #[cfg(any(unix, windows))]
    library: libloading::Library,
    path: String,
    lookup: Option<Lookup>,
}

/// The driver's look-up function since CUDA 12.0, which also says why it found nothing.
type GetProcAddress2 =
    unsafe extern "system" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> CUresult;
/// The driver's look-up function since CUDA 11.3.
type GetProcAddress =
    unsafe extern "system" fn(*const c_char, *mut *mut c_void, c_int, u64) -> CUresult;

/// The look-up function that a driver has.
#[derive(Clone, Copy)]
enum Lookup {
    Second(GetProcAddress2),
    First(GetProcAddress),
}

static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();

fn opened() -> Result<&'static Driver, &'static str> {
    DRIVER.get_or_init(open).as_ref().map_err(String::as_str)
}

/// Returns the path or name of the driver library in use, or why none can be opened. Opens the library if it is not open
/// yet.
pub fn library() -> Result<&'static str, &'static str> {
    opened().map(|driver| driver.path.as_str())
}

/// Returns whether there is a driver that has the function `name`. The name is one of the functions in [`sys`](crate::sys).
pub fn has_function(name: &str) -> bool {
    let symbol = SYMBOLS.iter().find(|symbol| symbol.name() == name);
    matches!((opened(), symbol), (Ok(driver), Some(symbol)) if driver.find(symbol).is_some())
}

/// Returns the name of the missing function that this error code stands for.
pub(crate) fn missing_function(code: CUresult) -> Option<&'static str> {
    let index = code.checked_sub(FIRST_MISSING)?;
    Some(SYMBOLS.get(index as usize)?.name())
}

#[cfg(any(unix, windows))]
fn open() -> Result<Driver, String> {
    if let Some(path) = system::environment::variable(LIBRARY_VARIABLE) {
        let shown = path.to_string_lossy().into_owned();
        // SAFETY: the user who sets the variable vouches for the library's constructors.
        let opened = unsafe { libloading::Library::new(&path) };
        return match opened {
            Ok(library) => Ok(Driver::new(library, shown)),
            Err(error) => Err(format!("{LIBRARY_VARIABLE}: {shown}: {}", reason(&error))),
        };
    }
    let mut first = None;
    for name in NAMES {
        match open_system(name) {
            Ok(library) => return Ok(Driver::new(library, (*name).to_owned())),
            Err(error) => first = first.or_else(|| Some(format!("{name}: {}", reason(&error)))),
        }
    }
    Err(first.unwrap_or_default())
}

#[cfg(not(any(unix, windows)))]
fn open() -> Result<Driver, String> {
    Err("there is no CUDA driver for this system".to_owned())
}

/// Returns the system's reason for not opening a library, in one line.
#[cfg(any(unix, windows))]
fn reason(error: &libloading::Error) -> String {
    let text = std::error::Error::source(error)
        .map_or_else(|| error.to_string(), |source| source.to_string());
    text.replace('\n', " ")
}

/// The names to try: first by the dynamic linker's rules, then the path that Linux under Windows (WSL) uses.
#[cfg(unix)]
const NAMES: &[&str] = &[
    "libcuda.so.1",
    "libcuda.so",
    "/usr/lib/wsl/lib/libcuda.so.1",
];
#[cfg(windows)]
const NAMES: &[&str] = &["nvcuda.dll"];

#[cfg(unix)]
fn open_system(name: &str) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: the constructors are those of NVIDIA's driver.
    unsafe { libloading::Library::new(name) }
}

/// Opens the library from the system folder only, so that no file of the current folder takes its place.
#[cfg(windows)]
fn open_system(name: &str) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::windows::{LOAD_LIBRARY_SEARCH_SYSTEM32, Library};
    // SAFETY: the constructors are those of NVIDIA's driver.
    let opened = unsafe { Library::load_with_flags(name, LOAD_LIBRARY_SEARCH_SYSTEM32) };
    opened.map(Into::into)
}

impl Driver {
    #[cfg(any(unix, windows))]
    fn new(library: libloading::Library, path: String) -> Self {
        let mut driver = Self {
            library,
            path,
            lookup: None,
        };
        let address = |name: &CStr| driver.exported(name);
        let (second, first) = (
            address(c"cuGetProcAddress_v2"),
            address(c"cuGetProcAddress"),
        );
        // SAFETY: the driver's functions of these names have these signatures.
        driver.lookup = unsafe {
            second
                .map(|address| {
                    Lookup::Second(std::mem::transmute::<*mut c_void, GetProcAddress2>(address))
                })
                .or_else(|| {
                    let address = first?;
                    let function = std::mem::transmute::<*mut c_void, GetProcAddress>(address);
                    Some(Lookup::First(function))
                })
        };
        driver
    }

    /// Looks a function up by the driver's look-up function. Where there is none, or where it returns an error, takes the
    /// function by its exported name.
    fn find(&self, symbol: &Symbol) -> Option<*mut c_void> {
        let name = CStr::from_bytes_with_nul(symbol.name.as_bytes()).ok()?;
        let export = CStr::from_bytes_with_nul(symbol.export.as_bytes()).ok()?;
        match self.looked_up(name, symbol.version) {
            Some(address) => Some(address).filter(|address| !address.is_null()),
            None => self.exported(export),
        }
    }

    /// Calls the driver's look-up function. Returns null if the driver has no such function, and `None` if the look-up
    /// failed.
    fn looked_up(&self, name: &CStr, version: c_int) -> Option<*mut c_void> {
        let mut address = ptr::null_mut();
        let mut status = 0;
        // SAFETY: the name is a C string and the pointers are valid for writes; 0 asks for the functions of the legacy
        // default stream.
        let code = unsafe {
            match self.lookup? {
                Lookup::Second(function) => {
                    function(name.as_ptr(), &mut address, version, 0, &mut status)
                }
                Lookup::First(function) => function(name.as_ptr(), &mut address, version, 0),
            }
        };
        (code == 0).then_some(address)
    }

    #[cfg(any(unix, windows))]
    fn exported(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the symbol is only taken as an address; the caller knows its type.
        let found = unsafe { self.library.get::<*mut c_void>(name.to_bytes_with_nul()) };
        found
            .ok()
            .map(|symbol| *symbol)
            .filter(|address| !address.is_null())
    }

    #[cfg(not(any(unix, windows)))]
    fn exported(&self, _: &CStr) -> Option<*mut c_void> {
        None
    }
}
