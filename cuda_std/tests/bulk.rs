//! Bulk copies on the CPU executor: when their bytes are there, and what the sanitizer says of kernels that do not wait.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block, fault, waiting};
use cuda_std::{
    bulk,
    cpu::{AccessKind, Checks, Fault, FaultKind, LaunchError, Options, Order},
    kernel::{Kernel, LaunchConfig},
    mbarrier::{self, Mbarrier},
    prelude::*,
};

const TILE: usize = 64;
const TILES: usize = 7;
const STAGES: usize = 3;

fn launch<K: Kernel>(
    config: LaunchConfig,
    order: Order,
    checks: Checks,
    how: u32,
) -> Result<Vec<u32>, LaunchError> {
    // Words of 16 bytes, so that the views are aligned.
    let mut input: Vec<[u128; 1]> = (0..TILE * TILES / 4)
        .map(|i| {
            let word = |k: usize| (4 * i + k + 1) as u128;
            [word(0) | word(1) << 32 | word(2) << 64 | word(3) << 96]
        })
        .collect();
    let mut output = vec![[0_u128; 1]; TILE * TILES / 4];
    // SAFETY: words of 16 bytes are elements of 4.
    let [from, to] = unsafe {
        [&mut input, &mut output]
            .map(|it| core::slice::from_raw_parts_mut(it.as_mut_ptr().cast::<u32>(), TILE * TILES))
    };
    let options = Options {
        order,
        checks,
        ..Options::default()
    };
    let args = Args::new().view(from).view(to).value(how);
    args.launch_with::<K>(config, options)?;
    Ok(to.to_vec())
}

fn run<K: Kernel>(order: Order, checks: Checks, how: u32) -> Result<Vec<u32>, LaunchError> {
    launch::<K>(block(96), order, checks, how)
}

#[track_caller]
fn faults<K: Kernel>(checks: Checks, how: u32) -> Vec<Fault> {
    ORDERS
        .iter()
        .map(|order| fault(run::<K>(*order, checks, how).map(drop)))
        .collect()
}

/// A producer, lane 0, copies tiles to a ring of buffers, and two warps square them.
///
/// `how`: 0 as it should be; 1 the consumers do not wait; 2 the producer does not; 3 the consumers wait for the wrong stage; 4
/// too many bytes are expected; 5 too few; 6 no fence behind the initialization; 7 the consumers arrive before they read; 8 the
/// last tile's phase is not waited for; 9 one lane reads before it waits.
#[kernel]
pub unsafe fn ring(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let buffers = shared![u32; STAGES * TILE];
    let objects = shared![u64; 2 * STAGES];
    let filled = |i: usize| Mbarrier::new(objects, i % STAGES);
    let empty = |i: usize| Mbarrier::new(objects, STAGES + i % STAGES);
    let parity = |i: usize| (i / STAGES % 2) as u32;
    let t = thread::thread_idx_x() as usize;
    if t == 0 {
        let mut i = 0;
        while i < STAGES {
            filled(i).init(1);
            empty(i).init(64);
            i += 1;
        }
        if how != 6 {
            mbarrier::fence_init();
        }
    }
    thread::sync_threads();
    let mut tile = 0;
    while tile < TILES {
        let at = tile % STAGES * TILE;
        if t == 0 {
            if how != 2 {
                empty(tile).wait(1 - parity(tile));
            }
            let bytes = match how {
                4 => 4 * TILE + 16,
                5 => 4 * TILE - 16,
                _ => 4 * TILE,
            };
            filled(tile).arrive_expect_tx(bytes as u32);
            buffers.load_bulk(at, input, tile * TILE, TILE / 2, filled(tile));
            buffers.load_bulk(
                at + TILE / 2,
                input,
                tile * TILE + TILE / 2,
                TILE / 2,
                filled(tile),
            );
        } else if t >= 32 {
            let i = 2 * (t - 32) % TILE + t / 64;
            if how == 9 && t == 32 {
                buffers.get(at + i);
            }
            match how {
                1 => {}
                3 => filled(tile + 1).wait(parity(tile + 1)),
                8 if tile == TILES - 1 => return,
                _ => filled(tile).wait(parity(tile)),
            }
            if how == 7 {
                empty(tile).arrive();
            }
            let value = buffers.get(at + i - i / 64);
            output.set(tile * TILE + t - 32, value.wrapping_mul(value));
            if how != 7 {
                empty(tile).arrive();
            }
        }
        tile += 1;
    }
}

#[test]
fn a_ring_of_copies_gives_what_was_copied() {
    for order in ORDERS {
        for checks in [Checks::ALL, Checks::NONE] {
            let output = run::<Ring>(order, checks, 0).unwrap_or_else(|e| panic!("{e}"));
            for (i, value) in output.iter().enumerate() {
                let t = i % TILE + 32;
                let from = 2 * (t - 32) % TILE + t / 64;
                let from = (i / TILE * TILE + from - from / 64) as u32 + 1;
                assert_eq!(*value, from * from, "{order:?}, element {i}");
            }
        }
    }
}

#[test]
fn a_missing_wait_is_a_race_with_the_copy() {
    for how in [1, 7, 9] {
        for fault in faults::<Ring>(Checks::RACE, how) {
            let FaultKind::Race {
                touched,
                other_touched,
                ..
            } = &fault.kind
            else {
                panic!("{how}: {fault}");
            };
            let copy = AccessKind::CopyTo;
            assert!(*touched == copy || *other_touched == copy, "{how}: {fault}");
            let text = fault.to_string();
            assert!(text.contains("without a wait for the copy"), "{text}");
        }
    }
}

#[test]
fn a_wait_for_another_stage_does_not_help() {
    for fault in faults::<Ring>(Checks::RACE, 3) {
        assert!(
            matches!(fault.kind, FaultKind::Race { .. } | FaultKind::Stuck { .. }),
            "{fault}"
        );
    }
    // A producer that does not wait also arrives too often.
    for fault in faults::<Ring>(Checks::RACE, 2) {
        assert!(
            matches!(
                fault.kind,
                FaultKind::Race { .. } | FaultKind::Mbarrier { .. }
            ),
            "{fault}"
        );
    }
}

#[test]
fn a_phase_gets_the_bytes_that_it_expects() {
    for checks in [Checks::ALL, Checks::NONE] {
        for found in faults::<Ring>(checks, 4) {
            let groups = waiting(&found.kind);
            let for_bytes = |name: &str| name == "Mbarrier::wait, for bytes of copies";
            assert!(groups.iter().any(|(_, name)| for_bytes(name)), "{found}");
        }
        for found in faults::<Ring>(checks, 5) {
            let FaultKind::Mbarrier { what, .. } = &found.kind else {
                panic!("{found}");
            };
            let part = "have 256 bytes, and it expects 240";
            assert!(what.contains(part), "{what}");
        }
        for found in faults::<Ring>(checks, 6) {
            assert!(found.to_string().contains("without a fence"), "{found}");
        }
    }
    for found in faults::<Ring>(Checks::SYNC, 8) {
        assert!(
            matches!(found.kind, FaultKind::NotAwaited { .. }),
            "{found}"
        );
    }
}

/// Tiles are filled by all lanes, and stored by lane 0 from two buffers in turn.
///
/// `how`: 0 as it should be; 1 no proxy fence; 2 the fence before the write; 3 only lane 0 fences, behind the barrier; 4 a
/// buffer is filled while it is read; 5 lane 0 returns without a wait; 6 the output is read behind a wait for the source alone;
/// 7 behind a wait for the copies.
#[kernel]
pub unsafe fn stores(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let buffers = shared![u32; 2 * TILE];
    let t = thread::thread_idx_x() as usize;
    let mut tile = 0;
    while tile < TILES {
        let at = tile % 2 * TILE;
        if how == 2 {
            bulk::fence_proxy_async();
        }
        if t < TILE {
            buffers.set(at + t, 3 * input.get(tile * TILE + t));
        }
        if how != 1 && how != 2 && how != 3 {
            bulk::fence_proxy_async();
        }
        thread::sync_threads();
        if t == 0 {
            if how == 3 {
                bulk::fence_proxy_async();
            }
            output.store_bulk(tile * TILE, buffers, at, TILE);
            bulk::commit_group();
            match how {
                // The other buffer's copy has read it.
                0..=3 => bulk::wait_group_read::<1>(),
                4 => {}
                5 if tile == TILES - 1 => return,
                5 => bulk::wait_group_read::<1>(),
                6 => {
                    bulk::wait_group_read::<0>();
                    output.get(tile * TILE);
                }
                _ => {
                    bulk::wait_group::<0>();
                    output.get(tile * TILE);
                }
            }
        }
        thread::sync_threads();
        tile += 1;
    }
    if t == 0 {
        bulk::wait_group_read::<0>();
    }
}

#[test]
fn stores_write_what_was_fenced() {
    for how in [0, 3, 7] {
        for order in ORDERS {
            for checks in [Checks::ALL, Checks::NONE] {
                let output = run::<Stores>(order, checks, how);
                let output = output.unwrap_or_else(|e| panic!("{how}: {e}"));
                let expected: Vec<u32> = (1..=(TILE * TILES) as u32).map(|i| 3 * i).collect();
                assert_eq!(output, expected, "{how} {order:?}");
            }
        }
    }
}

#[test]
fn a_write_without_a_proxy_fence_is_reported() {
    for how in [1, 2] {
        for checks in [Checks::ALL, Checks::RACE] {
            for fault in faults::<Stores>(checks, how) {
                let FaultKind::NotFenced { touched, .. } = &fault.kind else {
                    panic!("{how}: {fault}");
                };
                assert_eq!(*touched, AccessKind::CopyFrom);
                assert_eq!(fault.kind.check(), Some(Checks::RACE));
                let text = fault.to_string();
                assert!(text.contains("fence_proxy_async"), "{text}");
            }
        }
    }
}

#[test]
fn a_source_is_left_alone_until_it_was_read() {
    for how in [4, 6] {
        for fault in faults::<Stores>(Checks::RACE, how) {
            assert!(
                matches!(fault.kind, FaultKind::Race { .. }),
                "{how}: {fault}"
            );
        }
    }
    for fault in faults::<Stores>(Checks::SYNC, 5) {
        assert!(
            matches!(fault.kind, FaultKind::NotAwaited { .. }),
            "{fault}"
        );
    }
}

/// Copies that are refused.
#[kernel]
pub unsafe fn refused(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; TILE];
    let barrier = Mbarrier::new(shared![u64; 1], 0);
    match how {
        0 => tile.load_bulk(0, input, 0, 5, barrier),
        1 => tile.load_bulk(1, input, 0, 4, barrier),
        2 => tile.load_bulk(0, input, 2, 4, barrier),
        3 => tile.load_bulk(TILE - 4, input, 0, 8, barrier),
        4 => tile.load_bulk(0, input, TILE * TILES - 4, 8, barrier),
        5 => tile.load_bulk(0, input, 0, 8, barrier),
        6 => output.store_bulk(0, tile, 0, 3),
        7 => output.store_bulk(TILE * TILES, tile, 0, 4),
        _ => output.store_bulk(0, tile, 62, 4),
    }
}

#[test]
fn copies_are_of_16_bytes_within_their_views() {
    for how in 0..9 {
        let fault = fault(run::<Refused>(Order::Forward, Checks::NONE, how).map(drop));
        let right = match how {
            0 | 6 => matches!(fault.kind, FaultKind::Argument { .. }),
            1 | 2 => matches!(fault.kind, FaultKind::Misaligned { required: 16, .. }),
            5 => matches!(fault.kind, FaultKind::Mbarrier { .. }),
            _ => matches!(fault.kind, FaultKind::OutOfBounds { .. }),
        };
        assert!(right, "{how}: {fault}");
    }
}

/// Two blocks; with `how` 1 each reads what the other one's copy writes.
#[kernel]
pub unsafe fn blocks(_input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; TILE];
    let (t, b) = (
        thread::thread_idx_x() as usize,
        thread::block_idx_x() as usize,
    );
    tile.set(t, 1);
    bulk::fence_proxy_async();
    thread::sync_threads();
    if t == 0 {
        output.store_bulk(b * TILE, tile, 0, TILE);
        bulk::commit_group();
        bulk::wait_group::<0>();
        if how == 1 {
            output.get((1 - b) * TILE);
        }
    }
}

#[test]
fn copies_of_other_blocks_count() {
    let config = LaunchConfig::linear(2, TILE as u32);
    for order in ORDERS {
        launch::<Blocks>(config, order, Checks::ALL, 0).unwrap();
        let fault = fault(launch::<Blocks>(config, order, Checks::ALL, 1).map(drop));
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    }
}
