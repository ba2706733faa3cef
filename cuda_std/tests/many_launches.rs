//! Many launches at once, by many threads and by lanes: each gets the stacks that it needs, or waits for them.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use std::sync::Barrier;

use common::{Args, unchecked};
use cuda_std::{
    cpu::{Checks, LaunchError, Options, Order},
    kernel::LaunchConfig,
    prelude::*,
};

/// Each lane needs all of the block's: its last barrier has all of them suspended.
#[kernel]
pub unsafe fn reverses(values: Global<u32>, output: GlobalMut<u32>) {
    let tile = shared![u32; 1024];
    let lane = thread::thread_idx_x() as usize;
    tile.set(lane, values.get(thread::index_1d_wide()));
    thread::sync_threads();
    output.set(thread::index_1d_wide(), tile.get(1023 - lane));
}

fn reversed(options: Options, blocks: u32, factor: u32) -> Result<(), String> {
    let mut values: Vec<u32> = (0..1024 * blocks).map(|i| i.wrapping_mul(factor)).collect();
    let mut output = vec![0_u32; values.len()];
    let launched = Args::new()
        .view(&mut values)
        .view(&mut output)
        .launch_with::<Reverses>(LaunchConfig::linear(blocks, 1024), options);
    launched.map_err(|error| error.to_string())?;
    let right = values
        .chunks(1024)
        .zip(output.chunks(1024))
        .all(|(values, output)| values.iter().rev().eq(output));
    right.then_some(()).ok_or_else(|| "wrong values".to_owned())
}

/// Has so many threads launch at the same time.
fn at_once(threads: u32, launch: impl Fn(u32) -> Result<(), String> + Sync) {
    let start = Barrier::new(threads as usize);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads)
            .map(|thread| {
                let (start, launch) = (&start, &launch);
                scope.spawn(move || {
                    start.wait();
                    launch(thread)
                })
            })
            .collect();
        let done = started.into_iter().map(|thread| thread.join().unwrap());
        done.filter_map(Result::err).collect()
    });
    assert!(
        wrong.is_empty(),
        "{} of {threads}: {}",
        wrong.len(),
        wrong[0]
    );
}

fn all(order: Order) -> Options {
    Options {
        order,
        checks: Checks::ALL,
        ..Options::default()
    }
}

#[test]
fn sixty_four_threads_launch_followed_kernels_of_1024_lanes_at_once() {
    at_once(64, |thread| {
        let order = Order::Seeded(u64::from(thread));
        (0..3).try_for_each(|_| reversed(all(order), 2, thread + 3))
    });
}

#[test]
fn sixty_four_threads_launch_unfollowed_kernels_of_1024_lanes_at_once() {
    at_once(64, |thread| {
        let options = unchecked(Order::Seeded(u64::from(thread)));
        (0..3).try_for_each(|_| reversed(options, 5, thread + 3))
    });
}

#[test]
fn stacks_of_several_sizes_share_the_budget() {
    at_once(48, |thread| {
        let options = Options {
            stack_bytes: (64 * 1024) << (thread % 4),
            ..all(Order::Forward)
        };
        (0..2).try_for_each(|_| reversed(options, 1, thread + 3))
    });
}

/// Launches the kernel above, from one lane of each block.
#[kernel]
pub unsafe fn launches(failures: GlobalMut<u32>, checked: u32) {
    if thread::thread_idx_x() == 7 {
        let checks = if checked == 1 {
            Checks::ALL
        } else {
            Checks::NONE
        };
        let options = Options {
            checks,
            ..Options::default()
        };
        if let Err(error) = reversed(options, 1, 7) {
            eprintln!("{error}");
            failures.atomic_add(0, 1);
        }
    }
    thread::sync_threads();
}

#[test]
fn launches_by_lanes_do_not_wait_for_the_launch_that_they_are_in() {
    for checked in [0_u32, 1] {
        at_once(40, |thread| {
            let mut failures = [0_u32];
            let options = if thread % 2 == 0 {
                all(Order::Forward)
            } else {
                unchecked(Order::Forward)
            };
            let launched = Args::new()
                .view(&mut failures)
                .value(checked)
                .launch_with::<Launches>(
                    LaunchConfig::linear(2, 1024 - 32 * (thread % 8)),
                    options,
                );
            launched.map_err(|error| error.to_string())?;
            (failures[0] == 0)
                .then_some(())
                .ok_or_else(|| format!("{} failed", failures[0]))
        });
    }
}

/// Launches itself.
#[kernel]
pub unsafe fn nests(levels: u32, reached: GlobalMut<u32>) {
    reached.atomic_add(0, 1);
    if levels > 0 {
        // SAFETY: as long as the outer launch's view, which nothing else touches.
        let elements = unsafe { core::slice::from_raw_parts_mut(reached.as_ptr(), 2) };
        let inner = Args::new()
            .value(levels - 1)
            .view(elements)
            .launch_with::<Nests>(LaunchConfig::linear(1, 1), unchecked(Order::Forward));
        if let Err(LaunchError::Invalid { what, .. }) = inner {
            assert!(what.contains("nested 4 deep, given 5"), "{what}");
            reached.atomic_add(1, 1);
        }
    }
}

#[test]
fn launches_that_are_nested_too_deep_are_an_error() {
    for (levels, expected) in [(0_u32, [1_u32, 0]), (4, [5, 0]), (9, [5, 1])] {
        let mut reached = [0_u32; 2];
        Args::new()
            .value(levels)
            .view(&mut reached)
            .launch_with::<Nests>(LaunchConfig::linear(1, 1), unchecked(Order::Forward))
            .unwrap();
        assert_eq!(reached, expected, "{levels} levels");
    }
}

#[test]
fn a_thread_of_a_pool_takes_up_no_other_launch_while_it_waits_for_its_own() {
    use rayon::prelude::*;
    use std::cell::Cell;
    thread_local! {
        static LAUNCHES: Cell<u32> = const { Cell::new(0) };
    }
    let wrong: Vec<String> = (0..400_u32)
        .into_par_iter()
        .filter_map(|i| {
            let nested = LAUNCHES.replace(LAUNCHES.get() + 1);
            let done = reversed(unchecked(Order::Forward), 3, i + 3);
            LAUNCHES.set(nested);
            match nested {
                0 => done.err(),
                _ => Some(format!("{nested} launches wait on this thread")),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{} of 400: {}", wrong.len(), wrong[0]);
}
