//! Mbarriers on the CPU executor: what they order, and what is said of kernels that use them wrongly.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, assert_at, block, fault, waiting};
use cuda_std::{
    cpu::{Checks, FaultKind, LaunchError, Options, Order},
    kernel::Kernel,
    mbarrier::{self, Mbarrier},
    prelude::*,
};

const LANES: usize = 64;
const ROUNDS: usize = 5;

fn run<K: Kernel>(order: Order, checks: Checks, how: u32) -> Result<Vec<u32>, LaunchError> {
    let mut output = vec![0_u32; LANES * ROUNDS];
    let options = Options {
        order,
        checks,
        ..Options::default()
    };
    let args = Args::new().view(&mut output).value(how);
    args.launch_with::<K>(block(LANES as u32), options)?;
    Ok(output)
}

/// A warp fills a ring of two buffers, and another one empties it.
///
/// `how`: 0 as it should be; 1 the consumers do not wait; 2 the producers do not; 3 the consumers do not arrive; 4 "filled"
/// takes one arrival more than there are; 5 one lane arrives twice; 6 "filled" is not initialized; 7 no barrier behind the
/// initialization; 8 the consumers wait for the other parity; 9 a parity of 2; 10 a count of 0; 11 initialized twice; 12 nobody
/// waits for the other buffer; 13 polls instead of waits.
#[kernel]
pub unsafe fn ring(output: GlobalMut<u32>, how: u32) {
    let buffers = shared![u32; 2 * 32];
    let objects = shared![u64; 4];
    let filled = |i: usize| Mbarrier::new(objects, i % 2);
    let empty = |i: usize| Mbarrier::new(objects, 2 + i % 2);
    let t = thread::thread_idx_x() as usize;
    if t == 40 {
        let mut i = 0;
        while i < 2 {
            if how != 6 {
                filled(i).init(32 + u32::from(how == 4));
            }
            empty(i).init(if how == 10 { 0 } else { 32 });
            i += 1;
        }
        if how == 11 {
            empty(0).init(32);
        }
        mbarrier::fence_init();
    }
    if how != 7 {
        thread::sync_threads();
    }
    let wait = |barrier: Mbarrier, parity: usize| match how {
        13 => while !barrier.is_complete(parity as u32 % 2) {},
        _ => barrier.wait(parity as u32 % 2),
    };
    let mut round = 0;
    while round < ROUNDS {
        let (place, phase) = (round % 2 * 32 + t % 32, round / 2);
        if t < 32 {
            if how != 2 {
                wait(empty(round), phase + 1);
            }
            buffers.set(place, (100 * round + t) as u32);
            filled(round).arrive();
            if how == 5 && t == 3 {
                filled(round).arrive();
            }
        } else {
            match how {
                1 => {}
                8 => wait(filled(round), phase + 1),
                9 => filled(round).wait(2),
                12 => wait(filled(0), phase),
                _ => wait(filled(round), phase),
            }
            let other = round % 2 * 32 + (t + 1) % 32;
            output.set(round * LANES + t, buffers.get(other));
            if how != 3 {
                empty(round).arrive();
            }
        }
        round += 1;
    }
}

#[test]
fn a_ring_hands_over_what_was_written() {
    for how in [0, 13] {
        for order in ORDERS {
            for checks in [Checks::ALL, Checks::NONE] {
                let output =
                    run::<Ring>(order, checks, how).unwrap_or_else(|e| panic!("{how}: {e}"));
                for round in 0..ROUNDS {
                    for t in 32..64 {
                        let expected = 100 * round + (t + 1) % 32;
                        assert_eq!(
                            output[round * LANES + t],
                            expected as u32,
                            "{how} {order:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_missing_wait_is_a_race() {
    for how in [1, 2, 8, 12] {
        for order in ORDERS {
            let fault = fault(run::<Ring>(order, Checks::RACE, how).map(drop));
            // A producer that does not wait may be phases ahead before a consumer comes.
            let ahead = how == 2 && matches!(fault.kind, FaultKind::Stuck { .. });
            assert!(
                ahead || matches!(fault.kind, FaultKind::Race { .. }),
                "{how} {order:?}: {fault}"
            );
        }
    }
    // What one lane initializes, others use behind a barrier.
    for order in ORDERS {
        let fault = fault(run::<Ring>(order, Checks::ALL, 7).map(drop));
        assert!(
            matches!(
                fault.kind,
                FaultKind::Race { .. } | FaultKind::Unwritten { .. } | FaultKind::Mbarrier { .. }
            ),
            "{fault}"
        );
    }
}

#[test]
fn a_phase_that_nobody_completes_is_an_error_that_names_the_lanes() {
    for order in ORDERS {
        for checks in [Checks::ALL, Checks::NONE] {
            // The producers wait for the first buffer, which nobody empties, and the consumers for what comes next.
            let found = fault(run::<Ring>(order, checks, 3).map(drop));
            let lanes: Vec<u32> = (0..64).collect();
            assert_eq!(waiting(&found.kind), [(lanes, "Mbarrier::wait")], "{found}");
            // All wait.
            let found = fault(run::<Ring>(order, checks, 4).map(drop));
            let groups = waiting(&found.kind);
            let mut lanes: Vec<u32> = groups.iter().flat_map(|(lanes, _)| lanes.clone()).collect();
            lanes.sort_unstable();
            assert_eq!(lanes, (0..64).collect::<Vec<u32>>(), "{found}");
            let text = found.to_string();
            assert!(text.contains("wait in Mbarrier::wait at "), "{text}");
        }
    }
}

#[test]
fn wrong_uses_are_errors() {
    for (how, part) in [
        (6, "not initialized"),
        (9, "the parity of a phase is 0 or 1, given 2"),
        (10, "the count of an mbarrier must be 1 to 1048575, given 0"),
        (11, "initialized again"),
    ] {
        for order in ORDERS {
            let fault = fault(run::<Ring>(order, Checks::NONE, how).map(drop));
            assert!(matches!(fault.kind, FaultKind::Mbarrier { .. }), "{fault}");
            assert_eq!(fault.kind.check(), Some(Checks::SYNC));
            assert!(fault.to_string().contains(part), "no {part:?} in {fault}");
        }
    }
}

/// A phase with bytes that nobody brings, and one arrival too many.
#[kernel]
pub unsafe fn bytes(_output: GlobalMut<u32>, how: u32) {
    let objects = shared![u64; 1];
    let barrier = Mbarrier::new(objects, 0);
    let t = thread::thread_idx_x();
    if t == 0 {
        barrier.init(1);
    }
    thread::sync_threads();
    if t == 0 {
        barrier.arrive_expect_tx(16);
    }
    thread::sync_threads();
    if t == 5 && how == 1 {
        barrier.arrive();
    }
    if how == 2 && t == 9 {
        barrier.invalidate();
    }
    barrier.wait(0);
}

const BYTES: u32 = line!() - 8;

#[test]
fn a_phase_takes_as_many_arrivals_and_bytes_as_it_was_told() {
    for order in ORDERS {
        let found = fault(run::<Bytes>(order, Checks::NONE, 0).map(drop));
        let lanes: Vec<u32> = (0..64).collect();
        let name = "Mbarrier::wait, for bytes of copies";
        assert_eq!(waiting(&found.kind), [(lanes, name)], "{found}");
        let found = fault(run::<Bytes>(order, Checks::NONE, 1).map(drop));
        let FaultKind::Mbarrier { what, at } = &found.kind else {
            panic!("{found}");
        };
        assert!(what.contains("takes 1 arrivals in a phase"), "{what}");
        assert_at(at, file!(), BYTES);
        let found = fault(run::<Bytes>(order, Checks::NONE, 2).map(drop));
        assert!(
            found.to_string().contains("invalidated while it is in use"),
            "{found}"
        );
    }
}

/// An mbarrier whose memory is used again, for another one.
#[kernel]
pub unsafe fn again(output: GlobalMut<u32>, _how: u32) {
    let objects = shared![u64; 1];
    let values = shared![u32; LANES];
    let barrier = Mbarrier::new(objects, 0);
    let t = thread::thread_idx_x() as usize;
    let mut round = 0;
    while round < ROUNDS {
        if t == round {
            barrier.init(LANES as u32);
        }
        thread::sync_threads();
        values.set(t, (round * t) as u32);
        barrier.arrive();
        barrier.wait(0);
        output.set(round * LANES + t, values.get((t + 7) % LANES));
        thread::sync_threads();
        if t == round + 1 {
            barrier.invalidate();
        }
        thread::sync_threads();
        round += 1;
    }
}

#[test]
fn memory_of_an_mbarrier_can_be_used_again() {
    for order in ORDERS {
        let output = run::<Again>(order, Checks::ALL, 0).unwrap_or_else(|e| panic!("{e}"));
        for (i, value) in output.iter().enumerate() {
            let expected = i / LANES * ((i % LANES + 7) % LANES);
            assert_eq!(*value as usize, expected);
        }
    }
}
