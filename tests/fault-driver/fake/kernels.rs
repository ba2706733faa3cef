//! Modules and their kernels, which are not run.

use super::{
    Fake, Function, INVALID_HANDLE, INVALID_VALUE, MOST_SHARED, Module, NOT_FOUND, OUT_OF_MEMORY,
    TABLE_BYTES, code, in_context, invalid,
};
use crate::Handle;
use crate::control::{detail, is_listing};
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
            "{ENTRY}{}(",
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
                name: entry[ENTRY.len()..entry.len() - 1].to_owned(),
                shared: 48 * 1024,
            },
        );
        unsafe { *function = handle as Handle };
        0
    })
}

/// What stands before a kernel's name in PTX.
const ENTRY: &str = ".entry ";

/// The sizes of the parameters of the kernel called `name`, in bytes, as its PTX has them.
fn parameters(text: &str, name: &str) -> Vec<usize> {
    let entry = format!("{ENTRY}{name}(");
    let list = text.split_once(&entry).map_or("", |(_, rest)| rest);
    let list = list.split_once(')').map_or("", |(list, _)| list).trim();
    let bytes = |parameter: &str| {
        let words: Vec<&str> = parameter.split_whitespace().collect();
        let bits = words
            .iter()
            .find_map(|word| word.strip_prefix(".")?[1..].parse::<usize>().ok());
        let count = parameter
            .split_once('[')
            .and_then(|(_, count)| count.split(']').next()?.parse::<usize>().ok());
        bits.unwrap_or(64) / 8 * count.unwrap_or(1)
    };
    if list.is_empty() {
        return Vec::new();
    }
    list.split(',').map(bytes).collect()
}

impl Fake {
    /// An address by the size of its block, so that it says the same wherever the block is; another number as it is.
    pub(super) fn shown(&self, value: u64) -> String {
        match self.blocks.range(..=value).next_back() {
            Some((start, block)) if value - start <= block.bytes as u64 => {
                format!("{}B+{}", block.bytes, value - start)
            }
            _ => format!("{value:#x}"),
        }
    }

    /// The arguments of a launch.
    ///
    /// # Safety
    /// There is a pointer per parameter of the kernel, each to a value of its size.
    unsafe fn arguments(&self, kernel: &Function, params: *mut *mut c_void) -> String {
        let text = self.modules.get(&kernel.module).map_or("", |it| &it.text);
        let sizes = parameters(text, &kernel.name);
        let shown = sizes.iter().enumerate().map(|(index, size)| {
            // SAFETY: by the contract.
            let bytes = unsafe {
                std::slice::from_raw_parts((*params.add(index)).cast::<u8>(), *size)
            };
            match <[u8; 8]>::try_from(bytes) {
                Ok(word) => self.shown(u64::from_ne_bytes(word)),
                Err(_) => {
                    let digits = bytes.iter().rev().map(|byte| format!("{byte:02x}"));
                    format!("0x{}", digits.collect::<String>())
                }
            }
        });
        shown.collect::<Vec<_>>().join(", ")
    }
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
            if let (true, Some(kernel)) = (is_listing(), fake.functions.get(&(kernel as u64))) {
                // SAFETY: as for any driver.
                let arguments = unsafe { fake.arguments(kernel, params) };
                let block = [block_x, block_y, block_z];
                let name = &kernel.name;
                detail(&format!(
                    "{name} {grid:?} {block:?} {shared_bytes} ({arguments})"
                ));
            }
            0
        }))
    })
}
