//! Modules and their kernels, which are not run.

use super::{
    Fake, Function, INVALID_HANDLE, INVALID_VALUE, MOST_SHARED, Module, NOT_FOUND, OUT_OF_MEMORY,
    TABLE_BYTES, code, in_context, invalid,
};
use crate::Handle;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

pub unsafe fn cuModuleLoadDataEx(
    module: *mut Handle,
    image: *const c_char,
    _: c_uint,
    _: *mut c_int,
    _: *mut *mut c_void,
) -> u32 {
    in_context(|fake, device| {
        let text = unsafe { CStr::from_ptr(image) }
            .to_string_lossy()
            .into_owned();
        let handle = fake.handle();
        let tables = BTreeMap::new();
        fake.modules.insert(
            handle,
            Module {
                device,
                text,
                tables,
            },
        );
        unsafe { *module = handle as Handle };
        0
    })
}

pub unsafe fn cuModuleUnload(module: Handle) -> u32 {
    in_context(
        |fake, ordinal| match fake.modules.remove(&(module as u64)) {
            Some(unloaded) if unloaded.device == ordinal => {
                fake.drain();
                for table in unloaded.tables.values() {
                    fake.free(*table, false);
                }
                0
            }
            _ => invalid("unloading a module that is not there", INVALID_HANDLE),
        },
    )
}

pub unsafe fn cuModuleGetGlobal_v2(
    address: *mut u64,
    bytes: *mut usize,
    module: Handle,
    name: *const c_char,
) -> u32 {
    in_context(|fake, ordinal| {
        let name = unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned();
        let Some(found) = fake.modules.get(&(module as u64)) else {
            return invalid("a table of a module that is not there", INVALID_HANDLE);
        };
        if !found.text.contains(&name) {
            return NOT_FOUND;
        }
        let start = match found.tables.get(&name) {
            Some(start) => *start,
            None => match fake.allocate(TABLE_BYTES, Some(ordinal), 256) {
                Some(start) => start,
                None => return OUT_OF_MEMORY,
            },
        };
        if let Some(module) = fake.modules.get_mut(&(module as u64)) {
            module.tables.insert(name, start);
        }
        unsafe { (*address, *bytes) = (start, TABLE_BYTES) };
        0
    })
}

pub unsafe fn cuModuleGetFunction(
    function: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> u32 {
    in_context(|fake, _| {
        let entry = format!(
            ".entry {}(",
            unsafe { CStr::from_ptr(name) }.to_string_lossy()
        );
        match fake.modules.get(&(module as u64)) {
            Some(found) if found.text.contains(&entry) => {}
            Some(_) => return NOT_FOUND,
            None => return invalid("a kernel of a module that is not there", INVALID_HANDLE),
        }
        let handle = fake.handle();
        let module = module as u64;
        fake.functions.insert(
            handle,
            Function {
                module,
                shared: 48 * 1024,
            },
        );
        unsafe { *function = handle as Handle };
        0
    })
}

/// A kernel of a module that is loaded.
fn function(fake: &mut Fake, function: Handle) -> Result<&mut Function, u32> {
    let missing = || invalid("a kernel that is not there", INVALID_HANDLE);
    let found = fake
        .functions
        .get_mut(&(function as u64))
        .ok_or_else(missing)?;
    if fake.modules.contains_key(&found.module) {
        Ok(found)
    } else {
        Err(missing())
    }
}

pub unsafe fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, kernel: Handle) -> u32 {
    in_context(|fake, _| {
        code(function(fake, kernel).map(|found| {
            let is = match attribute {
                0 => 1024,
                4 => 32,
                8 => found.shared,
                _ => 0,
            };
            unsafe { *value = is };
            0
        }))
    })
}

pub unsafe fn cuFuncSetAttribute(kernel: Handle, attribute: c_int, value: c_int) -> u32 {
    in_context(|fake, _| {
        code(function(fake, kernel).map(|found| {
            if attribute != 8 || value > MOST_SHARED {
                return INVALID_VALUE;
            }
            found.shared = value;
            0
        }))
    })
}

pub unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    kernel: Handle,
    block_size: c_int,
    _: usize,
) -> u32 {
    in_context(|fake, _| {
        code(function(fake, kernel).map(|_| {
            unsafe { *blocks = 2048 / block_size.max(1) };
            0
        }))
    })
}

#[allow(clippy::too_many_arguments)]
pub unsafe fn cuLaunchKernel(
    kernel: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: Handle,
    params: *mut *mut c_void,
    _: *mut *mut c_void,
) -> u32 {
    in_context(|fake, ordinal| {
        let checked = fake
            .stream(stream, ordinal)
            .and_then(|()| function(fake, kernel).map(|found| found.shared));
        code(checked.map(|shared| {
            let grid = [grid_x, grid_y, grid_z];
            let threads = block_x.saturating_mul(block_y).saturating_mul(block_z);
            let shape = !grid.contains(&0) && grid_y < 65536 && (1..=1024).contains(&threads);
            if !shape || shared_bytes as c_int > shared || params.is_null() {
                return invalid("a launch with a wrong shape", INVALID_VALUE);
            }
            0
        }))
    })
}
