//! Asynchronous copies on the CPU executor: when their bytes are there, and what the sanitizer says of kernels
//! that do not wait.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, assert_at, block, fault};
use cuda_std::{
    async_copy,
    cpu::{AccessKind, Checks, Fault, FaultKind, LaunchError, Options, Order},
    kernel::{Kernel, LaunchConfig},
    prelude::*,
    warp,
};

const LANES: usize = 64;

/// Launches over `LANES` numbers from 1 on and an output of as many zeros; gives what both hold then.
fn run<K: Kernel>(
    config: LaunchConfig,
    options: Options,
    how: u32,
) -> Result<(Vec<u32>, Vec<u32>), LaunchError> {
    let mut input: Vec<u32> = (1..=LANES as u32).collect();
    let mut output = vec![0_u32; LANES];
    let args = Args::new().view(&mut input).view(&mut output).value(how);
    args.launch_with::<K>(config, options)?;
    Ok((input, output))
}

fn options(order: Order, checks: Checks) -> Options {
    Options {
        order,
        checks,
        ..Options::default()
    }
}

/// What each order gives where `how` is right: with every check, and with none.
#[track_caller]
fn clean<K: Kernel>(config: LaunchConfig, how: u32, expected: &[u32]) {
    for order in ORDERS {
        for checks in [Checks::ALL, Checks::NONE] {
            match run::<K>(config, options(order, checks), how) {
                Ok((_, output)) => assert_eq!(&output[..expected.len()], expected, "{order:?}"),
                Err(error) => panic!("{how} in {order:?}: {error}"),
            }
        }
    }
}

/// A race with a copy that starts in the line `copy`, in every order, with every check and with this alone.
#[track_caller]
fn race<K: Kernel>(config: LaunchConfig, how: u32, copy: u32) -> Vec<Fault> {
    let mut faults = Vec::new();
    for order in ORDERS {
        for checks in [Checks::ALL, Checks::RACE] {
            let fault = fault(run::<K>(config, options(order, checks), how).map(drop));
            // The reader may be the first to come.
            if checks == Checks::ALL && matches!(fault.kind, FaultKind::Unwritten { .. }) {
                continue;
            }
            let FaultKind::Race {
                at,
                touched,
                other_at,
                other_touched,
                ..
            } = &fault.kind
            else {
                panic!("{how} in {order:?}: {fault}");
            };
            let copies = [(touched, at), (other_touched, other_at)]
                .into_iter()
                .filter(|(touched, _)| {
                    matches!(touched, AccessKind::CopyFrom | AccessKind::CopyTo)
                });
            assert!(copies.clone().count() > 0, "{fault}");
            for (_, at) in copies {
                assert_at(at, file!(), copy);
            }
            let text = fault.to_string();
            for part in [
                "asynchronously",
                "without a wait for the copy and an order behind it",
                "; again with WARPWRIGHT_CHECK=",
            ] {
                assert!(text.contains(part), "no {part:?} in {text}");
            }
            faults.push(fault);
        }
    }
    faults
}

/// Every lane copies an element, and reads the one of its neighbour.
///
/// `how`: 0 as it should be, 1 no wait, 2 no barrier, 3 the wait behind the barrier, 4 it reads its own
/// element before the wait, 5 a wait for all but one group, 6 no group, 7 a barrier of the warps only.
#[kernel]
pub unsafe fn neighbours(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; LANES];
    let t = thread::thread_idx_x() as usize;
    tile.copy_async(t, input, t);
    if how != 6 {
        async_copy::commit_group();
    }
    if how == 4 {
        tile.get(t);
    }
    match how {
        1 | 3 => {}
        5 => async_copy::wait_group::<1>(),
        _ => async_copy::wait_group::<0>(),
    }
    match how {
        2 => {}
        // SAFETY: all lanes are here.
        7 => unsafe { warp::sync_warp(warp::FULL_MASK) },
        _ => thread::sync_threads(),
    }
    if how == 3 {
        async_copy::wait_all();
    }
    output.set(t, tile.get((t + 1) % LANES));
    // Nothing is left under way.
    async_copy::wait_all();
}

const NEIGHBOURS_COPY: u32 = line!() - 26;

#[test]
fn what_was_waited_for_is_there_behind_a_barrier() {
    let next: Vec<u32> = (1..=LANES as u32).map(|i| i % LANES as u32 + 1).collect();
    clean::<Neighbours>(block(LANES as u32), 0, &next);
    for how in 1..=7 {
        race::<Neighbours>(block(LANES as u32), how, NEIGHBOURS_COPY);
    }
}

#[test]
fn a_report_names_both_lanes_and_lines_and_the_bytes() {
    let options = options(Order::Forward, Checks::RACE);
    let fault = fault(run::<Neighbours>(block(64), options, 4).map(drop));
    let text = fault.to_string();
    let file = "cuda_std/tests/async_copy.rs";
    for part in [
        "kernel neighbours, block (0, 0, 0), lane (0, 0, 0): race: this lane reads bytes 0-3 of the shared \
         array `[u32; 64]` at ",
        &format!("{file}:{}", NEIGHBOURS_COPY + 5),
        ", and lane (0, 0, 0) copies asynchronously to them at ",
        &format!("{file}:{NEIGHBOURS_COPY}"),
        "WARPWRIGHT_CHECK=race WARPWRIGHT_ORDER_SEED=forward",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// What a lane sees of its own copies, at any time.
///
/// `how`: 0 after the start, 1 after the group, 2 after a wait that leaves the group, 3 after the wait for it.
#[kernel]
pub unsafe fn own_view(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; LANES];
    let t = thread::thread_idx_x() as usize;
    tile.set(t, 0);
    tile.copy_async(t, input, t);
    if how > 0 {
        async_copy::commit_group();
    }
    if how == 2 {
        async_copy::wait_group::<1>();
    }
    if how == 3 {
        async_copy::wait_group::<0>();
    }
    output.set(t, tile.get(t));
    async_copy::wait_all();
}

#[test]
fn bytes_land_when_they_are_waited_for_or_by_the_seed_before() {
    let landed = |order, how| {
        let options = options(order, Checks::NONE);
        let (input, output) = run::<OwnView>(block(LANES as u32), options, how).unwrap();
        let landed = input.iter().zip(&output).filter(|(a, b)| a == b).count();
        assert!(input.iter().zip(&output).all(|(a, b)| a == b || *b == 0));
        landed
    };
    for order in [Order::Forward, Order::Backward] {
        // As late as can be.
        assert_eq!([0, 1, 2, 3].map(|how| landed(order, how)), [0, 0, 0, LANES]);
    }
    for seed in 0..8 {
        let order = Order::Seeded(seed);
        let counts = [0, 1, 2, 3].map(|how| landed(order, how));
        assert!(0 < counts[0] && counts[0] < counts[1], "{seed}: {counts:?}");
        assert!(counts[1] < LANES, "{seed}: {counts:?}");
        assert_eq!((counts[1], LANES), (counts[2], counts[3]));
        // The same again gives the same.
        assert_eq!(counts, [0, 1, 2, 3].map(|how| landed(order, how)));
    }
}

/// Two stages of copies of eight bytes. `how`: 0 as it should be; 1 the second stage goes to the first one's
/// buffer while that is on its way; 2 the same in its second half only; 3 the buffer is written meanwhile;
/// 4 the buffer is filled again before everybody has read it; 5 the wait is for one group less.
#[kernel]
pub unsafe fn two_stages(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; 4 * LANES];
    let t = thread::thread_idx_x() as usize;
    let second = match how {
        1 => 2 * t,
        2 => 2 * t + 1,
        _ => 2 * LANES + 2 * t,
    };
    if how == 2 {
        tile.copy_async(second, input, t);
    }
    tile.copy_async_chunk::<2>(2 * t, input, 2 * (t / 2));
    async_copy::commit_group();
    if how == 3 {
        tile.set(2 * t + 1, 7);
    }
    if how != 2 {
        tile.copy_async_chunk::<2>(second, input, 2 * (t / 2));
    }
    async_copy::commit_group();
    if how == 5 {
        async_copy::wait_group::<2>();
    } else {
        async_copy::wait_group::<1>();
    }
    thread::sync_threads();
    let other = (t + 7) % LANES;
    let first = tile.get(2 * other);
    async_copy::wait_group::<0>();
    if how == 4 {
        tile.copy_async_chunk::<2>(2 * t, input, 2 * (t / 2));
        async_copy::wait_all();
    }
    thread::sync_threads();
    output.set(t, first + 1000 * tile.get(2 * LANES + 2 * other + 1));
}

/// Where the kernel begins, about.
const TWO_STAGES: u32 = line!() - 37;

#[test]
fn a_buffer_is_left_alone_while_a_copy_is_on_its_way_there() {
    let expected: Vec<u32> = (0..LANES)
        .map(|t| (t + 7) % LANES / 2 * 2)
        .map(|i| (i as u32 + 1) + 1000 * (i as u32 + 2))
        .collect();
    clean::<TwoStages>(block(LANES as u32), 0, &expected);
    for how in 1..=5 {
        for order in ORDERS {
            let options = options(order, Checks::ALL);
            let fault = fault(run::<TwoStages>(block(LANES as u32), options, how).map(drop));
            let FaultKind::Race {
                bytes,
                at,
                other_at,
                ..
            } = &fault.kind
            else {
                panic!("{how} in {order:?}: {fault}");
            };
            assert!(bytes.of.contains("[u32; 256]"), "{fault}");
            for at in [at, other_at] {
                assert!(
                    (TWO_STAGES..TWO_STAGES + 36).contains(&at.line()),
                    "{fault}"
                );
            }
        }
    }
}

/// A copy whose source is written. `how`: 0 after the wait, 1 before it, by the lane itself; 2 by another lane
/// behind a barrier that comes before the wait, 3 behind one that comes after it; 4 and 5 the same in the
/// other order of lanes.
#[kernel]
pub unsafe fn source_written(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; LANES];
    let t = thread::thread_idx_x() as usize;
    output.set(t, input.get(t));
    // What the lane has written before is what it copies.
    tile.copy_async(t, output, t);
    let other = if how < 4 {
        LANES - 1 - t
    } else {
        (t + 32) % LANES
    };
    match how {
        0 => {
            async_copy::wait_all();
            output.set(t, 0);
        }
        1 => output.set(t, 0),
        2 | 4 => {
            thread::sync_threads();
            output.set(other, 0);
        }
        _ => {
            async_copy::wait_all();
            thread::sync_threads();
            output.set(other, 0);
        }
    }
    async_copy::wait_all();
    thread::sync_threads();
    output.set(t, tile.get(t));
}

const SOURCE_COPY: u32 = line!() - 27;

#[test]
fn a_source_is_not_written_while_a_copy_reads_it() {
    let expected: Vec<u32> = (1..=LANES as u32).collect();
    for how in [0, 3, 5] {
        clean::<SourceWritten>(block(LANES as u32), how, &expected);
    }
    for how in [1, 2, 4] {
        for fault in race::<SourceWritten>(block(LANES as u32), how, SOURCE_COPY) {
            let text = fault.to_string();
            assert!(text.contains("asynchronously from"), "{text}");
            assert!(text.contains("of `output`"), "{text}");
        }
    }
}

/// A lane that returns with a copy on its way. `how`: 0 in a group, 1 in none, 2 with a wait for all but it.
#[kernel]
pub unsafe fn not_awaited(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; LANES];
    let t = thread::thread_idx_x() as usize;
    output.set(t, 1);
    if t == 5 {
        tile.copy_async(t, input, t);
        if how != 1 {
            async_copy::commit_group();
        }
        if how == 2 {
            async_copy::wait_group::<1>();
        }
    }
}

const NOT_AWAITED: u32 = line!() - 10;

#[test]
fn a_copy_that_nobody_waits_for_is_an_error() {
    for how in 0..3 {
        for order in ORDERS {
            for checks in [Checks::SYNC, Checks::ALL] {
                let found = run::<NotAwaited>(block(64), options(order, checks), how);
                let fault = fault(found.map(drop));
                let FaultKind::NotAwaited { bytes, at } = &fault.kind else {
                    panic!("{fault}");
                };
                assert_eq!((bytes.first, bytes.last), (20, 23), "{fault}");
                assert_eq!(fault.lane, [5, 0, 0], "{fault}");
                assert_eq!(fault.kind.check(), Some(Checks::SYNC));
                assert_at(at, file!(), NOT_AWAITED);
            }
            // Without the check it is dropped.
            run::<NotAwaited>(block(64), options(order, Checks::RACE), how).unwrap();
        }
    }
}

/// Copies with zeros behind what there is; `how` elements are there for the last lane with any.
#[kernel]
pub unsafe fn parts(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; LANES];
    let t = thread::thread_idx_x() as usize;
    let there = how as usize;
    let count = there.saturating_sub(4 * t).min(4);
    tile.copy_async_chunk_or_zeros::<4>(4 * t, input, 4 * t + 1000 * (count == 0) as usize, count);
    async_copy::wait_all();
    output.set_chunk(4 * t, tile.get_chunk::<4>(4 * t));
}

#[test]
fn what_is_not_there_becomes_zeros_and_is_not_read() {
    for there in [0, 1, 3, 4, 5, 63, 64] {
        let expected: Vec<u32> = (1..=64).map(|i| if i <= there { i } else { 0 }).collect();
        // Views are aligned to their elements only.
        let mut input: Vec<u128> = vec![0; 16];
        for (i, word) in input.iter_mut().enumerate() {
            let element = |k: usize| (4 * i + k + 1) as u128;
            *word = element(0) | element(1) << 32 | element(2) << 64 | element(3) << 96;
        }
        for order in ORDERS {
            let mut output: Vec<u128> = vec![0; 16];
            // SAFETY: words of 16 bytes are elements of 4.
            let (from, to) = unsafe {
                (
                    core::slice::from_raw_parts_mut(
                        input.as_mut_ptr().cast::<u32>(),
                        there as usize,
                    ),
                    core::slice::from_raw_parts_mut(output.as_mut_ptr().cast::<u32>(), 64),
                )
            };
            let args = Args::new().view(from).view(to).value(there);
            args.launch_in::<Parts>(block(16), order).unwrap();
            assert_eq!(to, expected);
        }
    }
}

/// Copies that are not within their views, not aligned, or of too many elements.
#[kernel]
pub unsafe fn refused(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; LANES];
    let _ = output;
    match how {
        0 => tile.copy_async(LANES, input, 0),
        1 => tile.copy_async(0, input, LANES),
        2 => tile.copy_async_chunk::<2>(LANES - 1, input, 0),
        3 => tile.copy_async_chunk::<2>(1, input, 0),
        4 => tile.copy_async_chunk_or_zeros::<2>(0, input, LANES, 1),
        5 => tile.copy_async_chunk_or_zeros::<2>(0, input, 0, 3),
        _ => tile.copy_async_chunk_or_zeros::<2>(0, input, usize::MAX, 0),
    }
}

const REFUSED: u32 = line!() - 10;

#[test]
fn copies_are_checked_like_other_accesses() {
    let words = [
        "out of bounds",
        "out of bounds",
        "out of bounds",
        "misaligned",
        "out of bounds",
    ];
    let more = ["2 elements at most required, given 3", "misaligned"];
    for (how, expected) in (0..).zip(words.into_iter().chain(more)) {
        let fault =
            fault(run::<Refused>(block(1), options(Order::Forward, Checks::NONE), how).map(drop));
        assert!(fault.to_string().contains(expected), "{how}: {fault}");
        assert_at(fault.kind.places()[0], file!(), REFUSED + how);
    }
}

/// Every block copies the same elements. `how`: 0 no more, 1 one of them writes there.
#[kernel]
pub unsafe fn blocks_of_one_source(input: Global<u32>, output: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; 16];
    let (t, block) = (
        thread::thread_idx_x() as usize,
        thread::block_idx_x() as usize,
    );
    let _ = input;
    if how == 1 && block == 1 {
        output.set(t, 9);
    }
    tile.copy_async(t, output, t);
    async_copy::wait_all();
    output.set(16 * (1 + block) + t, tile.get(t));
}

const BLOCKS_COPY: u32 = line!() - 5;

#[test]
fn copies_of_other_blocks_count() {
    let config = LaunchConfig::linear(2, 16);
    clean::<BlocksOfOneSource>(config, 0, &[0; 64]);
    race::<BlocksOfOneSource>(config, 1, BLOCKS_COPY);
}
