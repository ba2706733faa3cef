//! The driver's own look-up of functions.

use super::{exported, fake};
use std::ffi::{CStr, c_char, c_int, c_void};

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
    if flags != 0 || fake::lookup_is_off() {
        return 1;
    }
    let since = SECOND_SINCE
        .iter()
        .find(|(name, _)| *name == symbol)
        .map_or(3020, |(_, since)| *since);
    let second = exported(&format!("{symbol}_v2"));
    let found = if second.is_null() {
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
    fake::looked_up(&symbol, version, !found.is_null());
    0
}
