//! Memory pools: numbers only, the memory is the device's.

use super::{DEVICE, Fake, INVALID_VALUE, in_context, invalid, with};
use crate::Handle;
use crate::control::detail;
use std::ffi::{c_int, c_void};

/// What a device handle's default pool is more than the device.
const DEFAULT: u64 = 0x100_0000;

/// A pool that was made, or a device's own of which something was set.
#[derive(Default)]
pub(super) struct Pool {
    threshold: u64,
    /// What it gave out, and the most of it that was there at once.
    used: [u64; 2],
    limit: u64,
    /// Of which devices it is the current one.
    current: Vec<c_int>,
}

fn pool(fake: &mut Fake, handle: Handle) -> Option<&mut Pool> {
    let handle = handle as u64;
    let own = DEFAULT + DEVICE as u64..DEFAULT + DEVICE as u64 + fake.devices as u64;
    if own.contains(&handle) {
        return Some(fake.pools.entry(handle).or_default());
    }
    fake.pools.get_mut(&handle)
}

pub unsafe fn cuDeviceGetMemPool(handle: *mut Handle, device: c_int) -> u32 {
    with(|fake| {
        let mut set = fake.pools.iter();
        let found = set.find(|(_, pool)| pool.current.contains(&device));
        let is = found.map_or(device as u64 + DEFAULT, |(handle, _)| *handle);
        unsafe { *handle = is as Handle };
        0
    })
}

pub unsafe fn cuDeviceSetMemPool(device: c_int, handle: Handle) -> u32 {
    with(|fake| {
        for pool in fake.pools.values_mut() {
            pool.current.retain(|it| *it != device);
        }
        match pool(fake, handle) {
            Some(pool) => {
                pool.current.push(device);
                0
            }
            None => INVALID_VALUE,
        }
    })
}

/// By its words: the kind of allocation, the kind of handles, the place and its number, two of security, the limit.
pub unsafe fn cuMemPoolCreate(handle: *mut Handle, properties: *const [u32; 22]) -> u32 {
    let words = unsafe { *properties };
    let wrong = words[0] != 1 || words[1] != 0 || words[2] != 1 || words[8..] != [0; 14];
    with(|fake| {
        let device = words[3] as c_int - DEVICE;
        if wrong || !(0..fake.devices as c_int).contains(&device) {
            return invalid("a pool of wrong properties", INVALID_VALUE);
        }
        let made = fake.handle();
        let limit = u64::from(words[6]) | u64::from(words[7]) << 32;
        fake.pools.insert(
            made,
            Pool {
                limit,
                ..Pool::default()
            },
        );
        unsafe { *handle = made as Handle };
        0
    })
}

pub unsafe fn cuMemPoolDestroy(handle: Handle) -> u32 {
    with(|fake| {
        if fake.pools.remove(&(handle as u64)).is_some() {
            0
        } else {
            invalid("destroying a pool that is not there", INVALID_VALUE)
        }
    })
}

pub unsafe fn cuMemPoolGetAttribute(handle: Handle, attribute: c_int, value: *mut c_void) -> u32 {
    with(|fake| {
        let Some(pool) = pool(fake, handle) else {
            return INVALID_VALUE;
        };
        let is = match attribute {
            4 => pool.threshold,
            5 | 7 => pool.used[0],
            6 | 8 => pool.used[1],
            _ => 0,
        };
        unsafe { *value.cast::<u64>() = is };
        0
    })
}

pub unsafe fn cuMemPoolSetAttribute(handle: Handle, attribute: c_int, value: *mut c_void) -> u32 {
    with(|fake| {
        let Some(pool) = pool(fake, handle) else {
            return INVALID_VALUE;
        };
        if attribute == 4 {
            pool.threshold = unsafe { *value.cast::<u64>() };
        }
        0
    })
}

pub unsafe fn cuMemPoolTrimTo(_: Handle, bytes_to_keep: usize) -> u32 {
    detail(&bytes_to_keep.to_string());
    0
}

pub unsafe fn cuMemPoolSetAccess(handle: Handle, access: *const [u32; 3], count: usize) -> u32 {
    with(|fake| {
        detail(&format!("{:?}", unsafe { *access }));
        if count == 1 && pool(fake, handle).is_some() {
            0
        } else {
            INVALID_VALUE
        }
    })
}

pub unsafe fn cuMemAllocFromPoolAsync(
    address: *mut u64,
    bytes: usize,
    handle: Handle,
    stream: Handle,
) -> u32 {
    let fits = in_context(|fake, _| {
        let Some(pool) = pool(fake, handle) else {
            return INVALID_VALUE;
        };
        let used = pool.used[0] + bytes as u64;
        if pool.limit != 0 && used > pool.limit {
            return super::OUT_OF_MEMORY;
        }
        pool.used = [used, used.max(pool.used[1])];
        0
    });
    if fits != 0 {
        return fits;
    }
    unsafe { super::cuMemAllocAsync(address, bytes, stream) }
}
