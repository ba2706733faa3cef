//! Lanes that wait in a loop: until what they wait for comes, or until it is certain that it never will.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use common::{Args, ORDERS, block, fault, unchecked};
use cuda_std::{
    atomic::Scope,
    cpu::{Checks, Fault, FaultKind, LaunchError, Options, Order},
    kernel::LaunchConfig,
    misc,
    prelude::*,
    warp::{self, FULL_MASK},
};

fn with(checks: Checks, order: Order) -> Options {
    Options {
        order,
        checks,
        ..Options::default()
    }
}

/// A launch that must not take long, though it may have to wait for the processors.
fn soon(launch: impl FnOnce() -> Result<(), LaunchError>) -> Result<(), LaunchError> {
    let start = Instant::now();
    let done = launch();
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
    done
}

const LINES: u32 = line!();

/// Waits for what nobody does, in the way that `how` says.
#[kernel]
pub unsafe fn spins(how: u32, flag: GlobalMut<u32>) {
    let lane = thread::thread_idx_x();
    loop {
        let seen = match how {
            0 => flag.atomic_load(0, Acquire, Scope::Device),
            1 => flag.atomic_add(0, 0),
            2 => flag.atomic_compare_exchange(0, 7, 8).map_or(0, |_| 1),
            3 => flag.atomic_exchange(1, 1) ^ 1,
            4 => {
                thread::nanosleep(100);
                flag.get(0)
            }
            5 => {
                let seen = flag.atomic_load(0, Relaxed, Scope::Device);
                u32::from(warp::any(FULL_MASK, seen != 0))
            }
            6 => {
                let seen = flag.atomic_load(0, Relaxed, Scope::Device);
                // SAFETY: all lanes of the warp do the same.
                unsafe { warp::sync_warp(FULL_MASK) };
                seen
            }
            7 => thread::sync_threads_or(flag.atomic_load(0, Relaxed, Scope::Device)),
            8 if lane != 3 => 1,
            8 => flag.atomic_or(0, 0),
            _ => flag.atomic_max(0, 0),
        };
        if seen != 0 {
            break;
        }
    }
    thread::sync_threads();
}

const WAYS: u32 = 10;

fn is_idle(
    fault: &Fault,
) -> &[(
    cuda_std::cpu::LaneSet,
    &'static str,
    &'static core::panic::Location<'static>,
)] {
    let FaultKind::Idle { waiting, .. } = &fault.kind else {
        panic!("{fault}")
    };
    let at = waiting[0].2;
    assert!(
        at.file().ends_with("waiting.rs") && at.line() > LINES,
        "{fault}"
    );
    waiting
}

#[test]
fn a_wait_for_what_never_comes_is_an_error_that_names_the_lanes() {
    for checks in [Checks::NONE, Checks::default(), Checks::ALL] {
        for how in 0..WAYS {
            // The exchange takes a lock that is held: nobody gives it back.
            let mut flag = [0, 1_u32];
            let args = Args::new().value(how).view(&mut flag);
            let config = LaunchConfig::linear(2, 64);
            let fault = fault(soon(|| {
                args.launch_with::<Spins>(config, with(checks, Order::Forward))
            }));
            let waiting = is_idle(&fault);
            let text = fault.to_string();
            assert!(
                text.contains("lanes wait in a loop for memory that nobody changes: lane"),
                "{text}"
            );
            if how == 8 {
                assert_eq!(
                    (&waiting[0].0.0[..], fault.lane),
                    (&[3][..], [3, 0, 0]),
                    "{text}"
                );
                assert!(
                    text.contains("lane 3 wait in ") && text.contains("wait in sync_threads at"),
                    "{text}"
                );
            } else if how < 5 {
                assert_eq!(waiting[0].0.0.len(), 64, "{text}");
            }
        }
    }
}

/// The first block waits for the second, which does `how`: 0 it sets the flag at once, 1 after much work by
/// plain accesses, 2 it fails, 3 it fails after much work, 4 it ends without a word.
#[kernel]
pub unsafe fn waits_for_the_second(how: u32, flag: GlobalMut<u32>, work: GlobalMut<u64>) {
    let b = thread::block_idx_x();
    if b == 0 {
        while flag.atomic_load(0, Acquire, Scope::Device) == 0 {}
        return;
    }
    if b == 1 {
        if how == 1 || how == 3 {
            let start = misc::clock();
            while misc::clock() - start < 2_500_000_000 {
                work.set(0, work.get(0) + 1);
            }
        }
        match how {
            0 | 1 => flag.atomic_store(0, 1, Release, Scope::Device),
            2 | 3 => misc::trap(),
            _ => {}
        }
    }
}

fn two_blocks(how: u32, order: Order) -> Result<(), LaunchError> {
    let (mut flag, mut work) = ([0_u32], [0_u64]);
    let args = Args::new().value(how).view(&mut flag).view(&mut work);
    soon(|| args.launch_with::<WaitsForTheSecond>(LaunchConfig::linear(2, 1), unchecked(order)))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn a_wait_for_a_block_that_computes_for_long_is_no_error() {
    if threads() > 1 {
        two_blocks(0, Order::Forward).unwrap();
        two_blocks(1, Order::Forward).unwrap();
    }
    two_blocks(1, Order::Backward).unwrap();
}

#[test]
fn lanes_that_wait_end_when_another_block_fails() {
    for order in [Order::Forward, Order::Backward] {
        if threads() == 1 && order == Order::Forward {
            continue;
        }
        for how in [2, 3] {
            let fault = fault(two_blocks(how, order));
            assert!(matches!(fault.kind, FaultKind::Trap { .. }), "{fault}");
            assert_eq!(fault.block, [1, 0, 0]);
        }
        let fault = fault(two_blocks(4, order));
        is_idle(&fault);
        assert_eq!(fault.block, [0, 0, 0]);
    }
}

/// Every block waits for the last one.
#[kernel]
pub unsafe fn waits_for_the_last(flag: GlobalMut<u32>) {
    if thread::block_idx_x() + 1 == thread::grid_dim_x() {
        flag.atomic_store(0, 1, Release, Scope::Device);
    }
    while flag.atomic_load(0, Acquire, Scope::Device) == 0 {
        thread::nanosleep(50);
    }
}

#[test]
fn a_wait_for_a_block_that_has_not_started_is_an_error_that_says_so() {
    let blocks = 64 * threads() as u32;
    for checks in [Checks::NONE, Checks::ALL] {
        let mut flag = [0_u32];
        let config = LaunchConfig::linear(blocks, 4);
        let args = Args::new().view(&mut flag);
        let options = with(checks, Order::Forward);
        let fault = fault(soon(|| {
            args.launch_with::<WaitsForTheLast>(config, options)
        }));
        is_idle(&fault);
        let text = fault.to_string();
        assert!(
            text.contains(" blocks have not started, and each starts when another one ends"),
            "{text}"
        );
        let mut flag = [0_u32];
        let args = Args::new().view(&mut flag);
        args.launch_with::<WaitsForTheLast>(config, with(checks, Order::Backward))
            .unwrap();
    }
}

/// Looks at a flag in each step of long work, which only writes: nobody is idle.
#[kernel]
pub unsafe fn works_and_looks(flag: GlobalMut<u32>, output: GlobalMut<u32>, millis: u64) {
    let lane = thread::thread_idx_x() as usize;
    let start = misc::clock();
    while misc::clock() - start < millis * 1_000_000 {
        if flag.atomic_load(0, Relaxed, Scope::Device) != 0 {
            return;
        }
        output.set(lane, output.get(lane) + 1);
    }
}

#[test]
fn work_between_looks_at_a_flag_is_no_wait() {
    for checks in [Checks::NONE, Checks::ALL] {
        let (mut flag, mut output) = ([0_u32], [0_u32; 8]);
        let args = Args::new()
            .view(&mut flag)
            .view(&mut output)
            .value(3500_u64);
        args.launch_with::<WorksAndLooks>(LaunchConfig::linear(1, 8), with(checks, Order::Forward))
            .unwrap();
        assert!(output.iter().all(|n| *n > 0));
    }
}

/// One lane hands a lock on to the next, many times: each takes it in its turn.
#[kernel]
pub unsafe fn hands_on(turn: GlobalMut<u32>, rounds: u32) {
    let lane = thread::thread_idx_x();
    let lanes = thread::block_dim_x();
    for round in 0..rounds {
        while turn.atomic_load(0, Acquire, Scope::Device) != round * lanes + lane {}
        turn.atomic_add_with(0, 1, Release, Scope::Device);
    }
}

#[test]
fn lanes_that_wait_for_each_other_in_turn_go_on() {
    for order in ORDERS {
        for checks in [Checks::NONE, Checks::ALL] {
            let mut turn = [0_u32];
            let args = Args::new().view(&mut turn).value(20_u32);
            args.launch_with::<HandsOn>(block(256), with(checks, order))
                .unwrap();
            assert_eq!(turn[0], 256 * 20);
        }
    }
}
