//! Warp operations on the CPU executor.

use super::{
    super::{
        block::Offer,
        fault::FaultKind,
        lane::Lane,
        mutate::{self, Operation},
        shadow,
    },
    Place,
};
use crate::warp::{MatchBits, Mode, ReduxOp};

/// The value that a lane reads from a lane that does not participate.
const UNDEFINED: u32 = 0xA5A5_A5A5;

pub fn lane_id() -> u32 {
    Lane::current().linear % 32
}

pub fn active_mask() -> u32 {
    let lane = Lane::current();
    lane.block().live_lanes(lane)
}

/// Returns the lanes that a mask names, as indices in the warp.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    core::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

pub(super) fn operation(
    name: &'static str,
    mask: u32,
    offer: Offer,
    place: Place,
    complete: impl FnOnce(&[Offer; 32], &mut [u64; 32]),
) -> u64 {
    let lane = Lane::current();
    lane.block()
        .warp(lane, name, mask, offer, place.0, complete)
}

/// Returns the mask of an operation with a result, as a mutation changes it.
pub(super) fn mutated(name: &'static str, mask: u32, place: Place) -> u32 {
    mutate::mask(Operation::Warp(name), mask, place.0).unwrap_or(mask)
}

pub fn sync(mask: u32, place: Place) {
    if let Some(mask) = mutate::mask(Operation::SyncWarp, mask, place.0) {
        meet(mask, place);
    }
}

/// Waits for the lanes of the mask.
pub(super) fn meet(mask: u32, place: Place) {
    let first = Lane::current().linear / 32 * 32;
    operation("sync_warp", mask, Offer::default(), place, |_, _| {
        shadow::with(|tracker| tracker.sync_warp(first, mask));
    });
}

pub fn check_width(width: u32, place: Place) {
    if !(width.is_power_of_two() && width <= 32) {
        let lane = Lane::current();
        let what = format!("the width of a shuffle must be 1, 2, 4, 8, 16 or 32, given {width}");
        lane.block()
            .fail(lane, FaultKind::Argument { what, at: place.0 });
    }
}

/// Returns the lane that lane `own` reads from, by the rules of `shfl.sync` in the PTX ISA.
pub(in crate::cpu) fn source_lane(mode: Mode, own: u32, argument: u32, width: u32) -> u32 {
    let argument = argument & 31;
    let segment = (32 - width) & 31;
    let first = own & segment;
    let last = first | (31 & !segment);
    let (source, within) = match mode {
        Mode::Index => {
            let source = first | (argument & !segment);
            (source, source <= last)
        }
        Mode::Up => (own.wrapping_sub(argument), own >= first + argument),
        Mode::Down => (own + argument, own + argument <= last),
        Mode::Xor => (own ^ argument, own ^ argument <= last),
    };
    if within { source } else { own }
}

pub fn shuffle(mode: Mode, mask: u32, word: u32, lane: u32, width: u32, place: Place) -> u32 {
    let name = match mode {
        Mode::Index => "shuffle",
        Mode::Up => "shuffle_up",
        Mode::Down => "shuffle_down",
        Mode::Xor => "shuffle_xor",
    };
    let mask = mutated(name, mask, place);
    let own = Lane::current();
    let source = source_lane(mode, own.linear % 32, lane, width);
    own.block().check_source(own, name, mask, source, place.0);
    let offer = Offer {
        value: u64::from(word),
        argument: source,
    };
    operation(name, mask, offer, place, |offers, results| {
        for lane in lanes(mask) {
            let source = offers[lane].argument;
            results[lane] = match mask >> source & 1 {
                0 => u64::from(UNDEFINED),
                _ => offers[source as usize].value,
            };
        }
    }) as u32
}

fn vote(
    name: &'static str,
    mask: u32,
    predicate: bool,
    place: Place,
    result: impl FnOnce(u32, u32) -> u32,
) -> u32 {
    let mask = mutated(name, mask, place);
    let offer = Offer {
        value: u64::from(predicate),
        argument: 0,
    };
    operation(name, mask, offer, place, |offers, results| {
        let mut ballot = 0;
        for lane in lanes(mask) {
            ballot |= (offers[lane].value as u32) << lane;
        }
        *results = [u64::from(result(ballot, mask)); 32];
    }) as u32
}

pub fn all(mask: u32, predicate: bool, place: Place) -> bool {
    vote("all", mask, predicate, place, |ballot, mask| {
        u32::from(ballot == mask)
    }) != 0
}

pub fn any(mask: u32, predicate: bool, place: Place) -> bool {
    vote("any", mask, predicate, place, |ballot, _| {
        u32::from(ballot != 0)
    }) != 0
}

pub fn uniform(mask: u32, predicate: bool, place: Place) -> bool {
    vote("uniform", mask, predicate, place, |ballot, mask| {
        u32::from(ballot == mask || ballot == 0)
    }) != 0
}

pub fn ballot(mask: u32, predicate: bool, place: Place) -> u32 {
    vote("ballot", mask, predicate, place, |ballot, _| ballot)
}

pub fn elect(mask: u32, place: Place) -> bool {
    let mask = mutated("elect", mask, place);
    operation("elect", mask, Offer::default(), place, |_, results| {
        if let Some(first) = lanes(mask).next() {
            results[first] = 1;
        }
    }) == 1
}

fn bits(value: MatchBits) -> Offer {
    let value = match value {
        MatchBits::Word(word) => u64::from(word),
        MatchBits::Long(long) => long,
    };
    Offer { value, argument: 0 }
}

pub fn match_any(mask: u32, value: MatchBits, place: Place) -> u32 {
    let mask = mutated("match_any", mask, place);
    operation("match_any", mask, bits(value), place, |offers, results| {
        for lane in lanes(mask) {
            for other in lanes(mask) {
                if offers[lane].value == offers[other].value {
                    results[lane] |= 1 << other;
                }
            }
        }
    }) as u32
}

pub fn match_all(mask: u32, value: MatchBits, place: Place) -> (u32, bool) {
    let mask = mutated("match_all", mask, place);
    let matching = operation("match_all", mask, bits(value), place, |offers, results| {
        let mut values = lanes(mask).map(|lane| offers[lane].value);
        let first = values.next();
        let same = values.all(|value| Some(value) == first);
        *results = [if same { u64::from(mask) } else { 0 }; 32];
    }) as u32;
    (matching, matching != 0)
}

pub fn redux(op: ReduxOp, mask: u32, word: u32, place: Place) -> u32 {
    let name = match op {
        ReduxOp::Add => "redux_add",
        ReduxOp::MinUnsigned | ReduxOp::MinSigned => "redux_min",
        ReduxOp::MaxUnsigned | ReduxOp::MaxSigned => "redux_max",
        ReduxOp::And => "redux_and",
        ReduxOp::Or => "redux_or",
        ReduxOp::Xor => "redux_xor",
    };
    let mask = mutated(name, mask, place);
    let offer = Offer {
        value: u64::from(word),
        argument: 0,
    };
    operation(name, mask, offer, place, |offers, results| {
        let result = lanes(mask)
            .map(|lane| offers[lane].value as u32)
            .reduce(|a, b| op.apply(a, b))
            .unwrap_or_default();
        *results = [u64::from(result); 32];
    }) as u32
}
