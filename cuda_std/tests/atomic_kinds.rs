//! Which atomic operations write, for the race check and for lanes that wait.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{
    Args, ORDERS, block, fault,
    races::{clean_of, launch, race_of, says},
};
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::{
    atomic::{Atomic, AtomicF32, AtomicF64, AtomicInt, Scope},
    cpu::{Checks, FaultKind, LaunchError, Options, Order, memory},
    kernel::Kernel,
    prelude::*,
};

/// Lane 0 does an atomic operation that only reads, the others touch the element too.
///
/// `how % 3`: 0 they read it, 1 they load it atomically, 2 one of them writes it. From 3 on the
/// operation is a compare-and-exchange that fails.
#[kernel(instances(u32, i32, u64, i64, f32, f64))]
pub unsafe fn only_reads<T: Atomic + Default>(values: GlobalMut<T>, how: u32) {
    match thread::thread_idx_x() {
        0 if how < 3 => _ = values.atomic_load(0, Relaxed, Scope::Device),
        0 => _ = values.atomic_compare_exchange(0, values.get(9), T::default()),
        t => match how % 3 {
            0 => _ = values.get(0),
            1 => _ = values.atomic_load(0, Relaxed, Scope::Block),
            _ if t == 33 => values.set(0, T::default()),
            _ => {}
        },
    }
}

/// Makes element 9 what no zero is equal to, for [`only_reads`].
fn with_ones<K: Kernel, T: Plain>(order: Order, how: u32) -> Result<(), LaunchError> {
    let mut numbers = [0_u64; 64];
    (numbers[4], numbers[9]) = (u64::MAX, u64::MAX);
    // SAFETY: aligned for every type that is used here, which takes any bits.
    let values = unsafe { core::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast::<T>(), 64) };
    let options = Options {
        order,
        checks: Checks::RACE,
        ..Options::default()
    };
    let args = Args::new().view(values).value(how);
    args.launch_with::<K>(block(64), options)
}

fn only_reads_is_no_write<T: Atomic + Default>()
where
    OnlyReads<T>: Kernel,
{
    for order in ORDERS {
        for how in [0, 1, 3, 4] {
            if let Err(error) = with_ones::<OnlyReads<T>, T>(order, how) {
                panic!("{how} in {order:?}: {error}");
            }
        }
        for how in [2, 5] {
            let fault = fault(with_ones::<OnlyReads<T>, T>(order, how));
            says(&[fault], &["reads atomically", " writes "]);
        }
    }
}

#[test]
fn an_atomic_load_and_an_exchange_that_fails_only_read() {
    only_reads_is_no_write::<u32>();
    only_reads_is_no_write::<i32>();
    only_reads_is_no_write::<u64>();
    only_reads_is_no_write::<i64>();
    only_reads_is_no_write::<f32>();
    only_reads_is_no_write::<f64>();
}

/// An operation that leaves a zero as it is, beside a plain read.
#[kernel(instances(u32, i32, u64, i64, f32, f64))]
pub unsafe fn same_value<T: Atomic + Default>(values: GlobalMut<T>, how: u32) {
    let zero = T::default();
    match (thread::thread_idx_x(), how) {
        (0, 0) => _ = values.atomic_add(0, zero),
        (0, 1) => _ = values.atomic_min(0, zero),
        (0, 2) => _ = values.atomic_max(0, zero),
        (0, 3) => _ = values.atomic_exchange(0, zero),
        (0, 4) => _ = values.atomic_compare_exchange(0, zero, zero),
        (0, _) => values.atomic_store(0, zero, Relaxed, Scope::Device),
        (35, _) => _ = values.get(0),
        _ => {}
    }
}

#[kernel(instances(u32, i32, u64, i64))]
pub unsafe fn same_bits<T: AtomicInt + Default>(values: GlobalMut<T>, how: u32) {
    let zero = T::default();
    match (thread::thread_idx_x(), how) {
        (0, 0) => _ = values.atomic_and(0, zero),
        (0, 1) => _ = values.atomic_or(0, zero),
        (0, _) => _ = values.atomic_xor(0, zero),
        (35, _) => _ = values.get(0),
        _ => {}
    }
}

#[test]
fn an_operation_that_stores_the_same_value_writes() {
    macro_rules! each {
        ($kernel:ident, $hows:expr, $($ty:ty),*) => { $(
            for how in $hows {
                let faults = race_of::<$kernel<$ty>, $ty>(block(64), how);
                says(&faults, &["changes atomically", " reads "]);
            }
        )* };
    }
    each!(SameValue, 0..=5, u32, i32, u64, i64, f32, f64);
    each!(SameBits, 0..=2, u32, i32, u64, i64);
}

/// Atomic floats as types. `how`: 0 loads beside a plain read, 1 and 2 an addition of zero beside one.
#[kernel]
pub unsafe fn typed(values: GlobalMut<f64>, how: u32) {
    // SAFETY: an aligned element each, of the size of the type.
    let (single, double) = unsafe {
        (
            &*values.as_ptr().cast::<AtomicF32>(),
            &*values.as_ptr().add(1).cast::<AtomicF64>(),
        )
    };
    match thread::thread_idx_x() {
        0 => {
            single.load(Relaxed);
            double.load(Relaxed);
            match how {
                1 => _ = single.fetch_add(0.0, Relaxed),
                2 => _ = double.fetch_add(0.0, Relaxed),
                _ => {}
            }
        }
        34 => {
            values.get(0);
            values.get(1);
        }
        _ => {}
    }
}

#[test]
fn atomic_floats_as_types_are_like_the_views() {
    clean_of::<Typed, f64>(block(64), 0);
    for how in [1, 2] {
        let faults = race_of::<Typed, f64>(block(64), how);
        says(&faults, &["changes atomically"]);
    }
}

/// Waits for a lock that nobody gives back. `how`: 0 by exchange, 1 by compare-and-exchange.
#[kernel]
pub unsafe fn locked(values: GlobalMut<u32>, how: u32) {
    values.atomic_store(0, 1, Relaxed, Scope::Device);
    match how {
        0 => while values.atomic_exchange(0, 1) == 1 {},
        _ => while values.atomic_compare_exchange(0, 0, 1).is_err() {},
    }
}

#[test]
fn waiting_for_a_lock_that_nobody_gives_back_is_an_error_and_no_hang() {
    for how in [0, 1] {
        let fault = fault(launch::<Locked, u32>(block(2), Order::Forward, how));
        assert!(matches!(fault.kind, FaultKind::Idle { .. }), "{fault}");
    }
}

/// Memory that is in no allocation is not looked at before it is reported.
#[kernel]
pub unsafe fn exchange_elsewhere(values: GlobalMut<u32>, how: u32) {
    let _ = (values.len(), how);
    // SAFETY: nothing is there, which is what is wrong.
    let gone =
        unsafe { GlobalMut::from_raw_parts(core::ptr::without_provenance_mut::<u32>(64), 1) };
    _ = gone.atomic_compare_exchange(0, 1, 2);
}

#[test]
fn an_exchange_in_memory_that_is_not_there_is_an_error() {
    let mut values = vec![0_u32; 64];
    let start = values.as_ptr().addr();
    memory::allocated(start, 256);
    let options = Options {
        order: Order::Forward,
        checks: Checks::MEM,
        ..Options::default()
    };
    let args = Args::new().view(&mut values).value(0_u32);
    let fault = fault(args.launch_with::<ExchangeElsewhere>(block(1), options));
    assert!(
        matches!(fault.kind, FaultKind::Unallocated { .. }),
        "{fault}"
    );
    memory::freed(start);
}
