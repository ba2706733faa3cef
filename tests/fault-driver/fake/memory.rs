//! Memory, and copies.

use super::{Block, INVALID_VALUE, OUT_OF_MEMORY, Work, code, in_context, invalid};
use crate::Handle;
use crate::control::{detail, is_listing};
use std::ffi::{c_int, c_uint, c_void};

pub unsafe fn cuMemAllocAsync(pointer: *mut u64, bytes: usize, stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        code(fake.stream(stream, ordinal).map(|()| {
            match fake.allocate(bytes, Some(ordinal), 256) {
                Some(start) => {
                    // A pool's memory is of no context.
                    if let Some(block) = fake.blocks.get_mut(&start) {
                        block.context = 0;
                    }
                    unsafe { *pointer = start };
                    0
                }
                None => OUT_OF_MEMORY,
            }
        }))
    })
}

pub unsafe fn cuMemFreeAsync(pointer: u64, stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        code(
            fake.stream(stream, ordinal)
                .map(|()| fake.free(pointer, false)),
        )
    })
}

pub unsafe fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> u32 {
    in_context(
        |fake, ordinal| match fake.allocate(bytes, Some(ordinal), 256) {
            Some(start) => {
                unsafe { *pointer = start };
                0
            }
            None => OUT_OF_MEMORY,
        },
    )
}

pub unsafe fn cuMemFree_v2(pointer: u64) -> u32 {
    in_context(|fake, _| fake.free(pointer, false))
}

pub unsafe fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, _: c_uint) -> u32 {
    in_context(|fake, _| match fake.allocate(bytes, None, 256) {
        Some(start) => {
            unsafe { *pointer = start as *mut c_void };
            0
        }
        None => OUT_OF_MEMORY,
    })
}

pub unsafe fn cuMemFreeHost(pointer: *mut c_void) -> u32 {
    in_context(|fake, _| fake.free(pointer as u64, true))
}

pub unsafe fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32 {
    in_context(|fake, ordinal| {
        let used = fake.used.get(&ordinal).copied().unwrap_or_default();
        unsafe { (*free, *total) = ((fake.memory - used) as usize, fake.memory as usize) };
        0
    })
}

/// Knows the context (1), the kind of memory (2: 1 for pinned memory, 2 for a device's, else 0), whether it is managed (8), the
/// device's ordinal (9), and the start and the size of the allocation (11, 12).
pub unsafe fn cuPointerGetAttributes(
    count: c_uint,
    attributes: *mut c_int,
    values: *mut *mut c_void,
    pointer: u64,
) -> u32 {
    in_context(|fake, _| {
        let block = fake.blocks.range(..=pointer).next_back();
        let block = block.filter(|(start, block)| pointer - *start < block.bytes as u64);
        for index in 0..count as usize {
            // SAFETY: as many as is said, each with room for its type.
            unsafe {
                let value = *values.add(index);
                match (*attributes.add(index), block) {
                    (1, block) => {
                        *value.cast() = block.map_or(0, |(_, block)| block.context as u64);
                    }
                    (2, block) => {
                        let on_device = |block: &Block| c_uint::from(block.device.is_some());
                        *value.cast() = block.map_or(0, |(_, block)| 1 + on_device(block));
                    }
                    (8, block) => {
                        *value.cast() = block.map_or(0, |(_, block)| c_uint::from(block.managed));
                    }
                    (9, block) => {
                        let ordinal = block.map_or(Some(0), |(_, block)| block.device);
                        *value.cast() = ordinal.unwrap_or_default() as c_int;
                    }
                    (11, block) => *value.cast() = block.map_or(0, |(start, _)| *start),
                    (12, block) => *value.cast() = block.map_or(0, |(_, block)| block.bytes as u64),
                    (other, _) => {
                        return invalid(format!("attribute {other} of memory"), INVALID_VALUE);
                    }
                }
            }
        }
        0
    })
}

pub unsafe fn cuMemsetD8Async(to: u64, value: u8, bytes: usize, stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        let checked = fake
            .stream(stream, ordinal)
            .and_then(|()| fake.on_device(to, bytes, "fill"));
        if is_listing() {
            detail(&format!("{} {value} {bytes}", fake.shown(to)));
        }
        code(checked.map(|()| fake.queue(Work::Set { to, value, bytes }, false, stream)))
    })
}

/// Queues a copy between a device's memory and the host's, at these two addresses; one of pinned memory is late.
fn copy_with_host(
    work: Work,
    [device, host]: [u64; 2],
    bytes: usize,
    stream: Handle,
    what: &str,
) -> u32 {
    in_context(|fake, ordinal| {
        let checked = fake
            .stream(stream, ordinal)
            .and_then(|()| fake.on_device(device, bytes, what));
        if is_listing() {
            detail(&format!("{} {bytes}", fake.shown(device)));
        }
        let pinned = fake.block(host, bytes).is_some();
        code(checked.map(|()| fake.queue(work, !pinned, stream)))
    })
}

pub unsafe fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    bytes: usize,
    stream: Handle,
) -> u32 {
    let from = from as u64;
    copy_with_host(
        Work::Copy { to, from, bytes },
        [to, from],
        bytes,
        stream,
        "copy to a device",
    )
}

pub unsafe fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    bytes: usize,
    stream: Handle,
) -> u32 {
    let to = to as u64;
    copy_with_host(
        Work::Copy { to, from, bytes },
        [from, to],
        bytes,
        stream,
        "copy to the host",
    )
}

pub unsafe fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        let checked = fake
            .stream(stream, ordinal)
            .and_then(|()| fake.on_device(from, bytes, "copy"))
            .and_then(|()| fake.on_device(to, bytes, "copy"));
        if is_listing() {
            let ends = [fake.shown(to), fake.shown(from)];
            detail(&format!("{} {} {bytes}", ends[0], ends[1]));
        }
        code(checked.map(|()| fake.queue(Work::Copy { to, from, bytes }, false, stream)))
    })
}
