//! Reports the stack overflow of a lane with an error that names the lane, where the system would say "segmentation fault".
//!
//! Below each stack is a guard page. Rust code touches every page of a large frame in turn, so it reaches that page and
//! does not skip it. The signal handler writes one line and ends the program, as Rust's own handler does for a thread:
//! frames cannot be unwound from there, and a thread that the lane has started may still use them.

use core::fmt::{self, Write};
use std::{
    cell::RefCell,
    sync::{
        Once,
        atomic::{AtomicPtr, Ordering},
    },
};

use libc::{c_int, c_void, siginfo_t};

use super::{checks::STACK_VARIABLE, lane};

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The previous actions of these signals. Null until they are known. They are never freed.
static BEFORE: [AtomicPtr<libc::sigaction>; 2] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; 2];

/// Reports stack overflows of lanes on this thread from now on.
pub(super) fn watch() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
    // A thread that is ending cannot keep an alternate stack.
    let _ = OWN.try_with(|own| {
        own.borrow_mut().get_or_insert_with(AlternateStack::new);
    });
}

fn install() {
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        // SAFETY: all zeros is a value of the type, and the calls get pointers to such values. The previous handler is
        // stored before the new one is installed, so that this one can call it.
        unsafe {
            let mut was = Box::new(core::mem::zeroed::<libc::sigaction>());
            if libc::sigaction(signal, core::ptr::null(), &raw mut *was) != 0 {
                continue;
            }
            before.store(Box::into_raw(was), Ordering::Release);
            let mut action = core::mem::zeroed::<libc::sigaction>();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, core::ptr::null_mut());
        }
    }
}

/// Handles the signal. It calls only functions that a signal handler may call.
unsafe extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid pointer.
    let address = unsafe { (*info).si_addr() }.addr();
    if let Some(lane) = lane::with_guard_at(address) {
        let block = lane.block();
        let [bx, by, bz] = block.block_idx.get();
        let [x, y, z] = lane.thread_idx;
        let mut line = Line {
            bytes: [0; 512],
            len: 0,
        };
        let _ = writeln!(
            line,
            "kernel {}, block ({bx}, {by}, {bz}), lane ({x}, {y}, {z}): stack overflow: more than the {} \
             bytes of a lane's stack required; {STACK_VARIABLE} or the option `stack_bytes` gives more",
            block.kernel.name, block.options.stack_bytes
        );
        // SAFETY: the pointer is to `len` bytes.
        unsafe {
            libc::write(2, line.bytes.as_ptr().cast(), line.len);
            libc::abort();
        }
    }
    // SAFETY: the previous handler is called as it requires, or installed again: then the signal is raised again as soon as
    // this handler returns.
    unsafe { hand_on(signal, info, context) }
}

/// # Safety
/// As for a handler of signals with these arguments.
unsafe fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let index = usize::from(signal != SIGNALS[0]);
    // SAFETY: the pointer is null or to a value that is never freed.
    let before = unsafe { BEFORE[index].load(Ordering::Acquire).as_ref() };
    match before {
        Some(before) if ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) => {
            // SAFETY: the address is of a function of one form or the other, as its flags say.
            unsafe {
                if before.sa_flags & libc::SA_SIGINFO != 0 {
                    type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                    let handler: Handler = core::mem::transmute(before.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    type Handler = unsafe extern "C" fn(c_int);
                    let handler: Handler = core::mem::transmute(before.sa_sigaction);
                    handler(signal);
                }
            }
        }
        _ => {
            // SAFETY: all zeros is a value of the type: the system's default action.
            unsafe {
                let action = core::mem::zeroed::<libc::sigaction>();
                libc::sigaction(signal, &raw const action, core::ptr::null_mut());
            }
        }
    }
}

/// Text without an allocation. Text that is too long is cut.
struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        Ok(())
    }
}

thread_local! {
    static OWN: RefCell<Option<AlternateStack>> = const { RefCell::new(None) };
}

/// The stack that handlers run on, if the thread had none. Threads that Rust starts have one.
struct AlternateStack(Option<Box<[u8]>>);

impl AlternateStack {
    fn new() -> Self {
        // SAFETY: the calls get pointers to values of their types; the memory lives until `drop`.
        unsafe {
            let mut now = core::mem::zeroed::<libc::stack_t>();
            let known = libc::sigaltstack(core::ptr::null(), &raw mut now) == 0;
            if !known || now.ss_flags & libc::SS_DISABLE == 0 {
                return Self(None);
            }
            let mut memory = vec![0_u8; libc::SIGSTKSZ.max(64 * 1024)].into_boxed_slice();
            let own = libc::stack_t {
                ss_sp: memory.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: memory.len(),
            };
            let set = libc::sigaltstack(&raw const own, core::ptr::null_mut()) == 0;
            Self(set.then_some(memory))
        }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        if self.0.is_some() {
            // SAFETY: the value is of the type, and no handler runs, since this code does.
            unsafe {
                let mut off = core::mem::zeroed::<libc::stack_t>();
                off.ss_flags = libc::SS_DISABLE;
                libc::sigaltstack(&raw const off, core::ptr::null_mut());
            }
        }
    }
}
