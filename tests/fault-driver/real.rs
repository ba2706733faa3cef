//! The real driver, where there is one to stand before.

use crate::Handle;
use crate::fake::Callback;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt::{self, Write};
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

/// An argument of a call, in a list of the calls of a real driver.
pub enum Argument {
    Number(String),
    Address(u64),
}

macro_rules! numbers {
    ($($ty:ty)*) => { $(
        impl From<$ty> for Argument {
            fn from(number: $ty) -> Self {
                Self::Number(number.to_string())
            }
        }
    )* };
}

numbers!(u8 u16 c_int c_uint f32 usize);

impl From<u64> for Argument {
    fn from(address: u64) -> Self {
        Self::Address(address)
    }
}

impl<T> From<*const T> for Argument {
    fn from(address: *const T) -> Self {
        Self::Address(address as u64)
    }
}

impl<T> From<*mut T> for Argument {
    fn from(address: *mut T) -> Self {
        Self::Address(address as u64)
    }
}

impl From<Callback> for Argument {
    fn from(callback: Callback) -> Self {
        Self::Address(callback as usize as u64)
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.write_str(number),
            Self::Address(address) => write!(f, "{address:#x}"),
        }
    }
}

/// The arguments of a call that the real driver is about to execute. Of a launch also the kernel's name and arguments.
///
/// # Safety
/// They are the arguments of the function of this name.
pub unsafe fn shown(name: &str, arguments: &[Argument]) -> String {
    let mut text = String::new();
    for argument in arguments {
        let _ = write!(text, "{}{argument}", if text.is_empty() { "" } else { " " });
    }
    if let ("cuLaunchKernel", [Argument::Address(kernel), .., Argument::Address(params), _]) = (name, arguments) {
        // SAFETY: by the contract.
        unsafe { add_kernel(&mut text, *kernel as Handle, *params as *mut *mut c_void) };
    }
    text
}

/// Adds a kernel's name and its arguments: those of 8 bytes in hexadecimal digits, as addresses are among them.
///
/// # Safety
/// They are those of a launch.
unsafe fn add_kernel(text: &mut String, kernel: Handle, params: *mut *mut c_void) {
    type Name = unsafe extern "C" fn(*mut *const c_char, Handle) -> u32;
    type Info = unsafe extern "C" fn(Handle, usize, *mut usize, *mut usize) -> u32;
    let found = |name| function(name).filter(|address| !address.is_null());
    let (Some(name_of), Some(info_of)) = (found("cuFuncGetName\0"), found("cuFuncGetParamInfo\0")) else {
        return;
    };
    // SAFETY: the driver's functions have these types.
    let (name_of, info_of) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Name>(name_of),
            std::mem::transmute::<*mut c_void, Info>(info_of),
        )
    };
    let mut name = c"".as_ptr();
    // SAFETY: the kernel is loaded, and the driver's text is a C string.
    let name = unsafe {
        name_of(&mut name, kernel);
        CStr::from_ptr(name).to_string_lossy()
    };
    let _ = write!(text, ": {name}(");
    let (mut index, mut offset, mut size) = (0, 0, 0);
    // SAFETY: the kernel has an argument if the driver says so, of so many bytes.
    while unsafe { info_of(kernel, index, &mut offset, &mut size) } == 0 {
        let argument = unsafe { *params.add(index) };
        let _ = match size {
            8 => write!(text, " {:#x}", unsafe { argument.cast::<u64>().read_unaligned() }),
            4 => write!(text, " {}", unsafe { argument.cast::<u32>().read_unaligned() }),
            _ => write!(text, " [{size} bytes]"),
        };
        index += 1;
    }
    text.push_str(" )");
}
