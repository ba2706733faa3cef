//! The functions of two arguments, and the pairs that they are measured with.

use warpwright::cuda_std::float::{accurate, approx};
use warpwright::ops::map;

use super::{Claim, Function, Unit};
use warpwright_workloads::sample;

/// All functions of two arguments.
pub const PAIRS: &[Function<(f32, f32)>] = &[
    Function {
        name: "accurate::pow",
        cpu: |(x, y)| accurate::pow(x, y),
        exact: |(x, y)| f64::from(x).powf(f64::from(y)),
        device: |device, x| device.map_pairs(&x.device[0], &x.device[1], map::PowPairs),
        same_bits: true,
        claims: &[Claim {
            arguments: "all",
            holds_for: |_| true,
            unit: Unit::Ulp,
            bound: |_| 1.0,
        }],
    },
    Function {
        name: "approx::div",
        cpu: |(x, y)| approx::div(x, y),
        exact: |(x, y)| f64::from(x) / f64::from(y),
        device: |device, x| device.map_pairs(&x.device[0], &x.device[1], map::approx::Div),
        same_bits: false,
        claims: &[Claim {
            arguments: "all",
            holds_for: |_| true,
            unit: Unit::Ulp,
            bound: |_| 2.1,
        }],
    },
];

/// The numbers whose pairs come first.
const SPECIAL: [f32; 26] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    3.0,
    -3.0,
    1.5,
    -1.5,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    16_777_215.0,
    -16_777_215.0,
    16_777_216.0,
    33_554_434.0,
    1.0 + f32::EPSILON,
    1.0 - f32::EPSILON / 2.0,
];

/// Returns pair number `i`. All pairs of special numbers come first. Then follow in turn: any two numbers, a power near the end
/// of the range of `f32`, any power within the range, a base next to 1, and small whole and half exponents.
pub(super) fn pair(i: u64) -> (f32, f32) {
    let special = SPECIAL.len() as u64;
    if i < special * special {
        return (
            SPECIAL[(i / special) as usize],
            SPECIAL[(i % special) as usize],
        );
    }
    let hash = sample::hash(i);
    let (low, high) = (hash as u32, (hash >> 32) as u32);
    let any = f32::from_bits(low);
    // From 0 to 1.
    let share = f64::from(high) / f64::from(u32::MAX);
    // The exponent that makes the power of `x` 2^`log`.
    let exponent = |x: f32, log: f64| (log / f64::from(x.abs()).log2()) as f32;
    let next_to_one = f32::from_bits(1.0_f32.to_bits() - (1 << 13) + low % (3 << 13));
    match i % 6 {
        0 => (any, f32::from_bits(high)),
        1 => (any, exponent(any, 127.0 + share)),
        2 => (any, exponent(any, -126.0 - 24.0 * share)),
        3 => (any, exponent(any, 276.0 * share - 149.0)),
        4 => (next_to_one, exponent(next_to_one, 276.0 * share - 149.0)),
        _ => (any, (high % 129) as f32 * 0.5 - 32.0),
    }
}
