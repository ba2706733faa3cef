//! Modules and their kernels, which are not run.

use super::graphs::{Launch, Task};
use super::{
    Fake, Function, INVALID_HANDLE, INVALID_VALUE, MOST_SHARED, Module, NOT_FOUND, OUT_OF_MEMORY,
    TABLE_BYTES, code, in_context, invalid,
};
use crate::Handle;
use crate::control::{detail, is_listing};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The option that is a buffer for what is wrong; the one after it is the buffer's size.
const ERROR_LOG: c_int = 5;
/// What an image that is refused begins with.
const BAD: &str = "bad";

pub unsafe fn cuModuleLoadDataEx(
    module: *mut Handle,
    image: *const c_char,
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
) -> u32 {
    in_context(|fake, device| {
        let text = unsafe { CStr::from_ptr(image) }
            .to_string_lossy()
            .into_owned();
        // SAFETY: as many as is said.
        let options = (0..count as usize)
            .map(|index| unsafe { (*options.add(index), *values.add(index)) })
            .collect::<BTreeMap<_, _>>();
        let log = options.get(&ERROR_LOG).zip(options.get(&(ERROR_LOG + 1)));
        if log.is_none() && is_listing() {
            let shown = options
                .iter()
                .map(|(option, value)| (*option, *value as usize));
            detail(&format!("{:?}", shown.collect::<Vec<_>>()));
        }
        if text.starts_with(BAD) {
            let words = c"ptxas fatal: line 1: bad".to_bytes_with_nul();
            if let Some((log, size)) = log.filter(|(_, size)| **size as usize >= words.len()) {
                let _ = size;
                // SAFETY: the buffer has the room that is said.
                unsafe { log.cast::<u8>().copy_from(words.as_ptr(), words.len()) };
            }
            return 218;
        }
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
        let bytes_of = variable_bytes(&found.text, &name).unwrap_or(TABLE_BYTES);
        let start = match found.tables.get(&name) {
            Some(start) => *start,
            None => match fake.allocate(bytes_of, Some(ordinal), 256) {
                Some(start) => start,
                None => return OUT_OF_MEMORY,
            },
        };
        if let Some(module) = fake.modules.get_mut(&(module as u64)) {
            module.tables.insert(name, start);
        }
        unsafe { (*address, *bytes) = (start, bytes_of) };
        0
    })
}

/// The bytes of a variable that the text declares as `.global .align A .b8 NAME[BYTES]`.
fn variable_bytes(text: &str, name: &str) -> Option<usize> {
    let declared = format!(" .b8 {name}[");
    let lines = text.lines().filter(|line| line.contains(".global "));
    let count = lines
        .filter_map(|line| line.split_once(&declared))
        .next()?
        .1;
    count.split(']').next()?.parse().ok()
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
            Some(found) if found.text.contains(&entry) || found.text.starts_with(CODE) => {}
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

/// What machine code begins with, which is not looked into.
const CODE: &str = "\x7fELF";

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
    pub(super) unsafe fn arguments(&self, kernel: &Function, params: *mut *mut c_void) -> String {
        let text = self.modules.get(&kernel.module).map_or("", |it| &it.text);
        let sizes = parameters(text, &kernel.name);
        let shown = sizes.iter().enumerate().map(|(index, size)| {
            // SAFETY: by the contract.
            let bytes =
                unsafe { std::slice::from_raw_parts((*params.add(index)).cast::<u8>(), *size) };
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
            let Some(found) = fake.functions.get(&(kernel as u64)) else {
                return INVALID_HANDLE;
            };
            let captured = fake.graphs.captures(stream);
            if !is_listing() && !captured {
                return 0;
            }
            // SAFETY: as for any driver.
            let arguments = unsafe { fake.arguments(found, params) };
            let block = [block_x, block_y, block_z];
            let name = &found.name;
            let text = format!("{name} {grid:?} {block:?} {shared_bytes} ({arguments})");
            if captured {
                let function = kernel as u64;
                let launch = Launch {
                    function,
                    text,
                    grid,
                    block,
                    shared_bytes,
                };
                fake.capture(stream, 0, Task::Launch(launch));
            } else {
                detail(&text);
            }
            0
        }))
    })
}

/// A launch with attributes, as the driver has it.
#[repr(C)]
pub struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: Handle,
    /// By its words: the number, nothing, and the value.
    attributes: *const [c_uint; 18],
    count: c_uint,
}

impl LaunchConfig {
    /// The attributes' numbers and values up to the last that is not 0.
    ///
    /// # Safety
    /// There are as many as is said.
    unsafe fn attributes(&self) -> Vec<(u32, Vec<u32>)> {
        let attribute = |index| {
            // SAFETY: by the contract.
            let words = unsafe { *self.attributes.add(index) };
            let used = words[2..].iter().rposition(|word| *word != 0);
            (words[0], words[2..used.map_or(2, |last| last + 3)].to_vec())
        };
        (0..self.count as usize).map(attribute).collect()
    }
}

pub unsafe fn cuLaunchKernelEx(
    config: *const LaunchConfig,
    kernel: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> u32 {
    // SAFETY: as for any driver.
    unsafe {
        let it = &*config;
        detail(&format!("{:?}", it.attributes()));
        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (it.grid, it.block);
        let shared = it.shared_bytes;
        cuLaunchKernel(
            kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, it.stream, params,
            extra,
        )
    }
}

pub unsafe fn cuFuncSetCacheConfig(kernel: Handle, config: c_uint) -> u32 {
    in_context(|fake, _| {
        detail(&config.to_string());
        code(function(fake, kernel).map(|_| 0))
    })
}

pub unsafe fn cuFuncSetSharedMemConfig(kernel: Handle, config: c_uint) -> u32 {
    in_context(|fake, _| {
        detail(&config.to_string());
        code(function(fake, kernel).map(|_| 0))
    })
}

/// Four multiprocessors with blocks of 256 threads, or of the limit.
pub unsafe fn cuOccupancyMaxPotentialBlockSize(
    blocks: *mut c_int,
    threads: *mut c_int,
    kernel: Handle,
    shared_of_block: *mut c_void,
    _: usize,
    limit: c_int,
) -> u32 {
    in_context(|fake, _| {
        code(function(fake, kernel).map(|_| {
            let size = if limit == 0 { 256 } else { limit.min(256) };
            unsafe { (*blocks, *threads) = (4 * 2048 / size, size) };
            if shared_of_block.is_null() {
                0
            } else {
                INVALID_VALUE
            }
        }))
    })
}

pub unsafe fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    kernel: Handle,
    blocks: c_int,
    threads: c_int,
) -> u32 {
    in_context(|fake, _| {
        code(function(fake, kernel).map(|_| {
            if blocks * threads > 2048 {
                return INVALID_VALUE;
            }
            unsafe { *bytes = MOST_SHARED as usize / blocks.max(1) as usize };
            0
        }))
    })
}

pub unsafe fn cuOccupancyMaxPotentialClusterSize(
    size: *mut c_int,
    kernel: Handle,
    _: *const LaunchConfig,
) -> u32 {
    in_context(|fake, _| {
        code(function(fake, kernel).map(|_| {
            unsafe { *size = 8 };
            0
        }))
    })
}

/// As many as there are multiprocessors, by the blocks of a cluster.
pub unsafe fn cuOccupancyMaxActiveClusters(
    clusters: *mut c_int,
    kernel: Handle,
    config: *const LaunchConfig,
) -> u32 {
    in_context(|fake, _| {
        code(function(fake, kernel).map(|_| {
            let attributes = unsafe { (*config).attributes() };
            let cluster = attributes.iter().find(|(id, _)| *id == 4);
            let blocks = cluster.map_or(1, |(_, sizes)| sizes.iter().product::<u32>());
            unsafe { *clusters = 4 / blocks as c_int };
            0
        }))
    })
}
