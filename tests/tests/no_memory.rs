//! The CPU executor without memory: every allocation of every operation is refused, one after the other.
//! (`faults.rs` does the same to CUDA devices.)
//!
//! One test alone: the allocator is the whole process's.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicI64, AtomicUsize, Ordering::SeqCst},
};

use warpwright::{Device, Error};
use warpwright_tests::operations;

/// The alignment of the memory of the CPU executor's devices, which nothing else here asks for.
const ALIGN: usize = 256;

/// The system's allocator, which refuses memory of this alignment when it is told to.
struct Refusing;

/// Allocations until one is refused; below 0 none is.
static LEFT: AtomicI64 = AtomicI64::new(-1);
static LIVE: AtomicUsize = AtomicUsize::new(0);

fn refused(layout: Layout) -> bool {
    if layout.align() != ALIGN {
        return false;
    }
    if LEFT.load(SeqCst) >= 0 && LEFT.fetch_sub(1, SeqCst) == 0 {
        return true;
    }
    LIVE.fetch_add(1, SeqCst);
    false
}

// SAFETY: the system's allocator, or null, which says that there is no memory.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refused(layout) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refused(layout) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.align() == ALIGN {
            LIVE.fetch_sub(1, SeqCst);
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

#[test]
fn every_allocation_of_every_operation_is_refused_once() {
    let device = Device::cpu();
    let (mut operations, mut refused) = (0, 0);
    for operation in operations::all() {
        let name = &operation.name;
        // What it gives, which is what the first choice of its family gives too.
        if name == "auto" || name == "free memory" || name.contains("module") {
            continue;
        }
        let wanted = (operation.run)(&device).expect(name);
        let live = LIVE.load(SeqCst);
        operations += 1;
        for nth in 0.. {
            LEFT.store(nth, SeqCst);
            let result = (operation.run)(&device);
            let was_refused = LEFT.swap(-1, SeqCst) < 0;
            match result {
                Err(Error::OutOfMemory { requested, .. }) if was_refused => {
                    assert!(requested > 0, "{name}");
                    refused += 1;
                }
                Ok(got) if !was_refused => {
                    assert_eq!(got, wanted, "{name} {nth}");
                    break;
                }
                other => panic!("{name}, allocation {nth}: {other:?}"),
            }
            assert_eq!(
                LIVE.load(SeqCst),
                live,
                "{name}, allocation {nth} leaves memory behind"
            );
            assert!(nth < 100, "{name} does not end");
        }
        assert_eq!(
            (operation.run)(&device).expect(name),
            wanted,
            "{name}, later"
        );
    }
    assert!(
        operations > 50 && refused > 100,
        "{operations} operations, {refused} refused"
    );
    println!("{operations} operations, {refused} allocations refused");
}
