//! Contexts beside the primary ones, what can be set of a context, peers.

use super::{
    CONTEXT, CURRENT, DEVICE, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, in_context, invalid,
    lock, with,
};
use crate::Handle;
use crate::control::detail;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_uint};

/// What was set, of all contexts together.
#[derive(Default)]
pub(super) struct Settings {
    flags: u32,
    limits: BTreeMap<u32, usize>,
    cache: u32,
    banks: u32,
    /// The devices that have access, and those to which they have it.
    peers: BTreeSet<(usize, usize)>,
    /// Whether there is no link between any two devices.
    unlinked: bool,
    /// By stream: its flags and its priority.
    pub(super) streams: BTreeMap<u64, (u32, i32)>,
    /// By stream: the context that it was made in.
    pub(super) contexts: BTreeMap<u64, usize>,
}

thread_local! {
    /// The contexts below the current one.
    static BELOW: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

fn is_device(fake: &super::Fake, device: c_int) -> bool {
    (DEVICE..DEVICE + fake.devices as c_int).contains(&device)
}

pub unsafe fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> u32 {
    unsafe { *uuid = [(device - DEVICE) as u8 + 0xf0; 16] };
    0
}

pub unsafe fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> u32 {
    with(|fake| {
        if !is_device(fake, device) || !is_device(fake, peer) {
            return INVALID_DEVICE;
        }
        let linked = device != peer && !fake.settings.unlinked;
        detail(&format!("{} {}", device - DEVICE, peer - DEVICE));
        unsafe { *can = c_int::from(linked) };
        0
    })
}

/// Says whether there are links between the devices, as there are at first.
#[unsafe(no_mangle)]
pub extern "C" fn fault_links(linked: bool) {
    lock().get_or_insert_default().settings.unlinked = !linked;
}

/// The attribute times ten.
pub unsafe fn cuDeviceGetP2PAttribute(
    value: *mut c_int,
    attribute: c_int,
    from: c_int,
    to: c_int,
) -> u32 {
    if from == to {
        return INVALID_DEVICE;
    }
    unsafe { *value = attribute * 10 };
    0
}

pub unsafe fn cuDevicePrimaryCtxSetFlags_v2(_: c_int, flags: c_uint) -> u32 {
    with(|fake| {
        fake.settings.flags = flags;
        0
    })
}

pub unsafe fn cuDevicePrimaryCtxReset_v2(_: c_int) -> u32 {
    with(|fake| {
        fake.settings = Settings::default();
        0
    })
}

pub unsafe fn cuCtxCreate_v2(context: *mut Handle, flags: c_uint, device: c_int) -> u32 {
    with(|fake| {
        if !is_device(fake, device) {
            return INVALID_DEVICE;
        }
        let handle = fake.handle() as usize;
        fake.contexts.insert(handle, (device - DEVICE) as usize);
        fake.settings.flags = flags;
        BELOW.with_borrow_mut(|below| below.push(CURRENT.replace(handle)));
        unsafe { *context = handle as Handle };
        0
    })
}

pub unsafe fn cuCtxDestroy_v2(context: Handle) -> u32 {
    with(|fake| {
        if fake.contexts.remove(&(context as usize)).is_none() {
            return invalid("destroying a context that is not there", INVALID_CONTEXT);
        }
        if CURRENT.get() == context as usize {
            CURRENT.set(BELOW.with_borrow_mut(|below| below.pop().unwrap_or_default()));
        }
        0
    })
}

pub unsafe fn cuCtxPushCurrent_v2(context: Handle) -> u32 {
    BELOW.with_borrow_mut(|below| below.push(CURRENT.replace(context as usize)));
    0
}

pub unsafe fn cuCtxPopCurrent_v2(context: *mut Handle) -> u32 {
    if CURRENT.get() == 0 {
        return INVALID_CONTEXT;
    }
    let below = BELOW.with_borrow_mut(|below| below.pop().unwrap_or_default());
    unsafe { *context = CURRENT.replace(below) as Handle };
    0
}

pub unsafe fn cuCtxGetDevice(device: *mut c_int) -> u32 {
    in_context(|_, ordinal| {
        unsafe { *device = ordinal as c_int + DEVICE };
        0
    })
}

pub unsafe fn cuCtxGetFlags(flags: *mut c_uint) -> u32 {
    in_context(|fake, _| {
        unsafe { *flags = fake.settings.flags };
        0
    })
}

pub unsafe fn cuCtxGetApiVersion(_: Handle, version: *mut c_uint) -> u32 {
    unsafe { *version = 3020 };
    0
}

pub unsafe fn cuCtxSynchronize() -> u32 {
    in_context(|fake, _| {
        fake.drain();
        0
    })
}

pub unsafe fn cuCtxSetLimit(limit: c_uint, value: usize) -> u32 {
    in_context(|fake, _| {
        fake.settings.limits.insert(limit, value);
        0
    })
}

pub unsafe fn cuCtxGetLimit(value: *mut usize, limit: c_uint) -> u32 {
    in_context(|fake, _| {
        let is = fake.settings.limits.get(&limit).copied();
        unsafe { *value = is.unwrap_or(1024) };
        0
    })
}

pub unsafe fn cuCtxGetCacheConfig(config: *mut c_uint) -> u32 {
    in_context(|fake, _| {
        unsafe { *config = fake.settings.cache };
        0
    })
}

/// Also takes what no enumeration has, which a newer driver might answer.
pub unsafe fn cuCtxSetCacheConfig(config: c_uint) -> u32 {
    in_context(|fake, _| {
        fake.settings.cache = config;
        0
    })
}

pub unsafe fn cuCtxGetSharedMemConfig(config: *mut c_uint) -> u32 {
    in_context(|fake, _| {
        unsafe { *config = fake.settings.banks };
        0
    })
}

pub unsafe fn cuCtxSetSharedMemConfig(config: c_uint) -> u32 {
    in_context(|fake, _| {
        fake.settings.banks = config;
        0
    })
}

pub unsafe fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> u32 {
    in_context(|_, _| {
        unsafe { (*least, *greatest) = (0, -5) };
        0
    })
}

pub unsafe fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) -> u32 {
    in_context(|fake, ordinal| {
        let other = (peer as usize).checked_sub(CONTEXT);
        match other {
            Some(other) if other != ordinal && other < fake.devices && flags == 0 => {
                detail(&format!("{ordinal} {other}"));
                if fake.settings.peers.insert((ordinal, other)) {
                    0
                } else {
                    704
                }
            }
            _ => INVALID_VALUE,
        }
    })
}

pub unsafe fn cuCtxDisablePeerAccess(peer: Handle) -> u32 {
    in_context(|fake, ordinal| {
        let other = (peer as usize).wrapping_sub(CONTEXT);
        if fake.settings.peers.remove(&(ordinal, other)) {
            0
        } else {
            705
        }
    })
}
