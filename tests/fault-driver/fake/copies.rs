//! Copies and fills that are done when the call comes back, and those of other shapes.

use super::{CONTEXT, Fake, INVALID_VALUE, OUT_OF_MEMORY, Work, code, in_context, invalid};
use crate::Handle;
use crate::control::{detail, is_listing};
use std::ffi::{c_int, c_uint, c_void};

/// Does work when all that waits is done; `device` has the addresses and lengths that must be a device's.
fn at_once(work: Work, device: &[(u64, usize)], what: &str) -> u32 {
    in_context(|fake, _| {
        for (address, bytes) in device {
            if let Err(code) = fake.on_device(*address, *bytes, what) {
                return code;
            }
        }
        fake.drain();
        // SAFETY: checked above, or the caller's to answer for.
        unsafe { work.perform() };
        0
    })
}

pub unsafe fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> u32 {
    let from = from as u64;
    at_once(Work::Copy { to, from, bytes }, &[(to, bytes)], "copy")
}

pub unsafe fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> u32 {
    let to = to as u64;
    at_once(Work::Copy { to, from, bytes }, &[(from, bytes)], "copy")
}

pub unsafe fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) -> u32 {
    let ends = [(to, bytes), (from, bytes)];
    at_once(Work::Copy { to, from, bytes }, &ends, "copy")
}

/// By its words: the source's offsets, kind, addresses and pitch, the destination's, width and height.
pub unsafe fn cuMemcpy2D_v2(copy: *const [usize; 16]) -> u32 {
    let words = unsafe { *copy };
    let end = |words: &[usize]| {
        let address = if words[2] as u32 == 2 {
            words[4]
        } else {
            words[3]
        };
        (address + words[1] * words[6] + words[0], words[6])
    };
    let ((from, from_pitch), (to, to_pitch)) = (end(&words[..7]), end(&words[7..14]));
    let (bytes, rows) = (words[14], words[15]);
    if bytes > from_pitch || bytes > to_pitch {
        return INVALID_VALUE;
    }
    in_context(|fake, _| {
        fake.drain();
        for row in 0..rows {
            let (to, from) = (to + row * to_pitch, from + row * from_pitch);
            let (to, from) = (to as u64, from as u64);
            // SAFETY: the caller's to answer for, as with any driver.
            unsafe { Work::Copy { to, from, bytes }.perform() };
        }
        0
    })
}

/// The device of a context.
fn ordinal_of(fake: &Fake, context: Handle) -> Option<usize> {
    let context = context as usize;
    let primary = context.checked_sub(CONTEXT);
    let primary = primary.filter(|ordinal| fake.retained.contains_key(ordinal));
    primary.or_else(|| fake.contexts.get(&context).copied())
}

pub unsafe fn cuMemcpyPeer(to: u64, _: Handle, from: u64, _: Handle, bytes: usize) -> u32 {
    let ends = [(to, bytes), (from, bytes)];
    at_once(Work::Copy { to, from, bytes }, &ends, "copy to a peer")
}

pub unsafe fn cuMemcpyPeerAsync(
    to: u64,
    to_context: Handle,
    from: u64,
    from_context: Handle,
    bytes: usize,
    stream: Handle,
) -> u32 {
    in_context(|fake, ordinal| {
        let ends = [(to, to_context), (from, from_context)];
        for (address, context) in ends {
            let device = fake.block(address, bytes).and_then(|block| block.device);
            if device.is_none() || ordinal_of(fake, context) != device {
                return invalid("a copy between contexts of other devices", INVALID_VALUE);
            }
        }
        if is_listing() {
            let [to, from] = ends.map(|(address, _)| fake.shown(address));
            detail(&format!("{to} {from} {bytes} on {ordinal}"));
        }
        let checked = fake
            .stream(stream, ordinal)
            .and_then(|()| fake.on_device(from, bytes, "copy to a peer"))
            .and_then(|()| fake.on_device(to, bytes, "copy to a peer"));
        let work = Work::Copy { to, from, bytes };
        code(checked.map(|()| fake.queue(work, false, stream)))
    })
}

fn fill(to: u64, value: u32, size: usize, count: usize, stream: Option<Handle>) -> u32 {
    let work = Work::Fill {
        to,
        value,
        size,
        count,
    };
    if !to.is_multiple_of(size as u64) {
        return invalid("a fill that is not aligned", INVALID_VALUE);
    }
    let Some(stream) = stream else {
        return at_once(work, &[(to, size * count)], "fill");
    };
    in_context(|fake, ordinal| {
        let checked = fake
            .stream(stream, ordinal)
            .and_then(|()| fake.on_device(to, size * count, "fill"));
        code(checked.map(|()| fake.queue(work, false, stream)))
    })
}

pub unsafe fn cuMemsetD8_v2(to: u64, value: u8, count: usize) -> u32 {
    fill(to, value.into(), 1, count, None)
}

pub unsafe fn cuMemsetD16_v2(to: u64, value: u16, count: usize) -> u32 {
    fill(to, value.into(), 2, count, None)
}

pub unsafe fn cuMemsetD32_v2(to: u64, value: u32, count: usize) -> u32 {
    fill(to, value, 4, count, None)
}

pub unsafe fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Handle) -> u32 {
    fill(to, value.into(), 2, count, Some(stream))
}

pub unsafe fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) -> u32 {
    fill(to, value, 4, count, Some(stream))
}

/// Rows of a multiple of 512 bytes.
pub unsafe fn cuMemAllocPitch_v2(
    address: *mut u64,
    pitch: *mut usize,
    width: usize,
    height: usize,
    element: c_uint,
) -> u32 {
    if ![4, 8, 16].contains(&element) {
        return INVALID_VALUE;
    }
    let row = width.next_multiple_of(512);
    unsafe { *pitch = row };
    unsafe { super::cuMemAlloc_v2(address, row * height) }
}

pub unsafe fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint) -> u32 {
    if flags != 1 {
        return INVALID_VALUE;
    }
    in_context(
        |fake, ordinal| match fake.allocate(bytes, Some(ordinal), 256) {
            Some(start) => {
                if let Some(block) = fake.blocks.get_mut(&start) {
                    block.managed = true;
                }
                unsafe { *address = start };
                0
            }
            None => OUT_OF_MEMORY,
        },
    )
}

pub unsafe fn cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        if is_listing() {
            detail(&format!("{} {bytes} {device}", fake.shown(address)));
        }
        let checked = fake
            .stream(stream, ordinal)
            .and_then(|()| fake.on_device(address, bytes, "prefetch"));
        code(checked.map(|()| 0))
    })
}

pub unsafe fn cuMemAdvise(address: u64, bytes: usize, advice: c_uint, device: c_int) -> u32 {
    in_context(|fake, _| {
        if is_listing() {
            let shown = fake.shown(address);
            detail(&format!("{shown} {bytes} {advice} {device}"));
        }
        code(fake.on_device(address, bytes, "advice").map(|()| 0))
    })
}
