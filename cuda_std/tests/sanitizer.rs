//! What orders two accesses and what does not, to the byte; planted defects of whole kernels are in
//! `tests/defects`.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block, fault};
use core::sync::atomic::Ordering;
use cuda_std::{
    atomic::{Scope, mid},
    cpu::{Checks, FaultKind, LaunchError, Options, Order, memory},
    kernel::{Kernel, LaunchConfig},
    prelude::*,
    warp,
};

/// Launches with every check, over 64 zeros.
fn launch<K: Kernel>(config: LaunchConfig, order: Order, how: u32) -> Result<(), LaunchError> {
    let mut values = vec![0u32; 64];
    let options = Options {
        order,
        checks: Checks::ALL,
        ..Options::default()
    };
    let args = Args::new().view(&mut values).value(how);
    args.launch_with::<K>(config, options)
}

#[track_caller]
fn clean<K: Kernel>(config: LaunchConfig, how: u32) {
    for order in ORDERS {
        if let Err(error) = launch::<K>(config, order, how) {
            panic!("{how} in {order:?}: {error}");
        }
    }
}

/// A race in every order.
#[track_caller]
fn race<K: Kernel>(config: LaunchConfig, how: u32) {
    for order in ORDERS {
        let fault = fault(launch::<K>(config, order, how));
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    }
}

/// One lane writes a value, then a flag; another one waits for the flag, then reads the value.
///
/// `how`: 0 release and acquire, 1 relaxed, 2 fences around relaxed operations, 3 no fence behind, 4 no
/// fence before.
#[kernel]
pub unsafe fn message(values: GlobalMut<u32>, how: u32) {
    let (store, load) = match how {
        0 => (Ordering::Release, Ordering::Acquire),
        _ => (Ordering::Relaxed, Ordering::Relaxed),
    };
    match thread::thread_idx_x() {
        0 => {
            values.set(0, 7);
            if how == 2 || how == 3 {
                thread::device_fence();
            }
            values.atomic_store(1, 1, store, Scope::Device);
        }
        40 => {
            while values.atomic_load(1, load, Scope::Device) == 0 {}
            if how == 2 || how == 4 {
                thread::device_fence();
            }
            values.set(2, values.get(0));
        }
        _ => {}
    }
}

#[test]
fn a_flag_orders_with_release_and_acquire_or_with_fences_on_both_sides() {
    clean::<Message>(block(64), 0);
    clean::<Message>(block(64), 2);
    for how in [1, 3, 4] {
        race::<Message>(block(64), how);
    }
}

/// The first block to come leaves a value for the second, by fences of a scope.
#[kernel]
pub unsafe fn blocks(values: GlobalMut<u32>, how: u32) {
    let fence = || match how {
        0 => mid::device_thread_fence(Ordering::AcqRel),
        _ => mid::block_thread_fence(Ordering::AcqRel),
    };
    if values.atomic_add(1, 1) == 0 {
        values.set(0, 7);
        fence();
        values.atomic_store(2, 1, Ordering::Relaxed, Scope::Device);
    } else if values.atomic_load(2, Ordering::Relaxed, Scope::Device) == 1 {
        fence();
        values.set(3, values.get(0));
    }
}

#[test]
fn fences_of_the_blocks_scope_do_not_order_blocks() {
    clean::<Blocks>(LaunchConfig::linear(2, 1), 0);
    race::<Blocks>(LaunchConfig::linear(2, 1), 1);
}

/// Every lane writes, fences and comes to the barrier; then lane 0 tells of the block. The last block
/// reads what all have written.
///
/// `how`: 0 as it should be, 1 without the first fence, 2 without the barrier, 3 without the last fence.
#[kernel]
pub unsafe fn everyone_fences(values: GlobalMut<u32>, how: u32) {
    let last = shared![u32; 1];
    let (tid, block) = (thread::thread_idx_x(), thread::block_idx_x());
    values.set((1 + 16 * block + tid) as usize, tid);
    if how != 1 {
        thread::device_fence();
    }
    if how != 2 {
        thread::sync_threads();
    }
    if tid == 0 {
        let ticket = values.atomic_add(0, 1);
        last.set(0, u32::from(ticket + 1 == thread::grid_dim_x()));
    }
    thread::sync_threads();
    if last.get(0) == 1 {
        if how != 3 {
            thread::device_fence();
        }
        let other = (tid + 5) % 16;
        values.get((1 + other) as usize);
        values.get((1 + 16 + other) as usize);
    }
}

#[test]
fn fences_are_handed_on_by_barriers() {
    clean::<EveryoneFences>(LaunchConfig::linear(3, 16), 0);
    for how in [1, 2, 3] {
        race::<EveryoneFences>(LaunchConfig::linear(3, 16), how);
    }
}

/// Lane 0 writes, lane 2 reads.
///
/// `how`: 0 both synchronise, 1 each with lane 1 in between, 2 the wrong halves of the warp, 3 by a vote,
/// 4 by a shuffle.
#[kernel]
pub unsafe fn parts_of_a_warp(values: GlobalMut<u32>, how: u32) {
    let lane = warp::lane_id();
    if lane == 0 {
        values.set(0, 1);
    }
    // SAFETY: each mask names the lanes that come.
    unsafe {
        match how {
            0 if lane == 0 || lane == 2 => warp::sync_warp(0b101),
            1 => {
                if lane < 2 {
                    warp::sync_warp(0b011);
                }
                if lane == 1 || lane == 2 {
                    warp::sync_warp(0b110);
                }
            }
            2 if lane < 2 => warp::sync_warp(0b0011),
            2 if lane < 4 => warp::sync_warp(0b1100),
            3 => drop(warp::ballot(warp::FULL_MASK, true)),
            4 => drop(warp::shuffle(warp::FULL_MASK, lane, 0)),
            _ => {}
        }
    }
    if lane == 2 {
        values.get(0);
    }
}

#[test]
fn a_part_of_a_warp_is_ordered_by_sync_warp_and_by_nothing_else() {
    clean::<PartsOfAWarp>(block(32), 0);
    clean::<PartsOfAWarp>(block(32), 1);
    for how in [2, 3, 4] {
        race::<PartsOfAWarp>(block(32), how);
    }
}

/// Lanes write bytes next to each other. `how`: 0 no more, 1 one reads four of them at once.
#[kernel]
pub unsafe fn bytes(values: GlobalMut<u32>, how: u32) {
    let tid = thread::thread_idx_x() as usize;
    // SAFETY: the bytes of the first elements.
    let bytes = unsafe { GlobalMut::from_raw_parts(values.as_ptr().cast::<u8>(), 64) };
    bytes.set(tid, 1);
    if how == 1 && tid == 17 {
        values.get(2);
    }
}

#[test]
fn neighbouring_bytes_are_no_race_and_overlapping_ones_are() {
    clean::<Bytes>(block(32), 0);
    race::<Bytes>(block(32), 1);
}

/// Every lane reads an element and one writes it. `how`: 0 behind a barrier, 1 without one; 2 and 3 the
/// same with the lanes of a warp and `sync_warp`.
#[kernel]
pub unsafe fn many_readers(values: GlobalMut<u32>, how: u32) {
    let tid = thread::thread_idx_x();
    if how < 2 || tid < 32 {
        values.get(0);
    }
    if how == 0 {
        thread::sync_threads();
    }
    if how == 2 && tid < 32 {
        // SAFETY: the first warp is here.
        unsafe { warp::sync_warp(warp::FULL_MASK) };
    }
    if tid == 31 {
        values.set(0, 1);
    }
}

#[test]
fn every_reader_counts() {
    clean::<ManyReaders>(block(256), 0);
    race::<ManyReaders>(block(256), 1);
    clean::<ManyReaders>(block(256), 2);
    race::<ManyReaders>(block(256), 3);
}

/// Lanes count by atomic operations. `how`: 0 no more, 1 one looks without one, 2 behind a barrier.
#[kernel]
pub unsafe fn counts(values: GlobalMut<u32>, how: u32) {
    values.atomic_add(0, 1);
    if how == 2 {
        thread::sync_threads();
    }
    if how > 0 && thread::thread_idx_x() == 9 {
        values.get(0);
    }
}

#[test]
fn atomic_operations_race_with_plain_ones_only() {
    clean::<Counts>(LaunchConfig::linear(3, 40), 0);
    race::<Counts>(LaunchConfig::linear(3, 40), 1);
    clean::<Counts>(LaunchConfig::linear(1, 40), 2);
    race::<Counts>(LaunchConfig::linear(2, 40), 2);
}

/// Waits for what nobody writes.
#[kernel]
pub unsafe fn waits(values: GlobalMut<u32>, how: u32) {
    let _ = how;
    while values.atomic_load(0, Ordering::Acquire, Scope::Device) == 0 {}
}

const WAITS: u32 = line!() - 3;

#[test]
fn waiting_for_nobody_is_an_error_and_no_hang() {
    let fault = fault(launch::<Waits>(block(2), Order::Forward, 0));
    assert!(matches!(fault.kind, FaultKind::Idle { .. }), "{fault}");
    common::assert_at(fault.kind.places()[0], file!(), WAITS);
}

/// Reads element `how`, having written the first half.
#[kernel]
pub unsafe fn half_written(values: GlobalMut<u32>, how: u32) {
    let i = thread::thread_idx_x() as usize;
    if i < 32 {
        values.set(i, 1);
    }
    thread::sync_threads();
    if i == 0 {
        values.get(how as usize);
    }
}

#[test]
fn global_memory_is_known_to_the_byte_and_from_launch_to_launch() {
    let mut values = vec![0u32; 64];
    let start = values.as_ptr().addr();
    memory::allocated(start, 256);
    let mut run = |how: u32| {
        let options = Options {
            order: Order::Forward,
            checks: Checks::ALL,
            ..Options::default()
        };
        let args = Args::new().view(&mut values).value(how);
        args.launch_with::<HalfWritten>(block(64), options)
    };
    run(31).unwrap();
    let unwritten = fault(run(32));
    match &unwritten.kind {
        FaultKind::Unwritten { bytes, .. } => {
            assert_eq!(
                (bytes.of.as_str(), bytes.first, bytes.last),
                ("`values`", 128, 131)
            );
        }
        other => panic!("{other:?}"),
    }
    memory::written(start + 130, 2);
    let unwritten = fault(run(32));
    assert!(
        unwritten.to_string().contains("bytes 128-131"),
        "{unwritten}"
    );
    memory::written(start + 128, 2);
    run(32).unwrap();
    memory::freed(start);
}

/// A view of memory that is gone.
#[kernel]
pub unsafe fn elsewhere(values: GlobalMut<u32>, how: u32) {
    // SAFETY: nothing is there, which is what is wrong.
    let gone = unsafe {
        GlobalMut::from_raw_parts(values.as_ptr().wrapping_add(how as usize), values.len())
    };
    gone.set(0, 1);
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let mut values = vec![0u32; 64];
    let start = values.as_ptr().addr();
    memory::allocated(start, 256);
    let mut run = |how: u32| {
        let options = Options {
            order: Order::Forward,
            checks: Checks::MEM,
            ..Options::default()
        };
        let args = Args::new().view(&mut values).value(how);
        args.launch_with::<Elsewhere>(block(1), options)
    };
    run(63).unwrap();
    let unallocated = fault(run(64));
    assert!(
        matches!(unallocated.kind, FaultKind::Unallocated { .. }),
        "{unallocated}"
    );
    memory::freed(start);
}

/// A view of more shared memory than there is, from a raw pointer.
#[kernel]
pub unsafe fn long_shared(values: GlobalMut<u32>, how: u32) {
    let array = cuda_std::shared_array![u32; 16];
    // SAFETY: longer than the array for some `how`, which is what is wrong.
    let view = unsafe { Shared::from_raw_parts(array, how as usize) };
    view.set(0, 1);
    values.set(0, view.get(0));
}

#[test]
fn a_view_of_shared_memory_lies_within_its_array() {
    clean::<LongShared>(block(1), 16);
    let short = fault(launch::<LongShared>(block(1), Order::Forward, 17));
    let FaultKind::SharedMemory {
        required, given, ..
    } = short.kind
    else {
        panic!("{short}")
    };
    assert_eq!((required, given), (68, 64));
}
