//! Each synchronising operation that kernels do can be left out or weakened while they run, and the checks
//! see it: on small kernels in which each of them counts.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block, unchecked};
use core::sync::atomic::Ordering;
use cuda_std::{
    async_copy,
    atomic::Scope,
    cpu::{
        Checks, FaultKind, LaunchError, Options, Order,
        mutate::{self, Change, Mutation, Operation, Recorded, Site},
    },
    kernel::{Kernel, LaunchConfig},
    prelude::*,
    warp,
};

/// What a launch over 256 numbers gives.
fn launch<K: Kernel>(config: LaunchConfig, options: Options) -> Result<Vec<u32>, LaunchError> {
    let mut values: Vec<u32> = (0..256).map(|i| if i < 128 { 0 } else { i * 7 }).collect();
    Args::new()
        .view(&mut values)
        .launch_with::<K>(config, options)?;
    Ok(values)
}

fn checked(order: Order) -> Options {
    Options {
        order,
        checks: Checks::ALL,
        ..Options::default()
    }
}

const MOST: u64 = 1 << 20;

/// The kernel's sites; without a mutation it is clean and gives the same in every order.
fn sites<K: Kernel>(config: LaunchConfig) -> Recorded {
    let (expected, recorded) =
        mutate::record(|| launch::<K>(config, unchecked(Order::Forward)).unwrap());
    for order in ORDERS {
        assert_eq!(
            launch::<K>(config, checked(order)).unwrap(),
            expected,
            "{order:?}"
        );
    }
    recorded
}

/// The operations of a kernel with their changes, each of which is reported in every order.
#[track_caller]
fn all_are_reported<K: Kernel>(config: LaunchConfig) -> Vec<(Operation, Change)> {
    let mut seen = Vec::new();
    for (site, times) in sites::<K>(config).sites {
        for mutation in Mutation::all(site, times) {
            for order in ORDERS {
                let run = || launch::<K>(config, checked(order));
                let (result, applied) = mutate::with(mutation, MOST, run);
                assert!(applied > 0, "{mutation:?}");
                assert!(
                    matches!(result, Err(LaunchError::Fault(_))),
                    "{mutation:?} in {order:?}"
                );
            }
            seen.push((site.operation, mutation.change));
        }
    }
    // What was mutated is whole again.
    sites::<K>(config);
    seen.sort_unstable();
    seen.dedup();
    seen
}

/// Whether some order gives another result, or a fault that comes without a check.
fn changes_a_result<K: Kernel>(config: LaunchConfig, mutation: Mutation) -> bool {
    let expected = launch::<K>(config, unchecked(Order::Forward)).unwrap();
    ORDERS.iter().any(|order| {
        let run = || launch::<K>(config, unchecked(*order));
        let (result, _) = mutate::with(mutation, MOST, run);
        result.is_ok_and(|found| found != expected)
    })
}

/// Every lane reads what a lane of another warp wrote, twice.
#[kernel]
pub unsafe fn across_warps(values: GlobalMut<u32>) {
    let tile = shared![u32; 64];
    let tid = thread::thread_idx_x() as usize;
    let mut value = values.get(128 + tid);
    for round in 0..2 {
        tile.set(tid, value + round);
        thread::sync_threads();
        value = tile.get(63 - tid);
        thread::sync_threads();
    }
    tile.set(tid, 0);
    values.set(tid, value);
}

#[test]
fn a_barrier_that_is_dropped_or_of_the_warp_alone() {
    let seen = all_are_reported::<AcrossWarps>(block(64));
    let barrier = Operation::Barrier;
    assert_eq!(
        seen,
        [(barrier, Change::Dropped), (barrier, Change::ToWarp)]
    );
    let recorded = sites::<AcrossWarps>(block(64));
    assert_eq!(recorded.sites.values().collect::<Vec<_>>(), [&2, &2]);
    assert_eq!(recorded.steps, 64 * (1 + 4));
    for site in recorded.sites.keys() {
        let change = Change::Dropped;
        for time in [None, Some(0)] {
            let site = *site;
            let mutation = Mutation { site, change, time };
            let changed = changes_a_result::<AcrossWarps>(block(64), mutation);
            assert!(changed, "{mutation:?}");
        }
    }
}

/// Every lane reads what a lane of the other half of its warp wrote.
#[kernel]
pub unsafe fn across_lanes(values: GlobalMut<u32>) {
    let tile = shared![u32; 64];
    let tid = thread::thread_idx_x() as usize;
    tile.set(tid, values.get(128 + tid));
    // SAFETY: all lanes come here.
    unsafe { warp::sync_warp(warp::FULL_MASK) };
    values.set(tid, tile.get(tid ^ 16));
}

#[test]
fn a_sync_warp_that_is_dropped_or_names_fewer_lanes() {
    let seen = all_are_reported::<AcrossLanes>(block(64));
    let changes: Vec<Change> = seen.into_iter().map(|(_, change)| change).collect();
    assert_eq!(
        changes,
        [Change::Dropped, Change::LaneLeftOut, Change::OwnHalf]
    );
}

/// Blocks leave numbers; the last one to come adds them up. `HOW`: 0 fences around a relaxed operation, 1 an
/// operation that releases and acquires.
#[inline(always)]
fn last_adds<const HOW: u32>(values: GlobalMut<u32>) {
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    values.set(2 + block as usize, block + 1);
    let order = match HOW {
        0 => Ordering::Relaxed,
        _ => Ordering::AcqRel,
    };
    if HOW == 0 {
        thread::device_fence();
    }
    let came = values.atomic_add_with(0, 1, order, Scope::Device);
    if came + 1 == blocks {
        if HOW == 0 {
            cuda_std::atomic::mid::device_thread_fence(Ordering::Acquire);
        }
        let parts = (0..blocks as usize).map(|i| values.get(2 + i));
        values.set(1, parts.sum());
    }
}

#[kernel]
pub unsafe fn last_adds_fences(values: GlobalMut<u32>) {
    last_adds::<0>(values);
}

#[kernel]
pub unsafe fn last_adds_orders(values: GlobalMut<u32>) {
    last_adds::<1>(values);
}

#[test]
fn a_fence_that_is_dropped_or_of_the_block_alone() {
    let recorded = sites::<LastAddsFences>(LaunchConfig::linear(3, 1));
    let fences = recorded.sites.iter().filter(|(site, _)| {
        let fence = Operation::Fence { wide: true };
        site.operation == fence
    });
    let mut count = 0;
    for (site, times) in fences {
        for mutation in Mutation::all(*site, *times) {
            for order in ORDERS {
                let run = || launch::<LastAddsFences>(LaunchConfig::linear(3, 1), checked(order));
                let (result, _) = mutate::with(mutation, MOST, run);
                let fault = common::fault(result.map(drop));
                assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 4);
}

#[test]
fn an_atomic_operation_that_does_not_release_or_acquire_or_is_of_the_block_or_in_two_steps() {
    let seen = all_are_reported::<LastAddsOrders>(LaunchConfig::linear(3, 1));
    let changes: Vec<Change> = seen.into_iter().map(|(_, change)| change).collect();
    let expected = [
        Change::ToBlock,
        Change::NoRelease,
        Change::NoAcquire,
        Change::InTwoSteps,
    ];
    assert_eq!(changes, expected);
}

/// Every lane adds to one element.
#[kernel]
pub unsafe fn counts(values: GlobalMut<u32>) {
    values.atomic_add(0, 1);
}

#[test]
fn an_addition_in_two_steps_loses_some() {
    let [site] = sites::<Counts>(block(64))
        .sites
        .into_keys()
        .collect::<Vec<_>>()[..]
    else {
        panic!("one site expected");
    };
    let mutation = Mutation {
        site,
        change: Change::InTwoSteps,
        time: None,
    };
    assert!(changes_a_result::<Counts>(block(64), mutation));
}

/// The sum of a warp.
#[kernel]
pub unsafe fn warp_sum(values: GlobalMut<u32>) {
    let tid = thread::thread_idx_x() as usize;
    let mut value = values.get(128 + tid);
    let mut delta = 16;
    while delta > 0 {
        value += warp::shuffle_down(warp::FULL_MASK, value, delta) % 1024;
        delta /= 2;
    }
    let votes = warp::ballot(warp::FULL_MASK, tid.is_multiple_of(3));
    values.set(tid, if tid == 0 { value ^ votes } else { votes });
}

#[test]
fn a_mask_that_names_fewer_lanes_changes_a_result_or_is_refused() {
    let config = block(32);
    let recorded = sites::<WarpSum>(config);
    let names: Vec<String> = recorded
        .sites
        .keys()
        .map(|site| site.operation.to_string())
        .collect();
    assert_eq!(names, ["shuffle_down", "ballot"]);
    for (site, times) in recorded.sites {
        for mutation in Mutation::all(site, times) {
            let (result, _) = mutate::with(mutation, MOST, || {
                launch::<WarpSum>(config, checked(Order::Forward))
            });
            let shuffles = site.operation.to_string().starts_with("shuffle");
            if shuffles || mutation.change == Change::LaneLeftOut {
                let fault = common::fault(result.map(drop));
                let right = match fault.kind {
                    FaultKind::Mask { .. } => mutation.change == Change::LaneLeftOut,
                    // Of a smaller mask too some lane reads from a lane outside.
                    FaultKind::Source { .. } => shuffles,
                    _ => false,
                };
                assert!(right, "{mutation:?}: {fault}");
            } else {
                let changes = changes_a_result::<WarpSum>(config, mutation);
                assert!(changes, "{mutation:?}");
            }
        }
    }
}

/// A group of copies, and one that `wait_all` ends.
#[kernel]
pub unsafe fn copies(values: GlobalMut<u32>) {
    let tile = shared![u32; 64];
    let tid = thread::thread_idx_x() as usize;
    tile.copy_async(tid, values, 128 + tid);
    async_copy::commit_group();
    tile.copy_async(32 + tid, values, 160 + tid);
    async_copy::wait_group::<0>();
    values.set(tid, tile.get(tid));
    async_copy::wait_all();
    values.set(32 + tid, tile.get(32 + tid));
}

#[test]
fn a_wait_that_is_dropped_or_for_one_group_less() {
    let recorded = sites::<Copies>(block(32));
    let waits: Vec<&Site> = recorded
        .sites
        .keys()
        .filter(|site| site.operation == Operation::Wait)
        .collect();
    assert_eq!(waits.len(), 2);
    for site in waits {
        for change in site.operation.changes() {
            let (site, time) = (*site, None);
            let mutation = Mutation { site, change, time };
            for order in ORDERS {
                let run = || launch::<Copies>(block(32), checked(order));
                let (result, _) = mutate::with(mutation, MOST, run);
                common::fault(result.map(drop));
            }
            assert!(
                changes_a_result::<Copies>(block(32), mutation),
                "{mutation:?}"
            );
        }
    }
}

#[test]
fn the_end_of_a_group_of_copies_that_is_dropped() {
    let recorded = sites::<Copies>(block(32));
    let commits = recorded.sites.keys();
    let commits: Vec<&Site> = commits
        .filter(|site| site.operation == Operation::Commit)
        .collect();
    assert_eq!(commits.len(), 1);
    let mutation = Mutation {
        site: *commits[0],
        change: Change::Dropped,
        time: None,
    };
    for order in ORDERS {
        let run = || launch::<Copies>(block(32), checked(order));
        let fault = common::fault(mutate::with(mutation, MOST, run).0.map(drop));
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    }
}

#[test]
fn work_that_does_not_end_is_ended() {
    let site = *sites::<AcrossWarps>(block(64)).sites.keys().next().unwrap();
    let mutation = Mutation {
        site,
        change: Change::Dropped,
        time: Some(7),
    };
    let run = || launch::<AcrossWarps>(block(64), unchecked(Order::Forward));
    let (result, applied) = mutate::with(mutation, 100, run);
    let fault = common::fault(result.map(drop));
    assert!(matches!(fault.kind, FaultKind::Idle { .. }), "{fault}");
    assert_eq!(applied, 0);
    // And nothing of it is left.
    run().unwrap();
}

#[test]
fn a_mutation_is_of_its_thread_alone() {
    let site = *sites::<AcrossWarps>(block(64)).sites.keys().next().unwrap();
    let mutation = Mutation {
        site,
        change: Change::Dropped,
        time: None,
    };
    mutate::with(mutation, MOST, || {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| launch::<AcrossWarps>(block(64), checked(Order::Forward)));
            other.join().unwrap().unwrap();
        });
    });
}
