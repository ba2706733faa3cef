//! Lanes of a block that has failed are unwound: what their frames own is dropped, and threads that they have
//! started are waited for.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use common::{Args, ORDERS, block, fault, unchecked};
use cuda_std::{
    cpu::{FaultKind, Options, Order},
    kernel::LaunchConfig,
    map::{self, MapFn, Passed},
    misc,
    prelude::*,
    warp,
};

static STARTED: AtomicUsize = AtomicUsize::new(0);
static FINISHED: AtomicUsize = AtomicUsize::new(0);

/// Works on the frame of the lane that calls it, by a thread of its own.
fn borrow_the_frame(then: impl FnOnce()) {
    let mut numbers = [0_u64; 512];
    std::thread::scope(|scope| {
        let numbers = &mut numbers;
        scope.spawn(move || {
            STARTED.fetch_add(1, SeqCst);
            for round in 0..40 {
                numbers.fill(round);
                std::thread::sleep(Duration::from_millis(1));
                assert!(numbers.iter().all(|number| *number == round));
            }
            FINISHED.fetch_add(1, SeqCst);
        });
        then();
    });
}

/// A map whose function is safe code.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Borrows {
    fails: u32,
}

// SAFETY: a plain number.
unsafe impl cuda_std::kernel::ByValue for Borrows {}
// SAFETY: it has no padding and no references.
unsafe impl MapFn for Borrows {
    type In = u32;
    type Out = u32;

    fn call(self, index: usize, x: u32) -> u32 {
        borrow_the_frame(|| {
            if index == self.fails as usize {
                misc::trap();
            }
            thread::sync_threads();
        });
        x + 1
    }
}

#[kernel]
pub unsafe fn map_borrows(
    function: Passed<Borrows>,
    first: Global<u32>,
    second: Global<map::Second<Borrows>>,
    output: GlobalMut<u32>,
) {
    let i = thread::index_1d_wide();
    output.set(i, map::apply(function, first, second, i));
}

#[test]
fn threads_that_borrow_the_frames_of_lanes_are_waited_for() {
    for order in ORDERS {
        for options in [
            unchecked(order),
            Options {
                order,
                ..Options::default()
            },
        ] {
            STARTED.store(0, SeqCst);
            FINISHED.store(0, SeqCst);
            let (mut first, mut output) = ([0_u32; 8], [0_u32; 8]);
            let fault = fault(
                Args::new()
                    .value(Passed::new(Borrows { fails: 5 }))
                    .view(&mut first)
                    .view::<map::Second<Borrows>>(&mut [])
                    .view(&mut output)
                    .launch_with::<MapBorrows>(block(8), options),
            );
            assert!(matches!(fault.kind, FaultKind::Trap { .. }), "{fault}");
            let started = STARTED.load(SeqCst);
            assert!(started > 0);
            assert_eq!(FINISHED.load(SeqCst), started, "{order:?}");
        }
    }
}

static DROPPED: AtomicU32 = AtomicU32::new(0);

/// Calls device functions when it is dropped.
struct Calls {
    tile: Shared<u32>,
}

impl Drop for Calls {
    fn drop(&mut self) {
        thread::sync_threads();
        assert!(thread::sync_threads_or(1) <= 1);
        let lane = thread::thread_idx_x();
        warp::shuffle(warp::FULL_MASK, lane, 3);
        warp::ballot(warp::FULL_MASK, true);
        // SAFETY: it is a view of shared memory; the warp is not there as a whole, which is the point.
        unsafe { warp::sync_warp(warp::FULL_MASK) };
        thread::nanosleep(1);
        self.tile.set(lane as usize, lane);
        self.tile.atomic_add(0, 1);
        DROPPED.fetch_add(1, SeqCst);
    }
}

#[kernel]
pub unsafe fn drops(how: u32) {
    let calls = Calls {
        tile: shared![u32; 64],
    };
    calls.tile.set(thread::thread_idx_x() as usize, 1);
    let lane = thread::thread_idx_x();
    if lane == 40 {
        match how {
            0 => misc::trap(),
            1 => _ = calls.tile.get(64),
            2 => panic!("on purpose"),
            _ => _ = warp::shuffle(1, 0, 0),
        }
    }
    if lane.is_multiple_of(2) {
        thread::sync_threads();
    } else {
        warp::ballot(warp::FULL_MASK, true);
    }
    core::hint::black_box(&calls);
}

#[test]
fn device_functions_in_destructors_neither_wait_nor_fail() {
    std::panic::set_hook(Box::new(|_| {}));
    for order in ORDERS {
        for how in 0..4_u32 {
            DROPPED.store(0, SeqCst);
            let launched = Args::new().value(how).launch_in::<Drops>(block(64), order);
            let fault = fault(launched);
            let right = match how {
                0 => matches!(fault.kind, FaultKind::Trap { .. }),
                1 => matches!(fault.kind, FaultKind::OutOfBounds { .. }),
                2 => matches!(fault.kind, FaultKind::Panic { .. }),
                _ => matches!(fault.kind, FaultKind::Mask { .. }),
            };
            assert!(right, "{fault}");
            assert_eq!(fault.lane, [40, 0, 0], "{fault}");
            let dropped = DROPPED.load(SeqCst);
            assert!(dropped > 0 && dropped <= 64, "{order:?}: {dropped}");
        }
    }
    let _ = std::panic::take_hook();
}

#[kernel]
pub unsafe fn catches(how: u32, output: GlobalMut<u32>) {
    let lane = thread::thread_idx_x();
    let fails = || {
        if lane == 1 {
            misc::trap();
        }
        thread::sync_threads();
    };
    if how == 0 {
        // It goes on as if nothing had been.
        let _ = catch_unwind(AssertUnwindSafe(fails));
        output.set(lane as usize, 1);
        thread::sync_threads();
        output.set(lane as usize, 2);
    } else {
        // It never gives up.
        loop {
            let _ = catch_unwind(AssertUnwindSafe(fails));
        }
    }
}

#[test]
fn code_that_catches_the_unwinding_does_not_get_past_the_fault() {
    for order in ORDERS {
        for how in [0_u32, 1] {
            let mut output = [0_u32; 4];
            let args = Args::new().value(how).view(&mut output);
            let fault = fault(args.launch_with::<Catches>(block(4), unchecked(order)));
            assert!(matches!(fault.kind, FaultKind::Trap { .. }), "{fault}");
            assert_eq!(fault.lane, [1, 0, 0]);
            assert!(!output.contains(&2), "a lane went past the barrier");
        }
    }
}

#[kernel]
pub unsafe fn in_a_destructor(launches: GlobalMut<u32>) {
    struct Launches(GlobalMut<u32>);
    impl Drop for Launches {
        fn drop(&mut self) {
            let len = self.0.len();
            // SAFETY: the elements of the outer launch's view, which its lanes do not touch.
            let elements = unsafe { core::slice::from_raw_parts_mut(self.0.as_ptr(), len) };
            let launched = Args::new()
                .view(elements)
                .launch_with::<Meets>(block(64), unchecked(Order::Forward));
            launched.unwrap();
        }
    }
    let _launches = Launches(launches);
    misc::trap();
}

/// Each lane needs the others.
#[kernel]
pub unsafe fn meets(output: GlobalMut<u32>) {
    let lane = thread::thread_idx_x();
    let tile = shared![u32; 64];
    tile.set(lane as usize, lane);
    thread::sync_threads();
    output.set(lane as usize, tile.get(63 - lane as usize));
}

#[test]
fn a_launch_by_a_destructor_of_a_lane_that_is_unwound_is_whole() {
    let mut output = [0_u32; 64];
    let launched = Args::new()
        .view(&mut output)
        .launch_with::<InADestructor>(LaunchConfig::linear(1, 1), unchecked(Order::Forward));
    assert!(matches!(fault(launched).kind, FaultKind::Trap { .. }));
    assert!((0..64).all(|i| output[i as usize] == 63 - i), "{output:?}");
}
