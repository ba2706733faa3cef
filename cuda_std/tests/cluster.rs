//! Clusters on the CPU executor: what goes wrong between the blocks, and how it is reported. What goes right is in the
//! workspace's `device_library`.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, fault, unchecked};
use cuda_std::{
    cluster,
    cpu::{Checks, FaultKind, LaunchError, Options, Order},
    kernel::LaunchConfig,
    mbarrier::{self, Mbarrier},
    prelude::*,
};

/// What a kernel leaves out.
const FIRST_SYNC: u32 = 1;
const LAST_SYNC: u32 = 2;
const ONE_LANE: u32 = 3;

/// Each block writes to the other one's memory, and reads what it was given.
#[kernel(launch_bounds(32), cluster(2))]
pub unsafe fn give(output: GlobalMut<u32>, without: u32) {
    let inbox = shared![u32; 32];
    let tid = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x();
    if without != FIRST_SYNC {
        cluster::sync();
    }
    if without == ONE_LANE && block == 1 && tid == 7 {
        thread::sync_threads();
    }
    inbox
        .of_block(cluster::rank() ^ 1)
        .set(tid, block * 100 + tid as u32);
    if without != LAST_SYNC {
        cluster::sync();
    }
    output.set(32 * block as usize + tid, inbox.get(31 - tid));
}

fn give_in(options: Options, without: u32) -> (Result<(), LaunchError>, Vec<u32>) {
    let mut output = vec![0; 6 * 32];
    let result = Args::new()
        .view(&mut output)
        .value(without)
        .launch_with::<Give>(LaunchConfig::linear(6, 32), options);
    (result, output)
}

fn checked(order: Order) -> Options {
    Options {
        order,
        checks: Checks::ALL,
        ..Options::default()
    }
}

#[test]
fn blocks_of_a_cluster_exchange_values() {
    let other = |i: u32| ((i / 32) ^ 1) * 100 + 31 - i % 32;
    let expected: Vec<u32> = (0..6 * 32).map(other).collect();
    for order in ORDERS {
        for options in [checked(order), unchecked(order)] {
            let (result, output) = give_in(options, 0);
            result.unwrap();
            assert_eq!(output, expected, "{options:?}");
        }
    }
}

#[test]
fn memory_of_a_block_that_need_not_have_started() {
    // The other block is the next one, which has not started.
    let found = fault(give_in(checked(Order::Forward), FIRST_SYNC).0);
    let told = found.to_string();
    assert!(
        told.contains("shared memory of the cluster's block of rank 1, of which nothing says that it has started"),
        "{told}"
    );
}

#[test]
fn a_value_that_no_barrier_orders_is_a_race() {
    for order in ORDERS {
        let told = fault(give_in(checked(order), LAST_SYNC).0).to_string();
        // The block that runs first reads what the other one has not given yet. That one may find the first one gone.
        let expected = [
            "read of what nobody wrote",
            "whose lanes have returned",
            "race",
        ];
        assert!(
            expected.iter().any(|what| told.contains(what)),
            "{order:?}: {told}"
        );
    }
}

#[test]
fn a_lane_that_never_comes_is_named() {
    for order in ORDERS {
        for options in [checked(order), unchecked(order)] {
            let found = fault(give_in(options, ONE_LANE).0);
            let FaultKind::Idle {
                waiting, others, ..
            } = &found.kind
            else {
                panic!("{order:?}: {found}");
            };
            let mut names: Vec<&str> = waiting.iter().map(|(_, name, _)| *name).collect();
            names.extend(
                others
                    .iter()
                    .flat_map(|(_, lanes)| lanes)
                    .map(|(_, name, _)| *name),
            );
            names.sort_unstable();
            names.dedup();
            assert_eq!(names, ["cluster::wait", "sync_threads"], "{order:?}");
        }
    }
}

/// Lane 1 of each block uses the cluster's barrier in a wrong way, or asks for a rank that there is not.
#[kernel(launch_bounds(32), cluster(2))]
pub unsafe fn misuse(how: u32) {
    let own = shared![u32; 1];
    cluster::sync();
    if thread::thread_idx_x() == 1 {
        match how {
            0 => cluster::wait(),
            1 => {
                cluster::arrive();
                cluster::arrive();
            }
            _ => own.of_block(2).set(0, 1),
        }
    }
    cluster::sync();
}

#[test]
fn wrong_uses_are_refused() {
    for (how, expected) in [
        (
            0,
            "the lane waits at the cluster's barrier without having arrived",
        ),
        (
            1,
            "the lane arrives at the cluster's barrier again without having waited",
        ),
        (2, "a rank below the cluster's 2 blocks required, given 2"),
    ] {
        for order in ORDERS {
            let result = Args::new()
                .value(how)
                .launch_in::<Misuse>(LaunchConfig::linear(2, 32), order);
            let told = fault(result).to_string();
            assert!(told.contains(expected), "{order:?}: {told}");
        }
    }
}

#[test]
fn a_grid_that_is_no_multiple_is_refused() {
    let result = Args::new()
        .value(0_u32)
        .launch::<Misuse>(LaunchConfig::linear(3, 32));
    let told = result.unwrap_err().to_string();
    assert!(
        told.contains("the grid along x must be a multiple of 2, the blocks of a cluster, given 3"),
        "{told}"
    );
}

/// Lanes that have returned are not waited for. Each block leaves half of its lanes behind at each step.
#[kernel(launch_bounds(64), cluster(4))]
pub unsafe fn fewer_and_fewer(output: GlobalMut<u32>) {
    let tid = thread::thread_idx_x();
    let own = shared![u32; 1];
    if tid == 0 {
        own.set(0, 10 + cluster::rank());
    }
    let mut left = 64;
    while left > 1 {
        cluster::sync();
        left /= 2;
        if tid >= left {
            return;
        }
    }
    let next = own.of_block((cluster::rank() + 1) % 4).get(0);
    output.set(thread::block_idx_x() as usize, next);
    cluster::sync();
}

#[test]
fn lanes_that_have_returned_are_not_waited_for() {
    for order in ORDERS {
        let mut output = vec![0; 8];
        Args::new()
            .view(&mut output)
            .launch_in::<FewerAndFewer>(LaunchConfig::linear(8, 64), order)
            .unwrap();
        assert_eq!(output, [11, 12, 13, 10, 11, 12, 13, 10], "{order:?}");
    }
}

/// Lane 1 arrives without waiting and returns. The other lane of each block writes before it arrives, and the other block
/// reads.
#[kernel(launch_bounds(2), cluster(2))]
pub unsafe fn arrive_and_return(output: GlobalMut<u32>) {
    let own = shared![u32; 1];
    if thread::thread_idx_x() == 1 {
        cluster::arrive();
        return;
    }
    own.set(0, 20 + cluster::rank());
    cluster::sync();
    output.set(
        cluster::rank() as usize,
        own.of_block(cluster::rank() ^ 1).get(0),
    );
    cluster::sync();
}

#[test]
fn a_lane_that_returns_counts_no_more() {
    for order in ORDERS {
        let mut output = vec![0; 2];
        Args::new()
            .view(&mut output)
            .launch_in::<ArriveAndReturn>(LaunchConfig::linear(2, 2), order)
            .unwrap();
        assert_eq!(output, [21, 20], "{order:?}");
    }
}

/// Block 1 writes to block 0's memory and arrives at its mbarrier. Block 0 reads behind its wait. `how` 1 arrives and waits for
/// the cluster; 0 waits only for its own block; 2 arrives as if it had only read.
#[kernel(launch_bounds(32), cluster(2))]
pub unsafe fn tell(output: GlobalMut<u32>, how: u32) {
    let values = shared![u32; 32];
    let told = Mbarrier::new(shared![u64; 1], 0);
    let tid = thread::thread_idx_x() as usize;
    if tid == 0 {
        told.init(32);
        mbarrier::fence_init();
    }
    cluster::sync();
    if cluster::rank() == 1 {
        values.of_block(0).set(tid, 5 + tid as u32);
        match how {
            2 => told.arrive_at_after_reads(0),
            _ => told.arrive_at(0),
        }
    } else {
        match how {
            0 => told.wait(0),
            _ => told.wait_cluster(0),
        }
        output.set(tid, values.get(31 - tid));
    }
    cluster::sync();
}

#[test]
fn an_arrival_in_another_block_releases_to_waits_for_the_cluster() {
    for order in ORDERS {
        let mut output = vec![0; 32];
        let mut run = |how: u32| {
            Args::new()
                .view(&mut output)
                .value(how)
                .launch_with::<Tell>(LaunchConfig::linear(2, 32), checked(order))
        };
        for how in [0, 2] {
            let FaultKind::Race { other_block, .. } = fault(run(how)).kind else {
                panic!("{order:?}");
            };
            assert_eq!(other_block, [1, 0, 0]);
        }
        run(1).unwrap();
        assert!(output.iter().copied().eq((5..37).rev()), "{order:?}");
    }
}

/// Both blocks count in the memory of the first: by atomic operations, or not.
#[kernel(launch_bounds(32), cluster(2))]
pub unsafe fn count(output: GlobalMut<u32>, is_atomic: u32) {
    let counter = shared![u32; 1];
    if thread::thread_idx_x() == 0 {
        counter.set(0, 0);
    }
    cluster::sync();
    let first = counter.of_block(0);
    if is_atomic != 0 {
        first.atomic_add(0, 1);
    } else if thread::thread_idx_x() == 0 {
        first.set(0, first.get(0) + 1);
    }
    cluster::sync();
    if cluster::rank() == 0 {
        output.set(thread::thread_idx_x() as usize, counter.get(0));
    }
}

#[test]
fn blocks_count_by_atomic_operations_and_race_without() {
    for order in ORDERS {
        let mut output = vec![0; 32];
        let mut run = |is_atomic: u32| {
            Args::new()
                .view(&mut output)
                .value(is_atomic)
                .launch_with::<Count>(LaunchConfig::linear(2, 32), checked(order))
        };
        let found = fault(run(0));
        let FaultKind::Race { bytes, .. } = &found.kind else {
            panic!("{order:?}: {found}");
        };
        assert!(
            bytes.of.starts_with("the shared array `[u32; 1]`"),
            "{found}"
        );
        run(1).unwrap();
        assert_eq!(output, [64; 32], "{order:?}");
    }
}
