//! What is one place in the source and several on a GPU: arrays of shared memory, and barriers in helpers.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, assert_at, block, fault};
use cuda_std::{
    cpu::{Checks, FaultKind, Options},
    prelude::*,
};

const TILE: u32 = line!() + 3;
#[inline(always)]
fn tile() -> Shared<u32> {
    shared![u32; 64]
}

const USE: u32 = line!() + 8;
/// Two arrays from one place, the first of which is used again.
#[kernel]
pub unsafe fn two_at_once(output: GlobalMut<u32>) {
    let lane = thread::thread_idx_x() as usize;
    let first = tile();
    first.set(lane, 1);
    let second = tile();
    first.set(lane, 2);
    output.set(lane, second.get(lane));
}

/// An array for each level.
#[inline(never)]
fn levels(n: u32, lane: usize) -> u32 {
    let own = shared![u32; 64];
    own.set(lane, n);
    let below = if n == 0 { 0 } else { levels(n - 1, lane) };
    below + own.get(lane)
}

#[kernel]
pub unsafe fn recursion(output: GlobalMut<u32>, n: u32) {
    let lane = thread::thread_idx_x() as usize;
    output.set(lane, levels(n, lane));
}

/// A view that is kept from step to step of a loop.
#[kernel]
pub unsafe fn kept_in_a_loop(output: GlobalMut<u32>, steps: u32) {
    let lane = thread::thread_idx_x() as usize;
    let mut before: Option<Shared<u32>> = None;
    for step in 0..steps {
        let now = shared![u32; 64];
        now.set(lane, step);
        if let Some(before) = before {
            before.atomic_add(lane, 1);
        }
        before = Some(now);
    }
    output.set(lane, 1);
}

#[test]
fn two_live_arrays_of_one_place_are_an_error_that_names_it() {
    for order in ORDERS {
        let options = Options {
            order,
            checks: Checks::MEM,
            ..Options::default()
        };
        let mut output = [0_u32; 64];
        let args = Args::new().view(&mut output);
        let first = fault(args.launch_with::<TwoAtOnce>(block(64), options));
        let FaultKind::SharedAgain { array, site, at } = &first.kind else {
            panic!("{first}")
        };
        assert_eq!(array, "[u32; 64]");
        assert_at(site, file!(), TILE);
        assert_at(at, file!(), USE);
        assert_eq!(first.kind.check(), Some(Checks::MEM));

        let args = Args::new().view(&mut output);
        for (n, wrong) in [(0_u32, false), (1, true), (5, true)] {
            let args = Args::new().view(&mut output).value(n);
            let done = args.launch_with::<Recursion>(block(64), options);
            assert_eq!(done.is_err(), wrong, "{n}: {done:?}");
        }
        for (steps, wrong) in [(1_u32, false), (2, true)] {
            let args = Args::new().view(&mut output).value(steps);
            let done = args.launch_with::<KeptInALoop>(block(64), options);
            assert_eq!(done.is_err(), wrong, "{steps}: {done:?}");
        }
        drop(args);
    }
}

/// A sum of the block, by an array of its own.
#[inline(always)]
fn block_sum(value: u32, barrier_behind: bool) -> u32 {
    let sums = shared![u32; 64];
    let lane = thread::thread_idx_x() as usize;
    sums.set(lane, value);
    thread::sync_threads();
    let mut total = 0;
    for i in 0..64 {
        total += sums.get(i);
    }
    if barrier_behind {
        thread::sync_threads();
    }
    total
}

/// One use behind the other, also in a loop, and by some lanes more often.
#[kernel]
pub unsafe fn one_after_the_other(output: GlobalMut<u32>, barrier_behind: u32) {
    let lane = thread::thread_idx_x();
    let mut total = block_sum(lane, barrier_behind != 0);
    for i in 0..3 {
        total += block_sum(i, barrier_behind != 0);
    }
    output.set(lane as usize, total);
}

#[test]
fn a_helper_that_is_called_again_has_its_array_anew_and_its_races_are_seen() {
    for order in ORDERS {
        let mut output = [0_u32; 64];
        Args::new()
            .view(&mut output)
            .value(1_u32)
            .launch_in::<OneAfterTheOther>(block(64), order)
            .unwrap();
        assert_eq!(output, [63 * 32 + 64 * 3; 64]);
        let options = Options {
            order,
            checks: Checks::RACE,
            ..Options::default()
        };
        let args = Args::new().view(&mut output).value(0_u32);
        let fault = fault(args.launch_with::<OneAfterTheOther>(block(64), options));
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    }
}

const BARRIER: u32 = line!() + 4;
/// Holds a barrier.
fn meet(tile: Shared<u32>, lane: usize, value: u32) -> u32 {
    tile.set(lane, value);
    thread::sync_threads();
    tile.get(lane ^ 1)
}

/// How lanes come to one barrier: 0 by one call, 1 by a call in each arm, 2 by a call in each turn of a loop,
/// 3 by a call in each arm through one more helper, 4 by arms that all lanes take alike.
#[kernel(instances(one: (0), arms: (1), turns: (2), helper: (3), alike: (4)))]
pub unsafe fn calls<const HOW: u32>(output: GlobalMut<u32>) {
    let lane = thread::thread_idx_x() as usize;
    let tile = shared![u32; 64];
    let got = match HOW {
        0 => meet(tile, lane, 10),
        1 if lane < 40 => core::hint::black_box(meet(tile, lane, 1)),
        1 => meet(tile, lane, 2),
        2 => {
            let mut got = 0;
            for i in 0..5 {
                got = meet(tile, lane, i);
                thread::sync_threads();
            }
            got
        }
        3 if lane.is_multiple_of(3) => core::hint::black_box(through(tile, lane, 7)),
        3 => through(tile, lane, 8),
        _ => match output.len() {
            64 => meet(tile, lane, 11),
            _ => meet(tile, lane, 12),
        },
    };
    output.set(lane, got);
}

#[inline(never)]
fn through(tile: Shared<u32>, lane: usize, value: u32) -> u32 {
    meet(tile, lane, value)
}

#[cfg(target_os = "linux")]
#[test]
fn lanes_that_come_to_one_barrier_by_different_calls_diverge() {
    for order in ORDERS {
        for checks in [Checks::SYNC, Checks::ALL] {
            let options = Options {
                order,
                checks,
                ..Options::default()
            };
            let launch = |how: u32| {
                let mut output = [0_u32; 64];
                let args = Args::new().view(&mut output);
                match how {
                    0 => args.launch_with::<Calls<0>>(block(64), options),
                    1 => args.launch_with::<Calls<1>>(block(64), options),
                    2 => args.launch_with::<Calls<2>>(block(64), options),
                    3 => args.launch_with::<Calls<3>>(block(64), options),
                    _ => args.launch_with::<Calls<4>>(block(64), options),
                }
            };
            for how in 0..5_u32 {
                let done = launch(how);
                if how != 1 && how != 3 {
                    done.unwrap_or_else(|error| panic!("{how}: {error}"));
                    continue;
                }
                assert!(done.is_err(), "{how}, {order:?}, {checks}");
                let fault = fault(done);
                let FaultKind::DivergedCalls {
                    others_by, by, at, ..
                } = &fault.kind
                else {
                    panic!("{fault}")
                };
                assert_at(at, file!(), BARRIER);
                assert!(
                    by.contains("one_place.rs:") && others_by.contains("one_place.rs:"),
                    "{fault}"
                );
                assert_ne!(by, others_by);
            }
        }
    }
}
