//! The real driver, where there is one to stand before.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlopen(filename: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

const RTLD_NOW: c_int = 2;

struct Library(*mut c_void);

// SAFETY: the handle is only given to `dlsym`, which any thread may call.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

static LIBRARY: OnceLock<Library> = OnceLock::new();

/// Opens the real driver at `path`; whether that worked. To be called before the first driver call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fault_stand_before(path: *const c_char) -> bool {
    // SAFETY: a C string, as the caller promises.
    let handle = unsafe { dlopen(path, RTLD_NOW) };
    !handle.is_null() && LIBRARY.set(Library(handle)).is_ok()
}

/// The real driver's function, null where it lacks it; none where there is no real driver. `name` ends
/// with a NUL.
pub fn function(name: &str) -> Option<*mut c_void> {
    let library = LIBRARY.get()?;
    let name = CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
    // SAFETY: the handle is open and the name a C string.
    Some(unsafe { dlsym(library.0, name.as_ptr()) })
}
