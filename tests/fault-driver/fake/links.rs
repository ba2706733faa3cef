//! The linker, whose machine code is what was added one behind the other; memory of other APIs; tensor maps.

use super::{INVALID_HANDLE, INVALID_VALUE, in_context, with};
use crate::Handle;
use crate::control::{detail, is_listing};
use std::ffi::{c_int, c_char, c_uint, c_void};

pub unsafe fn cuLinkCreate_v2(
    _: c_uint,
    _: *mut c_uint,
    _: *mut *mut c_void,
    linker: *mut Handle,
) -> u32 {
    in_context(|fake, _| {
        let handle = fake.handle();
        // What machine code begins with, and an empty header.
        let mut header = vec![0; 64];
        header[..4].copy_from_slice(b"\x7fELF");
        fake.linkers.insert(handle, header);
        unsafe { *linker = handle as Handle };
        0
    })
}

#[allow(clippy::too_many_arguments)]
pub unsafe fn cuLinkAddData_v2(
    linker: Handle,
    kind: c_uint,
    data: *mut c_void,
    bytes: usize,
    _: *const c_char,
    _: c_uint,
    _: *mut c_uint,
    _: *mut *mut c_void,
) -> u32 {
    in_context(|fake, _| {
        let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) };
        if is_listing() {
            detail(&format!("{kind} {bytes}"));
        }
        if kind == 1 && data.last() != Some(&0) {
            return INVALID_VALUE;
        }
        match fake.linkers.get_mut(&(linker as u64)) {
            Some(code) => {
                code.extend(data);
                0
            }
            None => INVALID_HANDLE,
        }
    })
}

pub unsafe fn cuLinkComplete(linker: Handle, cubin: *mut *mut c_void, bytes: *mut usize) -> u32 {
    in_context(|fake, _| match fake.linkers.get_mut(&(linker as u64)) {
        Some(code) => {
            unsafe { (*cubin, *bytes) = (code.as_mut_ptr().cast(), code.len()) };
            0
        }
        None => INVALID_HANDLE,
    })
}

pub unsafe fn cuLinkDestroy(linker: Handle) -> u32 {
    with(|fake| match fake.linkers.remove(&(linker as u64)) {
        Some(_) => 0,
        None => INVALID_HANDLE,
    })
}

/// By its words: the kind, the descriptor, nothing, the size.
pub unsafe fn cuImportExternalMemory(memory: *mut Handle, description: *const [u64; 13]) -> u32 {
    let words = unsafe { *description };
    if words[0] as u32 != 1 || words[2] != 0 || words[1] == u64::from(u32::MAX) {
        return INVALID_VALUE;
    }
    in_context(|fake, _| {
        let handle = fake.handle();
        fake.externals.insert(handle, words[3]);
        unsafe { *memory = handle as Handle };
        0
    })
}

/// Gives an address that is the offset, and more.
pub unsafe fn cuExternalMemoryGetMappedBuffer(
    address: *mut u64,
    memory: Handle,
    description: *const [u64; 11],
) -> u32 {
    let words = unsafe { *description };
    in_context(|fake, _| match fake.externals.get(&(memory as u64)) {
        Some(size) if words[0] + words[1] <= *size => {
            unsafe { *address = 0x7000_0000 + words[0] };
            0
        }
        _ => INVALID_VALUE,
    })
}

pub unsafe fn cuDestroyExternalMemory(memory: Handle) -> u32 {
    with(|fake| match fake.externals.remove(&(memory as u64)) {
        Some(_) => 0,
        None => INVALID_HANDLE,
    })
}

/// Writes down what it is given: the address, the type and the number of dimensions, sizes, strides, boxes.
#[allow(clippy::too_many_arguments)]
pub unsafe fn cuTensorMapEncodeTiled(
    map: *mut [u64; 16],
    data_type: c_uint,
    rank: c_uint,
    address: *mut c_void,
    sizes: *const u64,
    strides: *const u64,
    box_sizes: *const c_uint,
    element_strides: *const c_uint,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> u32 {
    let in_any = in_context(|_, _| 0);
    if in_any != 0 {
        return in_any;
    }
    if !(address as usize).is_multiple_of(16) || !(map as usize).is_multiple_of(64) {
        return INVALID_VALUE;
    }
    let mut words = [0; 16];
    words[0] = address as u64;
    words[1] = u64::from(data_type) | u64::from(rank) << 32;
    for index in 0..rank as usize {
        unsafe {
            words[2 + index] = *sizes.add(index);
            words[11 + index] =
                u64::from(*box_sizes.add(index)) | u64::from(*element_strides.add(index)) << 32;
            if index + 1 < rank as usize {
                words[7 + index] = *strides.add(index);
            }
        }
    }
    let choices = [interleave, swizzle, promotion, fill];
    detail(&format!("{choices:?}"));
    unsafe { *map = words };
    0
}

/// Writes down what it is given: the address, the type and the number of dimensions, sizes, strides, corners, and what is
/// copied.
#[allow(clippy::too_many_arguments)]
pub unsafe fn cuTensorMapEncodeIm2col(
    map: *mut [u64; 16],
    data_type: c_uint,
    rank: c_uint,
    address: *mut c_void,
    sizes: *const u64,
    strides: *const u64,
    lower_corner: *const c_int,
    upper_corner: *const c_int,
    channels: c_uint,
    pixels: c_uint,
    element_strides: *const c_uint,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> u32 {
    let in_any = in_context(|_, _| 0);
    if in_any != 0 {
        return in_any;
    }
    let aligned = (address as usize).is_multiple_of(16) && (map as usize).is_multiple_of(64);
    if !aligned || channels > 256 || pixels > 1024 {
        return INVALID_VALUE;
    }
    let mut words = [0; 16];
    words[0] = address as u64;
    words[1] = u64::from(data_type) | u64::from(rank) << 32;
    words[14] = u64::from(channels) | u64::from(pixels) << 32;
    for index in 0..rank as usize {
        unsafe {
            words[2 + index] = *sizes.add(index);
            words[15] += u64::from(*element_strides.add(index));
            if index + 1 < rank as usize {
                words[7 + index] = *strides.add(index);
            }
            if index + 2 < rank as usize {
                let [lower, upper] = [*lower_corner.add(index), *upper_corner.add(index)];
                words[11 + index] = u64::from(lower as u32) | u64::from(upper as u32) << 32;
            }
        }
    }
    let choices = [interleave, swizzle, promotion, fill];
    detail(&format!("{choices:?}"));
    unsafe { *map = words };
    0
}

pub unsafe fn cuTensorMapReplaceAddress(map: *mut [u64; 16], address: *mut c_void) -> u32 {
    unsafe { (*map)[0] = address as u64 };
    0
}
