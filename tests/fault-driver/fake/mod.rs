//! A driver of mock devices whose memory is the host's. Copies and fills are done, in the order in
//! which they were queued; kernels are not run. What no driver allows is noted.
//!
//! Copies from and to pinned memory wait until somebody synchronises, as late as a device may do them.

#![allow(clippy::missing_safety_doc)]

mod contexts;
mod copies;
mod graphs;
mod kernels;
mod links;
mod memory;
mod pools;
mod streams;

pub use contexts::*;
pub use copies::*;
pub use graphs::*;
pub use kernels::*;
pub use links::*;
pub use memory::*;
pub use pools::*;
pub use streams::*;

use contexts::Settings;
use graphs::{Graphs, Task};
use pools::Pool;

use crate::Handle;
use crate::control::{detail, is_lost, wrong};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_char, c_int, c_uint};
use std::sync::{Mutex, MutexGuard, PoisonError};

const INVALID_VALUE: u32 = 1;
const OUT_OF_MEMORY: u32 = 2;
const INVALID_DEVICE: u32 = 101;
const INVALID_CONTEXT: u32 = 201;
const INVALID_HANDLE: u32 = 400;
const NOT_FOUND: u32 = 500;
const CAPTURE_UNSUPPORTED: u32 = 900;

/// What a device handle is more than its ordinal.
const DEVICE: c_int = 1000;
/// What a context is more than its device's ordinal.
const CONTEXT: usize = 0x1000_0000;
/// Room for a constant table.
const TABLE_BYTES: usize = 1 << 16;
const MOST_SHARED: c_int = 227 * 1024;
/// The default streams, whose handles are 0, 1 and 2, are those of the current context.
const LAST_DEFAULT_STREAM: u64 = 2;

struct Block {
    bytes: usize,
    /// The ordinal of its device; none for pinned host memory.
    device: Option<usize>,
    /// Whether the host can use it too, although it is a device's.
    managed: bool,
    /// The context that it was allocated in; 0 for memory of a pool.
    context: usize,
}

struct Module {
    device: usize,
    text: String,
    tables: BTreeMap<String, u64>,
}

struct Function {
    module: u64,
    name: String,
    shared: c_int,
}

#[derive(Clone)]
enum Work {
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    Set {
        to: u64,
        value: u8,
        bytes: usize,
    },
    /// The value's lowest bytes, as many as `size`, again and again.
    Fill {
        to: u64,
        value: u32,
        size: usize,
        count: usize,
    },
}

#[derive(Default)]
struct Fake {
    devices: usize,
    memory: u64,
    /// Attributes of the devices that are others than the usual; none is one that the driver does not know.
    attributes: BTreeMap<c_int, Option<c_int>>,
    retained: BTreeMap<usize, u64>,
    used: BTreeMap<usize, u64>,
    blocks: BTreeMap<u64, Block>,
    streams: BTreeMap<u64, usize>,
    events: BTreeSet<u64>,
    modules: BTreeMap<u64, Module>,
    functions: BTreeMap<u64, Function>,
    queue: Vec<Work>,
    handles: u64,
    started: bool,
    /// Contexts that are not primary ones, with their devices' ordinals.
    contexts: BTreeMap<usize, usize>,
    settings: Settings,
    pools: BTreeMap<u64, Pool>,
    linkers: BTreeMap<u64, Vec<u8>>,
    externals: BTreeMap<u64, u64>,
    graphs: Graphs,
}

static FAKE: Mutex<Option<Fake>> = Mutex::new(None);

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// So many devices with so many bytes of memory each.
#[unsafe(no_mangle)]
pub extern "C" fn fault_devices(devices: u32, memory: u64) {
    let mut fake = lock();
    let fake = fake.get_or_insert_default();
    (fake.devices, fake.memory) = (devices as usize, memory);
}

/// Gives all devices this value of an attribute; a negative one is one that the driver does not know.
#[unsafe(no_mangle)]
pub extern "C" fn fault_attribute(attribute: c_int, value: c_int) {
    let known = (value >= 0).then_some(value);
    let mut fake = lock();
    let attributes = &mut fake.get_or_insert_default().attributes;
    attributes.insert(attribute, known);
}

fn lock() -> MutexGuard<'static, Option<Fake>> {
    FAKE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the driver's state; in a context that is retained, whose ordinal it gets.
fn in_context(work: impl FnOnce(&mut Fake, usize) -> u32) -> u32 {
    with(|fake| match CURRENT.get().checked_sub(CONTEXT) {
        Some(ordinal) if fake.retained.contains_key(&ordinal) => work(fake, ordinal),
        _ if fake.contexts.contains_key(&CURRENT.get()) => {
            let ordinal = fake.contexts[&CURRENT.get()];
            work(fake, ordinal)
        }
        _ => {
            wrong("a call without a current context".to_owned());
            INVALID_CONTEXT
        }
    })
}

fn with(work: impl FnOnce(&mut Fake) -> u32) -> u32 {
    let mut fake = lock();
    let fake = fake.get_or_insert_default();
    if fake.started { work(fake) } else { 3 }
}

/// What is wrong is noted, and told.
fn invalid(what: impl Into<String>, code: u32) -> u32 {
    wrong(what.into());
    code
}

impl Fake {
    fn handle(&mut self) -> u64 {
        self.handles += 0x10;
        0x2000_0000 + self.handles
    }

    fn stream(&self, stream: Handle, ordinal: usize) -> Result<(), u32> {
        if stream as u64 <= LAST_DEFAULT_STREAM {
            return Ok(());
        }
        match self.streams.get(&(stream as u64)) {
            Some(device) if *device == ordinal => Ok(()),
            Some(_) => Err(invalid("a stream of another context", INVALID_HANDLE)),
            None => Err(invalid("a stream that is not there", INVALID_HANDLE)),
        }
    }

    /// The block that the bytes are in.
    fn block(&self, start: u64, bytes: usize) -> Option<&Block> {
        let (first, block) = self.blocks.range(..=start).next_back()?;
        (start - first + bytes as u64 <= block.bytes as u64).then_some(block)
    }

    fn on_device(&self, start: u64, bytes: usize, what: &str) -> Result<(), u32> {
        match self.block(start, bytes) {
            Some(Block {
                device: Some(_), ..
            }) if bytes > 0 => Ok(()),
            _ => Err(invalid(
                format!("{what}: {bytes} bytes that are not a device's"),
                INVALID_VALUE,
            )),
        }
    }

    fn allocate(&mut self, bytes: usize, device: Option<usize>, align: usize) -> Option<u64> {
        if let Some(ordinal) = device {
            let used = self.used.entry(ordinal).or_default();
            *used = used
                .checked_add(bytes as u64)
                .filter(|used| *used <= self.memory)?;
        } else if bytes as u64 > self.memory {
            return None;
        }
        let layout = Layout::from_size_align(bytes, align).ok()?;
        // SAFETY: there is at least one byte.
        let start = unsafe { alloc_zeroed(layout) } as u64;
        let block = Block {
            bytes,
            device,
            managed: false,
            context: CURRENT.get(),
        };
        self.blocks.insert(start, block);
        detail(&bytes.to_string());
        (start != 0).then_some(start)
    }

    fn free(&mut self, start: u64, pinned: bool) -> u32 {
        match self.blocks.get(&start) {
            Some(block) if block.device.is_none() == pinned => {}
            _ => return invalid("freeing what is not allocated", INVALID_VALUE),
        }
        let block = self.blocks.remove(&start).expect("seen above");
        let within = |address: u64| (start..start + block.bytes as u64).contains(&address);
        let awaited = self.queue.iter().any(|work| match work {
            Work::Copy { to, from, .. } => within(*to) || within(*from),
            Work::Set { to, .. } | Work::Fill { to, .. } => within(*to),
        });
        // A device whose context is lost copies no more.
        if awaited && pinned && !is_lost() {
            wrong("freeing pinned memory that a queued copy uses".to_owned());
        }
        if awaited {
            self.blocks.insert(start, block);
            self.drain();
            return self.free(start, pinned);
        }
        if let Some(ordinal) = block.device {
            *self.used.entry(ordinal).or_default() -= block.bytes as u64;
        }
        let layout = Layout::from_size_align(block.bytes, 256).expect("it was allocated");
        // SAFETY: allocated with this layout, and no longer in the table.
        unsafe { dealloc(start as *mut u8, layout) };
        0
    }

    fn drain(&mut self) {
        for work in self.queue.drain(..) {
            // SAFETY: the ranges were checked when this was queued, and what is freed is drained before.
            unsafe { work.perform() };
        }
    }

    /// Queues work in a stream; memory of the host that is not pinned is used at once. Where the stream is captured
    /// the work becomes a node.
    fn queue(&mut self, work: Work, at_once: bool, stream: Handle) -> u32 {
        if self.graphs.captures(stream) {
            let kind = if matches!(work, Work::Copy { .. }) {
                1
            } else {
                2
            };
            self.capture(stream, kind, Task::Work(work));
            return 0;
        }
        self.queue.push(work);
        if at_once {
            self.drain();
        }
        0
    }
}

impl Work {
    /// # Safety
    /// The ranges are there.
    unsafe fn perform(self) {
        // SAFETY: by the contract.
        unsafe {
            match self {
                Work::Copy { to, from, bytes } => {
                    std::ptr::copy(from as *const u8, to as *mut u8, bytes);
                }
                Work::Set { to, value, bytes } => {
                    std::ptr::write_bytes(to as *mut u8, value, bytes);
                }
                Work::Fill {
                    to,
                    value,
                    size,
                    count,
                } => {
                    let bytes = value.to_le_bytes();
                    for index in 0..count {
                        let place = (to as *mut u8).add(index * size);
                        place.copy_from(bytes.as_ptr(), size);
                    }
                }
            }
        }
    }
}

fn code(result: Result<u32, u32>) -> u32 {
    result.unwrap_or_else(|code| code)
}

pub unsafe fn cuInit(_: c_uint) -> u32 {
    lock().get_or_insert_default().started = true;
    0
}

pub unsafe fn cuDriverGetVersion(version: *mut c_int) -> u32 {
    unsafe { *version = 13010 };
    0
}

pub unsafe fn cuGetErrorName(error: u32, text: *mut *const c_char) -> u32 {
    let name = match error {
        1 => c"CUDA_ERROR_INVALID_VALUE",
        2 => c"CUDA_ERROR_OUT_OF_MEMORY",
        304 => c"CUDA_ERROR_OPERATING_SYSTEM",
        719 => c"CUDA_ERROR_LAUNCH_FAILED",
        999 => c"CUDA_ERROR_UNKNOWN",
        _ => return INVALID_VALUE,
    };
    unsafe { *text = name.as_ptr() };
    0
}

pub unsafe fn cuGetErrorString(error: u32, text: *mut *const c_char) -> u32 {
    let words = match error {
        719 => c"unspecified launch failure",
        999 => c"unknown error",
        _ => return INVALID_VALUE,
    };
    unsafe { *text = words.as_ptr() };
    0
}

pub unsafe fn cuDeviceGetCount(count: *mut c_int) -> u32 {
    with(|fake| {
        unsafe { *count = fake.devices as c_int };
        0
    })
}

pub unsafe fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> u32 {
    with(|fake| {
        if ordinal < 0 || ordinal as usize >= fake.devices {
            return INVALID_DEVICE;
        }
        unsafe { *device = ordinal + DEVICE };
        0
    })
}

pub unsafe fn cuDeviceGetName(name: *mut c_char, length: c_int, _: c_int) -> u32 {
    let text = c"Mock GPU".to_bytes_with_nul();
    if (length as usize) < text.len() {
        return invalid("a name does not fit", INVALID_VALUE);
    }
    unsafe { name.cast::<u8>().copy_from(text.as_ptr(), text.len()) };
    0
}

pub unsafe fn cuDeviceTotalMem_v2(bytes: *mut usize, _: c_int) -> u32 {
    with(|fake| {
        unsafe { *bytes = fake.memory as usize };
        0
    })
}

pub unsafe fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _: c_int) -> u32 {
    let set = lock()
        .as_ref()
        .and_then(|fake| fake.attributes.get(&attribute).copied());
    if set == Some(None) {
        return INVALID_VALUE;
    }
    let is = match attribute {
        _ if set.is_some() => set.flatten().unwrap_or_default(),
        1 => 1024,      // threads per block
        8 => 48 * 1024, // shared memory per block
        10 => 32,       // warp size
        16 => 4,        // multiprocessors
        39 => 2048,     // threads per multiprocessor
        75 => 8,        // compute capability, major
        76 => 0,        // compute capability, minor
        81 => MOST_SHARED + 1024,
        97 => MOST_SHARED, // shared memory per block, if asked for
        115 => 1,          // memory pools
        120 => 1,          // clusters
        _ => 100,
    };
    unsafe { *value = is };
    0
}

pub unsafe fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) -> u32 {
    unsafe { *pool = (device as usize + 0x100_0000) as Handle };
    0
}

pub unsafe fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) -> u32 {
    with(|fake| {
        let ordinal = (device - DEVICE) as usize;
        *fake.retained.entry(ordinal).or_default() += 1;
        unsafe { *context = (CONTEXT + ordinal) as Handle };
        0
    })
}

pub unsafe fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> u32 {
    with(|fake| {
        let ordinal = (device - DEVICE) as usize;
        match fake.retained.get_mut(&ordinal) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                fake.retained.remove(&ordinal);
            }
            None => return invalid("releasing a context that is not retained", INVALID_CONTEXT),
        }
        0
    })
}

pub unsafe fn cuCtxGetCurrent(context: *mut Handle) -> u32 {
    unsafe { *context = CURRENT.get() as Handle };
    0
}

pub unsafe fn cuCtxSetCurrent(context: Handle) -> u32 {
    CURRENT.set(context as usize);
    0
}

pub unsafe fn cuStreamCreate(stream: *mut Handle, flags: c_uint) -> u32 {
    in_context(|fake, ordinal| {
        let handle = fake.handle();
        fake.streams.insert(handle, ordinal);
        fake.settings.streams.insert(handle, (flags, 0));
        fake.settings.contexts.insert(handle, CURRENT.get());
        unsafe { *stream = handle as Handle };
        0
    })
}

pub unsafe fn cuStreamDestroy_v2(stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        code(fake.stream(stream, ordinal).map(|()| {
            fake.streams.remove(&(stream as u64));
            0
        }))
    })
}

pub unsafe fn cuStreamSynchronize(stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        if fake.graphs.captures(stream) {
            return invalid("waiting for a stream that is captured", CAPTURE_UNSUPPORTED);
        }
        code(fake.stream(stream, ordinal).map(|()| {
            fake.drain();
            0
        }))
    })
}

/// Lists the device whose stream waits.
pub unsafe fn cuStreamWaitEvent(stream: Handle, event: Handle, _: c_uint) -> u32 {
    in_context(|fake, ordinal| {
        detail(&ordinal.to_string());
        code(fake.stream(stream, ordinal).map(|()| fake.event(event)))
    })
}

impl Fake {
    fn event(&self, event: Handle) -> u32 {
        if self.events.contains(&(event as u64)) {
            0
        } else {
            invalid("an event that is not there", INVALID_HANDLE)
        }
    }
}

pub unsafe fn cuEventCreate(event: *mut Handle, _: c_uint) -> u32 {
    in_context(|fake, _| {
        let handle = fake.handle();
        fake.events.insert(handle);
        unsafe { *event = handle as Handle };
        0
    })
}

pub unsafe fn cuEventDestroy_v2(event: Handle) -> u32 {
    in_context(|fake, _| {
        let code = fake.event(event);
        fake.events.remove(&(event as u64));
        code
    })
}

/// Lists the device of the stream.
pub unsafe fn cuEventRecord(event: Handle, stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        detail(&ordinal.to_string());
        code(fake.stream(stream, ordinal).map(|()| fake.event(event)))
    })
}

pub unsafe fn cuEventSynchronize(event: Handle) -> u32 {
    in_context(|fake, _| {
        fake.drain();
        fake.event(event)
    })
}

pub unsafe fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) -> u32 {
    in_context(|fake, _| {
        unsafe { *milliseconds = 1.0 };
        fake.event(start).max(fake.event(end))
    })
}
