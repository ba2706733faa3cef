//! A make-believe CUDA driver for the tests of the door and of the executor, which build it as a
//! shared library.
//!
//! It has one device, "Fake GPU", with 1 GiB of memory and no memory pools. Functions return 0
//! where their arguments are what the tests pass and a telling code where not. Many functions of
//! the real driver are left out on purpose.
//!
//! The pointers are the callers' to answer for, as with the real driver: each is to be writable, or
//! readable, as that function's manual says.

#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

/// Where a wrong argument was noticed.
const WRONG: u32 = 1;

static CURRENT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static INITS: AtomicU32 = AtomicU32::new(0);
/// Modules of PTX, and of machine code.
static LOADED: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
static HOST_FREES: AtomicU32 = AtomicU32::new(0);
static DYNAMIC_SHARED: AtomicU32 = AtomicU32::new(49152);

fn expect(right: bool) -> u32 {
    if right { 0 } else { WRONG }
}

/// Returns the code that `WARPWRIGHT_FAKE_INIT` names, if it is there.
#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: c_uint) -> u32 {
    INITS.fetch_add(1, SeqCst);
    match std::env::var("WARPWRIGHT_FAKE_INIT") {
        Ok(code) => code.parse().unwrap_or(WRONG),
        Err(_) => expect(flags == 0),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> u32 {
    unsafe { *version = 13010 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> u32 {
    unsafe { *count = 1 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> u32 {
    unsafe { *device = ordinal + 40 };
    expect(ordinal == 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) -> u32 {
    let text = c"Fake GPU";
    unsafe { name.copy_from(text.as_ptr(), text.to_bytes_with_nul().len()) };
    expect(length > 9 && device == 40)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> u32 {
    unsafe { *bytes = 1 << 30 };
    expect(device == 40)
}

/// Attributes are their own numbers times ten, but for the optional ones: pools (115) are not
/// known. Where `WARPWRIGHT_FAKE_MAJOR` is there, it is the compute capability's major part (75), and the minor one
/// (76) is 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, name: c_int, _: c_int) -> u32 {
    let major = std::env::var("WARPWRIGHT_FAKE_MAJOR").ok();
    let major = major.and_then(|major| major.parse().ok());
    let is = match (name, major) {
        (75, Some(major)) => major,
        (76, Some(_)) => 0,
        _ => name * 10,
    };
    unsafe { *value = is };
    expect(name != 115)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> u32 {
    unsafe { *context = 0x1000 as *mut c_void };
    expect(device == 40)
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> u32 {
    expect(device == 40)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut *mut c_void) -> u32 {
    unsafe { *context = CURRENT.load(SeqCst) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> u32 {
    CURRENT.store(context, SeqCst);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> u32 {
    unsafe { *stream = 0x2000 as *mut c_void };
    expect(flags == 1)
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> u32 {
    expect(stream as usize == 0x2000)
}

/// Returns the code that `WARPWRIGHT_FAKE_SYNCHRONIZE` names, else one of newer drivers, for which this one has
/// a name and `cust` none.
#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(_stream: *mut c_void) -> u32 {
    let code = std::env::var("WARPWRIGHT_FAKE_SYNCHRONIZE");
    code.map_or(226, |code| code.parse().unwrap_or(WRONG))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: u32, text: *mut *const c_char) -> u32 {
    let name = match error {
        226 => c"CUDA_ERROR_CONTAINED",
        _ => return WRONG,
    };
    unsafe { *text = name.as_ptr() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> u32 {
    unsafe { *pointer = 0x3000 };
    if bytes > 1 << 30 { 2 } else { 0 }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(pointer: u64) -> u32 {
    expect(pointer == 0x3000)
}

/// Never given back, so that a test may look at it whenever it likes: [`cuMemFreeHost`] counts.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> u32 {
    let mut memory = vec![0u128; bytes.div_ceil(16)];
    unsafe { *pointer = memory.as_mut_ptr().cast() };
    // In a list, so that a leak checker takes it for what it is.
    static KEPT: Mutex<Vec<Vec<u128>>> = Mutex::new(Vec::new());
    KEPT.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(memory);
    expect(flags == 1)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(_: *mut c_void) -> u32 {
    HOST_FREES.fetch_add(1, SeqCst);
    0
}

/// Memory is pinned if its first byte is 0xfa.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    attributes: *const c_int,
    values: *const *mut c_void,
    pointer: u64,
) -> u32 {
    let first = unsafe { *(pointer as *const u8) };
    unsafe { *(*values).cast::<c_uint>() = c_uint::from(first == 0xfa) };
    expect(count == 1 && unsafe { *attributes } == 2)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    _: *const c_void,
    _: usize,
    stream: *mut c_void,
) -> u32 {
    expect(to == 0x3000 && stream as usize == 0x2000)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32 {
    unsafe { (*free, *total) = (1 << 29, 1 << 30) };
    0
}

/// Refuses the text `bad` and writes a log about it. Refuses machine code, an ELF image, with the code that
/// `WARPWRIGHT_FAKE_CODE` names, if it is there. Counts what it takes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    image: *const c_char,
    count: c_uint,
    options: *const c_int,
    values: *const *mut c_void,
) -> u32 {
    unsafe {
        let options = std::slice::from_raw_parts(options, count as usize);
        let values = std::slice::from_raw_parts(values, count as usize);
        let value = |option: c_int| options.iter().position(|&o| o == option).map(|i| values[i]);
        let (Some(log), Some(size)) = (value(5), value(6)) else {
            return WRONG;
        };
        if CStr::from_ptr(image) == c"bad" {
            let text = c"ptxas application ptx input, line 1; fatal: bad";
            let bytes = text.to_bytes_with_nul();
            if (size as usize) < bytes.len() {
                return WRONG;
            }
            log.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len());
            return 218;
        }
        let is_code = CStr::from_ptr(image).to_bytes().starts_with(b"\x7fELF");
        if let (true, Ok(code)) = (is_code, std::env::var("WARPWRIGHT_FAKE_CODE")) {
            return code.parse().unwrap_or(WRONG);
        }
        LOADED[usize::from(is_code)].fetch_add(1, SeqCst);
        *module = 0x4000 as *mut c_void;
        0
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: *mut c_void) -> u32 {
    expect(module as usize == 0x4000)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> u32 {
    unsafe {
        *function = 0x5000 as *mut c_void;
        let name = CStr::from_ptr(name).to_bytes();
        if name != b"kernel" && !name.starts_with(b"reduce_best__") {
            500
        } else {
            expect(module as usize == 0x4000)
        }
    }
}

/// Attributes are their own numbers plus a hundred; the limit of dynamic shared memory is what was
/// set.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, name: c_int, _: *mut c_void) -> u32 {
    let dynamic = DYNAMIC_SHARED.load(SeqCst) as c_int;
    unsafe { *value = if name == 8 { dynamic } else { name + 100 } };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(_: *mut c_void, name: c_int, value: c_int) -> u32 {
    if name != 8 || value > 100_000 {
        return WRONG;
    }
    DYNAMIC_SHARED.store(value as u32, SeqCst);
    0
}

/// Succeeds for one launch alone: grid 1 2 3, block 4 5 6, 60000 bytes (allowed before), one
/// parameter, the u64 0x0123456789abcdef.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> u32 {
    let sizes = [
        grid_x,
        grid_y,
        grid_z,
        block_x,
        block_y,
        block_z,
        shared_bytes,
    ];
    expect(
        function as usize == 0x5000
            && sizes == [1, 2, 3, 4, 5, 6, 60000]
            && DYNAMIC_SHARED.load(SeqCst) >= 60000
            && stream as usize == 0x2000
            && unsafe { *(*params).cast::<u64>() } == 0x0123_4567_89ab_cdef
            && extra.is_null(),
    )
}

/// Not the real signature: it takes more than the registers hold of both kinds, mixed, and more on
/// the stack. Returns the number of the first argument that is not its own number, 0 where all are
/// right.
#[unsafe(no_mangle)]
#[rustfmt::skip]
#[allow(clippy::too_many_arguments)]
extern "C" fn cuTexRefSetMipmapLevelClamp(
    i1: u64, f2: f64, i3: u32, f4: f32, i5: u64, f6: f64, i7: u64, f8: f64, i9: u64, f10: f64,
    i11: u64, f12: f64,
    i13: u64, f14: f64, i15: u8, f16: f64, i17: u64, f18: f64, i19: u64, f20: f64,
) -> u32 {
    let all = [
        i1 as f64, f2, f64::from(i3), f64::from(f4), i5 as f64, f6, i7 as f64, f8, i9 as f64, f10,
        i11 as f64, f12,
        i13 as f64, f14, f64::from(i15), f16, i17 as f64, f18, i19 as f64, f20,
    ];
    all.iter().zip(1..).find(|(value, number)| **value != f64::from(*number)).map_or(0, |(_, n)| n)
}

/// Not the real signature either: how often `cuMemFreeHost` was called.
#[unsafe(no_mangle)]
extern "C" fn cuProfilerStart() -> u32 {
    HOST_FREES.load(SeqCst)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    _: *mut c_void,
    _: c_int,
    _: usize,
) -> u32 {
    unsafe { *blocks = 3 };
    0
}

/// Not the real signature either: how many modules were loaded, of PTX (0) or of machine code (1).
#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCacheConfig(kind: u32) -> u32 {
    LOADED[kind as usize].load(SeqCst)
}

/// Not the real signature either: how often `cuInit` was called.
#[unsafe(no_mangle)]
extern "C" fn cuProfilerStop() -> u32 {
    INITS.load(SeqCst)
}
