//! Streams with a priority, callbacks, captures, and whether work is done.

use super::{
    CURRENT, INVALID_HANDLE, INVALID_VALUE, LAST_DEFAULT_STREAM, code, in_context, invalid,
};
use crate::Handle;
use crate::control::{calls_of_this_thread, wrong};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a driver calls when a stream is that far.
pub type Callback = unsafe extern "C" fn(Handle, u32, *mut c_void);

const NOT_READY: u32 = 600;

pub unsafe fn cuStreamCreateWithPriority(
    stream: *mut Handle,
    flags: c_uint,
    priority: c_int,
) -> u32 {
    let code = unsafe { super::cuStreamCreate(stream, flags) };
    if code != 0 {
        return code;
    }
    in_context(|fake, _| {
        let handle = unsafe { *stream } as u64;
        fake.settings
            .streams
            .insert(handle, (flags, priority.clamp(-5, 0)));
        0
    })
}

pub unsafe fn cuStreamGetPriority(stream: Handle, priority: *mut c_int) -> u32 {
    in_context(|fake, ordinal| {
        code(fake.stream(stream, ordinal).map(|()| {
            let set = fake.settings.streams.get(&(stream as u64));
            unsafe { *priority = set.map_or(0, |(_, priority)| *priority) };
            0
        }))
    })
}

pub unsafe fn cuStreamGetFlags(stream: Handle, flags: *mut c_uint) -> u32 {
    in_context(|fake, ordinal| {
        code(fake.stream(stream, ordinal).map(|()| {
            let set = fake.settings.streams.get(&(stream as u64));
            unsafe { *flags = set.map_or(0, |(flags, _)| *flags) };
            0
        }))
    })
}

/// The current context for a default stream, else the one that the stream was made in.
pub unsafe fn cuStreamGetCtx(stream: Handle, context: *mut Handle) -> u32 {
    in_context(|fake, _| {
        let of_stream = match stream as u64 {
            ..=LAST_DEFAULT_STREAM => Some(CURRENT.get()),
            stream => fake.settings.contexts.get(&stream).copied(),
        };
        let Some(found) = of_stream else {
            return invalid("the context of a stream that is not there", INVALID_HANDLE);
        };
        unsafe { *context = found as Handle };
        0
    })
}

/// Callbacks that are not called yet, as their addresses with stream and data; none if callbacks are called at once.
static HELD: Mutex<Option<Vec<(Callback, usize, usize)>>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<Vec<(Callback, usize, usize)>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds back callbacks from now on.
#[unsafe(no_mangle)]
pub extern "C" fn fault_hold_callbacks() {
    held().get_or_insert_default();
}

/// Calls the callbacks that were held back, with `code`, on another thread, and later ones at once.
#[unsafe(no_mangle)]
pub extern "C" fn fault_release_callbacks(code: u32) -> u32 {
    let calls = held().take().unwrap_or_default();
    let count = calls.len() as u32;
    let thread = std::thread::spawn(move || {
        for (callback, stream, data) in calls {
            calling(callback, stream, code, data);
        }
    });
    thread.join().map_or(u32::MAX, |()| count)
}

/// Calls a callback, which must not call the driver.
fn calling(callback: Callback, stream: usize, code: u32, data: usize) {
    let before = calls_of_this_thread();
    // SAFETY: as for any driver.
    unsafe { callback(stream as Handle, code, data as *mut c_void) };
    if calls_of_this_thread() != before {
        wrong("a callback calls the driver".to_owned());
    }
}

/// Calls at once, on another thread, unless callbacks are held back.
pub unsafe fn cuStreamAddCallback(
    stream: Handle,
    callback: Callback,
    data: *mut c_void,
    flags: c_uint,
) -> u32 {
    let checked = in_context(|fake, ordinal| {
        let checked = fake.stream(stream, ordinal);
        fake.drain();
        if flags == 0 {
            code(checked.map(|()| 0))
        } else {
            INVALID_VALUE
        }
    });
    if checked != 0 {
        return checked;
    }
    let (stream, data) = (stream as usize, data as usize);
    if let Some(held) = &mut *held() {
        held.push((callback, stream, data));
        return 0;
    }
    let calls = std::thread::spawn(move || {
        calling(callback, stream, 0, data);
    });
    if calls.join().is_ok() { 0 } else { 999 }
}

pub unsafe fn cuStreamQuery(stream: Handle) -> u32 {
    in_context(|fake, ordinal| {
        let waits = if fake.queue.is_empty() { 0 } else { NOT_READY };
        code(fake.stream(stream, ordinal).map(|()| waits))
    })
}

pub unsafe fn cuEventQuery(event: Handle) -> u32 {
    in_context(|fake, _| match fake.event(event) {
        0 if !fake.queue.is_empty() => NOT_READY,
        code => code,
    })
}
