//! A lane that needs more stack than it has: the error names it, and an option gives it more.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use std::{
    hint::black_box,
    process::{Command, Output},
};

use common::{Args, block};
use cuda_std::{
    cpu::{Checks, DEFAULT_STACK_BYTES, LaunchError, Options, Order},
    prelude::*,
};

/// The variable that makes this program one that overflows a stack: what it does.
const DO: &str = "WARPWRIGHT_TEST_OVERFLOW";

#[inline(never)]
fn depth(n: u32) -> u32 {
    let frame = black_box([n; 64]);
    match n {
        0 => 0,
        _ => depth(n - 1) + 1 + (frame[7] - n),
    }
}

/// Recursion as deep as `n` says, by the lane 3 alone.
#[kernel]
pub unsafe fn recurses(n: u32, output: GlobalMut<u32>) {
    let lane = thread::thread_idx_x();
    thread::sync_threads();
    output.set(lane as usize, if lane == 3 { depth(n) } else { 0 });
}

/// 80,000 numbers in a frame.
#[kernel]
pub unsafe fn large_locals(output: GlobalMut<u32>) {
    let mut numbers = [0.0_f32; 80_000];
    let lane = thread::thread_idx_x() as usize;
    for (i, number) in black_box(&mut numbers).iter_mut().enumerate() {
        *number = (i + lane) as f32;
    }
    output.set(lane, black_box(&numbers)[79_999] as u32);
}

fn launch(what: &str, options: Options) -> (Vec<u32>, Result<(), LaunchError>) {
    let mut output = vec![0_u32; 8];
    let args = Args::new();
    let done = match what {
        "recursion" => args
            .value(4000_u32)
            .view(&mut output)
            .launch_with::<Recurses>(block(8), options),
        _ => args
            .view(&mut output)
            .launch_with::<LargeLocals>(block(8), options),
    };
    (output, done)
}

fn options(stack_bytes: usize, checks: Checks) -> Options {
    Options {
        order: Order::Backward,
        checks,
        stack_bytes,
    }
}

/// What this program does when it is started by itself.
#[test]
fn child() {
    let Ok(what) = std::env::var(DO) else {
        return;
    };
    let what: Vec<&str> = what.split(' ').collect();
    let small = options(DEFAULT_STACK_BYTES, Checks::NONE);
    match what[..] {
        ["thread", what] => {
            // A thread that Rust has not started, and that has no stack for handlers.
            #[cfg(unix)]
            foreign_thread(what);
            #[cfg(not(unix))]
            launch(what, small).1.unwrap();
        }
        ["elsewhere"] => {
            // Not a lane's stack: what Rust says of it has to stay.
            launch("recursion", options(16 << 20, Checks::NONE))
                .1
                .unwrap();
            println!("{}", depth(u32::MAX));
        }
        ["address"] => {
            launch("recursion", options(16 << 20, Checks::NONE))
                .1
                .unwrap();
            // SAFETY: none: the program ends here, which is the point.
            unsafe { core::ptr::without_provenance_mut::<u32>(64).write_volatile(1) };
        }
        [what] => launch(what, small).1.unwrap(),
        _ => unreachable!("{what:?}"),
    }
}

#[cfg(unix)]
fn foreign_thread(what: &str) {
    extern "C" fn run(what: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the caller's, which waits for this thread.
        let what = unsafe { *what.cast::<&str>() };
        launch(what, options(DEFAULT_STACK_BYTES, Checks::NONE))
            .1
            .unwrap();
        core::ptr::null_mut()
    }
    // SAFETY: what the functions take; the text lives until the thread has ended.
    unsafe {
        let mut thread = core::mem::zeroed();
        let argument = (&raw const what).cast_mut().cast();
        assert_eq!(
            libc::pthread_create(&raw mut thread, core::ptr::null(), run, argument),
            0
        );
        libc::pthread_join(thread, core::ptr::null_mut());
    }
}

fn run(what: &str) -> Output {
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new(own);
    child
        .args(["--exact", "child", "--nocapture"])
        .env(DO, what);
    child.output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn an_overflow_names_the_kernel_the_lane_and_the_stack() {
    use std::os::unix::process::ExitStatusExt;
    for (what, kernel, lane) in [
        ("recursion", "recurses", 3),
        ("locals", "large_locals", 7),
        ("thread recursion", "recurses", 3),
        ("thread locals", "large_locals", 7),
    ] {
        let output = run(what);
        let text = String::from_utf8_lossy(&output.stderr);
        let expected = format!(
            "kernel {kernel}, block (0, 0, 0), lane ({lane}, 0, 0): stack overflow: more than the 262144 bytes of a \
             lane's stack required; WARPWRIGHT_STACK or the option `stack_bytes` gives more\n"
        );
        assert!(text.contains(&expected), "{what}: {text}");
        assert_eq!(
            output.status.signal(),
            Some(libc::SIGABRT),
            "{what}: {text}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_overflow_of_a_lane_is_told_as_before() {
    use std::os::unix::process::ExitStatusExt;
    let output = run("elsewhere");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("has overflowed its stack") && !text.contains("kernel"),
        "{text}"
    );
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    let output = run("address");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("kernel"), "{text}");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
}

#[test]
fn a_larger_stack_makes_room_for_the_same_kernels() {
    for checks in [Checks::NONE, Checks::default(), Checks::ALL] {
        let (output, done) = launch("recursion", options(16 << 20, checks));
        done.unwrap();
        assert_eq!(output, [0, 0, 0, 4000, 0, 0, 0, 0]);
        let (output, done) = launch("locals", options(1 << 20, checks));
        done.unwrap();
        assert!((0..8).all(|lane| output[lane as usize] == 79_999 + lane));
    }
}

#[test]
fn a_stack_of_no_use_is_an_error() {
    for bytes in [0, 1000, usize::MAX] {
        let (_, done) = launch("locals", options(bytes, Checks::NONE));
        let text = done.unwrap_err().to_string();
        let expected = format!(
            "launch of large_locals: a lane's stack of 32768 to 1073741824 bytes required, given {bytes}"
        );
        assert_eq!(text, expected);
    }
}
