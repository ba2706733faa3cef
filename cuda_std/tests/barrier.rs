//! The block's barrier on the CPU executor.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, assert_at, block, fault, waiting};
use cuda_std::{cpu::FaultKind, kernel::LaunchConfig, prelude::*};

#[kernel]
pub unsafe fn reverse_block(values: GlobalMut<u32>) {
    let tile = shared![u32; 1024];
    let i = thread::linear_thread_idx() as usize;
    let last = (thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z()) as usize - 1;
    tile.set(i, values.get(i));
    thread::sync_threads();
    values.set(i, tile.get(last - i));
}

#[test]
fn shared_memory_crosses_a_barrier_in_every_order() {
    for threads in [1, 2, 31, 32, 33, 255, 1024] {
        for order in ORDERS {
            let mut values: Vec<u32> = (0..threads).collect();
            let expected: Vec<u32> = (0..threads).rev().collect();
            Args::new()
                .view(&mut values)
                .launch_in::<ReverseBlock>(block(threads), order)
                .unwrap();
            assert_eq!(values, expected, "{threads} threads, {order:?}");
        }
    }
    let mut values: Vec<u32> = (0..120).collect();
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [4, 5, 6],
        shared_bytes: 0,
    };
    Args::new()
        .view(&mut values)
        .launch::<ReverseBlock>(config)
        .unwrap();
    assert_eq!(values, (0..120).rev().collect::<Vec<u32>>());
}

#[kernel]
pub unsafe fn counting(predicates: Global<u32>, results: GlobalMut<u32>) {
    let i = thread::thread_idx_x() as usize;
    let predicate = predicates.get(i);
    let at = i * 3;
    results.set(at, thread::sync_threads_count(predicate));
    results.set(at + 1, thread::sync_threads_and(predicate));
    results.set(at + 2, thread::sync_threads_or(predicate));
}

#[test]
fn barriers_count_and_vote() {
    // Any value but zero counts as true.
    type Case = (&'static str, fn(u32) -> u32);
    let cases: [Case; 4] = [
        ("none", |_| 0),
        ("all", |i| i + 1),
        ("thirds", |i| u32::from(i % 3 == 0) * 8),
        ("one", |i| u32::from(i == 40)),
    ];
    for (name, predicate) in cases {
        for order in ORDERS {
            let mut predicates: Vec<u32> = (0..70).map(predicate).collect();
            let count = predicates.iter().filter(|p| **p != 0).count() as u32;
            let expected = [count, u32::from(count == 70), u32::from(count > 0)];
            let mut results = vec![77; 210];
            Args::new()
                .view(&mut predicates)
                .view(&mut results)
                .launch_in::<Counting>(block(70), order)
                .unwrap();
            assert!(
                results.chunks(3).all(|lane| lane == expected),
                "{name}, {order:?}: {results:?}"
            );
        }
    }
}

#[kernel]
pub unsafe fn many_barriers(values: GlobalMut<u32>) {
    let i = thread::thread_idx_x() as usize;
    let n = thread::block_dim_x() as usize;
    for _ in 0..100 {
        let next = values.get((i + 1) % n);
        thread::sync_threads();
        values.set(i, next);
        thread::sync_threads();
    }
}

#[test]
fn barriers_in_a_loop_keep_the_lanes_in_step() {
    for order in ORDERS {
        let mut values: Vec<u32> = (0..64).collect();
        Args::new()
            .view(&mut values)
            .launch_in::<ManyBarriers>(block(64), order)
            .unwrap();
        let expected: Vec<u32> = (0..64).map(|i| (i + 100) % 64).collect();
        assert_eq!(values, expected, "{order:?}");
    }
}

const SOME_NEVER_COME: u32 = line!() + 4;
#[kernel]
pub unsafe fn some_never_come() {
    if thread::thread_idx_x() % 4 != 1 {
        thread::sync_threads();
    }
}

#[test]
fn a_barrier_that_some_lanes_never_reach_is_an_error() {
    for order in ORDERS {
        let fault = fault(Args::new().launch_in::<SomeNeverCome>(block(64), order));
        let FaultKind::Stuck {
            waiting: groups,
            returned,
        } = &fault.kind
        else {
            panic!("{fault}")
        };
        let mut absent = returned.0.clone();
        absent.sort_unstable();
        assert_eq!(absent, (0..64).filter(|i| i % 4 == 1).collect::<Vec<u32>>());
        assert_eq!(
            waiting(&fault.kind),
            [(
                (0..64).filter(|i| i % 4 != 1).collect::<Vec<u32>>(),
                "sync_threads"
            )]
        );
        assert_at(groups[0].2, file!(), SOME_NEVER_COME);
        assert_eq!(fault.kernel, "some_never_come");
        let text = fault.to_string();
        for part in [
            "some_never_come",
            "block (0, 0, 0)",
            "sync_threads",
            "barrier.rs",
            "have returned",
        ] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
}

const TWO_BARRIERS: u32 = line!() + 5;
#[kernel]
#[allow(clippy::if_same_then_else)]
pub unsafe fn two_barriers() {
    if thread::thread_idx_x() < 10 {
        thread::sync_threads();
    } else {
        thread::sync_threads();
    }
}

#[test]
fn barriers_at_different_lines_are_divergent() {
    let fault = fault(Args::new().launch::<TwoBarriers>(block(32)));
    let FaultKind::Diverged {
        others: (lanes, name, other_at),
        operation,
        at,
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(
        (lanes.0.clone(), *name, *operation),
        ((0..10).collect(), "sync_threads", "sync_threads")
    );
    assert_at(other_at, file!(), TWO_BARRIERS);
    assert_at(at, file!(), TWO_BARRIERS + 2);
    assert_eq!(fault.lane, [10, 0, 0]);
    assert!(
        fault.to_string().contains("lanes 0-9 wait in sync_threads"),
        "{fault}"
    );
}

#[kernel]
pub unsafe fn two_kinds(n: u32) {
    let i = thread::thread_idx_x();
    if i < n {
        thread::sync_threads_count(1);
    } else {
        thread::sync_threads_or(1);
    }
}

#[test]
fn barriers_of_different_kinds_are_divergent() {
    Args::new()
        .value(32u32)
        .launch::<TwoKinds>(block(32))
        .unwrap();
    Args::new()
        .value(0u32)
        .launch::<TwoKinds>(block(32))
        .unwrap();
    let fault = fault(Args::new().value(1u32).launch::<TwoKinds>(block(32)));
    let FaultKind::Diverged {
        others, operation, ..
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(
        (others.1, *operation),
        ("sync_threads_count", "sync_threads_or")
    );
}

#[kernel]
pub unsafe fn stuck_in_one_block() {
    if thread::block_idx_x() == 3 && thread::thread_idx_x() == 0 {
        return;
    }
    thread::sync_threads();
}

#[test]
fn the_lowest_block_that_failed_is_named() {
    let fault = fault(Args::new().launch::<StuckInOneBlock>(LaunchConfig::linear(9, 33)));
    assert_eq!((fault.block, fault.lane), ([3, 0, 0], [1, 0, 0]));
    // The executor is as good as new afterwards.
    Args::new()
        .launch::<StuckInOneBlock>(LaunchConfig::linear(3, 33))
        .unwrap();
}

#[kernel]
pub unsafe fn handed_over(result: GlobalMut<u32>) {
    use core::sync::atomic::Ordering::{Acquire, Release};
    use cuda_std::atomic::Scope::Block;
    let flag = shared![u32; 1];
    let data = shared![u32; 1];
    let i = thread::thread_idx_x();
    if i == 0 {
        flag.set(0, 0);
    }
    thread::sync_threads();
    if i == 1 {
        while flag.atomic_load(0, Acquire, Block) == 0 {}
        result.set(0, data.get(0));
    } else if i == 40 {
        data.set(0, 1234);
        flag.atomic_store(0, 1, Release, Block);
    }
}

#[test]
fn a_lane_may_wait_in_a_loop_for_another_lanes_flag() {
    for order in ORDERS {
        let mut result = [0];
        Args::new()
            .view(&mut result)
            .launch_in::<HandedOver>(block(64), order)
            .unwrap();
        assert_eq!(result, [1234], "{order:?}");
    }
}

#[kernel]
pub unsafe fn locked(lock: GlobalMut<u32>, counter: GlobalMut<u64>, by_exchange: u32) {
    use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    use cuda_std::atomic::Scope::Device;
    let taken = || match by_exchange {
        0 => lock
            .atomic_compare_exchange_with(0, 0, 1, Acquire, Device)
            .is_ok(),
        _ => lock.atomic_exchange_with(0, 1, Acquire, Device) == 0,
    };
    while !taken() {}
    // A lane that is suspended while it holds the lock makes the others try in vain.
    let old = counter.atomic_load(0, Relaxed, Device);
    thread::nanosleep(10);
    counter.atomic_store(0, old + 1, Relaxed, Device);
    lock.atomic_store(0, 0, Release, Device);
}

#[test]
fn a_spin_lock_lets_every_lane_through() {
    for by_exchange in [0u32, 1] {
        for order in ORDERS {
            let (mut lock, mut counter) = ([0u32], [0u64]);
            Args::new()
                .view(&mut lock)
                .view(&mut counter)
                .value(by_exchange)
                .launch_in::<Locked>(LaunchConfig::linear(6, 40), order)
                .unwrap();
            assert_eq!((lock, counter), ([0], [240]), "{order:?}");
        }
    }
}
