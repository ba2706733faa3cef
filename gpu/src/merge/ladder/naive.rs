//! `naive`: a search for every key.

use cuda_std::prelude::*;

use super::path::merge_some;
use crate::{
    merge::{
        bounds::counts,
        order::{Ascending, search},
        policy::RUNG_BLOCK,
    },
    sort::{Bits, Twist},
};

/// Merges two sorted arrays: each thread finds how many keys of each come before one key of the output, and takes the next.
///
/// Launch: a thread per key; blocks of 256. Writes every key once, and reads two keys for each doubling of the arrays' lengths.
/// Exact.
///
/// # Safety
/// `output` has as many elements as `a` and `b` together and overlaps nothing.
#[kernel(
    launch_bounds(RUNG_BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn merge_naive<U: Bits>(
    a: Global<U>,
    b: Global<U>,
    twist: Twist<U>,
    output: GlobalMut<U>,
) {
    merge_some(Ascending::of(twist), [a, b], output, 1);
}

/// Counts the keys of `sorted` that are less than each needle, or if `upper` is 1 not greater.
///
/// Launch: a thread per needle; blocks of 256. Reads one key for each doubling of the array's length. Exact.
///
/// # Safety
/// `places` has as many elements as `needles` and overlaps nothing.
#[kernel(
    launch_bounds(RUNG_BLOCK as u32),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn merge_naive_bounds<U: Bits>(
    sorted: Global<U>,
    needles: Global<U>,
    twist: Twist<U>,
    upper: u32,
    places: GlobalMut<u64>,
) {
    let i = thread::index_1d_wide();
    if i < needles.len() {
        let needle = needles.get(i).twist(twist);
        let place = search(0, sorted.len(), |i| {
            !counts(sorted.get(i).twist(twist), needle, upper)
        });
        places.set(i, place as u64);
    }
}
