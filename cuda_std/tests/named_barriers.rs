//! Named barriers on the CPU executor.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block, fault, waiting};
use cuda_std::{
    cpu::{Fault, FaultKind},
    kernel::LaunchConfig,
    prelude::*,
};

/// Each half of the block passes values on by a barrier of its own; then the whole block.
#[kernel]
pub unsafe fn halves(values: Global<u32>, results: GlobalMut<u32>) {
    let tile = shared![u32; 128];
    let t = thread::thread_idx_x() as usize;
    let (half, own) = (t / 64, t % 64);
    tile.set(t, values.get(t));
    thread::sync_threads_named(1 + half as u32, 64);
    let other = tile.get(64 * half + (63 - own));
    thread::sync_threads_named(1 + half as u32, 64);
    tile.set(t, other + 1000);
    thread::sync_threads();
    results.set(t, tile.get((t + 64) % 128));
}

#[test]
fn halves_of_a_block_meet_by_themselves() {
    for order in ORDERS {
        let mut values: Vec<u32> = (0..128).collect();
        let mut results = vec![0; 128];
        Args::new()
            .view(&mut values)
            .view(&mut results)
            .launch_in::<Halves>(block(128), order)
            .unwrap();
        let expected: Vec<u32> = (0..128_u32)
            .map(|t| 1000 + (t + 64) % 128 / 64 * 64 + (63 - t % 64))
            .collect();
        assert_eq!(results, expected, "{order:?}");
    }
}

/// Warp 0 writes, warps 0 and 1 meet, warps 1 and 2 meet, warp 2 reads: it knows of warp 0 by way of warp 1.
#[kernel]
pub unsafe fn chain(results: GlobalMut<u32>, second: u32) {
    let tile = shared![u32; 32];
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    if warp == 0 {
        tile.set(lane, lane as u32 + 7);
        thread::sync_threads_named(1, 64);
    } else if warp == 1 {
        thread::sync_threads_named(1, 64);
        thread::sync_threads_named(second, 64);
    } else {
        thread::sync_threads_named(second, 64);
        results.set(lane, tile.get(31 - lane));
    }
}

#[test]
fn what_is_known_goes_on_from_barrier_to_barrier() {
    for order in ORDERS {
        let mut results = vec![0; 32];
        Args::new()
            .view(&mut results)
            .value(2_u32)
            .launch_in::<Chain>(block(96), order)
            .unwrap();
        assert_eq!(results, (7..39).rev().collect::<Vec<u32>>(), "{order:?}");
    }
}

/// Two pairs of warps meet; warp 2 reads what warp 0 has written.
#[kernel]
pub unsafe fn strangers(results: GlobalMut<u32>) {
    let tile = shared![u32; 32];
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    if warp == 0 {
        tile.set(lane, 1);
    }
    thread::sync_threads_named(1 + warp as u32 / 2, 64);
    if warp == 2 {
        results.set(lane, tile.get(lane));
    }
}

#[test]
fn warps_that_do_not_meet_race() {
    for order in ORDERS {
        let mut results = vec![0; 32];
        let fault = fault(
            Args::new()
                .view(&mut results)
                .launch_in::<Strangers>(block(128), order),
        );
        let found = matches!(
            fault.kind,
            FaultKind::Race { .. } | FaultKind::Unwritten { .. }
        );
        assert!(found, "{fault}");
    }
}

/// Lane `t` waits at barrier `barriers[t]` for `counts[t]` threads, or not at all for 0.
#[kernel]
pub unsafe fn meets(barriers: Global<u32>, counts: Global<u32>) {
    let t = thread::thread_idx_x() as usize;
    if counts.get(t) != 0 {
        thread::sync_threads_named(barriers.get(t), counts.get(t));
    }
}

fn meet(threads: u32, of: impl Fn(u32) -> (u32, u32)) -> Fault {
    let mut barriers: Vec<u32> = (0..threads).map(|t| of(t).0).collect();
    let mut counts: Vec<u32> = (0..threads).map(|t| of(t).1).collect();
    fault(
        Args::new()
            .view(&mut barriers)
            .view(&mut counts)
            .launch::<Meets>(block(threads)),
    )
}

#[track_caller]
fn assert_refused(fault: &Fault, part: &str) {
    assert!(matches!(fault.kind, FaultKind::Argument { .. }), "{fault}");
    let text = fault.to_string();
    assert!(text.contains(part), "{part} is not in: {text}");
}

#[test]
fn wrong_numbers_and_counts_are_errors() {
    let cases: [(u32, u32, &str); 5] = [
        (0, 32, "must be 1 to 15, given 0"),
        (16, 32, "must be 1 to 15, given 16"),
        (1, 33, "multiple of 32 up to the block's 64, given 33"),
        (1, 96, "multiple of 32 up to the block's 64, given 96"),
        (1, 64, ""),
    ];
    for (barrier, threads, part) in cases {
        if part.is_empty() {
            let mut barriers = vec![barrier; 64];
            let mut counts = vec![threads; 64];
            let meets = Args::new().view(&mut barriers).view(&mut counts);
            meets.launch::<Meets>(block(64)).unwrap();
        } else {
            assert_refused(&meet(64, |_| (barrier, threads)), part);
        }
    }
    // Warps that give different counts.
    let fault = meet(128, |t| (3, if t < 32 { 96 } else { 64 }));
    assert_refused(
        &fault,
        "this lane waits for 64 threads, but lane 0 waits there for 96",
    );
    // Parts of two warps, which the hardware would count as two warps.
    let fault = meet(96, |t| (3, if t % 32 < 16 { 64 } else { 0 }));
    assert_refused(&fault, "lanes of 3 warps have reached it");
}

#[test]
fn lanes_that_wait_for_warps_that_never_come_are_stuck() {
    let fault = meet(96, |t| (3, if t < 64 { 96 } else { 0 }));
    let expected = ((0..64).collect::<Vec<u32>>(), "sync_threads_named");
    assert_eq!(waiting(&fault.kind), [expected]);
    // A part of a warp.
    let fault = meet(64, |t| (3, if t < 48 { 64 } else { 0 }));
    let expected = ((0..48).collect::<Vec<u32>>(), "sync_threads_named");
    assert_eq!(waiting(&fault.kind), [expected]);
}

#[kernel]
#[allow(clippy::if_same_then_else)]
pub unsafe fn two_lines() {
    if thread::thread_idx_x() < 8 {
        thread::sync_threads_named(1, 32);
    } else {
        thread::sync_threads_named(1, 32);
    }
}

#[test]
fn a_warp_at_two_lines_is_an_error() {
    let fault = fault(Args::new().launch::<TwoLines>(block(32)));
    assert_refused(&fault, "lane 0 of the same warp waits at another line");
}

/// In each block two of three warps write values. Those of the block that is last add all values.
#[kernel]
pub unsafe fn last_block_adds(
    values: GlobalMut<u32>,
    tickets: GlobalMut<u32>,
    sum: GlobalMut<u32>,
) {
    let (t, blocks) = (thread::thread_idx_x() as usize, thread::grid_dim_x());
    if t >= 64 {
        return;
    }
    let own = 64 * thread::block_idx_x() as usize + t;
    values.set(own, own as u32);
    if !cuda_std::block::is_last_named(tickets, 1, blocks, 1, 64) {
        return;
    }
    let mut total = 0;
    for i in 0..blocks as usize {
        total += values.get(i * 64 + (t + 1) % 64);
    }
    sum.atomic_add(0, total);
}

#[test]
fn some_threads_of_the_last_block_see_what_the_others_wrote() {
    let mut tickets = [7, 0, 9];
    for order in ORDERS {
        let (mut values, mut sum) = (vec![0; 17 * 64], [0]);
        Args::new()
            .view(&mut values)
            .view(&mut tickets)
            .view(&mut sum)
            .launch_in::<LastBlockAdds>(LaunchConfig::linear(17, 96), order)
            .unwrap();
        assert_eq!(sum[0], 17 * 64 * (17 * 64 - 1) / 2, "{order:?}");
        // The next launch finds them so.
        assert_eq!(tickets, [7, 0, 9], "{order:?}");
    }
}
