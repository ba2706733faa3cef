//! Scans and reductions of a warp by an associative operator.

use super::{FULL_MASK, Shuffle, lane_id, shuffle_up, shuffle_xor};
use crate::unrolled;

/// Returns the combination of the values of lanes 0 up to this one: `combine(… combine(v0, v1) …, v)`.
///
/// `combine` must be associative, and need not be commutative: its first argument is always from lower lanes. All 32 lanes
/// must call this. 5 shuffles per word of `T` (Hillis and Steele, "Data parallel algorithms", 1986). Floats: the order of the
/// operations depends on the lane's index alone.
#[inline(always)]
#[track_caller]
pub fn inclusive_scan<T: Shuffle>(mut value: T, combine: impl Fn(T, T) -> T) -> T {
    let lane = lane_id();
    unrolled!(step < 5 => {
        let below = shuffle_up(FULL_MASK, value, 1 << step);
        if lane >= 1 << step {
            value = combine(below, value);
        }
    });
    value
}

/// Returns the combination of `initial` and the values of the lanes below this one: lane 0 gets `initial`. As
/// [`inclusive_scan`], with one shuffle more.
#[inline(always)]
#[track_caller]
pub fn exclusive_scan<T: Shuffle>(value: T, initial: T, combine: impl Fn(T, T) -> T) -> T {
    let inclusive = inclusive_scan(value, &combine);
    let below = shuffle_up(FULL_MASK, inclusive, 1);
    match lane_id() {
        0 => initial,
        _ => combine(initial, below),
    }
}

/// Returns the combination of the values of all 32 lanes, in the order of the lanes, in every lane: a tree of 5 steps.
///
/// `combine` must be associative, and need not be commutative. All 32 lanes must call this. For sums and other operators of
/// `u32` and `i32` see [`redux_add`](super::redux_add) and its like.
#[inline(always)]
#[track_caller]
pub fn reduce<T: Shuffle>(mut value: T, combine: impl Fn(T, T) -> T) -> T {
    let lane = lane_id();
    unrolled!(step < 5 => {
        let other = shuffle_xor(FULL_MASK, value, 1 << step);
        value = match lane >> step & 1 {
            0 => combine(value, other),
            _ => combine(other, value),
        };
    });
    value
}
