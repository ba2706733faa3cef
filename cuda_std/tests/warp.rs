//! Warp operations on the CPU executor against a scalar model of one warp.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, assert_at, block, fault, unchecked, waiting};
use cuda_std::{
    cpu::{Checks, FaultKind, Options, Order},
    kernel::LaunchConfig,
    prelude::*,
};
use proptest::prelude::*;

/// What a lane reads from one that does not take part.
const UNDEFINED: u32 = 0xA5A5_A5A5;

// One kernel runs every operation, each lane with its own arguments; lanes outside of the mask leave.

#[kernel]
pub unsafe fn shuffles_u32(
    mask: u32,
    values: Global<u32>,
    arguments: Global<u32>,
    width: u32,
    results: GlobalMut<u32>,
) {
    let lane = warp::lane_id() as usize;
    if mask >> lane & 1 == 0 {
        return;
    }
    let (value, argument) = (values.get(lane), arguments.get(lane));
    results.set(lane, warp::shuffle_width(mask, value, argument, width));
    results.set(
        32 + lane,
        warp::shuffle_up_width(mask, value, argument, width),
    );
    results.set(
        64 + lane,
        warp::shuffle_down_width(mask, value, argument, width),
    );
    results.set(
        96 + lane,
        warp::shuffle_xor_width(mask, value, argument, width),
    );
}

/// The lane that `own` reads from, written from CUDA's description: the modes by segment, and what is not
/// there is the own lane.
fn source(mode: usize, own: u32, argument: u32, width: u32) -> u32 {
    let argument = argument % 32;
    let begin = own / width * width;
    let end = begin + width;
    let wanted = match mode {
        0 => begin as i64 + i64::from(argument % width),
        1 => i64::from(own) - i64::from(argument),
        2 => i64::from(own) + i64::from(argument),
        _ => i64::from(own ^ argument),
    };
    let found = match mode {
        // Up stops at the segment's begin, down at its end; xor may read earlier segments, not later ones.
        1 => wanted >= i64::from(begin),
        2 | 3 => wanted < i64::from(end),
        _ => true,
    };
    if found { wanted as u32 } else { own }
}

/// A mask that names at least one lane; often sparse, often full.
fn masks() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(u32::MAX),
        1..=u32::MAX,
        (0..32u32).prop_map(|lane| 1 << lane),
        Just(0xffff)
    ]
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Forward),
        Just(Order::Backward),
        any::<u64>().prop_map(Order::Seeded)
    ]
}

proptest! {
    #[test]
    fn shuffles_match_the_model(
        mask in masks(),
        mut values in prop::collection::vec(any::<u32>(), 32),
        mut arguments in prop::collection::vec(prop_oneof![0..32u32, any::<u32>()], 32),
        width in (0..6u32).prop_map(|bits| 1 << bits),
        order in orders(),
    ) {
        let mut results = vec![7u32; 128];
        Args::new()
            .value(mask)
            .view(&mut values)
            .view(&mut arguments)
            .value(width)
            .view(&mut results)
            .launch_with::<ShufflesU32>(block(32), unchecked(order))
            .unwrap();
        for mode in 0..4 {
            for lane in 0..32 {
                let expected = if mask >> lane & 1 == 0 {
                    7
                } else {
                    let from = source(mode, lane as u32, arguments[lane], width);
                    if mask >> from & 1 == 0 { UNDEFINED } else { values[from as usize] }
                };
                prop_assert_eq!(results[mode * 32 + lane], expected, "mode {}, lane {}", mode, lane);
            }
        }
    }
}

#[kernel]
pub unsafe fn votes(mask: u32, predicates: u32, results: GlobalMut<u32>) {
    let lane = warp::lane_id();
    if mask >> lane & 1 == 0 {
        return;
    }
    let predicate = predicates >> lane & 1 != 0;
    let at = lane as usize * 4;
    results.set(at, u32::from(warp::all(mask, predicate)));
    results.set(at + 1, u32::from(warp::any(mask, predicate)));
    results.set(at + 2, u32::from(warp::uniform(mask, predicate)));
    results.set(at + 3, warp::ballot(mask, predicate));
}

#[kernel]
pub unsafe fn matches(mask: u32, values: Global<u64>, results: GlobalMut<u32>) {
    let lane = warp::lane_id() as usize;
    if mask >> lane & 1 == 0 {
        return;
    }
    let value = values.get(lane);
    let at = lane * 6;
    results.set(at, warp::match_any(mask, value));
    results.set(at + 1, warp::match_any(mask, value as u32));
    let (lanes, same) = warp::match_all(mask, value);
    results.set(at + 2, lanes);
    results.set(at + 3, u32::from(same));
    let (lanes, same) = warp::match_all(mask, f32::from_bits(value as u32));
    results.set(at + 4, lanes);
    results.set(at + 5, u32::from(same));
}

#[kernel]
pub unsafe fn reductions(mask: u32, values: Global<u32>, results: GlobalMut<u32>) {
    let lane = warp::lane_id() as usize;
    if mask >> lane & 1 == 0 {
        return;
    }
    let value = values.get(lane);
    let at = lane * 8;
    results.set(at, warp::redux_add(mask, value));
    results.set(at + 1, warp::redux_min(mask, value));
    results.set(at + 2, warp::redux_max(mask, value));
    results.set(at + 3, warp::redux_min(mask, value as i32) as u32);
    results.set(at + 4, warp::redux_max(mask, value as i32) as u32);
    results.set(at + 5, warp::redux_and(mask, value));
    results.set(at + 6, warp::redux_or(mask, value));
    results.set(at + 7, warp::redux_xor(mask, value));
}

proptest! {
    #[test]
    fn votes_match_the_model(
        mask in masks(),
        predicates in prop_oneof![any::<u32>(), Just(0), Just(u32::MAX)],
        order in orders(),
    ) {
        let mut results = vec![7u32; 128];
        Args::new()
            .value(mask)
            .value(predicates)
            .view(&mut results)
            .launch_in::<Votes>(block(32), order)
            .unwrap();
        let ballot = mask & predicates;
        let expected =
            [u32::from(ballot == mask), u32::from(ballot != 0), u32::from(ballot == 0 || ballot == mask), ballot];
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            prop_assert_eq!(&results[lane * 4..][..4], &expected[..]);
        }
    }

    #[test]
    fn matches_match_the_model(
        mask in masks(),
        mut values in prop_oneof![
            prop::collection::vec(0..3u64, 32),
            prop::collection::vec((0..2u64).prop_map(|high| high << 40 | 5), 32),
            any::<u64>().prop_map(|value| vec![value; 32]),
        ],
        order in orders(),
    ) {
        let mut results = vec![7u32; 192];
        Args::new()
            .value(mask)
            .view(&mut values)
            .view(&mut results)
            .launch_in::<Matches>(block(32), order)
            .unwrap();
        let lanes: Vec<usize> = (0..32).filter(|lane| mask >> lane & 1 != 0).collect();
        let same_as = |lane: usize, equal: fn(u64, u64) -> bool| -> u32 {
            lanes.iter().filter(|other| equal(values[lane], values[**other])).map(|o| 1 << o).sum()
        };
        for &lane in &lanes {
            let long = same_as(lane, |a, b| a == b);
            let word = same_as(lane, |a, b| a as u32 == b as u32);
            let all = |same: u32| if same == mask { [mask, 1] } else { [0, 0] };
            let expected = [&[long, word][..], &all(long), &all(word)].concat();
            prop_assert_eq!(&results[lane * 6..][..6], &expected[..]);
        }
    }

    #[test]
    fn reductions_match_the_model(
        mask in masks(),
        mut values in prop::collection::vec(any::<u32>(), 32),
        order in orders(),
    ) {
        let mut results = vec![7u32; 256];
        Args::new()
            .value(mask)
            .view(&mut values)
            .view(&mut results)
            .launch_in::<Reductions>(block(32), order)
            .unwrap();
        let of = || (0..32).filter(|lane| mask >> lane & 1 != 0).map(|lane| values[lane]);
        let signed = || of().map(|value| value as i32);
        let expected = [
            of().fold(0, u32::wrapping_add),
            of().min().unwrap(),
            of().max().unwrap(),
            signed().min().unwrap() as u32,
            signed().max().unwrap() as u32,
            of().fold(u32::MAX, |a, b| a & b),
            of().fold(0, |a, b| a | b),
            of().fold(0, |a, b| a ^ b),
        ];
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            prop_assert_eq!(&results[lane * 8..][..8], &expected[..]);
        }
    }
}

#[kernel]
pub unsafe fn whole_warps(results: GlobalMut<u32>) {
    let i = thread::linear_thread_idx() as usize;
    // The last warp has 8 lanes.
    let mask = if warp::warp_id() == 2 {
        0xff
    } else {
        warp::FULL_MASK
    };
    let sum = warp::redux_add(mask, i as u32);
    let active = warp::active_mask().count_ones();
    // SAFETY: all lanes of the warp come here.
    unsafe { warp::sync_warp(mask) };
    results.set(i, sum + active * 10_000);
}

#[test]
fn warps_are_independent_and_the_last_may_be_short() {
    let sum = |from: u32, to: u32| (from..to).sum::<u32>();
    let mut expected = vec![sum(0, 32) + 320_000; 32];
    expected.extend([sum(32, 64) + 320_000; 32]);
    expected.extend([sum(64, 72) + 80_000; 8]);
    // Three axes: lanes of a warp are neighbours by linear index.
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [6, 4, 3],
        shared_bytes: 0,
    };
    for order in ORDERS {
        let mut results = vec![0; 72];
        Args::new()
            .view(&mut results)
            .launch_in::<WholeWarps>(config, order)
            .unwrap();
        assert_eq!(results, expected, "{order:?}");
    }
}

#[kernel]
pub unsafe fn halves(results: GlobalMut<u32>) {
    let lane = warp::lane_id();
    // Both halves are under way at the same time, one with three operations, the other with one.
    let sum = if lane < 16 {
        let mut value = lane;
        for _ in 0..3 {
            value = warp::shuffle_xor(0xffff, value, 1);
        }
        warp::redux_add(0xffff, value)
    } else {
        warp::redux_add(0xffff_0000, lane)
    };
    results.set(lane as usize, sum);
}

#[test]
fn disjoint_masks_go_on_independently() {
    for order in ORDERS {
        let mut results = vec![0; 32];
        Args::new()
            .view(&mut results)
            .launch_in::<Halves>(block(32), order)
            .unwrap();
        assert_eq!(results[..16], [(0..16).sum::<u32>(); 16], "{order:?}");
        assert_eq!(results[16..], [(16..32).sum::<u32>(); 16], "{order:?}");
    }
}

const MASK_WITHOUT_SELF: u32 = line!() + 3;
#[kernel]
pub unsafe fn mask_without_self() {
    warp::ballot(0xfffe, true);
}

#[test]
fn a_mask_must_name_the_calling_lane() {
    let fault = fault(Args::new().launch::<MaskWithoutSelf>(block(32)));
    let FaultKind::Mask {
        operation,
        mask,
        at,
        ..
    } = fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!((operation, mask, fault.lane), ("ballot", 0xfffe, [0, 0, 0]));
    assert_at(at, file!(), MASK_WITHOUT_SELF);
}

#[kernel]
pub unsafe fn full_mask_in_short_warp() {
    warp::any(warp::FULL_MASK, true);
}

#[test]
fn a_mask_must_name_lanes_of_the_block_only() {
    let fault = fault(Args::new().launch::<FullMaskInShortWarp>(block(40)));
    let FaultKind::Mask { present, .. } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((present, fault.lane), (0xff, [32, 0, 0]));
}

const LEAVES_EARLY: u32 = line!() + 6;
#[kernel]
pub unsafe fn leaves_early() {
    if warp::lane_id() == 3 {
        return;
    }
    warp::shuffle_down(warp::FULL_MASK, 1u32, 1);
}

#[test]
fn lanes_that_have_returned_take_no_part() {
    // Lane 3 leaves while others wait for it: they are stuck. Once it has left, coming with it in the
    // mask is an error at once.
    let stuck = fault(Args::new().launch::<LeavesEarly>(block(4)));
    assert!(
        matches!(stuck.kind, FaultKind::Mask { present: 0xf, .. }),
        "{stuck}"
    );
    let first = fault(Args::new().launch::<LeavesEarly>(block(32)));
    let FaultKind::Mask {
        operation,
        present,
        at,
        ..
    } = first.kind
    else {
        panic!("{first}")
    };
    assert_eq!(
        (operation, present, first.lane),
        ("shuffle_down", !(1 << 3), [4, 0, 0])
    );
    assert_at(at, file!(), LEAVES_EARLY);
}

#[kernel]
pub unsafe fn last_leaves() {
    if warp::lane_id() != 31 {
        warp::shuffle_down(warp::FULL_MASK, 1u32, 1);
    }
}

#[test]
fn lanes_that_wait_for_one_that_returns_are_stuck() {
    let fault = fault(Args::new().launch::<LastLeaves>(block(32)));
    let FaultKind::Stuck { returned, .. } = &fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(returned.0, [31]);
    assert_eq!(
        waiting(&fault.kind),
        [((0..31).collect::<Vec<u32>>(), "shuffle_down")]
    );
    assert!(
        fault
            .to_string()
            .contains("lanes 0-30 wait in shuffle_down"),
        "{fault}"
    );
}

const TWO_LINES: u32 = line!() + 5;
#[kernel]
#[allow(clippy::if_same_then_else)]
pub unsafe fn two_lines() {
    if warp::lane_id() < 7 {
        warp::ballot(warp::FULL_MASK, true);
    } else {
        warp::ballot(warp::FULL_MASK, true);
    }
}

#[test]
fn lanes_at_different_lines_have_diverged() {
    let fault = fault(Args::new().launch::<TwoLines>(block(32)));
    let FaultKind::Diverged {
        others: (lanes, name, other_at),
        operation,
        at,
    } = fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(
        (lanes.0, name, operation),
        ((0..7).collect(), "ballot", "ballot")
    );
    assert_at(other_at, file!(), TWO_LINES);
    assert_at(at, file!(), TWO_LINES + 2);
}

#[kernel]
pub unsafe fn different_masks() {
    let mask = if warp::lane_id() == 0 {
        0xffff_ffff
    } else {
        0x7fff_ffff
    };
    if warp::lane_id() != 31 {
        warp::ballot(mask, true);
    }
}

#[test]
fn lanes_with_different_masks_have_diverged() {
    let fault = fault(Args::new().launch::<DifferentMasks>(block(32)));
    assert!(matches!(fault.kind, FaultKind::Diverged { .. }), "{fault}");
    assert_eq!(fault.lane, [1, 0, 0]);
}

#[kernel]
pub unsafe fn barrier_against_shuffle() {
    if thread::thread_idx_x() == 5 {
        thread::sync_threads();
    } else {
        warp::shuffle_xor(warp::FULL_MASK, 1u32, 1);
    }
}

#[test]
fn a_barrier_and_a_shuffle_that_wait_for_each_other_are_stuck() {
    let fault = fault(Args::new().launch::<BarrierAgainstShuffle>(block(32)));
    let others: Vec<u32> = (0..32).filter(|lane| *lane != 5).collect();
    let mut groups = waiting(&fault.kind);
    groups.sort();
    assert_eq!(groups, [(others, "shuffle_xor"), (vec![5], "sync_threads")]);
}

#[kernel]
pub unsafe fn odd_width(width: u32) {
    warp::shuffle_width(warp::FULL_MASK, 1u32, 0, width);
}

#[test]
fn a_width_is_a_power_of_two_up_to_32() {
    for width in [0, 3, 33, 64, u32::MAX] {
        let fault = fault(Args::new().value(width).launch::<OddWidth>(block(32)));
        assert!(matches!(fault.kind, FaultKind::Argument { .. }), "{fault}");
        assert!(
            fault.to_string().contains(&format!("given {width}")),
            "{fault}"
        );
    }
}

const SOURCES: u32 = line!() + 6;

/// The lower half of the warp adds up what its lanes have, in segments of `width` lanes.
#[kernel]
pub unsafe fn half_a_warp(width: u32, results: GlobalMut<u32>) {
    let lane = warp::lane_id();
    let other = || warp::shuffle_down_width(0xffff, lane, 8, width);
    results.set(lane as usize, if lane < 16 { other() } else { 0 });
}

#[test]
fn a_shuffle_that_reads_from_a_lane_outside_of_its_mask_is_an_error() {
    for order in ORDERS {
        let sync = Options {
            order,
            ..Options::default()
        };
        let mut results = vec![0; 32];
        let run = |width: u32, results: &mut [u32], options| {
            let args = Args::new().value(width).view(results);
            args.launch_with::<HalfAWarp>(block(32), options)
        };
        run(16, &mut results, sync).unwrap();
        let fault = fault(run(32, &mut results, sync));
        let FaultKind::Source {
            mask: 0xffff,
            source,
            at,
            ..
        } = &fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!(*source, fault.lane[0] + 8);
        assert!((16..24).contains(source), "{fault}");
        assert_at(at, file!(), SOURCES);
        assert_eq!(fault.kind.check(), Some(Checks::SYNC));
        run(32, &mut results, unchecked(order)).unwrap();
        assert_eq!(results[8..16], [0xA5A5_A5A5; 8]);
    }
}
