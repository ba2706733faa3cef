//! Blocks that wait for each other: several have started, and each goes on when what it waits for has come.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use common::{Args, ORDERS, block, fault};
use cuda_std::{
    atomic::{Backoff, Scope},
    cpu::{Checks, FaultKind, Options, Order},
    kernel::LaunchConfig,
    misc,
    prelude::*,
};

const CHECKS: [Checks; 3] = [Checks::NONE, Checks::SYNC, Checks::ALL];

fn with(checks: Checks, order: Order) -> Options {
    Options {
        order,
        checks,
        ..Options::default()
    }
}

/// Two blocks write in turn, each behind the other one: element by element, through shared memory of their own.
#[kernel]
pub unsafe fn in_turn(turn: GlobalMut<u64>, output: GlobalMut<u32>, rounds: u32) {
    let kept = shared![u32; 40];
    let (lane, b) = (thread::thread_idx_x() as usize, thread::block_idx_x());
    kept.set(lane, b);
    for round in 0..rounds {
        if lane == 0 {
            let mine = u64::from(2 * round + b);
            turn.wait_until(0, Acquire, Scope::Device, |turn| turn == mine);
        }
        thread::sync_threads();
        let (before, seen) = (kept.get(lane), output.get(lane));
        output.set(lane, seen + 1);
        kept.set(lane, before + seen);
        thread::sync_threads();
        if lane == 0 {
            turn.atomic_add_with(0, 1, Release, Scope::Device);
        }
    }
    output.set(40 + 40 * b as usize + lane, kept.get(lane));
}

#[test]
fn two_blocks_wait_for_each_other_again_and_again() {
    for order in ORDERS {
        for checks in CHECKS {
            let (mut turn, mut output) = ([0_u64], [0_u32; 120]);
            let args = Args::new().view(&mut turn).view(&mut output).value(50_u32);
            args.launch_with::<InTurn>(LaunchConfig::linear(2, 40), with(checks, order))
                .unwrap();
            assert_eq!(output[..40], [100; 40]);
            // 0 + 2 + … + 98, and 1 + (1 + 3 + … + 99).
            assert_eq!(output[40..80], [2450; 40]);
            assert_eq!(output[80..], [2501; 40]);
        }
    }
}

/// `in_turn` whose second block lets the first one go on before it has read.
#[kernel]
pub unsafe fn too_early(turn: GlobalMut<u64>, output: GlobalMut<u32>) {
    let b = thread::block_idx_x();
    if b == 0 {
        turn.atomic_store(0, 1, Release, Scope::Device);
        turn.wait_until(0, Acquire, Scope::Device, |turn| turn == 2);
        output.set(0, 1);
    } else {
        turn.wait_until(0, Acquire, Scope::Device, |turn| turn == 1);
        turn.atomic_store(0, 2, Release, Scope::Device);
        output.get(0);
    }
}

#[test]
fn a_race_between_blocks_that_take_turns_is_found_in_every_order() {
    for order in ORDERS {
        let (mut turn, mut output) = ([0_u64], [0_u32]);
        let args = Args::new().view(&mut turn).view(&mut output);
        let options = with(Checks::RACE, order);
        let fault = fault(args.launch_with::<TooEarly>(LaunchConfig::linear(2, 1), options));
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
    }
}

const MISSING: u32 = 0;
const SUM: u32 = 1 << 30;
const PREFIX: u32 = 2 << 30;

/// The prefix sums of small numbers, tile by tile of a warp: each block takes the next tile until none is left, tells of
/// its sum, and looks back for those of the tiles before it. State and value are in one word.
///
/// Counts in `seen`: 0 the sums that were missing at first, 1 the sums and 2 the prefixes that were found.
#[kernel]
pub unsafe fn looks_back(
    values: Global<u32>,
    sums: GlobalMut<u32>,
    states: GlobalMut<u32>,
    seen: GlobalMut<u32>,
) {
    let lane = thread::thread_idx_x();
    let tiles = sums.len() / 32;
    loop {
        let ticket = if lane == 0 { seen.atomic_add(3, 1) } else { 0 };
        let tile = warp::shuffle(u32::MAX, ticket, 0) as usize;
        if tile >= tiles {
            return;
        }
        let mut sum = values.get(tile * 32 + lane as usize);
        let mut step = 1;
        while step < 32 {
            let below = warp::shuffle_up(u32::MAX, sum, step);
            if lane >= step {
                sum += below;
            }
            step *= 2;
        }
        let mut before = 0;
        if lane == 31 {
            let tell = |state| states.atomic_store(tile, state, Relaxed, Scope::Device);
            tell(if tile == 0 { PREFIX } else { SUM } | sum);
            let mut other = tile;
            while other > 0 {
                other -= 1;
                let first = states.atomic_load(other, Relaxed, Scope::Device);
                if first == MISSING {
                    seen.atomic_add(0, 1);
                }
                let state = states.wait_until(other, Relaxed, Scope::Device, |s| s != MISSING);
                before += state & (SUM - 1);
                if state >= PREFIX {
                    seen.atomic_add(2, 1);
                    break;
                }
                seen.atomic_add(1, 1);
            }
            if tile > 0 {
                tell(PREFIX | (before + sum));
            }
        }
        let before = warp::shuffle(u32::MAX, before, 31);
        sums.set(tile * 32 + lane as usize, before + sum);
    }
}

#[test]
fn look_back_is_right_and_its_waiting_paths_run() {
    const TILES: usize = 60;
    let numbers: Vec<u32> = (0..TILES as u32 * 32).map(|i| i * 7 % 13).collect();
    let wanted: Vec<u32> = numbers
        .iter()
        .scan(0, |sum, x| {
            *sum += x;
            Some(*sum)
        })
        .collect();
    let mut all = [0; 3];
    for order in Order::several(8) {
        for checks in CHECKS {
            let mut values = numbers.clone();
            let (mut sums, mut states) = (vec![0; TILES * 32], vec![MISSING; TILES]);
            let mut seen = [0_u32; 4];
            let args = Args::new().view(&mut values).view(&mut sums);
            let args = args.view(&mut states).view(&mut seen);
            // Some blocks take several tiles.
            args.launch_with::<LooksBack>(LaunchConfig::linear(20, 32), with(checks, order))
                .unwrap();
            assert!(sums == wanted, "{order} {checks}");
            if checks == Checks::ALL && matches!(order, Order::Seeded(_)) {
                for (all, seen) in all.iter_mut().zip(seen) {
                    *all += u32::from(seen > 0);
                }
            }
        }
    }
    assert_eq!(all, [6; 3], "launches that came by each path");
}

/// Every block waits for the one before it: by its index. `how` is the block that never tells.
#[kernel]
pub unsafe fn by_index(flags: GlobalMut<u32>, how: u32) {
    let b = thread::block_idx_x();
    if b > 0 && thread::thread_idx_x() >= 5 {
        flags.wait_until(b as usize - 1, Acquire, Scope::Device, |flag| flag != 0); // 1
    }
    thread::sync_threads(); // 2
    if thread::thread_idx_x() == 0 && b != how {
        flags.atomic_store(b as usize, 1, Release, Scope::Device);
    }
}

const BY_INDEX: [u32; 2] = [line!() - 8, line!() - 6];

fn chain(blocks: u32, how: u32, options: Options) -> Result<(), cuda_std::cpu::LaunchError> {
    let mut flags = vec![0_u32; blocks as usize];
    let args = Args::new().view(&mut flags).value(how);
    args.launch_with::<ByIndex>(LaunchConfig::linear(blocks, 8), options)
}

#[test]
fn blocks_by_index_are_right_as_long_as_all_have_started() {
    for order in ORDERS {
        for checks in CHECKS {
            chain(8, u32::MAX, with(checks, order)).unwrap();
        }
    }
    chain(500, u32::MAX, with(Checks::ALL, Order::Forward)).unwrap();
}

#[test]
fn a_deadlock_names_blocks_lanes_and_lines_at_once() {
    for order in [Order::Backward, Order::Seeded(1), Order::Seeded(2)] {
        let report = || {
            let start = Instant::now();
            let fault = fault(chain(100, u32::MAX, with(Checks::ALL, order)));
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{:?}",
                start.elapsed()
            );
            fault
        };
        let first = report();
        let FaultKind::Idle {
            waiting,
            others,
            not_started,
        } = &first.kind
        else {
            panic!("{first}")
        };
        let lines: Vec<u32> = waiting.iter().map(|(_, _, at)| at.line()).collect();
        assert_eq!(lines, BY_INDEX, "{first}");
        assert_eq!(waiting[0].0.0, [5, 6, 7], "{first}");
        assert!(others.len() >= 2 && *not_started > 0, "{first}");
        let text = first.to_string();
        for part in [
            "lanes 5-7 wait in wait_until at ",
            "lanes 0-4 wait in sync_threads at ",
            "; in block (",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        assert_eq!(text, report().to_string());
    }
}

#[test]
fn a_wait_that_never_ends_is_an_error_with_checks_and_without() {
    for order in ORDERS {
        for checks in [Checks::NONE, Checks::ALL] {
            let start = Instant::now();
            let fault = fault(chain(6, 2, with(checks, order)));
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{:?}",
                start.elapsed()
            );
            assert!(matches!(fault.kind, FaultKind::Idle { .. }), "{fault}");
        }
    }
}

static DROPPED: AtomicU32 = AtomicU32::new(0);

struct Counts;

impl Drop for Counts {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// The blocks wait for the one that comes last, which fails. Then their lanes' destructors run.
#[kernel]
pub unsafe fn the_last_fails(flags: GlobalMut<u32>) {
    let _counts = Counts;
    if flags.atomic_add(1, 1) + 1 == thread::grid_dim_x() * thread::block_dim_x() {
        misc::trap();
    }
    flags.wait_until(0, Acquire, Scope::Device, |flag| flag != 0);
}

#[test]
fn a_fault_in_one_block_ends_those_that_wait() {
    for order in ORDERS {
        for checks in CHECKS {
            DROPPED.store(0, Ordering::Relaxed);
            let mut flags = [0_u32; 2];
            let args = Args::new().view(&mut flags);
            let config = LaunchConfig::linear(4, 16);
            let fault = fault(args.launch_with::<TheLastFails>(config, with(checks, order)));
            assert!(matches!(fault.kind, FaultKind::Trap { .. }), "{fault}");
            assert_eq!(DROPPED.load(Ordering::Relaxed), 64);
        }
    }
}

/// Lanes of a block hand on a word of shared memory; all words and backoffs.
#[kernel]
pub unsafe fn in_shared_memory(output: GlobalMut<i64>) {
    let (narrow, wide) = (shared![i32; 1], shared![i64; 1]);
    let lane = thread::thread_idx_x();
    if lane == 0 {
        narrow.set(0, -1);
        wide.set(0, 0);
    }
    thread::sync_threads();
    let mine = lane as i32 - 1;
    narrow.wait_until_with(0, Acquire, Scope::Block, Backoff::NONE, |n| n == mine);
    let seen = wide.wait_until(0, Relaxed, Scope::Block, |w| w == -i64::from(lane) << 32);
    output.set(lane as usize, seen);
    wide.atomic_add(0, -1 << 32);
    narrow.atomic_add_with(0, 1, Release, Scope::Block);
}

#[test]
fn lanes_wait_for_words_of_shared_memory() {
    for order in ORDERS {
        for checks in CHECKS {
            let mut output = [0_i64; 70];
            let args = Args::new().view(&mut output);
            args.launch_with::<InSharedMemory>(block(70), with(checks, order))
                .unwrap();
            let wanted = core::array::from_fn(|i| -((i as i64) << 32));
            assert_eq!(output, wanted);
        }
    }
}

/// A wait beside lanes that look by themselves: the flag comes from the second block.
#[kernel]
pub unsafe fn two_ways(flags: GlobalMut<u32>) {
    if thread::block_idx_x() == 1 {
        flags.wait_until(1, Acquire, Scope::Device, |told| told == 2);
        flags.atomic_store(0, 1, Release, Scope::Device);
        return;
    }
    flags.atomic_add_with(1, 1, Release, Scope::Device);
    match thread::thread_idx_x() {
        0 => _ = flags.wait_until(0, Acquire, Scope::Device, |flag| flag == 1),
        _ => while flags.atomic_load(0, Acquire, Scope::Device) == 0 {},
    }
}

#[test]
fn a_wait_and_a_loop_in_one_block_both_go_on() {
    for order in ORDERS {
        for checks in CHECKS {
            let mut flags = [0_u32; 2];
            let args = Args::new().view(&mut flags);
            // The second block has two lanes too; both do the same.
            args.launch_with::<TwoWays>(LaunchConfig::linear(2, 2), with(checks, order))
                .unwrap();
            assert_eq!(flags, [1, 2]);
        }
    }
}
