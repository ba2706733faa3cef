//! The driver's own look-up of functions.

use super::exported;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

static IS_OFF: AtomicBool = AtomicBool::new(false);
/// What it has not found, and what it has.
static ASKED: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
static LACKING: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Has it refuse everything from now on, or no longer.
#[unsafe(no_mangle)]
pub extern "C" fn fault_lookup(off: bool) {
    IS_OFF.store(off, SeqCst);
}

/// Has it find no function of this name from now on, as a driver does that is older than the function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fault_lack(name: *const c_char) {
    // SAFETY: a C string, as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let mut lacking = LACKING.lock().unwrap_or_else(PoisonError::into_inner);
    lacking.push(name.into_owned());
}

/// How often it has found something (true), or not (false).
#[unsafe(no_mangle)]
pub extern "C" fn fault_looked_up(found: bool) -> u32 {
    ASKED[usize::from(found)].load(SeqCst)
}

/// Since which version of CUDA the second form of a function is what its name means, where that is not 3.2.
const SECOND_SINCE: &[(&str, c_int)] = &[
    ("cuCtxDestroy", 4000),
    ("cuCtxPushCurrent", 4000),
    ("cuCtxPopCurrent", 4000),
    ("cuStreamDestroy", 4000),
    ("cuEventDestroy", 4000),
    ("cuLinkCreate", 6050),
    ("cuLinkAddData", 6050),
    ("cuStreamBeginCapture", 10010),
    ("cuDevicePrimaryCtxRelease", 11000),
    ("cuDevicePrimaryCtxReset", 11000),
    ("cuDevicePrimaryCtxSetFlags", 11000),
    ("cuDeviceGetUuid", 11040),
];

/// The form of a function that was the newest in that version: as the driver's function of this name, but that it is not
/// counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: *const c_char,
    address: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_int,
) -> u32 {
    // SAFETY: a C string, as the caller promises.
    let symbol = unsafe { CStr::from_ptr(symbol) }.to_string_lossy();
    if flags != 0 || IS_OFF.load(SeqCst) {
        return 1;
    }
    let since = SECOND_SINCE
        .iter()
        .find(|(name, _)| *name == symbol)
        .map_or(3020, |(_, since)| *since);
    let second = exported(&format!("{symbol}_v2"));
    let lacks = LACKING.lock().unwrap_or_else(PoisonError::into_inner);
    let found = if lacks.iter().any(|name| *name == symbol) {
        std::ptr::null_mut()
    } else if second.is_null() {
        exported(&symbol)
    } else if version >= since {
        second
    } else {
        std::ptr::null_mut()
    };
    // SAFETY: writable, as the caller promises.
    unsafe {
        *address = found;
        *status = c_int::from(found.is_null());
    }
    ASKED[usize::from(!found.is_null())].fetch_add(1, SeqCst);
    0
}
